//! Exact charges become lines in whole cents: the one rounding there is. All lines of a card add up to what the card cost,
//! and all lines of a card at one price to what they cost together; each split is by largest remainder, ties to the lowest UID.

use std::collections::{BTreeMap, BTreeSet};

use super::unit::Unit;
use super::{
    Amount, ChargeError, Charging, Exchange, Key, Line, LineKind, Paid, Slot, Sold, Tally,
};
use crate::book::IdleCost;
use crate::entry::Card;
use crate::ratio::Ratio;
use crate::split::{Share, round_together, split};
use crate::time::Span;

/// The lines of a period, and what they were made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charges {
    /// Lines: what is sold by tenant and claim, then for each card what is idle, stranded, out of service.
    pub lines: Vec<Line>,
    /// Digest of the entries, whatever their order.
    pub digest: String,
    /// How many entries lay in the period.
    pub entries: u64,
}

/// A line before it is rounded.
struct Draft {
    line: Line,
    /// For ties.
    id: String,
    card: u32,
    cost: Ratio,
    list: Ratio,
    billed: Ratio,
    /// Lines of one card with the same number are one price and rounded together; `None` is rounded alone.
    price: Option<usize>,
    unit: Option<Unit>,
    consumers: Vec<(String, String, Ratio)>,
}

