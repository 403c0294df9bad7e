//! What a fault of a card brings with it: the Xid that reports it, what the driver asks for.
//! Not here: putting it in place (`engine`); a fault alone, without what follows, can be put in place too.
//! Rules: the Xid table of NVIDIA's documentation (its meanings and "immediate resolution" are `doc` in our facts); that a
//! waiting row remapping asks for a drain and a reset is read out of nvml.h's words (`derived`). What is not known does not follow.
use crate::{
    health::{EccSite, Health, RecoveryAction, RowRemaps},
    ids::{CiId, GiId},
    op::Injection,
    spec::Spec,
};

/// `ROBUST_CHANNEL_GPU_ECC_DBE`.
const DOUBLE_BIT: u32 = 48;
/// `INFOROM_DRAM_RETIREMENT_EVENT`: a row is remapped.
const REMAPPED: u32 = 63;
/// `INFOROM_DRAM_RETIREMENT_FAILURE`: resolution RESET_GPU.
const REMAP_FAILED: u32 = 64;
/// `NVLINK_ERROR`.
const NVLINK: u32 = 74;
/// `ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS`: resolution RESTART_BM.
const OFF_THE_BUS: u32 = 79;
/// `GPU_RECOVERY_ACTION_CHANGED`.
const ACTION_CHANGED: u32 = 154;
/// Xids whose immediate resolution is RESET_GPU.
const RESETS: [u32; 5] = [46, 62, REMAP_FAILED, 95, 119];

impl Injection {
    /// This and what follows from it on such a card in such a condition, in the order in which it happens.
    pub fn with_consequences(self, spec: &Spec, health: &Health) -> Vec<Injection> {
        let mut all = Vec::new();
        let mut health = *health;
        happen(self, spec, &mut health, &mut all);
        all
    }

    /// What undoes it; `None` if nothing does.
    pub fn undone(self) -> Option<Injection> {
        Some(match self {
            Self::Lost(true) => Self::Lost(false),
            Self::Absent(true) => Self::Absent(false),
            Self::ResetRequired(true) => Self::ResetRequired(false),
            Self::Recovery(_) => Self::Recovery(RecoveryAction::None),
            Self::Throttle(_) => Self::Throttle(crate::throttle::Throttle::default()),
            Self::NvLink { link, up } => Self::NvLink { link, up: !up },
            Self::Load { gi, .. } => Self::Load {
                gi,
                compute: crate::units::Percent(0),
                memory: crate::units::MiB(0),
            },
            _ => return None,
        })
    }
}

fn happen(what: Injection, spec: &Spec, health: &mut Health, all: &mut Vec<Injection>) {
    let xid = |xid, gi: Option<GiId>, ci: Option<CiId>| Injection::Xid { xid, gi, ci };
    match what {
        Injection::Ecc {
            uncorrected,
            gi,
            site,
            ..
        } if uncorrected > 0 => {
            all.push(what);
            happen(xid(DOUBLE_BIT, gi, None), spec, health, all);
            // Rows are the memory's; nothing in the chip can be remapped.
            if site == EccSite::Memory && spec.remap_max_banks.is_some() {
                let rows = u32::try_from(uncorrected).unwrap_or(u32::MAX);
                let remaps = RowRemaps {
                    uncorrected: health.remaps.uncorrected.saturating_add(rows),
                    pending: true,
                    ..health.remaps
                };
                happen(Injection::Remaps(remaps), spec, health, all);
            }
        }
        Injection::Remaps(now) => {
            let before = std::mem::replace(&mut health.remaps, now);
            all.push(what);
            let rows = |it: &RowRemaps| u64::from(it.corrected) + u64::from(it.uncorrected);
            if rows(&now) > rows(&before) {
                happen(xid(REMAPPED, None, None), spec, health, all);
            }
            if now.failed && !before.failed {
                happen(xid(REMAP_FAILED, None, None), spec, health, all);
            } else if now.pending && !before.pending && health.recovery == RecoveryAction::None {
                act(RecoveryAction::DrainAndReset, spec, health, all);
            }
        }
        Injection::Xid { xid, .. } => {
            all.push(what);
            if RESETS.contains(&xid) {
                act(RecoveryAction::GpuReset, spec, health, all);
            }
        }
        Injection::Lost(true) => {
            happen(xid(OFF_THE_BUS, None, None), spec, health, all);
            act(RecoveryAction::NodeReboot, spec, health, all);
            all.push(what);
        }
        Injection::ResetRequired(true) => {
            all.push(what);
            act(RecoveryAction::GpuReset, spec, health, all);
        }
        Injection::NvLink { up: false, .. } => {
            all.push(what);
            happen(xid(NVLINK, None, None), spec, health, all);
        }
        Injection::Recovery(action) => {
            let changed = health.recovery != action;
            health.recovery = action;
            all.push(what);
            if changed && action != RecoveryAction::None {
                all.push(xid(ACTION_CHANGED, None, None));
            }
        }
        _ => all.push(what),
    }
}

fn act(action: RecoveryAction, spec: &Spec, health: &mut Health, all: &mut Vec<Injection>) {
    if health.recovery != action {
        happen(Injection::Recovery(action), spec, health, all);
    }
}
