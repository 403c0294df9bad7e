//! `-L`: one line for each GPU, one for each MIG device.

use std::io::Write as _;

use nvml_client::{Device, Nvml};

use crate::failure::{Failure, Output};
use crate::select;

pub(crate) fn print(nvml: &Nvml, selection: Option<&str>, out: &mut Output) -> Result<(), Failure> {
    for (position, gpu) in select::gpus(nvml, selection)?.iter().enumerate() {
        let index = gpu.index().unwrap_or(u32::try_from(position).unwrap_or(0));
        let name = gpu.name().map_err(|e| select::unreachable(index, &e))?;
        let _ = writeln!(out, "GPU {index}: {name} (UUID: {})", gpu.uuid()?);
        for mig in gpu.mig_devices().unwrap_or_default() {
            let _ = writeln!(
                out,
                "  MIG {:<12}Device {:2}: (UUID: {})",
                profile(&mig)?,
                mig.index()?,
                mig.uuid()?
            );
        }
    }
    Ok(())
}

/// `1g.5gb` out of `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn profile(mig: &Device<'_>) -> Result<String, Failure> {
    let name = mig.name()?;
    Ok(name
        .rsplit_once("MIG ")
        .map_or(name.clone(), |(_, profile)| profile.to_owned()))
}
