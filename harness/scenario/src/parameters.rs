//! The parameters that steps may have: a wide pattern, and a check that says what is allowed. A narrow pattern would
//! turn a wrong value into an undefined step.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use cluster::MigStrategy;

use crate::gang::scheduler;
use crate::steps::catalogue;

/// Why a value is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) help: String,
}

/// A kind of parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) about: &'static str,
    pub(crate) check: fn(&str) -> Result<(), Wrong>,
}

/// Every parameter. Patterns have no group of their own: each is one capture.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "count",
        pattern: "-?[0-9]+",
        about: "a whole number from 1 on",
        check: count,
    },
    Parameter {
        name: "model",
        pattern: "\"[^\"]*\"",
        about: "a GPU model of the catalogue, in quotes",
        check: model,
    },
    Parameter {
        name: "profile",
        pattern: "\"[^\"]*\"",
        about: "a MIG profile, in quotes, as nvidia-smi names it",
        check: profile,
    },
    Parameter {
        name: "text",
        pattern: "\"[^\"]*\"",
        about: "any text, in quotes",
        check: text,
    },
    Parameter {
        name: "class",
        pattern: "\"[^\"]*\"",
        about: "the name of a DeviceClass, in quotes",
        check: text,
    },
    Parameter {
        name: "layout",
        pattern: "\"[^\"]*\"",
        about: "MIG profiles in the order in which a card is cut, in quotes, with commas",
        check: layout,
    },
    Parameter {
        name: "strategy",
        pattern: "\"[^\"]*\"",
        about: "a MIG strategy of the device plugin, in quotes: none, single or mixed",
        check: strategy,
    },
    Parameter {
        name: "gates",
        pattern: "\"[^\"]*\"",
        about: "feature gates of the DRA driver, in quotes, with commas, as `DynamicMIG=false, NVMLDeviceHealthCheck=true`",
        check: |value| to_gates(value).map(drop),
    },
    Parameter {
        name: "resource",
        pattern: "\"[^\"]*\"",
        about: "an extended resource, in quotes, as nvidia.com/gpu",
        check: resource,
    },
    Parameter {
        name: "size",
        pattern: "[0-9]+ MiB",
        about: "`2048 MiB`",
        check: text,
    },
    Parameter {
        name: "manifest",
        pattern: "\"[^\"]*\"",
        about: "a YAML file of Kubernetes objects, in quotes, its path relative to the feature file",
        check: text,
    },
    Parameter {
        name: "name",
        pattern: "\"[^\"]*\"",
        about: "the name of an object, in quotes",
        check: name,
    },
    Parameter {
        name: "names",
        pattern: "\"[^\"]*\"",
        about: "names of objects, in quotes, with commas",
        check: names,
    },
    Parameter {
        name: "devices",
        pattern: "\"[^\"]*\"",
        about: "names of devices, in quotes, with commas; with pool and driver before them where it matters, as `node-1/gpu-0`",
        check: text,
    },
    Parameter {
        name: "quantity",
        pattern: "\"[^\"]*\"",
        about: "an amount as Kubernetes writes it, in quotes, as 10Gi",
        check: quantity,
    },
    Parameter {
        name: "onoff",
        pattern: "\"[^\"]*\"",
        about: "on or off",
        check: |value| known(unquote(value), "state", &["on", "off"].map(str::to_owned)),
    },
    Parameter {
        name: "offer",
        pattern: "\"[^\"]*\"",
        about: "who offers cards to Kubernetes: DRA driver or device plugin",
        check: |value| {
            known(
                unquote(value),
                "offer",
                &["DRA driver", "device plugin"].map(str::to_owned),
            )
        },
    },
    Parameter {
        name: "kind",
        pattern: "[A-Z][A-Za-z]+",
        about: "the kind of an object, as `DeviceTaintRule`",
        check: text,
    },
    Parameter {
        name: "scheduler",
        pattern: "\"[^\"]*\"",
        about: "a scheduler beside Kubernetes' own, in quotes, as second or coscheduling",
        check: |value| {
            let names: Vec<String> = scheduler::names().map(str::to_owned).collect();
            known(unquote(value), "scheduler", &names)
        },
    },
    Parameter {
        name: "duration",
        pattern: "[0-9]+ (?:seconds?|minutes?)",
        about: "`30 seconds`, `2 minutes`",
        check: duration,
    },
];

/// A parameter as documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterView {
    /// Its name, as it stands in braces.
    pub name: &'static str,
    /// The regular expression of what may be written.
    pub pattern: &'static str,
    /// What it takes.
    pub about: &'static str,
}

/// Every parameter that a step may have.
#[must_use]
pub fn parameters() -> Vec<ParameterView> {
    PARAMETERS
        .iter()
        .map(|parameter| ParameterView {
            name: parameter.name,
            pattern: parameter.pattern,
            about: parameter.about,
        })
        .collect()
}

/// The patterns, for the expander.
pub(crate) fn patterns() -> HashMap<&'static str, &'static str> {
    PARAMETERS
        .iter()
        .map(|parameter| (parameter.name, parameter.pattern))
        .collect()
}

/// A value without its quotes.
pub(crate) fn unquote(value: &str) -> &str {
    value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value)
}

/// `30 seconds` as a duration.
pub(crate) fn to_duration(value: &str) -> Option<Duration> {
    let (number, unit) = value.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let seconds = if unit.starts_with("minute") {
        number.checked_mul(60)?
    } else {
        number
    };
    Some(Duration::from_secs(seconds))
}

