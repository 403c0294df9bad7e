//! Misallocation: by how much claims got more than the smallest device that would have fitted, by the oracle's reckoning.
//! Per claim and for the run, in compute and memory slices. It is asked for pods that came alone, for only then it is known
//! what was free.

use k8s_openapi::api::resource::v1::ResourceClaim;
use oracle::objects::{Claim, ClaimKey, Held, Listed, bound_node};
use oracle::{DeviceId, Gates, Misallocation, Setup};
use report::Failure;

use crate::live::{GatesFrom, Live};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::world::World;

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Then, "no claim got more than the smallest device that fits", |world, args| {
            Box::pin(none_too_large(world, args))
        })
        .doc("For each pod that was created alone: of the devices that were free when it came and fit its claim, none is smaller than the one it holds, by compute slices and then by memory slices.")
        .example("Then no claim got more than the smallest device that fits");
    steps
        .add(Kind::Then, "the claims together got {count} memory slice(s) more than the smallest devices that fit, and no compute slice more", |world, args| {
            Box::pin(too_much_memory(world, args))
        })
        .doc("The misallocation of the pods that were created alone, summed: what they hold against the smallest that was free and fitted when each came.")
        .example("Then the claims together got 2 memory slices more than the smallest devices that fit, and no compute slice more");
}

async fn none_too_large(world: &mut World, _: &Args) -> StepResult {
    let all = weigh(world).await?;
    if !all.iter().any(Misallocation::too_large) && total(&all).0.is_some() {
        return Ok(());
    }
    Err(
        Failure::new("claims got more than the smallest device that fits")
            .versus("nothing more", lines(&all)),
    )
}

async fn too_much_memory(world: &mut World, args: &Args) -> StepResult {
    let all = weigh(world).await?;
    let wanted = i64::try_from(args.count()).unwrap_or(i64::MAX);
    if total(&all) == (Some(0), Some(wanted)) {
        return Ok(());
    }
    Err(Failure::new(
        "the claims together did not get so much more than the smallest devices that fit",
    )
    .versus(
        format!("0 compute slices, {wanted} memory slices"),
        lines(&all),
    ))
}

/// Compute and memory slices of the run.
fn total(all: &[Misallocation]) -> (Option<i64>, Option<i64>) {
    (
        all.iter().map(Misallocation::compute).sum(),
        all.iter().map(Misallocation::memory).sum(),
    )
}

/// Each claim with what it got and could have got, and the sum.
fn lines(all: &[Misallocation]) -> String {
    let mut lines = Vec::new();
    for it in all {
        for place in &it.places {
            let smallest = match &place.smallest {
                Some(smallest) => format!("{} ({})", smallest.device, place.smallest_weight),
                None => "not known".to_owned(),
            };
            lines.push(format!(
                "claim {}: got {} ({}), the smallest that fits was {smallest}",
                it.claim, place.given.device, place.given_weight
            ));
        }
    }
    let shown = |slices: Option<i64>| slices.map_or("unknown".to_owned(), |it| it.to_string());
    let (compute, memory) = total(all);
    lines.push(format!(
        "the run: {} compute slices, {} memory slices too many",
        shown(compute),
        shown(memory)
    ));
    lines.join("\n")
}

async fn weigh(world: &World) -> Result<Vec<Misallocation>, Failure> {
    let (listed, gates) = cluster(world).await?;
    let came_alone = |made: &&crate::world::Made| !made.ended && made.before.is_some();
    let mut all = Vec::new();
    for made in world.made.iter().filter(came_alone) {
        let before = made.before.as_deref().unwrap_or_default();
        all.extend(of_pod(
            &listed,
            &gates,
            world.namespace(),
            &made.pod,
            before,
        )?);
    }
    if all.is_empty() {
        return Err(
            Failure::new("no pod that was created alone holds anything, so nothing can be said about what was free")
                .help("create them with `… one after another …`"),
        );
    }
    Ok(all)
}

/// The misallocation of the claims of a pod, when the devices of `before`, by pool and name, were in somebody's hands.
fn of_pod(
    listed: &Listed,
    gates: &Gates,
    namespace: &str,
    pod: &str,
    before: &[(String, String)],
) -> Result<Vec<Misallocation>, Failure> {
    let mine = |claim: &&ResourceClaim| {
        let users = claim
            .status
            .iter()
            .flat_map(|status| status.reserved_for.iter().flatten());
        let mut pods = users.filter(|user| user.resource == "pods");
        claim.metadata.namespace.as_deref() == Some(namespace) && pods.any(|user| user.name == pod)
    };
    let mut all = Vec::new();
    for claim in listed.claims.iter().filter(mine) {
        let (mut setup, mistakes) = Setup::read(listed, gates);
        if let Some(mistake) = mistakes.first() {
            return Err(Failure::new(mistake.to_string()));
        }
        let key = ClaimKey {
            namespace: namespace.into(),
            name: claim.metadata.name.as_deref().unwrap_or_default().into(),
        };
        let Some(wanted) = setup.claims.iter().find(|claim| claim.key == key).cloned() else {
            continue;
        };
        let held = wanted.holds.clone().unwrap_or_default();
        hold_only(&mut setup, before);
        let world = oracle::World::new(setup, gates.clone(), None);
        let node = bound_node(claim);
        let Some(node) = world.nodes().iter().find(|it| Some(&*it.name) == node) else {
            return Err(Failure::new(format!(
                "claim {key} is bound to no node that is there"
            )));
        };
        let it = oracle::misallocation(&world, &wanted, &held, node);
        all.push(it.map_err(|failure| Failure::new(failure.to_string()))?);
    }
    Ok(all)
}

