//! `--query-gpu=FIELDS --format=csv[,noheader][,nounits]`, and the same for processes, clocks and replaced rows.
//! Not the report (`report`); values are worded as there (`value`).
//! Names, units and order of fields: `nvidia-smi --help-query-gpu` of drivers 580 to 595 as public programs list it.

mod fields;

use std::io::Write as _;

use nvml_client::{Account, Device, Error, Location, Nvml, Result};

use crate::failure::{Failure, Output};
use crate::processes::{self, Running};
use crate::report::Dialect;
use crate::{clock, select, value};

/// What rows are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Gpu,
    ComputeApps,
    AccountedApps,
    RetiredPages,
    RemappedRows,
    SupportedClocks,
}

impl Subject {
    /// By the option that asks for it, and by the option that explains it.
    const OPTIONS: [(&'static str, &'static str, Self); 6] = [
        ("--query-gpu", "--help-query-gpu", Self::Gpu),
        (
            "--query-compute-apps",
            "--help-query-compute-apps",
            Self::ComputeApps,
        ),
        (
            "--query-accounted-apps",
            "--help-query-accounted-apps",
            Self::AccountedApps,
        ),
        (
            "--query-retired-pages",
            "--help-query-retired-pages",
            Self::RetiredPages,
        ),
        (
            "--query-remapped-rows",
            "--help-query-remapped-rows",
            Self::RemappedRows,
        ),
        (
            "--query-supported-clocks",
            "--help-query-supported-clocks",
            Self::SupportedClocks,
        ),
    ];

    pub(crate) fn of_query(option: &str) -> Option<Self> {
        Self::OPTIONS.iter().find(|o| o.0 == option).map(|o| o.2)
    }

    pub(crate) fn of_help(option: &str) -> Option<Self> {
        Self::OPTIONS.iter().find(|o| o.1 == option).map(|o| o.2)
    }

    fn fields(self) -> &'static [Field] {
        match self {
            Self::Gpu => fields::GPU,
            Self::ComputeApps => fields::COMPUTE_APPS,
            Self::AccountedApps => fields::ACCOUNTED_APPS,
            Self::RetiredPages => fields::RETIRED_PAGES,
            Self::RemappedRows => fields::REMAPPED_ROWS,
            Self::SupportedClocks => fields::SUPPORTED_CLOCKS,
        }
    }
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    subject: Subject,
    columns: Vec<Column>,
    header: bool,
    units: bool,
}

/// A column that can be asked for.
struct Field {
    /// All its names; the first is the one that headers show.
    names: &'static [&'static str],
    unit: &'static str,
    look: Look,
    get: fn(&Row<'_>) -> Result<String>,
}

/// How a field differs from others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    /// Says `N/A` without brackets when there is no value.
    Bare,
}

/// What a row is about.
pub(crate) struct Row<'r> {
    nvml: &'r Nvml,
    gpu: &'r Device<'r>,
    dialect: Dialect,
    process: Option<&'r Running>,
    account: Option<&'r (u32, Account)>,
    /// Its address, and why it is no longer used.
    page: Option<(Option<u64>, &'static str)>,
    /// Memory and graphics.
    clocks: (u32, u32),
}

/// A column that was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Column {
    Field(&'static Field),
    Errors(Errors),
}

/// `ecc.errors.<kind>.<counter>.<place>`: 36 fields by one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Errors {
    name: String,
    uncorrected: bool,
    lifetime: bool,
    /// `None` is all places.
    place: Option<Location>,
}

const PLACES: [(&str, Option<Location>); 9] = [
    ("device_memory", Some(Location::Dram)),
    ("dram", Some(Location::Dram)),
    ("register_file", Some(Location::Registers)),
    ("l1_cache", Some(Location::L1)),
    ("l2_cache", Some(Location::L2)),
    ("texture_memory", Some(Location::Texture)),
    ("cbu", Some(Location::Cbu)),
    ("sram", Some(Location::Sram)),
    ("total", None),
];

