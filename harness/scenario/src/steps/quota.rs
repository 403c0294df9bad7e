//! ResourceQuotas: what they have counted, by their status and by the oracle, and whose claims they do not let be made.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Pod, ResourceQuota};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use kube::api::{Api, ListParams};
use oracle::quota::{Amount, Claim, Classes, Held, Limits, Rules, used};
use report::Failure;

use crate::live::{Live, LiveError};
use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::wait::{Probe, in_vain};
use crate::world::{World, api};

/// How long the controllers may take to count, or to say why a claim is not made.
const LAG: Duration = Duration::from_secs(30);

const BESIDE: &str = "Given another namespace, and this manifest is applied there:\n  \"\"\"\n  apiVersion: v1\n  kind: ResourceQuota\n  metadata: {name: theirs}\n  spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: \"1\"}}\n  \"\"\"";

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Then, "quota {name} counts {quantity} of {text}", |world, args| {
            let namespace = world.namespace().to_owned();
            Box::pin(counts(world, args, namespace))
        })
        .doc("The status of the ResourceQuota says that so much is used of this key, and its limits are enforced as they are written.")
        .example("Then quota \"gpus\" counts \"3\" of \"mig.nvidia.com.deviceclass.resource.k8s.io/devices\"");
    steps
        .add(Kind::Then, "quota {name} of the other namespace counts {quantity} of {text}", |world, args| {
            let namespace = world.other_namespace();
            Box::pin(counts(world, args, namespace))
        })
        .doc("The same, in the namespace that a step before has made.")
        .example("Then quota \"theirs\" of the other namespace counts \"0\" of \"gpu.nvidia.com.deviceclass.resource.k8s.io/devices\"");
    steps
        .add(Kind::Given, "another namespace, and this manifest is applied there:", |world, args| {
            Box::pin(beside(world, args))
        })
        .doc("A namespace of the scenario's beside its own; it goes at the end, with all that is in it.")
        .block(BlockWish::Manifest)
        .example(BESIDE);
    steps
        .add(Kind::Then, "pod {name} gets no claim, and the controller says {text}", |world, args| {
            Box::pin(no_claim(world, args))
        })
        .doc("The controller that makes claims from templates could not make one for the pod, and an event on the pod says why.")
        .example("Then pod \"pod-4\" gets no claim, and the controller says \"exceeded quota: gpus\"");
    steps
        .add(Kind::Then, "quotas and claims agree", |world, args| {
            Box::pin(agree(world, args))
        })
        .doc("In every namespace each ResourceQuota says of its keys about devices that so much is used as the claims and pods there add up to, by the oracle's reckoning.")
        .example("Then quotas and claims agree");
}

async fn beside(world: &mut World, args: &Args) -> StepResult {
    world.apply_beside(&args.objects).await
}

async fn counts(world: &mut World, args: &Args, namespace: String) -> StepResult {
    let (name, key) = (args.text("name"), args.text("text"));
    let wanted: Amount = args
        .text("quantity")
        .parse()
        .map_err(|error| Failure::new(format!("{error}")))?;
    let quotas: Api<ResourceQuota> = Api::namespaced(world.testbed().client(), &namespace);
    let waited = world
        .until(
            LAG,
            &format!("quota {name} counts {wanted} of {key}"),
            async || {
                let quota = quotas
                    .get(name)
                    .await
                    .map_err(|error| api(&format!("get the ResourceQuota {name}"), &error))?;
                let limits = read(&quota)?;
                let enforced = |key: &String| limits.hard.get(key).map(|it| it.value);
                let late = limits
                    .wanted
                    .iter()
                    .find(|(key, it)| enforced(key) != Some(it.value));
                Ok(match (late, limits.used.get(key)) {
                    (Some((key, limit)), _) => Probe::NotYet(format!(
                        "the limit of {limit} for {key} is not enforced yet"
                    )),
                    (None, Some(used)) if used.value == wanted.value => Probe::Ready(()),
                    (None, Some(used)) => Probe::NotYet(format!("{used} of {key}")),
                    (None, None) => Probe::NotYet(format!("nothing is said of {key}")),
                })
            },
        )
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("quota {name} counts something else"))
                .versus(format!("{wanted} of {key}"), seen)
        })
    })
}

fn read(quota: &ResourceQuota) -> Result<Limits, Failure> {
    Limits::read(quota).map_err(|error| Failure::new(error.to_string()))
}

async fn no_claim(world: &mut World, args: &Args) -> StepResult {
    let (name, text) = (args.text("name"), args.text("text"));
    let events: Api<Event> = Api::namespaced(world.testbed().client(), world.namespace());
    let fields = format!("involvedObject.name={name},reason=FailedResourceClaimCreation");
    let wanted = ListParams::default().fields(&fields);
    let pods = world.pods();
    let waited = world
        .until(LAG, &format!("{name} gets no claim"), async || {
            let pod = pods
                .get(name)
                .await
                .map_err(|error| api(&format!("get {name}"), &error))?;
            if let Some(made) = claim_of(&pod) {
                return Err(Failure::new(format!("{name} has got a claim"))
                    .versus(format!("none: … {text} …"), made));
            }
            let events = events
                .list(&wanted)
                .await
                .map_err(|error| api("list the events", &error))?;
            let said: Vec<String> = events
                .items
                .into_iter()
                .filter_map(|it| it.message)
                .collect();
            Ok(if said.iter().any(|it| it.contains(text)) {
                Probe::Ready(())
            } else if said.is_empty() {
                Probe::NotYet("no event says so".to_owned())
            } else {
                Probe::NotYet(said.join("\n"))
            })
        })
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new(format!("{name} does not lack its claim as it should")).versus(
                format!("an event FailedResourceClaimCreation: … {text} …"),
                seen,
            )
        })
    })?;
    world.waiting = vec![name.to_owned()];
    Ok(())
}

