//! An invoice as one page without scripts, for a screen and for paper.

use minijinja::{AutoEscape, Environment, context};

use super::Invoice;
use super::text::{hours, price, what, who};

const TEMPLATE: &str = include_str!("invoice.html");

impl Invoice {
    /// As HTML.
    ///
    /// # Errors
    /// A template that does not fit the data: a bug of this crate.
    pub fn html(&self) -> Result<String, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_template("invoice", TEMPLATE)?;
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|line| {
                context! {
                    kind => line.kind.word(),
                    class => line.kind.word().replace(' ', "-"),
                    who => who(line),
                    uid => line.claim_uid,
                    what => what(line),
                    from => line.span.from(),
                    until => line.span.until(),
                    hours => hours(line),
                    price => price(line),
                    billed => line.billed,
                    cost => line.cost,
                    corrects => line.correction.is_some(),
                    consumers => line.consumers,
                }
            })
            .collect();
        let cards: Vec<_> = self
            .cards
            .iter()
            .map(|sum| {
                let whole = sum.cost.units.max(1);
                let parts: Vec<_> = sum
                    .by_kind
                    .iter()
                    .map(|(kind, amount)| {
                        // Thousandths of the bar's width: a picture, no amount.
                        let thousandths = amount.units.max(0) * 1000 / whole;
                        context! {
                            kind => kind.word(),
                            class => kind.word().replace(' ', "-"),
                            amount => amount,
                            width => format!("{}.{}", thousandths / 10, thousandths % 10),
                        }
                    })
                    .collect();
                context! {
                    card => sum.card.to_string(),
                    model => sum.card.model,
                    hours => sum.share_seconds.hours(2).unwrap_or_default(),
                    cost => sum.cost,
                    billed => sum.billed,
                    parts => parts,
                }
            })
            .collect();
        let mut page = environment.get_template("invoice")?.render(context! {
            title => self.title(),
            invoice => self,
            whose => self.tenant.as_deref().unwrap_or("all tenants"),
            basis => self.basis(),
            sums => self.sums(),
            cards => cards,
            lines => lines,
        })?;
        if !page.ends_with('\n') {
            page.push('\n');
        }
        Ok(page)
    }
}