impl Errors {
    fn all() -> impl Iterator<Item = Self> {
        [("corrected", false), ("uncorrected", true)]
            .into_iter()
            .flat_map(|kind| {
                [("volatile", false), ("aggregate", true)].map(|counter| (kind, counter))
            })
            .flat_map(|(kind, counter)| PLACES.map(|place| (kind, counter, place)))
            .map(|(kind, counter, (place, location))| Self {
                name: format!("ecc.errors.{}.{}.{place}", kind.0, counter.0),
                uncorrected: kind.1,
                lifetime: counter.1,
                place: location,
            })
    }

    fn get(&self, gpu: &Device<'_>) -> Result<String> {
        let count = match self.place {
            Some(place) => gpu.memory_errors(self.uncorrected, self.lifetime, place),
            None => gpu.ecc_errors(self.uncorrected, self.lifetime),
        };
        count.map(|n| n.to_string())
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.names[0])
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Field {}

impl Query {
    pub(crate) fn parse(
        subject: Subject,
        fields: &str,
        format: &str,
    ) -> std::result::Result<Self, Failure> {
        let (mut csv, mut header, mut units) = (false, true, true);
        for part in format.split(',') {
            match part.trim() {
                "csv" => csv = true,
                "noheader" => header = false,
                "nounits" => units = false,
                other => {
                    return Err(Failure::usage(format!(
                        "\"{other}\" is not a valid format. Please run 'nvidia-smi -h' for help.\n"
                    )));
                }
            }
        }
        if !csv {
            return Err(Failure::usage(
                "\"--format=\" needs csv. Please run 'nvidia-smi -h' for help.\n",
            ));
        }
        let columns = fields
            .split(',')
            .map(str::trim)
            .map(|name| column(subject, name))
            .collect::<std::result::Result<_, _>>()?;
        Ok(Self {
            subject,
            columns,
            header,
            units,
        })
    }

    fn rows(&self, nvml: &Nvml, gpu: &Device<'_>, dialect: Dialect, out: &mut Output) {
        let mut row = Row {
            nvml,
            gpu,
            dialect,
            process: None,
            account: None,
            page: None,
            clocks: (0, 0),
        };
        match self.subject {
            Subject::Gpu | Subject::RemappedRows => self.row(&row, out),
            Subject::ComputeApps => {
                for process in processes::of(nvml, gpu) {
                    if process.kind != "G" {
                        self.row(
                            &Row {
                                process: Some(&process),
                                ..row
                            },
                            out,
                        );
                    }
                }
            }
            Subject::AccountedApps => {
                for account in gpu.accounts() {
                    self.row(
                        &Row {
                            account: Some(&account),
                            ..row
                        },
                        out,
                    );
                }
            }
            Subject::RetiredPages => {
                for (double_bit, cause) in [(false, "Single Bit ECC"), (true, "Double Bit ECC")] {
                    // A card that retires no pages has one row for each cause all the same.
                    let pages = gpu.retired_pages(double_bit);
                    let addresses = pages.map_or_else(
                        |_| vec![None],
                        |pages| pages.into_iter().map(Some).collect(),
                    );
                    for address in addresses {
                        row.page = Some((address, cause));
                        self.row(&row, out);
                    }
                }
            }
            Subject::SupportedClocks => {
                for memory in gpu.supported_memory_clocks().unwrap_or_default() {
                    for graphics in gpu.supported_graphics_clocks(memory).unwrap_or_default() {
                        row.clocks = (memory, graphics);
                        self.row(&row, out);
                    }
                }
            }
        }
    }

