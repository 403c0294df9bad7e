//! `fakegpu log`: the calls that programs make.

use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use gpu_model::Code;
use gpu_store::{Logged, Store};

use crate::clock::time;
use crate::error::Error;
use crate::state;

/// Arguments of `log`.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// A folder made by `create`, or a state file; without it, the machine that this process runs in.
    #[arg(long, value_name = "DIR|STATE")]
    state: Option<PathBuf>,
    /// Log calls from now on.
    #[arg(long, conflicts_with = "off")]
    on: bool,
    /// Log no calls any more.
    #[arg(long)]
    off: bool,
    /// Go on with new calls as they come.
    #[arg(long, short)]
    follow: bool,
    /// Only the last so many calls of those that are kept.
    #[arg(long, value_name = "COUNT")]
    last: Option<u64>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// How often `--follow` looks.
const LOOK: Duration = Duration::from_millis(20);
/// Calls that are read at once.
const BATCH: usize = 512;

impl Log {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let store = state::open(self.state.as_deref())?;
        if self.on || self.off {
            store.update(|machine, _| {
                Ok::<_, gpu_model::Refusal>((machine.with_log(self.on), ()))
            })?;
            if !self.follow {
                println!(
                    "calls are {} logged",
                    if self.on { "now" } else { "no longer" }
                );
                return Ok(());
            }
        }
        match self.print(&store) {
            // Whoever reads has seen enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|source| Error::File {
                what: "write",
                path: "standard output".into(),
                source,
            }),
        }
    }

    fn print(&self, store: &Store) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let end = store.last_logged();
        let mut next = match self.last {
            Some(last) => (end + 1).saturating_sub(last).max(1),
            // What was logged before it was switched on just now is of another time.
            None if self.on => end + 1,
            None => 1,
        };
        // Nobody asked for those that went before the first look.
        let mut first = self.last.is_some();
        loop {
            let read = store.logged(next, BATCH);
            if read.lost > 0 && !first {
                self.lost(&mut out, read.lost)?;
            }
            for call in &read.calls {
                self.call(&mut out, call)?;
            }
            next = read.next;
            first = false;
            if read.calls.len() == BATCH {
                continue;
            }
            out.flush()?;
            if !self.follow {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
    }

    fn lost(&self, out: &mut impl Write, lost: u64) -> io::Result<()> {
        if self.json {
            return writeln!(out, "{}", serde_json::json!({ "lost": lost }));
        }
        let calls = if lost == 1 { "call was" } else { "calls were" };
        writeln!(out, "... {lost} {calls} overwritten, or never finished")
    }

    fn call(&self, out: &mut impl Write, call: &Logged) -> io::Result<()> {
        let code = Code::from_raw(call.code);
        let name = code.map_or_else(
            || call.code.to_string(),
            |code| code.short_name().to_owned(),
        );
        if self.json {
            let line = serde_json::json!({
                "number": call.number, "time": time(call.at), "process": call.process, "pid": call.pid.0,
                "function": call.function, "arguments": call.arguments, "result": call.result,
                "code": call.code, "code_name": name, "nanoseconds": call.took,
            });
            return writeln!(out, "{line}");
        }
        let result = if call.result.is_empty() {
            String::new()
        } else {
            format!(" {}", call.result)
        };
        writeln!(
            out,
            "{} {}[{}] {}({}) = {name}{result} <{}.{:03} us>",
            time(call.at),
            call.process,
            call.pid,
            call.function,
            call.arguments,
            call.took / 1000,
            call.took % 1000
        )
    }
}
