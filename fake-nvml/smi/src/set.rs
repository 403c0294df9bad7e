//! `-mig`, `-pm`, `-c`, `-e`, `-am`, `-pl`, `-lgc` and the other clocks, `-r`: changes of a whole GPU.
//! Not the partitions (`mig`).
//! Texts are those of public captures (smi/tests/data/README.md says which); the exit code of a refusal is NVML's.

use std::io::Write as _;

use nvml_client::{Code, ComputeMode, Device, Error, Nvml};

use crate::args::{Change, Clocks};
use crate::failure::{Failure, Output, code, exit_code};
use crate::report::Dialect;
use crate::{select, side, value};

pub(crate) fn run(
    nvml: &Nvml,
    selection: Option<&str>,
    change: Change,
    out: &mut Output,
) -> Result<(), Failure> {
    let dialect = Dialect::of(&nvml.driver_version()?);
    for gpu in select::gpus(nvml, selection)? {
        let place = gpu.pci()?.bus_id;
        match change {
            Change::Mig(on) => mig(&gpu, on, &place, out)?,
            Change::Persistence(on) => persistence(&gpu, on, &place, out)?,
            Change::Compute(mode) => compute(&gpu, mode, &place, out)?,
            Change::Ecc(on) => ecc(&gpu, on, &place, out)?,
            Change::Accounting(on) => accounting(&gpu, on, &place, out)?,
            Change::PowerLimit(milliwatts) => power(&gpu, milliwatts, &place, dialect, out)?,
            Change::Clocks(clocks) => self::clocks(&gpu, clocks, &place, out)?,
            Change::Reset => reset(&gpu, &place, out)?,
        }
    }
    let _ = writeln!(out, "All done.");
    if matches!(change, Change::Ecc(_)) {
        let _ = writeln!(out, "Reboot required.");
    }
    Ok(())
}

const fn word(on: bool) -> &'static str {
    if on { "Enabled" } else { "Disabled" }
}

fn mig(gpu: &Device<'_>, on: bool, place: &str, out: &mut Output) -> Result<(), Failure> {
    let verb = if on { "enable" } else { "disable" };
    match gpu.set_mig_mode(on) {
        Ok(None) => {
            let _ = writeln!(out, "{} MIG Mode for GPU {place}", word(on));
            unkept(gpu, place, out);
        }
        Ok(Some(why)) => {
            let _ = writeln!(
                out,
                "Warning: MIG mode is in pending {verb} state for GPU {place}:{}",
                why.text()
            );
            let advice = if why == Code::IN_USE {
                format!(
                    "{place} is currently being used by one or more other processes (e.g. CUDA application or a monitoring application \
                     such as another instance of nvidia-smi). Please first kill all processes using the device and retry the command or \
                     reboot the system to make MIG mode effective."
                )
            } else {
                format!(
                    "Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU {place}"
                )
            };
            let _ = writeln!(out, "{advice}");
        }
        Err(e) => refused(
            &format!("Unable to {verb} MIG Mode for GPU {place}"),
            &e,
            out,
        )?,
    }
    Ok(())
}

fn persistence(gpu: &Device<'_>, on: bool, place: &str, out: &mut Output) -> Result<(), Failure> {
    if gpu.persistence_mode().is_ok_and(|now| (now == 1) == on) {
        let _ = writeln!(
            out,
            "Persistence mode is already {} for GPU {place}.",
            word(on)
        );
        return Ok(());
    }
    done_or_refused(
        gpu.set_persistence_mode(on),
        &format!("{} persistence mode for GPU {place}.", word(on)),
        &format!("Unable to set persistence mode for GPU {place}"),
        out,
    )
}

fn compute(
    gpu: &Device<'_>,
    mode: ComputeMode,
    place: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    let word = mode.text().to_ascii_uppercase();
    if gpu.compute_mode().is_ok_and(|now| now == mode) {
        let _ = writeln!(
            out,
            "Compute mode is already set to {word} for GPU {place}."
        );
        return Ok(());
    }
    done_or_refused(
        gpu.set_compute_mode(mode),
        &format!("Set compute mode to {word} for GPU {place}."),
        &format!("Unable to set the compute mode for GPU {place}"),
        out,
    )
}

fn ecc(gpu: &Device<'_>, on: bool, place: &str, out: &mut Output) -> Result<(), Failure> {
    done_or_refused(
        gpu.set_ecc_mode(on),
        &format!("{} ECC support for GPU {place}.", word(on)),
        &format!("Unable to set ECC mode for GPU {place}"),
        out,
    )
}

fn accounting(gpu: &Device<'_>, on: bool, place: &str, out: &mut Output) -> Result<(), Failure> {
    done_or_refused(
        gpu.set_accounting_mode(on),
        &format!("{} Accounting Mode for GPU {place}.", word(on)),
        &format!("Unable to set accounting mode for GPU {place}"),
        out,
    )
}

fn power(
    gpu: &Device<'_>,
    milliwatts: u32,
    place: &str,
    dialect: Dialect,
    out: &mut Output,
) -> Result<(), Failure> {
    let watts = |milliwatts: u32| value::watts(milliwatts.into());
    let wanted = watts(milliwatts);
    let before = gpu.power_limit();
    match gpu.set_power_limit(milliwatts) {
        Ok(()) => {
            let before = before.map_or_else(|e| value::missing(&e).into(), watts);
            let _ = writeln!(
                out,
                "Power limit for GPU {place} was set to {wanted} W from {before} W."
            );
            unkept(gpu, place, out);
            Ok(())
        }
        Err(e) if e.code() == Some(Code::NOT_SUPPORTED) => {
            let _ = if dialect.since(580) {
                writeln!(
                    out,
                    "Changing power management limit is not supported in current scope for GPU: {place}."
                )
            } else {
                writeln!(
                    out,
                    "Changing power management limit is not supported for GPU: {place}.\n{WARNING}"
                )
            };
            Ok(())
        }
        Err(e) => Err(match gpu.power_limit_range() {
            Ok((low, high)) if e.code() == Some(Code::INVALID_ARGUMENT) => ended(
                &e,
                format!(
                    "Provided power limit {wanted} W is not a valid power limit which should be between {} W and {} W for GPU {place}",
                    watts(low),
                    watts(high)
                ),
            ),
            _ => ended(
                &e,
                format!(
                    "Failed to set power management limit for GPU {place}: {}",
                    e.text()
                ),
            ),
        }),
    }
}

