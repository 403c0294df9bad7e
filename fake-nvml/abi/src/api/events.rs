//! Events: register, wait.
//! Not the sets (`event_set`), nor what happens (`gpu_model`).
//! A wait really waits, on the state file's own word; no thread works behind the caller's back.

use std::time::Duration;

use gpu_model::{Event, EventKind};

use crate::event_set;
use crate::handle::{Device, EventSet};
use crate::macros::api;
use crate::out::Out;
use crate::status::{Result, Status};
use crate::types::{EventData, EventDataV1};
use crate::view::{self, GpuView, Target, View};

/// An id that an event does not have.
const NO_INSTANCE: u32 = u32::MAX;

/// The types of events that a GPU can have.
fn supported(view: &View, gpu: &GpuView) -> u64 {
    let spec = view.spec(gpu);
    let base = [
        EventKind::PState,
        EventKind::Xid(0),
        EventKind::Clock,
        EventKind::Unavailable,
        EventKind::Recovery,
    ];
    let ecc = [EventKind::SingleBitEcc, EventKind::DoubleBitEcc];
    let bits = |kinds: &[EventKind]| kinds.iter().fold(0, |all, kind| all | kind.type_bit());
    let mut types = bits(&base);
    if spec.ecc.is_some() {
        types |= bits(&ecc);
    }
    if spec.mig.is_some() {
        types |= EventKind::MigConfig.type_bit();
    }
    types
}

fn wait(set: EventSet, timeout_ms: u32) -> Result<EventData> {
    let Event {
        gpu, gi, ci, kind, ..
    } = event_set::wait(set, Duration::from_millis(timeout_ms.into()))?;
    let view = view::latest()?;
    let device = view.of_machine(gpu).ok_or(Status::GpuIsLost)?.handle();
    Ok(EventData {
        device,
        event_type: kind.type_bit(),
        event_data: kind.data(),
        gpu_instance_id: gi.map_or(NO_INSTANCE, |gi| gi.0),
        compute_instance_id: ci.map_or(NO_INSTANCE, |ci| ci.0),
    })
}

api! {
    table EVENTS;

    /// An empty event set.
    session fn nvmlEventSetCreate(set: Out<EventSet>) |_session| {
        set.check()?;
        set.put(event_set::create()?)
    }

    /// Ends an event set; whoever waits for it gets INVALID_ARGUMENT.
    session fn nvmlEventSetFree(set: EventSet) |_session| { event_set::free(set) }

    /// From now on the set is given these types of events. NOT_SUPPORTED if the GPU cannot have one of them, and for MIG devices:
    /// register their GPU.
    view fn nvmlDeviceRegisterEvents(device: Device, types: u64, set: EventSet) |view| {
        let gpu = match view.device(device)? {
            Target::Gpu(gpu) => gpu,
            Target::Mig(..) => return Err(Status::NotSupported),
        };
        event_set::check(set)?;
        if types & !supported(view, gpu) != 0 {
            return Err(Status::NotSupported);
        }
        event_set::register(set, view.state(gpu).uuid, types, view.machine())
    }

    /// The types of events that the GPU can have.
    view fn nvmlDeviceGetSupportedEventTypes(device: Device, types: Out<u64>) |view| {
        types.put(supported(view, view.card(device)?))
    }

    /// `nvmlEventSetWait_v2` in the layout before NVML 11: no instance ids.
    session fn nvmlEventSetWait(set: EventSet, data: Out<EventDataV1>, timeout_ms: u32) |_session| {
        event_set::check(set)?;
        data.check()?;
        let EventData { device, event_type, event_data, .. } = wait(set, timeout_ms)?;
        data.put(EventDataV1 { device, event_type, event_data })
    }

    /// The set's next event; each event comes once. TIMEOUT if none comes in time, GPU_IS_LOST if a registered GPU is gone.
    session fn nvmlEventSetWait_v2(set: EventSet, data: Out<EventData>, timeout_ms: u32) |_session| {
        event_set::check(set)?;
        data.check()?;
        data.put(wait(set, timeout_ms)?)
    }
}