impl Charging<'_> {
    /// All lines, rounded.
    ///
    /// # Errors
    /// More of a card is accounted for than there is; a number that does not fit.
    pub fn done(mut self) -> Result<Charges, ChargeError> {
        self.always()?;
        let mut keyed: Vec<(Key, Tally)> = std::mem::take(&mut self.lines).into_iter().collect();
        // By name and not by the order in which cards were met.
        keyed.sort_by(|(a, _), (b, _)| {
            let card = |key: &Key| &self.cards[key.card as usize];
            (kind(&a.slot), &a.slot, card(a), a.month, a.segment).cmp(&(
                kind(&b.slot),
                &b.slot,
                card(b),
                b.month,
                b.segment,
            ))
        });
        let mut prices: Vec<(String, Ratio, Ratio)> = Vec::new();
        let mut drafts = Vec::with_capacity(keyed.len());
        for (key, tally) in &keyed {
            drafts.push(self.draft(key, tally, &mut prices)?);
        }
        drafts.extend(self.unmetered(&keyed)?);
        by_claim(&mut drafts)?;
        let lines = self.rounded(drafts)?;
        Ok(Charges {
            lines,
            digest: self.digests.hex(),
            entries: self.digests.count(),
        })
    }

    /// Idle, stranded and out of service have a line for each card even where there is none of it.
    fn always(&mut self) -> Result<(), ChargeError> {
        let mut firsts: BTreeMap<u32, ((u32, i64), super::Presence)> = BTreeMap::new();
        for ((card, segment, month), presence) in &self.presence {
            let first = || ((*segment, *month), presence.clone());
            firsts.entry(*card).or_insert_with(first);
        }
        let has: BTreeSet<(u32, LineKind)> = self
            .lines
            .keys()
            .map(|key| (key.card, kind(&key.slot)))
            .collect();
        for (card, ((segment, month), presence)) in firsts {
            for slot in [
                Slot::Idle,
                Slot::Stranded,
                Slot::OutOfService(String::new()),
            ] {
                if has.contains(&(card, kind(&slot))) {
                    continue;
                }
                let model = &self.cards[card as usize];
                let units = super::Units::of(self.book, &slot, model, presence.from, self.by)?;
                let tally = Tally {
                    held: Default::default(),
                    needed: Default::default(),
                    seconds: 0,
                    from: presence.from,
                    until: presence.until,
                    holder: None,
                    consumers: BTreeMap::new(),
                    estimated: Default::default(),
                    units,
                };
                let key = Key {
                    slot,
                    card,
                    segment,
                    month,
                };
                self.lines.insert(key, tally);
            }
        }
        Ok(())
    }

    fn draft(
        &self,
        key: &Key,
        tally: &Tally,
        prices: &mut Vec<(String, Ratio, Ratio)>,
    ) -> Result<Draft, ChargeError> {
        let held = tally.held.total()?;
        let cost = held.times(tally.units.cost.a_second)?;
        let card = &self.cards[key.card as usize];
        let span = Span::new(tally.from, tally.until).unwrap_or(self.period);
        let mut line = blank(kind(&key.slot), card, span, self.book.currency.digits());
        line.seconds = tally.seconds;
        line.share_seconds = held;
        line.estimated = tally.estimated.iter().cloned().collect();
        let mut draft = Draft {
            id: format!("~{}", line.kind.word()),
            line,
            card: key.card,
            cost,
            list: Ratio::ZERO,
            billed: Ratio::ZERO,
            price: None,
            unit: None,
            consumers: Vec::new(),
        };
        show_price(&mut draft.line, &tally.units.cost);
        draft.line.priced_seconds = held;
        draft.line.showback = !self.book.sells(&card.model);
        if draft.line.showback {
            draft.line.hourly = tally.units.cost.a_second.times(Ratio::whole(3600))?;
        }
        match &key.slot {
            Slot::Idle | Slot::Stranded => {}
            Slot::OutOfService(reason) => {
                draft.line.reason = Some(reason.clone()).filter(|it| !it.is_empty())
            }
            Slot::Overlay(sold) => self.name(&mut draft, sold, tally)?,
            Slot::Sold(sold) => {
                self.name(&mut draft, sold, tally)?;
                self.sell(&mut draft, sold, tally, held, prices)?;
            }
        }
        Ok(draft)
    }

    fn name(&self, draft: &mut Draft, sold: &Sold, tally: &Tally) -> Result<(), ChargeError> {
        let line = &mut draft.line;
        line.tenant = Some(sold.tenant.clone());
        line.device = sold.device.clone();
        line.profile = sold.profile.clone();
        line.spot = sold.spot;
        draft.id = format!("{}{}", sold.claim, sold.tenant);
        if let Some(holder) = &tally.holder {
            draft.id = holder.claim_uid.clone();
            line.claim_uid = Some(holder.claim_uid.clone());
            line.claim = Some(holder.name.clone());
            line.device_class = holder.device_class.clone();
            line.request = Some(holder.request.clone());
        }
        for (consumer, sum) in &tally.consumers {
            draft
                .consumers
                .push((consumer.uid.clone(), consumer.name.clone(), sum.total()?));
        }
        Ok(())
    }

    fn sell(
        &self,
        draft: &mut Draft,
        sold: &Sold,
        tally: &Tally,
        held: Ratio,
        prices: &mut Vec<(String, Ratio, Ratio)>,
    ) -> Result<(), ChargeError> {
        let units = &tally.units;
        let amount = |unit: &Unit, held: Ratio| match unit.flat {
            true => unit.a_second.times(Ratio::whole(tally.seconds)),
            false => unit.a_second.times(held),
        };
        let Some(unit) = &units.sold else {
            draft.list = draft.cost;
            draft.billed = draft.cost;
            return Ok(());
        };
        show_price(&mut draft.line, unit);
        draft.line.hourly = unit.a_second.times(Ratio::whole(3600))?;
        if unit.flat {
            draft.line.priced_seconds = Ratio::whole(tally.seconds);
        }
        draft.list = amount(unit, held)?;
        let mut billed = draft.list;
        if let (Some(_), Some(needed)) = (&sold.needed, &units.needed) {
            let least = amount(needed, tally.needed.total()?)?;
            draft.line.misallocated = Some(draft.list.minus(least)?);
            if self.pays_for_needed() {
                billed = least;
            }
        }
        draft.billed = billed.times(Ratio::ONE.minus(units.discount)?)?;
        draft.line.discount = units.discount;
        draft.unit = Some(unit.clone());
        if self.is_free(sold) {
            draft.billed = Ratio::ZERO;
            draft.line.reason =
                Some("no pod had reserved it, and the price book excludes that".to_owned());
        }
        if !unit.flat {
            let key = (unit.shown.clone(), unit.a_second, units.discount);
            let known = prices.iter().position(|it| *it == key);
            draft.price = Some(known.unwrap_or_else(|| {
                prices.push(key);
                prices.len() - 1
            }));
        }
        Ok(())
    }

    /// What the ledger does not say of a card between its first second and its last; more than there is is refused.
    fn unmetered(&self, keyed: &[(Key, Tally)]) -> Result<Vec<Draft>, ChargeError> {
        let mut drafts = Vec::new();
        for ((card, segment, month), presence) in &self.presence {
            let span = Span::new(presence.from, presence.until).unwrap_or(self.period);
            let held = presence.held.total()?;
            let whole = Ratio::whole(span.seconds());
            if held > whole {
                return Err(ChargeError::OverCapacity {
                    card: self.cards[*card as usize].to_string(),
                    span,
                    share: held,
                    seconds: span.seconds(),
                });
            }
            let gap = whole.minus(held)?;
            if gap.is_zero() {
                continue;
            }
            let same = |key: &Key| (key.card, key.segment, key.month) == (*card, *segment, *month);
            let Some((_, tally)) = keyed.iter().find(|(key, _)| same(key)) else {
                continue;
            };
            let card_of = &self.cards[*card as usize];
            let mut line = blank(
                LineKind::Unmetered,
                card_of,
                span,
                self.book.currency.digits(),
            );
            line.share_seconds = gap;
            line.reason = Some("the ledger says nothing of it".to_owned());
            line.priced_seconds = gap;
            line.showback = !self.book.sells(&card_of.model);
            if line.showback {
                line.hourly = tally.units.cost.a_second.times(Ratio::whole(3600))?;
            }
            show_price(&mut line, &tally.units.cost);
            drafts.push(Draft {
                id: "~unmetered".to_owned(),
                line,
                card: *card,
                cost: gap.times(tally.units.cost.a_second)?,
                list: Ratio::ZERO,
                billed: Ratio::ZERO,
                price: None,
                unit: None,
                consumers: Vec::new(),
            });
        }
        Ok(drafts)
    }

    fn rounded(&self, mut drafts: Vec<Draft>) -> Result<Vec<Line>, ChargeError> {
        let (digits, rounding) = (self.book.currency.digits(), self.book.rounding);
        let together = |drafts: &[Draft], group: &[usize], of: fn(&Draft) -> Ratio| {
            let shares: Vec<Share<'_>> = group
                .iter()
                .map(|at| Share {
                    id: &drafts[*at].id,
                    amount: of(&drafts[*at]),
                })
                .collect();
            round_together(&shares, digits, rounding)
        };
        let mut cards: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut prices: BTreeMap<(u32, Option<usize>, usize), Vec<usize>> = BTreeMap::new();
        for (at, draft) in drafts.iter().enumerate() {
            if draft.line.kind != LineKind::Administrative {
                cards.entry(draft.card).or_default().push(at);
            }
            if draft.line.kind == LineKind::Sold && !draft.line.showback {
                let alone = if draft.price.is_none() { at } else { 0 };
                prices
                    .entry((draft.card, draft.price, alone))
                    .or_default()
                    .push(at);
            }
        }
        for group in cards.values() {
            for (at, units) in group.iter().zip(together(&drafts, group, |it| it.cost)?) {
                drafts[*at].line.cost.units = units;
            }
            if self.book.idle == IdleCost::Spread {
                spread(&mut drafts, group)?;
            }
        }
        for group in prices.values() {
            let list = together(&drafts, group, |it| it.list)?;
            let billed = together(&drafts, group, |it| it.billed)?;
            for ((at, list), billed) in group.iter().zip(list).zip(billed) {
                drafts[*at].line.list.units = list;
                drafts[*at].line.billed.units = billed;
            }
        }
        let finished = drafts.into_iter().map(|mut draft| {
            if draft.line.showback && draft.line.kind == LineKind::Sold {
                draft.line.list = draft.line.cost;
                draft.line.billed = draft.line.cost;
            }
            draft.line.exactly = draft.billed;
            draft.line.cost_exactly = draft.cost;
            let shares: Vec<Share<'_>> = draft
                .consumers
                .iter()
                .map(|(uid, _, amount)| Share {
                    id: uid,
                    amount: *amount,
                })
                .collect();
            if !shares.is_empty() {
                let parts = split(draft.line.billed.units, &shares)?;
                draft.line.consumers = draft
                    .consumers
                    .iter()
                    .zip(parts)
                    .map(|((uid, name, _), units)| Paid {
                        uid: uid.clone(),
                        name: name.clone(),
                        billed: Amount { units, digits },
                    })
                    .collect();
            }
            Ok(draft.line)
        });
        finished.collect()
    }
}

