//! Memory of GPUs and MIG devices.
//! Not ECC (`health`).
//! Sizes from the catalogue by way of the state, use from the load that was put there.

use gpu_model::MiB;

use crate::handle::Device;
use crate::macros::api;
use crate::out::Out;
use crate::status::{Result, Status};
use crate::types::{Bar1Memory, Memory, MemoryV2};
use crate::view::{Target, View};

/// What a GPU or MIG device has and uses, in MiB.
struct Use {
    total: u64,
    reserved: u64,
    used: u64,
}

fn of(view: &View, device: Device) -> Result<Use> {
    Ok(match view.device(device)? {
        Target::Gpu(gpu) => {
            let spec = view.spec(gpu);
            let total = spec.memory_total.0;
            let reserved = spec.memory_reserved.map_or(0, |reserved| reserved.0);
            let state = view.state(gpu);
            // Without loads it needs no look at the clock.
            let used = match state.loads.is_empty() {
                true => 0,
                false => state.memory_used(view.now()).0,
            };
            Use {
                total,
                reserved,
                used: used.min(total.saturating_sub(reserved)),
            }
        }
        Target::Mig(gpu, mig) => {
            let mig = view.mig_device(gpu, mig)?;
            let total = mig.memory().0;
            let used = mig.gpu.memory_used_in(mig.gi.id, view.now()).0;
            Use {
                total,
                reserved: 0,
                used: used.min(total),
            }
        }
    })
}

impl Use {
    fn free(&self) -> u64 {
        self.total.saturating_sub(self.reserved + self.used)
    }
}

const fn bytes(mib: u64) -> u64 {
    MiB(mib).bytes()
}

api! {
    table MEMORY;

    /// Total, free and used memory in bytes; used includes what the driver reserves.
    view fn nvmlDeviceGetMemoryInfo(device: Device, memory: Out<Memory>) |view| {
        let of = of(view, device)?;
        memory.put(Memory { total: bytes(of.total), free: bytes(of.free()), used: bytes(of.used + of.reserved) })
    }

    /// `nvmlDeviceGetMemoryInfo` with the reserved part told apart.
    view fn nvmlDeviceGetMemoryInfo_v2(device: Device, memory: Out<MemoryV2>) |view| {
        let of = of(view, device)?;
        memory.check_version()?;
        memory.put(MemoryV2 {
            total: bytes(of.total),
            reserved: bytes(of.reserved),
            free: bytes(of.free()),
            used: bytes(of.used),
            ..memory.get()?
        })
    }

    /// BAR1; NOT_SUPPORTED if the catalogue does not know it.
    view fn nvmlDeviceGetBAR1MemoryInfo(device: Device, memory: Out<Bar1Memory>) |view| {
        let total = match view.device(device)? {
            Target::Gpu(gpu) => view.spec(gpu).bar1_total,
            Target::Mig(gpu, mig) => view.mig_device(gpu, mig)?.bar1(),
        };
        let total = bytes(total.ok_or(Status::NotSupported)?.0);
        // One mapped page table entry is what an idle card shows.
        let used = bytes(1).min(total);
        memory.put(Bar1Memory { total, free: total - used, used })
    }
}
