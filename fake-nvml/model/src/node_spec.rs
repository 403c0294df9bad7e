//! What stands in a node: `2xA100-SXM4-40GB,1xL4`.
//! Not here: whether the models exist (`Catalog`).
//! Comes from command lines and scenario files; goes to `Machine::build`.
use std::{fmt, str::FromStr};

/// GPUs of a node by model, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSpec {
    cards: Vec<(String, usize)>,
}

/// Text that is no node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeSpecError {
    /// Nothing there.
    #[error("the node is empty: write a count and a model, such as 2xA100-SXM4-40GB")]
    Empty,
    /// A part is not understood.
    #[error(
        "`{part}` is no count and model: write it as 2xA100-SXM4-40GB, several with a comma between"
    )]
    Malformed {
        /// Which part.
        part: String,
    },
    /// Count 0.
    #[error(
        "`{part}` asks for 0 GPUs: a count is at least 1; leave the part out if none is wanted"
    )]
    Zero {
        /// Which part.
        part: String,
    },
    /// Too many.
    #[error("{count} GPUs on one node: at most {max} are possible", max = NodeSpec::MAX_GPUS)]
    TooMany {
        /// Asked for.
        count: usize,
    },
}

impl NodeSpec {
    /// As many GPUs as a node can have (what NVIDIA's own clients reserve room for).
    pub const MAX_GPUS: usize = 64;

    /// From models and counts.
    pub fn new(cards: Vec<(String, usize)>) -> Result<Self, NodeSpecError> {
        if cards.is_empty() {
            return Err(NodeSpecError::Empty);
        }
        let mut count: usize = 0;
        for (model, n) in &cards {
            if *n == 0 {
                return Err(NodeSpecError::Zero {
                    part: format!("0x{model}"),
                });
            }
            count = count.saturating_add(*n);
        }
        if count > Self::MAX_GPUS {
            return Err(NodeSpecError::TooMany { count });
        }
        Ok(Self { cards })
    }

    /// Models and counts, in order.
    pub fn cards(&self) -> &[(String, usize)] {
        &self.cards
    }

    /// How many GPUs in all.
    pub fn gpus(&self) -> usize {
        self.cards.iter().map(|(_, count)| count).sum()
    }

    /// Finds each model in the catalogue.
    #[cfg(feature = "catalog")]
    pub fn resolve<'c>(
        &self,
        catalog: &'c crate::Catalog,
    ) -> Result<Vec<(&'c crate::Model, usize)>, crate::UnknownModel> {
        self.cards
            .iter()
            .map(|(model, count)| Ok((catalog.model(model)?, *count)))
            .collect()
    }
}

impl FromStr for NodeSpec {
    type Err = NodeSpecError;

    /// Reads `COUNTxMODEL` and `MODEL*COUNT`, separated by commas; a bare `MODEL` counts once.
    fn from_str(text: &str) -> Result<Self, NodeSpecError> {
        if text.trim().is_empty() {
            return Err(NodeSpecError::Empty);
        }
        let cards = text.split(',').map(part).collect::<Result<Vec<_>, _>>()?;
        Self::new(cards)
    }
}

fn part(text: &str) -> Result<(String, usize), NodeSpecError> {
    let text = text.trim();
    let malformed = || NodeSpecError::Malformed {
        part: text.to_owned(),
    };
    let (count, model) = match (text.split_once('x'), text.rsplit_once('*')) {
        (Some((count, model)), _)
            if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (count, model)
        }
        (_, Some((model, count))) => (count, model),
        _ => ("1", text),
    };
    let count: usize = count.trim().parse().map_err(|_| malformed())?;
    let model = model.trim();
    if model.is_empty() || model.contains(char::is_whitespace) {
        return Err(malformed());
    }
    if count == 0 {
        return Err(NodeSpecError::Zero {
            part: text.to_owned(),
        });
    }
    Ok((model.to_owned(), count))
}

impl fmt::Display for NodeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (model, count)) in self.cards.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{count}x{model}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_in_both_notations() {
        let cards = |text: &str| text.parse::<NodeSpec>().map(|node| node.cards);
        let a100 = |n| ("A100-SXM4-40GB".to_owned(), n);
        assert_eq!(
            cards("2xA100-SXM4-40GB, 1xL4"),
            Ok(vec![a100(2), ("L4".to_owned(), 1)])
        );
        assert_eq!(cards("A100-SXM4-40GB*8"), Ok(vec![a100(8)]));
        assert_eq!(cards("A100-SXM4-40GB"), Ok(vec![a100(1)]));
        let node: NodeSpec = "1xL4,2xL4".parse().expect("a node");
        assert_eq!((node.gpus(), node.to_string()), (3, "1xL4,2xL4".to_owned()));
    }

    #[test]
    fn bad_nodes_say_what_to_write() {
        let error = |text: &str| text.parse::<NodeSpec>().expect_err(text).to_string();
        assert_eq!(
            error(" "),
            "the node is empty: write a count and a model, such as 2xA100-SXM4-40GB"
        );
        assert_eq!(
            error("0xL4"),
            "`0xL4` asks for 0 GPUs: a count is at least 1; leave the part out if none is wanted"
        );
        assert!(error("L4*0").starts_with("`L4*0` asks for 0 GPUs"));
        assert!(error("65xL4").starts_with("65 GPUs on one node: at most 64"));
        for text in ["2x", "L4,,L4", "L4*two", "2 L4", "99999999999999999999xL4"] {
            assert!(error(text).contains("is no count and model"), "{text}");
        }
    }
}
