//! Lists as sets, places in lists, and what a pattern finds in a text: Kubernetes' libraries besides those of the `cel` crate.

use cel::common::types::{CelInt, CelList, CelString, DYN_TYPE, INT_TYPE, LIST_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::{argument, boolean, integer, text};

fn all_in(of: &CelList<'_>, these: &CelList<'_>) -> bool {
    these.inner().iter().all(|item| is_in(of, item.as_ref()))
}

pub(super) fn is_in(of: &CelList<'_>, item: &(dyn Val + '_)) -> bool {
    of.inner().iter().any(|known| known.equals(item))
}

fn lists<'a, 'b, 'v>(
    args: &'a [CowVal<'b, 'v>],
) -> Result<(&'a CelList<'v>, &'a CelList<'v>), ExecutionError> {
    let list = |at: usize| {
        args.get(at)
            .and_then(|value| value.downcast_ref::<CelList<'v>>())
    };
    match (list(0), list(1)) {
        (Some(left), Some(right)) => Ok((left, right)),
        _ => Err(ExecutionError::MissingArgumentOrTarget),
    }
}

fn place(args: &[CowVal<'_, '_>], last: bool) -> Result<i64, ExecutionError> {
    let [list, wanted] = args else {
        return Err(ExecutionError::MissingArgumentOrTarget);
    };
    let list = list
        .downcast_ref::<CelList<'_>>()
        .ok_or(ExecutionError::MissingArgumentOrTarget)?;
    let items = list.inner();
    let is = |at: &usize| items[*at].equals(wanted.as_ref());
    let found = if last {
        (0..items.len()).rev().find(is)
    } else {
        (0..items.len()).find(is)
    };
    Ok(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))
}

/// What a pattern finds in a text, at most so many; a negative number means all.
fn found(args: &[CowVal<'_, '_>], most: i64) -> Result<Vec<String>, ExecutionError> {
    let (text, pattern) = (text(args, 0)?, text(args, 1)?);
    let pattern = regex::Regex::new(pattern)
        .map_err(|error| ExecutionError::function_error("find", error))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let all = pattern.find_iter(text).take(most);
    Ok(all.map(|one| one.as_str().to_owned()).collect())
}

fn texts<'b, 'v>(found: Vec<String>) -> CowVal<'b, 'v> {
    let values: Vec<Box<dyn Val>> = found
        .into_iter()
        .map(|text| Box::new(CelString::from(text)) as Box<dyn Val>)
        .collect();
    CowVal::owned(CelList::from(values))
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let both = || vec![LIST_TYPE, LIST_TYPE];
    env.add_overload("sets.contains", "list_sets_contains_list", both(), |args| {
        let (left, right) = lists(&args)?;
        boolean(all_in(left, right))
    })?;
    env.add_overload(
        "sets.equivalent",
        "list_sets_equivalent_list",
        both(),
        |args| {
            let (left, right) = lists(&args)?;
            boolean(all_in(left, right) && all_in(right, left))
        },
    )?;
    env.add_overload(
        "sets.intersects",
        "list_sets_intersects_list",
        both(),
        |args| {
            let (left, right) = lists(&args)?;
            boolean(right.inner().iter().any(|item| is_in(left, item.as_ref())))
        },
    )?;
    env.add_member_overload(
        "indexOf",
        "list_a_index_of_int",
        LIST_TYPE,
        vec![DYN_TYPE],
        |args| integer(place(&args, false)?),
    )?;
    env.add_member_overload(
        "lastIndexOf",
        "list_a_last_index_of_int",
        LIST_TYPE,
        vec![DYN_TYPE],
        |args| integer(place(&args, true)?),
    )?;
    env.add_member_overload(
        "find",
        "string_find_string",
        STRING_TYPE,
        vec![STRING_TYPE],
        |args| {
            let first = found(&args, 1)?.into_iter().next().unwrap_or_default();
            Ok(CowVal::owned(CelString::from(first)))
        },
    )?;
    env.add_member_overload(
        "findAll",
        "string_find_all_string",
        STRING_TYPE,
        vec![STRING_TYPE],
        |args| Ok(texts(found(&args, -1)?)),
    )?;
    let limited = vec![STRING_TYPE, INT_TYPE];
    env.add_member_overload(
        "findAll",
        "string_find_all_string_int",
        STRING_TYPE,
        limited,
        |args| {
            let most = *argument::<CelInt>(&args, 2)?.inner();
            Ok(texts(found(&args, most)?))
        },
    )
}
