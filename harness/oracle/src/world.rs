//! The cluster that a claim is held against: pools, classes, nodes, and what is in use.
//! Not here: what is looked for; `search` does that, and changes nothing here.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::capacity::Amounts;
use crate::cel::Dialect;
use crate::counters::Draws;
use crate::gates::{Gate, Gates};
use crate::names::{DeviceId, Name};
use crate::objects::{Claim, ClaimKey, Class, Device, Held, Node, Reach, Rule, Slice, Span};
use crate::places::Places;
use crate::pool::{self, Pool};
use crate::quirks::Quirks;
use crate::taints;
use crate::variant::Variant;
use crate::version::Version;

/// Everything that decides, as values.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The slices, in the order in which a client lists them.
    pub slices: Vec<Slice>,
    /// The classes.
    pub classes: Vec<Class>,
    /// Claims; those that are allocated hold devices.
    pub claims: Vec<Claim>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The DeviceTaintRules.
    pub rules: Vec<Rule>,
}

/// A cluster, made ready for questions.
#[derive(Debug)]
pub struct World {
    pub(crate) gates: Gates,
    pub(crate) quirks: Quirks,
    pub(crate) variant: Variant,
    pub(crate) slices: Vec<Slice>,
    pub(crate) classes: BTreeMap<Name, Class>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) pools: Vec<Pool>,
    /// Every device of a pool's newest generation.
    pub(crate) devices: Vec<Entry>,
    /// Per pool: the range of its devices.
    pub(crate) ranges: Vec<Range<usize>>,
    pub(crate) places: Places,
    pub(crate) draws: Draws,
    pub(crate) usage: Vec<Usage>,
}

/// Where a device stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: DeviceId,
    pub(crate) pool: usize,
    pub(crate) slice: usize,
    pub(crate) index: usize,
}

/// Who has a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// The claim that has it for itself.
    pub(crate) holder: Option<ClaimKey>,
    /// How many shares are out.
    pub(crate) shares: usize,
    /// What the shares take.
    pub(crate) consumed: Amounts,
}

impl World {
    /// Makes a world. `variant` is the allocator at work; none: the one that these gates choose.
    pub fn new(setup: Setup, gates: Gates, variant: Option<Variant>) -> Self {
        let variant = variant.unwrap_or_else(|| Variant::chosen(&gates));
        let mut slices = setup.slices;
        if gates.taint_rules() {
            taints::apply(&setup.rules, &mut slices);
        }
        let pools = pool::gather(&slices, &gates, variant);
        let devices: Vec<Entry> = pools
            .iter()
            .enumerate()
            .flat_map(|(at, pool)| entries(at, pool, &slices))
            .collect();
        let draws = Draws::new(&gates, &pools, &slices, &devices);
        let places = Places::new(&pools, &slices);
        let usage = usage(&setup.claims, &devices, &gates);
        let mut world = World {
            gates,
            quirks: Quirks::none(),
            variant,
            slices,
            classes: setup
                .classes
                .into_iter()
                .map(|class| (class.name.clone(), class))
                .collect(),
            nodes: setup.nodes,
            ranges: ranges(pools.len(), &devices),
            places,
            pools,
            devices,
            draws,
            usage,
        };
        world.draws.charge_held(&world.usage, &Quirks::none());
        world
    }

