//! A partition of a card of the catalogue: how many fit, what one weighs by each measure, what it costs, what fits into it.

use gpu_model::{Catalog, Model};

use super::{Figure, FigureError, Terms, percent};
use crate::book::{Part, Price, Weights};
use crate::ratio::{Ratio, Rounding};

fn model(name: &str) -> Result<Model, FigureError> {
    let catalog = Catalog::builtin();
    let found = catalog.model(name).cloned();
    found.map_err(|error| FigureError::Model(error.to_string()))
}

/// What a partition takes of its card, by the catalogue: compute slices of those of the card, and memory slices of those of
/// the card. `None` if the model has no such profile.
#[must_use]
pub fn part_of(model: &Model, profile: &str) -> Option<Part> {
    let mig = model.spec().mig.as_ref()?;
    let found = mig.profiles.iter().find(|it| it.name == profile)?;
    let of = |one: u32, all: u32| Ratio::new(one.into(), all.into()).ok();
    Some(Part {
        compute: of(found.slices.0, mig.compute_slices.0),
        memory: of(found.size.0, mig.memory_slices.0),
    })
}

/// What one partition of a profile costs by each measure: they do not agree, so each is named.
pub fn split(
    name: &str,
    profile: &str,
    card: &Price,
    terms: &Terms,
) -> Result<Figure, FigureError> {
    let model = model(name)?;
    let mig = model.spec().mig.as_ref();
    let found = mig.and_then(|mig| Some((mig, mig.profiles.iter().find(|it| it.name == profile)?)));
    let question = format!("A {} at {card}: one {profile}", model.name());
    let basis = vec![
        terms.basis().swap_remove(1),
        format!(
            "slices, memory and how many fit: the catalogue's {}",
            model.name()
        ),
    ];
    let mut figure = Figure::new(question, basis);
    let Some(((mig, it), part)) = found.zip(part_of(&model, profile)) else {
        let has = mig.map_or_else(
            || "it cannot be partitioned".to_owned(),
            |mig| {
                let names: Vec<&str> = mig.profiles.iter().map(|it| it.name.as_str()).collect();
                format!("it has {}", names.join(", "))
            },
        );
        figure.not_computable(
            "a partition",
            format!("the card has no profile {profile}; {has}"),
        );
        return Ok(figure);
    };
    figure.row("fit on the card", it.instances.to_string(), None);
    let per = card.per.each();
    let mut say = |label: String, share: Ratio| -> Result<(), FigureError> {
        let amount = card.amount.times(share)?;
        let shown = format!(
            "{} {per} ({} of the card)",
            terms.money(amount)?,
            percent(share)?
        );
        figure.row(label, shown, Some(amount));
        Ok(())
    };
    let weigh = |weights: Weights| weights.share(Some(profile), &part).unwrap_or(Ratio::ONE);
    say(
        format!(
            "by compute slices, {} of {}",
            it.slices.0, mig.compute_slices.0
        ),
        weigh(Weights::Compute),
    )?;
    say(
        format!("by memory slices, {} of {}", it.size.0, mig.memory_slices.0),
        weigh(Weights::Memory),
    )?;
    say("by the greater of both".to_owned(), weigh(Weights::Max))?;
    let whole = mig.profiles.iter().find(|it| it.size == mig.memory_slices);
    if let Some(whole) = whole {
        let share = Ratio::new(it.memory.0.into(), whole.memory.0.into())?;
        say(
            format!(
                "by MiB, {} of {} that {} has",
                it.memory.0, whole.memory.0, whole.name
            ),
            share,
        )?;
    }
    say(
        format!("as one of {} that fit", it.instances),
        Ratio::new(1, it.instances.into())?,
    )?;
    Ok(figure)
}

/// A load of so many bytes on a card: what it leaves unused, and the smallest profile that holds it.
pub fn fit(
    name: &str,
    bytes: Ratio,
    card: Option<&Price>,
    terms: &Terms,
) -> Result<Figure, FigureError> {
    let model = model(name)?;
    let giga = Ratio::whole(1_000_000_000);
    let gb = |bytes: Ratio| {
        Ok::<_, FigureError>(format!(
            "{} GB",
            bytes.over(giga)?.decimal(1, Rounding::HalfEven)?
        ))
    };
    let bytes_of = |mib: u64| {
        Ratio::whole(i64::try_from(mib).unwrap_or(i64::MAX)).times(Ratio::whole(1 << 20))
    };
    let all = bytes_of(model.spec().memory_total.0)?;
    let question = format!("{} on a {}", gb(bytes)?, model.name());
    let mut basis = vec![format!(
        "memory alone, 1 GB = 10^9 bytes; the card has {} MiB; what a process needs besides is not in it",
        model.spec().memory_total.0
    )];
    basis.extend(card.map(|_| terms.basis()).unwrap_or_default());
    let mut figure = Figure::new(question, basis);
    if bytes > all {
        figure.not_computable("a place", format!("the card has {}", gb(all)?));
        return Ok(figure);
    }
    let used = bytes.over(all)?;
    let unused = Ratio::ONE.minus(used)?;
    figure.row("of the card's memory", percent(used)?, Some(used));
    figure.row("unused", percent(unused)?, Some(unused));
    if let Some(card) = card {
        let amount = card.amount.times(unused)?;
        figure.row(
            format!("paid for what is unused, {}", card.per.each()),
            terms.money(amount)?,
            Some(amount),
        );
    }
    let mut profiles: Vec<_> = model
        .spec()
        .mig
        .iter()
        .flat_map(|mig| &mig.profiles)
        .collect();
    profiles.sort_by_key(|it| (it.slices.0, it.size.0, it.name.len()));
    for it in profiles {
        if it.name.contains('+') || bytes_of(it.memory.0)? < bytes {
            continue;
        }
        let shown = format!(
            "{}, of which {} fit beside each other",
            it.name, it.instances
        );
        figure.row("smallest profile", shown, None);
        let used = bytes.over(bytes_of(it.memory.0)?)?;
        figure.row("of its memory", percent(used)?, Some(used));
        if let (Some(card), Some(part)) = (card, part_of(&model, &it.name)) {
            for (by, share) in [("compute", part.compute), ("memory", part.memory)] {
                let amount = card.amount.times(share.unwrap_or(Ratio::ONE))?;
                figure.row(
                    format!("it costs by {by} slices, {}", card.per.each()),
                    terms.money(amount)?,
                    Some(amount),
                );
            }
        }
        return Ok(figure);
    }
    figure.not_computable("smallest profile", "no partition of the card holds it");
    Ok(figure)
}
