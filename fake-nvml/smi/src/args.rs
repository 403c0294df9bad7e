//! What was asked: nvidia-smi's own grammar (long options with one dash, values with and without `=`), which no parser crate speaks.
//! Pure: strings in, an invocation or a usage error out.

use std::collections::VecDeque;

use gpu_model::Timeslice;
use nvml_client::ComputeMode;

use crate::failure::Failure;
use crate::query::Query;

/// A whole command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    selection: Option<String>,
    pub(crate) command: Command,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help(Topic),
    Table,
    List,
    Version,
    Query(Query),
    Mig(Mig),
    Set(Change),
    Policy(Policy),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    All,
    Mig,
    Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Mig(bool),
    Persistence(bool),
    Compute(ComputeMode),
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    List,
    Timeslice(Timeslice),
}

/// `nvidia-smi mig …`
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mig {
    pub(crate) action: MigAction,
    /// `-gi`
    pub(crate) gpu_instances: Option<Vec<u32>>,
    /// `-ci`
    pub(crate) compute_instances: Option<Vec<u32>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MigAction {
    GpuInstanceProfiles,
    GpuInstancePlacements,
    GpuInstances,
    ComputeInstanceProfiles,
    ComputeInstances,
    CreateGpuInstances {
        profiles: Vec<ProfileArg>,
        with_compute: bool,
    },
    CreateComputeInstances {
        profiles: Option<Vec<ProfileArg>>,
    },
    DestroyGpuInstances,
    DestroyComputeInstances,
}

/// `19`, `1g.5gb`, `MIG 1g.5gb`, each with an optional `:start`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileArg {
    pub(crate) name: String,
    pub(crate) start: Option<u32>,
}

struct Words(VecDeque<String>);

impl Words {
    /// The next word, an `--option=value` taken apart.
    fn next(&mut self) -> Option<String> {
        let word = self.0.pop_front()?;
        match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => {
                self.0.push_front(value.to_owned());
                Some(option.to_owned())
            }
            _ => Some(word),
        }
    }

    fn value(&mut self, option: &str) -> Result<String, Failure> {
        self.0.pop_front().ok_or_else(|| {
            Failure::usage(format!(
                "Missing value for option {option}. Please run 'nvidia-smi -h' for help.\n"
            ))
        })
    }

    /// The next word unless it is an option itself.
    fn optional(&mut self) -> Option<String> {
        self.0.front().filter(|w| !w.starts_with('-'))?;
        self.0.pop_front()
    }
}

impl Invocation {
    pub(crate) fn selection(&self) -> Option<&str> {
        self.selection.as_deref()
    }

    pub(crate) fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let mut words = Words(words.into());
        match words.0.front().map(String::as_str) {
            Some("mig") => {
                words.0.pop_front();
                mig(words)
            }
            Some("compute-policy") => {
                words.0.pop_front();
                policy(words)
            }
            _ => plain(words),
        }
    }
}

fn plain(mut words: Words) -> Result<Invocation, Failure> {
    let mut selection = None;
    let mut command = None;
    let mut format = None;
    let mut fields = None;
    while let Some(option) = words.next() {
        let chosen = match option.as_str() {
            "-h" | "--help" => {
                return Ok(Invocation {
                    selection: None,
                    command: Command::Help(Topic::All),
                });
            }
            "-i" | "--id" => {
                selection = Some(words.value(&option)?);
                continue;
            }
            "-L" | "--list-gpus" => Command::List,
            "--version" | "-v" => Command::Version,
            "--query-gpu" => {
                fields = Some(words.value(&option)?);
                continue;
            }
            "--format" => {
                format = Some(words.value(&option)?);
                continue;
            }
            "-mig" | "--multi-instance-gpu" => {
                Command::Set(Change::Mig(on_off(&option, &words.value(&option)?)?))
            }
            "-pm" | "--persistence-mode" => Command::Set(Change::Persistence(on_off(
                &option,
                &words.value(&option)?,
            )?)),
            "-c" | "--compute-mode" => {
                Command::Set(Change::Compute(compute_mode(&words.value(&option)?)?))
            }
            "-r" | "--gpu-reset" => Command::Set(Change::Reset),
            other => {
                return Err(Failure::usage(format!(
                    "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nUnknown here: {other}"
                )));
            }
        };
        if command.replace(chosen).is_some() {
            return Err(Failure::usage(
                "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.",
            ));
        }
    }
    let command = match (command, fields, format) {
        (None, Some(fields), Some(format)) => Command::Query(Query::parse(&fields, &format)?),
        (None, Some(_), None) => {
            return Err(Failure::usage(
                "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n",
            ));
        }
        (Some(command), None, None) => command,
        (None, None, None) => Command::Table,
        _ => {
            return Err(Failure::usage(
                "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.",
            ));
        }
    };
    Ok(Invocation { selection, command })
}

