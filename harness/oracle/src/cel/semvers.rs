//! Semantic versions in CEL: `semver("1.2.3").isLessThan(...)`, and attributes of type version.

use std::any::Any;
use std::cmp::Ordering;

use cel::common::types::{BOOL_TYPE, CelBool, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use semver::Version;

use super::functions::{argument, boolean, integer, text};

static SEMVER: Type = Type::new_unspecified_type("kubernetes.Semver");

/// A version as a CEL value. Build metadata does not count in comparisons.
#[derive(Clone, Debug)]
pub(super) struct SemverValue(pub(super) Version);

impl SemverValue {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Version::parse(text)
            .map(SemverValue)
            .map_err(|error| format!("{text:?} is not a semantic version: {error}"))
    }
}

impl Val for SemverValue {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }
    fn cel_type() -> &'static Type {
        &SEMVER
    }
    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<SemverValue>()
            .is_some_and(|other| other.0.cmp_precedence(&self.0).is_eq())
    }
    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }
    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
impl StaticVal for SemverValue {}

/// Makes a semantic version of what people write: `v1.2` is `1.2.0`, `01` is `1`.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut parts: Vec<&str> = core.split('.').collect();
    if parts.len() < 3 {
        if !rest.is_empty() {
            return text.to_owned();
        }
        parts.resize(3, "0");
    }
    let parts = parts
        .into_iter()
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0",
            trimmed => trimmed,
        });
    format!("{}{rest}", parts.collect::<Vec<_>>().join("."))
}

fn wanted(args: &[CowVal<'_, '_>]) -> Result<Result<SemverValue, String>, ExecutionError> {
    let text = text(args, 0)?;
    let normalize = args
        .get(1)
        .and_then(|value| value.downcast_ref::<CelBool>())
        .is_some_and(|value| *value.inner());
    Ok(SemverValue::parse(&if normalize {
        normalized(text)
    } else {
        text.to_owned()
    }))
}

fn ordering(args: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    Ok(argument::<SemverValue>(args, 0)?
        .0
        .cmp_precedence(&argument::<SemverValue>(args, 1)?.0))
}

fn part<'b, 'v>(
    args: &[CowVal<'_, '_>],
    of: fn(&Version) -> u64,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    integer(i64::try_from(of(&argument::<SemverValue>(args, 0)?.0)).unwrap_or(i64::MAX))
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(SEMVER.to_owned())?;
    for (suffix, arguments) in [
        ("", (|| vec![STRING_TYPE]) as fn() -> Vec<Type>),
        ("_bool", || vec![STRING_TYPE, BOOL_TYPE]),
    ] {
        env.add_overload(
            "semver",
            &format!("string{suffix}_to_semver"),
            arguments(),
            |args| {
                let value = wanted(&args)?
                    .map_err(|error| ExecutionError::function_error("semver", error))?;
                Ok(CowVal::owned(value))
            },
        )?;
        env.add_overload(
            "isSemver",
            &format!("is_semver_string{suffix}"),
            arguments(),
            |args| boolean(wanted(&args)?.is_ok()),
        )?;
    }
    let member = |env: &mut Env, name: &str, id: &str, args: Vec<Type>, function| {
        env.add_member_overload(name, id, SEMVER.to_owned(), args, function)
    };
    member(
        env,
        "isLessThan",
        "semver_is_less_than",
        vec![SEMVER.to_owned()],
        |a| boolean(ordering(&a)?.is_lt()),
    )?;
    member(
        env,
        "isGreaterThan",
        "semver_is_greater_than",
        vec![SEMVER.to_owned()],
        |a| boolean(ordering(&a)?.is_gt()),
    )?;
    member(
        env,
        "compareTo",
        "semver_compare_to",
        vec![SEMVER.to_owned()],
        |a| integer(ordering(&a)? as i64),
    )?;
    member(env, "major", "semver_major", vec![], |args| {
        part(&args, |version| version.major)
    })?;
    member(env, "minor", "semver_minor", vec![], |args| {
        part(&args, |version| version.minor)
    })?;
    member(env, "patch", "semver_patch", vec![], |args| {
        part(&args, |version| version.patch)
    })?;
    Ok(())
}
