//! Performance metrics (GPM): compared samples, on Hopper and newer.
//! Not utilisation as monitors have it (`monitors`).
//! From the load in the state. Of what kernels do inside the multiprocessors a load says nothing: those metrics are NOT_SUPPORTED.
//! Engines, which no load uses, read 0.

use core::ffi::{CStr, c_char};

use gpu_model::{Architecture, Rate, Traffic};

use super::nvlink;
use crate::gpm_samples::{self, Seen};
use crate::handle::{Device, GpmSample};
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::{Result, Status, code_of};
use crate::types::{GpmMetric, GpmMetricInfo, GpmMetricsHead, GpmSupport};
use crate::view::{GpuView, View};

/// `NVML_GPM_METRICS_GET_VERSION` and `NVML_GPM_SUPPORT_VERSION`: plain numbers, without a size.
const VERSION: u32 = 1;
/// Above the last metric of any header (`NVML_GPM_METRIC_MAX`).
const METRICS: u32 = 477;
/// Bytes of one MiB.
const MIB: f64 = (1 << 20) as f64;

fn supported(view: &View, gpu: &GpuView) -> bool {
    view.spec(gpu).architecture >= Architecture::Hopper
}

fn metered(view: &View, device: Device) -> Result<&GpuView> {
    let gpu = view.whole(device)?;
    if supported(view, gpu) {
        Ok(gpu)
    } else {
        Err(Status::NotSupported)
    }
}

/// A metric that a load tells of.
struct Known {
    short: &'static CStr,
    long: &'static CStr,
    unit: &'static CStr,
    value: f64,
}

/// The metric of an id between two samples; INVALID_ARGUMENT for an id that no header has.
fn metric(id: u32, from: &Seen, to: &Seen) -> Result<Known> {
    let mean = |one: u32, other: u32| f64::from(one + other) / 2.0;
    let rate = |short, long, both: f64| Known {
        short,
        long,
        unit: c"MiB/s",
        value: both / 2.0 / MIB,
    };
    let moves = |short, long, of: &dyn Fn(&Traffic) -> Rate| {
        let both = [from, to].map(|seen| of(&seen.traffic).0 as f64);
        Ok(rate(short, long, both.iter().sum()))
    };
    let share = |short, long, value| {
        Ok(Known {
            short,
            long,
            unit: c"%",
            value,
        })
    };
    match id {
        1 => share(
            c"GR_UTIL",
            c"Graphics Utilization",
            mean(from.compute, to.compute),
        ),
        2 => share(
            c"SM_UTIL",
            c"SM Utilization",
            mean(from.compute, to.compute),
        ),
        10 => share(
            c"DRAM_BW_UTIL",
            c"DRAM Bandwidth Utilization",
            mean(from.memory, to.memory),
        ),
        20 => moves(c"PCIE_TX", c"PCIe Traffic Sent", &|it| it.pcie.sent),
        21 => moves(c"PCIE_RX", c"PCIe Traffic Received", &|it| it.pcie.received),
        // Video decoders 30-37, JPEG decoders 40-47, optical flow 50-51: nobody uses them.
        30..=37 => share(c"NVDEC_UTIL", c"NVDEC Utilization", 0.0),
        40..=47 => share(c"NVJPG_UTIL", c"NVJPG Utilization", 0.0),
        50 | 51 => share(c"NVOFA_UTIL", c"NVOFA Utilization", 0.0),
        // NVLink: all links, then link by link; received before sent.
        60 => moves(c"NVLINK_RX", c"NvLink Traffic Received", &|it| {
            it.nvlink.received
        }),
        61 => moves(c"NVLINK_TX", c"NvLink Traffic Sent", &|it| it.nvlink.sent),
        62..=97 => {
            let link = (id - 62) / 2;
            let received = id.is_multiple_of(2);
            let of = |seen: &Seen| {
                let flow = seen.traffic.nvlink;
                seen.over(link, if received { flow.received } else { flow.sent })
            };
            Ok(rate(
                if received {
                    c"NVLINK_LINK_RX"
                } else {
                    c"NVLINK_LINK_TX"
                },
                c"NvLink Traffic of a Link",
                of(from) + of(to),
            ))
        }
        0 | METRICS.. => Err(Status::InvalidArgument),
        _ => Err(Status::NotSupported),
    }
}

