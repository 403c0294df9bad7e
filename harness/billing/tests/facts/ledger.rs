//! The ledger in both databases: one body of rules, run on a SQLite file and, where PostgreSQL can be had, on a real one.

use billing::corrections::{Correction, CorrectionError, corrections};
use billing::fact::{Fact, What, Why};
use billing::ledger::{Appended, Broken, Cursor, Present};
use billing::{Ledger, LedgerError, Place, Weights, buckets};

use super::fixture::*;

pub(crate) fn read(ledger: &mut Ledger) -> Vec<Fact> {
    let facts = ledger.read().expect("read");
    facts.facts().collect::<Result<_, _>>().expect("facts")
}

pub(crate) fn cursor(version: &str, at: i64) -> Cursor {
    Cursor {
        cluster: "cluster".to_owned(),
        kind: "claims".to_owned(),
        version: version.to_owned(),
        at: second(at),
        came: vec![],
        went: vec![],
    }
}

fn history() -> Vec<Fact> {
    let mut facts = published("n", "A100-SXM4-80GB", 1, 0);
    facts.extend([
        holds("a", 5, 10, "gpu-0-mig-1g10gb-19-0"),
        holds("b", 6, 10, "gpu-0-mig-1g10gb-19-1"),
        gone("a", 7, 40),
    ]);
    facts
}

/// Everything that a ledger must do, on an empty one.
pub(crate) fn rules(place: &Place) {
    let mut ledger = place.open().expect("opened");
    let facts = history();
    let kept = ledger.append(&facts, &[cursor("7", 40)]).expect("kept");
    assert_eq!(kept, Appended { new: 5, known: 0 });
    assert_eq!(read(&mut ledger), buckets::in_order(facts.clone()));
    assert_eq!(ledger.cursors("cluster").expect("read"), [cursor("7", 40)]);
    assert_eq!(ledger.cursors("another").expect("read"), []);

    // Cases 18 and 19: again, in another order, by a second meter, in halves.
    let hash = ledger.head().expect("read").hash;
    let mut again = place.open().expect("opened twice");
    let mut backwards = facts.clone();
    backwards.reverse();
    let kept = again.append(&backwards, &[cursor("6", 39)]).expect("kept");
    assert_eq!(kept, Appended { new: 0, known: 5 });
    assert_eq!(ledger.head().expect("read").hash, hash);
    // A cursor goes forwards only.
    assert_eq!(again.cursors("cluster").expect("read"), [cursor("7", 40)]);
    // Who is there, as far as meters know.
    let present = |uid: &str| Present {
        uid: uid.into(),
        namespace: "team".to_owned(),
        name: uid.to_owned(),
    };
    let more = Cursor {
        came: vec![present("x"), present("y")],
        ..cursor("8", 41)
    };
    again.append(&[], &[more]).expect("kept");
    let less = Cursor {
        came: vec![present("y")],
        went: vec!["x".into()],
        ..cursor("8", 42)
    };
    again.append(&[], &[less]).expect("kept");
    assert_eq!(
        ledger.present("cluster", "claims").expect("read"),
        [present("y")]
    );
    assert_eq!(ledger.present("cluster", "pods").expect("read"), []);

    let twice = [gone("b", 9, 50), gone("b", 9, 50)];
    assert_eq!(
        again.append(&twice, &[]).expect("kept"),
        Appended { new: 1, known: 1 }
    );

    // Case 17: what something exact has overtaken does not count; the row stays.
    let mut vanished = gone("b", 12, 45);
    vanished.estimated = Some(Why::Vanished);
    ledger.append(&[vanished], &[]).expect("kept");
    let of_b: Vec<i64> = read(&mut ledger)
        .iter()
        .filter(|it| it.uid.to_string() == "b")
        .map(|it| it.at.get() - START)
        .collect();
    assert_eq!(of_b, [10, 50]);
    assert_eq!(ledger.of_object(&"b".into()).expect("read").len(), 3);

    // Corrections are rows. The last of a row counts, and one that makes it void takes it out.
    let row = ledger.of_object(&"b".into()).expect("read")[1].number;
    ledger
        .correct(row, Some(second(55)), "the clock was wrong")
        .expect("corrected");
    ledger
        .correct(row, Some(second(60)), "by more than that")
        .expect("corrected");
    let corrected = read(&mut ledger);
    let end = corrected
        .iter()
        .find(|it| it.uid.to_string() == "b" && it.what == What::ClaimGone)
        .expect("gone");
    assert_eq!((end.at, end.estimated), (second(60), Some(Why::Corrected)));
    assert!(corrected.is_sorted_by_key(|it| it.at), "{corrected:?}");
    ledger
        .correct(row, None, "it never went")
        .expect("corrected");
    assert!(
        read(&mut ledger)
            .iter()
            .all(|it| it.uid.to_string() != "b" || it.what != What::ClaimGone)
    );
    assert!(matches!(
        ledger.correct(999, None, ""),
        Err(LedgerError::NoRow { row: 999, .. })
    ));

    // Case 20: a closed period knows nothing of what comes later.
    let period = span(0, 3600);
    let sealed = ledger.seal(period, second(3700)).expect("sealed");
    let before: Vec<_> = ledger
        .read_upto(sealed)
        .expect("read")
        .collect::<Result<_, _>>()
        .expect("rows");
    ledger
        .append(&[holds("late", 4, 5, "gpu-0-mig-1g10gb-19-5")], &[])
        .expect("kept");
    let after: Vec<_> = ledger
        .read_upto(sealed)
        .expect("read")
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(before, after);
    assert_eq!(ledger.seal(period, second(9999)).expect("sealed"), sealed);
    assert_eq!(read(&mut ledger).len(), before.len() + 1);
    let verified = ledger.verify().expect("unbroken");
    assert_eq!(verified.hash, ledger.head().expect("read").hash);
}

