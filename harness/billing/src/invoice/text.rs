//! An invoice for a terminal.

use std::fmt::Write as _;

use super::Invoice;
use crate::charge::Line;

impl Invoice {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let whose = self.tenant.as_deref().unwrap_or("all tenants");
        writeln!(out, "{} {} for {whose}", self.title(), self.id)?;
        writeln!(out, "from {}, {}", self.issuer, self.period)?;
        for (what, is) in self.basis() {
            writeln!(out, "{what:<9}  {is}")?;
        }
        let rows: Vec<[String; 7]> = self.lines.iter().map(row).collect();
        let head = ["", "who", "what", "card hours", "price", "billed", "cost"].map(str::to_owned);
        let mut widths = [0_usize; 7];
        for row in rows.iter().chain([&head]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        writeln!(out)?;
        for row in [&head].into_iter().chain(&rows) {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    3 | 5 | 6 => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                })
                .collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        writeln!(out)?;
        for (what, amount) in self.sums() {
            writeln!(out, "{what:<34} {amount:>14} {}", self.currency)?;
        }
        Ok(())
    }

    /// `Invoice` or `Statement`.
    pub(super) const fn title(&self) -> &'static str {
        match self.tenant {
            Some(_) => "Invoice",
            None => "Statement",
        }
    }

    /// What the amounts rest on.
    pub(super) fn basis(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("weights", format!("by {}", self.weights)),
            ("month", self.month.to_string()),
            (
                "rounding",
                format!(
                    "{} once, at the line; splits by largest remainder, ties to the lowest claim UID",
                    self.rounding.word()
                ),
            ),
            (
                "prices",
                format!("{}, {}", self.inputs.book, short(&self.inputs.book_digest)),
            ),
            (
                "entries",
                format!(
                    "{}, {}",
                    self.inputs.entries,
                    short(&self.inputs.entries_digest)
                ),
            ),
        ];
        if let Some(ledger) = &self.inputs.ledger {
            all.push(("ledger", short(ledger).to_owned()));
        }
        all
    }

    /// The sums at the end.
    pub(super) fn sums(&self) -> Vec<(String, String)> {
        let totals = &self.totals;
        let mut all = Vec::new();
        if self.tenant.is_none() {
            for (kind, amount) in &totals.by_kind {
                all.push((format!("cost, {}", kind.word()), amount.to_string()));
            }
            all.push(("cost, all".to_owned(), totals.cost.to_string()));
        }
        if totals.list != totals.billed {
            all.push((
                "before discounts and policies".to_owned(),
                totals.list.to_string(),
            ));
        }
        if totals.corrections.units != 0 {
            all.push((
                "of it corrections".to_owned(),
                totals.corrections.to_string(),
            ));
        }
        all.push(("billed".to_owned(), totals.billed.to_string()));
        if self.tenant.is_none() {
            let mut left = totals.billed;
            left.units -= totals.cost.units;
            all.push(("billed less cost".to_owned(), left.to_string()));
        }
        all
    }
}

/// The first digits of a digest.
pub(super) fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

/// Who holds it, if anybody does.
pub(super) fn who(line: &Line) -> String {
    match (&line.tenant, &line.claim) {
        (Some(tenant), Some(claim)) => format!("{tenant}/{claim}"),
        (Some(tenant), None) => tenant.clone(),
        _ => line.reason.clone().unwrap_or_default(),
    }
}

/// The card and the part of it.
pub(crate) fn what(line: &Line) -> String {
    let part = line.profile.as_ref().or(line.device.as_ref());
    let mut text = line.card.to_string();
    if let Some(part) = part {
        text.push(' ');
        text.push_str(part);
    }
    if let Some(of) = &line.correction {
        text.push_str(&format!(" (correction of {})", of.invoice));
    }
    text
}

/// All that qualifies the price.
pub(super) fn price(line: &Line) -> String {
    let mut text = line.price.clone();
    if let Some(fx) = &line.exchange {
        let rate = fx
            .rate
            .exact_decimal()
            .unwrap_or_else(|| fx.rate.to_string());
        let day = fx.on.to_string();
        text.push_str(&format!(" x {rate} of {}", day.get(..10).unwrap_or(&day)));
    }
    if !line.discount.is_zero() {
        let hundredths = line.discount.times(crate::ratio::Ratio::whole(100));
        let shown = hundredths
            .ok()
            .and_then(|it| it.exact_decimal())
            .unwrap_or_else(|| line.discount.to_string());
        text.push_str(&format!(" less {shown} %"));
    }
    if line.spot {
        text.push_str(" spot");
    }
    if line.added_seconds > 0 {
        text.push_str(&format!(" +{} s to the step", line.added_seconds));
    }
    if line.capped {
        text.push_str(" capped");
    }
    if !line.estimated.is_empty() {
        text.push_str(" estimated");
    }
    text
}

pub(super) fn hours(line: &Line) -> String {
    line.share_seconds
        .hours(4)
        .unwrap_or_else(|_| line.share_seconds.to_string())
}

fn row(line: &Line) -> [String; 7] {
    [
        line.kind.word().to_owned(),
        who(line),
        what(line),
        hours(line),
        price(line),
        line.billed.to_string(),
        line.cost.to_string(),
    ]
}
