//! How heavy a partition is: one declared measure, for tools do not agree. `1g.10gb` of an A100 of 80 GB is 1/7 by compute
//! (koku) and 9856/80384 by memory (Kueue's counter, GPUStack).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;

/// By what a partition weighs.
///
/// Under [`Weights::Max`] a full card can weigh more than the card (`4g.40gb` beside `3g.40gb`: 4/7 + 1/2), and under
/// [`Weights::Explicit`] too; such a stretch is refused when it is met, not scaled: what a tenant pays never depends on neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Compute slices of it by those of the card.
    Compute,
    /// Memory of it by that of the card.
    Memory,
    /// The greater of the two.
    Max,
    /// Named for each profile.
    Explicit(BTreeMap<String, Ratio>),
}

/// What a partition takes of its card in each measure; `None` where nothing says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Part {
    /// Compute slices of it by those of the card.
    pub compute: Option<Ratio>,
    /// Memory of it by that of the card.
    pub memory: Option<Ratio>,
}

/// A partition whose weight nothing says: it is not billed as a whole card and not as nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {by} weight of profile {profile:?} is unknown: nothing that is published says it, so name it in the price book under weights.explicit"
)]
pub struct UnknownWeight {
    /// The measure.
    pub by: &'static str,
    /// The profile.
    pub profile: String,
}

impl Part {
    /// The whole card.
    pub const WHOLE: Part = Part {
        compute: Some(Ratio::ONE),
        memory: Some(Ratio::ONE),
    };
}

impl Weights {
    /// The share of a card that a partition has; a whole card is 1 by any measure.
    pub fn share(&self, profile: Option<&str>, part: &Part) -> Result<Ratio, UnknownWeight> {
        let Some(profile) = profile else {
            return Ok(Ratio::ONE);
        };
        let found = match self {
            Self::Compute => part.compute,
            Self::Memory => part.memory,
            Self::Max => part
                .compute
                .zip(part.memory)
                .map(|(one, other)| one.max(other)),
            Self::Explicit(weights) => weights.get(profile).copied(),
        };
        found.ok_or_else(|| UnknownWeight {
            by: self.word(),
            profile: profile.to_owned(),
        })
    }

    /// `compute`, `memory`, `max` or `explicit`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Max => "max",
            Self::Explicit(_) => "explicit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_3_one_declared_weight_and_an_unknown_one_is_no_whole_card() {
        let ratio = |above, below| Ratio::new(above, below).expect("fits");
        let part = Part {
            compute: Some(ratio(3, 7)),
            memory: Some(ratio(1, 2)),
        };
        let share = |weights: &Weights, part| weights.share(Some("3g.40gb"), &part);
        assert_eq!(share(&Weights::Compute, part), Ok(ratio(3, 7)));
        assert_eq!(share(&Weights::Memory, part), Ok(ratio(1, 2)));
        assert_eq!(share(&Weights::Max, part), Ok(ratio(1, 2)));
        let explicit = Weights::Explicit(BTreeMap::from([("3g.40gb".to_owned(), ratio(2, 5))]));
        assert_eq!(share(&explicit, part), Ok(ratio(2, 5)));
        for weights in [Weights::Compute, Weights::Memory, Weights::Max] {
            let unknown = share(&weights, Part::default()).expect_err("unknown");
            assert_eq!(unknown.by, weights.word());
            assert_eq!(weights.share(None, &Part::default()), Ok(Ratio::ONE));
        }
        assert!(explicit.share(Some("1g.10gb"), &Part::WHOLE).is_err());
    }
}
