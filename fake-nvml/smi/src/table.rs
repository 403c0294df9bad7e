//! The table that nvidia-smi prints when it is asked for nothing else.

use std::io::Write as _;

use nvml_client::{Device, Nvml, Result};

use crate::failure::{Failure, Output};
use crate::processes::{self, Running};
use crate::{clock, select};

const RULE: &str =
    "+-----------------------------------------------------------------------------------------+";
const COLUMNS: &str =
    "+-----------------------------------------+------------------------+----------------------+";

const MIG_COLUMNS: &str =
    "+------------------+----------------------------------+-----------+-----------------------+";

/// Between rows that share their memory.
const MIG_SHARED: &str =
    "+------------------+                                  +-----------+-----------------------+";

pub(crate) fn print(
    nvml: &Nvml,
    selection: Option<&str>,
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    let gpus = select::gpus(nvml, selection)?;
    let driver = nvml.driver_version()?;
    let (major, minor) = nvml.cuda_version()?;
    let _ = writeln!(
        out,
        "{}       ",
        clock::now(nvml).strftime("%a %b %e %H:%M:%S %Y")
    );
    let _ = writeln!(out, "{RULE}");
    let _ = writeln!(
        out,
        "| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {:<9}|",
        format!("{major}.{minor}")
    );
    let _ = writeln!(out, "{COLUMNS}");
    let _ = writeln!(
        out,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |"
    );
    let _ = writeln!(
        out,
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |"
    );
    let _ = writeln!(
        out,
        "|                                         |                        |               MIG M. |"
    );
    let _ = writeln!(
        out,
        "|=========================================+========================+======================|"
    );
    for (position, gpu) in gpus.iter().enumerate() {
        let index = gpu.index().unwrap_or(u32::try_from(position).unwrap_or(0));
        row(gpu, index, out).map_err(|e| select::unreachable(index, &e))?;
        let _ = writeln!(out, "{COLUMNS}");
    }
    let _ = writeln!(out);
    mig_devices(&gpus, out)?;
    rows_of_processes(nvml, &gpus, out)
}

fn row(gpu: &Device<'_>, index: u32, out: &mut Output) -> Result<()> {
    let name = gpu.name()?;
    let pci = gpu.pci()?;
    let persistence = if gpu.persistence_mode().is_ok_and(|p| p == 1) {
        "On"
    } else {
        "Off"
    };
    let display = if gpu.display_active().is_ok_and(|d| d == 1) {
        "On"
    } else {
        "Off"
    };
    let ecc = match gpu.ecc_mode() {
        Ok((true, _)) => gpu
            .ecc_errors(true, false)
            .map_or_else(|_| "N/A".into(), |n| n.to_string()),
        Ok((false, _)) => "Off".into(),
        Err(_) => "N/A".into(),
    };
    let _ = writeln!(
        out,
        "| {index:3}  {name:<31}{persistence:<3} |   {} {display:>3} | {ecc:>20} |",
        pci.bus_id
    );
    let fan = gpu
        .fan_speed()
        .map_or_else(|_| "N/A".into(), |f| format!("{f}%"));
    let temperature = gpu
        .temperature()
        .map_or_else(|_| "N/A".into(), |t| format!("{t}C"));
    let state = gpu
        .performance_state()
        .map_or_else(|_| "N/A".into(), |p| format!("P{p}"));
    let watts =
        |w: Result<u32>| w.map_or_else(|_| "N/A".into(), |w| format!("{}W", (w + 500) / 1000));
    let memory = gpu.memory()?;
    let used = format!("{}MiB", memory.used >> 20);
    let total = format!("{}MiB", memory.total >> 20);
    let utilization = gpu
        .utilization()
        .map_or_else(|_| "N/A".into(), |u| format!("{}%", u.gpu));
    let mode = match gpu.compute_mode() {
        Ok(nvml_client::ComputeMode::ExclusiveProcess) => "E. Process",
        Ok(mode) => mode.text(),
        Err(_) => "N/A",
    };
    let _ = writeln!(
        out,
        "| {fan:<4} {temperature:>4}    {state:<3}        {:>7} / {:>5} | {used:>10} / {total:>9} |{utilization:>8} {mode:>12} |",
        watts(gpu.power_usage()),
        watts(gpu.power_limit()),
    );
    let mig = match gpu.mig_mode() {
        Ok((now, then)) if now == then => if now { "Enabled" } else { "Disabled" }.to_owned(),
        // The star says that a reset is due.
        Ok((now, _)) => format!("{}*", if now { "Enabled" } else { "Disabled" }),
        Err(_) => "N/A".to_owned(),
    };
    let _ = writeln!(
        out,
        "|                                         |                        | {mig:>20} |"
    );
    Ok(())
}

