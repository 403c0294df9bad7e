//! The menu of a cluster as values: classes, devices in published order, counters, and who holds what.

use std::collections::BTreeMap;

use oracle::objects::{ClaimKey, Listed};
use oracle::{CounterLeft, Setup, State, Stocked, World};

use crate::live::Server;

/// What a cluster has to give.
pub(crate) struct Menu {
    pub(crate) server: Server,
    pub(crate) variant: &'static str,
    pub(crate) order_is_specified: bool,
    /// Objects that could not be read, and so do not count.
    pub(crate) unreadable: Vec<String>,
    pub(crate) classes: Vec<ClassMenu>,
    /// Devices in published order.
    pub(crate) stock: Vec<Stocked>,
    pub(crate) counters: Vec<CounterLeft>,
    /// Pods for which a claim is reserved.
    pods: BTreeMap<ClaimKey, Vec<String>>,
}

/// What a class offers.
pub(crate) struct ClassMenu {
    pub(crate) name: String,
    pub(crate) extended_resource: Option<String>,
    /// Places in the stock; or the error of a selector.
    pub(crate) devices: Result<Vec<usize>, String>,
}

/// How many devices are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) free: usize,
    pub(crate) held: usize,
    pub(crate) not_now: usize,
}

impl Menu {
    /// `claim, for pod x` of a claim that holds something.
    pub(crate) fn holder(&self, claim: &ClaimKey) -> String {
        match self.pods.get(claim).map(Vec::as_slice) {
            None | Some([]) => format!("{claim}"),
            Some([pod]) => format!("{claim} (pod {pod})"),
            Some([pod, rest @ ..]) => format!("{claim} (pod {pod} and {} more)", rest.len()),
        }
    }

    /// The shortest name of who holds something: the pod, else the claim.
    pub(crate) fn short_holder(&self, claim: &ClaimKey) -> String {
        let pods = self.pods.get(claim).map(Vec::as_slice);
        pods.and_then(|pods| pods.first())
            .cloned()
            .unwrap_or_else(|| claim.name.to_string())
    }

    /// Counts states.
    pub(crate) fn tally(&self, devices: &[usize]) -> Tally {
        let mut tally = Tally::default();
        for device in devices {
            match self.stock[*device].state {
                State::Free => tally.free += 1,
                State::Held(_) => tally.held += 1,
                State::Tainted(_) | State::Short(_) | State::Pool(_) => tally.not_now += 1,
            }
        }
        tally
    }
}

/// Makes the menu of what a client has listed.
pub(crate) fn menu(listed: &Listed, server: &Server) -> Menu {
    let (setup, mistakes) = Setup::read(listed, &server.gates);
    let world = World::new(setup, server.gates.clone(), None);
    let stock = world.stock();
    let classes = world
        .classes()
        .map(|class| ClassMenu {
            name: class.name.to_string(),
            extended_resource: class.extended_resource.as_ref().map(ToString::to_string),
            devices: world.admitted(class, &stock),
        })
        .collect();
    let variant = world.variant();
    Menu {
        server: server.clone(),
        variant: variant.as_str(),
        order_is_specified: variant.sorts_pools(server.gates.version()),
        unreadable: mistakes.iter().map(ToString::to_string).collect(),
        classes,
        counters: world.counters(),
        stock,
        pods: pods(listed),
    }
}

fn pods(listed: &Listed) -> BTreeMap<ClaimKey, Vec<String>> {
    let of = |claim: &k8s_openapi::api::resource::v1::ResourceClaim| {
        let key = ClaimKey {
            namespace: claim.metadata.namespace.as_deref()?.into(),
            name: claim.metadata.name.as_deref()?.into(),
        };
        let users = claim.status.as_ref()?.reserved_for.as_ref()?;
        let pods = users.iter().filter(|user| user.resource == "pods");
        Some((key, pods.map(|user| user.name.clone()).collect()))
    };
    listed.claims.iter().filter_map(of).collect()
}