/// `DynamicMIG=false, TimeSlicingSettings=true` as a map.
pub(crate) fn to_gates(value: &str) -> Result<BTreeMap<String, bool>, Wrong> {
    let gate = |text: &&str| {
        let (name, state) = text.split_once('=')?;
        let fits = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        Some((name.to_owned(), state.parse().ok()?)).filter(|_| fits)
    };
    let all = list(value);
    let gates: BTreeMap<String, bool> = all.iter().filter_map(gate).collect();
    if gates.len() == all.len() {
        return Ok(gates);
    }
    let odd = all.iter().find(|text| gate(text).is_none());
    Err(Wrong {
        message: match odd {
            Some(odd) => format!("{odd:?} says nothing of a feature gate"),
            None => format!("{value} names a feature gate twice"),
        },
        label: "must be NAME=true or NAME=false, each gate once".to_owned(),
        help: "write it like `DynamicMIG=false`".to_owned(),
    })
}

fn count(value: &str) -> Result<(), Wrong> {
    match value.parse::<u32>() {
        Ok(1..=10_000) => Ok(()),
        Ok(0) => Err(Wrong {
            message: "a count of 0 asks for nothing".to_owned(),
            label: "must be 1 or more".to_owned(),
            help: "write a number from 1 on, or leave the step out".to_owned(),
        }),
        _ => Err(Wrong {
            message: format!("{value} is not a count that can be had"),
            label: "must be 1 to 10000".to_owned(),
            help: "write a whole number".to_owned(),
        }),
    }
}

fn model(value: &str) -> Result<(), Wrong> {
    known(unquote(value), "GPU model", &catalogue::models())
}

fn profile(value: &str) -> Result<(), Wrong> {
    known(unquote(value), "MIG profile", &catalogue::profiles())
}

fn layout(value: &str) -> Result<(), Wrong> {
    let profiles = catalogue::profiles();
    unquote(value)
        .split(',')
        .try_for_each(|name| known(name.trim(), "MIG profile", &profiles))
}

fn strategy(value: &str) -> Result<(), Wrong> {
    let all = MigStrategy::ALL.map(|strategy| strategy.name().to_owned());
    known(unquote(value), "MIG strategy", &all)
}

fn resource(value: &str) -> Result<(), Wrong> {
    match unquote(value).split_once('/') {
        Some((domain, name)) if domain.contains('.') && !name.is_empty() => Ok(()),
        _ => Err(Wrong {
            message: format!("{value} is not the name of an extended resource"),
            label: "has no domain".to_owned(),
            help: "write it like `nvidia.com/gpu`".to_owned(),
        }),
    }
}

fn known(value: &str, what: &str, all: &[String]) -> Result<(), Wrong> {
    if all.iter().any(|name| name == value) {
        return Ok(());
    }
    let mut near: Vec<(usize, &String)> = all
        .iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&value.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    let nearest = near
        .first()
        .filter(|(distance, name)| *distance * 2 <= name.len());
    // There are dozens: the nearest say more than all.
    let names: Vec<&str> = near.iter().take(5).map(|(_, name)| name.as_str()).collect();
    Err(Wrong {
        message: format!("{value:?} is not a known {what}"),
        label: nearest.map_or_else(
            || "unknown".to_owned(),
            |(_, name)| format!("did you mean {name:?}?"),
        ),
        help: format!(
            "near it are {}; `fakegpu model list` and `show` name all",
            names.join(", ")
        ),
    })
}

fn text(value: &str) -> Result<(), Wrong> {
    if unquote(value).trim().is_empty() {
        return Err(Wrong {
            message: "an empty text fits everything".to_owned(),
            label: "empty".to_owned(),
            help: "write what must be there".to_owned(),
        });
    }
    Ok(())
}

fn name(value: &str) -> Result<(), Wrong> {
    let name = unquote(value);
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if !name.is_empty() && name.len() <= 253 && name.chars().all(fits) {
        return Ok(());
    }
    Err(Wrong {
        message: format!("{name:?} cannot be the name of an object"),
        label: "no name".to_owned(),
        help: "Kubernetes takes lower-case letters, digits, dashes and dots".to_owned(),
    })
}

fn names(value: &str) -> Result<(), Wrong> {
    list(value).iter().try_for_each(|one| name(one))
}

/// What stands between the commas of a value.
pub(crate) fn list(value: &str) -> Vec<&str> {
    unquote(value).split(',').map(str::trim).collect()
}

fn quantity(value: &str) -> Result<(), Wrong> {
    match crate::allocation::quantity(unquote(value)) {
        Some(_) => Ok(()),
        None => Err(Wrong {
            message: format!("{value} is not an amount"),
            label: "no amount".to_owned(),
            help: "write a whole number with a suffix that Kubernetes knows, as `10Gi` or `7`"
                .to_owned(),
        }),
    }
}

fn duration(value: &str) -> Result<(), Wrong> {
    match to_duration(value) {
        Some(duration) if !duration.is_zero() && duration <= Duration::from_secs(3600) => Ok(()),
        _ => Err(Wrong {
            message: format!("{value:?} is not a time that a step can wait"),
            label: "must be 1 second to 60 minutes".to_owned(),
            help: "write `30 seconds` or `2 minutes`".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_gates_are_on_or_off_and_named_once() {
        let two = to_gates("\"DynamicMIG=false, NVMLDeviceHealthCheck=true\"").expect("gates");
        let wanted = [("DynamicMIG", false), ("NVMLDeviceHealthCheck", true)];
        assert!(wanted.iter().all(|(name, on)| two.get(*name) == Some(on)));
        for odd in [
            "\"DynamicMIG\"",
            "\"A=yes\"",
            "\"A=true,A=false\"",
            "\"=true\"",
            "\"A=true,\"",
        ] {
            assert!(to_gates(odd).is_err(), "{odd}");
        }
    }
}
