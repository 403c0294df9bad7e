//! `compute-policy`: the time slice, which NVML has no call for.

use std::io::Write as _;

use nvml_client::Nvml;

use crate::args::Policy;
use crate::failure::{Failure, Output, exit_code};
use crate::{select, side};

pub(crate) fn run(
    nvml: &Nvml,
    selection: Option<&str>,
    policy: Policy,
    out: &mut Output,
) -> Result<(), Failure> {
    let gpus = select::gpus(nvml, selection)?;
    let fail = |what: &str, e: &side::Error| {
        Failure::new(exit_code(e.code), format!("{what}: {}", e.code.text()))
    };
    match policy {
        Policy::List => {
            let _ = writeln!(
                out,
                "+-------------------------------------+\n| GPU compute policies:               |"
            );
            let _ = writeln!(
                out,
                "| GPU     Name           Value        |\n|=====================================|"
            );
            for gpu in gpus {
                let level =
                    side::timeslice(&gpu).map_err(|e| fail("Unable to get the timeslice", &e))?;
                let _ = writeln!(
                    out,
                    "| {:3}     {:<14} {:<12} |",
                    gpu.index()?,
                    "Timeslice",
                    level.word()
                );
            }
            let _ = writeln!(out, "+-------------------------------------+");
        }
        Policy::Timeslice(level) => {
            for gpu in gpus {
                let place = gpu.pci()?.bus_id;
                side::set_timeslice(&gpu, level)
                    .map_err(|e| fail(&format!("Unable to set timeslice for GPU {place}"), &e))?;
                let _ = writeln!(
                    out,
                    "Successfully set timeslice to {} for GPU {place}.",
                    level.word()
                );
            }
        }
    }
    Ok(())
}
