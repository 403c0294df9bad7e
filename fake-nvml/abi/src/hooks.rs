//! What may happen around a call when somebody asked for it: an armed fault, a line in the log.
//! Not which call is to fail (`gpu_model::FaultPlan`), nor where the log lies (`gpu_store`). Nothing here runs unless a plan is armed or
//! the log is on: `boundary` asks the view first.
//! In: a call with its arguments and what it would do. Out: the code that the caller gets.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use gpu_model::{Call, CiId, GiId, GpuIndex, Machine, Pid, Scope, Then};
use gpu_store::Entry;

use crate::absent::{Announced, Versions};
use crate::handle::{ComputeInstance, Device, EventSet, GpmSample, GpuInstance, Named};
use crate::out::{In, InText, Out, OutAny, OutArray, OutText};
use crate::session::Session;
use crate::status::{Result, code_of};

/// A hanging call looks this often whether it may go on; a change of the state wakes it at once.
const LOOK: Duration = Duration::from_millis(50);

/// A call that somebody watches, from before it does anything until it is over.
pub(crate) struct Watch {
    session: &'static Session,
    function: &'static str,
    started: Instant,
    process: String,
    /// What goes in, if the call is to be noted down.
    log: Option<String>,
}

impl Watch {
    /// Before the call: what the armed plan has for it happens here. An error is the call's answer, and it is over.
    #[cold]
    pub(crate) fn begin(
        session: &'static Session,
        machine: &Machine,
        function: &'static str,
        show: &dyn Fn(&mut Line),
    ) -> Result<Box<Self>> {
        let started = Instant::now();
        let mut line = Line::default();
        show(&mut line);
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
        let call = Call {
            function,
            device: line.scope,
            process: comm.trim_end(),
            pid: Pid(std::process::id()),
        };
        let faults = &machine.faults;
        let action = faults.decide(&call, session.now(machine), |rule| {
            session.count(faults.id, rule)
        });
        let watch = Box::new(Self {
            session,
            function,
            started,
            process: call.process.to_owned(),
            log: machine.log.then_some(line.text),
        });
        let Some(action) = action else {
            return Ok(watch);
        };
        std::thread::sleep(Duration::from_micros(action.wait));
        match action.then {
            Then::Proceed => {}
            Then::Return(code) => {
                watch.over(Err(code), show)?;
                return Err(code);
            }
            Then::Hang => hang(session, faults.id),
            // SAFETY: numbers only.
            Then::Kill => _ = unsafe { libc::kill(libc::getpid(), libc::SIGKILL) },
        }
        Ok(watch)
    }

    /// After the call: notes it down if the log is on, and hands its answer on.
    #[cold]
    #[allow(
        clippy::boxed_local,
        reason = "moving it out would put it into the frame of each function"
    )]
    pub(crate) fn over(self: Box<Self>, result: Result, show: &dyn Fn(&mut Line)) -> Result {
        let Some(asked) = self.log else { return result };
        let mut answers = Line {
            answers: true,
            ..Line::default()
        };
        if result.is_ok() {
            show(&mut answers);
        }
        let Ok(snapshot) = self.session.read() else {
            return result;
        };
        self.session.log(&Entry {
            at: self.session.now(&snapshot.machine),
            took: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            pid: Pid(std::process::id()),
            process: &self.process,
            function: self.function,
            arguments: &asked,
            result: &answers.text,
            code: code_of(result),
        });
        result
    }
}
/// Until the plan is no longer the one that said so.
fn hang(session: &Session, plan: u64) {
    loop {
        let Ok(snapshot) = session.read() else { return };
        if snapshot.machine.faults.id != plan {
            return;
        }
        session.wait(snapshot.generation, LOOK);
    }
}

/// The arguments of a call as text, first those that go in, after the call those that came out.
#[derive(Default)]
pub(crate) struct Line {
    text: String,
    answers: bool,
    /// What the first handle names.
    scope: Option<Scope>,
}

impl Line {
    fn add(&mut self, name: &str, value: impl fmt::Display) {
        let comma = if self.text.is_empty() { "" } else { ", " };
        // Writing to a String can not fail.
        let _ = write!(self.text, "{comma}{name}={value}");
    }

    /// What goes in.
    fn input(&mut self, name: &str, value: impl fmt::Display) {
        if !self.answers {
            self.add(name, value);
        }
    }

