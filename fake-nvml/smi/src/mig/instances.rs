//! `-lgi`, `-lci`: what there is.

use std::io::Write as _;

use nvml_client::Device;

use super::{living, title};
use crate::args::Mig;
use crate::failure::{Failure, Output};

const GPU_RULE: &str = "+---------------------------------------------------------+";
const COMPUTE_RULE: &str =
    "+----------------------------------------------------------------------+";

pub(super) fn gpu_instances(gpus: &[Device<'_>], out: &mut Output) -> Result<(), Failure> {
    let mut rows = Output::new();
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, None)? {
            let place = found.info.placement;
            let _ = writeln!(
                rows,
                "| {index:3}  {:<20} {:>3} {:>8} {:>10}:{:<4}  |",
                title(&found.profile.name),
                found.info.profile,
                found.info.id,
                place.start,
                place.size
            );
            let _ = writeln!(rows, "{GPU_RULE}");
        }
    }
    if rows.is_empty() {
        return Err(Failure::none_found("GPU instances"));
    }
    let _ = writeln!(out, "{GPU_RULE}");
    let _ = writeln!(
        out,
        "| GPU instances:                                          |"
    );
    let _ = writeln!(
        out,
        "| GPU   Name               Profile  Instance   Placement  |"
    );
    let _ = writeln!(
        out,
        "|                            ID       ID       Start:Size |"
    );
    let _ = writeln!(
        out,
        "|=========================================================|"
    );
    out.append(&mut rows);
    Ok(())
}

pub(super) fn compute_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut rows = Output::new();
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, Some(command))? {
            for profile in found.instance.compute_instance_profiles()? {
                for instance in found.instance.compute_instances(&profile)? {
                    let info = instance.info()?;
                    let _ = writeln!(
                        rows,
                        "| {index:3} {:6}       {:<21} {:>2} {:>9} {:>10}:{:<4}  |",
                        found.info.id,
                        title(&profile.name),
                        info.profile,
                        info.id,
                        info.placement.start,
                        info.placement.size
                    );
                    let _ = writeln!(rows, "{COMPUTE_RULE}");
                }
            }
        }
    }
    if rows.is_empty() {
        return Err(Failure::none_found("compute instances"));
    }
    let _ = writeln!(out, "{COMPUTE_RULE}");
    let _ = writeln!(
        out,
        "| Compute instances:                                                   |"
    );
    let _ = writeln!(
        out,
        "| GPU     GPU       Name               Profile   Instance   Placement  |"
    );
    let _ = writeln!(
        out,
        "|       Instance                         ID        ID       Start:Size |"
    );
    let _ = writeln!(
        out,
        "|         ID                                                           |"
    );
    let _ = writeln!(
        out,
        "|======================================================================|"
    );
    out.append(&mut rows);
    Ok(())
}
