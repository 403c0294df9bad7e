//! `matchAttribute`, `distinctAttribute`, and lists as sets (KEP-5491).
//! A constraint is asked whether one more device may join those that are picked; it never changes its mind later.

use crate::objects::{Attribute, Must, Scalar};

/// Why a device breaks a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The device does not have the attribute.
    Missing,
    /// It, or one picked before, has a list, which can be compared only where list attributes are on.
    List,
    /// It has nothing in common with those picked before.
    NotCommon {
        /// What it has.
        has: String,
        /// What those before have in common.
        common: String,
    },
    /// It shares a value with one picked before.
    NotDistinct {
        /// The value.
        value: String,
    },
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Breach::Missing => f.write_str("it does not have the attribute"),
            Breach::List => {
                f.write_str("the attribute is a list, which cannot be compared while DRAListTypeAttributes is off")
            }
            Breach::NotCommon { has, common } => {
                write!(f, "it has {has}, those picked before have {common}")
            }
            Breach::NotDistinct { value } => write!(f, "{value} is on a device picked before"),
        }
    }
}

/// Whether a device with `attribute` may join devices with `before`.
pub(crate) fn joins(
    must: &Must,
    attribute: Option<&Attribute>,
    before: &[&Attribute],
    lists: bool,
) -> Result<(), Breach> {
    let Some(attribute) = attribute else {
        return Err(Breach::Missing);
    };
    if !lists
        && !before.is_empty()
        && (attribute.is_list() || before.iter().any(|other| other.is_list()))
    {
        return Err(Breach::List);
    }
    match must {
        Must::Match(_) => in_common(attribute, before),
        Must::Differ(_) => {
            let shared = |other: &&&Attribute| {
                attribute
                    .values()
                    .iter()
                    .find(|value| other.values().contains(value))
                    .cloned()
            };
            match before.iter().find_map(|other| shared(&other)) {
                Some(value) => Err(Breach::NotDistinct {
                    value: value.to_string(),
                }),
                None => Ok(()),
            }
        }
    }
}

fn in_common(attribute: &Attribute, before: &[&Attribute]) -> Result<(), Breach> {
    let Some((first, rest)) = before.split_first() else {
        return Ok(());
    };
    let common: Vec<&Scalar> = first
        .values()
        .iter()
        .filter(|value| rest.iter().all(|other| other.values().contains(value)))
        .collect();
    if attribute
        .values()
        .iter()
        .any(|value| common.contains(&value))
    {
        return Ok(());
    }
    let texts: Vec<String> = common.iter().map(ToString::to_string).collect();
    Err(Breach::NotCommon {
        has: attribute.to_string(),
        common: texts.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Attribute {
        Attribute::scalar(Scalar::Text(value.into()))
    }

    fn list(values: &[&str]) -> Attribute {
        Attribute::list(
            values
                .iter()
                .map(|value| Scalar::Text((*value).into()))
                .collect(),
        )
    }

    fn matching() -> Must {
        Must::Match("d/numa".into())
    }

    fn distinct() -> Must {
        Must::Differ("d/numa".into())
    }

    #[test]
    fn match_wants_the_attribute_with_equal_type_and_value() {
        assert_eq!(joins(&matching(), None, &[], true), Err(Breach::Missing));
        assert_eq!(joins(&matching(), Some(&text("a")), &[], false), Ok(()));
        assert_eq!(
            joins(&matching(), Some(&text("a")), &[&text("a")], false),
            Ok(())
        );
        assert!(joins(&matching(), Some(&text("b")), &[&text("a")], false).is_err());
        let version = Attribute::scalar(Scalar::Version("1.0.0".into()));
        assert!(
            joins(&matching(), Some(&version), &[&text("1.0.0")], false).is_err(),
            "types differ"
        );
    }

    #[test]
    fn lists_match_by_what_all_have_in_common() {
        let (ab, bc, ca) = (list(&["a", "b"]), list(&["b", "c"]), list(&["c", "a"]));
        assert_eq!(joins(&matching(), Some(&bc), &[&ab], true), Ok(()));
        assert!(
            joins(&matching(), Some(&ca), &[&ab, &bc], true).is_err(),
            "each pair overlaps, all three do not"
        );
        assert_eq!(
            joins(&matching(), Some(&text("b")), &[&ab, &bc], true),
            Ok(()),
            "a scalar is a list of one"
        );
        assert_eq!(
            joins(&matching(), Some(&ab), &[&ab], false),
            Err(Breach::List)
        );
        assert_eq!(
            joins(&matching(), Some(&ab), &[], false),
            Ok(()),
            "alone there is nothing to compare"
        );
    }

    #[test]
    fn distinct_wants_every_pair_apart() {
        assert_eq!(joins(&distinct(), None, &[], true), Err(Breach::Missing));
        assert_eq!(
            joins(&distinct(), Some(&text("a")), &[&text("b")], false),
            Ok(())
        );
        assert!(
            joins(
                &distinct(),
                Some(&text("a")),
                &[&text("b"), &text("a")],
                false
            )
            .is_err()
        );
        assert!(
            joins(
                &distinct(),
                Some(&list(&["a", "b"])),
                &[&list(&["b", "c"])],
                true
            )
            .is_err()
        );
        assert_eq!(
            joins(
                &distinct(),
                Some(&list(&["a"])),
                &[&list(&["b", "c"])],
                true
            ),
            Ok(())
        );
    }
}
