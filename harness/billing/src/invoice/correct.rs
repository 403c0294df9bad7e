//! Corrections: what was issued stays as it is; what it should have been is a signed row of a later period.

use std::collections::BTreeMap;

use super::Invoice;
use crate::charge::{Amount, Correction, Line, LineKind};
use crate::entry::Card;
use crate::ratio::{Arithmetic, Ratio};

/// What cannot be corrected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorrectError {
    /// Two currencies.
    #[error(
        "invoice {invoice} is in {was}, the new one in {is}: correct with a price book of the same currency"
    )]
    Currency {
        /// The invoice that was issued.
        invoice: String,
        /// Its currency.
        was: &'static str,
        /// The new one.
        is: &'static str,
    },
    /// Two grains.
    #[error("invoice {invoice} has lines by {was:?}, the new one by {is:?}: ask for the same")]
    Lines {
        /// The invoice that was issued.
        invoice: String,
        /// Its grain.
        was: crate::charge::Lines,
        /// The new one.
        is: crate::charge::Lines,
    },
    /// A number that does not fit.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
}

type Identity = (
    LineKind,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Card,
    bool,
    Option<String>,
);

fn identity(line: &Line) -> Identity {
    (
        line.kind,
        line.tenant.clone(),
        line.claim_uid.clone(),
        line.request.clone(),
        line.device.clone(),
        line.profile.clone(),
        line.card.clone(),
        line.spot,
        // What is out of service for another reason is another line.
        line.reason
            .clone()
            .filter(|_| line.kind == LineKind::OutOfService),
    )
}

#[derive(Default)]
struct Sums {
    list: i128,
    billed: i128,
    cost: i128,
    seconds: i64,
    share_seconds: Ratio,
    exactly: Ratio,
    cost_exactly: Ratio,
    line: Option<Line>,
}

impl Sums {
    fn add(&mut self, line: &Line, sign: i64) -> Result<(), Arithmetic> {
        let signed = |ratio: Ratio| ratio.times(Ratio::whole(sign));
        self.list += line.list.units * i128::from(sign);
        self.billed += line.billed.units * i128::from(sign);
        self.cost += line.cost.units * i128::from(sign);
        self.seconds += line.seconds * sign;
        self.share_seconds = self.share_seconds.plus(signed(line.share_seconds)?)?;
        self.exactly = self.exactly.plus(signed(line.exactly)?)?;
        self.cost_exactly = self.cost_exactly.plus(signed(line.cost_exactly)?)?;
        if self.line.is_none() || sign > 0 {
            self.line = Some(line.clone());
        }
        Ok(())
    }
}

/// What has to be corrected of an issued invoice: `now` is the same period charged anew, `later` are invoices that were issued
/// since, whose corrections of it count as issued too. Lines that did not change are not there.
///
/// # Errors
/// Another currency or grain; a number that does not fit.
pub fn corrections(
    issued: &Invoice,
    later: &[Invoice],
    now: &Invoice,
) -> Result<Vec<Line>, CorrectError> {
    if issued.currency != now.currency {
        return Err(CorrectError::Currency {
            invoice: issued.id.clone(),
            was: issued.currency.code(),
            is: now.currency.code(),
        });
    }
    if issued.by != now.by {
        return Err(CorrectError::Lines {
            invoice: issued.id.clone(),
            was: issued.by,
            is: now.by,
        });
    }
    let mut all: BTreeMap<Identity, Sums> = BTreeMap::new();
    let own = issued.lines.iter().filter(|line| line.correction.is_none());
    let since = later.iter().flat_map(|it| &it.lines).filter(|line| {
        let of = line.correction.as_ref();
        of.is_some_and(|it| it.period == issued.period)
    });
    for line in own.chain(since) {
        all.entry(identity(line)).or_default().add(line, -1)?;
    }
    for line in now.lines.iter().filter(|line| line.correction.is_none()) {
        all.entry(identity(line)).or_default().add(line, 1)?;
    }
    let digits = issued.currency.digits();
    let changed = all.into_values().filter_map(|sums| {
        let amount = |units: i128| Amount { units, digits };
        let same = sums.list == 0
            && sums.billed == 0
            && sums.cost == 0
            && sums.seconds == 0
            && sums.share_seconds.is_zero();
        let mut line = sums.line.filter(|_| !same)?;
        line.list = amount(sums.list);
        line.billed = amount(sums.billed);
        line.cost = amount(sums.cost);
        line.seconds = sums.seconds;
        line.share_seconds = sums.share_seconds;
        line.exactly = sums.exactly;
        line.cost_exactly = sums.cost_exactly;
        line.spread = None;
        line.misallocated = None;
        line.consumers.clear();
        line.added_seconds = 0;
        line.correction = Some(Correction {
            period: issued.period,
            invoice: issued.id.clone(),
        });
        Some(line)
    });
    Ok(changed.collect())
}
