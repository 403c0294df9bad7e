//! `-dgi`, `-dci`: ending instances.

use std::io::Write as _;

use nvml_client::Device;

use super::living;
use crate::args::Mig;
use crate::failure::{Failure, Output, code};

pub(super) fn gpu_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut any = false;
    for gpu in gpus {
        let index = gpu.index()?;
        for found in living(gpu, Some(command))? {
            any = true;
            let id = found.info.id;
            if let Err(e) = found.instance.destroy() {
                let _ = writeln!(
                    out,
                    "Unable to destroy GPU instance ID {id:2} from GPU {index:2}: {}",
                    e.text()
                );
                return Err(Failure::new(
                    code(&e),
                    format!("Failed to destroy GPU instances: {}", e.text()),
                ));
            }
            let _ = writeln!(
                out,
                "Successfully destroyed GPU instance ID {id:2} from GPU {index:2}"
            );
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::none_found("GPU instances"))
    }
}

pub(super) fn compute_instances(
    gpus: &[Device<'_>],
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
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
                if let Err(e) = instance.destroy() {
                    let _ = writeln!(
                        out,
                        "Unable to destroy compute instance ID {id:2} from GPU {index:2} GPU instance ID {gi:2}: {}",
                        e.text()
                    );
                    return Err(Failure::new(
                        code(&e),
                        format!("Failed to destroy compute instances: {}", e.text()),
                    ));
                }
                let _ = writeln!(
                    out,
                    "Successfully destroyed compute instance ID {id:2} from GPU {index:2} GPU instance ID {gi:2}"
                );
            }
        }
    }
    if any {
        Ok(())
    } else {
        Err(Failure::none_found("compute instances"))
    }
}
