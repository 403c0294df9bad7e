//! `sliceproof price`: questions of money that need no ledger.

use std::process::ExitCode;

use billing::figures::{self, Figure};

use crate::args::Format;
use crate::args::price::{PriceArgs, Question};
use crate::{Error, say};

pub(crate) fn run(args: &PriceArgs) -> Result<ExitCode, Error> {
    let terms = args.terms.terms();
    let found = match &args.what {
        Question::Seats { card, seats } => vec![figures::seats(card, *seats, &terms)?],
        Question::Month { rate } => vec![figures::month_of(rate, &terms)?],
        Question::BreakEven {
            card,
            seats,
            rate,
            sold,
        } => vec![figures::break_even(card, *seats, rate, *sold, &terms)?],
        Question::Split {
            model,
            profile,
            card,
        } => vec![figures::split(model, profile, card, &terms)?],
        Question::Fleet { cards, card, seats } => {
            vec![figures::fleet(*cards, card, *seats, &terms)?]
        }
        Question::Shared { card, tenants } => vec![figures::shared(card, tenants, &terms)?],
        Question::Idle { cost, used } => vec![figures::idle(cost, *used, &terms)?],
        Question::Fit { model, load, card } => {
            vec![figures::fit(model, *load, card.as_ref(), &terms)?]
        }
        Question::Inference { seat, rate, used } => {
            vec![figures::inference(seat, *rate, *used, &terms)?]
        }
        Question::Claims => figures::claims()?,
        Question::Book => return printed(billing::PriceBook::DEFAULT),
        Question::Schema => {
            return printed(&format!("{:#}\n", billing::PriceBook::schema().to_value()));
        }
        Question::Lint { book } => {
            return match crate::bill::read_book(Some(book))? {
                Ok(book) => printed(&format!(
                    "{} prices in {}, nothing wrong\n",
                    book.rates.len(),
                    book.currency
                )),
                Err(code) => Ok(code),
            };
        }
    };
    show(&found, args.terms.output)
}

fn printed(text: &str) -> Result<ExitCode, Error> {
    say(text)?;
    Ok(ExitCode::SUCCESS)
}

fn show(figures: &[Figure], format: Format) -> Result<ExitCode, Error> {
    let text = match format {
        Format::Text => {
            let each: Vec<String> = figures.iter().map(ToString::to_string).collect();
            each.join("\n")
        }
        // Texts, lists and maps only: it is always written.
        Format::Json => serde_json::to_string_pretty(figures).unwrap_or_default() + "\n",
    };
    say(&text)?;
    Ok(ExitCode::SUCCESS)
}