    /// The same world, with what the real allocator does otherwise than documented.
    #[must_use]
    pub fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.draws.charge_held(&self.usage, &quirks);
        self.quirks = quirks;
        self
    }

    /// What selectors of stored objects may use with these gates.
    pub fn dialect(gates: &Gates) -> Dialect {
        Dialect {
            multiple_allocations: gates.has(Gate::ConsumableCapacity),
            includes: gates.has(Gate::ListTypeAttributes),
            without_list_functions: false,
        }
    }

    /// What selectors of objects that are written may use.
    pub fn dialect_of_new(gates: &Gates) -> Dialect {
        Dialect {
            without_list_functions: gates.version() < Version::V1_35,
            ..Self::dialect(gates)
        }
    }

    /// The gates.
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// The allocator at work.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Whether the allocator at work knows of the gate, on or off. What it does not know it passes over in silence.
    pub(crate) fn knows(&self, gate: Gate) -> bool {
        self.variant.supports(self.gates.version()).contains(&gate)
    }

    /// The class of that name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.get(name)
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The devices of a pool, by their place.
    pub(crate) fn devices_of(&self, pool: usize) -> Range<usize> {
        self.ranges[pool].clone()
    }

    /// The place of a device; of the newest generation if there are several.
    pub(crate) fn find(&self, id: &DeviceId) -> Option<usize> {
        let named = |pool: &&Pool| pool.driver == id.driver && pool.name == id.pool;
        let pools = self.pools.iter().enumerate();
        let (pool, _) = pools
            .filter(|(_, pool)| named(pool))
            .max_by_key(|(_, pool)| pool.generation)?;
        self.devices_of(pool)
            .find(|device| self.devices[*device].id.device == id.device)
    }

    pub(crate) fn device(&self, entry: &Entry) -> &Device {
        &self.slices[entry.slice].devices[entry.index]
    }

    pub(crate) fn multiple(&self, entry: &Entry) -> bool {
        self.gates.has(Gate::ConsumableCapacity) && self.device(entry).facts.multiple
    }

    /// Whether the node reaches the device.
    pub(crate) fn reaches(&self, node: &Node, entry: &Entry) -> bool {
        let slice = &self.slices[entry.slice];
        match &slice.span {
            Span::Slice(reach) => matches(reach, node),
            Span::PerDevice => slice.devices[entry.index]
                .reach
                .as_ref()
                .is_some_and(|reach| matches(reach, node)),
        }
    }

    /// Whether the node reaches anything of the slice.
    pub(crate) fn slice_reaches(&self, node: &Node, slice: usize) -> bool {
        match &self.slices[slice].span {
            Span::Slice(reach) => matches(reach, node),
            Span::PerDevice => self.slices[slice].devices.iter().any(|device| {
                device
                    .reach
                    .as_ref()
                    .is_some_and(|reach| matches(reach, node))
            }),
        }
    }

    /// Where a device's reach is said: by its slice or by itself.
    pub(crate) fn reach_of(&self, entry: &Entry) -> Option<&Reach> {
        let slice = &self.slices[entry.slice];
        match &slice.span {
            Span::Slice(reach) => Some(reach),
            Span::PerDevice => slice.devices[entry.index].reach.as_ref(),
        }
    }
}

fn matches(reach: &Reach, node: &Node) -> bool {
    match reach {
        Reach::All => true,
        Reach::Node(name) => *name == node.name,
        Reach::Selected(selector) => selector.matches(node),
    }
}

fn entries<'a>(at: usize, pool: &'a Pool, slices: &'a [Slice]) -> impl Iterator<Item = Entry> + 'a {
    pool.slices.iter().flat_map(move |slice| {
        slices[*slice]
            .devices
            .iter()
            .enumerate()
            .map(move |(index, device)| Entry {
                id: DeviceId {
                    driver: pool.driver.clone(),
                    pool: pool.name.clone(),
                    device: device.name.clone(),
                },
                pool: at,
                slice: *slice,
                index,
            })
    })
}

/// The range of each pool's devices, which stand together.
fn ranges(pools: usize, devices: &[Entry]) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0; pools];
    for (at, entry) in devices.iter().enumerate() {
        let range = &mut ranges[entry.pool];
        if range.start == range.end {
            *range = at..at + 1;
        } else {
            range.end = at + 1;
        }
    }
    ranges
}

/// What allocated claims hold of each device. Administrative access holds nothing.
fn usage(claims: &[Claim], devices: &[Entry], gates: &Gates) -> Vec<Usage> {
    let mut usage = vec![Usage::default(); devices.len()];
    let mut held: HashMap<&DeviceId, Vec<(&Claim, &Held)>> = HashMap::new();
    for claim in claims {
        for it in claim.holds.iter().flatten().filter(|held| !held.admin) {
            held.entry(&it.device).or_default().push((claim, it));
        }
    }
    if held.is_empty() {
        return usage;
    }
    for (entry, usage) in devices.iter().zip(&mut usage) {
        for (claim, held) in held.get(&entry.id).into_iter().flatten() {
            if held.share.is_some() && gates.has(Gate::ConsumableCapacity) {
                usage.shares += 1;
                usage.consumed.add(
                    held.consumed
                        .iter()
                        .map(|(name, amount)| (name.clone(), *amount)),
                );
            } else {
                usage.holder = Some(claim.key.clone());
            }
        }
    }
    usage
}