fn mig_devices(gpus: &[Device<'_>], out: &mut Output) -> std::result::Result<(), Failure> {
    let enabled: Vec<&Device<'_>> = gpus
        .iter()
        .filter(|g| g.mig_mode().is_ok_and(|(now, _)| now))
        .collect();
    if enabled.is_empty() {
        return Ok(());
    }
    for line in [
        RULE,
        "| MIG devices:                                                                            |",
        MIG_COLUMNS,
        "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |",
        "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
        "|                  |                                  |        ECC|                       |",
        "|==================+==================================+===========+=======================|",
    ] {
        let _ = writeln!(out, "{line}");
    }
    let mut any = false;
    for gpu in enabled {
        let devices = gpu.mig_devices().unwrap_or_default();
        let instances: Vec<Option<u32>> = devices
            .iter()
            .map(|mig| mig.gpu_instance_id().ok())
            .collect();
        for (place, mig) in devices.iter().enumerate() {
            any = true;
            // Compute instances of one GPU instance share its memory, which stands in the first row only.
            let same = |other: Option<usize>| {
                other
                    .and_then(|other| instances.get(other))
                    .is_some_and(|gi| *gi == instances[place])
            };
            mig_row(gpu, mig, same(place.checked_sub(1)), out)?;
            let rule = if same(Some(place + 1)) {
                MIG_SHARED
            } else {
                MIG_COLUMNS
            };
            let _ = writeln!(out, "{rule}");
        }
    }
    if !any {
        let _ = writeln!(
            out,
            "|  No MIG devices found                                                                   |\n{RULE}"
        );
    }
    let _ = writeln!(out);
    Ok(())
}

fn mig_row(
    gpu: &Device<'_>,
    mig: &Device<'_>,
    shares: bool,
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    let has = mig.attributes()?;
    let usage = |memory: Result<nvml_client::Memory>| {
        memory.map_or_else(
            |_| ("N/A".to_owned(), "N/A".to_owned()),
            |m| {
                (
                    format!("{}MiB", m.used >> 20),
                    format!("{}MiB", m.total >> 20),
                )
            },
        )
    };
    // As wide as the column.
    let blank = " ".repeat(34);
    let (used, total) = usage(mig.memory());
    let memory = if shares {
        blank.clone()
    } else {
        format!("{used:>19} / {total:>8}    ")
    };
    let _ = writeln!(
        out,
        "|{:3} {:4} {:3} {:3}  |{memory}|{:3} {:>6} |{:3} {:3}  {:3}  {:3}  {:3} |",
        gpu.index()?,
        mig.gpu_instance_id()?,
        mig.compute_instance_id()?,
        mig.index()?,
        has.multiprocessors,
        mig.ecc_errors(true, false)
            .map_or_else(|_| "0".into(), |n| n.to_string()),
        has.copy_engines,
        has.encoders,
        has.decoders,
        has.ofa,
        has.jpeg,
    );
    let (used, total) = usage(mig.bar1());
    let window = if shares {
        blank
    } else {
        format!("{used:>21} / {total:>8}  ")
    };
    let _ = writeln!(
        out,
        "|                  |{window}|           |                       |"
    );
    Ok(())
}

fn rows_of_processes(
    nvml: &Nvml,
    gpus: &[Device<'_>],
    out: &mut Output,
) -> std::result::Result<(), Failure> {
    let _ = writeln!(out, "{RULE}");
    let _ = writeln!(
        out,
        "| Processes:                                                                              |"
    );
    let _ = writeln!(
        out,
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |"
    );
    let _ = writeln!(
        out,
        "|        ID   ID                                                               Usage      |"
    );
    let _ = writeln!(
        out,
        "|=========================================================================================|"
    );
    let mut any = false;
    for gpu in gpus {
        for process in processes::of(nvml, gpu) {
            any = true;
            let _ = writeln!(out, "{}", process_row(gpu.index()?, &process));
        }
    }
    if !any {
        let _ = writeln!(
            out,
            "|  No running processes found                                                             |"
        );
    }
    let _ = writeln!(out, "{RULE}");
    Ok(())
}

fn process_row(gpu: u32, process: &Running) -> String {
    let id = |id: Option<u32>| id.map_or_else(|| "N/A".into(), |i| i.to_string());
    let name = shortened(process.name.clone());
    let memory = process
        .memory
        .map_or_else(|| "N/A".into(), |m| format!("{}MiB", m >> 20));
    format!(
        "|  {gpu:3}  {:>4} {:>4}{:>16} {:>6}   {name:<38} {memory:>7} |",
        id(process.gpu_instance),
        id(process.compute_instance),
        process.pid,
        process.kind,
    )
}

/// As much of the end of a path as its column holds.
fn shortened(name: String) -> String {
    const WIDTH: usize = 38;
    const DOTS: &str = "...";
    let length = name.chars().count();
    if length <= WIDTH {
        return name;
    }
    let end = name.chars().skip(length - (WIDTH - DOTS.len()));
    DOTS.chars().chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn names_of_processes_fit_their_column_in_any_script() {
        assert_eq!(shortened("/usr/bin/python3".into()), "/usr/bin/python3");
        let long = shortened("/home/\u{e9}t\u{e9}/".repeat(9));
        assert_eq!(long.chars().count(), 38);
        assert!(long.starts_with("..."), "{long}");
    }
}
