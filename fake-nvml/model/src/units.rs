//! Units of measure, so that no bare number crosses a crate border.
//! Not here: identities (`ids`).
//! Values come from the catalogue and go to whoever prints or encodes them.
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($inner:ty), $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{}", $suffix), self.0)
            }
        }
    };
}

unit!(
    /// Memory in binary megabytes (2^20 bytes).
    MiB(u64), " MiB"
);
unit!(
    /// A number of memory or compute slices of a GPU.
    Slices(u32), ""
);
unit!(
    /// A clock in megahertz.
    MHz(u32), " MHz"
);
unit!(
    /// Power in thousandths of a watt, the unit of `nvmlDeviceGetPowerUsage`.
    MilliWatts(u32), " mW"
);
unit!(
    /// Energy in thousandths of a joule, the unit of `nvmlDeviceGetTotalEnergyConsumption`.
    MilliJoules(u64), " mJ"
);
unit!(
    /// A temperature, or a distance to a limit, in degrees Celsius.
    Celsius(i32), " C"
);
unit!(
    /// A share of one hundred.
    Percent(u32), " %"
);

impl MiB {
    /// The same size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0 << 20
    }
}

/// The moment at which something is asked or done: microseconds since the Unix epoch.
/// The model never reads a clock; whoever calls it passes the time in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Now(pub u64);

impl Now {
    /// From seconds since the Unix epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000)
    }

    /// Microseconds that have passed since `earlier`; zero if the clock went back.
    pub const fn since(self, earlier: Now) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl From<std::time::SystemTime> for Now {
    /// A time before 1970 counts as the epoch itself.
    fn from(at: std::time::SystemTime) -> Self {
        let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}
