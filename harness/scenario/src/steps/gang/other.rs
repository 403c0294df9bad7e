//! Schedulers beside Kubernetes' own: started by a step, and named by the pods of gangs from then on.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use report::Failure;

use super::{UP, gang, scheduler};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::Probe;
use crate::world::{World, api};

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Given, "gangs are placed by scheduler {scheduler}", |world, args| Box::pin(placed_by(world, args)))
        .doc("This scheduler is started beside Kubernetes' own, with the kinds that it wants, and leads. Gangs that come from now on are announced as it wants them, and their pods name it. It is ended with the scenario. Tag the scenario with @scheduler:NAME, so that it is *not run* where the scheduler cannot be had.")
        .example("Given gangs are placed by scheduler \"second\"")
        .timeout(Duration::from_secs(120));
    steps
        .add(Kind::Then, "gang {name} was placed by scheduler {scheduler}", |world, args| Box::pin(was_placed_by(world, args)))
        .doc("Each pod of the gang has an event Scheduled, and it comes from the scheduler of this name.")
        .example("Then gang \"train\" was placed by scheduler \"second\"");
}

async fn placed_by(world: &mut World, args: &Args) -> StepResult {
    world.scheduler = Some(args.text("scheduler").to_owned());
    match scheduler(world).await?.install() {
        Some(install) => world.start_scheduler(install).await,
        None => Ok(()),
    }
}

/// Who has placed a pod, by its event.
fn placed(events: &[Event], pod: &str) -> Option<String> {
    let event = events.iter().find(|event| {
        event.involved_object.name.as_deref() == Some(pod)
            && event.reason.as_deref() == Some("Scheduled")
    })?;
    let source = || event.source.as_ref()?.component.clone();
    let reporter = event.reporting_component.clone();
    reporter.filter(|name| !name.is_empty()).or_else(source)
}

async fn was_placed_by(world: &mut World, args: &Args) -> StepResult {
    let (name, wanted) = (args.text("name"), args.text("scheduler"));
    let events: Api<Event> = Api::namespaced(world.testbed().client(), world.namespace());
    world
        .until(
            UP,
            &format!("gang {name} was placed by {wanted}"),
            async || {
                let gang = gang(world, name).await?;
                let list = events
                    .list(&ListParams::default())
                    .await
                    .map_err(|error| api("list the events", &error))?;
                let mut not_yet = Vec::new();
                for member in &gang.members {
                    match placed(&list.items, &member.pod.name) {
                        Some(by) if by == wanted => {}
                        Some(by) => {
                            return Err(Failure::new("another scheduler has placed it")
                                .versus(wanted, format!("{}: {by}", member.pod.name)));
                        }
                        None => not_yet.push(member.pod.line()),
                    }
                }
                Ok(if not_yet.is_empty() && !gang.members.is_empty() {
                    Probe::Ready(())
                } else {
                    Probe::NotYet(not_yet.join("; "))
                })
            },
        )
        .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_says_who_placed_a_pod() {
        let event = |reason: &str, reporter: &str, source: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "involvedObject": { "name": "a-1" }, "reason": reason,
                "reportingComponent": reporter, "source": { "component": source }
            }))
            .expect("an event")
        };
        let of = |event: Event| placed(&[event], "a-1");
        assert_eq!(
            of(event("Scheduled", "second", "")).as_deref(),
            Some("second")
        );
        assert_eq!(
            of(event("Scheduled", "", "usual")).as_deref(),
            Some("usual")
        );
        assert_eq!(of(event("FailedScheduling", "second", "")), None);
        assert_eq!(placed(&[event("Scheduled", "second", "")], "a-2"), None);
    }
}
