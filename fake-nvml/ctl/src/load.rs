//! `fakegpu load`: work on a card, of a process that is made up, of nobody, or of a real program.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use clap::{Args, Subcommand, ValueEnum};
use gpu_model::{
    CiId, Flow, GiId, GpuIndex, LoadId, Machine, MiB, Micros, NewLoad, Now, Pid, Process,
    ProcessKind, Rate, Refusal, Scope, Shape, Traffic,
};
use gpu_store::Store;

use crate::error::Error;
use crate::state;

/// Arguments of `load`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Load {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    put: Put,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The loads that there are.
    List {
        /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
        #[arg(long, value_name = "DIR|STATE")]
        state: Option<PathBuf>,
    },
    /// Take loads away.
    End {
        /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
        #[arg(long, value_name = "DIR|STATE")]
        state: Option<PathBuf>,
        /// Which, by the number that `list` shows; none: all.
        load: Vec<u64>,
    },
}

#[derive(Debug, Args)]
struct Put {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(long, value_name = "DIR|STATE")]
    state: Option<PathBuf>,
    /// The GPU: its index, its UUID, or the UUID of a MIG device.
    #[arg(long, short = 'i', value_name = "INDEX|UUID", default_value = "0")]
    gpu: String,
    /// GPU instance.
    #[arg(long)]
    gi: Option<u32>,
    /// Compute instance of that GPU instance.
    #[arg(long, requires = "gi")]
    ci: Option<u32>,
    /// Memory that it holds, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    memory: u64,
    /// How busy it keeps what it is on: a percentage, FROM-TO:TIME for a ramp, or LOW/HIGH:PERIOD for a square wave.
    #[arg(long = "use", value_name = "CURVE", conflicts_with = "curve")]
    busy: Option<String>,
    /// The same from a file: a time and a percentage per line (`30s 85`), `repeat` as the last line if it is to begin anew.
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// What it sends over PCI Express at its busiest: 500MB/s, 1.5GB/s, 2GiB/s.
    #[arg(long, value_name = "RATE", default_value_t)]
    pcie_tx: Rate,
    /// What it receives over PCI Express at its busiest.
    #[arg(long, value_name = "RATE", default_value_t)]
    pcie_rx: Rate,
    /// What it sends over NVLink at its busiest, over all links together.
    #[arg(long, value_name = "RATE", default_value_t)]
    nvlink_tx: Rate,
    /// What it receives over NVLink at its busiest.
    #[arg(long, value_name = "RATE", default_value_t)]
    nvlink_rx: Rate,
    /// Begin so much later.
    #[arg(long = "in", value_name = "TIME")]
    later: Option<Micros>,
    /// End after so much.
    #[arg(long = "for", value_name = "TIME")]
    lasts: Option<Micros>,
    /// List it as a process of this id (made up, unless a program is given). Without it and a program, no process is listed.
    #[arg(long, conflicts_with = "program")]
    pid: Option<u32>,
    /// Name of the process; the program's path unless given.
    #[arg(long)]
    name: Option<String>,
    /// In which of NVML's lists.
    #[arg(long, value_enum, default_value_t = Kind::Compute)]
    kind: Kind,
    /// A program that is run and is the load: it is gone with it, however it ends.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Compute,
    Graphics,
    Mps,
}

impl Load {
    pub(crate) fn run(&self) -> Result<(), Error> {
        match &self.what {
            Some(What::List { state }) => list(&state::open(state.as_deref())?),
            Some(What::End { state, load }) => {
                let store = state::open(state.as_deref())?;
                let real = store.real();
                store.update(|machine, _| {
                    let now = machine.now(real);
                    let mut next = match load.is_empty() {
                        true => machine.without_loads(now, |_, _| true)?,
                        false => machine.clone(),
                    };
                    for &id in load {
                        next = next.without_load(LoadId(id), now)?;
                    }
                    Ok::<_, Refusal>((next, ()))
                })?;
                Ok(())
            }
            None => self.put.run(),
        }
    }
}

impl Put {
    fn run(&self) -> Result<(), Error> {
        let store = state::open(self.state.as_deref())?;
        let scope = self.scope(&store.current()?.machine)?;
        let shape = self.shape()?;
        let program = self.program.first();
        let pid = match program {
            Some(_) => Some(process::id()),
            None => self.pid,
        };
        let name = self
            .name
            .clone()
            .or_else(|| Some(program?.to_string_lossy().into_owned()));
        let process = pid.map(|pid| Process {
            pid: Pid(pid),
            name: name.unwrap_or_else(|| format!("process{pid}")),
            kind: match self.kind {
                Kind::Compute => ProcessKind::Compute,
                Kind::Graphics => ProcessKind::Graphics,
                Kind::Mps => ProcessKind::Mps,
            },
            real: program.is_some(),
        });
        // First the place, then the load: a load without its place would be taken for that of a process that has ended.
        let hold = program.map(|_| store.hold(scope)).transpose()?;
        let real = store.real();
        let id = store.update(|machine, _| {
            let now = machine.now(real);
            let since = Now(now.0.saturating_add(self.later.unwrap_or_default().0));
            let load = NewLoad {
                scope,
                process: process.clone(),
                memory: MiB(self.memory),
                shape: shape.clone(),
                traffic: self.traffic(),
                since: Some(since),
                until: self.lasts.map(|lasts| Now(since.0.saturating_add(lasts.0))),
            };
            machine.with_load(load, now)
        })?;
        let Some((hold, program)) = hold.zip(program) else {
            println!("load {id} on {scope}");
            return Ok(());
        };
        let exec = |source| Error::Exec {
            program: program.clone(),
            source,
        };
        hold.keep().map_err(exec)?;
        let arguments = self.program.iter().skip(1);
        Err(exec(process::Command::new(program).args(arguments).exec()))
    }

