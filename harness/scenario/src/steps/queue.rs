//! Queues before the scheduler: Kueue and what it charges, jobs in its queues, who is admitted, who waits and why.
//! Not here: what it is (crate `cluster`), how its objects are read (`queues`), and what becomes of jobs (`queue::outcome`).

mod outcome;

use std::time::Duration;

use report::Failure;
use serde_json::{Value, json};

use crate::registry::{Args, BlockWish, Kind, Registry, StepResult};
use crate::world::{Ask, LABEL, World, claim_template, pod_object};

/// What the steps start.
const KUEUE: &[&str] = &["kueue", "kueue-manifests"];
/// It may take so long to come up on a slow machine.
const START: Duration = Duration::from_secs(150);
/// The one flavor of the queues that steps make.
const FLAVOR: &str = "any-node";
/// Whose counters and capacities are charged.
const DRIVER: &str = "gpu.nvidia.com";

const CHARGES: &str = "Given Kueue charges:\n  | resource   | class          | by             |\n  | gpu.memory | mig.nvidia.com | counter memory |";
const SETTINGS: &str =
    "Given Kueue runs with:\n  \"\"\"\n  waitForPodsReady: {timeout: 20s}\n  \"\"\"";
const QUEUE: &str = "Given queue \"team-a\" holds:\n  | resource | quota |\n  | mig-1g   | 7     |";
const COHORT: &str = "Given queue \"team-a\" of cohort \"lab\" holds:\n  | resource | quota | borrows | lends |\n  | mig-1g   | 3     | 2       | -     |";
const CLAIMS: &str = "When job \"large\" in queue \"team-a\" claims:\n  \"\"\"\n  requests:\n  - name: gpu\n    exactly: {deviceClassName: mig.nvidia.com, allocationMode: All}\n  \"\"\"";

pub(super) fn register(steps: &mut Registry) {
    kueue(steps);
    queues(steps);
    jobs(steps);
    outcome::register(steps);
}

fn kueue(steps: &mut Registry) {
    steps
        .add(Kind::Given, "Kueue charges:", |world, args| Box::pin(charges(world, args)))
        .doc("Kueue runs, with a line of deviceClassMappings for each row: devices of these classes (with commas) are charged as this resource, by `devices` (one each), by `counter NAME` or by `capacity NAME` of driver gpu.nvidia.com. It ends with the scenario.")
        .block(BlockWish::Table(&[("resource", "text"), ("class", "text"), ("by", "text")]))
        .timeout(START)
        .needs(KUEUE)
        .example(CHARGES);
    steps
        .add(Kind::Given, "Kueue runs with:", |world, args| Box::pin(runs_with(world, args)))
        .doc("Kueue runs with these fields of its Configuration, beside those of steps before; where it runs already it is started anew. How it is reached is not the scenario's to say.")
        .block(BlockWish::Settings)
        .timeout(START)
        .needs(KUEUE)
        .example(SETTINGS);
    steps
        .add(Kind::When, "Kueue is tried with:", |world, args| Box::pin(tried_with(world, args)))
        .doc("The same, but a refusal is no failure: a step after it says what Kueue has to say.")
        .block(BlockWish::Settings)
        .timeout(START)
        .needs(KUEUE)
        .example("When Kueue is tried with:\n  \"\"\"\n  resources: {deviceClassMappings: [{name: gpu}]}\n  \"\"\"");
    steps
        .add(
            Kind::Then,
            "Kueue refuses it, saying {text}",
            |world, args| Box::pin(refused(world, args)),
        )
        .doc("Kueue did not start with what was tried last, and its complaint holds this text.")
        .example("Then Kueue refuses it, saying \"at least one device class name is required\"");
    steps
        .add(Kind::Given, "a DeviceClass for each MIG profile of {model}", |world, args| Box::pin(classes(world, args)))
        .doc("A DeviceClass `mig-1g.5gb` and so on for each profile of the model, which is also the extended resource `nvidia.com/mig-1g.5gb`, as the device plugin names it (`+` becomes a dot).")
        .example("Given a DeviceClass for each MIG profile of \"A100-SXM4-40GB\"");
}

fn queues(steps: &mut Registry) {
    steps
        .add(Kind::Given, "queue {name} holds:", |world, args| Box::pin(queue(world, args, None)))
        .doc("A ClusterQueue of this name with these quotas, and a LocalQueue of the same name in the scenario's namespace. It has one flavor, any node.")
        .block(BlockWish::Table(&[("resource", "text"), ("quota", "text")]))
        .needs(KUEUE)
        .example(QUEUE);
    steps
        .add(Kind::Given, "queue {name} of cohort {text} holds:", |world, args| {
            Box::pin(queue(world, args, Some(args.text("text"))))
        })
        .doc("The same in a cohort, with what it may borrow of others and lend to them: an amount, or `-` for no limit. It takes its own quota back from who borrowed it, and preempts lower priorities in itself.")
        .block(BlockWish::Table(&[
            ("resource", "text"),
            ("quota", "text"),
            ("borrows", "text"),
            ("lends", "text"),
        ]))
        .needs(KUEUE)
        .example(COHORT);
}

