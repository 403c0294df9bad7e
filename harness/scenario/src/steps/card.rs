//! The card itself, against what Kubernetes believes of it.

use std::time::Duration;

use report::Failure;

use crate::agreement::disagreements;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::wait::{Probe, in_vain};
use crate::world::World;

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::Then, "claims, counters and the card agree", |world, args| Box::pin(agree(world, args)))
        .doc("Every allocated device is published and given once; no counter is overdrawn; and NVML on the node has exactly the GPU instances that the claims hold, with their profiles and placements.")
        .example("Then claims, counters and the card agree");
    steps
        .add(Kind::Then, "the card is whole again", |world, args| {
            Box::pin(whole(world, args))
        })
        .doc("No claim holds a device, and NVML has no GPU instance on any card.")
        .example("Then the card is whole again");
}

/// How long the node may lag behind the API: claims are released when the pod is gone, not before.
const LAG: Duration = Duration::from_secs(15);

async fn agree(world: &mut World, _: &Args) -> StepResult {
    let mut held = 0;
    let result = until_none(
        world,
        LAG,
        "claims, counters and the card agree",
        async || {
            let (sight, pools, cards) = (
                world.look().await?,
                world.published().await?,
                world.cards().await?,
            );
            held = sight.held.len();
            Ok(disagreements(&pools, &sight.held, &cards))
        },
    )
    .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("claims, counters and the card do not agree").versus(
                format!("{held} allocated devices, each once, each on the card"),
                seen,
            )
        })
    })
}

async fn whole(world: &mut World, _: &Args) -> StepResult {
    let result = until_none(world, LAG, "the card is whole again", async || {
        let (sight, cards) = (world.look().await?, world.cards().await?);
        Ok(leftovers(&sight.held, &cards))
    })
    .await;
    result.map_err(|failure| {
        in_vain(failure, |seen| {
            Failure::new("something is left").versus("no allocated device, no GPU instance", seen)
        })
    })
}

/// Waits until `lines`, each of something wrong, finds no more.
pub(super) async fn until_none(
    world: &World,
    limit: Duration,
    what: &str,
    mut lines: impl AsyncFnMut() -> Result<Vec<String>, Failure>,
) -> StepResult {
    world
        .until(limit, what, async || {
            let wrong = lines().await?;
            Ok(if wrong.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(wrong.join("\n"))
            })
        })
        .await
}

/// What is still given out or cut.
pub(crate) fn leftovers(
    held: &[crate::allocation::Held],
    nodes: &[crate::testbed::NodeCards],
) -> Vec<String> {
    let claims = held.iter().map(|held| {
        format!(
            "the claim {}/{} holds {}",
            held.namespace, held.claim, held.device
        )
    });
    let instances = nodes.iter().flat_map(|node| {
        node.cards.iter().flat_map(move |card| {
            card.instances.iter().map(move |it| {
                format!(
                    "{} card {}: GPU instance {} ({} at memory slice {})",
                    node.node, card.index, it.id, it.profile, it.start
                )
            })
        })
    });
    claims.chain(instances).collect()
}