fn policy(mut words: Words) -> Result<Invocation, Failure> {
    let mut selection = None;
    let mut policy = Policy::List;
    while let Some(option) = words.next() {
        match option.as_str() {
            "-h" | "--help" => {
                return Ok(Invocation {
                    selection: None,
                    command: Command::Help(Topic::Policy),
                });
            }
            "-i" | "--id" => selection = Some(words.value(&option)?),
            "-l" | "--list" => policy = Policy::List,
            "--set-timeslice" => {
                let value = words.value(&option)?;
                policy = match value.parse().ok().and_then(Timeslice::from_raw) {
                    Some(level) => Policy::Timeslice(level),
                    None => {
                        return Err(Failure::usage(format!(
                            "Invalid timeslice value: {value}. Valid values are 0 (default), 1 (short), 2 (medium), 3 (long)."
                        )));
                    }
                };
            }
            other => return Err(unknown(other, "compute-policy")),
        }
    }
    Ok(Invocation {
        selection,
        command: Command::Policy(policy),
    })
}

fn mig(mut words: Words) -> Result<Invocation, Failure> {
    let (mut selection, mut gpu_instances, mut compute_instances) = (None, None, None);
    let (mut action, mut with_compute) = (None, false);
    while let Some(option) = words.next() {
        let chosen = match option.as_str() {
            "-h" | "--help" => {
                return Ok(Invocation {
                    selection: None,
                    command: Command::Help(Topic::Mig),
                });
            }
            "-i" | "--id" => {
                selection = Some(words.value(&option)?);
                continue;
            }
            "-gi" | "--gpu-instance-id" => {
                gpu_instances = Some(ids(&option, &words.value(&option)?)?);
                continue;
            }
            "-ci" | "--compute-instance-id" => {
                compute_instances = Some(ids(&option, &words.value(&option)?)?);
                continue;
            }
            "-C" | "--default-compute-instance" => {
                with_compute = true;
                continue;
            }
            "-lgip" | "--list-gpu-instance-profiles" => MigAction::GpuInstanceProfiles,
            "-lgipp" | "--list-gpu-instance-possible-placements" => {
                MigAction::GpuInstancePlacements
            }
            "-lgi" | "--list-gpu-instances" => MigAction::GpuInstances,
            "-lcip" | "--list-compute-instance-profiles" => MigAction::ComputeInstanceProfiles,
            "-lci" | "--list-compute-instances" => MigAction::ComputeInstances,
            "-cgi" | "--create-gpu-instance" => MigAction::CreateGpuInstances {
                profiles: profiles(&words.value(&option)?)?,
                with_compute: false,
            },
            "-cci" | "--create-compute-instance" => MigAction::CreateComputeInstances {
                profiles: words.optional().map(|p| profiles(&p)).transpose()?,
            },
            "-dgi" | "--destroy-gpu-instance" => MigAction::DestroyGpuInstances,
            "-dci" | "--destroy-compute-instance" => MigAction::DestroyComputeInstances,
            other => return Err(unknown(other, "mig")),
        };
        if action.replace(chosen).is_some() {
            return Err(Failure::usage(
                "Only one operation can be given at a time. Please run 'nvidia-smi mig -h' for help.",
            ));
        }
    }
    let action = match action {
        Some(MigAction::CreateGpuInstances { profiles, .. }) => MigAction::CreateGpuInstances {
            profiles,
            with_compute,
        },
        Some(_) if with_compute => {
            return Err(Failure::usage(
                "Option -C is only valid with -cgi. Please run 'nvidia-smi mig -h' for help.",
            ));
        }
        Some(other) => other,
        None => {
            return Ok(Invocation {
                selection: None,
                command: Command::Help(Topic::Mig),
            });
        }
    };
    Ok(Invocation {
        selection,
        command: Command::Mig(Mig {
            action,
            gpu_instances,
            compute_instances,
        }),
    })
}

fn unknown(option: &str, sub: &str) -> Failure {
    Failure::usage(format!(
        "Option \"{option}\" is not recognized. Please run 'nvidia-smi {sub} -h'."
    ))
}

fn on_off(option: &str, value: &str) -> Result<bool, Failure> {
    match value.to_ascii_uppercase().as_str() {
        "0" | "DISABLED" => Ok(false),
        "1" | "ENABLED" => Ok(true),
        _ => Err(Failure::usage(format!(
            "Invalid value for option {option}: {value}. Valid values are 0/DISABLED and 1/ENABLED."
        ))),
    }
}

