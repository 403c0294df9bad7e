//! `fakegpu fault`: plans of faults, checked, armed, shown and cleared.

mod report;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use gpu_model::{
    FaultPlan, Machine, Micros, PlanFile, ProcessIs, Refusal, Rule, Scope, Then, When,
};
use gpu_store::Store;

use crate::clock::time;
use crate::error::Error;
use crate::{create, state};

/// Subcommands of `fault`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a plan. Without --state and --node what depends on a machine (UUIDs, whether a GPU is there) is not checked.
    Lint {
        /// The plan (YAML).
        file: PathBuf,
        /// The machine that it is for.
        #[arg(long, value_name = "DIR|STATE", conflicts_with = "node")]
        state: Option<PathBuf>,
        #[command(flatten)]
        shape: create::Shape,
    },
    /// Arm a plan instead of the one before; running programs meet it at their next call.
    Arm {
        /// The plan (YAML).
        file: PathBuf,
        /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
        #[arg(long, value_name = "DIR|STATE")]
        state: Option<PathBuf>,
    },
    /// What is armed, how often each rule has met a call, and what is still to come.
    Show {
        /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
        #[arg(long, value_name = "DIR|STATE")]
        state: Option<PathBuf>,
    },
    /// Disarm: calls that hang go on, faults still to come do not come. What a card has already suffered stays.
    Clear {
        /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
        #[arg(long, value_name = "DIR|STATE")]
        state: Option<PathBuf>,
    },
    /// The JSON schema of plans.
    Schema,
}

impl Command {
    pub(crate) fn run(&self) -> Result<(), Error> {
        match self {
            Self::Lint { file, state, shape } => {
                let machine = match (state, &shape.node) {
                    (Some(place), _) => Some(state::open(Some(place))?.current()?.machine.clone()),
                    (None, Some(node)) => Some(shape.build(node)?),
                    (None, None) => None,
                };
                let plan = read(file, machine.as_ref())?;
                println!("{}: good, {}", file.display(), counts(&plan));
            }
            Self::Arm { file, state } => {
                let store = state::open(state.as_deref())?;
                let plan = read(file, Some(&store.current()?.machine))?;
                let real = store.real();
                store.update(|machine, _| {
                    let next = machine.with_plan(&plan, machine.now(real))?;
                    Ok::<_, Refusal>((next, ()))
                })?;
                println!("armed: {}", counts(&plan));
            }
            Self::Show { state } => show(&state::open(state.as_deref())?)?,
            Self::Clear { state } => {
                let store = state::open(state.as_deref())?;
                let real = store.real();
                store.update(|machine, _| {
                    let mut next = machine.disarmed(machine.now(real));
                    next.scheduled.clear();
                    Ok::<_, Refusal>((next, ()))
                })?;
                println!("nothing is armed");
            }
            // Our own schema: strings, numbers and maps of them.
            Self::Schema => println!("{:#}", PlanFile::schema().to_value()),
        }
        Ok(())
    }
}

fn read(file: &Path, machine: Option<&Machine>) -> Result<PlanFile, Error> {
    let yaml = fs::read_to_string(file).map_err(|source| Error::File {
        what: "read",
        path: file.to_owned(),
        source,
    })?;
    PlanFile::read(&yaml, machine).map_err(|problems| {
        Error::Plan(report::render(&file.display().to_string(), &yaml, problems))
    })
}

fn counts(plan: &PlanFile) -> String {
    let (rules, cards) = (plan.rules.len(), plan.cards.len());
    format!("{rules} about calls, {cards} about cards")
}

fn show(store: &Store) -> Result<(), Error> {
    let snapshot = store.current()?;
    let machine = &snapshot.machine;
    let plan = &machine.faults;
    if plan.is_empty() && machine.scheduled.is_empty() {
        println!("nothing is armed");
    }
    if !plan.is_empty() {
        println!("armed at {}, seed {}", time(plan.armed), plan.seed);
    }
    for (place, rule) in plan.rules.iter().enumerate() {
        println!(
            "{:>3}  {}  ({} met)",
            place + 1,
            words(rule),
            store.counted(plan.id, place)
        );
    }
    for next in &machine.scheduled {
        println!("{}  GPU {}  {:?}", time(next.at), next.gpu, next.what);
    }
    Ok(())
}

/// A rule in a line.
fn words(rule: &Rule) -> String {
    let mut words = vec![rule.function.0.clone()];
    words.extend(rule.device.map(|device: Scope| format!("on {device}")));
    words.extend(rule.process.as_ref().map(|process| match process {
        ProcessIs::Named(name) => format!("by {}", name.0),
        ProcessIs::Pid(pid) => format!("by process {pid}"),
    }));
    words.extend(match rule.when {
        When::Always => None,
        When::Nth(n) => Some(format!("call {n}")),
        When::First(n) => Some(format!("first {n}")),
        When::Every(n) => Some(format!("every {n}")),
        When::Chance(millionths) => {
            Some(format!("with probability {}", f64::from(millionths) / 1e6))
        }
    });
    if rule.window.from > 0 {
        words.push(format!("from {}", Micros(rule.window.from)));
    }
    words.extend(
        rule.window
            .until
            .map(|until| format!("until {}", Micros(until))),
    );
    words.push("->".to_owned());
    if rule.action.wait > 0 {
        words.push(format!("wait {}", Micros(rule.action.wait)));
    }
    match rule.action.then {
        Then::Proceed => {}
        Then::Return(code) => words.push(code.short_name().to_owned()),
        Then::Hang => words.push("hang".to_owned()),
        Then::Kill => words.push("kill".to_owned()),
    }
    words.join(" ")
}

/// Puts a rule behind those that are armed.
pub(crate) fn add(store: &Store, rule: &Rule) -> Result<(), Error> {
    let real = store.real();
    let added = store.update(|machine, _| {
        if machine.faults.rules.len() >= FaultPlan::MAX_RULES {
            return Ok::<_, Refusal>((machine.clone(), false));
        }
        Ok((machine.also_armed(rule.clone(), machine.now(real)), true))
    })?;
    if added { Ok(()) } else { Err(Error::ManyRules) }
}