fn jobs(steps: &mut Registry) {
    steps
        .add(Kind::When, "job {name} of {count} pod(s) in queue {text} asks for one {profile} each", |world, args| {
            Box::pin(job_of_profile(world, args))
        })
        .doc("A Job whose pods run until they are told to end, each with a claim made from a template for a partition of this profile. Does not wait for anything.")
        .example("When job \"a\" of 2 pods in queue \"team-a\" asks for one \"1g.5gb\" each");
    steps
        .add(Kind::When, "job {name} of {count} pod(s) in queue {text} asks for one of class {class} each", |world, args| {
            Box::pin(job_of_class(world, args))
        })
        .doc("The same for one device of this class.")
        .example("When job \"a\" of 2 pods in queue \"team-a\" asks for one of class \"mig-1g.5gb\" each");
    steps
        .add(Kind::When, "job {name} of {count} pod(s) in queue {text} asks for one of resource {resource} each", |world, args| {
            Box::pin(job_of_resource(world, args))
        })
        .doc("The same for one of an extended resource, without a claim of the job's own.")
        .example("When job \"a\" of 2 pods in queue \"team-a\" asks for one of resource \"nvidia.com/gpu\" each");
    steps
        .add(
            Kind::When,
            "{count} jobs in queue {text} ask for one {profile}",
            |world, args| Box::pin(many_jobs(world, args)),
        )
        .doc("So many Jobs `job-1`, `job-2`, … of one pod each, one after another.")
        .example("When 8 jobs in queue \"team-a\" ask for one \"1g.5gb\"");
    steps
        .add(Kind::When, "job {name} in queue {text} claims:", |world, args| {
            Box::pin(job_that_claims(world, args))
        })
        .doc("A Job of one pod with a claim made from a template; below the step stands what it asks for, as in spec.devices of a ResourceClaim.")
        .block(BlockWish::Devices)
        .example(CLAIMS);
    steps
        .add(
            Kind::When,
            "job {name} in queue {text} uses claim(s) {names}",
            |world, args| Box::pin(job_of_claims(world, args)),
        )
        .doc("A Job of one pod that uses these ResourceClaims of the scenario by name.")
        .example("When job \"a\" in queue \"team-a\" uses claim \"shared\"");
}

async fn charges(world: &mut World, args: &Args) -> StepResult {
    let (resources, classes) = (args.column("resource"), args.column("class"));
    let rows = resources.iter().zip(&classes).zip(args.column("by"));
    let mut mappings = Vec::new();
    let mut capacity = false;
    for ((resource, class), by) in rows {
        let names: Vec<&str> = class.split(',').map(str::trim).collect();
        let selector = json!({"cel": {"expression": format!("device.driver == '{DRIVER}'")}});
        let mut mapping = json!({"name": resource, "deviceClassNames": names});
        match by.split_once(' ') {
            None if by == "devices" => {}
            Some((kind @ ("counter" | "capacity"), name)) => {
                capacity |= kind == "capacity";
                mapping["sources"] = json!([{
                    kind: {"name": name, "driver": DRIVER, "deviceSelector": selector}
                }]);
            }
            _ => {
                return Err(Failure::new(format!("nothing is charged by {by:?}"))
                    .help("write `devices`, `counter memory` or `capacity memory`"));
            }
        }
        mappings.push(mapping);
    }
    let mut fields = json!({"resources": {"deviceClassMappings": mappings}});
    if capacity {
        fields["featureGates"] = json!({"KueueDRAIntegrationConsumableCapacity": true});
    }
    world.start_queues(&fields).await
}

async fn runs_with(world: &mut World, args: &Args) -> StepResult {
    for fields in &args.objects {
        world.start_queues(fields).await?;
    }
    Ok(())
}

async fn tried_with(world: &mut World, args: &Args) -> StepResult {
    for fields in &args.objects {
        let answer = world.start_queues(fields).await;
        world.tried = Some(answer.map_err(|failure| failure.summary));
    }
    Ok(())
}

async fn refused(world: &mut World, args: &Args) -> StepResult {
    let text = args.text("text");
    match &world.tried {
        Some(Err(said)) if said.contains(text) => Ok(()),
        Some(Err(said)) => {
            Err(Failure::new("Kueue says something else").versus(format!("… {text} …"), said))
        }
        Some(Ok(())) => Err(Failure::new("Kueue has nothing against it")
            .versus(format!("a refusal that says {text:?}"), "it runs")),
        None => {
            Err(Failure::new("nothing was tried").help("write `When Kueue is tried with:` before"))
        }
    }
}

async fn classes(world: &mut World, args: &Args) -> StepResult {
    let model = args.text("model");
    let catalog = gpu_model::Catalog::builtin();
    let profiles = catalog
        .model(model)
        .ok()
        .and_then(|it| it.spec().mig.clone());
    let Some(mig) = profiles else {
        return Err(Failure::new(format!("{model} has no MIG profiles"))
            .help("`fakegpu model list` shows which models have"));
    };
    let mut all: Vec<Value> = Vec::new();
    for profile in &mig.profiles {
        let name = format!("mig-{}", profile.name.replace('+', "."));
        let expression = format!(
            "device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'mig' && device.attributes['{DRIVER}'].profile == '{}'",
            profile.name
        );
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {
                "selectors": [{"cel": {"expression": expression}}],
                "extendedResourceName": format!("nvidia.com/{name}")
            }
        });
        if !all.contains(&class) {
            all.push(class);
        }
    }
    world.apply(&all).await
}

