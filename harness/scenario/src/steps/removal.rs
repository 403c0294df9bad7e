//! Scale-down: which node may go by the devices that go with it, as the oracle reckons from the objects as they are.

use oracle::objects::ClaimKey;
use oracle::{Removal, Setup, removal};
use report::Failure;

use super::misallocation::cluster;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::world::World;

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Then, "node {name} may go", |world, args| Box::pin(may_go(world, args)))
        .doc("By the ResourceSlices, ResourceClaims and Nodes as they are now: whatever claims hold on this node they would find on the others, those of a pod together, and no pool would be torn apart. Processors and memory are not looked at.")
        .example("Then node \"node-2\" may go");
    steps
        .add(
            Kind::Then,
            "node {name} must stay, since {text}",
            |world, args| Box::pin(must_stay(world, args)),
        )
        .doc("It may not go, and the reason holds this text.")
        .example("Then node \"node-1\" must stay, since \"would find no device elsewhere\"");
}

async fn look(world: &World, node: &str) -> Result<Removal, Failure> {
    let (listed, gates) = cluster(world).await?;
    let (setup, mistakes) = Setup::read(&listed, &gates);
    if let Some(mistake) = mistakes.first() {
        return Err(Failure::new(mistake.to_string()));
    }
    // Claims of one pod are in use by the same.
    let mut pods: std::collections::BTreeMap<String, Vec<ClaimKey>> = Default::default();
    for claim in &listed.claims {
        let users = claim
            .status
            .iter()
            .flat_map(|it| it.reserved_for.iter().flatten());
        for user in users {
            let key = ClaimKey {
                namespace: claim
                    .metadata
                    .namespace
                    .as_deref()
                    .unwrap_or_default()
                    .into(),
                name: claim.metadata.name.as_deref().unwrap_or_default().into(),
            };
            pods.entry(user.uid.clone()).or_default().push(key);
        }
    }
    let together: Vec<Vec<ClaimKey>> = pods.into_values().collect();
    Ok(removal(&setup, &gates, node, &together))
}

async fn may_go(world: &mut World, args: &Args) -> StepResult {
    let node = args.text("name");
    match look(world, node).await? {
        Removal::MayGo(_) => Ok(()),
        other => {
            Err(Failure::new(format!("{node} may not go")).versus("it may go", other.to_string()))
        }
    }
}

async fn must_stay(world: &mut World, args: &Args) -> StepResult {
    let (node, text) = (args.text("name"), args.text("text"));
    let said = look(world, node).await?;
    let words = said.to_string();
    if !said.may_go() && words.contains(text) {
        return Ok(());
    }
    Err(Failure::new(format!("{node} does not stay for this"))
        .versus(format!("it must stay: … {text} …"), words))
}
