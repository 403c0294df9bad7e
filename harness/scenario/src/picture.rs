//! The picture of the cards after a step, for the report.

use report::{Card, NodePicture, Partition, Picture, Waiting};

use crate::allocation::{Held, Named, named};
use crate::sight::Sight;
use crate::testbed::{CardState, NodeCards};
use crate::world::World;

/// What is on every card, who holds it, and who waits. None where the cluster does not answer: a picture is never a
/// reason to fail.
pub(crate) async fn take(world: &World) -> Option<Picture> {
    let (sight, cards) = tokio::join!(world.look(), world.cards());
    Some(of(world, &sight.ok()?, &cards.ok()?))
}

fn of(world: &World, sight: &Sight, nodes: &[NodeCards]) -> Picture {
    Picture {
        nodes: nodes
            .iter()
            .map(|node| NodePicture {
                node: node.node.clone(),
                cards: node
                    .cards
                    .iter()
                    .map(|card| card_of(&node.node, card, &sight.held))
                    .collect(),
            })
            .collect(),
        waiting: sight
            .waiting()
            .into_iter()
            .map(|(pod, why)| Waiting {
                pod: pod.to_owned(),
                asks: world
                    .ask_of(pod)
                    .map(crate::world::Ask::shown)
                    .unwrap_or_default(),
                why: why.to_owned(),
            })
            .collect(),
    }
}

fn card_of(node: &str, card: &CardState, held: &[Held]) -> Card {
    let holder = |name: Named| {
        let it = held
            .iter()
            .find(|it| it.pool == node && named(&it.device) == Some(name))?;
        Some(it.pods.first().unwrap_or(&it.claim).clone())
    };
    let mut partitions: Vec<Partition> = card
        .instances
        .iter()
        .map(|instance| Partition {
            profile: instance.profile.clone(),
            start: instance.start,
            size: instance.size,
            gpu_instance: instance.id,
            pod: holder(Named::Partition {
                minor: card.minor,
                profile_id: instance.profile_id,
                start: instance.start,
            }),
        })
        .collect();
    partitions.sort_by_key(|partition| partition.start);
    Card {
        index: card.index,
        model: card.model.clone(),
        uuid: card.uuid.clone(),
        mig: card.mig,
        memory_slices: card.memory_slices,
        partitions,
        whole: holder(Named::Whole { minor: card.minor }),
    }
}
