//! The time that is printed: the driver's, so that a machine whose clock is stopped or stepped shows one time everywhere.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use nvml_client::Nvml;

/// The driver's time, in the machine's own zone; the system's where no GPU tells it.
pub(crate) fn now(nvml: &Nvml) -> Zoned {
    let told = nvml.by_index(0).ok().and_then(|gpu| gpu.time());
    told.and_then(|micros| Timestamp::from_microsecond(micros).ok())
        .unwrap_or_else(Timestamp::now)
        .to_zoned(TimeZone::system())
}