fn clocks(gpu: &Device<'_>, clocks: Clocks, place: &str, out: &mut Output) -> Result<(), Failure> {
    // What is given back is given back without a word.
    let (answer, done) = match clocks {
        Clocks::Gpu(Some((min, max))) => (
            gpu.lock_gpu_clocks(min, max),
            Some(format!(
                "GPU clocks set to \"(gpuClkMin {min}, gpuClkMax {max})\""
            )),
        ),
        Clocks::Memory(Some((min, max))) => (
            gpu.lock_memory_clocks(min, max),
            Some(format!(
                "Memory clocks set to \"(memClkMin {min}, memClkMax {max})\""
            )),
        ),
        Clocks::Applications(Some((memory, graphics))) => (
            gpu.set_application_clocks(memory, graphics),
            Some(format!(
                "Applications clocks set to \"(MEM {memory}, SM {graphics})\""
            )),
        ),
        Clocks::Gpu(None) => (gpu.reset_gpu_clocks(), None),
        Clocks::Memory(None) => (gpu.reset_memory_clocks(), None),
        Clocks::Applications(None) => (gpu.reset_application_clocks(), None),
    };
    let kind = match clocks {
        Clocks::Gpu(_) => "locked GPU",
        Clocks::Memory(_) => "locked Memory",
        Clocks::Applications(_) => "applications",
    };
    let Err(e) = answer else {
        if let Some(done) = done {
            let _ = writeln!(out, "{done} for GPU {place}");
            unkept(gpu, place, out);
        }
        return Ok(());
    };
    match (e.code(), clocks) {
        (Some(Code::NOT_SUPPORTED), _) => {
            let _ = writeln!(
                out,
                "Setting {kind} clocks is not supported for GPU {place}.\n{WARNING}"
            );
        }
        (Some(Code::INVALID_ARGUMENT), Clocks::Applications(Some((memory, graphics)))) => {
            let _ = writeln!(
                out,
                "Specified clock combination \"(MEM {memory}, SM {graphics})\" is not supported for GPU {place}. Run 'nvidia-smi -q \
                 -d SUPPORTED_CLOCKS' to see list of supported clock combinations\n{WARNING}"
            );
        }
        (Some(Code::NO_PERMISSION), _) => {
            return Err(ended(
                &e,
                format!(
                    "The current user does not have permission to change clocks for GPU {place}."
                ),
            ));
        }
        _ => {
            return Err(ended(
                &e,
                format!("Setting {kind} clocks failed for GPU {place}: {}", e.text()),
            ));
        }
    }
    Ok(())
}

fn reset(gpu: &Device<'_>, place: &str, out: &mut Output) -> Result<(), Failure> {
    match side::reset(gpu) {
        Ok(()) => {
            let _ = writeln!(out, "GPU {place} was successfully reset.");
            Ok(())
        }
        Err(side::Error { code: why, .. }) if why == Code::IN_USE => Err(Failure::new(
            exit_code(why),
            format!(
                "\nThe following GPUs could not be reset:\n  GPU {place}: In use by another client\n\n1 device is currently being used by one or \
                 more other processes (e.g., Fabric Manager, CUDA application, graphics application such as an X server, or a monitoring \
                 application such as another instance of nvidia-smi). Please first kill all processes using this device and all compute \
                 applications running in the system."
            ),
        )),
        Err(e) => Err(Failure::new(
            exit_code(e.code),
            format!(
                "GPU Reset couldn't run because of: {}\n\nThe following GPUs could not be reset:\n  GPU {place}: {}",
                e.why,
                e.code.text()
            ),
        )),
    }
}

const WARNING: &str = "Treating as warning and moving on.";

/// Without persistence mode the driver forgets a setting with its last client, and the tool says so.
fn unkept(gpu: &Device<'_>, place: &str, out: &mut Output) {
    if gpu.persistence_mode().is_ok_and(|on| on == 0) {
        let _ = writeln!(
            out,
            "\nWarning: persistence mode is disabled on device {place}. See the Known Issues section of the nvidia-smi(1) man page for \
             more information. Run with [--help | -h] switch to get more information on how to enable persistence mode."
        );
    }
}

fn done_or_refused(
    answer: nvml_client::Result<()>,
    done: &str,
    what: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    match answer {
        Ok(()) => {
            let _ = writeln!(out, "{done}");
            Ok(())
        }
        Err(e) => refused(what, &e, out),
    }
}

/// What cannot be done on this GPU is a warning; what may not be done ends the command.
fn refused(what: &str, error: &Error, out: &mut Output) -> Result<(), Failure> {
    let text = format!("{what}: {}", error.text());
    if error.code() == Some(Code::NOT_SUPPORTED) {
        let _ = writeln!(out, "{text}\n{WARNING}");
        return Ok(());
    }
    Err(ended(error, text))
}

fn ended(error: &Error, text: String) -> Failure {
    Failure::new(
        code(error),
        format!("{text}\nTerminating early due to previous errors."),
    )
}
