//! Misallocation: by how much the devices of a claim outweigh the smallest that would have fitted in their places.
//! Each given device in turn gives way to the smallest one of its node that fits the same request beside the claim's other
//! devices; so the smaller set is one that could have been had. For claims of one device it is the smallest there is.

use std::cmp::Ordering;

use crate::allocate::How;
use crate::asks::Prepared;
use crate::menu::Menu;
use crate::names::{DeviceId, Name};
use crate::objects::{Claim, ClaimKey, Held, Mode, Node};
use crate::search::Search;
use crate::selectors::Answers;
use crate::verdict::Failure;
use crate::weight::{Weight, counted};
use crate::world::World;

/// What a claim got beyond what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misallocation {
    /// The claim.
    pub claim: ClaimKey,
    /// Its devices, in the order in which it holds them. Those of administrative access weigh nothing and are left out.
    pub places: Vec<Place>,
}

/// A device that was given, and the smallest that would have fitted in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `request` or `request/subrequest`.
    pub request: Name,
    /// What was given.
    pub given: DeviceId,
    /// Its profile, if it publishes one.
    pub given_profile: Option<Name>,
    /// Its weight.
    pub given_weight: Weight,
    /// The smallest that fits, which may be the given one; `None` where weights are unknown and differ in kind.
    pub smallest: Option<DeviceId>,
    /// Its profile, if it publishes one.
    pub smallest_profile: Option<Name>,
    /// Its weight.
    pub smallest_weight: Weight,
}

impl Place {
    /// More compute slices than needed; `None` if that is not known.
    pub fn compute(&self) -> Option<i64> {
        self.more(|weight| weight.compute)
    }

    /// More memory slices than needed; `None` if that is not known.
    pub fn memory(&self) -> Option<i64> {
        self.more(|weight| weight.memory)
    }

    fn more(&self, slices: fn(&Weight) -> Option<u32>) -> Option<i64> {
        if *self.smallest.as_ref()? == self.given {
            return Some(0);
        }
        Some(i64::from(slices(&self.given_weight)?) - i64::from(slices(&self.smallest_weight)?))
    }

    /// Whether a smaller device would have fitted.
    pub fn too_large(&self) -> bool {
        self.smallest.is_some()
            && self.given_weight.compare(&self.smallest_weight) == Some(Ordering::Greater)
    }
}

impl Misallocation {
    /// Compute slices too many; `None` if a place is not known.
    pub fn compute(&self) -> Option<i64> {
        self.places.iter().map(Place::compute).sum()
    }

    /// Memory slices too many; `None` if a place is not known.
    pub fn memory(&self) -> Option<i64> {
        self.places.iter().map(Place::memory).sum()
    }

    /// Whether smaller devices would have fitted.
    pub fn too_large(&self) -> bool {
        self.places.iter().any(Place::too_large)
    }
}

impl std::fmt::Display for Misallocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slices = |count: Option<i64>, one: &str| match count {
            Some(count) => counted(count, one),
            None => format!("an unknown number of {one}s"),
        };
        match (self.compute(), self.memory()) {
            (None, None) => f.write_str("unknown"),
            (compute, None) => f.write_str(&slices(compute, "compute slice")),
            (compute, memory) => write!(
                f,
                "{}, {}",
                slices(compute, "compute slice"),
                slices(memory, "memory slice")
            ),
        }
    }
}

/// What a claim, given `held` on `node`, got beyond what it needs. The world is that of before: the claim holds nothing in it.
///
/// # Errors
/// The claim cannot be asked for: a class is not there, or an expression fails.
pub fn misallocation(
    world: &World,
    claim: &Claim,
    held: &[Held],
    node: &Node,
) -> Result<Misallocation, Failure> {
    let menu = Menu::new(world, node, &world.order(node));
    let prepared = Prepared::new(world, &[claim])?;
    let mut answers = Answers::default();
    // Where each device stands now: as it was given, or in its place the smallest that fits.
    let mut standing: Vec<(usize, usize, &Held)> = Vec::new();
    for held in held.iter().filter(|held| !held.admin) {
        let ask = prepared
            .asks
            .iter()
            .position(|facts| facts.full_name == held.request);
        let device = world.find(&held.device);
        if let (Some(ask), Some(device)) = (ask, device) {
            standing.push((ask, device, held));
        }
    }
    let mut places = Vec::new();
    for at in 0..standing.len() {
        let (ask, given, held) = standing[at];
        let mut fits = vec![given];
        if prepared.asks[ask].ask.mode != Mode::All && held.share.is_none() {
            let mut search = Search::new(
                world,
                &menu,
                &prepared,
                &mut answers,
                How::default().steps,
                false,
            );
            for (_, (ask, device, held)) in standing
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
            {
                search.put(*ask, *device, held);
            }
            for device in menu.devices.iter().filter(|device| **device != given) {
                if search.fits(ask, *device)? {
                    fits.push(*device);
                }
            }
        }
        let smallest = smallest(world, &fits);
        places.push(Place {
            request: held.request.clone(),
            given: held.device.clone(),
            given_profile: world.profile(given).cloned(),
            given_weight: world.weight(given),
            smallest: smallest.map(|device| world.devices[device].id.clone()),
            smallest_profile: smallest.and_then(|device| world.profile(device).cloned()),
            smallest_weight: smallest
                .map(|device| world.weight(device))
                .unwrap_or_default(),
        });
        if let Some(device) = smallest {
            standing[at].1 = device;
        }
    }
    Ok(Misallocation {
        claim: claim.key.clone(),
        places,
    })
}

/// The lightest of them, the first if several are; `None` where they are of several kinds and a weight is unknown.
fn smallest(world: &World, fits: &[usize]) -> Option<usize> {
    let given = *fits.first()?;
    let kind = |device: usize| {
        ["type", "profile", "productName"].map(|attribute| world.text(device, attribute))
    };
    if fits.iter().all(|device| kind(*device) == kind(given)) {
        return Some(given);
    }
    let mut best = given;
    for device in fits {
        match world.weight(*device).compare(&world.weight(best))? {
            Ordering::Less => best = *device,
            Ordering::Equal | Ordering::Greater => {}
        }
    }
    Some(best)
}
