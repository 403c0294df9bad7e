//! The devices of the cluster as the oracle sees them, read once for all checks.

use oracle::objects::Mistake;
use oracle::{Setup, Stocked, World};

use crate::seen::Seen;

/// The world, its devices in published order, and the objects that could not be read.
pub(crate) struct Menu {
    pub(crate) world: World,
    pub(crate) stock: Vec<Stocked>,
    pub(crate) mistakes: Vec<Mistake>,
}

impl Menu {
    pub(crate) fn read(seen: &Seen) -> Self {
        let (setup, mistakes) = Setup::read(&seen.listed, &seen.gates);
        let world = World::new(setup, seen.gates.clone(), None);
        Self {
            stock: world.stock(),
            world,
            mistakes,
        }
    }
}
