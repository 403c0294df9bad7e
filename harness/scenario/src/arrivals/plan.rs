//! Who comes when: jobs of several streams, each a Poisson process between two hours of a day, by a seed. Pure.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp};

/// Jobs of one kind from one tenant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stream {
    /// Its queue.
    pub(crate) tenant: String,
    /// The DeviceClass of which each job claims a device.
    pub(crate) class: String,
    /// How many jobs come on average.
    pub(crate) jobs: u32,
    /// Between which hours of the day.
    pub(crate) hours: (u32, u32),
    /// How long a job works on average.
    pub(crate) works: Duration,
    /// How busy it keeps its device, in percent.
    pub(crate) busy: u32,
}

/// A job that comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When, after the start of the day.
    pub(crate) at: Duration,
    pub(crate) tenant: String,
    pub(crate) class: String,
    /// How long it works.
    pub(crate) works: Duration,
    pub(crate) busy: u32,
}

/// A job works at least this long: what ends sooner is hardly seen.
const LEAST: Duration = Duration::from_secs(1);

/// The jobs of a day that takes `length`, in the order in which they come. Gaps and work are exponentially distributed.
pub(crate) fn arrivals(streams: &[Stream], seed: u64, length: Duration) -> Vec<Arrival> {
    let mut all = Vec::new();
    for (number, stream) in streams.iter().enumerate() {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        // A stream of chance for each, so that a tenant more changes no other.
        chance.set_stream(u64::try_from(number).unwrap_or(u64::MAX));
        let hour = length.as_secs_f64() / 24.0;
        let (from, until) = stream.hours;
        let (from, until) = (f64::from(from) * hour, f64::from(until) * hour);
        let gap = (until - from) / f64::from(stream.jobs.max(1));
        let (Ok(gaps), Ok(work)) = (
            Exp::new(1.0 / gap),
            Exp::new(1.0 / stream.works.as_secs_f64()),
        ) else {
            continue;
        };
        let mut at = from;
        loop {
            at += gaps.sample(&mut chance);
            if at >= until {
                break;
            }
            all.push(Arrival {
                at: millis(at),
                tenant: stream.tenant.clone(),
                class: stream.class.clone(),
                works: millis(work.sample(&mut chance)).max(LEAST),
                busy: stream.busy,
            });
        }
    }
    all.sort_by(|a, b| (a.at, &a.tenant).cmp(&(b.at, &b.tenant)));
    all
}

/// Whole milliseconds: nothing here is finer.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a day of a test has few milliseconds, none negative"
)]
fn millis(seconds: f64) -> Duration {
    Duration::from_millis((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(tenant: &str, jobs: u32, hours: (u32, u32)) -> Stream {
        Stream {
            tenant: tenant.to_owned(),
            class: "gpu.nvidia.com".to_owned(),
            jobs,
            hours,
            works: Duration::from_secs(3),
            busy: 80,
        }
    }

    const DAY: Duration = Duration::from_secs(240);

    #[test]
    fn the_same_seed_gives_the_same_day_and_another_seed_another() {
        let streams = [stream("a", 20, (0, 24)), stream("b", 20, (9, 17))];
        let day = arrivals(&streams, 7, DAY);
        assert_eq!(day, arrivals(&streams, 7, DAY));
        assert_ne!(day, arrivals(&streams, 8, DAY));
        // Whoever is added changes nobody else.
        let more = [
            streams[0].clone(),
            streams[1].clone(),
            stream("c", 5, (0, 1)),
        ];
        let mut without = arrivals(&more, 7, DAY);
        without.retain(|it| it.tenant != "c");
        assert_eq!(day, without);
    }

    #[test]
    fn jobs_come_within_their_hours_in_order_and_about_as_many_as_said() {
        let day = arrivals(&[stream("b", 2_000, (9, 17))], 1, DAY);
        assert!(day.iter().all(|it| {
            // An hour takes ten seconds.
            (Duration::from_secs(90)..Duration::from_secs(170)).contains(&it.at)
        }));
        assert!(day.is_sorted_by_key(|it| it.at));
        // Five standard deviations of a Poisson count of 2000.
        assert!(day.len().abs_diff(2_000) < 5 * 45, "{}", day.len());
        let total: f64 = day.iter().map(|it| it.works.as_secs_f64()).sum();
        // Work is exponential with a mean of 3 s, and below 1 s it is 1 s: the mean of max(1, X) is 1 + 3·e^(-1/3) = 3.150.
        let mean = total / day.len() as f64;
        assert!((mean - 3.150).abs() < 5.0 * 3.0 / 2_000f64.sqrt(), "{mean}");
    }
}
