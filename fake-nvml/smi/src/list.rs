//! `-L`: one line for each GPU, one for each MIG device.

use std::io::Write as _;

use nvml_client::{Code, Device, Nvml};

use crate::failure::{Failure, Output};
use crate::select;

pub(crate) fn print(nvml: &Nvml, selection: Option<&str>, out: &mut Output) -> Result<(), Failure> {
    for (position, gpu) in select::gpus(nvml, selection)?.iter().enumerate() {
        let index = gpu.index().unwrap_or(u32::try_from(position).unwrap_or(0));
        let name = gpu.name().map_err(|e| lost(gpu, index, &e))?;
        let _ = writeln!(out, "GPU {index}: {name} (UUID: {})", gpu.uuid()?);
        for mig in gpu.mig_devices().unwrap_or_default() {
            let _ = writeln!(out, "  MIG {:<12}Device {:2}: (UUID: {})", profile(&mig)?, mig.index()?, mig.uuid()?);
        }
    }
    Ok(())
}

/// `1g.5gb` out of `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn profile(mig: &Device<'_>) -> Result<String, Failure> {
    let name = mig.name()?;
    Ok(name.rsplit_once("MIG ").map_or(name.clone(), |(_, profile)| profile.to_owned()))
}

/// A GPU that cannot be asked ends the listing, as it does with the real tool.
pub(crate) fn lost(gpu: &Device<'_>, index: u32, error: &nvml_client::Error) -> Failure {
    if error.code() == Some(Code::GPU_IS_LOST) {
        let place = gpu.pci().map(|p| p.bus_id).unwrap_or_default();
        return Failure::new(
            15,
            format!("Unable to determine the device handle for GPU{index}: {place}: GPU is lost.  Reboot the system to recover this GPU"),
        );
    }
    Failure::new(crate::failure::code(error), format!("Unable to determine the device handle for GPU{index}: {}", error.text()))
}