async fn queue(world: &mut World, args: &Args, cohort: Option<&str>) -> StepResult {
    if world.queues.is_none() {
        return Err(Failure::new("no step before has started Kueue")
            .help("write `Given Kueue charges:` before"));
    }
    let name = args.text("name");
    let (borrows, lends) = (args.column("borrows"), args.column("lends"));
    let limit = |column: &[String], at: usize| match column.get(at).map(String::as_str) {
        None | Some("-") => Value::Null,
        Some(amount) => json!(amount),
    };
    let resources = args.column("resource");
    let quotas: Vec<Value> = resources
        .iter()
        .zip(args.column("quota"))
        .enumerate()
        .map(|(at, (resource, quota))| {
            let mut one = json!({"name": resource, "nominalQuota": quota});
            for (field, column) in [("borrowingLimit", &borrows), ("lendingLimit", &lends)] {
                let amount = limit(column, at);
                if !amount.is_null() {
                    one[field] = amount;
                }
            }
            one
        })
        .collect();
    let mut spec = json!({
        "namespaceSelector": {},
        "resourceGroups": [{
            "coveredResources": resources,
            "flavors": [{"name": FLAVOR, "resources": quotas}]
        }]
    });
    if let Some(cohort) = cohort {
        spec["cohortName"] = json!(cohort);
        spec["preemption"] =
            json!({"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"});
    }
    let flavor = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
        "metadata": {"name": FLAVOR}, "spec": {}
    });
    let objects = [
        flavor,
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
            "metadata": {"name": name}, "spec": spec
        }),
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": name}, "spec": {"clusterQueue": name}
        }),
    ];
    world.apply(&objects).await
}

/// A Job of so many pods, with these claims or this extended resource.
fn job(name: &str, queue: &str, pods: usize, claims: &Value, resource: Option<&str>) -> Value {
    let mut spec = pod_object(name, claims)["spec"].take();
    if let Some(resource) = resource {
        // Kueue reads the requests, and a template's are not filled in from its limits.
        spec["containers"][0]["resources"] =
            json!({"requests": {resource: "1"}, "limits": {resource: "1"}});
    }
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "suspend": true, "parallelism": pods, "completions": pods, "backoffLimit": 0,
            "template": {"metadata": {"labels": {LABEL: "yes"}}, "spec": spec}
        }
    })
}

fn of_template(name: &str) -> Value {
    json!([{"name": "gpu", "resourceClaimTemplateName": name}])
}

async fn submit(world: &mut World, args: &Args, count: usize, devices: &Value) -> StepResult {
    let (name, queue) = (args.text("name"), args.text("text"));
    let claims = of_template(name);
    let objects = [
        claim_template(name, devices),
        job(name, queue, count, &claims, None),
    ];
    world.apply(&objects).await
}

fn of_profile(profile: &str) -> Value {
    Ask::Profile(profile.to_owned()).devices()
}

async fn job_of_profile(world: &mut World, args: &Args) -> StepResult {
    submit(world, args, args.count(), &of_profile(args.text("profile"))).await
}

async fn job_of_class(world: &mut World, args: &Args) -> StepResult {
    let ask = Ask::Class(args.text("class").to_owned());
    submit(world, args, args.count(), &ask.devices()).await
}

async fn job_of_resource(world: &mut World, args: &Args) -> StepResult {
    let (name, queue) = (args.text("name"), args.text("text"));
    let job = job(
        name,
        queue,
        args.count(),
        &json!([]),
        Some(args.text("resource")),
    );
    world.apply(&[job]).await
}

async fn many_jobs(world: &mut World, args: &Args) -> StepResult {
    let profile = args.text("profile");
    let template_name = format!("one-{}", profile.replace('+', "-"));
    world
        .apply(&[claim_template(&template_name, &of_profile(profile))])
        .await?;
    for number in 1..=args.count() {
        let name = format!("job-{number}");
        let claims = of_template(&template_name);
        let job = job(&name, args.text("text"), 1, &claims, None);
        world.apply(&[job]).await?;
    }
    Ok(())
}

async fn job_that_claims(world: &mut World, args: &Args) -> StepResult {
    for devices in &args.objects {
        submit(world, args, 1, devices).await?;
    }
    Ok(())
}

async fn job_of_claims(world: &mut World, args: &Args) -> StepResult {
    let claims: Vec<Value> = args
        .list("names")
        .iter()
        .enumerate()
        .map(|(at, claim)| json!({"name": format!("gpu-{at}"), "resourceClaimName": claim}))
        .collect();
    let (name, queue) = (args.text("name"), args.text("text"));
    let job = job(name, queue, 1, &json!(claims), None);
    world.apply(&[job]).await
}