/// The idle cost of a card over its claims by what they held; the idle line is zero then. Without claims it stays.
fn spread(drafts: &mut [Draft], group: &[usize]) -> Result<(), ChargeError> {
    let of = |kind: LineKind| {
        group
            .iter()
            .copied()
            .filter(|at| drafts[*at].line.kind == kind)
            .collect::<Vec<_>>()
    };
    let (idle, sold) = (of(LineKind::Idle), of(LineKind::Sold));
    let total: i128 = idle.iter().map(|at| drafts[*at].line.cost.units).sum();
    let shares: Vec<Share<'_>> = sold
        .iter()
        .map(|at| Share {
            id: &drafts[*at].id,
            amount: drafts[*at].line.share_seconds,
        })
        .collect();
    if total == 0 || shares.iter().all(|it| it.amount.is_zero()) {
        return Ok(());
    }
    let parts = split(total, &shares)?;
    for (at, units) in sold.into_iter().zip(parts) {
        let line = &mut drafts[at].line;
        line.cost.units += units;
        line.spread = Some(Amount { units, ..line.cost });
    }
    for at in idle {
        let line = &mut drafts[at].line;
        line.reason = Some(format!("{} spread over the claims of the card", line.cost));
        line.cost.units = 0;
    }
    Ok(())
}

