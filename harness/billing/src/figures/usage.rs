//! What is paid and not used, and what a thousand answers cost.

use super::{Figure, FigureError, Terms, percent};
use crate::book::Price;
use crate::ratio::{Ratio, Rounding};

fn part(what: &'static str, part: Ratio) -> Result<Ratio, FigureError> {
    if part.is_negative() || part > Ratio::ONE {
        return Err(FigureError::Range {
            what,
            is: part.to_string(),
            must: "a part of the whole, from 0 to 1 or 0% to 100%",
        });
    }
    Ok(part)
}

/// What of a cost is idle at a use of so much.
pub fn idle(cost: &Price, used: Ratio, terms: &Terms) -> Result<Figure, FigureError> {
    let used = part("the use", used)?;
    let mut figure = Figure::new(
        format!("{cost} at {} use", percent(used)?),
        vec![
            terms.basis().swap_remove(1),
            "use is that of the time and the cards paid for; what a card does while it is held is not asked".to_owned(),
        ],
    );
    let busy = cost.amount.times(used)?;
    let idle = cost.amount.minus(busy)?;
    let per = cost.per.each();
    figure.row(format!("used, {per}"), terms.money(busy)?, Some(busy));
    figure.row(format!("idle, {per}"), terms.money(idle)?, Some(idle));
    if used.is_zero() {
        figure.not_computable("paid for each used part", "nothing is used");
    } else {
        let times = Ratio::ONE.over(used)?;
        figure.row(
            "paid for each used part",
            format!("{} times its price", times.decimal(2, Rounding::HalfEven)?),
            Some(times),
        );
    }
    Ok(figure)
}

/// What a thousand inferences cost on a seat that makes so many a second while it is used.
pub fn inference(
    seat: &Price,
    rate: Option<Ratio>,
    used: Ratio,
    terms: &Terms,
) -> Result<Figure, FigureError> {
    let used = part("the use", used)?;
    let mut basis = terms.basis();
    basis.push(format!(
        "the seat is paid all the time and works {} of it",
        percent(used)?
    ));
    let mut figure = Figure::new(format!("A thousand inferences on a seat at {seat}"), basis);
    let hour = terms.hourly(seat)?;
    figure.row(
        "a seat, an hour",
        hour.decimal(6, Rounding::HalfEven)?,
        Some(hour),
    );
    let label = "1,000 inferences";
    let made = match rate {
        None => {
            figure.not_computable(label, "how many a second it makes is not said; it hangs on model, batch and card, so measure it and give --rate");
            return Ok(figure);
        }
        Some(rate) => rate.times(used)?.times(Ratio::whole(3600))?,
    };
    if made.is_zero() || made.is_negative() {
        figure.not_computable(label, "none is made");
        return Ok(figure);
    }
    let thousand = hour.times(Ratio::whole(1000))?.over(made)?;
    figure.row(
        "made in an hour",
        made.decimal(0, Rounding::HalfEven)?,
        Some(made),
    );
    figure.row(
        label,
        thousand.decimal(6, Rounding::HalfEven)?,
        Some(thousand),
    );
    Ok(figure)
}