/// A claim that was made for the pod.
fn claim_of(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let claims = status.resource_claim_statuses.iter().flatten();
    claims
        .into_iter()
        .find_map(|it| it.resource_claim_name.clone())
}

async fn agree(world: &mut World, _: &Args) -> StepResult {
    let live = Live::new(world.testbed().client());
    let unheard = |error: LiveError| Failure::new(error.to_string());
    let server = live.server().await.map_err(unheard)?;
    let rules = Rules::of(&server.gates);
    let mut keys = 0;
    let waited = world
        .until(LAG, "quotas and claims agree", async || {
            let (quotas, claims, pods, classes) = tokio::try_join!(
                live.list::<ResourceQuota>("ResourceQuotas"),
                live.list::<ResourceClaim>("ResourceClaims"),
                live.list::<Pod>("Pods"),
                live.list::<DeviceClass>("DeviceClasses"),
            )
            .map_err(unheard)?;
            let (seen, wrong) = disagreements(&quotas, &claims, &pods, &classes, &rules)?;
            keys = seen;
            Ok(if wrong.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(wrong.join("\n"))
            })
        })
        .await;
    waited.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("quotas and claims do not agree").versus("what the claims add up to", seen)
        })
    })?;
    if keys == 0 {
        return Err(
            Failure::new("no quota of the cluster has a key about devices")
                .help("apply a ResourceQuota before"),
        );
    }
    Ok(())
}

/// How many keys were compared, and each that is wrong.
fn disagreements(
    quotas: &[ResourceQuota],
    claims: &[ResourceClaim],
    pods: &[Pod],
    classes: &[DeviceClass],
    rules: &Rules,
) -> Result<(usize, Vec<String>), Failure> {
    let classes = Classes::named(classes.iter().filter_map(|class| {
        let spec = class.spec.as_ref();
        let resource = spec.and_then(|spec| spec.extended_resource_name.as_deref());
        Some((class.metadata.name.as_deref()?, resource))
    }));
    let (mut keys, mut wrong) = (0, Vec::new());
    for quota in quotas {
        let namespace = &quota.metadata.namespace;
        let limits = read(quota)?;
        let claims = claims
            .iter()
            .filter(|it| it.metadata.namespace == *namespace);
        let pods = pods.iter().filter(|it| it.metadata.namespace == *namespace);
        let held = Held {
            claims: claims.map(Claim::read).collect(),
            pods: pods
                .map(oracle::quota::Pod::read)
                .collect::<Result<_, _>>()
                .map_err(|error| Failure::new(error.to_string()))?,
        };
        for (key, (least, most)) in used(&limits, &held, &classes, rules) {
            keys += 1;
            let said = limits.used.get(&key);
            if said.is_none_or(|said| said.value < least.value || said.value > most.value) {
                let place = format!(
                    "{}/{}",
                    namespace.as_deref().unwrap_or_default(),
                    limits.name
                );
                let said = said.map_or("nothing".to_owned(), ToString::to_string);
                let should = if least.value == most.value {
                    most.to_string()
                } else {
                    format!("{least} to {most}")
                };
                wrong.push(format!(
                    "{place}: {key}: its status says {said}, the claims add up to {should}"
                ));
            }
        }
    }
    Ok((keys, wrong))
}

#[cfg(test)]
mod tests {
    use oracle::{Gates, Version};

    use super::*;

    #[test]
    fn a_status_that_is_not_what_the_claims_add_up_to_is_found() {
        let key = oracle::quota::devices("gpu");
        let quota = |used: &str| -> ResourceQuota {
            serde_yaml_ng::from_str(&format!(
                "{{metadata: {{name: q, namespace: a}}, spec: {{hard: {{{key}: '4'}}}}, status: {{hard: {{{key}: '4'}}, used: {{{key}: '{used}'}}}}}}"
            ))
            .expect("a quota")
        };
        let claim = |namespace: &str| -> ResourceClaim {
            serde_yaml_ng::from_str(&format!(
                "{{metadata: {{name: c, namespace: {namespace}}}, spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: 2}}}}]}}}}}}"
            ))
            .expect("a claim")
        };
        let rules = Rules::of(&Gates::default_of(Version::NEWEST));
        let of = |used: &str| {
            let claims = [claim("a"), claim("b")];
            disagreements(&[quota(used)], &claims, &[], &[], &rules).expect("it can be read")
        };
        assert_eq!(of("2"), (1, vec![]));
        let (_, wrong) = of("4");
        assert_eq!(
            wrong,
            [format!(
                "a/q: {key}: its status says 4, the claims add up to 2"
            )]
        );
    }
}
