//! Taking a GPU out of use, off the bus and back.
//! Not faults that do so from outside (`gpu_model`).
//! Draining is noted in the state and nothing more; a fake GPU cannot be taken off a bus by hand, nor be found there anew.

use gpu_model::{Choice, Op};

use crate::absent::absent;
use crate::macros::api;
use crate::out::{In, Out};
use crate::status::{Result, Status};
use crate::types::PciInfo;
use crate::view::{GpuView, View};

/// The GPU at an address; NOT_FOUND if this process sees none there.
fn at<'v>(view: &'v View, place: &In<PciInfo>) -> Result<&'v GpuView> {
    let PciInfo {
        domain,
        bus,
        device,
        ..
    } = place.get()?;
    let there = |gpu: &&GpuView| {
        let pci = view.state(gpu).pci;
        (pci.domain, u32::from(pci.bus), u32::from(pci.device)) == (domain, bus, device)
    };
    view.listed().find(there).ok_or(Status::NotFound)
}

api! {
    table DRAIN;

    /// No new work is to come to a GPU, or it may again.
    session fn nvmlDeviceModifyDrainState(place: In<PciInfo>, state: u32) |session| {
        let view = crate::view::latest()?;
        let gpu = view.state(at(&view, &place)?).index;
        let draining = super::policy::enabled(state)?;
        session.apply(Op::Choose { gpu, choice: Choice::Draining(draining) }).map(drop)
    }

    /// Whether a GPU is being drained.
    view fn nvmlDeviceQueryDrainState(place: In<PciInfo>, state: Out<u32>) |view| {
        let gpu = at(view, &place)?;
        state.put(view.state(gpu).chosen.draining.into())
    }
}

absent! {
    table DRAIN_ABSENT;

    /// Takes a GPU off the bus.
    system fn nvmlDeviceRemoveGpu(place: In<PciInfo>);
    /// As `nvmlDeviceRemoveGpu`.
    system fn nvmlDeviceRemoveGpu_v2(place: In<PciInfo>, gpu: u32, link: u32);
    /// Looks for GPUs on the bus.
    system fn nvmlDeviceDiscoverGpus(place: In<PciInfo>);
}
