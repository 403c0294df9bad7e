//! Whose share of the card a load gets, and the exact energy that follows from it.
//!
//! A load's curve is a share of what it is on. An instance is worth its slices; and where loads together could ask for more than
//! there is at their peaks, each gets its part (as processes do that take turns). So every share is a constant factor while the same
//! loads run, no sum ever exceeds 100 %, and areas under curves add up: that is what makes the energy exact.
use super::{Load, Shape};
use crate::{
    ids::{CiId, GiId},
    machine::Gpu,
    spec::Spec,
    units::Now,
};

/// One whole, in the unit of shares.
const WHOLE: u64 = 1_000_000_000;
/// [`Shape::FULL`] in the width that sums need.
const FULL: u64 = Shape::FULL as u64;

/// A load that runs, with its factors, in billionths.
pub(crate) struct Share<'a> {
    pub(crate) load: &'a Load,
    /// Of the whole card.
    pub(crate) of_card: u64,
    /// Of its GPU instance (of the card, if it is on the whole card).
    pub(crate) of_gi: u64,
    /// Of its compute instance (of the GPU instance, if it is on that).
    pub(crate) of_ci: u64,
}

/// The loads that run at `now` with their shares.
pub(crate) fn shares<'a>(spec: &Spec, gpu: &'a Gpu, now: Now) -> Vec<Share<'a>> {
    let running: Vec<&Load> = gpu.running(now).collect();
    let card = fair(peak_of_card(spec, gpu, &running));
    running
        .iter()
        .map(|&load| {
            let of_ci = load
                .ci
                .map_or(WHOLE, |_| fair(peak_of_ci(&running, load.gi, load.ci)));
            let of_gi = match (load.gi, load.ci) {
                (None, _) => WHOLE,
                (Some(gi), ci) => {
                    let part = ci.map_or(WHOLE, |ci| part_of_ci(spec, gpu, gi, ci));
                    mul(mul(of_ci, part), fair(peak_of_gi(spec, gpu, &running, gi)))
                }
            };
            let part = load.gi.map_or(WHOLE, |gi| part_of_gi(spec, gpu, gi));
            let of_card = mul(mul(of_gi, part), card);
            Share {
                load,
                of_card,
                of_gi,
                of_ci,
            }
        })
        .collect()
}

impl Share<'_> {
    /// The height of its curve at `now`, in thousandths of a level.
    pub(crate) fn level(&self, now: Now) -> u64 {
        self.load.shape.level_fine(now.since(self.load.since))
    }
}

/// Thousandths of a level scaled by a factor.
pub(crate) fn scaled(level: u64, factor: u64) -> u64 {
    mul(level, factor)
}

/// What [`scaled`] makes of one percent.
pub(crate) const SCALED_PERCENT: u64 = FULL / 100 * 1_000;

/// The factor that brings a peak down to 100 %.
fn fair(peak: u64) -> u64 {
    if peak <= FULL {
        WHOLE
    } else {
        FULL * WHOLE / peak
    }
}

fn mul(a: u64, b: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(WHOLE)).unwrap_or(u64::MAX)
}

fn peak(load: &Load) -> u64 {
    u64::from(load.shape.peak())
}

fn peak_of_ci(running: &[&Load], gi: Option<GiId>, ci: Option<CiId>) -> u64 {
    let in_it = running.iter().filter(|load| load.gi == gi && load.ci == ci);
    in_it.map(|load| peak(load)).sum()
}

fn peak_of_gi(spec: &Spec, gpu: &Gpu, running: &[&Load], gi: GiId) -> u64 {
    let own = peak_of_ci(running, Some(gi), None);
    let mut parts: Vec<CiId> = running
        .iter()
        .filter(|load| load.gi == Some(gi))
        .filter_map(|load| load.ci)
        .collect();
    parts.sort_unstable();
    parts.dedup();
    let parts = parts.into_iter().map(|ci| {
        let peak = peak_of_ci(running, Some(gi), Some(ci)).min(FULL);
        mul(peak, part_of_ci(spec, gpu, gi, ci))
    });
    own + parts.sum::<u64>()
}

fn peak_of_card(spec: &Spec, gpu: &Gpu, running: &[&Load]) -> u64 {
    let own = peak_of_ci(running, None, None);
    let parts = gpu.instances.iter().map(|gi| {
        let peak = peak_of_gi(spec, gpu, running, gi.id).min(FULL);
        mul(peak, part_of_gi(spec, gpu, gi.id))
    });
    own + parts.sum::<u64>()
}

fn part(of: u32, whole: u32) -> u64 {
    u64::from(of.min(whole)) * WHOLE / u64::from(whole.max(1))
}

/// What a GPU instance is worth of its card.
fn part_of_gi(spec: &Spec, gpu: &Gpu, gi: GiId) -> u64 {
    let slices = || {
        let mig = spec.mig.as_ref()?;
        let profile = mig.by_id(gpu.gi(gi)?.profile)?;
        Some(part(profile.slices.0, mig.compute_slices.0))
    };
    slices().unwrap_or(0)
}

/// What a compute instance is worth of its GPU instance.
fn part_of_ci(spec: &Spec, gpu: &Gpu, gi: GiId, ci: CiId) -> u64 {
    let slices = || {
        let gi = gpu.gi(gi)?;
        let profile = spec.mig.as_ref()?.by_id(gi.profile)?;
        let compute = profile.ci_by_id(gi.ci(ci)?.profile)?;
        Some(part(compute.slices.0, profile.slices.0))
    };
    slices().unwrap_or(0)
}

/// How busy the card is, in hundredths of a percent times microseconds times two times [`WHOLE`], from `from` to `to`, between which
/// no load begins or ends.
pub(crate) fn busy_area(spec: &Spec, gpu: &Gpu, from: Now, to: Now) -> u128 {
    shares(spec, gpu, from)
        .iter()
        .map(|share| {
            let area = |at: Now| share.load.shape.area_twice(at.since(share.load.since));
            area(to).saturating_sub(area(from)) * u128::from(share.of_card)
        })
        .sum()
}

/// What [`busy_area`] is of a card that is fully busy for one microsecond.
pub(crate) const BUSY_MICRO: u128 = 2 * FULL as u128 * WHOLE as u128;
