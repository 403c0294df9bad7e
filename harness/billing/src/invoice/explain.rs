//! How the amount of a claim came about, step by step.

use std::fmt::Write as _;

use super::Invoice;
use super::text::{hours, price};
use crate::charge::Line;
use crate::ratio::Rounding;

impl Invoice {
    /// Every line of a claim with its computation; `None` if the claim has none.
    #[must_use]
    pub fn explain(&self, claim_uid: &str) -> Option<String> {
        let lines: Vec<&Line> = self
            .lines
            .iter()
            .filter(|it| it.claim_uid.as_deref() == Some(claim_uid))
            .collect();
        let first = lines.first()?;
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_explained(&mut out, first, &lines);
        Some(out)
    }

    fn write_explained(&self, out: &mut String, first: &Line, lines: &[&Line]) -> std::fmt::Result {
        let name = super::text::who(first);
        let uid = first.claim_uid.as_deref().unwrap_or_default();
        writeln!(
            out,
            "claim {name}, UID {uid}, in {} {}",
            self.title().to_lowercase(),
            self.id
        )?;
        for (what, is) in self.basis() {
            writeln!(out, "  {what}: {is}")?;
        }
        let mut total = super::nothing(self.currency.digits());
        for line in lines {
            total.units += line.billed.units;
            writeln!(
                out,
                "{} on {}, {}",
                line.device.as_deref().unwrap_or("the card"),
                line.card,
                line.span
            )?;
            if let Some(of) = &line.correction {
                writeln!(
                    out,
                    "  a correction of invoice {} for {}",
                    of.invoice, of.period
                )?;
            }
            let profile = line.profile.as_deref().unwrap_or("the whole card");
            writeln!(
                out,
                "  held        {} s of {profile}: {} share-seconds = {} card hours",
                line.seconds,
                line.share_seconds,
                hours(line)
            )?;
            writeln!(out, "  price       {}  ({})", price(line), line.source)?;
            if let Some(reason) = &line.reason {
                writeln!(out, "  because     {reason}")?;
            }
            for why in &line.estimated {
                writeln!(out, "  estimated   {why}")?;
            }
            if let Some(more) = &line.misallocated {
                let shown = more
                    .decimal(6, Rounding::HalfEven)
                    .unwrap_or_else(|_| more.to_string());
                writeln!(
                    out,
                    "  beyond need {shown} more than the smallest partition that would have fitted"
                )?;
            }
            let shown = line
                .exactly
                .decimal(6, Rounding::HalfEven)
                .unwrap_or_default();
            writeln!(out, "  exactly     {} = {shown}", line.exactly)?;
            writeln!(out, "  billed      {} {}", line.billed, self.currency)?;
            for paid in &line.consumers {
                writeln!(
                    out,
                    "    of it     {} by {} ({})",
                    paid.billed, paid.name, paid.uid
                )?;
            }
            writeln!(
                out,
                "  cost        {} {} of what the card cost",
                line.cost, self.currency
            )?;
        }
        writeln!(out, "in all {total} {}", self.currency)
    }
}
