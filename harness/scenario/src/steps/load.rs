//! Load that pods put on their devices by an annotation, as nvidia-smi on the node sees it.

use std::time::Duration;

use report::Failure;

use crate::registry::{Args, Kind, Registry, StepResult};
use crate::testbed::NodeCards;
use crate::wait::{Probe, in_vain};
use crate::world::{Ask, World};

/// How long a container may take to start or to be cleaned up after the API says so.
const LAG: Duration = Duration::from_secs(20);

pub(super) fn register(steps: &mut Registry) {
    steps
        .add(Kind::When, "a pod claims one {profile} and loads it with {text}", |world, args| {
            Box::pin(claim_partition(world, args))
        })
        .doc("A pod with a ResourceClaim for one partition of this profile and the annotation fakegpu.sliceproof/load is created. Does not wait for it.")
        .example("When a pod claims one \"2g.10gb\" and loads it with \"utilization=80,memory=2GiB\"");
    steps
        .add(Kind::When, "a pod claims a whole card and loads it with {text}", |world, args| {
            Box::pin(claim_card(world, args))
        })
        .doc("A pod with a ResourceClaim for a whole card and the annotation fakegpu.sliceproof/load is created. Does not wait for it.")
        .example("When a pod claims a whole card and loads it with \"utilization=80,memory=2GiB\"");
    steps
        .add(Kind::Then, "nvidia-smi on the node shows {count} process of {size} on each partition", |world, args| {
            Box::pin(on_partitions(world, args))
        })
        .doc("The table of processes of `nvidia-smi` on the node has that many processes for each compute instance on the cards, each with that memory, and no other.")
        .example("Then nvidia-smi on the node shows 1 process of 2048 MiB on each partition");
    steps
        .add(Kind::Then, "nvidia-smi on the node shows {count} process of {size} and a card that is {count} % busy", |world, args| {
            Box::pin(on_a_card(world, args))
        })
        .doc("The table of processes has that many processes, each with that memory, on whole cards, and a card is so busy.")
        .example("Then nvidia-smi on the node shows 1 process of 2048 MiB and a card that is 80 % busy");
    steps
        .add(
            Kind::Then,
            "nvidia-smi on the node shows no process",
            |world, args| Box::pin(nothing(world, args)),
        )
        .doc("The table of processes of `nvidia-smi` on the node is empty.")
        .example("Then nvidia-smi on the node shows no process");
}

async fn claim_partition(world: &mut World, args: &Args) -> StepResult {
    let ask = Ask::Profile(args.text("profile").to_owned());
    world
        .claim_and_load(ask, None, Some(args.text("text")))
        .await
}

async fn claim_card(world: &mut World, args: &Args) -> StepResult {
    world
        .claim_and_load(Ask::WholeCard, None, Some(args.text("text")))
        .await
}

/// A line of the table of processes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) gpu: u32,
    /// GPU instance and compute instance, on a card in MIG mode.
    pub(crate) part: Option<(u32, u32)>,
    memory: String,
}

/// Reads `|  GPU   GI   CI   PID   Type   Process name   GPU Memory |` and below.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let table = text.split_once("Processes:").map_or("", |(_, table)| table);
    table
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.trim_matches('|').split_whitespace().collect();
            let [gpu, gi, ci, pid, _, .., memory] = words.as_slice() else {
                return None;
            };
            pid.parse::<u32>().ok()?;
            Some(Row {
                gpu: gpu.parse().ok()?,
                part: gi.parse().ok().zip(ci.parse().ok()),
                memory: memory.trim_end_matches("MiB").to_owned(),
            })
        })
        .collect()
}

/// Whether some card says that it is so busy.
fn busy(text: &str, percent: usize) -> bool {
    text.lines().any(|line| {
        let mut cells = line.split('|').rev().skip(1);
        cells
            .next()
            .is_some_and(|cell| cell.split_whitespace().next() == Some(&format!("{percent}%")))
    })
}

/// Every compute instance on the cards, as rows.
fn parts(nodes: &[NodeCards], memory: &str, each: usize) -> Vec<Row> {
    let mut all = Vec::new();
    for card in nodes.iter().flat_map(|node| &node.cards) {
        for instance in &card.instances {
            for ci in 0..instance.mig_uuids.len() {
                let row = Row {
                    gpu: card.index,
                    part: Some((instance.id, u32::try_from(ci).unwrap_or(u32::MAX))),
                    memory: memory.to_owned(),
                };
                all.extend(std::iter::repeat_n(row, each));
            }
        }
    }
    all.sort();
    all
}

/// Waits until nvidia-smi on the only node shows what `fits`.
async fn shows(
    world: &World,
    expected: &str,
    fits: impl AsyncFn(&str) -> Result<bool, Failure>,
) -> StepResult {
    let node = &world.the_node()?.name;
    world
        .until(LAG, "what nvidia-smi shows", async || {
            let text = world.on_node(node, &["nvidia-smi"]).await?;
            Ok(if fits(&text).await? {
                Probe::Ready(())
            } else {
                Probe::NotYet(text)
            })
        })
        .await
        .map_err(|failure| {
            in_vain(failure, |seen| {
                Failure::new("nvidia-smi shows something else").versus(expected, seen)
            })
        })
}

fn memory(args: &Args) -> String {
    args.text("size").trim_end_matches(" MiB").to_owned()
}

async fn on_partitions(world: &mut World, args: &Args) -> StepResult {
    let (count, memory) = (args.count(), memory(args));
    let expected = format!("{count} process of {memory} MiB on each compute instance");
    let world = &*world;
    shows(world, &expected, async |text| {
        let wanted = parts(&world.cards().await?, &memory, count);
        let mut seen = rows(text);
        seen.sort();
        Ok(!wanted.is_empty() && seen == wanted)
    })
    .await
}

async fn on_a_card(world: &mut World, args: &Args) -> StepResult {
    let counts = args.counts();
    let (count, percent) = (
        counts.first().copied().unwrap_or(0),
        counts.get(1).copied().unwrap_or(0),
    );
    let memory = memory(args);
    let expected = format!("{count} process of {memory} MiB, a card that is {percent} % busy");
    shows(world, &expected, async |text| {
        let seen = rows(text);
        let fits = seen.len() == count
            && seen
                .iter()
                .all(|row| row.part.is_none() && row.memory == memory);
        Ok(fits && busy(text, percent))
    })
    .await
}

async fn nothing(world: &mut World, _: &Args) -> StepResult {
    shows(world, "no process", async |text| {
        Ok(rows(text).is_empty() && text.contains("No running processes found"))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
| 30%   28C    P0             56W /  400W |    2048MiB /  40960MiB |     80%      Default |
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0             4711      C   sh                                     2048MiB |
|    1  N/A  N/A             4712      C   /bin/two words                          512MiB |
+-----------------------------------------------------------------------------------------+
";

    #[test]
    fn the_table_of_processes_is_read() {
        let row = |gpu, part, memory: &str| Row {
            gpu,
            part,
            memory: memory.to_owned(),
        };
        assert_eq!(
            rows(TEXT),
            [row(0, Some((2, 0)), "2048"), row(1, None, "512")]
        );
        assert!(rows("| Processes: |\n|  No running processes found   |\n").is_empty());
        assert!(busy(TEXT, 80) && !busy(TEXT, 8));
    }
}
