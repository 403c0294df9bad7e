//! Clusters to put into buckets: cards as the DRA driver publishes them, cut from the catalogue, and claims on them.

use std::collections::BTreeMap;

use billing::fact::{Claim, Consumer, Device, Fact, Held, Request, Slice, Uid, What};
use billing::text::Text;
use billing::{Entry, Fault, Ratio, Seconds, Span, Weights, buckets};
use gpu_model::{Catalog, Spec};

pub(crate) const DRIVER: &str = "gpu.nvidia.com";
/// 2026-11-01T00:00:00Z
pub(crate) const START: i64 = 1_793_491_200;

pub(crate) fn second(second: i64) -> Seconds {
    Seconds::new(START + second).expect("in range")
}

pub(crate) fn span(from: i64, until: i64) -> Span {
    Span::new(second(from), second(until)).expect("forwards")
}

pub(crate) fn ratio(above: i128, below: i128) -> Ratio {
    Ratio::new(above, below).expect("a ratio")
}

pub(crate) fn fact(uid: &str, version: u64, at: i64, what: What) -> Fact {
    Fact {
        uid: uid.into(),
        version,
        at: second(at),
        estimated: None,
        what,
    }
}

fn draws(multiprocessors: u32, memory: u64, slices: std::ops::Range<u32>) -> BTreeMap<Text, i64> {
    let memory = i64::try_from(memory << 20).expect("fits");
    let mut draws: BTreeMap<Text, i64> = slices
        .map(|at| (format!("memory-slice-{at}").into(), 1))
        .collect();
    draws.insert("multiprocessors".into(), multiprocessors.into());
    draws.insert("memory".into(), memory);
    draws
}

fn all(spec: &Spec) -> BTreeMap<Text, i64> {
    let mig = spec.mig.as_ref().expect("can be cut");
    let most = mig
        .profiles
        .iter()
        .map(|it| it.multiprocessors)
        .max()
        .expect("has profiles");
    let memory = mig
        .profiles
        .iter()
        .map(|it| it.memory.0)
        .max()
        .expect("has profiles");
    draws(most, memory, 0..mig.memory_slices.0)
}

/// The memory of a card that can be sold in partitions, in MiB: that of its largest one.
pub(crate) fn memory_of(model: &str) -> i64 {
    let catalog = Catalog::builtin();
    all(catalog.model(model).expect("a model").spec())["memory"] >> 20
}

/// The part of a card's memory that a partition has.
pub(crate) fn memory_part(model: &str, profile: &str) -> Ratio {
    let catalog = Catalog::builtin();
    let spec = catalog.model(model).expect("a model").spec();
    let mig = spec.mig.as_ref().expect("can be cut");
    let profile = mig.profiles.iter().find(|it| it.name == profile);
    ratio(
        profile.expect("a profile").memory.0.into(),
        memory_of(model).into(),
    )
}

/// What the driver publishes with DynamicMIG of cards of a model: counters, then one slice for each card.
pub(crate) fn pool(node: &str, model: &str, cards: usize, generation: i64) -> Vec<(String, Slice)> {
    let catalog = Catalog::builtin();
    let spec = catalog.model(model).expect("a model").spec().clone();
    let slice = |at: usize| Slice {
        driver: DRIVER.into(),
        pool: node.into(),
        generation,
        of: cards as i64 + 1,
        node: Some(node.into()),
        sets: if at == 0 {
            (0..cards)
                .map(|card| (format!("gpu-{card}-counter-set").into(), all(&spec)))
                .collect()
        } else {
            BTreeMap::new()
        },
        devices: if at == 0 {
            vec![]
        } else {
            devices(&spec, at - 1)
        },
    };
    (0..=cards)
        .map(|at| (format!("slice-{node}-{at}"), slice(at)))
        .collect()
}

