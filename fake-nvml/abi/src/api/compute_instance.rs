//! Compute instances and their profiles.
//! Not MIG devices as such (`mig`): each compute instance is one.
//! As in `gpu_instance`, the rules are the model's.

use gpu_model::{CiId, CiProfile, GiProfile, Op, Outcome, Placement, ProfileId};

use crate::handle::{ComputeInstance, GpuInstance};
use crate::macros::api;
use crate::out::{In, Out, OutAny, OutArray, field};
use crate::session::Session;
use crate::status::{Result, Status};
use crate::types::{
    ComputeInstanceInfo, ComputeInstanceInfoV1, ComputeInstanceProfile, ComputeInstanceProfileV2,
    ComputeInstanceProfileV3, InstancePlacement,
};
use crate::view::{self, View};

/// The profile at an enumerator of nvml.h with the one engine profile there is (shared engines).
fn at(
    view: &View,
    gpu_instance: GpuInstance,
    profile: u32,
    engines: u32,
) -> Result<(&GiProfile, &CiProfile)> {
    let (gpu, gi) = view.gpu_instance(gpu_instance)?;
    if engines != 0 {
        return Err(Status::InvalidArgument);
    }
    let gi_profile = view.gi_profile(gpu, gi)?;
    Ok((
        gi_profile,
        gi_profile.compute_at(profile).map_err(|bad| bad.code())?,
    ))
}

fn info(gi: &GiProfile, ci: &CiProfile) -> ComputeInstanceProfile {
    ComputeInstanceProfile {
        id: ci.id.0,
        slice_count: ci.slices.0,
        instance_count: ci.instances,
        multiprocessor_count: ci.multiprocessors,
        shared_copy_engine_count: gi.engines.copy,
        shared_decoder_count: gi.engines.decoder,
        shared_encoder_count: gi.engines.encoder,
        shared_jpeg_count: gi.engines.jpeg,
        shared_ofa_count: gi.engines.ofa,
    }
}

/// Writes the profile in the version that the caller announced.
fn put_versioned(out: &OutAny, gi: &GiProfile, ci: &CiProfile) -> Result {
    let ComputeInstanceProfile {
        id,
        slice_count,
        instance_count,
        multiprocessor_count,
        shared_copy_engine_count,
        shared_decoder_count,
        shared_encoder_count,
        shared_jpeg_count,
        shared_ofa_count,
    } = info(gi, ci);
    let version = out.version()?;
    let name = field(&format!("MIG {}", ci.name));
    if let Some(out) = out.open::<ComputeInstanceProfileV2>()? {
        return out.put(ComputeInstanceProfileV2 {
            version,
            id,
            slice_count,
            instance_count,
            multiprocessor_count,
            shared_copy_engine_count,
            shared_decoder_count,
            shared_encoder_count,
            shared_jpeg_count,
            shared_ofa_count,
            name,
        });
    }
    if let Some(out) = out.open::<ComputeInstanceProfileV3>()? {
        return out.put(ComputeInstanceProfileV3 {
            version,
            id,
            slice_count,
            instance_count,
            multiprocessor_count,
            shared_copy_engine_count,
            shared_decoder_count,
            shared_encoder_count,
            shared_jpeg_count,
            shared_ofa_count,
            name,
            // NVML_COMPUTE_INSTANCE_PROFILE_CAPS_GFX
            capabilities: gi.index.graphics().into(),
        });
    }
    Err(Status::ArgumentVersionMismatch)
}

fn create(
    session: &Session,
    gpu_instance: GpuInstance,
    profile: u32,
    placement: Option<Placement>,
    out: &Out<ComputeInstance>,
) -> Result {
    let view = view::latest()?;
    let (gpu, gi) = view.gpu_instance(gpu_instance)?;
    out.check()?;
    let op = Op::CreateComputeInstance {
        gpu: view.state(gpu).index,
        gi: gi.id,
        profile: ProfileId(profile),
        placement,
    };
    match session.apply(op) {
        Ok(Outcome::ComputeInstance { id, birth, .. }) => {
            out.put(gpu.ci_handle(gi.id, id, birth).ok_or(Status::Unknown)?)
        }
        Ok(_) => Err(Status::Unknown),
        // Somebody else destroyed the GPU instance between the look at the handle and the change.
        Err(Status::NotFound) => Err(Status::InvalidArgument),
        Err(status) => Err(status),
    }
}

