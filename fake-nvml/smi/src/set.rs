//! `-mig`, `-pm`, `-c`, `-r`: changes of a whole GPU.

use std::io::Write as _;

use nvml_client::{Code, ComputeMode, Device, Error, Nvml};

use crate::args::Change;
use crate::failure::{Failure, Output, code, exit_code};
use crate::{select, side};

pub(crate) fn run(
    nvml: &Nvml,
    selection: Option<&str>,
    change: Change,
    out: &mut Output,
) -> Result<(), Failure> {
    for gpu in select::gpus(nvml, selection)? {
        let place = gpu.pci()?.bus_id;
        match change {
            Change::Mig(on) => mig(&gpu, on, &place, out)?,
            Change::Persistence(on) => persistence(&gpu, on, &place, out)?,
            Change::Compute(mode) => compute(&gpu, mode, &place, out)?,
            Change::Reset => reset(&gpu, &place, out)?,
        }
    }
    let _ = writeln!(out, "All done.");
    Ok(())
}

fn mig(gpu: &Device<'_>, on: bool, place: &str, out: &mut Output) -> Result<(), Failure> {
    let (verb, done) = if on {
        ("enable", "Enabled")
    } else {
        ("disable", "Disabled")
    };
    match gpu.set_mig_mode(on) {
        Ok(None) => {
            let _ = writeln!(out, "{done} MIG Mode for GPU {place}");
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
    let word = if on { "Enabled" } else { "Disabled" };
    if gpu.persistence_mode().is_ok_and(|now| (now == 1) == on) {
        let _ = writeln!(out, "Persistence mode is already {word} for GPU {place}.");
        return Ok(());
    }
    match gpu.set_persistence_mode(on) {
        Ok(()) => {
            let _ = writeln!(out, "{word} persistence mode for GPU {place}.");
            Ok(())
        }
        Err(e) => refused(
            &format!("Unable to set persistence mode for GPU {place}"),
            &e,
            out,
        ),
    }
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
    match gpu.set_compute_mode(mode) {
        Ok(()) => {
            let _ = writeln!(out, "Set compute mode to {word} for GPU {place}.");
            Ok(())
        }
        Err(e) => refused(
            &format!("Unable to set the compute mode for GPU {place}"),
            &e,
            out,
        ),
    }
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

/// What cannot be done on this GPU is a warning; what may not be done ends the command.
fn refused(what: &str, error: &Error, out: &mut Output) -> Result<(), Failure> {
    if error.code() == Some(Code::NOT_SUPPORTED) {
        let _ = writeln!(
            out,
            "{what}: {}\nTreating as warning and moving on.",
            error.text()
        );
        return Ok(());
    }
    Err(Failure::new(
        code(error),
        format!(
            "{what}: {}\nTerminating early due to previous errors.",
            error.text()
        ),
    ))
}