fn compute_mode(value: &str) -> Result<ComputeMode, Failure> {
    match value.to_ascii_uppercase().as_str() {
        "0" | "DEFAULT" => Ok(ComputeMode::Default),
        "1" | "EXCLUSIVE_THREAD" => Ok(ComputeMode::ExclusiveThread),
        "2" | "PROHIBITED" => Ok(ComputeMode::Prohibited),
        "3" | "EXCLUSIVE_PROCESS" => Ok(ComputeMode::ExclusiveProcess),
        _ => Err(Failure::usage(format!(
            "Invalid compute mode: {value}. Valid values are 0/DEFAULT, 1/EXCLUSIVE_THREAD (deprecated), 2/PROHIBITED, 3/EXCLUSIVE_PROCESS."
        ))),
    }
}

fn ids(option: &str, value: &str) -> Result<Vec<u32>, Failure> {
    let parsed: Result<Vec<u32>, _> = value.split(',').map(|v| v.trim().parse()).collect();
    parsed.map_err(|_| {
        Failure::usage(format!(
            "Invalid value for option {option}: {value}. It takes ids separated by commas."
        ))
    })
}

fn profiles(value: &str) -> Result<Vec<ProfileArg>, Failure> {
    value.split(',').map(|part| profile(part.trim())).collect()
}

fn profile(part: &str) -> Result<ProfileArg, Failure> {
    let bad = || {
        Failure::usage(format!(
            "Invalid profile: \"{part}\". Give ids or names separated by commas, as 19,14 or 1g.5gb:4."
        ))
    };
    let (name, start) = match part.split_once(':') {
        // `{4}:1` and `4:1` are how placements are listed; the start decides.
        Some((name, start)) => {
            let digits = start
                .split(':')
                .next()
                .unwrap_or(start)
                .trim_matches(['{', '}']);
            (name, Some(digits.parse().map_err(|_| bad())?))
        }
        None => (part, None),
    };
    let name = name.trim().trim_start_matches("MIG ").to_owned();
    if name.is_empty() {
        return Err(bad());
    }
    Ok(ProfileArg { name, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Invocation, Failure> {
        Invocation::parse(line.split_whitespace().map(str::to_owned).collect())
    }

    fn command(line: &str) -> Command {
        parse(line).expect("a good command line").command
    }

    #[test]
    fn profiles_come_as_ids_names_and_placements() {
        let Command::Mig(mig) = command("mig -i 0 -cgi 19,1g.5gb+me:4,9:{0}:4 -C") else {
            panic!("not mig")
        };
        let arg = |name: &str, start| ProfileArg {
            name: name.into(),
            start,
        };
        assert_eq!(
            mig.action,
            MigAction::CreateGpuInstances {
                profiles: vec![
                    arg("19", None),
                    arg("1g.5gb+me", Some(4)),
                    arg("9", Some(0))
                ],
                with_compute: true
            }
        );
    }

    #[test]
    fn values_stand_alone_or_behind_an_equals_sign() {
        assert_eq!(
            command("-i 0 -mig 1"),
            command("--multi-instance-gpu=ENABLED")
        );
        assert_eq!(
            command("compute-policy -i GPU-1 --set-timeslice 2"),
            Command::Policy(Policy::Timeslice(Timeslice::Medium))
        );
        assert_eq!(
            command("compute-policy --set-timeslice=2"),
            Command::Policy(Policy::Timeslice(Timeslice::Medium))
        );
        assert_eq!(
            parse("-i 0000:07:00.0 -pm 0").expect("good").selection(),
            Some("0000:07:00.0")
        );
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for line in [
            "-x",
            "-mig 2",
            "-mig",
            "--query-gpu=name",
            "mig -lgip -lgi",
            "mig -cgi",
            "mig -cgi :",
            "compute-policy --set-timeslice 9",
            "-L --version",
            "mig -lgi -C",
            "mig -gi x -dgi",
        ] {
            assert_eq!(parse(line).expect_err(line).code, 2, "{line}");
        }
    }

    #[test]
    fn a_bare_create_takes_no_option_as_its_profile() {
        let Command::Mig(mig) = command("mig -cci -gi 1,2") else {
            panic!("not mig")
        };
        assert_eq!(
            mig.action,
            MigAction::CreateComputeInstances { profiles: None }
        );
        assert_eq!(mig.gpu_instances, Some(vec![1, 2]));
    }
}
