//! What a person sees while programs are fetched and built.
//! Not a log: nothing is decided by it, and a lost line harms nobody.
//! Events come from `catalog`; they go to a terminal, to plain lines, or to a sink of the caller's.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// One thing that happened to one task. A task is named by its text, such as `building kubernetes (5 programs)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A task began.
    Started {
        /// The task.
        task: &'a str,
    },
    /// A task goes on; comes several times a second.
    Running {
        /// The task.
        task: &'a str,
        /// What it does just now, perhaps empty: `812 packages`.
        note: &'a str,
        /// Time since it began.
        elapsed: Duration,
    },
    /// A task is done.
    Finished {
        /// The task.
        task: &'a str,
        /// What it took, perhaps empty.
        note: &'a str,
        /// Time it took.
        elapsed: Duration,
    },
    /// A task failed; the error itself is returned to the caller.
    Failed {
        /// The task.
        task: &'a str,
        /// Time it took.
        elapsed: Duration,
    },
    /// Something worth a line: a damaged cache entry that is made anew.
    Note {
        /// The line.
        text: &'a str,
    },
}

/// Receives what happens. Called from the thread that ensures.
pub trait Progress: Send + Sync {
    /// Something happened.
    fn on(&self, event: Event<'_>);
}

/// Moving lines on a terminal, plain lines elsewhere and in CI. Both go to standard error.
pub fn auto() -> Box<dyn Progress> {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    if std::io::stderr().is_terminal() && !in_ci {
        Box::new(Terminal::default())
    } else {
        Box::new(Plain::stderr())
    }
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn on(&self, _: Event<'_>) {}
}

/// One moving line per task, and a line that stays when it is done.
#[derive(Default)]
pub struct Terminal {
    lines: MultiProgress,
    bars: Mutex<HashMap<String, ProgressBar>>,
}

impl Progress for Terminal {
    fn on(&self, event: Event<'_>) {
        let mut bars = lock(&self.bars);
        match event {
            Event::Started { task } => {
                let style =
                    ProgressStyle::with_template("{spinner} {prefix} … {elapsed} {msg:.dim}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner());
                let bar = self.lines.add(
                    ProgressBar::new_spinner()
                        .with_style(style)
                        .with_prefix(task.to_owned()),
                );
                bar.enable_steady_tick(Duration::from_millis(120));
                bars.insert(task.to_owned(), bar);
            }
            Event::Running { task, note, .. } => {
                if let Some(bar) = bars.get(task) {
                    bar.set_message(note.to_owned());
                }
            }
            Event::Finished {
                task,
                note,
                elapsed,
            } => self.close(bars.remove(task), &done_line(task, note, elapsed)),
            Event::Failed { task, elapsed } => self.close(
                bars.remove(task),
                &format!("{task} … failed after {}", seconds(elapsed)),
            ),
            Event::Note { text } => self.close(None, text),
        }
    }
}

impl Terminal {
    fn close(&self, bar: Option<ProgressBar>, line: &str) {
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        // A terminal that went away harms nobody.
        let _ = self.lines.println(line);
    }
}

/// Plain lines: when a task lasts longer than two seconds, then every half minute, and when it is done.
pub struct Plain<W> {
    state: Mutex<PlainState<W>>,
}

struct PlainState<W> {
    out: W,
    /// When the last line of a task was printed, in its own time.
    said: HashMap<String, Duration>,
}

/// Tasks shorter than this are told only once they are done.
const SOON: Duration = Duration::from_secs(2);
/// Between two signs of life of one task.
const EVERY: Duration = Duration::from_secs(30);

impl Plain<std::io::Stderr> {
    /// To standard error.
    pub fn stderr() -> Self {
        Self::to(std::io::stderr())
    }
}

impl<W: Write + Send> Plain<W> {
    /// To any writer.
    pub fn to(out: W) -> Self {
        Self {
            state: Mutex::new(PlainState {
                out,
                said: HashMap::new(),
            }),
        }
    }
}

impl<W: Write + Send> Progress for Plain<W> {
    fn on(&self, event: Event<'_>) {
        let state = &mut *lock(&self.state);
        let line = match event {
            Event::Started { .. } => return,
            Event::Running {
                task,
                note,
                elapsed,
            } => match state.said.get(task) {
                None if elapsed < SOON => return,
                Some(said) if elapsed < *said + EVERY => return,
                said => {
                    let line = if said.is_none() {
                        format!("{task} …")
                    } else {
                        format!("{task} … {}{}", seconds(elapsed), comma(note))
                    };
                    state.said.insert(task.to_owned(), elapsed);
                    line
                }
            },
            Event::Finished {
                task,
                note,
                elapsed,
            } => {
                state.said.remove(task);
                done_line(task, note, elapsed)
            }
            Event::Failed { task, elapsed } => {
                state.said.remove(task);
                format!("{task} … failed after {}", seconds(elapsed))
            }
            Event::Note { text } => text.to_owned(),
        };
        // A reader that went away harms nobody.
        let _ = writeln!(state.out, "{line}");
    }
}

fn done_line(task: &str, note: &str, elapsed: Duration) -> String {
    format!("{task} … done in {}{}", seconds(elapsed), comma(note))
}

fn comma(note: &str) -> String {
    if note.is_empty() {
        String::new()
    } else {
        format!(", {note}")
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(events: &[Event<'_>]) -> String {
        let plain = Plain::to(Vec::new());
        for event in events {
            plain.on(*event);
        }
        String::from_utf8_lossy(
            &plain
                .state
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .out,
        )
        .into_owned()
    }

    fn running(elapsed: u64) -> Event<'static> {
        Event::Running {
            task: "building x",
            note: "3 packages",
            elapsed: Duration::from_secs(elapsed),
        }
    }

    #[test]
    fn a_long_task_shows_after_two_seconds_and_twice_a_minute() {
        let seen = lines(&[
            Event::Started { task: "building x" },
            running(0),
            running(1),
            running(2),
            running(3),
            running(31),
            running(32),
            running(33),
            running(63),
        ]);
        assert_eq!(
            seen,
            "building x …\nbuilding x … 32.0 s, 3 packages\nbuilding x … 63.0 s, 3 packages\n"
        );
    }

    #[test]
    fn a_short_task_is_one_line() {
        let done = Event::Finished {
            task: "building x",
            note: "",
            elapsed: Duration::from_millis(1500),
        };
        assert_eq!(
            lines(&[Event::Started { task: "building x" }, running(1), done]),
            "building x … done in 1.5 s\n"
        );
    }
}
