//! What Kubernetes gives lists: `sum`, `min`, `max`, `isSorted`, and `includes`, which asks a scalar and a list alike: a scalar
//! includes itself, a list its members (KEP-5491).

use std::cmp::Ordering;

use cel::common::types::{CelList, DYN_TYPE, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::{boolean, integer};
use super::sets::is_in;

fn list<'a, 'v>(args: &'a [CowVal<'_, 'v>]) -> Result<&'a CelList<'v>, ExecutionError> {
    args.first()
        .and_then(|value| value.downcast_ref::<CelList<'v>>())
        .ok_or(ExecutionError::MissingArgumentOrTarget)
}

fn wrong(function: &'static str, why: &str) -> ExecutionError {
    ExecutionError::function_error(function, why.to_owned())
}

fn order(a: &dyn Val, b: &dyn Val) -> Result<Ordering, ExecutionError> {
    let comparer = a.as_comparer();
    comparer
        .ok_or_else(|| wrong("compare", "what is in the list has no order"))?
        .compare(b)
}

fn sum<'b, 'v>(args: &[CowVal<'b, 'v>]) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut items = list(args)?.inner().iter();
    let Some(first) = items.next() else {
        return integer(0);
    };
    let mut sum: Box<dyn Val + 'v> = first.clone_as_boxed();
    for item in items {
        let adder = sum.as_adder();
        let adder = adder.ok_or_else(|| wrong("sum", "what is in the list cannot be added"))?;
        let more = adder.add(item.as_ref())?.into_owned();
        sum = more;
    }
    Ok(CowVal::Owned(sum))
}

/// The first item that all others are not on that side of.
fn extreme<'b, 'v>(
    function: &'static str,
    args: &[CowVal<'b, 'v>],
    worse: Ordering,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut items = list(args)?.inner().iter();
    let mut best = items
        .next()
        .ok_or_else(|| wrong(function, "the list is empty"))?;
    for item in items {
        if order(best.as_ref(), item.as_ref())? == worse {
            best = item;
        }
    }
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_member_overload("isSorted", "list_is_sorted", LIST_TYPE, vec![], |args| {
        for two in list(&args)?.inner().windows(2) {
            if order(two[0].as_ref(), two[1].as_ref())? == Ordering::Greater {
                return boolean(false);
            }
        }
        boolean(true)
    })?;
    env.add_member_overload("sum", "list_sum", LIST_TYPE, vec![], |args| sum(&args))?;
    env.add_member_overload("max", "list_max", LIST_TYPE, vec![], |args| {
        extreme("max", &args, Ordering::Less)
    })?;
    env.add_member_overload("min", "list_min", LIST_TYPE, vec![], |args| {
        extreme("min", &args, Ordering::Greater)
    })?;
    env.add_member_overload(
        "includes",
        "dyn_includes_dyn",
        DYN_TYPE,
        vec![DYN_TYPE],
        |args| {
            let [this, wanted] = args.as_slice() else {
                return Err(ExecutionError::MissingArgumentOrTarget);
            };
            match this.downcast_ref::<CelList<'_>>() {
                Some(list) => boolean(is_in(list, wanted.as_ref())),
                None => boolean(this.equals(wanted.as_ref())),
            }
        },
    )
}