fn file() -> (tempfile::TempDir, std::path::PathBuf, Place) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    let place = Place::File(path.clone());
    (folder, path, place)
}

#[test]
fn case_17_to_20_in_a_file() {
    let (_folder, _, place) = file();
    rules(&place);
}

#[test]
fn case_18_and_21_a_replay_in_any_order_gives_the_same_bytes() {
    let facts = history();
    let entries = |facts: &[Fact]| {
        let (_folder, _, place) = file();
        let mut ledger = place.open().expect("opened");
        for fact in facts {
            ledger
                .append(std::slice::from_ref(fact), &[])
                .expect("kept");
        }
        let facts = ledger.read().expect("read").facts();
        let entries: Vec<_> = buckets::buckets(facts, &Weights::Memory, span(0, 100))
            .collect::<Result<_, _>>()
            .expect("sound");
        serde_json::to_string(&entries).expect("written")
    };
    let straight = entries(&facts);
    let mut turned = facts;
    for _ in 0..turned.len() {
        turned.rotate_left(1);
        assert_eq!(entries(&turned), straight);
        turned.swap(0, 2);
        assert_eq!(entries(&turned), straight);
    }
}

/// A ledger of eight rows, with this done to its file behind its back.
fn after(sql: &str) -> Result<u64, Broken> {
    let (_folder, path, place) = file();
    let mut ledger = place.open().expect("opened");
    ledger.append(&history(), &[]).expect("kept");
    ledger
        .append(
            &[gone("b", 9, 50), gone("c", 10, 60), gone("d", 11, 70)],
            &[],
        )
        .expect("kept");
    let other = rusqlite::Connection::open(path).expect("opened");
    other.execute_batch(sql).expect("done");
    ledger.verify().map(|verified| verified.rows)
}

