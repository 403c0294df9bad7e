//! A card in seats: what one costs, when they pay for the card, a fleet of them, a card that several share.

use super::{Figure, FigureError, Terms, counted, percent};
use crate::book::{Per, Price};
use crate::ratio::{Ratio, Rounding};
use crate::split::{self, Share};
use crate::time::MonthBasis;

fn seats_of(count: u32) -> Result<Ratio, FigureError> {
    if !(1..=10_000).contains(&count) {
        return Err(FigureError::Range {
            what: "the number of seats",
            is: count.to_string(),
            must: "from 1 to 10000",
        });
    }
    Ok(Ratio::whole(count.into()))
}

/// An amount in so many equal parts, in smallest units.
fn equal(amount: Ratio, count: u32, terms: &Terms) -> Result<Vec<i128>, FigureError> {
    let part = amount.over(seats_of(count)?)?;
    let ids: Vec<String> = (1..=count).map(|seat| format!("{seat:05}")).collect();
    let parts: Vec<Share<'_>> = ids.iter().map(|id| Share { id, amount: part }).collect();
    Ok(split::round_together(
        &parts,
        terms.currency.digits(),
        terms.rounding,
    )?)
}

/// What a seat of a card costs, and what is lost by rounding too early.
pub fn seats(card: &Price, count: u32, terms: &Terms) -> Result<Figure, FigureError> {
    let mut basis = terms.basis();
    basis.push("seats alike; split by largest remainder, ties to the lowest seat".to_owned());
    let mut figure = Figure::new(format!("A card at {card} in {count} seats"), basis);
    let (month, number) = (terms.monthly(card)?, seats_of(count)?);
    let units = equal(month, count, terms)?;
    let seat = month.over(number)?;
    let hour = seat.over(terms.hours()?)?;
    figure.row(
        "a seat, a month",
        counted(&units, terms.currency.digits()),
        Some(seat),
    );
    figure.row("all seats, a month", terms.money(month)?, Some(month));
    figure.row(
        "a seat, an hour",
        hour.decimal(6, Rounding::HalfEven)?,
        Some(hour),
    );
    lost(
        &mut figure,
        "each seat rounded alone",
        seat,
        terms.currency.digits(),
        number,
        month,
        terms,
    )?;
    lost(
        &mut figure,
        "the hour rounded to 3 digits",
        hour,
        3,
        number.times(terms.hours()?)?,
        month,
        terms,
    )?;
    Ok(figure)
}

/// What comes back if a unit price is rounded before it is multiplied.
fn lost(
    figure: &mut Figure,
    label: &str,
    unit: Ratio,
    digits: u32,
    times: Ratio,
    total: Ratio,
    terms: &Terms,
) -> Result<(), FigureError> {
    let early: Ratio = unit.decimal(digits, terms.rounding)?.parse()?;
    let back = early.times(times)?;
    let off = total.minus(back)?;
    let (word, off) = match off.is_negative() {
        true => ("too much", off.negated()),
        false => ("lost", off),
    };
    let shown = format!(
        "{} x {times} = {}: {} {word}",
        unit.decimal(digits, terms.rounding)?,
        terms.money(back)?,
        terms.money(off)?
    );
    figure.row(label, shown, Some(back));
    Ok(())
}

/// What a price by the hour comes to in a month, by each way to count its hours.
pub fn month_of(rate: &Price, terms: &Terms) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(format!("{rate} over a month"), terms.basis());
    let month = terms.monthly(rate)?;
    figure.row("a month", terms.money(month)?, Some(month));
    let fixed = [(MonthBasis::Hours730, 730), (MonthBasis::Hours720, 720)];
    let others = fixed.into_iter().filter(|(basis, _)| *basis != terms.month);
    for (basis, hours) in others {
        let other = rate.for_hours(Ratio::whole(hours), Ratio::whole(hours))?;
        figure.row(basis.to_string(), terms.money(other)?, Some(other));
    }
    for days in [28, 29, 30, 31] {
        let hours = Ratio::whole(days * 24);
        let other = rate.for_hours(hours, hours)?;
        figure.row(
            format!("a month of {days} days"),
            terms.money(other)?,
            Some(other),
        );
    }
    Ok(figure)
}

