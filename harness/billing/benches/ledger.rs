//! The ledger's facts per second against SQLite's own bulk insert of the same columns into the same table and indices, and
//! the account of a month: entries per second, in how much memory.
//! Goals: at least half of SQLite's rate; an account of four times the history needs no more memory. Both are said, on the
//! processor's time, for a machine has other work too; that the account adds up is judged.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Instant;

use billing::fact::{Claim, Device, Fact, Held, Slice, What};
use billing::{Place, Ratio, Seconds, Span, Sum, Weights, buckets};
use nix::sys::resource::{UsageWho, getrusage};

const START: i64 = 1_793_491_200;
const HALF: f64 = 0.5;

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it runs.
    let long = std::env::args().any(|argument| argument == "--bench");
    ingest(if long { 100_000 } else { 2_000 });
    // Rates and memory are said, sums are judged.
    let right = month(long);
    ExitCode::from(u8::from(!right))
}

/// Seconds on the processor, user and system.
fn processor() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("usage");
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Resident memory in KiB.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}

fn at(second: i64) -> Seconds {
    Seconds::new(START + second).expect("in range")
}

fn held(pool: &str, device: &str) -> Held {
    Held {
        request: "gpu".into(),
        driver: "gpu.nvidia.com".into(),
        pool: pool.into(),
        device: device.into(),
        admin: false,
        share: None,
        consumed: BTreeMap::new(),
    }
}

fn claim(name: &str, pool: &str, device: &str) -> Claim {
    Claim {
        namespace: "team".into(),
        name: name.into(),
        requests: BTreeMap::new(),
        devices: vec![held(pool, device)],
        consumers: vec![],
        extended: false,
        spot: false,
    }
}

fn fact(uid: String, version: u64, second: i64, what: What) -> Fact {
    Fact {
        uid: uid.into(),
        version,
        at: at(second),
        estimated: None,
        what,
    }
}

fn facts(count: u64) -> Vec<Fact> {
    (0..count)
        .map(|it| {
            let uid = format!("6b1f8a52-3c1d-4d0e-9a55-{:012x}", it / 2);
            let what = match it % 2 {
                0 => What::ClaimHolds(claim("claim-of-a-pod", "node-1", "gpu-0-mig-1g10gb-19-0")),
                _ => What::ClaimGone,
            };
            fact(uid, it, it.cast_signed() / 7, what)
        })
        .collect()
}

fn ingest(count: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let facts = facts(count);
    let rows: Vec<(String, &str, i64, i64, String)> = facts
        .iter()
        .map(|it| {
            (
                it.uid.to_string(),
                it.what.transition(),
                it.version.cast_signed(),
                it.at.get(),
                serde_json::to_string(&it.what).expect("written"),
            )
        })
        .collect();

    let plain = folder.path().join("plain.db");
    drop(Place::File(plain.clone()).open().expect("made"));
    let mut connection = rusqlite::Connection::open(plain).expect("opened");
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .expect("set");
    let (begun, used) = (Instant::now(), processor());
    let mut number = 0;
    for part in rows.chunks(1000) {
        let transaction = connection.transaction().expect("begun");
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO fact (number, uid, transition, version, second, estimated, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)")
                .expect("prepared");
            for (uid, transition, version, second, body) in part {
                number += 1;
                insert
                    .execute(rusqlite::params![
                        number,
                        uid,
                        transition,
                        version,
                        second,
                        body,
                        [7_u8; 32].as_slice()
                    ])
                    .expect("inserted");
            }
        }
        transaction.commit().expect("kept");
    }
    let plain = (processor() - used, begun.elapsed().as_secs_f64());

    let mut ledger = Place::File(folder.path().join("ledger.db"))
        .open()
        .expect("made");
    let (begun, used) = (Instant::now(), processor());
    for part in facts.chunks(1000) {
        ledger.append(part, &[]).expect("kept");
    }
    let ours = (processor() - used, begun.elapsed().as_secs_f64());
    let rate = |seconds: f64| count as f64 / seconds.max(1e-9);
    let part = plain.0 / ours.0;
    println!(
        "ingest of {count} facts: SQLite alone {:.0}/s on the processor ({:.0}/s by the clock), the ledger {:.0}/s ({:.0}/s): {:.0} % of it (goal: {:.0} %)",
        rate(plain.0),
        rate(plain.1),
        rate(ours.0),
        rate(ours.1),
        part * 100.0,
        HALF * 100.0
    );
}