#[test]
fn a_row_that_was_edited_taken_out_or_put_in_shows() {
    assert_eq!(after("").expect("unbroken"), 8);
    for (sql, row) in [
        ("UPDATE fact SET second = second + 1 WHERE number = 3", 3),
        ("UPDATE fact SET estimated = 'vanished' WHERE number = 5", 5),
        (
            "UPDATE fact SET body = replace(body, 'team', 'them') WHERE number = 3",
            3,
        ),
        ("UPDATE fact SET uid = 'x' WHERE number = 8", 8),
    ] {
        let broken = after(sql).expect_err(sql);
        assert!(
            matches!(broken, Broken::Changed { row: it, .. } if it == row),
            "{sql}: {broken}"
        );
    }
    for (sql, row) in [
        ("DELETE FROM fact WHERE number = 4", 4),
        ("DELETE FROM fact WHERE number = 8", 8),
        ("DELETE FROM fact", 1),
    ] {
        let broken = after(sql).expect_err(sql);
        assert!(
            matches!(broken, Broken::Missing { row: it, .. } if it == row),
            "{sql}: {broken}"
        );
    }
    let broken = after("INSERT INTO fact SELECT 9, 'x', transition, version, second, estimated, body, hash FROM fact WHERE number = 8").expect_err("put in");
    assert!(matches!(broken, Broken::Beyond { row: 9, .. }), "{broken}");
    let broken =
        after("UPDATE long_body SET body = replace(body, 'gpu-0', 'gpu-1')").expect_err("text");
    assert!(matches!(broken, Broken::Text { .. }), "{broken}");
    let broken = after("UPDATE head SET hash = zeroblob(32)").expect_err("head");
    assert!(matches!(broken, Broken::Changed { row: 8, .. }), "{broken}");
}

#[test]
fn a_file_that_is_no_ledger_or_of_another_time_is_refused_by_name() {
    let (_folder, path, place) = file();
    std::fs::write(&path, "not a database, but long enough to be taken for one").expect("written");
    let error = place.open().expect_err("refused").to_string();
    assert!(error.contains("ledger.db"), "{error}");
    let (_folder, path, place) = file();
    drop(place.open().expect("opened"));
    rusqlite::Connection::open(path)
        .expect("opened")
        .execute_batch("UPDATE head SET format = 99")
        .expect("done");
    assert!(matches!(
        place.open(),
        Err(LedgerError::Format { found: 99, .. })
    ));
}

#[test]
fn case_37_numbers_beyond_63_bits_are_refused() {
    let (_folder, _, place) = file();
    let mut ledger = place.open().expect("opened");
    let error = ledger
        .append(&[holds("c", u64::MAX, 0, "gpu-0")], &[])
        .expect_err("refused");
    assert!(matches!(error, LedgerError::Unfit { .. }), "{error}");
    assert_eq!(ledger.head().expect("read").number, 0);
}

#[test]
fn case_20_what_comes_late_is_corrected_in_a_later_period_and_both_together_are_the_truth() {
    let (_folder, _, place) = file();
    let mut ledger = place.open().expect("opened");
    let period = span(0, 3600);
    assert!(matches!(
        corrections(&mut ledger, &Weights::Compute, period),
        Err(CorrectionError::Open { .. })
    ));
    ledger.append(&history(), &[]).expect("kept");
    let sealed = ledger.seal(period, second(3700)).expect("sealed");
    assert_eq!(
        corrections(&mut ledger, &Weights::Compute, period).expect("read"),
        []
    );
    // A claim that nobody had seen, and the end of one that was thought to go on.
    ledger
        .append(
            &[
                holds("late", 4, 100, "gpu-0-mig-1g10gb-19-5"),
                gone("late", 8, 200),
                gone("b", 9, 300),
            ],
            &[],
        )
        .expect("kept");
    let found = corrections(&mut ledger, &Weights::Compute, period).expect("read");
    let account = |ledger: &mut Ledger, upto| -> Vec<_> {
        let facts = ledger.read_upto(upto).expect("read").facts();
        buckets::buckets(facts, &Weights::Compute, period)
            .collect::<Result<_, _>>()
            .expect("sound")
    };
    let closed = account(&mut ledger, sealed);
    let head = ledger.head().expect("read").number;
    let truth = account(&mut ledger, head);
    let mut corrected = closed.clone();
    for correction in &found {
        match correction {
            Correction::Add(entry) => corrected.push(entry.clone()),
            Correction::TakeBack(entry) => {
                let at = corrected
                    .iter()
                    .position(|it| it == entry)
                    .expect("it was accounted");
                corrected.remove(at);
            }
        }
    }
    assert_eq!(sums(&corrected), sums(&truth));
    assert_eq!(sold(&corrected, "late"), ratio(100, 7));
    assert_eq!(sold(&closed, "late"), ratio(0, 1));
    assert_eq!(total(&corrected), ratio(3600, 1));
}
