//! What an account writes: stretches as entries of its period, and who a holder is.

use super::account::{Account, CardKey};
use super::card::Stretch;
use crate::entry::{Consumer, Entry, Holder};
use crate::fact::{Claim, Held, Uid};
use crate::time::{Seconds, Span};

impl Account {
    /// Writes what has ended, as far as it lies in the period.
    pub(super) fn write(
        &mut self,
        key: &CardKey,
        ended: impl IntoIterator<Item = Stretch>,
        until: Seconds,
    ) {
        let Some(card) = self.cards.get(key) else {
            return;
        };
        let card = &card.published.card;
        for stretch in ended {
            // Whatever begins does so no later than now, for facts are in order.
            let span = Span::new(stretch.since, until).ok();
            let Some(span) = span.and_then(|span| span.within(self.period)) else {
                continue;
            };
            for (span, gap) in at_gaps(span, &self.gaps) {
                let why = stretch.estimated.iter().map(ToString::to_string);
                let why: Vec<String> = why
                    .chain(gap.then(|| "nobody watched".to_owned()))
                    .collect();
                let (device, profile) = stretch
                    .device
                    .clone()
                    .map_or((None, None), |(device, profile)| (Some(device), profile));
                self.entries.push_back(Entry {
                    card: card.clone(),
                    bucket: stretch.bucket.clone(),
                    share: stretch.share,
                    span,
                    device,
                    profile,
                    estimated: (!why.is_empty()).then(|| why.join(", ")),
                    overlay: stretch.overlay,
                    needed: None,
                });
            }
        }
    }
}

/// A span in parts that lie in a gap or outside of all.
fn at_gaps(span: Span, gaps: &[Span]) -> Vec<(Span, bool)> {
    let mut bounds: Vec<Seconds> = gaps
        .iter()
        .flat_map(|gap| [gap.from(), gap.until()])
        .collect();
    bounds.sort_unstable();
    bounds.dedup();
    let inside = |part: Span| gaps.iter().any(|gap| gap.within(part).is_some());
    span.cut_at(&bounds)
        .map(|part| (part, inside(part)))
        .collect()
}

/// The holder of a device of a claim.
pub(super) fn holder(uid: &Uid, claim: &Claim, held: &Held) -> Holder {
    let class = claim
        .requests
        .get(&held.request)
        .map(|asked| asked.class.to_string());
    Holder {
        claim_uid: uid.to_string(),
        namespace: claim.namespace.to_string(),
        name: claim.name.to_string(),
        device_class: class,
        request: held.request.to_string(),
        consumers: claim
            .consumers
            .iter()
            .map(|it| Consumer {
                uid: it.uid.to_string(),
                name: it.name.to_string(),
            })
            .collect(),
        spot: claim.spot,
    }
}
