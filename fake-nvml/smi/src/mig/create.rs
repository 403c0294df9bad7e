//! `-cgi`, `-cci`: making instances, one after another; the first failure ends it and leaves what was made.

use std::io::Write as _;

use nvml_client::{
    Code, ComputeInstanceProfile, Device, Error, GpuInstance, GpuInstanceProfile, Placement,
};

use super::{each, profiles_of, title};
use crate::args::{Mig, ProfileArg};
use crate::failure::{Failure, Output, code};

pub(super) fn gpu_instances(
    gpus: &[Device<'_>],
    wanted: &[ProfileArg],
    with_compute: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    for gpu in gpus {
        let index = gpu.index()?;
        let profiles = profiles_of(gpu)?;
        for arg in wanted {
            let profile = find(&profiles, arg, |p| (p.id, &p.name));
            let made = match profile {
                Some(p) => place(gpu, p, arg).and_then(|at| gpu.create_gpu_instance(p.id, at)),
                None => Err(invalid("nvmlDeviceCreateGpuInstance")),
            };
            let (profile, instance) = match (profile, made) {
                (Some(profile), Ok(instance)) => (profile, instance),
                (_, Err(e)) => {
                    let named = profile.map_or_else(|| arg.name.clone(), |p| p.id.to_string());
                    let _ = writeln!(
                        out,
                        "Unable to create a GPU instance on GPU {index:2} using profile {named}: {}",
                        e.text()
                    );
                    return Err(Failure::new(
                        code(&e),
                        format!("Failed to create GPU instances: {}", e.text()),
                    ));
                }
                (None, Ok(_)) => continue,
            };
            let id = instance.info()?.id;
            let _ = writeln!(
                out,
                "Successfully created GPU instance ID {id:2} on GPU {index:2} using profile {} (ID {:2})",
                title(&profile.name),
                profile.id
            );
            if with_compute {
                let all = instance.compute_instance_profiles()?;
                compute(
                    index,
                    id,
                    &instance,
                    full(&all, profile.slices),
                    &DEFAULT,
                    out,
                )?;
            }
        }
    }
    Ok(())
}

pub(super) fn compute_instances(
    gpus: &[Device<'_>],
    wanted: Option<&[ProfileArg]>,
    command: &Mig,
    out: &mut Output,
) -> Result<(), Failure> {
    each(gpus, command, |index, found| {
        let all = found.instance.compute_instance_profiles()?;
        let mut create =
            |profile, arg| compute(index, found.info.id, &found.instance, profile, arg, out);
        let Some(wanted) = wanted else {
            return create(full(&all, found.profile.slices), &DEFAULT);
        };
        wanted
            .iter()
            .try_for_each(|arg| create(find(&all, arg, |p| (p.id, &p.name)), arg))
    })
}

/// The profile that fills its GPU instance, wherever it lies.
const DEFAULT: ProfileArg = ProfileArg {
    name: String::new(),
    start: None,
};

fn compute(
    gpu: u32,
    gi: u32,
    instance: &GpuInstance<'_>,
    profile: Option<&ComputeInstanceProfile>,
    asked: &ProfileArg,
    out: &mut Output,
) -> Result<(), Failure> {
    let made = profile.map_or_else(
        || Err(invalid("nvmlGpuInstanceCreateComputeInstance")),
        |p| {
            let place = asked.start.map(|start| Placement {
                start,
                size: p.slices,
            });
            Ok((p, instance.create_compute_instance(p.id, place)?.info()?.id))
        },
    );
    match made {
        Ok((profile, id)) => {
            let _ = writeln!(
                out,
                "Successfully created compute instance ID {id:2} on GPU {gpu:2} GPU instance ID {gi:2} using profile {} (ID {:2})",
                title(&profile.name),
                profile.id
            );
            Ok(())
        }
        Err(e) => {
            let named = profile.map_or_else(|| asked.name.clone(), |p| p.id.to_string());
            let _ = writeln!(
                out,
                "Unable to create a compute instance on GPU {gpu:2} GPU instance ID {gi:2} using profile {named}: {}",
                e.text()
            );
            Err(Failure::new(
                code(&e),
                format!("Failed to create compute instances: {}", e.text()),
            ))
        }
    }
}

/// The profile of an id or a name.
fn find<'p, P>(
    profiles: &'p [P],
    arg: &ProfileArg,
    key: impl Fn(&P) -> (u32, &str),
) -> Option<&'p P> {
    profiles.iter().find(|p| {
        let (id, name) = key(p);
        arg.name.parse() == Ok(id) || name.trim_start_matches("MIG ") == arg.name
    })
}

fn full(profiles: &[ComputeInstanceProfile], slices: u32) -> Option<&ComputeInstanceProfile> {
    profiles.iter().find(|p| p.slices == slices)
}

/// The placement that starts where it was asked for.
fn place(
    gpu: &Device<'_>,
    profile: &GpuInstanceProfile,
    arg: &ProfileArg,
) -> Result<Option<Placement>, Error> {
    let Some(start) = arg.start else {
        return Ok(None);
    };
    let places = gpu.possible_placements(profile.id)?;
    // A start that is none of the profile's is for the driver to refuse.
    let size = places.first().map_or(profile.slices, |p| p.size);
    Ok(Some(Placement { start, size }))
}

fn invalid(function: &'static str) -> Error {
    Error::Call {
        function,
        code: Code::INVALID_ARGUMENT,
    }
}
