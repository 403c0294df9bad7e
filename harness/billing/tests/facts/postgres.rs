//! The ledger in a real PostgreSQL: the same rules, the same rows, and what happens when it goes away.

use billing::LedgerError;

use super::fixture::*;
use super::ledger::{cursor, read, rules};
use super::server::Server;

#[test]
fn case_17_to_20_in_postgresql() {
    let Some(server) = Server::start() else {
        return;
    };
    rules(&server.place());
}

#[test]
fn both_databases_have_the_same_rows_and_hashes() {
    let Some(server) = Server::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = billing::Place::File(folder.path().join("ledger.db"));
    let mut facts = published("n", "H100-SXM5-80GB", 8, 0);
    facts.extend((0..500).map(|it| {
        holds(
            &format!("c{}", it % 97),
            it / 97 + 3,
            it.cast_signed() % 13,
            "gpu-0",
        )
    }));
    let mut heads = Vec::new();
    let mut told = Vec::new();
    for place in [server.place(), file] {
        let mut ledger = place.open().expect("opened");
        for part in facts.chunks(33) {
            ledger.append(part, &[]).expect("kept");
        }
        ledger.verify().expect("unbroken");
        heads.push(ledger.head().expect("read"));
        told.push(read(&mut ledger));
    }
    assert_eq!(heads[0], heads[1]);
    assert_eq!(told[0], told[1]);
}

#[test]
fn a_database_that_goes_and_comes_back_loses_nothing_and_keeps_nothing_twice() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let mut ledger = server.place().open().expect("opened");
    ledger
        .append(&[holds("a", 1, 1, "gpu-0")], &[cursor("1", 1)])
        .expect("kept");
    server.down();
    let more = [gone("a", 2, 2), holds("b", 3, 3, "gpu-0")];
    let error = ledger.append(&more, &[cursor("3", 3)]).expect_err("away");
    assert!(matches!(error, LedgerError::Away { .. }), "{error}");
    assert!(error.may_pass());
    server.up().expect("back");
    assert_eq!(
        ledger.append(&more, &[cursor("3", 3)]).expect("kept").new,
        2
    );
    // A meter that did not hear that it was kept says it again.
    assert_eq!(
        ledger.append(&more, &[cursor("3", 3)]).expect("kept").new,
        0
    );
    assert_eq!(ledger.verify().expect("unbroken").rows, 3);
    assert_eq!(ledger.cursors("cluster").expect("read"), [cursor("3", 3)]);
}

#[test]
fn two_meters_that_write_at_once_keep_one_chain() {
    let Some(server) = Server::start() else {
        return;
    };
    let place = server.place();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut ledger = place.open().expect("opened");
                for it in 0..40 {
                    ledger
                        .append(
                            &[
                                holds("c", it, it.cast_signed(), "gpu-0"),
                                gone("d", it, it.cast_signed()),
                            ],
                            &[],
                        )
                        .expect("kept");
                }
            });
        }
    });
    assert_eq!(
        place
            .open()
            .expect("opened")
            .verify()
            .expect("unbroken")
            .rows,
        80
    );
}

#[test]
fn an_edit_shows_there_too() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut ledger = server.place().open().expect("opened");
    ledger
        .append(&[holds("a", 1, 1, "gpu-0"), gone("a", 2, 9)], &[])
        .expect("kept");
    let mut other = postgres::Client::connect(&server.url(), postgres::NoTls).expect("connected");
    other
        .batch_execute("UPDATE fact SET second = second - 3 WHERE number = 2")
        .expect("done");
    let broken = ledger.verify().expect_err("changed");
    assert!(
        matches!(broken, billing::ledger::Broken::Changed { row: 2, .. }),
        "{broken}"
    );
}
