//! The counters of fault rules: how many calls each has met, over all processes of the node.
//! Not here: what the number means (`gpu_model::FaultPlan`).
//!
//! A word holds the low half of the plan's id above and the count below, so that a counter of an earlier plan counts as none and
//! nobody has to clear it. Where the file can only be read, a process counts for itself.
use crate::{file::Mapped, layout::COUNTERS};
use gpu_model::FaultPlan;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNT_BITS: u32 = 32;

/// Counters of a process that can not write the file.
pub(crate) struct Own([AtomicU64; FaultPlan::MAX_RULES]);

impl Default for Own {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; FaultPlan::MAX_RULES])
    }
}

/// Counts one call of a rule of the plan with this id; gives its number, from 1. A rule beyond the last one is always at its first call.
pub(crate) fn count(mapped: &Mapped, own: &Own, plan: u64, rule: usize) -> u64 {
    match own.0.get(rule) {
        None => 1,
        Some(_) if mapped.writable => next(mapped.word(COUNTERS + rule * 8), plan),
        Some(mine) => next(mine, plan),
    }
}

/// What a counter stands at.
pub(crate) fn peek(mapped: &Mapped, own: &Own, plan: u64, rule: usize) -> u64 {
    let word = match own.0.get(rule) {
        None => return 0,
        Some(_) if mapped.writable => mapped.word(COUNTERS + rule * 8),
        Some(mine) => mine,
    };
    counted(u64::from_le(word.load(Ordering::Relaxed)), plan)
}

fn next(word: &AtomicU64, plan: u64) -> u64 {
    let plan_bits = plan << COUNT_BITS;
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        let stood = u64::from_le(seen);
        let number = counted(stood, plan) + 1;
        // A process that has not heard of the newer plan yet must not take its count away; a full counter stays full.
        let newer = (stood >> COUNT_BITS).wrapping_sub(plan & 0xffff_ffff) as u32;
        if newer != 0 && newer < u32::MAX / 2 || number > u64::from(u32::MAX) {
            return number;
        }
        let set = (plan_bits | number).to_le();
        match word.compare_exchange_weak(seen, set, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return number,
            Err(now) => seen = now,
        }
    }
}

fn counted(word: u64, plan: u64) -> u64 {
    if word >> COUNT_BITS == plan & 0xffff_ffff {
        word & 0xffff_ffff
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_plan_counts_from_one() {
        let word = AtomicU64::new(0);
        assert_eq!([next(&word, 1), next(&word, 1), next(&word, 1)], [1, 2, 3]);
        assert_eq!([next(&word, 2), next(&word, 2)], [1, 2]);
        assert_eq!(next(&word, 1), 1, "one that is late counts nothing");
        assert_eq!(next(&word, 2), 3, "and takes nothing away");
    }

    #[test]
    fn threads_share_the_numbers() {
        let word = AtomicU64::new(0);
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..1000).map(|_| next(&word, 7)).collect::<Vec<_>>()))
                .collect();
            let numbers = threads.into_iter().map(|it| it.join().expect("a thread"));
            numbers.flatten().collect()
        });
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=4000));
    }

    #[test]
    fn a_full_counter_stays_full() {
        let word = AtomicU64::new((3 << COUNT_BITS | 0xffff_ffff_u64).to_le());
        assert_eq!(next(&word, 3), 1 << 32);
        assert_eq!(next(&word, 3), 1 << 32);
        assert_eq!(next(&word, 4), 1);
    }
}
