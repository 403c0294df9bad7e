//! GPU instances and their profiles.
//! Not the rules of where one may lie: those are the model's, and a refusal of the model is the code that goes out.
//! Profiles and placements can be asked for while MIG mode is off, as drivers in the field do (nvml.h says otherwise in places).

use gpu_model::{GiId, GiProfile, Op, Outcome, Placement, ProfileId};

use crate::handle::{Device, GpuInstance};
use crate::macros::api;
use crate::out::{In, Out, OutAny, OutArray, field};
use crate::session::Session;
use crate::status::{Result, Status};
use crate::types::{
    GpuInstanceInfo, GpuInstanceProfile, GpuInstanceProfileV2, GpuInstanceProfileV3,
    InstancePlacement,
};
use crate::view::{self, GpuView, View};

/// `NVML_GPU_INSTANCE_PROFILE_CAPS_P2P` and `_GFX`.
const CAPS_P2P: u32 = 1;
const CAPS_GFX: u32 = 2;

impl From<Placement> for InstancePlacement {
    fn from(Placement { start, size }: Placement) -> Self {
        Self { start, size }
    }
}

impl From<InstancePlacement> for Placement {
    fn from(InstancePlacement { start, size }: InstancePlacement) -> Self {
        Self { start, size }
    }
}

/// NOT_SUPPORTED if profiles may only be asked for in MIG mode and it is off.
fn askable(view: &View, gpu: &GpuView) -> Result {
    let state = view.state(gpu);
    if state.quirks.strict_profile_queries {
        view.machine()
            .mig_on(state)
            .map_err(|refusal| refusal.code())?;
    }
    Ok(())
}

/// The profile at an enumerator of nvml.h: INVALID_ARGUMENT beyond the enumeration, NOT_SUPPORTED for one that this model lacks.
fn at<'v>(view: &'v View, gpu: &GpuView, profile: u32) -> Result<&'v GiProfile> {
    let mig = view
        .machine()
        .mig_spec(view.state(gpu))
        .map_err(|refusal| refusal.code())?;
    mig.at(profile).map_err(|bad| bad.code())
}

/// The profile of an id that a profile query gave; INVALID_ARGUMENT if none did.
pub(crate) fn by_id<'v>(view: &'v View, gpu: &GpuView, id: u32) -> Result<&'v GiProfile> {
    let mig = view
        .machine()
        .mig_spec(view.state(gpu))
        .map_err(|refusal| refusal.code())?;
    mig.by_id(ProfileId(id)).ok_or(Status::InvalidArgument)
}

fn info(profile: &GiProfile) -> GpuInstanceProfile {
    GpuInstanceProfile {
        id: profile.id.0,
        is_p2p_supported: profile.p2p.into(),
        slice_count: profile.slices.0,
        instance_count: profile.instances,
        multiprocessor_count: profile.multiprocessors,
        copy_engine_count: profile.engines.copy,
        decoder_count: profile.engines.decoder,
        encoder_count: profile.engines.encoder,
        jpeg_count: profile.engines.jpeg,
        ofa_count: profile.engines.ofa,
        memory_size_mb: profile.memory.0,
    }
}

