//! Gangs: how they come, what becomes of them, and that none holds devices without running.

mod come;
mod fate;
mod other;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use report::Failure;
use serde_json::Value;

use crate::gang::scheduler::{self, Scheduler};
use crate::gang::{Form, Sight};
use crate::registry::Registry;
use crate::world::{World, api};

/// How long a gang has to come up, or to be refused.
const UP: Duration = Duration::from_secs(60);

pub(super) fn register(steps: &mut Registry) {
    come::register(steps);
    fate::register(steps);
    other::register(steps);
}

/// Who places the gangs of the scenario: whom a step has named, or the cluster's own scheduler.
async fn scheduler(world: &World) -> Result<Box<dyn Scheduler>, Failure> {
    let form = form(world).await?;
    let Some(name) = &world.scheduler else {
        return form
            .map(|form| Box::new(form) as Box<dyn Scheduler>)
            .ok_or_else(no_workloads);
    };
    scheduler::named(name, form).ok_or_else(|| match scheduler::absent(name) {
        Some(why) => Failure::new(format!("the scheduler {name} cannot be had: {why}")),
        None => no_workloads(),
    })
}

fn no_workloads() -> Failure {
    Failure::new("this cluster knows no gangs: it serves no Workload API")
        .help("tag the scenario or its feature with @gates:GenericWorkload")
}

/// The form of the Workload API that the cluster serves, where it serves one.
async fn form(world: &World) -> Result<Option<Form>, Failure> {
    if let Some(known) = world.form.get() {
        return Ok(*known);
    }
    let found = ask_for_form(world).await?;
    Ok(*world.form.get_or_init(|| found))
}

async fn ask_for_form(world: &World) -> Result<Option<Form>, Failure> {
    let client = world.testbed().client();
    for form in Form::ALL {
        match client.list_api_group_resources(form.api_version()).await {
            Ok(list) if list.resources.iter().any(|it| it.name == form.plural()) => {
                return Ok(Some(form));
            }
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(api("ask for the APIs of scheduling.k8s.io", &error)),
        }
    }
    Ok(None)
}

/// Objects of a kind in every namespace, as they are.
async fn everywhere(world: &World, resource: &ApiResource) -> Result<Vec<Value>, Failure> {
    let objects: Api<DynamicObject> = Api::all_with(world.testbed().client(), resource);
    let list = objects
        .list(&ListParams::default())
        .await
        .map_err(|error| api(&format!("list the {}", resource.plural), &error))?;
    let values = list.items.iter().map(serde_json::to_value);
    values.collect::<Result<_, _>>().map_err(|error| {
        Failure::new(format!(
            "the API server lists {} that are none: {error}",
            resource.plural
        ))
    })
}

/// Every gang of the cluster, now. Claims are looked at last: what a pod that runs held before it does not count.
async fn gangs(world: &World) -> Result<Vec<Sight>, Failure> {
    let scheduler = scheduler(world).await?;
    let groups = everywhere(world, &scheduler.resource()).await?;
    let pods = everywhere(world, &ApiResource::erase::<Pod>(&())).await?;
    let claims: Api<ResourceClaim> = Api::all(world.testbed().client());
    let claims = claims
        .list(&ListParams::default())
        .await
        .map_err(|error| api("list the ResourceClaims", &error))?;
    Ok(Sight::all(
        scheduler.as_ref(),
        &groups,
        &pods,
        &claims.items,
    ))
}

/// Refuses a gang that the scenario has not made.
fn known(world: &World, name: &str) -> Result<(), Failure> {
    if world.gangs.iter().any(|made| made.name == name) {
        return Ok(());
    }
    Err(
        Failure::new(format!("no step before has made a gang {name:?}"))
            .help("write `When gang … of … pods comes, …` before"),
    )
}

/// One gang of the scenario, now.
async fn gang(world: &World, name: &str) -> Result<Sight, Failure> {
    known(world, name)?;
    let mut all = gangs(world).await?.into_iter();
    all.find(|it| it.namespace == world.namespace() && it.name == name)
        .ok_or_else(|| {
            Failure::new(format!("the gang {name:?} is gone"))
                .versus("the object that announces it", "there is none")
        })
}
