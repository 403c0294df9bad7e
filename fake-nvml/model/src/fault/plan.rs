//! The plan: rules in their order, and the decision about one call.
use crate::{clients::Scope, code::Code, fault::Glob, ids::Pid, units::Now};
use serde::{Deserialize, Serialize};

/// What is armed. An empty plan, the default, is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultPlan {
    /// Counts up with every arming and disarming, so that counters and hanging calls know theirs. 0 was never armed.
    pub id: u64,
    /// What chance is made from.
    pub seed: u64,
    /// When it was armed: windows count from here.
    pub armed: Now,
    /// The first rule that fires decides.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The functions.
    pub function: Glob,
    /// Only calls about this device, or a part of it; `None` is any call.
    pub device: Option<Scope>,
    /// Only calls by this process.
    pub process: Option<ProcessIs>,
    /// Only calls in this time.
    pub window: Window,
    /// Which of the calls that fit the lines above.
    pub when: When,
    /// What becomes of the call.
    pub action: Action,
}

/// Which process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessIs {
    /// By name, as `/proc/PID/comm` has it: at most 15 bytes.
    Named(Glob),
    /// By id, as its own PID namespace counts.
    Pid(Pid),
}

/// A span of time since arming, in microseconds; the end is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// From then on.
    pub from: u64,
    /// Until before then; `None` is for ever.
    pub until: Option<u64>,
}

impl Window {
    /// Whether `now` lies within, counted from `armed`.
    pub fn contains(&self, armed: Now, now: Now) -> bool {
        let since = now.since(armed);
        self.from <= since && self.until.is_none_or(|until| since < until)
    }
}

/// Which of the calls that a rule fits; calls are counted from 1, over all processes of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// Every call.
    #[default]
    Always,
    /// Only this one.
    Nth(u64),
    /// This many, then no more.
    First(u64),
    /// Each n-th: n, 2n, 3n …
    Every(u64),
    /// Each with this chance, in millionths. The seed, the rule's place and the call's number decide, nothing else.
    Chance(u32),
}

impl When {
    /// Whether the `nth` call is meant.
    pub const fn fires(self, seed: u64, rule: usize, nth: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Nth(n) => nth == n,
            Self::First(n) => nth <= n,
            Self::Every(n) => n != 0 && nth.is_multiple_of(n),
            Self::Chance(millionths) => dice(seed, rule as u64, nth) < millionths as u64,
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// First wait this many microseconds of real time.
    pub wait: u64,
    /// And then.
    pub then: Then,
}

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// It goes on as if nothing were.
    Proceed,
    /// It does nothing and returns this.
    Return(Code),
    /// It does not come back until the plan is disarmed or another one armed; then it goes on.
    Hang,
    /// The process dies inside of it, as by kill -9.
    Kill,
}

/// A call of a function.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The function's name as exported.
    pub function: &'a str,
    /// What its first argument names; `None` if that is no device or no instance (or a bad one).
    pub device: Option<Scope>,
    /// The caller's name (`/proc/self/comm`).
    pub process: &'a str,
    /// The caller's id, as its own PID namespace counts.
    pub pid: Pid,
}

impl FaultPlan {
    /// Rules that one plan can have: each has a counter in the state file.
    pub const MAX_RULES: usize = 256;

    /// Whether nothing can come of it.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is to become of a call; `None`: nothing special.
    ///
    /// `count` is told each rule that fits, by its place, and gives the number of this call in that rule's count, from 1
    /// (`gpu_store::Store::count`). Rules after the one that fires are not asked and do not count the call.
    pub fn decide(
        &self,
        call: &Call<'_>,
        now: Now,
        mut count: impl FnMut(usize) -> u64,
    ) -> Option<Action> {
        self.rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.fits(call, self.armed, now))
            .find(|(place, rule)| rule.when.fires(self.seed, *place, count(*place)))
            .map(|(_, rule)| rule.action)
    }
}

impl Rule {
    /// Whether the rule is about this call, whatever its number.
    pub fn fits(&self, call: &Call<'_>, armed: Now, now: Now) -> bool {
        self.function.matches(call.function)
            && self
                .device
                .is_none_or(|wanted| call.device.is_some_and(|device| wanted.covers(&device)))
            && match &self.process {
                None => true,
                Some(ProcessIs::Named(name)) => name.matches(call.process),
                Some(ProcessIs::Pid(pid)) => *pid == call.pid,
            }
            && self.window.contains(armed, now)
    }
}

/// 0 to 999 999, evenly, from three numbers (the finaliser of SplitMix64, twice).
const fn dice(seed: u64, rule: u64, nth: u64) -> u64 {
    const fn mix(mut x: u64) -> u64 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    let mixed = mix(mix(seed.wrapping_add(rule.wrapping_mul(0x9e37_79b9_7f4a_7c15))) ^ nth);
    ((mixed as u128 * 1_000_000) >> 64) as u64
}
