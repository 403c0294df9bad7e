//! `dmon`, `pmon`: a line for each GPU or process, again and again.

use std::io::Write as _;

use nvml_client::{Clock, Device, Nvml, Result, field};

use crate::args::{Monitor, Watched};
use crate::failure::{Failure, Output};
use crate::value::mib;
use crate::{processes, select};

/// What a line is about.
struct Sample<'s> {
    gpu: &'s Device<'s>,
    usage: Option<nvml_client::ProcessUse>,
    memory: Option<u64>,
}

/// A column: heading, unit, value.
type Column = (
    &'static str,
    &'static str,
    fn(&Sample<'_>) -> Option<String>,
);

/// The columns of a letter of `-s`.
type Group = (char, &'static [Column]);

const DEVICE: &[Group] = &[
    (
        'p',
        &[
            ("pwr", "W", |s| {
                s.gpu
                    .power_usage()
                    .ok()
                    .map(|w| ((w + 500) / 1000).to_string())
            }),
            ("gtemp", "C", |s| number(s.gpu.temperature())),
            ("mtemp", "C", |s| number(s.gpu.field(field::MEMORY_TEMP, 0))),
        ],
    ),
    (
        'u',
        &[
            ("sm", "%", |s| {
                s.gpu.utilization().ok().map(|u| u.gpu.to_string())
            }),
            ("mem", "%", |s| {
                s.gpu.utilization().ok().map(|u| u.memory.to_string())
            }),
            ("enc", "%", |s| engine(s.gpu.encoder_utilization())),
            ("dec", "%", |s| engine(s.gpu.decoder_utilization())),
            ("jpg", "%", |s| engine(s.gpu.jpeg_utilization())),
            ("ofa", "%", |s| engine(s.gpu.ofa_utilization())),
        ],
    ),
    (
        'c',
        &[
            ("mclk", "MHz", |s| number(s.gpu.clock(Clock::Memory))),
            ("pclk", "MHz", |s| number(s.gpu.clock(Clock::Graphics))),
        ],
    ),
    (
        'm',
        &[
            ("fb", "MB", |s| {
                s.gpu.memory().ok().map(|m| mib(m.used).to_string())
            }),
            ("bar1", "MB", |s| {
                s.gpu.bar1().ok().map(|m| mib(m.used).to_string())
            }),
            ("ccpm", "MB", |s| {
                s.gpu
                    .protected_memory()
                    .ok()
                    .map(|m| mib(m.used).to_string())
            }),
        ],
    ),
    (
        'e',
        &[
            ("sbecc", "errs", |s| number(s.gpu.ecc_errors(false, false))),
            ("dbecc", "errs", |s| number(s.gpu.ecc_errors(true, false))),
            ("pci", "errs", |s| number(s.gpu.pcie_replays())),
        ],
    ),
    (
        't',
        &[
            ("rxpci", "MB/s", |s| {
                number(s.gpu.pcie_received().map(|k| k / 1024))
            }),
            ("txpci", "MB/s", |s| {
                number(s.gpu.pcie_sent().map(|k| k / 1024))
            }),
        ],
    ),
];

const PROCESS: &[Group] = &[
    (
        'u',
        &[
            ("sm", "%", |s| s.usage.map(|u| u.sm.to_string())),
            ("mem", "%", |s| s.usage.map(|u| u.memory.to_string())),
            ("enc", "%", |s| s.usage.map(|u| u.encoder.to_string())),
            ("dec", "%", |s| s.usage.map(|u| u.decoder.to_string())),
            ("jpg", "%", |_| None),
            ("ofa", "%", |_| None),
        ],
    ),
    (
        'm',
        &[
            ("fb", "MB", |s| s.memory.map(|bytes| mib(bytes).to_string())),
            ("ccpm", "MB", |s| s.memory.map(|_| "0".into())),
        ],
    ),
];

/// The letters that `-s` may have.
pub(crate) fn letters(watched: Watched) -> String {
    match watched {
        Watched::Devices => DEVICE.iter().map(|g| g.0).collect(),
        Watched::Processes => PROCESS.iter().map(|g| g.0).collect(),
    }
}

/// One round; the heading comes with the first.
pub(crate) fn round(
    nvml: &Nvml,
    selection: Option<&str>,
    monitor: &Monitor,
    first: bool,
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    let gpus = select::gpus(nvml, selection)?;
    match monitor.watched {
        Watched::Devices => {
            let columns = chosen(DEVICE, &monitor.groups);
            if first {
                heading(&columns, [("# gpu ", ""), ("# Idx ", "")], out);
            }
            for gpu in gpus {
                let _ = write!(out, "{:5} ", gpu.index()?);
                let sample = Sample {
                    gpu: &gpu,
                    usage: None,
                    memory: None,
                };
                line(&columns, &sample, out);
                let _ = writeln!(out);
            }
        }
        Watched::Processes => {
            let columns = chosen(PROCESS, &monitor.groups);
            if first {
                let names = ("# gpu         pid   type ", "   command ");
                let units = ("# Idx           #    C/G ", "   name ");
                heading(&columns, [names, units], out);
            }
            for gpu in gpus {
                let index = gpu.index()?;
                let running = processes::of(nvml, &gpu);
                let uses = gpu.process_utilization().unwrap_or_default();
                for process in &running {
                    let usage = uses.iter().find(|u| u.pid == process.pid).copied();
                    let _ = write!(out, "{index:5} {:>10} {:>5} ", process.pid, process.kind);
                    let sample = Sample {
                        gpu: &gpu,
                        usage,
                        memory: process.memory,
                    };
                    line(&columns, &sample, out);
                    let command = process.name.rsplit('/').next().unwrap_or_default();
                    let command: String = command.chars().take(15).collect();
                    let _ = writeln!(out, "   {command:<15}");
                }
                if running.is_empty() {
                    let _ = write!(out, "{index:5} {:>10} {:>5} ", "-", "-");
                    let sample = Sample {
                        gpu: &gpu,
                        usage: None,
                        memory: None,
                    };
                    line(&columns, &sample, out);
                    let _ = writeln!(out, "   {:<15}", "-");
                }
            }
        }
    }
    Ok(())
}

fn chosen(groups: &[Group], letters: &str) -> Vec<Column> {
    letters
        .chars()
        .filter_map(|letter| groups.iter().find(|g| g.0 == letter))
        .flat_map(|g| g.1.iter().copied())
        .collect()
}

/// Names and units of the columns, each line between what stands left and right of them.
fn heading(columns: &[Column], [names, units]: [(&str, &str); 2], out: &mut Output) {
    let mut line = |(left, right): (&str, &str), pick: fn(&Column) -> &'static str| {
        let cells: String = columns.iter().map(|c| format!("{:>6} ", pick(c))).collect();
        let _ = writeln!(out, "{left}{cells}{right}");
    };
    line(names, |column| column.0);
    line(units, |column| column.1);
}

fn line(columns: &[Column], sample: &Sample<'_>, out: &mut Output) {
    for column in columns {
        let _ = write!(
            out,
            "{:>6} ",
            (column.2)(sample).unwrap_or_else(|| "-".into())
        );
    }
}

fn number<T: ToString>(got: Result<T>) -> Option<String> {
    got.ok().map(|number| number.to_string())
}

fn engine(got: Result<(u32, u32)>) -> Option<String> {
    got.ok().map(|(percent, _)| percent.to_string())
}
