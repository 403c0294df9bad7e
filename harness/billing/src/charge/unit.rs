//! What a second of a line costs, looked up once when the line begins: between two changes of the book it stays the same.

use super::{ChargeError, Lines, Slot};
use crate::book::{Currency, Fx, Kind, Per, PriceBook, Rate};
use crate::entry::Card;
use crate::ratio::Ratio;
use crate::time::Seconds;

/// The prices of a line.
#[derive(Clone, Debug)]
pub(super) struct Units {
    /// What the card costs.
    pub(super) cost: Unit,
    /// What the share is sold for; `None` where it is not sold, or for what it costs.
    pub(super) sold: Option<Unit>,
    /// The same for the smallest partition that would have fitted.
    pub(super) needed: Option<Unit>,
    /// What the tenant pays less.
    pub(super) discount: Ratio,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// In the invoice's currency, exactly.
    pub(super) a_second: Ratio,
    /// As in the book, `1559/month`.
    pub(super) shown: String,
    pub(super) currency: Currency,
    pub(super) fx: Option<Fx>,
    /// The price of the partition as it is, and not of a share of the card.
    pub(super) flat: bool,
    pub(super) source: String,
    pub(super) minimum: i64,
    pub(super) step: i64,
    /// In the invoice's currency.
    pub(super) cap: Option<Ratio>,
}

impl Unit {
    fn of(book: &PriceBook, rate: &Rate, at: Seconds) -> Result<Option<Self>, ChargeError> {
        let Some(price) = rate.price else {
            return Ok(None);
        };
        let fx =
            match rate.currency == book.currency {
                true => None,
                false => Some(*book.exchange(rate.currency, at).ok_or_else(|| {
                    ChargeError::NoExchange {
                        book: book.name.clone(),
                        from: rate.currency.code(),
                        at,
                    }
                })?),
            };
        let seconds = match price.per {
            Per::Hour => 3600,
            Per::Month => book.month.seconds(at),
        };
        let exchanged = |amount: Ratio| match &fx {
            Some(fx) => amount.times(fx.rate),
            None => Ok(amount),
        };
        Ok(Some(Self {
            a_second: exchanged(price.amount)?.over(Ratio::whole(seconds))?,
            shown: price.to_string(),
            currency: rate.currency,
            fx,
            flat: rate.profile.is_some(),
            source: rate.source.clone(),
            minimum: rate.minimum,
            step: rate.step,
            cap: rate.cap.map(exchanged).transpose()?,
        }))
    }

    pub(super) fn is_by_claim(&self) -> bool {
        self.minimum > 0 || self.step > 1 || self.cap.is_some()
    }
}

impl Units {
    pub(super) fn of(
        book: &PriceBook,
        slot: &Slot,
        card: &Card,
        at: Seconds,
        by: Lines,
    ) -> Result<Self, ChargeError> {
        let missing = |kind: &'static str, profile: Option<&str>| ChargeError::NoPrice {
            card: card.to_string(),
            book: book.name.clone(),
            kind,
            model: card.model.clone(),
            profile: profile
                .map(|it| format!(", profile {it}"))
                .unwrap_or_default(),
            at,
        };
        let unit =
            |profile: Option<&str>, kind: Kind| match book.rate(&card.model, profile, kind, at) {
                Some(rate) => Unit::of(book, rate, at),
                None => Ok(None),
            };
        let own = unit(None, Kind::Cost)?;
        // Without a cost, the card is worth what it is sold for.
        let showback = own.is_some();
        let cost = match own {
            Some(cost) => cost,
            None => {
                unit(None, Kind::OnDemand)?.ok_or_else(|| missing("cost or on-demand", None))?
            }
        };
        let mut units = Self {
            cost,
            sold: None,
            needed: None,
            discount: Ratio::ZERO,
        };
        if let Slot::Sold(sold) = slot {
            let profile = sold.profile.as_deref();
            let (kind, word) = match sold.spot {
                true => (Kind::Spot, "spot"),
                false => (Kind::OnDemand, "on-demand"),
            };
            units.sold = unit(profile, kind)?;
            if units.sold.is_none() && (book.sells(&card.model) || !showback) {
                return Err(missing(word, profile));
            }
            if let Some(needed) = &sold.needed {
                units.needed = unit(Some(&needed.profile), kind)?;
            }
            units.discount = book.discount(&sold.tenant, at);
            let by_claim = units.sold.as_ref().is_some_and(Unit::is_by_claim);
            if by == Lines::Tenant && by_claim {
                return Err(ChargeError::ByClaim {
                    model: card.model.clone(),
                });
            }
        }
        Ok(units)
    }
}