/// A card that is cut in seven without counters: what varies is the history.
fn slice(pool: &str) -> Slice {
    let device = |place: usize| Device {
        name: format!("gpu-0-mig-1g10gb-19-{place}").into(),
        says: BTreeMap::from([
            ("type".into(), "mig".into()),
            ("profile".into(), "1g.10gb".into()),
            ("parentUUID".into(), format!("GPU-{pool}").into()),
            ("productName".into(), "NVIDIA H100 80GB HBM3".into()),
        ]),
        capacity: BTreeMap::new(),
        draws: BTreeMap::new(),
        shared: false,
        taints: vec![],
    };
    Slice {
        driver: "gpu.nvidia.com".into(),
        pool: pool.into(),
        generation: 1,
        of: 1,
        node: Some(pool.into()),
        sets: BTreeMap::new(),
        devices: (0..7).map(device).collect(),
    }
}

/// So many hours in which each of seven partitions of each card changes hands, made while it is read.
fn churn(cards: usize, hours: i64) -> impl Iterator<Item = Result<Fact, Infallible>> {
    let pools: Vec<String> = (0..cards).map(|card| format!("node-{card:04}")).collect();
    let published: Vec<Fact> = pools
        .iter()
        .map(|pool| {
            fact(
                format!("slice-{pool}"),
                1,
                0,
                What::SlicePublished(slice(pool)),
            )
        })
        .collect();
    let hourly = (0..hours).flat_map(move |hour| {
        let pools = pools.clone();
        (0..cards * 7).flat_map(move |place| {
            let pool = &pools[place / 7];
            let device = format!("gpu-0-mig-1g10gb-19-{}", place % 7);
            let version = 2 + hour.cast_unsigned() * 20_000 + place as u64 * 2;
            let before = (hour > 0).then(|| {
                fact(
                    format!("{}-{place}", hour - 1),
                    version,
                    hour * 3600,
                    What::ClaimGone,
                )
            });
            let uid = format!("{hour}-{place}");
            let next = fact(
                uid,
                version + 1,
                hour * 3600,
                What::ClaimHolds(claim("claim", pool, &device)),
            );
            before.into_iter().chain([next]).collect::<Vec<_>>()
        })
    });
    published.into_iter().chain(hourly).map(Ok)
}

fn month(long: bool) -> bool {
    let (cards, hours) = if long { (1000, 30) } else { (10, 4) };
    let mut right = true;
    let mut grown = Vec::new();
    for hours in [hours, hours * 4] {
        let (before, used) = (resident(), processor());
        let period = Span::new(at(0), at(hours * 3600)).expect("forwards");
        let (mut entries, mut most, mut sum) = (0_i64, 0, Sum::default());
        for entry in buckets::buckets(churn(cards, hours), &Weights::Compute, period) {
            let entry = entry.expect("sound");
            sum.add(entry.share, entry.span.seconds()).expect("fits");
            entries += 1;
            if entries % 50_000 == 0 {
                most = most.max(resident() - before);
            }
        }
        most = most.max(resident() - before);
        let seconds = processor() - used;
        let whole = Ratio::whole(cards as i64 * hours * 3600);
        let is_whole = sum.total() == Ok(whole);
        right &= is_whole;
        grown.push((entries, most));
        println!(
            "account of {cards} cards in seven, {hours} h of hourly churn: {entries} entries, {:.0}/s on the processor, {most} KiB more memory; all of it is there: {is_whole}",
            entries as f64 / seconds.max(1e-9)
        );
    }
    if let [(few, little), (many, much)] = grown[..] {
        println!(
            "memory for each further entry: {} bytes (goal: none to speak of)",
            (much - little).max(0) * 1024 / (many - few).max(1)
        );
    }
    right
}
