//! Scale-down: whether a node may go, by the devices that go with it. What its claims hold must find a place on the nodes that
//! stay, and no pool may be torn apart. Not here: processors and memory, disruption budgets, and who moves the pods.
//! Data comes from a [`Setup`]; a reason goes out.

use std::collections::BTreeSet;
use std::fmt;

use crate::allocate::{How, allocate_together};
use crate::gates::Gates;
use crate::names::{DeviceId, Name};
use crate::objects::{Claim, ClaimKey, Held, Reach, Slice, Span};
use crate::verdict::Answer;
use crate::world::{Setup, World};

/// What becomes of a cluster without a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It may go: what its claims hold they find elsewhere, each on the node named with it. Empty: nobody holds anything there.
    MayGo(Vec<(ClaimKey, Name)>),
    /// It must stay: claims that are used together find no place on the others.
    Stays(Vec<ClaimKey>),
    /// It must stay: slices of other nodes belong to the same pool, and nothing is given out of a pool that is not whole.
    Breaks {
        /// The driver.
        driver: Name,
        /// The pool.
        pool: Name,
    },
    /// There is no node of this name.
    Unknown,
}

impl Removal {
    /// Whether it may go.
    #[must_use]
    pub fn may_go(&self) -> bool {
        matches!(self, Removal::MayGo(_))
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Removal::MayGo(moves) if moves.is_empty() => {
                f.write_str("may go: nobody holds a device there")
            }
            Removal::MayGo(moves) => {
                f.write_str("may go: ")?;
                for (at, (claim, node)) in moves.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{claim} finds its devices on {node}")?;
                }
                Ok(())
            }
            Removal::Stays(claims) => {
                let claims: Vec<String> = claims.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "must stay: {} would find no device elsewhere",
                    claims.join(" and ")
                )
            }
            Removal::Breaks { driver, pool } => write!(
                f,
                "must stay: pool {pool} of {driver} has slices of other nodes, too, and would not be whole without it"
            ),
            Removal::Unknown => f.write_str("there is no such node"),
        }
    }
}

/// Whether a node may go. `together` are the claims of each pod, which move as one; a claim that is in none moves alone.
/// Claims are placed in the order in which they are given, each where the first node takes it: where that fails another order
/// might succeed, and the node stays all the same.
#[must_use]
pub fn removal(setup: &Setup, gates: &Gates, node: &str, together: &[Vec<ClaimKey>]) -> Removal {
    if !setup.nodes.iter().any(|it| &*it.name == node) {
        return Removal::Unknown;
    }
    let goes = |reach: &Reach| matches!(reach, Reach::Node(name) if &**name == node);
    let of_node = |slice: &Slice| matches!(&slice.span, Span::Slice(reach) if goes(reach));
    for slice in setup.slices.iter().filter(|slice| of_node(slice)) {
        let same = |it: &&Slice| {
            (&it.driver, &it.pool, it.generation) == (&slice.driver, &slice.pool, slice.generation)
        };
        if setup.slices.iter().filter(same).any(|it| !of_node(it)) {
            return Removal::Breaks {
                driver: slice.driver.clone(),
                pool: slice.pool.clone(),
            };
        }
    }
    let mut left = setup.clone();
    let mut lost: BTreeSet<DeviceId> = BTreeSet::new();
    for slice in &mut left.slices {
        let all = of_node(slice);
        let (driver, pool) = (slice.driver.clone(), slice.pool.clone());
        slice.devices.retain(|device| {
            let gone = all || device.reach.as_ref().is_some_and(goes);
            if gone {
                lost.insert(DeviceId {
                    driver: driver.clone(),
                    pool: pool.clone(),
                    device: device.name.clone(),
                });
            }
            !gone
        });
    }
    left.slices.retain(|slice| !of_node(slice));
    left.nodes.retain(|it| &*it.name != node);
    let holds_lost = |claim: &Claim| {
        let mut held = claim.holds.iter().flatten();
        held.any(|it| !it.admin && lost.contains(&it.device))
    };
    let moving: Vec<ClaimKey> = setup
        .claims
        .iter()
        .filter(|claim| holds_lost(claim))
        .map(|claim| claim.key.clone())
        .collect();
    for claim in left.claims.iter_mut().filter(|it| moving.contains(&it.key)) {
        claim.holds = None;
    }
    place(left, gates, &groups(&moving, together))
}

/// The claims that move, those of a pod together.
fn groups(moving: &[ClaimKey], together: &[Vec<ClaimKey>]) -> Vec<Vec<ClaimKey>> {
    let mut all: Vec<Vec<ClaimKey>> = together
        .iter()
        .map(|pod| {
            pod.iter()
                .filter(|it| moving.contains(it))
                .cloned()
                .collect()
        })
        .filter(|pod: &Vec<ClaimKey>| !pod.is_empty())
        .collect();
    let alone = moving
        .iter()
        .filter(|it| !together.iter().flatten().any(|other| other == *it));
    all.extend(alone.map(|it| vec![it.clone()]));
    all
}

