//! What an administrator has chosen for a card: clocks, accounting, draining.
//! Not here: settings with fields of their own in [`Gpu`](crate::Gpu) (persistence, compute mode, power limit, ECC).
//! Rules: nvml.h. Clocks go with a reset, as nvml.h says; accounting stays.
use crate::{
    refusal::Refusal,
    spec::{Clocks, Spec},
    units::{MHz, Now},
};
use serde::{Deserialize, Serialize};

/// What was chosen for a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The clocks of applications.
    pub app_clocks: Option<AppClocks>,
    /// Graphics clocks are held in this range.
    pub gpu_clocks: Option<ClockRange>,
    /// Memory clocks are held in this range.
    pub memory_clocks: Option<ClockRange>,
    /// Processes are accounted since then.
    pub accounting: Option<Now>,
    /// No new work is to come to the card (`nvmlDeviceModifyDrainState`).
    pub draining: bool,
}

/// `nvmlDeviceSetApplicationsClocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppClocks {
    /// Memory.
    pub memory: MHz,
    /// Graphics.
    pub graphics: MHz,
}

/// A range of clocks, both ends within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRange {
    /// The lowest.
    pub min: MHz,
    /// The highest.
    pub max: MHz,
}

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `nvmlDeviceSetApplicationsClocks`; `None` is back to the default.
    AppClocks(Option<AppClocks>),
    /// `nvmlDeviceSetGpuLockedClocks`; `None` lets them go.
    GpuClocks(Option<ClockRange>),
    /// `nvmlDeviceSetMemoryLockedClocks`; `None` lets them go.
    MemoryClocks(Option<ClockRange>),
    /// `nvmlDeviceSetAccountingMode`.
    Accounting(bool),
    /// `nvmlDeviceClearAccountingPids`.
    ClearAccounting,
    /// `nvmlDeviceModifyDrainState`.
    Draining(bool),
}

impl Chosen {
    /// Takes a choice, if the card has it.
    pub(crate) fn choose(
        &mut self,
        spec: &Spec,
        choice: Choice,
        now: Now,
    ) -> Result<(), &'static str> {
        match choice {
            Choice::AppClocks(Some(clocks)) => {
                if !offers(spec, clocks) {
                    return Err(
                        "application clocks that nvmlDeviceGetSupportedGraphicsClocks does not name",
                    );
                }
                self.app_clocks = Some(clocks);
            }
            Choice::AppClocks(None) => self.app_clocks = None,
            Choice::GpuClocks(range) => self.gpu_clocks = sound(range)?,
            Choice::MemoryClocks(range) => self.memory_clocks = sound(range)?,
            Choice::Accounting(true) => {
                self.accounting = self.accounting.or(Some(now));
            }
            Choice::Accounting(false) => self.accounting = None,
            Choice::ClearAccounting => self.accounting = self.accounting.map(|_| now),
            Choice::Draining(draining) => self.draining = draining,
        }
        Ok(())
    }

    /// What a reset leaves of the choices.
    #[must_use]
    pub(crate) const fn after_reset(self) -> Self {
        Self {
            app_clocks: None,
            gpu_clocks: None,
            memory_clocks: None,
            accounting: self.accounting,
            draining: self.draining,
        }
    }

    /// Clocks that a card would run at, held to what was chosen; `busy`: work runs, so the clocks of applications count.
    #[must_use]
    pub fn hold(&self, clocks: Clocks, spec: &Spec, busy: bool) -> Clocks {
        let Some(max) = spec.max_clocks else {
            return clocks;
        };
        let mut graphics = clocks.graphics;
        if let Some(app) = self.app_clocks.filter(|_| busy) {
            graphics = graphics.min(app.graphics);
        }
        if let Some(range) = self.gpu_clocks {
            graphics = range.hold(graphics, max.graphics);
        }
        let memory = self
            .memory_clocks
            .map_or(clocks.memory, |range| range.hold(clocks.memory, max.memory));
        Clocks {
            graphics,
            sm: graphics,
            memory,
            video: clocks.video,
        }
    }
}

impl ClockRange {
    /// The clock of the range that is nearest, never above what the card can do.
    fn hold(self, clock: MHz, most: MHz) -> MHz {
        clock.clamp(self.min.min(most), self.max.min(most))
    }
}

fn sound(range: Option<ClockRange>) -> Result<Option<ClockRange>, &'static str> {
    match range {
        Some(range) if range.min > range.max => {
            Err("a range of clocks whose lowest lies above its highest")
        }
        other => Ok(other),
    }
}

/// Whether these application clocks are on offer.
fn offers(spec: &Spec, clocks: AppClocks) -> bool {
    let (Some(offer), Some(max)) = (spec.board.supported_clocks, spec.max_clocks) else {
        return false;
    };
    let top = offer.top(clocks.memory, (max.graphics, max.memory));
    top.is_some_and(|top| offer.graphics(top).any(|clock| clock == clocks.graphics))
}

/// Whether a card takes a choice at all.
pub(crate) fn supports(spec: &Spec, choice: Choice) -> Result<(), &'static str> {
    match choice {
        Choice::AppClocks(_) | Choice::GpuClocks(_) | Choice::MemoryClocks(_)
            if spec.board.supported_clocks.is_none() || spec.max_clocks.is_none() =>
        {
            Err("clocks to choose from")
        }
        _ => Ok(()),
    }
}

impl crate::Gpu {
    pub(crate) fn choose(&mut self, spec: &Spec, choice: Choice, now: Now) -> Result<(), Refusal> {
        let gpu = self.index;
        supports(spec, choice).map_err(|what| Refusal::NotSupported { gpu, what })?;
        // Accounting can not be on in MIG mode.
        if self.mig_current == crate::MigMode::Enabled && choice == Choice::Accounting(true) {
            let what = "accounting in MIG mode";
            return Err(Refusal::NotSupported { gpu, what });
        }
        self.chosen
            .choose(spec, choice, now)
            .map_err(|what| Refusal::BadChoice { gpu, what })
    }
}