    fn row(&self, row: &Row<'_>, out: &mut Output) {
        let values: Vec<String> = self
            .columns
            .iter()
            .map(|column| match column {
                Column::Field(field) => shown(field, (field.get)(row), self.units),
                Column::Errors(errors) => bracketed(errors.get(row.gpu)),
            })
            .collect();
        let _ = writeln!(out, "{}", values.join(", "));
    }
}

fn column(subject: Subject, name: &str) -> std::result::Result<Column, Failure> {
    if let Some(field) = subject.fields().iter().find(|f| f.names.contains(&name)) {
        return Ok(Column::Field(field));
    }
    Errors::all()
        .find(|e| subject == Subject::Gpu && e.name == name)
        .map(Column::Errors)
        .ok_or_else(|| Failure::usage(format!("Field \"{name}\" is not a valid field to query.\n")))
}

/// All names that can be asked for, a field a line, as `--help-query-*` quotes them.
pub(crate) fn help(subject: Subject, out: &mut Output) {
    let _ = writeln!(out, "List of valid properties to query:\n");
    for field in subject.fields() {
        let names: Vec<String> = field.names.iter().map(|n| format!("\"{n}\"")).collect();
        let _ = writeln!(out, "{}", names.join(" or "));
    }
    if subject == Subject::Gpu {
        for errors in Errors::all() {
            let _ = writeln!(out, "\"{}\"", errors.name);
        }
    }
}

pub(crate) fn print(
    nvml: &Nvml,
    selection: Option<&str>,
    query: &Query,
    first: bool,
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    if query.header && first {
        let names: Vec<String> = query
            .columns
            .iter()
            .map(|column| match column {
                Column::Errors(errors) => errors.name.clone(),
                Column::Field(field) if field.unit.is_empty() => field.names[0].to_owned(),
                Column::Field(field) => format!("{} [{}]", field.names[0], field.unit),
            })
            .collect();
        let _ = writeln!(out, "{}", names.join(", "));
    }
    let dialect = Dialect::of(&nvml.driver_version()?);
    for gpu in select::gpus(nvml, selection)? {
        query.rows(nvml, &gpu, dialect, out);
    }
    Ok(())
}

fn shown(field: &Field, got: Result<String>, units: bool) -> String {
    match got {
        Ok(text) if units && !field.unit.is_empty() && !text.starts_with('[') => {
            format!("{text} {}", field.unit)
        }
        Err(_) if field.look == Look::Bare => "N/A".into(),
        other => bracketed(other),
    }
}

fn bracketed(got: Result<String>) -> String {
    got.unwrap_or_else(|e: Error| format!("[{}]", value::missing(&e)))
}

/// The time, as rows carry it.
fn stamp(nvml: &Nvml) -> String {
    clock::now(nvml)
        .strftime("%Y/%m/%d %H:%M:%S%.3f")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(fields: &str, format: &str) -> std::result::Result<Query, Failure> {
        Query::parse(Subject::Gpu, fields, format)
    }

    #[test]
    fn fields_are_known_by_each_of_their_names_once() {
        for (_, _, subject) in Subject::OPTIONS {
            let mut names: Vec<&str> = subject
                .fields()
                .iter()
                .flat_map(|f| f.names.iter().copied())
                .collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{subject:?}");
        }
        assert!(gpu("index, gpu_name,memory.total", "csv,noheader").is_ok());
    }

    #[test]
    fn an_unknown_field_is_named() {
        let failure = gpu("index,nonsense", "csv").expect_err("nonsense");
        assert_eq!(
            failure.text,
            "Field \"nonsense\" is not a valid field to query.\n\n"
        );
        assert_eq!(failure.code, 2);
        assert_eq!(gpu("index", "xml").expect_err("xml").code, 2);
        let pid = Query::parse(Subject::RemappedRows, "pid", "csv").expect_err("another list's");
        assert_eq!(pid.code, 2);
    }

    /// Every field that the programs and captures of tests/data/query-gpu.txt use.
    #[test]
    fn every_field_of_public_lists_is_known() {
        let wanted = include_str!("../../tests/data/query-gpu.txt");
        let missing: Vec<&str> = wanted
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .filter(|name| column(Subject::Gpu, name).is_err())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
