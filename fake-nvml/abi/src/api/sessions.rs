//! Encoder and frame buffer capture: nobody encodes or captures on a fake GPU.
//! Not how busy the encoders are (`monitors`).
//! From the catalogue; the answers are those of idle cards.

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray};
use crate::status::Status;
use crate::types::{EncoderSession, FbcSession, FbcStats};

/// H.264, HEVC and AV1 (`nvmlEncoderType_t`).
const CODECS: u32 = 3;

api! {
    table SESSIONS;

    /// What is left of the encoders, in percent: all. NOT_SUPPORTED on a card whose largest partition has none.
    view fn nvmlDeviceGetEncoderCapacity(device: Device, codec: u32, capacity: Out<u32>) |view| {
        let gpu = view.whole(device)?;
        capacity.check()?;
        if codec >= CODECS {
            return Err(Status::InvalidArgument);
        }
        let none = view.spec(gpu).mig.as_ref().is_some_and(|mig| mig.profiles.iter().all(|profile| profile.engines.encoder == 0));
        if none {
            return Err(Status::NotSupported);
        }
        capacity.put(100)
    }

    /// Sessions that encode, their frames per second and their latency: none.
    view fn nvmlDeviceGetEncoderStats(device: Device, count: Out<u32>, fps: Out<u32>, latency: Out<u32>) |view| {
        view.whole(device)?;
        fps.check()?;
        latency.check()?;
        count.put(0)?;
        fps.put(0)?;
        latency.put(0)
    }

    /// Sessions that encode: none.
    view fn nvmlDeviceGetEncoderSessions(device: Device, count: Out<u32>, _sessions: OutArray<EncoderSession>) |view| {
        view.whole(device)?;
        count.put(0)
    }

    /// Sessions that capture: none.
    view fn nvmlDeviceGetFBCStats(device: Device, out: Out<FbcStats>) |view| {
        view.whole(device)?;
        out.put(FbcStats { sessions_count: 0, average_fps: 0, average_latency: 0 })
    }

    /// Sessions that capture: none.
    view fn nvmlDeviceGetFBCSessions(device: Device, count: Out<u32>, _sessions: OutArray<FbcSession>) |view| {
        view.whole(device)?;
        count.put(0)
    }
}