fn devices(spec: &Spec, card: usize) -> Vec<Device> {
    let mig = spec.mig.as_ref().expect("can be cut");
    let set: Text = format!("gpu-{card}-counter-set").into();
    let device = |name: String, says: &[(&str, &str)], draws: BTreeMap<Text, i64>| Device {
        name: name.into(),
        says: says
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        capacity: BTreeMap::from([("memory".into(), draws["memory"])]),
        draws: BTreeMap::from([(set.clone(), draws)]),
        shared: false,
        taints: vec![],
    };
    let uuid = format!("GPU-{card}");
    let whole = device(
        format!("gpu-{card}"),
        &[
            ("type", "gpu"),
            ("uuid", &uuid),
            ("productName", &spec.name),
        ],
        all(spec),
    );
    let mut devices = vec![whole];
    for profile in &mig.profiles {
        for place in profile.placements() {
            let plain = profile.name.replace('.', "").replace('+', "-");
            devices.push(device(
                format!("gpu-{card}-mig-{plain}-{}-{}", profile.id, place.start),
                &[
                    ("type", "mig"),
                    ("profile", &profile.name),
                    ("parentUUID", &uuid),
                    ("productName", &spec.name),
                ],
                draws(
                    profile.multiprocessors,
                    profile.memory.0,
                    place.start..place.start + place.size,
                ),
            ));
        }
    }
    devices
}

/// The pool of a node is published.
pub(crate) fn published(node: &str, model: &str, cards: usize, at: i64) -> Vec<Fact> {
    let slices = pool(node, model, cards, 1).into_iter();
    slices
        .map(|(uid, slice)| fact(&uid, 1, at, What::SlicePublished(slice)))
        .collect()
}

pub(crate) fn held(node: &str, device: &str) -> Held {
    Held {
        request: "gpu".into(),
        driver: DRIVER.into(),
        pool: node.into(),
        device: device.into(),
        admin: false,
        share: None,
        consumed: BTreeMap::new(),
    }
}

pub(crate) fn claim(name: &str, devices: Vec<Held>, pods: &[&str]) -> Claim {
    let consumer = |pod: &&str| Consumer {
        uid: Uid::from(*pod),
        name: (*pod).into(),
    };
    let request = Request {
        class: "mig.nvidia.com".into(),
        count: Some(1),
    };
    Claim {
        namespace: "team".into(),
        name: name.into(),
        requests: BTreeMap::from([("gpu".into(), request)]),
        devices,
        consumers: pods.iter().map(consumer).collect(),
        extended: false,
        spot: false,
    }
}

/// A claim holds a device.
pub(crate) fn holds(uid: &str, version: u64, at: i64, device: &str) -> Fact {
    fact(
        uid,
        version,
        at,
        What::ClaimHolds(claim(uid, vec![held("n", device)], &["pod"])),
    )
}

pub(crate) fn gone(uid: &str, version: u64, at: i64) -> Fact {
    fact(uid, version, at, What::ClaimGone)
}

/// The entries of a period.
pub(crate) fn account(
    facts: Vec<Fact>,
    weights: &Weights,
    period: Span,
) -> Result<Vec<Entry>, Fault> {
    let facts = buckets::in_order(facts).into_iter().map(Ok::<_, Fault>);
    buckets::buckets(facts, weights, period).collect()
}

/// Card-seconds by the bucket's word.
pub(crate) fn sums(entries: &[Entry]) -> BTreeMap<&'static str, Ratio> {
    let mut sums = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.overlay) {
        entry.check().expect("a sound entry");
        let sum: &mut Ratio = sums.entry(entry.bucket.word()).or_insert(Ratio::ZERO);
        let seconds = Ratio::whole(entry.span.seconds());
        *sum = entry
            .share
            .times(seconds)
            .and_then(|it| sum.plus(it))
            .expect("fits");
    }
    sums
}

pub(crate) fn total(entries: &[Entry]) -> Ratio {
    sums(entries)
        .values()
        .fold(Ratio::ZERO, |sum, it| sum.plus(*it).expect("fits"))
}

/// The card-seconds of the sold entries of a claim.
pub(crate) fn sold(entries: &[Entry], uid: &str) -> Ratio {
    let own = entries.iter().filter(|entry| {
        entry
            .bucket
            .holder()
            .is_some_and(|holder| holder.claim_uid == uid)
    });
    total(&own.cloned().collect::<Vec<_>>())
}
