//! Values over the last while, as the driver's own samples have them.
//! Not the values of now (`monitors`).
//! Worked out from the state at the moments of the samples: reading keeps nothing, so a change of load reaches back.

use gpu_model::{Architecture, Now, Telemetry};

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::{Result, Status};
use crate::types::Sample;
use crate::view::{GpuView, View};

/// Samples that are kept, and microseconds between them: six a second over 20 seconds, as real drivers keep them.
const KEPT: u64 = 120;
pub(super) const PERIOD: u64 = 167_000;
/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
const UNSIGNED_INT: u32 = 1;

/// One kind of sample of what a card shows.
fn value(view: &View, gpu: &GpuView, kind: u32, shown: &Telemetry) -> Result<u32> {
    let clocks = || shown.clocks.ok_or(Status::NotSupported);
    let held = || {
        Ok(view
            .state(gpu)
            .chosen
            .hold(clocks()?, view.spec(gpu), shown.gpu.0 > 0))
    };
    match kind {
        0 => Ok(shown.power.ok_or(Status::NotSupported)?.0),
        1 => Ok(shown.gpu.0),
        2 => Ok(shown.memory.0),
        // Encoders, decoders, JPEG decoders, optical flow: nobody uses them.
        3 | 4 | 8 | 9 => Ok(0),
        // Cards from Turing on keep none of their clocks (captures of T4, A100 and RTX 3090), those before do.
        5 | 6 if view.spec(gpu).architecture >= Architecture::Turing => Err(Status::NotFound),
        5 => held().map(|clocks| clocks.sm.0),
        6 => held().map(|clocks| clocks.memory.0),
        7 => Err(Status::NotSupported),
        _ => Err(Status::InvalidArgument),
    }
}

api! {
    table SAMPLES;

    /// Samples since a moment in microseconds: 0 power (mW), 1-4 utilisation (%), 5 and 6 clocks (MHz), 8 and 9 utilisation. Without
    /// an array the number that there may be; NOT_FOUND if there is none since then. Utilisation is NOT_SUPPORTED in MIG mode.
    view fn nvmlDeviceGetSamples(device: Device, kind: u32, since: u64, value_type: Out<u32>, count: Out<u32>, samples: OutArray<Sample>) |view| {
        let gpu = view.whole(device)?;
        value_type.check()?;
        let room = count.get()?;
        let now = view.now().0;
        value(view, gpu, kind, &view.telemetry(gpu))?;
        if matches!(kind, 1..=4 | 8 | 9) {
            view.not_in_mig_mode(gpu)?;
        }
        value_type.put(UNSIGNED_INT)?;
        if samples.is_null() {
            return count.put(KEPT as u32);
        }
        if room == 0 {
            return Err(Status::InvalidArgument);
        }
        let last = now / PERIOD;
        let first = (since / PERIOD + 1).max((last + 1).saturating_sub(KEPT));
        let mut written = 0;
        for number in (first..=last).take(room as usize) {
            let at = Now(number * PERIOD);
            let shown = Telemetry::of(view.spec(gpu), view.state(gpu), at);
            let sample_value = value(view, gpu, kind, &shown)?.into();
            samples.at(written)?.put(Sample { time_stamp: at.0, sample_value })?;
            written += 1;
        }
        count.put(written as u32)?;
        if written == 0 { Err(Status::NotFound) } else { Ok(()) }
    }
}