fn place(mut left: Setup, gates: &Gates, groups: &[Vec<ClaimKey>]) -> Removal {
    let mut moves = Vec::new();
    for group in groups {
        let claims: Vec<Claim> = left
            .claims
            .iter()
            .filter(|it| group.contains(&it.key) && it.holds.is_none())
            .cloned()
            .collect();
        let world = World::new(left.clone(), gates.clone(), None);
        let asked: Vec<&Claim> = claims.iter().collect();
        let how = How {
            explain: false,
            ..How::default()
        };
        let mut verdicts = allocate_together(&world, &asked, how).into_iter();
        let found = verdicts.find_map(|verdict| match verdict.answer {
            Answer::Allocated(all) => Some((verdict.node, all)),
            _ => None,
        });
        let Some((node, allocations)) = found else {
            return Removal::Stays(group.clone());
        };
        for allocation in allocations {
            let holds = allocation.devices.into_iter().map(|given| Held {
                request: given.request,
                device: given.device,
                admin: given.admin,
                share: given.share.then(|| "share".into()),
                consumed: given.consumed,
            });
            let claim = left.claims.iter_mut().find(|it| it.key == allocation.claim);
            if let Some(claim) = claim {
                claim.holds = Some(holds.collect());
            }
            moves.push((allocation.claim, node.clone()));
        }
    }
    Removal::MayGo(moves)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use k8s_openapi::api::resource::v1 as api;
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Listed;
    use crate::version::Version;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("an object")
    }

    fn slice(
        name: &str,
        pool: &str,
        node: &str,
        count: i64,
        devices: &[&str],
    ) -> api::ResourceSlice {
        let devices: Vec<Value> = devices.iter().map(|it| json!({"name": it})).collect();
        read(json!({
            "metadata": {"name": name},
            "spec": {"driver": "d.example", "nodeName": node, "devices": devices,
                "pool": {"name": pool, "generation": 1, "resourceSliceCount": count}}
        }))
    }

    fn claim(name: &str, held: Option<(&str, &str)>) -> api::ResourceClaim {
        let status = held.map_or(json!({}), |(pool, device)| {
            json!({"allocation": {"devices": {"results": [
                {"request": "gpu", "driver": "d.example", "pool": pool, "device": device}]}}})
        });
        read(json!({
            "metadata": {"namespace": "n", "name": name},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "any"}}]}},
            "status": status
        }))
    }

    fn key(name: &str) -> ClaimKey {
        ClaimKey {
            namespace: "n".into(),
            name: name.into(),
        }
    }

    /// Two nodes of two devices each.
    fn setup(slices: Vec<api::ResourceSlice>, claims: Vec<api::ResourceClaim>) -> (Setup, Gates) {
        let gates = Gates::default_of(Version::NEWEST);
        let node = |name: &str| -> Node { read(json!({"metadata": {"name": name}})) };
        let listed = Listed {
            slices,
            classes: vec![read(json!({"metadata": {"name": "any"}, "spec": {}}))],
            claims,
            nodes: vec![node("a"), node("b")],
            rules: Vec::new(),
        };
        let (setup, mistakes) = Setup::read(&listed, &gates);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        (setup, gates)
    }

    fn two() -> Vec<api::ResourceSlice> {
        vec![
            slice("s1", "a", "a", 1, &["0", "1"]),
            slice("s2", "b", "b", 1, &["0", "1"]),
        ]
    }

    #[test]
    fn a_node_on_which_nobody_holds_anything_may_go() {
        let (setup, gates) = setup(
            two(),
            vec![claim("x", Some(("a", "0"))), claim("waits", None)],
        );
        assert_eq!(removal(&setup, &gates, "b", &[]), Removal::MayGo(vec![]));
        let moves = vec![(key("x"), "b".into())];
        assert_eq!(removal(&setup, &gates, "a", &[]), Removal::MayGo(moves));
        assert_eq!(removal(&setup, &gates, "c", &[]), Removal::Unknown);
    }

    #[test]
    fn what_finds_no_place_elsewhere_keeps_its_node() {
        let held = [("x", "a", "0"), ("y", "a", "1"), ("z", "b", "0")];
        let claims = held.map(|(name, pool, device)| claim(name, Some((pool, device))));
        let (setup, gates) = setup(two(), claims.into());
        // One of the two finds the last device of the other node.
        assert_eq!(
            removal(&setup, &gates, "a", &[]),
            Removal::Stays(vec![key("y")])
        );
        assert!(!removal(&setup, &gates, "b", &[]).may_go());
        // Together they find none.
        let pod = vec![key("x"), key("y")];
        assert_eq!(
            removal(&setup, &gates, "a", std::slice::from_ref(&pod)),
            Removal::Stays(pod)
        );
    }

    #[test]
    fn a_pool_of_several_nodes_is_not_torn_apart() {
        let slices = vec![
            slice("s1", "shared", "a", 2, &["0"]),
            slice("s2", "shared", "b", 2, &["1"]),
        ];
        let (setup, gates) = setup(slices, Vec::new());
        let broken = removal(&setup, &gates, "a", &[]);
        assert_eq!(
            broken,
            Removal::Breaks {
                driver: "d.example".into(),
                pool: "shared".into()
            }
        );
        assert!(
            broken
                .to_string()
                .starts_with("must stay: pool shared of d.example")
        );
    }
}
