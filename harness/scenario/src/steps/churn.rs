//! Many claims that come and go: what leaks a little each time is seen after a hundred.

use std::time::Duration;

use report::Failure;

use super::pod::settle;
use crate::registry::{Args, Kind, Registry, StepResult};
use crate::world::{Ask, World};

/// How long the pods of one wave may take to end.
const END: Duration = Duration::from_secs(60);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "{count} pods with one {profile} each come and go, {count} at a time", |world, args| Box::pin(churn(world, args)))
        .doc("That many pods, each with a claim of its own for one partition of this profile, in waves of the second number: a wave runs, is deleted and is gone before the next comes. Every pod must have run.")
        .example("When 100 pods with one \"1g.5gb\" each come and go, 7 at a time")
        .timeout(Duration::from_secs(1200));
}

async fn churn(world: &mut World, args: &Args) -> StepResult {
    let [all, wave] = args.counts()[..] else {
        return Err(Failure::new("two numbers are needed"));
    };
    let profile = args.text("profile").to_owned();
    let mut left = all;
    while left > 0 {
        let now = left.min(wave);
        let from = world.made.len();
        for _ in 0..now {
            world.claim(Ask::Profile(profile.clone()), None).await?;
        }
        let pods: Vec<String> = world.made[from..]
            .iter()
            .map(|made| made.pod.clone())
            .collect();
        let sight = settle(world).await?;
        let running = sight.running();
        let waits = pods.iter().find(|pod| !running.contains(&pod.as_str()));
        if waits.is_some() {
            return Err(Failure::new(format!(
                "a pod waits after {} have come and gone",
                all - left
            ))
            .versus(format!("{now} running pods"), sight.lines()));
        }
        for pod in &pods {
            world.delete(pod).await?;
        }
        world.gone(&pods, END).await?;
        left -= now;
    }
    Ok(())
}