    fn scope(&self, machine: &Machine) -> Result<Scope, Error> {
        let no_gpu = || Error::Option {
            option: "--gpu",
            problem: format!(
                "the machine has no device {}: nvidia-smi -L lists them",
                self.gpu
            ),
        };
        let named = match self.gpu.parse() {
            Ok(index) => Scope::gpu(GpuIndex(index)),
            Err(_) => machine.scope_of(&self.gpu).ok_or_else(no_gpu)?,
        };
        // The UUID of a MIG device says it all.
        Ok(match named.gi {
            Some(_) => named,
            None => Scope {
                gpu: named.gpu,
                gi: self.gi.map(GiId),
                ci: self.ci.map(CiId),
            },
        })
    }

    fn traffic(&self) -> Traffic {
        let flow = |sent, received| Flow { sent, received };
        Traffic {
            pcie: flow(self.pcie_tx, self.pcie_rx),
            nvlink: flow(self.nvlink_tx, self.nvlink_rx),
        }
    }

    fn shape(&self) -> Result<Shape, Error> {
        if let Some(file) = &self.curve {
            return curve(file);
        }
        let Some(text) = &self.busy else {
            return Ok(Shape::constant(0));
        };
        written(text).ok_or_else(|| Error::Option {
            option: "--use",
            problem: format!(
                "`{text}` is no curve: write 85, 0-100:60s (a ramp), or 10/90:20s (a square wave)"
            ),
        })
    }
}

/// `85`, `0-100:60s`, `10/90:20s`.
fn written(text: &str) -> Option<Shape> {
    let Some((levels, time)) = text.split_once(':') else {
        return Shape::level_of(text).map(Shape::constant);
    };
    let Micros(time) = time.parse().ok()?;
    if let Some((from, to)) = levels.split_once('-') {
        return Some(Shape::ramp(
            Shape::level_of(from)?,
            Shape::level_of(to)?,
            time,
        ));
    }
    let (low, high) = levels.split_once('/')?;
    (time > 1).then_some(())?;
    Some(Shape::square(
        Shape::level_of(low)?,
        Shape::level_of(high)?,
        time,
        time / 2,
    ))
}

fn curve(file: &Path) -> Result<Shape, Error> {
    let text = fs::read_to_string(file).map_err(|source| Error::File {
        what: "read",
        path: file.to_owned(),
        source,
    })?;
    Shape::read(&text).map_err(|problem| Error::Curve {
        file: file.to_owned(),
        problem,
    })
}

fn list(store: &Store) -> Result<(), Error> {
    let snapshot = store.current()?;
    let machine = &snapshot.machine;
    let now = machine.now(store.real());
    for gpu in &machine.gpus {
        let spec = machine.spec(gpu);
        let uses = gpu.uses(spec, now);
        for load in gpu.loads.iter().filter(|load| !load.over(now)) {
            let used = uses.iter().find(|it| it.load.id == load.id);
            let state = used.map_or_else(
                || "to come".to_owned(),
                |it| format!("{} of it", it.of_scope),
            );
            let process = load.process.as_ref().map_or_else(
                || "no process".to_owned(),
                |it| {
                    format!(
                        "{}[{}]{}",
                        it.name,
                        it.pid,
                        if it.real { "" } else { " (made up)" }
                    )
                },
            );
            println!(
                "load {}  {}  {process}  {}  {state}{}",
                load.id,
                load.scope(gpu.index),
                load.memory,
                links(&load.traffic)
            );
        }
    }
    Ok(())
}

/// What a load moves at its busiest, where it moves anything.
fn links(traffic: &Traffic) -> String {
    let flows = [("PCIe", traffic.pcie), ("NVLink", traffic.nvlink)];
    flows
        .into_iter()
        .filter(|(_, flow)| !flow.is_none())
        .map(|(name, flow)| format!("  {name} {} out {} in", flow.sent, flow.received))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_on_the_command_line() {
        assert_eq!(written("85"), Some(Shape::constant(8_500)));
        assert_eq!(
            written("0-100:60s"),
            Some(Shape::ramp(0, 10_000, 60_000_000))
        );
        assert_eq!(
            written("10/90:20s"),
            Some(Shape::square(1_000, 9_000, 20_000_000, 10_000_000))
        );
        for bad in [
            "", "101", "5-", "5-10", "5/10", "10/90:0s", "a/b:5s", "0-100:60",
        ] {
            assert_eq!(written(bad), None, "{bad}");
        }
    }
}
