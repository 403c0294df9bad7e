//! Reads as much of runc's command line as the wrapper needs. Pure.
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What a call of runc is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `create` or `run`: the bundle's `config.json` is to be adapted.
    Create {
        /// The bundle folder; runc's default is the current one.
        bundle: PathBuf,
    },
    /// `exec --process FILE`: the process file is to be adapted.
    Exec {
        /// The process file.
        process: PathBuf,
    },
    /// `start ID`: its load begins.
    Start {
        /// The container.
        id: String,
    },
    /// `delete ID`: its load is over.
    Delete {
        /// The container.
        id: String,
    },
    /// `kill ID KILL`: what runc would kill by cgroup is to be killed.
    Kill {
        /// The container.
        id: String,
    },
    /// Everything else goes to runc as it is.
    Other,
}

/// A call of runc: its subject and the file into which errors go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) call: Call,
    /// `--log FILE`: containerd takes the error text from there.
    pub(super) log: Option<PathBuf>,
    /// `--root FOLDER`: runc keeps each container's state in a folder of its name there.
    pub(super) root: PathBuf,
}

const GLOBAL_WITH_VALUE: &[&str] = &["log", "log-format", "root", "rootless", "criu"];
const CREATE_WITH_VALUE: &[&str] = &[
    "bundle",
    "b",
    "console-socket",
    "pidfd-socket",
    "pid-file",
    "preserve-fds",
];
const EXEC_WITH_VALUE: &[&str] = &[
    "console-socket",
    "pidfd-socket",
    "cwd",
    "env",
    "e",
    "user",
    "u",
    "additional-gids",
    "g",
    "process",
    "p",
    "pid-file",
    "process-label",
    "apparmor",
    "cap",
    "c",
    "preserve-fds",
    "cgroup",
];

impl Command {
    /// Reads the arguments after the program's name.
    pub(super) fn parse(args: &[OsString]) -> Command {
        let (global, rest) = flags(args, GLOBAL_WITH_VALUE);
        let log = value(&global, &["log"]).map(PathBuf::from);
        let root =
            value(&global, &["root"]).map_or_else(|| PathBuf::from("/run/runc"), PathBuf::from);
        let call = match rest
            .split_first()
            .and_then(|(name, rest)| Some((name.to_str()?, rest)))
        {
            Some(("create" | "run", rest)) => {
                let (own, _) = flags(rest, CREATE_WITH_VALUE);
                Call::Create {
                    bundle: value(&own, &["bundle", "b"])
                        .map_or_else(|| PathBuf::from("."), PathBuf::from),
                }
            }
            Some(("exec", rest)) => {
                let (own, _) = flags(rest, EXEC_WITH_VALUE);
                match value(&own, &["process", "p"]) {
                    Some(process) => Call::Exec {
                        process: process.into(),
                    },
                    None => Call::Other,
                }
            }
            Some(("kill", rest)) => {
                let (_, rest) = flags(rest, &[]);
                match rest {
                    [id, signal] if is_kill(signal) => Call::Kill {
                        id: id.to_string_lossy().into_owned(),
                    },
                    _ => Call::Other,
                }
            }
            Some((name @ ("start" | "delete"), rest)) => match flags(rest, &[]).1 {
                [id] => {
                    let id = id.to_string_lossy().into_owned();
                    if name == "start" {
                        Call::Start { id }
                    } else {
                        Call::Delete { id }
                    }
                }
                _ => Call::Other,
            },
            _ => Call::Other,
        };
        Command { call, log, root }
    }
}

fn is_kill(signal: &OsStr) -> bool {
    signal
        .to_str()
        .is_some_and(|name| matches!(name.to_ascii_uppercase().as_str(), "9" | "KILL" | "SIGKILL"))
}

type Flag = (String, Option<OsString>);

/// Splits leading flags (`--name value`, `--name=value`, `-name`) from the rest.
fn flags<'a>(args: &'a [OsString], with_value: &[&str]) -> (Vec<Flag>, &'a [OsString]) {
    let mut found = Vec::new();
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first
            .to_str()
            .filter(|text| text.len() > 1 && text.starts_with('-'))
        else {
            break;
        };
        rest = after;
        if text == "--" {
            break;
        }
        let text = text.trim_start_matches('-');
        if let Some((name, value)) = text.split_once('=') {
            found.push((name.to_owned(), Some(value.into())));
        } else if with_value.contains(&text) {
            found.push((text.to_owned(), rest.first().cloned()));
            rest = rest.get(1..).unwrap_or_default();
        } else {
            found.push((text.to_owned(), None));
        }
    }
    (found, rest)
}

fn value<'a>(flags: &'a [Flag], names: &[&str]) -> Option<&'a OsStr> {
    flags
        .iter()
        .rev()
        .find(|(name, _)| names.contains(&name.as_str()))
        .and_then(|(_, value)| value.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Command {
        Command::parse(
            &line
                .split_whitespace()
                .map(OsString::from)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn containerds_calls_are_understood() {
        let log = Some(PathBuf::from("/b/log.json"));
        let global = "--root /run/runc/k8s.io --log /b/log.json --log-format json";
        let create = |bundle: &str| Call::Create {
            bundle: bundle.into(),
        };
        let table = [
            (
                format!("{global} create --bundle /b --pid-file /b/init.pid c1"),
                create("/b"),
            ),
            (
                format!("{global} --systemd-cgroup create --console-socket /s --bundle=/b c1"),
                create("/b"),
            ),
            (format!("{global} run -b /b c1"), create("/b")),
            (format!("{global} create c1"), create(".")),
            (
                format!("{global} exec --process /tmp/p --detach --pid-file /b/x.pid c1"),
                Call::Exec {
                    process: "/tmp/p".into(),
                },
            ),
            (
                format!("{global} exec --detach -p /tmp/p c1"),
                Call::Exec {
                    process: "/tmp/p".into(),
                },
            ),
            (
                format!("{global} exec c1 prog --process /not/ours"),
                Call::Other,
            ),
            (
                format!("{global} start c1"),
                Call::Start { id: "c1".into() },
            ),
            (
                format!("{global} delete --force c1"),
                Call::Delete { id: "c1".into() },
            ),
            (
                format!("{global} kill --all c1 9"),
                Call::Kill { id: "c1".into() },
            ),
            (
                format!("{global} kill c1 SIGKILL"),
                Call::Kill { id: "c1".into() },
            ),
            (format!("{global} kill c1 15"), Call::Other),
            (format!("{global} kill c1"), Call::Other),
            (format!("{global} state create"), Call::Other),
            (format!("{global} --version"), Call::Other),
        ];
        for (line, call) in table {
            assert_eq!(
                parse(&line),
                Command {
                    call,
                    log: log.clone(),
                    root: "/run/runc/k8s.io".into()
                },
                "{line}"
            );
        }
    }

    #[test]
    fn a_flags_value_is_not_taken_for_the_command() {
        assert_eq!(parse("--root create state c1").call, Call::Other);
        assert_eq!(
            parse("create --pid-file --bundle c1").call,
            Call::Create { bundle: ".".into() }
        );
        assert_eq!(
            parse("--log"),
            Command {
                call: Call::Other,
                log: None,
                root: "/run/runc".into()
            }
        );
    }
}
