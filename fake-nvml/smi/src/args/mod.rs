//! What was asked: nvidia-smi's own grammar (long options with one dash, values with and without `=`), which no parser crate speaks.
//! Pure: strings in, an invocation or a usage error out.

mod change;

use std::collections::VecDeque;
use std::time::Duration;

use gpu_model::Timeslice;

use crate::failure::Failure;
use crate::monitor;
use crate::query::{Query, Subject};
use crate::report::{Report, Topic as Display};
pub(crate) use change::{Change, Clocks};

/// A whole command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    selection: Option<String>,
    pub(crate) command: Command,
    pub(crate) repeat: Repeat,
    /// `-f`: where the output goes instead of standard output.
    pub(crate) file: Option<String>,
}

/// How often a command is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Repeat {
    /// `-l`, `-lms`, `-d` of the monitors; none is once.
    pub(crate) every: Option<Duration>,
    /// `-c` of the monitors.
    pub(crate) times: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help(Topic),
    Table,
    List,
    Version,
    Query(Query),
    Fields(Subject),
    Report(Report),
    Matrix,
    Links(Links),
    Monitor(Monitor),
    Mig(Mig),
    Set(Change),
    Policy(Policy),
}

/// `nvlink -s`, `nvlink -c`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Status,
    Capabilities,
}

/// `dmon`, `pmon`
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Monitor {
    pub(crate) watched: Watched,
    /// Letters of `-s`.
    pub(crate) groups: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    Devices,
    Processes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    All,
    Mig,
    Policy,
    Topology,
    Links,
    Monitor,
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
    ComputeInstancePlacements,
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

    fn once(selection: Option<String>, command: Command) -> Self {
        Self {
            selection,
            command,
            repeat: Repeat::default(),
            file: None,
        }
    }

    fn help(topic: Topic) -> Self {
        Self::once(None, Command::Help(topic))
    }

    pub(crate) fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let mut words = Words(words.into());
        let sub: fn(Words) -> Result<Self, Failure> = match words.0.front().map(String::as_str) {
            Some("mig") => mig,
            Some("compute-policy") => policy,
            Some("topo") => topology,
            Some("nvlink") => links,
            Some("dmon") => |words| watch(words, Watched::Devices),
            Some("pmon") => |words| watch(words, Watched::Processes),
            _ => return plain(words),
        };
        words.0.pop_front();
        sub(words)
    }
}

/// What options without a subcommand may say together.
#[derive(Default)]
struct Plain {
    selection: Option<String>,
    command: Option<Command>,
    fields: Option<(Subject, String)>,
    format: Option<String>,
    report: bool,
    xml: bool,
    display: Option<Vec<Display>>,
    repeat: Repeat,
    file: Option<String>,
}

fn plain(mut words: Words) -> Result<Invocation, Failure> {
    let mut said = Plain::default();
    while let Some(option) = words.next() {
        let chosen = match option.as_str() {
            "-h" | "--help" => return Ok(Invocation::help(Topic::All)),
            "-L" | "--list-gpus" => Command::List,
            "--version" | "-v" => Command::Version,
            other => {
                if let Some(subject) = Subject::of_help(other) {
                    Command::Fields(subject)
                } else if let Some(change) = Change::of(other, &mut words)? {
                    Command::Set(change)
                } else {
                    said.modifier(other, &mut words)?;
                    continue;
                }
            }
        };
        if said.command.replace(chosen).is_some() {
            return Err(bad_combination());
        }
    }
    said.invocation()
}

impl Plain {
    /// An option that chooses no command by itself.
    fn modifier(&mut self, option: &str, words: &mut Words) -> Result<(), Failure> {
        match option {
            "-i" | "--id" => self.selection = Some(words.value(option)?),
            "--format" => self.format = Some(words.value(option)?),
            "-q" | "--query" => self.report = true,
            "-x" | "--xml-format" => self.xml = true,
            "-f" | "--filename" => self.file = Some(words.value(option)?),
            "-d" | "--display" => {
                let topics = words.value(option)?;
                self.display = Some(
                    topics
                        .split(',')
                        .map(Display::parse)
                        .collect::<Result<_, _>>()?,
                );
            }
            "-l" | "--loop" => {
                // Without a number: every five seconds.
                let seconds = words.optional().unwrap_or_else(|| "5".into());
                self.repeat.every = Some(Duration::from_secs(natural(option, &seconds)?));
            }
            "-lms" | "--loop-ms" => {
                let milliseconds = words.value(option)?;
                self.repeat.every = Some(Duration::from_millis(natural(option, &milliseconds)?));
            }
            other => match Subject::of_query(other) {
                Some(subject) => self.fields = Some((subject, words.value(other)?)),
                None => {
                    return Err(Failure::usage(format!(
                        "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nUnknown here: {other}"
                    )));
                }
            },
        }
        Ok(())
    }

    fn invocation(self) -> Result<Invocation, Failure> {
        let report = self.report || self.xml || self.display.is_some();
        let command = match (self.command, self.fields, self.format) {
            (None, Some((subject, fields)), Some(format)) if !report => {
                Command::Query(Query::parse(subject, &fields, &format)?)
            }
            (None, Some(_), None) if !report => {
                return Err(Failure::usage(
                    "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n",
                ));
            }
            (Some(command), None, None) if !report => command,
            (None, None, None) if self.report => Command::Report(Report {
                xml: self.xml,
                only: self.display.unwrap_or_default(),
            }),
            (None, None, None) if !report => Command::Table,
            _ => return Err(bad_combination()),
        };
        Ok(Invocation {
            selection: self.selection,
            command,
            repeat: self.repeat,
            file: self.file,
        })
    }
}

