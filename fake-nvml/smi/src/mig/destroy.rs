//! `-dgi`, `-dci`: ending instances.

use std::io::Write as _;

use nvml_client::{Device, Result as Answer};

use super::{each, living};
use crate::args::Mig;
use crate::failure::{Failure, Output, code};

pub(super) fn gpu_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    each(gpus, command, |index, found| {
        let which = format!("GPU instance ID {:2} from GPU {index:2}", found.info.id);
        ended(found.instance.destroy(), "GPU instances", &which, out)
    })
}

pub(super) fn compute_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    const KIND: &str = "compute instances";
    let wanted = command.compute_instances.as_deref();
    let mut any = false;
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, Some(command))? {
            let gi = found.info.id;
            let mut instances = Vec::new();
            for profile in found.instance.compute_instance_profiles()? {
                for instance in found.instance.compute_instances(&profile)? {
                    instances.push((instance.info()?.id, instance));
                }
            }
            instances.sort_by_key(|(id, _)| *id);
            for (id, instance) in instances
                .into_iter()
                .filter(|(id, _)| wanted.is_none_or(|w| w.contains(id)))
            {
                any = true;
                let which =
                    format!("compute instance ID {id:2} from GPU {index:2} GPU instance ID {gi:2}");
                ended(instance.destroy(), KIND, &which, out)?;
            }
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::none_found(KIND))
    }
}

/// The first that cannot be ended ends the command.
fn ended(answer: Answer<()>, kind: &str, which: &str, out: &mut Output) -> Result<(), Failure> {
    let Err(e) = answer else {
        let _ = writeln!(out, "Successfully destroyed {which}");
        return Ok(());
    };
    let _ = writeln!(out, "Unable to destroy {which}: {}", e.text());
    Err(Failure::new(
        code(&e),
        format!("Failed to destroy {kind}: {}", e.text()),
    ))
}
