//! Scaling by demand: a metric that a step tells, and how many pods the real autoscaler makes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use report::Failure;
use serde_json::json;

use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::Probe;
use crate::world::{LABEL, World, pod_object};

/// How long the autoscaler has: it looks every two seconds, and pods take some to come and to go.
const SOON: Duration = Duration::from_secs(60);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "the metric {name} stands at {quantity}", |world, args| Box::pin(stands(world, args)))
        .doc("From now on an API server of ours answers so for external.metrics.k8s.io, through the aggregation of the real API server.")
        .timeout(Duration::from_secs(90))
        .example("When the metric \"requests-waiting\" stands at \"3\"");
    steps
        .add(Kind::Given, "a Deployment {name} whose pods claim one {profile} each, one for {count} of the metric {text}, from {quantity} to {count}", |world, args| {
            Box::pin(scaled(world, args))
        })
        .doc("A Deployment of that name and a HorizontalPodAutoscaler on it: so much of an external metric for each pod, and no less and no more pods than said. It scales down at once.")
        .example("Given a Deployment \"server\" whose pods claim one \"1g.5gb\" each, one for 2 of the metric \"requests-waiting\", from \"0\" to 3");
    steps
        .add(Kind::Then, "the Deployment {name} has {quantity} pods that run, by its autoscaler", |world, args| {
            Box::pin(has(world, args))
        })
        .doc("The HorizontalPodAutoscaler wants so many, the Deployment has them, and so many pods of it run and no more are there.")
        .timeout(Duration::from_secs(90))
        .example("Then the Deployment \"server\" has \"0\" pods that run, by its autoscaler");
}

async fn stands(world: &mut World, args: &Args) -> StepResult {
    let value: i64 = args.text("quantity").parse().map_err(|_| {
        Failure::new(format!("{:?} is not a number", args.text("quantity")))
            .help("write a whole number, as `3`")
    })?;
    let name = args.text("name").to_owned();
    let metrics = world.metrics.get_or_insert_with(BTreeMap::new);
    metrics.insert(name, value);
    let metrics = metrics.clone();
    let told = world.testbed().metrics(Some(&metrics)).await;
    told.map_err(|error| Failure::new(error.message))
}

async fn scaled(world: &mut World, args: &Args) -> StepResult {
    let (name, metric) = (args.text("name"), args.text("text"));
    let counts = args.counts();
    let (each, most) = (counts.first().copied(), counts.get(1).copied());
    let (each, most) = (each.unwrap_or(1), most.unwrap_or(1));
    let least: u32 = args.text("quantity").parse().unwrap_or(0);
    let devices = crate::world::Ask::Profile(args.text("profile").to_owned()).devices();
    let labels = json!({"app": name});
    let claims = json!([{"name": "gpu", "resourceClaimTemplateName": name}]);
    let mut pod = pod_object(name, &claims);
    pod["spec"]["restartPolicy"] = json!("Always");
    let objects = [
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name}, "spec": {"spec": {"devices": devices}}
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": {"app": name, LABEL: "yes"}},
                    "spec": pod["spec"]
                }
            }
        }),
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": least, "maxReplicas": most,
                "metrics": [{"type": "External", "external": {
                    "metric": {"name": metric},
                    "target": {"type": "AverageValue", "averageValue": each.to_string()}
                }}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}
            }
        }),
    ];
    world.apply(&objects).await
}

async fn has(world: &mut World, args: &Args) -> StepResult {
    let name = args.text("name");
    let wanted: i64 = args.text("quantity").parse().unwrap_or(0);
    let what = format!("{name} has {wanted} pods");
    let world = &*world;
    world
        .until(SOON, &what, async || {
            let scaler = world
                .get_object("autoscaling", "v2", "HorizontalPodAutoscaler", name)
                .await?;
            let deployment = world.get_object("apps", "v1", "Deployment", name).await?;
            let sight = world.look().await?;
            let prefix = format!("{name}-");
            let pods: Vec<_> = sight
                .pods
                .iter()
                .filter(|it| it.name.starts_with(&prefix))
                .collect();
            let run = pods.iter().filter(|it| it.runs()).count();
            let asks = scaler["status"]["desiredReplicas"].as_i64();
            let has = deployment["spec"]["replicas"].as_i64().unwrap_or(0);
            let all_run = i64::try_from(run).is_ok_and(|it| it == wanted) && pods.len() == run;
            if asks == Some(wanted) && has == wanted && all_run {
                return Ok(Probe::Ready(()));
            }
            let conditions = scaler["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let said: Vec<String> = conditions
                .iter()
                .map(|it| format!("{}={} {}", it["type"], it["status"], it["message"]))
                .collect();
            let lines: Vec<String> = pods.iter().map(|it| it.line()).collect();
            Ok(Probe::NotYet(format!(
                "the autoscaler wants {asks:?}, the Deployment has {has}, {run} run: {}\n{}",
                lines.join("; "),
                said.join("\n")
            )))
        })
        .await
}
