//! `--query-gpu=FIELDS --format=csv[,noheader][,nounits]`.

use std::io::Write as _;

use nvml_client::{Clock, Code, Device, Error, Nvml, Result};

use crate::failure::{Failure, Output};
use crate::select;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    fields: Vec<&'static Field>,
    header: bool,
    units: bool,
}

/// A column: all its names, its unit, and how its value is got.
struct Field {
    names: &'static [&'static str],
    unit: &'static str,
    get: fn(&Nvml, &Device<'_>) -> Result<String>,
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
    pub(crate) fn parse(fields: &str, format: &str) -> std::result::Result<Self, Failure> {
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
        let fields = fields
            .split(',')
            .map(str::trim)
            .map(field)
            .collect::<std::result::Result<_, _>>()?;
        Ok(Self {
            fields,
            header,
            units,
        })
    }
}

fn field(name: &str) -> std::result::Result<&'static Field, Failure> {
    FIELDS
        .iter()
        .find(|f| f.names.contains(&name))
        .ok_or_else(|| Failure::usage(format!("Field \"{name}\" is not a valid field to query.\n")))
}

pub(crate) fn print(
    nvml: &Nvml,
    selection: Option<&str>,
    query: &Query,
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    if query.header {
        let names: Vec<String> = query
            .fields
            .iter()
            .map(|f| {
                if f.unit.is_empty() || !query.units && f.unit == "%" {
                    f.names[0].to_owned()
                } else {
                    format!("{} [{}]", f.names[0], f.unit)
                }
            })
            .collect();
        let _ = writeln!(out, "{}", names.join(", "));
    }
    for gpu in select::gpus(nvml, selection)? {
        let values: Vec<String> = query
            .fields
            .iter()
            .map(|f| value(f, (f.get)(nvml, &gpu), query.units))
            .collect();
        let _ = writeln!(out, "{}", values.join(", "));
    }
    Ok(())
}

fn value(field: &Field, got: Result<String>, units: bool) -> String {
    match got {
        Ok(text) if units && !field.unit.is_empty() => format!("{text} {}", field.unit),
        Ok(text) => text,
        Err(
            Error::Call {
                code: Code::NOT_SUPPORTED,
                ..
            }
            | Error::Function { .. },
        ) => "[N/A]".into(),
        Err(other) => format!("[{}]", other.text()),
    }
}

