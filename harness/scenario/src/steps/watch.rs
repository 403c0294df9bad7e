//! Who looks on: Prometheus over the real components, with the rules that this repository ships, and its alerts.

use std::time::Duration;

use regex::Regex;
use report::Failure;
use serde_json::Value;

use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::{Probe, in_vain};
use crate::world::World;

const RULES: &str = include_str!("../../../../docs/monitoring/pending-claims.rules.yaml");
const TESTS: &str = include_str!("../../../../docs/monitoring/pending-claims.test.yaml");
const RULES_FILE: &str = "pending-claims.rules.yaml";
const TESTS_FILE: &str = "pending-claims.test.yaml";

const NEEDS: &[&str] = &["prometheus", "promtool"];
/// How long Prometheus has to scrape what it is to scrape seldom, and to evaluate.
const SOON: Duration = Duration::from_secs(45);
const START: Duration = Duration::from_secs(90);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Given, "Prometheus watches the cluster by the shipped rules, each after {duration}", |world, args| {
            Box::pin(starts(world, args))
        })
        .doc("Prometheus scrapes the API server, etcd, the controller manager, the scheduler and the kubelets of the nodes that are there, and evaluates docs/monitoring/pending-claims.rules.yaml, each alert with this time in its `for:` in place of minutes. It ends with the scenario.")
        .timeout(START)
        .needs(NEEDS)
        .example("Given Prometheus watches the cluster by the shipped rules, each after 5 seconds");
    steps
        .add(Kind::Then, "promtool finds the shipped rules in order", |world, args| {
            Box::pin(in_order(world, args))
        })
        .doc("`promtool check rules` takes them as they are shipped, and `promtool test rules` passes the tests beside them, which go through the minutes of each alert.")
        .needs(NEEDS)
        .example("Then promtool finds the shipped rules in order");
    steps
        .add(
            Kind::Then,
            "Prometheus reaches every component",
            |world, args| Box::pin(reaches(world, args)),
        )
        .doc("Each of its targets is up, one at least of each job.")
        .example("Then Prometheus reaches every component");
    steps
        .add(
            Kind::Then,
            "alert {text} fires within {duration}",
            |world, args| Box::pin(fires(world, args)),
        )
        .doc("An alert of this name is firing, not only pending.")
        .timeout(Duration::from_secs(3700))
        .example("Then alert \"PodsWaitForDevices\" fires within 60 seconds");
    steps
        .add(Kind::Then, "no alert is there", |world, args| Box::pin(quiet(world, args)))
        .doc("No alert fires and none is pending, after Prometheus has evaluated what it knows now. What is on its way is waited for.")
        .example("Then no alert is there");
}

/// The rules with this time in place of the minutes of each.
fn hastened(limit: Duration) -> Result<String, Failure> {
    let minutes = Regex::new(r"(?m)^(\s+for:) \d+m$");
    let minutes = minutes.map_err(|error| Failure::new(error.to_string()))?;
    let seconds = format!("$1 {}s", limit.as_secs());
    Ok(minutes.replace_all(RULES, seconds).into_owned())
}

async fn starts(world: &mut World, args: &Args) -> StepResult {
    let rules = [(RULES_FILE, hastened(args.duration())?)];
    world.watched = true;
    let started = world.testbed().prometheus(Some(&rules)).await;
    started.map_err(|error| Failure::new(error.message))
}

async fn in_order(world: &mut World, _: &Args) -> StepResult {
    let files = [
        (RULES_FILE, RULES.to_owned()),
        (TESTS_FILE, TESTS.to_owned()),
    ];
    for args in [
        ["check", "rules", RULES_FILE],
        ["test", "rules", TESTS_FILE],
    ] {
        let output = world.testbed().promtool(&args, &files).await;
        let output = output.map_err(|error| Failure::new(error.message))?;
        if output.code != Some(0) {
            return Err(output.failure(&format!("promtool {} finds something", args.join(" "))));
        }
    }
    Ok(())
}

async fn ask(world: &World, path: &str) -> Result<Value, Failure> {
    let answer = world.testbed().ask_prometheus(path).await;
    answer.map_err(|error| Failure::new(error.message))
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

async fn reaches(world: &mut World, _: &Args) -> StepResult {
    let world = &*world;
    world
        .until(SOON, "Prometheus reaches every component", async || {
            let data = ask(world, "/api/v1/targets").await?;
            let targets = data["activeTargets"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let down: Vec<String> = targets
                .iter()
                .filter(|it| word(it, "health") != "up")
                .map(|it| {
                    let labels = &it["labels"];
                    let (job, instance) = (word(labels, "job"), word(labels, "instance"));
                    format!(
                        "{job} {instance}: {} {}",
                        word(it, "health"),
                        word(it, "lastError")
                    )
                })
                .collect();
            Ok(match down.is_empty() && !targets.is_empty() {
                true => Probe::Ready(()),
                false => Probe::NotYet(down.join("\n")),
            })
        })
        .await
}

/// Name, state and summary of each alert that is there.
async fn alerts(world: &World) -> Result<Vec<(String, String, String)>, Failure> {
    let data = ask(world, "/api/v1/alerts").await?;
    let all = data["alerts"].as_array().cloned().unwrap_or_default();
    let of = |it: &Value| {
        (
            word(&it["labels"], "alertname").to_owned(),
            word(it, "state").to_owned(),
            word(&it["annotations"], "summary").to_owned(),
        )
    };
    Ok(all.iter().map(of).collect())
}

fn shown(alerts: &[(String, String, String)]) -> String {
    if alerts.is_empty() {
        return "no alert".to_owned();
    }
    let lines = alerts
        .iter()
        .map(|(name, state, summary)| format!("{name} {state}: {summary}"));
    lines.collect::<Vec<_>>().join("\n")
}

async fn fires(world: &mut World, args: &Args) -> StepResult {
    let wanted = args.text("text");
    let what = format!("alert {wanted:?} fires");
    let world = &*world;
    world
        .until(args.duration(), &what, async || {
            let all = alerts(world).await?;
            let fires = all
                .iter()
                .any(|(name, state, _)| name == wanted && state == "firing");
            Ok(match fires {
                true => Probe::Ready(()),
                false => Probe::NotYet(shown(&all)),
            })
        })
        .await
        .map_err(|failure| {
            in_vain(failure, |seen| {
                Failure::new(format!("alert {wanted:?} does not fire")).versus("it fires", seen)
            })
        })
}

async fn quiet(world: &mut World, _: &Args) -> StepResult {
    let world = &*world;
    world
        .until(SOON, "no alert is there", async || {
            // Before the first evaluation there is none either.
            let rules = ask(world, "/api/v1/rules").await?;
            let groups = rules["groups"].as_array().cloned().unwrap_or_default();
            let rules = groups
                .iter()
                .flat_map(|it| it["rules"].as_array().cloned().unwrap_or_default());
            let unknown = rules.filter(|it| word(it, "health") != "ok").count();
            let all = alerts(world).await?;
            Ok(match all.is_empty() && unknown == 0 && !groups.is_empty() {
                true => Probe::Ready(()),
                false => Probe::NotYet(format!("{}; {unknown} rules not evaluated", shown(&all))),
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alert_is_hastened() {
        let rules = hastened(Duration::from_secs(5)).expect("rules");
        let alerts = RULES.matches("- alert:").count();
        assert!(alerts > 0);
        assert_eq!(rules.matches("    for: 5s\n").count(), alerts);
    }
}
