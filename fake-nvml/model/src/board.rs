//! What a board has beside its identity: which clocks can be chosen, which sensors there are, what it is wired to.
//! Not here: values that every model file must have (`spec`).
//! From the catalogue's `board` section; `None` is what nobody has shown, and is answered as NOT_SUPPORTED.
use crate::{
    spec::{Clocks, PowerLimits},
    units::{Celsius, MHz, MilliWatts},
};
use serde::{Deserialize, Serialize};

/// Details of a board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// The clocks that can be chosen.
    pub supported_clocks: Option<SupportedClocks>,
    /// `nvmlDeviceGetMemoryBusWidth`, in bits.
    pub memory_bus_width: Option<u32>,
    /// `nvmlDeviceGetNumGpuCores`.
    pub cuda_cores: Option<u32>,
    /// The temperature that distances (T.Limit) are counted from.
    pub temperature_limit: Option<Celsius>,
    /// Whether the memory's temperature is shown.
    pub memory_sensor: Option<bool>,
    /// Whether average power is shown beside the power of the moment.
    pub average_power: Option<bool>,
    /// Whether the card registers with an NVLink fabric (`nvmlDeviceGetGpuFabricInfo`).
    pub fabric: Option<bool>,
    /// Whether the link to the CPU (NVLink-C2C) is on; `None` where nvidia-smi prints N/A.
    pub c2c: Option<bool>,
    /// How the card's memory is addressed from the host, `nvmlDeviceGetAddressingMode`.
    pub addressing_mode: Option<AddressingMode>,
    /// Fans on the card; 0 is a passive one.
    pub fans: Option<u32>,
    /// Pages are retired, as before Ampere, instead of rows remapped.
    pub page_retirement: Option<bool>,
    /// Power limits of the module of GPU and CPU.
    pub module_power: Option<PowerLimits>,
    /// What memory and module draw beside an idle GPU.
    pub idle_draw: Draw,
    /// What an idle card shows.
    pub idle: Option<Idle>,
}

/// `nvmlDeviceAddressingModeType_t`; the number is that of nvml.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum AddressingMode {
    /// None.
    None = 0,
    /// Heterogeneous memory management.
    Hmm = 1,
    /// Address translation services.
    Ats = 2,
}

/// Power draw of what is measured beside the GPU itself (`nvmlPowerScopeType_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Of the memory.
    pub memory: Option<MilliWatts>,
    /// Of the module of GPU and CPU.
    pub module: Option<MilliWatts>,
}

/// What an idle card shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Power draw.
    pub power: Option<MilliWatts>,
    /// Clocks.
    pub clocks: Clocks,
}

/// `nvmlDeviceGetSupportedMemoryClocks` and `nvmlDeviceGetSupportedGraphicsClocks`: graphics clocks go down from the highest in even
/// steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportedClocks {
    /// The lowest graphics clock.
    pub lowest: MHz,
    /// Between one and the next.
    pub step: MHz,
    /// The second, lower memory clock and the highest graphics clock beside it, if the memory has one.
    pub low: Option<(MHz, MHz)>,
}

impl SupportedClocks {
    /// Memory clocks, highest first; `highest` is the model's.
    pub fn memory(&self, highest: MHz) -> impl Iterator<Item = MHz> {
        std::iter::once(highest).chain(self.low.map(|(memory, _)| memory))
    }

    /// The highest graphics clock beside a memory clock; `None` if that one cannot be chosen. `highest` are the model's.
    pub fn top(&self, memory: MHz, highest: (MHz, MHz)) -> Option<MHz> {
        let (graphics, highest_memory) = highest;
        if memory == highest_memory {
            return Some(graphics);
        }
        self.low
            .filter(|(low, _)| *low == memory)
            .map(|(_, graphics)| graphics)
    }

    /// How many graphics clocks there are from `top` down.
    pub const fn count(&self, top: MHz) -> u32 {
        match top.0.checked_sub(self.lowest.0) {
            Some(room) if self.step.0 > 0 => room / self.step.0 + 1,
            _ => 1,
        }
    }

    /// Graphics clocks from `top` down.
    pub fn graphics(&self, top: MHz) -> impl Iterator<Item = MHz> + use<> {
        let step = self.step.0;
        (0..self.count(top)).map(move |i| MHz(top.0 - i * step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCKS: SupportedClocks = SupportedClocks {
        lowest: MHz(210),
        step: MHz(15),
        low: Some((MHz(405), MHz(405))),
    };

    #[test]
    fn clocks_go_down_to_the_lowest() {
        let all: Vec<_> = CLOCKS.graphics(MHz(2520)).collect();
        assert_eq!(all.len(), 155, "as on the L40S that was captured");
        assert_eq!(all.first(), Some(&MHz(2520)));
        assert_eq!(all.last(), Some(&MHz(210)));
        assert_eq!(CLOCKS.count(MHz(100)), 1);
    }

    #[test]
    fn the_low_memory_clock_has_its_own_list() {
        let highest = (MHz(2520), MHz(9001));
        assert_eq!(
            CLOCKS.memory(highest.1).collect::<Vec<_>>(),
            [MHz(9001), MHz(405)]
        );
        assert_eq!(CLOCKS.top(MHz(9001), highest), Some(MHz(2520)));
        assert_eq!(CLOCKS.top(MHz(405), highest), Some(MHz(405)));
        assert_eq!(CLOCKS.top(MHz(810), highest), None);
    }
}
