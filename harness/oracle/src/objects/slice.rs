//! ResourceSlices: what a driver publishes of a pool.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::node::NodeSelector;
use super::rule::Taint;
use crate::cel::Facts;
use crate::names::Name;
use crate::quantity::Quantity;

/// A ResourceSlice.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The object's name; it orders slices within a pool.
    pub name: Name,
    /// The DRA driver.
    pub driver: Name,
    /// The pool.
    pub pool: Name,
    /// The pool's generation that this slice belongs to.
    pub generation: i64,
    /// How many slices the pool has in this generation.
    pub slice_count: i64,
    /// Which nodes reach its devices.
    pub span: Span,
    /// Devices, in the order of preference.
    pub devices: Vec<Device>,
    /// Counter sets that devices draw on.
    pub counter_sets: Vec<CounterSet>,
    /// Node operations that need not be called.
    pub skip_node_operations: Vec<Name>,
}

/// Which nodes reach the devices of a slice.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// All devices alike.
    Slice(Reach),
    /// Each device says it for itself.
    PerDevice,
}

/// Which nodes reach something.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// Every node.
    All,
    /// One node.
    Node(Name),
    /// The nodes that a selector matches.
    Selected(NodeSelector),
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name in the pool.
    pub name: Name,
    /// What selectors see of it.
    pub facts: Arc<Facts>,
    /// What it takes of shared counters.
    pub consumes: Vec<Consumption>,
    /// Taints of the driver, then of rules.
    pub taints: Vec<Taint>,
    /// Which nodes reach it, where the slice leaves that to the device.
    pub reach: Option<Reach>,
    /// Conditions that binding waits for.
    pub binding_conditions: Vec<Name>,
    /// Conditions that end the wait.
    pub binding_failure_conditions: Vec<Name>,
    /// The allocation is for the chosen node only.
    pub binds_to_node: bool,
}

/// A named set of counters.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// Its name, unique in the pool.
    pub name: Name,
    /// What it holds.
    pub counters: BTreeMap<Name, Quantity>,
}

/// What a device takes of one counter set.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumption {
    /// The counter set.
    pub counter_set: Name,
    /// The amounts.
    pub counters: BTreeMap<Name, Quantity>,
    /// With which neighbours on the set it goes together; none go with none only.
    pub groups: Vec<Name>,
}

/// A capacity of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// All of it.
    pub value: Quantity,
    /// How parts of it are handed out.
    pub policy: Option<Policy>,
}

/// A request policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What a request without an entry takes.
    pub default: Option<Quantity>,
    /// The amounts that can be taken, ascending; none set means any.
    pub values: Vec<Quantity>,
    /// The range that can be taken.
    pub range: Option<Range>,
}

/// From, to and steps of what can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: Quantity,
    /// The most.
    pub max: Option<Quantity>,
    /// The distance of valid amounts.
    pub step: Option<Quantity>,
}