/// A text of ours where the header wants a pointer that is only read.
const fn text(text: &'static CStr) -> *mut c_char {
    text.as_ptr().cast_mut()
}

fn sample(device: Device, gi: Option<u32>, sample: GpmSample) -> Result {
    let view = crate::view::latest()?;
    let gpu = metered(&view, device)?;
    gpm_samples::check(sample)?;
    let state = view.state(gpu);
    if let Some(gi) = gi {
        state
            .gi(gpu_model::GiId(gi))
            .ok_or(Status::InvalidArgument)?;
    }
    let (compute, memory) = view.busy(gpu, gi);
    gpm_samples::fill(
        sample,
        Seen {
            gpu: state.uuid,
            gi,
            at: view.now(),
            compute,
            memory,
            traffic: view.traffic(gpu, gi),
            links: nvlink::up(&view, gpu),
        },
    )
}

api! {
    table GPM;

    /// Whether the card has such metrics.
    view fn nvmlGpmQueryDeviceSupport(device: Device, out: Out<GpmSupport>) |view| {
        let gpu = view.whole(device)?;
        let asked = out.get()?;
        if asked.version != VERSION {
            return Err(Status::ArgumentVersionMismatch);
        }
        out.put(GpmSupport { is_supported_device: supported(view, gpu).into(), ..asked })
    }

    /// Room for a sample.
    session fn nvmlGpmSampleAlloc(out: Out<GpmSample>) |_session| {
        out.check()?;
        out.put(gpm_samples::allocate()?)
    }

    /// Ends a sample.
    session fn nvmlGpmSampleFree(sample: GpmSample) |_session| { gpm_samples::free(sample) }

    /// Writes what the GPU shows now into a sample.
    session fn nvmlGpmSampleGet(device: Device, into: GpmSample) |_session| { sample(device, None, into) }

    /// `nvmlGpmSampleGet` for a GPU instance.
    session fn nvmlGpmMigSampleGet(device: Device, gi: u32, into: GpmSample) |_session| { sample(device, Some(gi), into) }

    /// Metrics between two samples of the same place; each has a return code of its own.
    session fn nvmlGpmMetricsGet(request: Out<GpmMetricsHead>) |_session| {
        let head = request.get()?;
        if head.version != VERSION {
            return Err(Status::ArgumentVersionMismatch);
        }
        if head.num_metrics == 0 || head.num_metrics > METRICS {
            return Err(Status::InvalidArgument);
        }
        let (from, to) = (gpm_samples::read(head.sample1)?, gpm_samples::read(head.sample2)?);
        if (from.gpu, from.gi) != (to.gpu, to.gi) || from.at > to.at {
            return Err(Status::InvalidArgument);
        }
        let metrics: OutArray<GpmMetric> = request.behind();
        for index in 0..head.num_metrics {
            let place = metrics.at(index as usize)?;
            let asked = place.get()?;
            let found = metric(asked.metric_id, &from, &to);
            let nvml_return = code_of(found.as_ref().map(drop).map_err(|status| *status));
            place.put(match found {
                Ok(Known { short, long, unit, value }) => GpmMetric {
                    nvml_return,
                    value,
                    metric_info: GpmMetricInfo { short_name: text(short), long_name: text(long), unit: text(unit) },
                    ..asked
                },
                Err(_) => GpmMetric { nvml_return, ..asked },
            })?;
        }
        Ok(())
    }

    /// Whether the card streams metrics to other readers: no.
    view fn nvmlGpmQueryIfStreamingEnabled(device: Device, state: Out<u32>) |view| {
        metered(view, device)?;
        state.put(0)
    }

    /// Streaming can stay off; on is NOT_SUPPORTED.
    session fn nvmlGpmSetStreamingEnabled(device: Device, state: u32) |session| {
        metered(&*crate::view::latest()?, device)?;
        match state {
            0 => session.may_change(),
            1 => Err(Status::NotSupported),
            _ => Err(Status::InvalidArgument),
        }
    }
}