    /// A handle that goes in, and may be what the call is about.
    fn handle(&mut self, name: &str, named: Option<Named>) {
        self.input(name, Shown(named));
        self.scope = self.scope.or(named.and_then(scope));
    }
}

fn scope(named: Named) -> Option<Scope> {
    let card = |gpu: u8| GpuIndex(gpu.into());
    let (gi_of, ci_of) = (|gi: u8| GiId(gi.into()), |ci: u8| CiId(ci.into()));
    match named {
        Named::Gpu { gpu, .. } => Some(Scope::gpu(card(gpu))),
        Named::GpuInstance { gpu, gi, .. } => Some(Scope::gi(card(gpu), gi_of(gi))),
        Named::ComputeInstance { gpu, gi, ci, .. } | Named::MigDevice { gpu, gi, ci, .. } => {
            Some(Scope::ci(card(gpu), gi_of(gi), ci_of(ci)))
        }
        Named::EventSet { .. } | Named::GpmSample { .. } => None,
    }
}

/// A handle as a person calls it.
struct Shown(Option<Named>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Named::EventSet { slot, .. }) => write!(f, "event set {slot}"),
            Some(Named::GpmSample { slot, .. }) => write!(f, "sample {slot}"),
            Some(named) => match scope(named) {
                Some(scope) => scope.fmt(f),
                None => f.write_str("a handle"),
            },
            None => f.write_str("no handle"),
        }
    }
}

/// A parameter of an exported function.
pub(crate) trait Argument {
    /// Puts it on the line, if it is of the side that the line shows.
    fn show(&self, name: &str, line: &mut Line);
}

macro_rules! plain {
    ($($number:ty)*) => { $(
        impl Argument for $number {
            fn show(&self, name: &str, line: &mut Line) {
                line.input(name, self);
            }
        }

        impl Value for $number {
            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )* };
}

macro_rules! handles {
    ($($handle:ty)*) => { $(
        impl Argument for $handle {
            fn show(&self, name: &str, line: &mut Line) {
                line.handle(name, self.named());
            }
        }

        impl Value for $handle {
            fn text(&self) -> Option<String> {
                Some(Shown(self.named()).to_string())
            }
        }
    )* };
}

plain! { u8 u16 u32 u64 usize i32 i64 }
handles! { Device GpuInstance ComputeInstance EventSet GpmSample }

/// What a call can give: numbers and handles have a text, structs have none.
pub(crate) trait Value: Copy {
    fn text(&self) -> Option<String> {
        None
    }
}

impl<T: Copy, const N: usize> Value for [T; N] {}

impl<T: Value> Argument for Out<T> {
    fn show(&self, name: &str, line: &mut Line) {
        // What lies there before the call is the caller's rubbish.
        if self.check().is_err() {
            line.input(name, "NULL");
        } else if line.answers
            && let Some(text) = self.get().ok().and_then(|value| value.text())
        {
            line.add(name, text);
        }
    }
}

impl Argument for OutText {
    fn show(&self, name: &str, line: &mut Line) {
        if self.is_null() {
            line.input(name, "NULL");
        } else if line.answers {
            line.add(name, format_args!("{:?}", self.written()));
        }
    }
}

impl Argument for InText {
    fn show(&self, name: &str, line: &mut Line) {
        match self.get() {
            Ok(text) => line.input(name, format_args!("{text:?}")),
            Err(_) => line.input(name, "NULL"),
        }
    }
}

impl<T: Copy> Argument for In<T> {
    fn show(&self, name: &str, line: &mut Line) {
        if self.out().check().is_err() {
            line.input(name, "NULL");
        }
    }
}

impl<T: Copy> Argument for OutArray<T> {
    fn show(&self, name: &str, line: &mut Line) {
        if self.is_null() {
            line.input(name, "NULL");
        }
    }
}

impl Argument for OutAny {
    fn show(&self, name: &str, line: &mut Line) {
        match self.version() {
            Ok(version) => line.input(name, format_args!("version {version:#x}")),
            Err(_) => line.input(name, "NULL"),
        }
    }
}

impl<T: Versions> Argument for Announced<T> {
    fn show(&self, name: &str, line: &mut Line) {
        self.place().show(name, line);
    }
}
