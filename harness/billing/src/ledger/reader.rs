//! Facts in the order of time, with corrections applied: a merge of the rows, a page at a time, with the few that were corrected.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;

use super::stored::{Key, Row, Stored};
use super::{LedgerError, Store};
use crate::fact::{Fact, What, Why};

/// Rows that are in memory at a time.
const PAGE: u32 = 4096;

/// Rows in the order of time. Memory does not grow with the ledger.
pub struct Facts<'l> {
    store: &'l mut dyn Store,
    upto: u64,
    page: VecDeque<Stored>,
    after: Key,
    ended: bool,
    /// Rows that are corrected, and so are not taken where they stand.
    skipped: BTreeMap<u64, ()>,
    corrected: Peekable<std::vec::IntoIter<Row>>,
}

impl std::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts")
            .field("upto", &self.upto)
            .finish_non_exhaustive()
    }
}

impl<'l> Facts<'l> {
    pub(super) fn new(store: &'l mut dyn Store, upto: u64) -> Result<Self, LedgerError> {
        // Of several corrections of a row the last counts.
        let mut last = BTreeMap::new();
        for stored in store.of_transition("corrects", upto)? {
            let correction = stored.row(store)?.fact;
            if let What::Corrects { row, void, .. } = correction.what {
                last.insert(row, (correction.at, void));
            }
        }
        let numbers: Vec<u64> = last.keys().copied().filter(|row| *row <= upto).collect();
        let mut corrected = Vec::new();
        for stored in store.numbered(&numbers)? {
            let mut row = stored.row(store)?;
            if let Some((at, false)) = last.get(&row.number) {
                row.fact.at = *at;
                row.fact.estimated = Some(Why::Corrected);
                corrected.push(row);
            }
        }
        corrected.sort_by(|a, b| a.fact.order().cmp(&b.fact.order()));
        Ok(Self {
            store,
            upto,
            page: VecDeque::new(),
            after: Key::start(),
            ended: false,
            skipped: last.keys().map(|row| (*row, ())).collect(),
            corrected: corrected.into_iter().peekable(),
        })
    }

    /// The next row that stands where it was written.
    fn plain(&mut self) -> Result<Option<Stored>, LedgerError> {
        loop {
            while let Some(stored) = self.page.pop_front() {
                if !self.skipped.contains_key(&stored.number) {
                    return Ok(Some(stored));
                }
            }
            if self.ended {
                return Ok(None);
            }
            let page = self.store.by_time(&self.after, self.upto, PAGE)?;
            self.ended = page.len() < PAGE as usize;
            if let Some(last) = page.last() {
                self.after = last.key();
            }
            self.page = page.into();
        }
    }

    fn row(&mut self) -> Result<Option<Row>, LedgerError> {
        let Some(stored) = self.plain()? else {
            return Ok(self.corrected.next());
        };
        if let Some(corrected) = self.corrected.peek() {
            let (at, version, uid, transition) = corrected.fact.order();
            let key = (at.get(), version.cast_signed(), &*uid.0, transition);
            let other = stored.key();
            if key
                < (
                    other.at,
                    other.version,
                    other.uid.as_str(),
                    other.transition.as_str(),
                )
            {
                self.page.push_front(stored);
                return Ok(self.corrected.next());
            }
        }
        stored.row(self.store).map(Some)
    }

    /// The facts without their numbers.
    pub fn facts(self) -> impl Iterator<Item = Result<Fact, LedgerError>> {
        self.map(|row| row.map(|row| row.fact))
    }
}

impl Iterator for Facts<'_> {
    type Item = Result<Row, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.row().transpose();
        if let Some(Err(_)) = row {
            self.ended = true;
            self.page.clear();
            self.corrected = Vec::new().into_iter().peekable();
        }
        row
    }
}
