//! An invoice as OpenMetrics text, for a Prometheus and the dashboard beside it. View only: bills come from the ledger.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::charge::LineKind;
use crate::invoice::Invoice;
use crate::ratio::{Arithmetic, Ratio, units_as_decimal};

/// Billed, cost, share-seconds.
type Sums = (i128, i128, Ratio);
/// One of them, as it is written.
type Shown = fn(&Sums, u32) -> Result<String, Arithmetic>;

/// The dashboard of Grafana that shows these metrics.
pub const DASHBOARD: &str = include_str!("../data/grafana-dashboard.json");

impl Invoice {
    /// As OpenMetrics. Amounts are those of the invoice.
    ///
    /// # Errors
    /// A sum that does not fit.
    pub fn openmetrics(&self) -> Result<String, Arithmetic> {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_cards(&mut out);
        self.write_tenants(&mut out)?;
        let _ = self.write_totals(&mut out);
        out.push_str("# EOF\n");
        Ok(out)
    }

    fn write_cards(&self, out: &mut String) -> std::fmt::Result {
        head(
            out,
            "sliceproof_card_cost",
            "What a card cost in the period, by where it went.",
        )?;
        for sum in &self.cards {
            for (kind, amount) in &sum.by_kind {
                let labels = [
                    ("pool", sum.card.pool.as_str()),
                    ("card", &sum.card.name),
                    ("model", &sum.card.model),
                    ("bucket", kind.word()),
                    ("currency", self.currency.code()),
                ];
                writeln!(out, "sliceproof_card_cost{} {amount}", braced(&labels))?;
            }
        }
        head(
            out,
            "sliceproof_card_billed",
            "What the tenants of a card pay for the period.",
        )?;
        for sum in &self.cards {
            let labels = [
                ("pool", sum.card.pool.as_str()),
                ("card", &sum.card.name),
                ("model", &sum.card.model),
                ("currency", self.currency.code()),
            ];
            writeln!(
                out,
                "sliceproof_card_billed{} {}",
                braced(&labels),
                sum.billed
            )?;
        }
        Ok(())
    }

    fn write_tenants(&self, out: &mut String) -> Result<(), Arithmetic> {
        let mut all: BTreeMap<(&str, &str), Sums> = BTreeMap::new();
        for line in self.lines.iter().filter(|it| it.kind == LineKind::Sold) {
            let profile = line.profile.as_deref().unwrap_or("card");
            let key = (line.tenant.as_deref().unwrap_or_default(), profile);
            let sums = all.entry(key).or_default();
            sums.0 += line.billed.units;
            sums.1 += line.cost.units;
            sums.2 = sums.2.plus(line.share_seconds)?;
        }
        let digits = self.currency.digits();
        let mut family = |name: &str, help: &str, of: Shown| {
            let _ = head(out, name, help);
            for ((tenant, profile), sums) in &all {
                let labels = [
                    ("tenant", *tenant),
                    ("profile", *profile),
                    ("currency", self.currency.code()),
                ];
                let _ = writeln!(out, "{name}{} {}", braced(&labels), of(sums, digits)?);
            }
            Ok::<(), Arithmetic>(())
        };
        family(
            "sliceproof_tenant_billed",
            "What a tenant pays for the period.",
            |it, digits| Ok(units_as_decimal(it.0, digits)),
        )?;
        let help = "The part of the cards' cost that a tenant held.";
        family("sliceproof_tenant_cost", help, |it, digits| {
            Ok(units_as_decimal(it.1, digits))
        })?;
        let help = "Hours of whole cards that a tenant held.";
        family("sliceproof_tenant_card_hours", help, |it, _| it.2.hours(9))
    }

    fn write_totals(&self, out: &mut String) -> std::fmt::Result {
        let currency = [("currency", self.currency.code())];
        head(out, "sliceproof_billed", "What is billed for the period.")?;
        writeln!(
            out,
            "sliceproof_billed{} {}",
            braced(&currency),
            self.totals.billed
        )?;
        head(out, "sliceproof_cost", "What all cards cost in the period.")?;
        writeln!(
            out,
            "sliceproof_cost{} {}",
            braced(&currency),
            self.totals.cost
        )?;
        head(
            out,
            "sliceproof_period_seconds",
            "Bounds of the period, in seconds since 1970.",
        )?;
        for (bound, at) in [("from", self.period.from()), ("until", self.period.until())] {
            writeln!(
                out,
                "sliceproof_period_seconds{} {}",
                braced(&[("bound", bound)]),
                at.get()
            )?;
        }
        writeln!(
            out,
            "# TYPE sliceproof_invoice info\n# HELP sliceproof_invoice The invoice that these metrics are of."
        )?;
        let labels = [
            ("id", self.id.as_str()),
            ("book", &self.inputs.book),
            ("weights", &self.weights),
        ];
        writeln!(out, "sliceproof_invoice_info{} 1", braced(&labels))
    }
}

fn head(out: &mut String, name: &str, help: &str) -> std::fmt::Result {
    writeln!(out, "# TYPE {name} gauge\n# HELP {name} {help}")
}

fn braced(labels: &[(&str, &str)]) -> String {
    let each = labels.iter().map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    format!("{{{}}}", each.collect::<Vec<_>>().join(","))
}