/// How many seats must be sold to pay for the card.
pub fn break_even(
    card: &Price,
    count: u32,
    rate: &Price,
    sold: Option<u32>,
    terms: &Terms,
) -> Result<Figure, FigureError> {
    let question =
        format!("A card at {card} in {count} seats, sold at {rate} each: when does it pay");
    let mut figure = Figure::new(question, terms.basis());
    let number = seats_of(count)?;
    let (cost, seat) = (terms.monthly(card)?, terms.monthly(rate)?);
    figure.row("a seat, a month", terms.money(seat)?, Some(seat));
    let even = cost.over(seat)?;
    figure.row(
        "break-even",
        format!(
            "{} of {count} = {}",
            even.decimal(3, Rounding::HalfEven)?,
            percent(even.over(number)?)?
        ),
        Some(even),
    );
    // The answer for the other month, wherever a price by the month meets one by the hour.
    if card.per != rate.per {
        let other = Terms {
            month: match terms.month {
                MonthBasis::Hours730 => MonthBasis::Hours720,
                _ => MonthBasis::Hours730,
            },
            ..*terms
        };
        let even = other.monthly(card)?.over(other.monthly(rate)?)?;
        let shown = format!(
            "{} of {count} = {}",
            even.decimal(3, Rounding::HalfEven)?,
            percent(even.over(number)?)?
        );
        figure.row(format!("break-even in {}", other.month), shown, Some(even));
    }
    let result = |sold: i64| -> Result<(String, Ratio), FigureError> {
        let sales = seat.times(Ratio::whole(sold))?;
        let left = sales.minus(cost)?;
        let shown = format!(
            "{} - {} = {}",
            terms.money(sales)?,
            terms.money(cost)?,
            terms.money(left)?
        );
        Ok((shown, left))
    };
    let floor = i64::try_from(even.floor(0)?).unwrap_or(i64::MAX);
    let whole = floor + i64::from(even.denominator() != 1);
    for seats in [whole - 1, whole] {
        if (0..=i64::from(count)).contains(&seats) {
            let (shown, left) = result(seats)?;
            figure.row(format!("{seats} sold"), shown, Some(left));
        }
    }
    if whole > i64::from(count) {
        let (shown, left) = result(count.into())?;
        figure.row(
            format!("all {count} sold, and it never pays"),
            shown,
            Some(left),
        );
    }
    if let Some(sold) = sold
        .map(i64::from)
        .filter(|it| *it != whole && *it != whole - 1)
    {
        if sold > i64::from(count) {
            return Err(FigureError::Range {
                what: "the number of seats sold",
                is: sold.to_string(),
                must: "no more than the card has",
            });
        }
        let (shown, left) = result(sold)?;
        figure.row(format!("{sold} sold"), shown, Some(left));
    }
    Ok(figure)
}

/// Several cards alike.
pub fn fleet(cards: u32, card: &Price, count: u32, terms: &Terms) -> Result<Figure, FigureError> {
    let question = format!("{cards} cards at {card}, each in {count} seats");
    let mut figure = Figure::new(question, terms.basis());
    let all = terms.monthly(card)?.times(seats_of(cards)?)?;
    let number = cards.saturating_mul(count);
    let seats = seats_of(number)?;
    figure.row("all cards, a month", terms.money(all)?, Some(all));
    figure.row("seats", number.to_string(), None);
    let units = equal(all, number, terms)?;
    figure.row(
        "a seat, a month",
        counted(&units, terms.currency.digits()),
        Some(all.over(seats)?),
    );
    let hour = all.over(seats)?.over(terms.hours()?)?;
    figure.row(
        "a seat, an hour",
        hour.decimal(6, Rounding::HalfEven)?,
        Some(hour),
    );
    Ok(figure)
}

/// A card that tenants share by weights, as the hours that each had.
pub fn shared(
    card: &Price,
    tenants: &[(String, Ratio)],
    terms: &Terms,
) -> Result<Figure, FigureError> {
    let question = match tenants.is_empty() {
        true => format!("A card at {card}, shared"),
        false => format!("A card at {card}, shared by {}", tenants.len()),
    };
    let mut basis = match card.per {
        Per::Month => vec![terms.basis().swap_remove(1)],
        Per::Hour => terms.basis(),
    };
    basis.push(
        "by the weights given; split by largest remainder, ties to the lowest name".to_owned(),
    );
    let month = match card.per {
        Per::Month => card.amount,
        Per::Hour => terms.monthly(card)?,
    };
    let total = month.rounded(terms.currency.digits(), terms.rounding)?;
    let mut figure = Figure::new(question, basis);
    if tenants.is_empty() {
        figure.not_computable(
            "a tenant, a month",
            "who shares it, and by what, is not said: name them with --tenant",
        );
        return Ok(figure);
    }
    let shares: Vec<Share<'_>> = tenants
        .iter()
        .map(|(id, amount)| Share {
            id,
            amount: *amount,
        })
        .collect();
    let units = split::split(total, &shares)?;
    let mut sum = Ratio::ZERO;
    for (_, weight) in tenants {
        sum = sum.plus(*weight)?;
    }
    for ((name, weight), units) in tenants.iter().zip(&units) {
        let exactly = weight.over(sum)?.times(month)?;
        figure.row(
            name.clone(),
            crate::ratio::units_as_decimal(*units, terms.currency.digits()),
            Some(exactly),
        );
    }
    figure.row("all", terms.money(month)?, Some(month));
    Ok(figure)
}
