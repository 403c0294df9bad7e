//! Which pools can have something for a node, so that a node of a thousand is not asked of the pools of all others.

use std::collections::HashMap;

use crate::names::Name;
use crate::objects::{Node, Reach, Slice, Span};
use crate::pool::Pool;
use crate::quirks::Quirk;
use crate::world::World;

/// Pools by the nodes that their slices name.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Pools with slices for that node alone.
    of_node: HashMap<Name, Vec<usize>>,
    /// Pools with slices for nodes by another rule than one name.
    anywhere: Vec<usize>,
}

impl Places {
    pub(crate) fn new(pools: &[Pool], slices: &[Slice]) -> Self {
        let mut places = Places::default();
        for (at, pool) in pools.iter().enumerate() {
            for slice in &pool.slices {
                let list = match &slices[*slice].span {
                    Span::Slice(Reach::Node(node)) => match places.of_node.get_mut(node) {
                        Some(list) => list,
                        None => places.of_node.entry(node.clone()).or_default(),
                    },
                    _ => &mut places.anywhere,
                };
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
        places
    }
}

impl World {
    /// The pools that can have something for the node, in the order in which they are looked at.
    pub(crate) fn order(&self, node: &Node) -> Vec<usize> {
        if self.quirks.has(Quirk::CounterSlicesConcernEveryNode) {
            return (0..self.pools.len()).collect();
        }
        let of_node = self.places.of_node.get(&node.name);
        let mut order: Vec<usize> = of_node
            .into_iter()
            .flatten()
            .chain(&self.places.anywhere)
            .copied()
            .collect();
        order.sort_unstable();
        order.dedup();
        order
    }
}