fn mib(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn watts(milliwatts: u32) -> String {
    format!("{:.2}", f64::from(milliwatts) / 1000.0)
}

fn switch(on: bool) -> String {
    if on { "Enabled" } else { "Disabled" }.into()
}

macro_rules! fields {
    ($($names:expr, $unit:literal, |$nvml:pat_param, $gpu:pat_param| $get:expr;)*) => {
        /// Every field that can be asked for.
        static FIELDS: &[Field] = &[$(Field { names: &$names, unit: $unit, get: |$nvml, $gpu| Ok($get) }),*];
    };
}

fields! {
    ["timestamp"], "", |_, _| jiff::Zoned::now().strftime("%Y/%m/%d %H:%M:%S%.3f").to_string();
    ["driver_version"], "", |nvml, _| nvml.driver_version()?;
    ["count"], "", |nvml, _| nvml.count()?.to_string();
    ["name", "gpu_name"], "", |_, gpu| gpu.name()?;
    ["serial", "gpu_serial"], "", |_, gpu| gpu.serial()?;
    ["uuid", "gpu_uuid"], "", |_, gpu| gpu.uuid()?;
    ["index"], "", |_, gpu| gpu.index()?.to_string();
    ["pci.bus_id", "gpu_bus_id"], "", |_, gpu| gpu.pci()?.bus_id;
    ["pci.domain"], "", |_, gpu| format!("0x{:04X}", gpu.pci()?.domain);
    ["pci.bus"], "", |_, gpu| format!("0x{:02X}", gpu.pci()?.bus);
    ["pci.device"], "", |_, gpu| format!("0x{:02X}", gpu.pci()?.device);
    ["pci.device_id"], "", |_, gpu| format!("0x{:08X}", gpu.pci()?.device_id);
    ["pci.sub_device_id"], "", |_, gpu| format!("0x{:08X}", gpu.pci()?.subsystem_id);
    ["pcie.link.gen.current", "pcie.link.gen.gpucurrent"], "", |_, gpu| gpu.pcie_generation()?.to_string();
    ["pcie.link.gen.max", "pcie.link.gen.gpumax"], "", |_, gpu| gpu.pcie_generation_max()?.to_string();
    ["pcie.link.width.current"], "", |_, gpu| gpu.pcie_width()?.to_string();
    ["pcie.link.width.max"], "", |_, gpu| gpu.pcie_width_max()?.to_string();
    ["display_mode"], "", |_, gpu| switch(gpu.display_mode()? == 1);
    ["display_active"], "", |_, gpu| switch(gpu.display_active()? == 1);
    ["persistence_mode"], "", |_, gpu| switch(gpu.persistence_mode()? == 1);
    ["vbios_version"], "", |_, gpu| gpu.vbios()?;
    ["compute_cap"], "", |_, gpu| { let (major, minor) = gpu.compute_capability()?; format!("{major}.{minor}") };
    ["compute_mode"], "", |_, gpu| gpu.compute_mode()?.text().into();
    ["fan.speed"], "%", |_, gpu| gpu.fan_speed()?.to_string();
    ["pstate"], "", |_, gpu| format!("P{}", gpu.performance_state()?);
    ["memory.total"], "MiB", |_, gpu| mib(gpu.memory()?.total);
    ["memory.used"], "MiB", |_, gpu| mib(gpu.memory()?.used);
    ["memory.free"], "MiB", |_, gpu| mib(gpu.memory()?.free);
    ["memory.reserved"], "MiB", |_, gpu| mib(gpu.memory()?.reserved.unwrap_or(0));
    ["utilization.gpu"], "%", |_, gpu| gpu.utilization()?.gpu.to_string();
    ["utilization.memory"], "%", |_, gpu| gpu.utilization()?.memory.to_string();
    ["temperature.gpu"], "", |_, gpu| gpu.temperature()?.to_string();
    ["power.draw", "power.draw.instant", "power.draw.average"], "W", |_, gpu| watts(gpu.power_usage()?);
    ["power.limit"], "W", |_, gpu| watts(gpu.power_limit()?);
    ["enforced.power.limit"], "W", |_, gpu| watts(gpu.enforced_power_limit()?);
    ["power.default_limit"], "W", |_, gpu| watts(gpu.default_power_limit()?);
    ["power.min_limit"], "W", |_, gpu| watts(gpu.power_limit_range()?.0);
    ["power.max_limit"], "W", |_, gpu| watts(gpu.power_limit_range()?.1);
    ["clocks.current.graphics", "clocks.gr"], "MHz", |_, gpu| gpu.clock(Clock::Graphics)?.to_string();
    ["clocks.current.sm", "clocks.sm"], "MHz", |_, gpu| gpu.clock(Clock::Sm)?.to_string();
    ["clocks.current.memory", "clocks.mem"], "MHz", |_, gpu| gpu.clock(Clock::Memory)?.to_string();
    ["clocks.current.video", "clocks.video"], "MHz", |_, gpu| gpu.clock(Clock::Video)?.to_string();
    ["clocks.max.graphics", "clocks.max.gr"], "MHz", |_, gpu| gpu.max_clock(Clock::Graphics)?.to_string();
    ["clocks.max.sm"], "MHz", |_, gpu| gpu.max_clock(Clock::Sm)?.to_string();
    ["clocks.max.memory", "clocks.max.mem"], "MHz", |_, gpu| gpu.max_clock(Clock::Memory)?.to_string();
    ["ecc.mode.current"], "", |_, gpu| switch(gpu.ecc_mode()?.0);
    ["ecc.mode.pending"], "", |_, gpu| switch(gpu.ecc_mode()?.1);
    ["ecc.errors.corrected.volatile.total"], "", |_, gpu| gpu.ecc_errors(false, false)?.to_string();
    ["ecc.errors.corrected.aggregate.total"], "", |_, gpu| gpu.ecc_errors(false, true)?.to_string();
    ["ecc.errors.uncorrected.volatile.total"], "", |_, gpu| gpu.ecc_errors(true, false)?.to_string();
    ["ecc.errors.uncorrected.aggregate.total"], "", |_, gpu| gpu.ecc_errors(true, true)?.to_string();
    ["mig.mode.current"], "", |_, gpu| switch(gpu.mig_mode()?.0);
    ["mig.mode.pending"], "", |_, gpu| switch(gpu.mig_mode()?.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_by_each_of_their_names_once() {
        let mut names: Vec<&str> = FIELDS
            .iter()
            .flat_map(|f| f.names.iter().copied())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(Query::parse("index, gpu_name,memory.total", "csv,noheader").is_ok());
    }

    #[test]
    fn an_unknown_field_is_named() {
        let failure = Query::parse("index,nonsense", "csv").expect_err("nonsense");
        assert_eq!(
            failure.text,
            "Field \"nonsense\" is not a valid field to query.\n\n"
        );
        assert_eq!(failure.code, 2);
        assert_eq!(Query::parse("index", "xml").expect_err("xml").code, 2);
    }
}