fn bad_combination() -> Failure {
    Failure::usage("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
}

fn natural(option: &str, value: &str) -> Result<u64, Failure> {
    value.trim().parse().map_err(|_| {
        Failure::usage(format!(
            "Invalid value for option {option}: {value}. It takes a whole number."
        ))
    })
}

fn topology(mut words: Words) -> Result<Invocation, Failure> {
    let (mut selection, mut matrix) = (None, false);
    while let Some(option) = words.next() {
        match option.as_str() {
            "-m" | "--matrix" => matrix = true,
            "-i" | "--id" => selection = Some(words.value(&option)?),
            "-h" | "--help" => return Ok(Invocation::help(Topic::Topology)),
            other => return Err(unknown(other, "topo")),
        }
    }
    Ok(if matrix {
        Invocation::once(selection, Command::Matrix)
    } else {
        Invocation::help(Topic::Topology)
    })
}

fn links(mut words: Words) -> Result<Invocation, Failure> {
    let (mut selection, mut what) = (None, None);
    while let Some(option) = words.next() {
        match option.as_str() {
            "-s" | "--status" => what = Some(Links::Status),
            "-c" | "--capabilities" => what = Some(Links::Capabilities),
            "-i" | "--id" => selection = Some(words.value(&option)?),
            "-h" | "--help" => return Ok(Invocation::help(Topic::Links)),
            other => return Err(unknown(other, "nvlink")),
        }
    }
    Ok(match what {
        Some(what) => Invocation::once(selection, Command::Links(what)),
        None => Invocation::help(Topic::Links),
    })
}

fn watch(mut words: Words, watched: Watched) -> Result<Invocation, Failure> {
    let name = match watched {
        Watched::Devices => "dmon",
        Watched::Processes => "pmon",
    };
    let (mut selection, mut file, mut times) = (None, None, None);
    let mut seconds = 1;
    let mut groups = match watched {
        Watched::Devices => "puc".to_owned(),
        Watched::Processes => "u".to_owned(),
    };
    while let Some(option) = words.next() {
        match option.as_str() {
            "-i" | "--id" => selection = Some(words.value(&option)?),
            "-f" | "--filename" => file = Some(words.value(&option)?),
            "-c" | "--count" => times = Some(natural(&option, &words.value(&option)?)?),
            "-d" | "--delay" => seconds = natural(&option, &words.value(&option)?)?,
            "-s" | "--select" => {
                groups = words.value(&option)?;
                let known = monitor::letters(watched);
                if let Some(letter) = groups.chars().find(|c| !known.contains(*c)) {
                    return Err(Failure::usage(format!(
                        "Invalid value for option -s: {letter}. It takes letters out of {known}."
                    )));
                }
            }
            "-h" | "--help" => return Ok(Invocation::help(Topic::Monitor)),
            other => return Err(unknown(other, name)),
        }
    }
    Ok(Invocation {
        selection,
        command: Command::Monitor(Monitor { watched, groups }),
        repeat: Repeat {
            every: Some(Duration::from_secs(seconds)),
            // The real tool takes 0 for "for ever".
            times: times.filter(|times| *times > 0),
        },
        file,
    })
}

fn policy(mut words: Words) -> Result<Invocation, Failure> {
    let mut selection = None;
    let mut policy = Policy::List;
    while let Some(option) = words.next() {
        match option.as_str() {
            "-h" | "--help" => {
                return Ok(Invocation::help(Topic::Policy));
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
    Ok(Invocation::once(selection, Command::Policy(policy)))
}

fn mig(mut words: Words) -> Result<Invocation, Failure> {
    let (mut selection, mut gpu_instances, mut compute_instances) = (None, None, None);
    let (mut action, mut with_compute) = (None, false);
    while let Some(option) = words.next() {
        let chosen = match option.as_str() {
            "-h" | "--help" => {
                return Ok(Invocation::help(Topic::Mig));
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
            "-lcipp" | "--list-compute-instance-possible-placements" => {
                MigAction::ComputeInstancePlacements
            }
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
            return Ok(Invocation::help(Topic::Mig));
        }
    };
    Ok(Invocation::once(
        selection,
        Command::Mig(Mig {
            action,
            gpu_instances,
            compute_instances,
        }),
    ))
}

fn unknown(option: &str, sub: &str) -> Failure {
    Failure::usage(format!(
        "Option \"{option}\" is not recognized. Please run 'nvidia-smi {sub} -h'."
    ))
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
            "-x",
            "-q -L",
            "-q -d COLOR",
            "-l x",
            "-lms",
            "topo -z",
            "nvlink -z",
            "dmon -s z",
            "pmon -c x",
            "--query-gpu=index --format=csv -q",
            "--query-compute-apps=index --format=csv",
        ] {
            assert_eq!(parse(line).expect_err(line).code, 2, "{line}");
        }
    }

    #[test]
    fn reports_loops_and_monitors() {
        let Command::Report(report) = command("-q -x -i 0") else {
            panic!("not a report")
        };
        assert!(report.xml && report.only.is_empty());
        let Command::Report(report) = command("--query --display=MEMORY,ecc") else {
            panic!("not a report")
        };
        assert_eq!(report.only, [Display::Memory, Display::Ecc]);
        let every = |line| parse(line).expect("good").repeat.every;
        assert_eq!(every("-l 2"), Some(Duration::from_secs(2)));
        assert_eq!(every("-l -q"), Some(Duration::from_secs(5)));
        assert_eq!(every("--loop-ms=50"), Some(Duration::from_millis(50)));
        assert_eq!(every("-q"), None);
        let dmon = parse("dmon -c 3 -s pm").expect("good");
        assert_eq!(dmon.repeat.times, Some(3));
        assert_eq!(command("topo --matrix"), Command::Matrix);
        assert_eq!(command("nvlink -s"), Command::Links(Links::Status));
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
