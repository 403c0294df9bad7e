//! The figures that sellers of shared cards quote, computed anew; what cannot be computed says so.

use super::{
    Figure, FigureError, Terms, break_even, fit, fleet, idle, inference, month_of, seats, shared,
    split,
};
use crate::book::Price;
use crate::ratio::{Ratio, Rounding};
use crate::time::MonthBasis;

/// All of them, in US dollars as quoted, in a month of 730 hours unless a line says another.
pub fn claims() -> Result<Vec<Figure>, FigureError> {
    let terms = Terms {
        currency: "USD".parse()?,
        month: MonthBasis::Hours730,
        rounding: Rounding::HalfEven,
    };
    let price = |text: &str| text.parse::<Price>();
    let (card, seat, h100) = (price("1559/month")?, price("0.50/h")?, "H100-SXM5-80GB");
    let mut mixed = Figure::new(
        "\"4.3 of 7, about 62 %\" and \"365 a seat\" of one card",
        vec!["both must come from one month".to_owned()],
    );
    mixed.not_computable(
        "both at once",
        "62 % needs a month of 720 h, in which a seat is 360; 365 needs one of 730 h, in which break-even is 61 %: see the two lines above",
    );
    let mut open = Figure::new(
        "Quoted without what it would take to compute them",
        Vec::new(),
    );
    open.not_computable(
        "a card at 1559 a month",
        "no public page shows this price; it is taken as given, so change it in the price book",
    );
    open.not_computable("an H100 at 6.88 an hour", "the same month has public prices from 1.47 to 10.08: any result is one of the price book, not of the card");
    open.not_computable(
        "a RTX 4000 SFF Ada by the month",
        "no price of 2026 was found; the book has none",
    );
    Ok(vec![
        seats(&card, 7, &terms)?,
        month_of(&seat, &terms)?,
        break_even(&card, 7, &seat, Some(3), &terms)?,
        mixed,
        split(h100, "1g.20gb", &price("6.88/h")?, &terms)?,
        split(h100, "1g.20gb", &price("2.76/h")?, &terms)?,
        fleet(7, &card, 7, &terms)?,
        shared(&price("205/month")?, &[], &terms)?,
        idle(&price("15000/month")?, Ratio::new(1, 10)?, &terms)?,
        fit(
            "A100-SXM4-80GB",
            Ratio::whole(12_000_000_000),
            Some(&card),
            &terms,
        )?,
        inference(&price("0.305/h")?, None, Ratio::ONE, &terms)?,
        open,
    ])
}
