//! The order in which devices are given out: the first match in published order.

use report::Failure;

use super::pod::in_turn;
use crate::allocation::{DeviceView, PublishedPool, first_match};
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::world::{Ask, World};

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "{count} pods, one after another, each claim any device of class {class}", |world, args| {
            Box::pin(claim_any(world, args))
        })
        .doc("Pods with a claim for whatever the class admits are created; the next one comes when the one before runs or has been refused.")
        .example("When 2 pods, one after another, each claim any device of class \"mig.nvidia.com\"")
        .timeout(std::time::Duration::from_secs(180));
    steps
        .add(Kind::Then, "each pod has got the first device, in published order, that was free when it came", |world, args| {
            Box::pin(first(world, args))
        })
        .doc("For each pod that was created alone: among the devices that it could have, the claim holds the first one in published order whose counters were left. One node only: the order among nodes is not specified.")
        .example("Then each pod has got the first device, in published order, that was free when it came");
}

async fn claim_any(world: &mut World, args: &Args) -> StepResult {
    for _ in 0..args.count() {
        in_turn(world, Ask::Class(args.text("class").to_owned())).await?;
    }
    Ok(())
}

async fn first(world: &mut World, _: &Args) -> StepResult {
    let pools = world.published().await?;
    let [pool] = pools.as_slice() else {
        return Err(Failure::new("first match is specified within one pool")
            .versus("1 published pool", format!("{} pools", pools.len())));
    };
    let sight = world.look().await?;
    let mut checked = 0;
    let mut wrong = Vec::new();
    for made in world.made.iter().filter(|made| !made.ended) {
        let Some(before) = &made.before else { continue };
        let taken: Vec<&str> = before.iter().map(|(_, device)| device.as_str()).collect();
        let expected = first_match(pool, &taken, |device| fits(&made.ask, device));
        let got: Vec<&str> = sight
            .devices_of(&made.pod)
            .iter()
            .map(|held| held.device.as_str())
            .collect();
        checked += 1;
        let want: Vec<&str> = expected.iter().map(|device| device.name.as_str()).collect();
        if got != want {
            wrong.push((
                made.pod.clone(),
                made.ask.clone(),
                want.join(", "),
                got.join(", "),
            ));
        }
    }
    if checked == 0 {
        return Err(Failure::new(
            "no pod was created alone, so nothing can be said about who came first",
        )
        .help("create them with `… one after another …`"));
    }
    let Some((pod, ask, want, got)) = wrong.into_iter().next() else {
        return Ok(());
    };
    let none = |text: String| {
        if text.is_empty() {
            "no device".to_owned()
        } else {
            text
        }
    };
    Err(
        Failure::new(format!("{pod} has not got the first match")).versus(
            none(want),
            format!("{}\npublished order: {}", none(got), order(pool, &ask)),
        ),
    )
}

/// Whether `ask` could be served with `device`: what the classes of the driver select on.
fn fits(ask: &Ask, device: &DeviceView) -> bool {
    match ask {
        Ask::Profile(profile) => device.kind() == "mig" && device.profile() == profile,
        Ask::WholeCard => device.kind() == "gpu",
        Ask::Class(class) => match class.as_str() {
            "gpu.nvidia.com" => device.kind() == "gpu",
            "mig.nvidia.com" => device.kind() == "mig",
            _ => true,
        },
        Ask::Resource(_) | Ask::Own => false,
    }
}

fn order(pool: &PublishedPool, ask: &Ask) -> String {
    let names: Vec<&str> = pool
        .devices
        .iter()
        .filter(|device| fits(ask, device))
        .map(|device| device.name.as_str())
        .collect();
    let shown: Vec<&str> = names.iter().copied().take(24).collect();
    let rest = names.len() - shown.len();
    let more = if rest == 0 {
        String::new()
    } else {
        format!(" … and {rest} more")
    };
    format!("{}{more}", shown.join(", "))
}