/// Leaves only these devices in somebody's hands: in those of the claims that still hold them, else of one that has gone.
fn hold_only(setup: &mut Setup, before: &[(String, String)]) {
    let among = |id: &DeviceId| {
        before
            .iter()
            .any(|(pool, device)| **pool == *id.pool && **device == *id.device)
    };
    for claim in &mut setup.claims {
        if let Some(holds) = &mut claim.holds {
            holds.retain(|held| among(&held.device));
        }
    }
    let held = |id: &DeviceId| {
        let mut devices = setup
            .claims
            .iter()
            .flat_map(|claim| claim.holds.iter().flatten());
        devices.any(|held| held.device == *id)
    };
    let ids = setup.slices.iter().flat_map(|slice| {
        slice
            .devices
            .iter()
            .map(|device| DeviceId::new(&slice.driver, &slice.pool, &device.name))
    });
    let gone: Vec<Held> = ids
        .filter(|id| among(id) && !held(id))
        .map(|device| Held {
            request: "gone".into(),
            device,
            admin: false,
            share: None,
            consumed: Default::default(),
        })
        .collect();
    setup.claims.push(Claim {
        key: ClaimKey {
            namespace: "".into(),
            name: "a claim that has gone".into(),
        },
        requests: Vec::new(),
        constraints: Vec::new(),
        config: Vec::new(),
        holds: Some(gone),
    });
}

/// Every object that decides about devices, and the gates as the API server says them.
pub(super) async fn cluster(world: &World) -> Result<(Listed, Gates), Failure> {
    let live = Live::new(world.testbed().client());
    let asked = tokio::try_join!(live.listed(), live.server());
    let (listed, server) = asked.map_err(|error| Failure::new(error.to_string()))?;
    match server.gates_from {
        GatesFrom::Metrics => Ok((listed, server.gates)),
        // What was free and fitted hangs on the gates: nothing is taken for granted.
        from @ GatesFrom::Defaults { .. } => Err(Failure::new(from.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use oracle::Version;

    use super::*;

    /// Two small partitions, a claim that holds the larger of two, and a claim beside it.
    fn listed() -> Listed {
        let slice = |name: &str, rest: &str| {
            serde_yaml_ng::from_str(&format!(
                "{{metadata: {{name: {name}}}, spec: {{driver: d, nodeName: n1, pool: {{name: n1, generation: 1, resourceSliceCount: 2}}, {rest}}}}}"
            ))
            .expect("a slice")
        };
        let counters = |slices: &[u32]| {
            let counters: Vec<String> = slices
                .iter()
                .map(|slice| format!("memory-slice-{slice}: {{value: '1'}}"))
                .collect();
            counters.join(", ")
        };
        let device = |name: &str, profile: &str, slices: &[u32]| {
            format!(
                "{{name: {name}, attributes: {{profile: {{string: {profile}}}}}, consumesCounters: [{{counterSet: c, counters: {{{}}}}}]}}",
                counters(slices)
            )
        };
        let devices = [
            device("large", "1g.10gb", &[0, 1]),
            device("small", "1g.5gb", &[2]),
        ];
        let claim = "{metadata: {name: mine, namespace: ns}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any}}]}},
            status: {allocation: {devices: {results: [{request: r, driver: d, pool: n1, device: large}]},
                nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}},
                reservedFor: [{resource: pods, name: pod-1, uid: '1'}]}}";
        Listed {
            slices: vec![
                slice(
                    "a",
                    &format!(
                        "sharedCounters: [{{name: c, counters: {{{}}}}}]",
                        counters(&[0, 1, 2])
                    ),
                ),
                slice("b", &format!("devices: [{}]", devices.join(", "))),
            ],
            classes: vec![
                serde_yaml_ng::from_str("{metadata: {name: any}, spec: {}}").expect("a class"),
            ],
            claims: vec![serde_yaml_ng::from_str(claim).expect("a claim")],
            nodes: vec![serde_yaml_ng::from_str("{metadata: {name: n1}}").expect("a node")],
            rules: vec![],
        }
    }

    fn of(before: &[(&str, &str)]) -> Vec<Misallocation> {
        let before: Vec<(String, String)> = before
            .iter()
            .map(|(pool, device)| ((*pool).to_owned(), (*device).to_owned()))
            .collect();
        let gates = Gates::default_of(Version::NEWEST);
        of_pod(&listed(), &gates, "ns", "pod-1", &before).expect("it can be weighed")
    }

    #[test]
    fn a_smaller_device_that_was_free_counts_and_one_that_was_taken_does_not() {
        let free = of(&[]);
        assert_eq!(total(&free), (Some(0), Some(2 - 1)));
        assert!(free[0].too_large());
        let text = lines(&free);
        assert!(text.contains("claim ns/mine: got large (1 compute slice, 2 memory slices), the smallest that fits was small"), "{text}");
        assert!(
            text.contains("the run: 0 compute slices, 1 memory slices too many"),
            "{text}"
        );
        let taken = of(&[("n1", "small")]);
        assert_eq!(total(&taken), (Some(0), Some(0)));
        assert!(!taken[0].too_large());
    }
}