api! {
    table COMPUTE_INSTANCE;

    /// The compute instance profile at an enumerator of nvml.h.
    view fn nvmlGpuInstanceGetComputeInstanceProfileInfo(gpu_instance: GpuInstance, profile: u32, engines: u32, out: Out<ComputeInstanceProfile>) |view| {
        let (gi, ci) = at(view, gpu_instance, profile, engines)?;
        out.put(info(gi, ci))
    }

    /// `nvmlGpuInstanceGetComputeInstanceProfileInfo` for struct versions 2 and 3.
    view fn nvmlGpuInstanceGetComputeInstanceProfileInfoV(gpu_instance: GpuInstance, profile: u32, engines: u32, out: OutAny) |view| {
        let (gi, ci) = at(view, gpu_instance, profile, engines)?;
        put_versioned(&out, gi, ci)
    }

    /// How many more compute instances of a profile fit now.
    view fn nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gpu_instance: GpuInstance, profile_id: u32, count: Out<u32>) |view| {
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        let profile = view.gi_profile(gpu, gi)?.ci_by_id(ProfileId(profile_id)).ok_or(Status::InvalidArgument)?;
        count.put(gi.remaining(profile))
    }

    /// All placements of a profile, taken or not; only their number if `placements` is NULL.
    view fn nvmlGpuInstanceGetComputeInstancePossiblePlacements(gpu_instance: GpuInstance, profile_id: u32, placements: OutArray<InstancePlacement>, count: Out<u32>) |view| {
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        count.check()?;
        let profile = view.gi_profile(gpu, gi)?.ci_by_id(ProfileId(profile_id)).ok_or(Status::InvalidArgument)?;
        let number = profile.placements().len();
        if !placements.is_null() {
            placements.fill(number, profile.placements().map(InstancePlacement::from))?;
        }
        count.put(number as u32)
    }

    /// Creates a compute instance where the driver likes best.
    session fn nvmlGpuInstanceCreateComputeInstance(gpu_instance: GpuInstance, profile_id: u32, compute_instance: Out<ComputeInstance>) |session| {
        create(session, gpu_instance, profile_id, None, &compute_instance)
    }

    /// Creates a compute instance at a placement; INSUFFICIENT_RESOURCES if anything lies there.
    session fn nvmlGpuInstanceCreateComputeInstanceWithPlacement(gpu_instance: GpuInstance, profile_id: u32, placement: In<InstancePlacement>, compute_instance: Out<ComputeInstance>) |session| {
        create(session, gpu_instance, profile_id, Some(placement.get()?.into()), &compute_instance)
    }

    /// Destroys a compute instance; IN_USE while it has clients.
    session fn nvmlComputeInstanceDestroy(compute_instance: ComputeInstance) |session| {
        let view = view::latest()?;
        let (gpu, gi, ci) = view.compute_instance(compute_instance)?;
        match session.apply(Op::DestroyComputeInstance { gpu: view.state(gpu).index, gi: gi.id, ci: ci.id }) {
            // Somebody else was faster between the look at the handle and the change.
            Err(Status::NotFound) => Err(Status::InvalidArgument),
            result => result.map(drop),
        }
    }

    /// The compute instances of a profile; the caller's array holds as many as the profile's instance count.
    view fn nvmlGpuInstanceGetComputeInstances(gpu_instance: GpuInstance, profile_id: u32, compute_instances: OutArray<ComputeInstance>, count: Out<u32>) |view| {
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        count.check()?;
        if compute_instances.is_null() {
            return Err(Status::InvalidArgument);
        }
        let profile = view.gi_profile(gpu, gi)?.ci_by_id(ProfileId(profile_id)).ok_or(Status::InvalidArgument)?;
        let found: Vec<_> = gi
            .compute
            .iter()
            .filter(|ci| ci.profile == profile.id)
            .filter_map(|ci| gpu.ci_handle(gi.id, ci.id, ci.birth))
            .take(profile.instances as usize)
            .collect();
        compute_instances.fill(found.len(), found.iter().copied())?;
        count.put(found.len() as u32)
    }

    /// The compute instance of an id; NOT_FOUND if there is none.
    view fn nvmlGpuInstanceGetComputeInstanceById(gpu_instance: GpuInstance, id: u32, compute_instance: Out<ComputeInstance>) |view| {
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        compute_instance.check()?;
        let ci = gi.ci(CiId(id)).ok_or(Status::NotFound)?;
        compute_instance.put(gpu.ci_handle(gi.id, ci.id, ci.birth).ok_or(Status::NotFound)?)
    }

    /// `nvmlComputeInstanceGetInfo_v2` in the layout of NVML 11.0: no placement.
    view fn nvmlComputeInstanceGetInfo(compute_instance: ComputeInstance, out: Out<ComputeInstanceInfoV1>) |view| {
        let ComputeInstanceInfo { device, gpu_instance, id, profile_id, .. } = of(view, compute_instance)?;
        out.put(ComputeInstanceInfoV1 { device, gpu_instance, id, profile_id })
    }

    /// What a compute instance is and where it lies; `device` is the MIG device.
    view fn nvmlComputeInstanceGetInfo_v2(compute_instance: ComputeInstance, out: Out<ComputeInstanceInfo>) |view| {
        out.put(of(view, compute_instance)?)
    }
}

fn of(view: &View, compute_instance: ComputeInstance) -> Result<ComputeInstanceInfo> {
    let (gpu, gi, ci) = view.compute_instance(compute_instance)?;
    Ok(ComputeInstanceInfo {
        device: gpu.mig_of(gi.id, ci.id).ok_or(Status::Unknown)?,
        gpu_instance: gpu.gi_handle(gi.id, gi.birth).ok_or(Status::Unknown)?,
        id: ci.id.0,
        profile_id: ci.profile.0,
        placement: ci.placement.into(),
    })
}