/// Writes the profile in the version that the caller announced.
fn put_versioned(out: &OutAny, profile: &GiProfile) -> Result {
    let GpuInstanceProfile {
        id,
        is_p2p_supported,
        slice_count,
        instance_count,
        multiprocessor_count,
        copy_engine_count,
        decoder_count,
        encoder_count,
        jpeg_count,
        ofa_count,
        memory_size_mb,
    } = info(profile);
    let version = out.version()?;
    let name = field(&format!("MIG {}", profile.name));
    if let Some(out) = out.open::<GpuInstanceProfileV2>()? {
        return out.put(GpuInstanceProfileV2 {
            version,
            id,
            is_p2p_supported,
            slice_count,
            instance_count,
            multiprocessor_count,
            copy_engine_count,
            decoder_count,
            encoder_count,
            jpeg_count,
            ofa_count,
            memory_size_mb,
            name,
        });
    }
    if let Some(out) = out.open::<GpuInstanceProfileV3>()? {
        let p2p = if profile.p2p { CAPS_P2P } else { 0 };
        let graphics = if profile.index.graphics() {
            CAPS_GFX
        } else {
            0
        };
        return out.put(GpuInstanceProfileV3 {
            version,
            id,
            slice_count,
            instance_count,
            multiprocessor_count,
            copy_engine_count,
            decoder_count,
            encoder_count,
            jpeg_count,
            ofa_count,
            memory_size_mb,
            name,
            capabilities: p2p | graphics,
        });
    }
    Err(Status::ArgumentVersionMismatch)
}

fn placements(
    view: &View,
    device: Device,
    profile: u32,
    places: &OutArray<InstancePlacement>,
    count: &Out<u32>,
) -> Result {
    let gpu = view.gpu(device)?;
    count.check()?;
    askable(view, gpu)?;
    let profile = by_id(view, gpu, profile)?;
    let number = profile.placements().len();
    if !places.is_null() {
        places.fill(number, profile.placements().map(InstancePlacement::from))?;
    }
    count.put(number as u32)
}

fn create(
    session: &Session,
    device: Device,
    profile: u32,
    placement: Option<Placement>,
    out: &Out<GpuInstance>,
) -> Result {
    let view = view::latest()?;
    let gpu = view.state(view.gpu(device)?).index;
    out.check()?;
    let op = Op::CreateGpuInstance {
        gpu,
        profile: ProfileId(profile),
        placement,
    };
    let Outcome::GpuInstance { id, birth, .. } = session.apply(op)? else {
        return Err(Status::Unknown);
    };
    // The handle follows from the outcome alone: should another process have destroyed the instance by now, it is a stale one.
    out.put(
        view.gpu(device)?
            .gi_handle(id, birth)
            .ok_or(Status::Unknown)?,
    )
}