/// A claim's device: UID, request, device, card.
type Held = (String, Option<String>, Option<String>, u32);

/// Steps, minimums and caps are those of a claim and device over all its lines.
fn by_claim(drafts: &mut [Draft]) -> Result<(), ChargeError> {
    let mut claims: BTreeMap<Held, Vec<usize>> = BTreeMap::new();
    for (at, draft) in drafts.iter().enumerate() {
        let line = &draft.line;
        if draft.unit.as_ref().is_some_and(Unit::is_by_claim)
            && let Some(uid) = &line.claim_uid
        {
            let key = (
                uid.clone(),
                line.request.clone(),
                line.device.clone(),
                draft.card,
            );
            claims.entry(key).or_default().push(at);
        }
    }
    for mut lines in claims.into_values() {
        lines.sort_by_key(|at| drafts[*at].line.span);
        let total: i64 = lines.iter().map(|at| drafts[*at].line.seconds).sum();
        let Some(last) = lines.last().copied() else {
            continue;
        };
        if let Some(unit) = drafts[last].unit.clone()
            && !drafts[last].billed.is_zero()
        {
            let least = total.max(unit.minimum);
            let paid = match least % unit.step {
                0 => least,
                rest => least + unit.step - rest,
            };
            let (line, seconds) = (&drafts[last].line, drafts[last].line.seconds);
            if paid > total && seconds > 0 {
                // At the price of the last line, for the share that it had on average.
                let more = Ratio::new((paid - total).into(), seconds.into())?;
                let more = Ratio::ONE.plus(more)?;
                let added = paid - total + line.added_seconds;
                let draft = &mut drafts[last];
                draft.list = draft.list.times(more)?;
                draft.billed = draft.billed.times(more)?;
                draft.line.priced_seconds = draft.line.priced_seconds.times(more)?;
                draft.line.added_seconds = added;
            }
        }
        let mut left: Option<Ratio> = None;
        for at in lines {
            let Some(cap) = drafts[at].unit.as_ref().and_then(|it| it.cap) else {
                continue;
            };
            let room = left.unwrap_or(cap);
            if drafts[at].billed > room {
                drafts[at].billed = room;
                drafts[at].line.capped = true;
            }
            left = Some(room.minus(drafts[at].billed)?);
        }
    }
    Ok(())
}

fn kind(slot: &Slot) -> LineKind {
    match slot {
        Slot::Sold(_) => LineKind::Sold,
        Slot::Idle => LineKind::Idle,
        Slot::Stranded => LineKind::Stranded,
        Slot::OutOfService(_) => LineKind::OutOfService,
        Slot::Overlay(_) => LineKind::Administrative,
    }
}

fn show_price(line: &mut Line, unit: &Unit) {
    line.price = format!("{} {}", unit.shown, unit.currency);
    line.source.clone_from(&unit.source);
    line.exchange = unit.fx.map(|fx| Exchange {
        from: fx.from.code().to_owned(),
        rate: fx.rate,
        on: fx.on,
    });
}

fn blank(kind: LineKind, card: &Card, span: Span, digits: u32) -> Line {
    let nothing = Amount { units: 0, digits };
    Line {
        kind,
        reason: None,
        tenant: None,
        claim_uid: None,
        claim: None,
        device_class: None,
        request: None,
        card: card.clone(),
        device: None,
        profile: None,
        spot: false,
        span,
        seconds: 0,
        share_seconds: Ratio::ZERO,
        price: String::new(),
        source: String::new(),
        hourly: Ratio::ZERO,
        priced_seconds: Ratio::ZERO,
        showback: false,
        exchange: None,
        discount: Ratio::ZERO,
        added_seconds: 0,
        capped: false,
        list: nothing,
        billed: nothing,
        cost: nothing,
        spread: None,
        exactly: Ratio::ZERO,
        cost_exactly: Ratio::ZERO,
        misallocated: None,
        consumers: Vec::new(),
        estimated: Vec::new(),
        correction: None,
    }
}
