//! Arguments of `price`.

use std::path::PathBuf;
use std::str::FromStr;

use billing::figures::Terms;
use billing::{Currency, MonthBasis, Price, Ratio, Rounding};
use clap::{Args, Subcommand};

use super::Format;

/// Arguments of `price`.
#[derive(Debug, Args)]
pub struct PriceArgs {
    /// The question.
    #[command(subcommand)]
    pub what: Question,
    /// What all questions share.
    #[command(flatten)]
    pub terms: TermsArgs,
}

/// What all questions share.
#[derive(Debug, Args)]
pub struct TermsArgs {
    /// Hours of a month: 730h or 720h
    #[arg(long, global = true, value_name = "BASIS", default_value = "730h", value_parser = month)]
    pub month: MonthBasis,
    /// Currency of all amounts, by ISO 4217
    #[arg(long, global = true, value_name = "CODE", default_value = "USD", value_parser = Currency::from_str)]
    pub currency: Currency,
    /// How a sum is rounded: half-even or half-up
    #[arg(long, global = true, value_name = "HOW", default_value = "half-even", value_parser = rounding)]
    pub rounding: Rounding,
    /// How it is printed
    #[arg(long, short, global = true, value_enum, default_value_t)]
    pub output: Format,
}

impl TermsArgs {
    /// As figures take them.
    #[must_use]
    pub fn terms(&self) -> Terms {
        Terms {
            currency: self.currency,
            month: self.month,
            rounding: self.rounding,
        }
    }
}

/// A question of money.
#[derive(Debug, Subcommand)]
pub enum Question {
    /// What a seat of a card costs, and what rounding early loses
    Seats {
        /// What the card costs, as 1559/month or 2.14/h
        #[arg(long, value_name = "PRICE")]
        card: Price,
        /// How many seats it has
        #[arg(long, value_name = "N")]
        seats: u32,
    },
    /// What a price by the hour comes to in a month
    Month {
        /// The price, as 0.50/h
        #[arg(long, value_name = "PRICE")]
        rate: Price,
    },
    /// How many seats must be sold to pay for the card
    BreakEven {
        /// What the card costs, as 1559/month
        #[arg(long, value_name = "PRICE")]
        card: Price,
        /// How many seats it has
        #[arg(long, value_name = "N")]
        seats: u32,
        /// What a seat is sold for, as 0.50/h
        #[arg(long, value_name = "PRICE")]
        rate: Price,
        /// Also the result of so many seats sold
        #[arg(long, value_name = "N")]
        sold: Option<u32>,
    },
    /// What a partition of a card costs by compute, by memory, by the greater of both; on demand or spot alike
    Split {
        /// Model of the catalogue
        #[arg(long, value_name = "MODEL")]
        model: String,
        /// Profile of the partition, as 1g.20gb
        #[arg(long, value_name = "PROFILE")]
        profile: String,
        /// Price of the card, as 6.88/h
        #[arg(long, value_name = "PRICE")]
        card: Price,
    },
    /// What several cards cost, and their seats
    Fleet {
        /// How many cards
        #[arg(long, value_name = "N")]
        cards: u32,
        /// What one costs, as 1559/month
        #[arg(long, value_name = "PRICE")]
        card: Price,
        /// How many seats each has
        #[arg(long, value_name = "N")]
        seats: u32,
    },
    /// What each tenant of a shared card pays
    Shared {
        /// What the card costs, as 205/month
        #[arg(long, value_name = "PRICE")]
        card: Price,
        /// A tenant and its weight, as the hours that it had: blue=500 (without a weight 1)
        #[arg(long = "tenant", value_name = "NAME[=WEIGHT]", value_parser = tenant)]
        tenants: Vec<(String, Ratio)>,
    },
    /// What of a cost is idle
    Idle {
        /// The cost, as 15000/month
        #[arg(long, value_name = "PRICE")]
        cost: Price,
        /// How much of it is used, as 10% or 0.1
        #[arg(long = "use", value_name = "PART", value_parser = part)]
        used: Ratio,
    },
    /// What a load leaves unused of a card, and the smallest partition that holds it
    Fit {
        /// Model of the catalogue
        #[arg(long, value_name = "MODEL")]
        model: String,
        /// Memory that it needs, as 12GB or 12GiB
        #[arg(long, value_name = "SIZE", value_parser = bytes)]
        load: Ratio,
        /// What the card costs, as 1559/month
        #[arg(long, value_name = "PRICE")]
        card: Option<Price>,
    },
    /// What a thousand inferences cost
    Inference {
        /// What the seat costs, as 0.305/h
        #[arg(long, value_name = "PRICE")]
        seat: Price,
        /// Inferences that it makes in a second
        #[arg(long, value_name = "N")]
        rate: Option<Ratio>,
        /// How much of the time it works, as 60% or 0.6
        #[arg(long = "use", value_name = "PART", default_value = "1", value_parser = part)]
        used: Ratio,
    },
    /// The figures that sellers quote, computed anew with their basis
    Claims,
    /// Print the built-in price book, a form to fill in
    Book,
    /// Print the schema of price books, for an editor
    Schema,
    /// Say all that is wrong with a price book
    Lint {
        /// The file
        #[arg(value_name = "FILE")]
        book: PathBuf,
    },
}

fn month(text: &str) -> Result<MonthBasis, String> {
    match text {
        "730h" => Ok(MonthBasis::Hours730),
        "720h" => Ok(MonthBasis::Hours720),
        _ => Err(
            "write 730h or 720h; the calendar's month is that of a bill, which has a date"
                .to_owned(),
        ),
    }
}

fn rounding(text: &str) -> Result<Rounding, String> {
    match text {
        "half-even" => Ok(Rounding::HalfEven),
        "half-up" => Ok(Rounding::HalfUp),
        _ => Err("write half-even or half-up".to_owned()),
    }
}

fn tenant(text: &str) -> Result<(String, Ratio), String> {
    let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
    let weight: Ratio = weight.parse().map_err(|error| format!("{error}"))?;
    match name.is_empty() || weight.is_negative() {
        true => Err("write a name and a weight that is not below zero, as blue=500".to_owned()),
        false => Ok((name.to_owned(), weight)),
    }
}

fn part(text: &str) -> Result<Ratio, String> {
    let (number, hundredths) = match text.strip_suffix('%') {
        Some(number) => (number, 100),
        None => (text, 1),
    };
    let number: Ratio = number.parse().map_err(|error| format!("{error}"))?;
    number
        .over(Ratio::whole(hundredths))
        .map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<Ratio, String> {
    let units = [
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
    ];
    let found = units
        .into_iter()
        .find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    let (number, bytes) = found.ok_or("write a size with its unit, as 12GB or 12GiB")?;
    let number: Ratio = number.trim().parse().map_err(|error| format!("{error}"))?;
    number
        .times(Ratio::whole(bytes))
        .map_err(|error| error.to_string())
}