api! {
    table GPU_INSTANCE;

    /// The GPU instance profile at an enumerator of nvml.h.
    view fn nvmlDeviceGetGpuInstanceProfileInfo(device: Device, profile: u32, out: Out<GpuInstanceProfile>) |view| {
        let gpu = view.gpu(device)?;
        out.check()?;
        askable(view, gpu)?;
        out.put(info(at(view, gpu, profile)?))
    }

    /// `nvmlDeviceGetGpuInstanceProfileInfo` for struct versions 2 and 3.
    view fn nvmlDeviceGetGpuInstanceProfileInfoV(device: Device, profile: u32, out: OutAny) |view| {
        let gpu = view.gpu(device)?;
        out.version()?;
        askable(view, gpu)?;
        put_versioned(&out, at(view, gpu, profile)?)
    }

    /// `nvmlDeviceGetGpuInstanceProfileInfoV` by profile id.
    view fn nvmlDeviceGetGpuInstanceProfileInfoByIdV(device: Device, profile_id: u32, out: OutAny) |view| {
        let gpu = view.gpu(device)?;
        out.version()?;
        askable(view, gpu)?;
        put_versioned(&out, by_id(view, gpu, profile_id)?)
    }

    /// As `nvmlDeviceGetGpuInstancePossiblePlacements_v2`.
    view fn nvmlDeviceGetGpuInstancePossiblePlacements(device: Device, profile_id: u32, placements: OutArray<InstancePlacement>, count: Out<u32>) |view| {
        self::placements(view, device, profile_id, &placements, &count)
    }

    /// All placements of a profile, taken or not, whatever the MIG mode; only their number if `placements` is NULL.
    view fn nvmlDeviceGetGpuInstancePossiblePlacements_v2(device: Device, profile_id: u32, placements: OutArray<InstancePlacement>, count: Out<u32>) |view| {
        self::placements(view, device, profile_id, &placements, &count)
    }

    /// How many more instances of a profile fit now; NOT_SUPPORTED while MIG mode is off.
    view fn nvmlDeviceGetGpuInstanceRemainingCapacity(device: Device, profile_id: u32, count: Out<u32>) |view| {
        let gpu = view.gpu(device)?;
        count.check()?;
        let state = view.state(gpu);
        view.machine().mig_on(state).map_err(|refusal| refusal.code())?;
        let profile = by_id(view, gpu, profile_id)?;
        count.put(view.machine().remaining(state, profile).map_err(|refusal| refusal.code())?)
    }

    /// Creates a GPU instance where the driver likes best.
    session fn nvmlDeviceCreateGpuInstance(device: Device, profile_id: u32, gpu_instance: Out<GpuInstance>) |session| {
        create(session, device, profile_id, None, &gpu_instance)
    }

    /// Creates a GPU instance at a placement; INSUFFICIENT_RESOURCES if anything lies there.
    session fn nvmlDeviceCreateGpuInstanceWithPlacement(device: Device, profile_id: u32, placement: In<InstancePlacement>, gpu_instance: Out<GpuInstance>) |session| {
        create(session, device, profile_id, Some(placement.get()?.into()), &gpu_instance)
    }

    /// Destroys a GPU instance; IN_USE while it has compute instances or clients.
    session fn nvmlGpuInstanceDestroy(gpu_instance: GpuInstance) |session| {
        let view = view::latest()?;
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        let op = Op::DestroyGpuInstance { gpu: view.state(gpu).index, gi: gi.id };
        match session.apply(op) {
            // Somebody else was faster between the look at the handle and the change.
            Err(Status::NotFound) => Err(Status::InvalidArgument),
            result => result.map(drop),
        }
    }

    /// The GPU instances of a profile; the caller's array holds as many as the profile's instance count.
    view fn nvmlDeviceGetGpuInstances(device: Device, profile_id: u32, gpu_instances: OutArray<GpuInstance>, count: Out<u32>) |view| {
        let gpu = view.gpu(device)?;
        count.check()?;
        if gpu_instances.is_null() {
            return Err(Status::InvalidArgument);
        }
        let state = view.state(gpu);
        view.machine().mig_on(state).map_err(|refusal| refusal.code())?;
        let profile = by_id(view, gpu, profile_id)?;
        let found: Vec<_> = state
            .instances
            .iter()
            .filter(|gi| gi.profile == profile.id)
            .filter_map(|gi| gpu.gi_handle(gi.id, gi.birth))
            .take(profile.instances as usize)
            .collect();
        gpu_instances.fill(found.len(), found.iter().copied())?;
        count.put(found.len() as u32)
    }

    /// The GPU instance of an id; NOT_FOUND if there is none, NOT_SUPPORTED while MIG mode is off.
    view fn nvmlDeviceGetGpuInstanceById(device: Device, id: u32, gpu_instance: Out<GpuInstance>) |view| {
        let gpu = view.gpu(device)?;
        gpu_instance.check()?;
        let state = view.state(gpu);
        view.machine().mig_on(state).map_err(|refusal| refusal.code())?;
        let gi = state.gi(GiId(id)).ok_or(Status::NotFound)?;
        gpu_instance.put(gpu.gi_handle(gi.id, gi.birth).ok_or(Status::NotFound)?)
    }

    /// What a GPU instance is and where it lies.
    view fn nvmlGpuInstanceGetInfo(gpu_instance: GpuInstance, out: Out<GpuInstanceInfo>) |view| {
        let (gpu, gi) = view.gpu_instance(gpu_instance)?;
        out.put(GpuInstanceInfo {
            device: gpu.handle(),
            id: gi.id.0,
            profile_id: gi.profile.0,
            placement: gi.placement.into(),
        })
    }
}
