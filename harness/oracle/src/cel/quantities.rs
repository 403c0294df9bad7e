//! Quantities in CEL: `quantity("10Gi").isGreaterThan(...)` and the other functions that Kubernetes gives them.

use std::any::Any;
use std::cmp::Ordering;

use cel::common::types::{CelDouble, CelInt, INT_TYPE, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::{argument, boolean, integer, text};
use crate::quantity::Quantity;

static QUANTITY: Type = Type::new_unspecified_type("kubernetes.Quantity");

/// A quantity as a CEL value.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuantityValue(pub(super) Quantity);

impl Val for QuantityValue {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }
    fn cel_type() -> &'static Type {
        &QUANTITY
    }
    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<QuantityValue>()
            .is_some_and(|other| other.0 == self.0)
    }
    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(*self)
    }
    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
impl StaticVal for QuantityValue {}

fn ordering(args: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    Ok(argument::<QuantityValue>(args, 0)?
        .0
        .cmp(&argument::<QuantityValue>(args, 1)?.0))
}

fn this(args: &[CowVal<'_, '_>]) -> Result<Quantity, ExecutionError> {
    argument::<QuantityValue>(args, 0).map(|value| value.0)
}

fn other(args: &[CowVal<'_, '_>]) -> Result<Quantity, ExecutionError> {
    if let Some(number) = args.get(1).and_then(|value| value.downcast_ref::<CelInt>()) {
        return Ok(Quantity::whole(*number.inner()));
    }
    argument::<QuantityValue>(args, 1).map(|value| value.0)
}

fn owned<'b, 'v>(value: Quantity) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(QuantityValue(value)))
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(QUANTITY.to_owned())?;
    env.add_overload(
        "quantity",
        "string_to_quantity",
        vec![STRING_TYPE],
        |args| {
            owned(
                text(&args, 0)?
                    .parse()
                    .map_err(|error| ExecutionError::function_error("quantity", error))?,
            )
        },
    )?;
    env.add_overload(
        "isQuantity",
        "is_quantity_string",
        vec![STRING_TYPE],
        |args| boolean(text(&args, 0)?.parse::<Quantity>().is_ok()),
    )?;
    let member = |env: &mut Env, name: &str, id: &str, args: Vec<Type>, function| {
        env.add_member_overload(name, id, QUANTITY.to_owned(), args, function)
    };
    member(
        env,
        "isLessThan",
        "quantity_is_less_than",
        vec![QUANTITY.to_owned()],
        |a| boolean(ordering(&a)?.is_lt()),
    )?;
    member(
        env,
        "isGreaterThan",
        "quantity_is_greater_than",
        vec![QUANTITY.to_owned()],
        |a| boolean(ordering(&a)?.is_gt()),
    )?;
    member(
        env,
        "compareTo",
        "quantity_compare_to",
        vec![QUANTITY.to_owned()],
        |a| integer(ordering(&a)? as i64),
    )?;
    member(env, "asInteger", "quantity_get_int", vec![], |args| {
        let value = this(&args)?;
        integer(value.as_whole().ok_or_else(|| {
            ExecutionError::function_error("asInteger", "cannot convert value to integer")
        })?)
    })?;
    member(env, "isInteger", "quantity_is_integer", vec![], |args| {
        boolean(this(&args)?.as_whole().is_some())
    })?;
    member(
        env,
        "asApproximateFloat",
        "quantity_get_float",
        vec![],
        |args| Ok(CowVal::owned(CelDouble::from(this(&args)?.approximate()))),
    )?;
    member(env, "sign", "quantity_sign", vec![], |args| {
        integer(this(&args)?.sign())
    })?;
    for (id, with) in [
        ("quantity_add", QUANTITY.to_owned()),
        ("quantity_add_int", INT_TYPE),
    ] {
        member(env, "add", id, vec![with], |args| {
            owned(this(&args)?.plus(other(&args)?))
        })?;
    }
    for (id, with) in [
        ("quantity_sub", QUANTITY.to_owned()),
        ("quantity_sub_int", INT_TYPE),
    ] {
        member(env, "sub", id, vec![with], |args| {
            owned(this(&args)?.minus(other(&args)?))
        })?;
    }
    Ok(())
}
