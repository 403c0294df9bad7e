//! The meter against an API server of a script: what it hears, what it missed, and what it does when either side is away.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use billing::fact::{What, Why};
use billing::meter::{self, Task, Told};
use billing::{Fact, Place, Weights};

use super::api::Api;
use super::fixture::*;
use super::ledger::read;

struct Bench {
    _folder: tempfile::TempDir,
    place: Place,
    api: Api,
    clock: Arc<AtomicI64>,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            place: Place::File(folder.path().join("ledger.db")),
            _folder: folder,
            api: Api::default(),
            clock: Arc::new(AtomicI64::new(0)),
            told: Arc::default(),
        }
    }

    fn at(&self, second: i64) {
        self.clock.store(second, Ordering::SeqCst);
    }

    fn start(&self, once: bool) -> tokio::task::JoinHandle<Result<(), meter::MeterError>> {
        let (client, clock, told) = (
            self.api.client(),
            Arc::clone(&self.clock),
            Arc::clone(&self.told),
        );
        let task = Task {
            ledger: self.place.clone(),
            once,
        };
        let clock: meter::Clock = Arc::new(move || second(clock.load(Ordering::SeqCst)));
        tokio::spawn(async move {
            meter::run(client, &task, clock, move |it| {
                told.lock().expect("no panic").push(it)
            })
            .await
        })
    }

    fn facts(&self) -> Vec<Fact> {
        read(&mut self.place.open().expect("opened"))
    }

    /// Waits until the ledger knows of an object what is wanted.
    async fn until(&self, uid: &str, transition: &str) -> Fact {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let facts = self.facts();
            if let Some(fact) = facts
                .iter()
                .find(|it| it.uid.to_string() == uid && it.what.transition() == transition)
            {
                return fact.clone();
            }
            assert!(
                Instant::now() < end,
                "no {transition} of {uid}: {facts:?}, told {:?}",
                self.told
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_17_and_18_what_is_heard_what_was_missed_and_what_vanished() {
    let bench = Bench::new();
    // Before the meter: a claim at 50 on a pool whose slice is younger.
    bench.api.claim("old", "gpu-0", 50);
    bench.api.pool(3, 80);
    bench.at(100);
    let meter = bench.start(false);
    let old = bench.until("old", "claim-holds").await;
    assert_eq!((old.at, old.estimated), (second(50), Some(Why::FirstSight)));
    let slice = bench.until("slice", "slice-published").await;
    assert_eq!(
        (slice.at, slice.estimated),
        (second(50), Some(Why::FirstSight))
    );
    // Heard when it happens.
    bench.at(120);
    bench.api.claim("new", "gpu-1", 119);
    assert_eq!(bench.until("new", "claim-holds").await.at, second(120));
    bench.at(130);
    bench.api.remove("new");
    let gone = bench.until("new", "claim-gone").await;
    assert_eq!((gone.at, gone.estimated), (second(130), None));
    meter.abort();
    let _ = meter.await;

    // Missed while away, and told later by the watch's history.
    bench.at(200);
    bench.api.claim("missed", "gpu-2", 190);
    bench.api.remove("old");
    let meter = bench.start(false);
    let missed = bench.until("missed", "claim-holds").await;
    assert_eq!(
        (missed.at, missed.estimated),
        (second(190), Some(Why::NotWatched))
    );
    let gone = bench.until("old", "claim-gone").await;
    // Nothing says when: since the meter last watched.
    assert_eq!(
        (gone.at, gone.estimated),
        (second(130), Some(Why::NotWatched))
    );
    bench.at(210);
    bench.api.claim("last", "gpu-0", 210);
    bench.until("last", "claim-holds").await;
    meter.abort();
    let _ = meter.await;

    // The history is forgotten: a list, a gap with a name, and what vanished is closed where it was last seen.
    bench.at(300);
    bench.api.remove("missed");
    bench.api.forget();
    let meter = bench.start(false);
    let gone = bench.until("missed", "claim-gone").await;
    assert_eq!(
        (gone.at, gone.estimated),
        (second(210), Some(Why::Vanished))
    );
    let gap = bench.facts().into_iter().find_map(|it| match it.what {
        What::Gap { until, .. } if it.uid.to_string().contains("ResourceClaim") => {
            Some((it.at, until))
        }
        _ => None,
    });
    assert_eq!(gap, Some((second(210), second(300))));
    meter.abort();
    let _ = meter.await;

    let mut ledger = bench.place.open().expect("opened");
    ledger.verify().expect("unbroken");
    let entries = account(bench.facts(), &Weights::Compute, span(50, 400)).expect("sound");
    assert_eq!(total(&entries), ratio(3 * 350, 1));
    assert_eq!(sold(&entries, "old"), ratio(80, 1));
    assert_eq!(sold(&entries, "new"), ratio(10, 1));
    assert_eq!(sold(&entries, "missed"), ratio(20, 1));
    assert_eq!(sold(&entries, "last"), ratio(190, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away_is_waited_for_and_nothing_is_lost() {
    let bench = Bench::new();
    bench.api.pool(1, 0);
    bench.at(10);
    let meter = bench.start(false);
    bench.until("slice", "slice-published").await;
    bench.api.away(true);
    bench.at(3700);
    let end = Instant::now() + Duration::from_secs(60);
    while !bench
        .told
        .lock()
        .expect("no panic")
        .iter()
        .any(|it| matches!(it, Told::Trouble { what } if what.contains("away")))
    {
        assert!(Instant::now() < end, "no word of it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bench.api.claim("meanwhile", "gpu-0", 1800);
    bench.api.away(false);
    let held = bench.until("meanwhile", "claim-holds").await;
    assert_eq!(
        (held.at, held.estimated),
        (second(1800), Some(Why::NotWatched))
    );
    meter.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_19_two_meters_on_one_ledger_keep_everything_once() {
    let bench = Bench::new();
    bench.api.pool(2, 0);
    bench.at(10);
    let meters = [bench.start(false), bench.start(false)];
    bench.until("slice", "slice-published").await;
    for at in 0..20 {
        bench.at(20 + at);
        bench.api.claim(&format!("c{at}"), "gpu-0", 20 + at);
        bench.api.remove(&format!("c{at}"));
    }
    bench.until("c19", "claim-gone").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    meters.iter().for_each(tokio::task::JoinHandle::abort);
    let facts = bench.facts();
    let mut keys: Vec<_> = facts
        .iter()
        .map(|it| (it.uid.clone(), it.what.transition(), it.version))
        .collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(
        facts.iter().filter(|it| it.what == What::ClaimGone).count(),
        20
    );
    bench
        .place
        .open()
        .expect("opened")
        .verify()
        .expect("unbroken");
}

#[tokio::test(flavor = "multi_thread")]
async fn once_lists_and_ends_and_the_next_time_names_the_gap() {
    let bench = Bench::new();
    bench.api.pool(1, 0);
    bench.api.claim("a", "gpu-0", 5);
    bench.at(10);
    bench.start(true).await.expect("no panic").expect("done");
    assert_eq!(bench.facts().len(), 2);
    bench.api.remove("a");
    bench.at(100);
    bench.start(true).await.expect("no panic").expect("done");
    let gone = bench.until("a", "claim-gone").await;
    assert_eq!((gone.at, gone.estimated), (second(10), Some(Why::Vanished)));
    assert!(
        bench
            .facts()
            .iter()
            .any(|it| matches!(it.what, What::Gap { .. }))
    );
}
