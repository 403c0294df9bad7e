//! `-lgip`, `-lgipp`, `-lcip`: what could be made.

use std::io::Write as _;

use nvml_client::{Device, Placement};

use super::{each, living, profiles_of, title};
use crate::args::Mig;
use crate::failure::{Failure, Output};

const GPU_RULE: &str =
    "+-------------------------------------------------------------------------------+";
const COMPUTE_RULE: &str =
    "+----------------------------------------------------------------------------------------+";

pub(super) fn gpu_instances(gpus: &[Device<'_>], out: &mut Output) -> Result<(), Failure> {
    let _ = writeln!(out, "{GPU_RULE}");
    let _ = writeln!(
        out,
        "| GPU instance profiles:                                                        |"
    );
    let _ = writeln!(
        out,
        "| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |"
    );
    let _ = writeln!(
        out,
        "|                                Free/Total   GiB              CE    JPEG  OFA  |"
    );
    let _ = writeln!(
        out,
        "|===============================================================================|"
    );
    for gpu in gpus {
        let index = gpu.index()?;
        for p in profiles_of(gpu)? {
            let free = gpu.remaining_capacity(p.id)?;
            let _ = writeln!(
                out,
                "| {index:3}  {:<19} {:>2} {:>5}/{:<8} {:<10} {:<6} {:<3} {:>4} {:>5}   |",
                title(&p.name),
                p.id,
                free,
                p.instances,
                gib(p.memory_mib),
                if p.p2p { "Yes" } else { "No" },
                p.multiprocessors,
                p.decoders,
                p.encoders,
            );
            let _ = writeln!(
                out,
                "|{:>64} {:>5} {:>5}   |",
                p.copy_engines, p.jpeg, p.ofa
            );
            let _ = writeln!(out, "{GPU_RULE}");
        }
    }
    Ok(())
}

/// GiB with two decimals.
#[allow(clippy::cast_precision_loss, reason = "no card has 2^53 MiB")]
fn gib(mib: u64) -> String {
    format!("{:.2}", mib as f64 / 1024.0)
}

pub(super) fn placements(gpus: &[Device<'_>], out: &mut Output) -> Result<(), Failure> {
    for gpu in gpus {
        let index = gpu.index()?;
        for p in profiles_of(gpu)? {
            let places = gpu.possible_placements(p.id)?;
            let _ = writeln!(
                out,
                "GPU {index:2} Profile ID {:2} {}",
                p.id,
                listed(&places)
            );
        }
    }
    Ok(())
}

pub(super) fn compute_placements(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    each(gpus, command, |index, found| {
        for p in found.instance.compute_instance_profiles()? {
            let places = found.instance.possible_placements(p.id)?;
            let _ = writeln!(
                out,
                "GPU {index:2} GPU instance ID {:2} Profile ID {:2} {}",
                found.info.id,
                p.id,
                listed(&places)
            );
        }
        Ok(())
    })
}

/// `Placements: {0,2,4}:2`, or `Placement : {0}:4` of one.
fn listed(places: &[Placement]) -> String {
    let starts: Vec<String> = places.iter().map(|p| p.start.to_string()).collect();
    let size = places.first().map_or(0, |p| p.size);
    let word = if places.len() == 1 {
        "Placement "
    } else {
        "Placements"
    };
    format!("{word}: {{{}}}:{size}", starts.join(","))
}

pub(super) fn compute_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut text = Output::new();
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, Some(command))? {
            let profiles = found.instance.compute_instance_profiles()?;
            for p in &profiles {
                let free = found.instance.remaining_capacity(p.id)?;
                // The star marks the profile that `-C` takes: the whole GPU instance.
                let star = if p.slices == found.profile.slices {
                    "*"
                } else {
                    " "
                };
                let _ = writeln!(
                    text,
                    "| {index:3} {:6}       {:<21} {:>2}{star} {:>5}/{:<10} {:>3} {:>8} {:>5} {:>5}   |",
                    found.info.id,
                    title(&p.name),
                    p.id,
                    free,
                    p.instances,
                    p.multiprocessors,
                    p.decoders,
                    p.encoders,
                    p.ofa,
                );
                let _ = writeln!(text, "|{:>73} {:>5}         |", p.copy_engines, p.jpeg);
                let _ = writeln!(text, "{COMPUTE_RULE}");
            }
        }
    }
    if text.is_empty() {
        return Err(Failure::none_found("GPU instances"));
    }
    let _ = writeln!(out, "{COMPUTE_RULE}");
    let _ = writeln!(
        out,
        "| Compute instance profiles:                                                             |"
    );
    let _ = writeln!(
        out,
        "| GPU     GPU       Name               Profile  Instances   Exclusive       Shared       |"
    );
    let _ = writeln!(
        out,
        "|       Instance                         ID     Free/Total     SM       DEC   ENC   OFA  |"
    );
    let _ = writeln!(
        out,
        "|         ID                                                            CE    JPEG       |"
    );
    let _ = writeln!(
        out,
        "|========================================================================================|"
    );
    out.append(&mut text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::gib;

    #[test]
    fn memory_is_printed_as_the_tool_does() {
        // Observed pairs of MiB and text: A100-SXM4-40GB and H100-SXM5-80GB.
        for (mib, text) in [
            (4864, "4.75"),
            (9984, "9.75"),
            (20096, "19.62"),
            (40320, "39.38"),
            (40448, "39.50"),
            (81152, "79.25"),
        ] {
            assert_eq!(gib(mib), text);
        }
    }
}
