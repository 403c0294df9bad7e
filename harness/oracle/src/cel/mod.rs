//! CEL as DRA uses it: a selector is compiled once and asked of many devices.
//! Not here: the cost limits of the API server.
//! The interpreter is the `cel` crate; the variable `device` and the functions of Kubernetes are ours.

mod addresses;
mod bind;
mod device;
mod functions;
mod lists;
mod quantities;
mod reads;
mod scope;
mod semvers;
mod sets;
mod signatures;
mod types;
mod unrun;

use std::fmt;
use std::sync::{Arc, LazyLock};

use ::cel::common::types::CelBool;
use ::cel::common::value::CowVal;
use ::cel::{Context, Env, Program, Value};

pub use device::Facts;

/// The longest expression that the API accepts.
pub(crate) const MAX_LENGTH: usize = 10 * 1024;

static ENVIRONMENT: LazyLock<Result<Arc<Env>, String>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    env.add_extension(::cel::extensions::strings)
        .and_then(|()| env.add_macro(bind::bind()))
        .and_then(|()| quantities::declare(&mut env))
        .and_then(|()| semvers::declare(&mut env))
        .and_then(|()| env.add_extension(::cel::extensions::lists))
        .and_then(|()| addresses::declare(&mut env))
        .and_then(|()| lists::declare(&mut env))
        .and_then(|()| unrun::declare(&mut env))
        .and_then(|()| sets::declare(&mut env))
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(env))
});

/// Whether an expression of no device runs without an error.
fn runs(text: &str) -> bool {
    let Ok(env) = ENVIRONMENT.as_ref() else {
        return false;
    };
    let context = Context::with_env(Arc::clone(env));
    env.compile(text)
        .is_ok_and(|program| Value::resolve_val(program.expression(), &context).is_ok())
}

/// What an expression may use beyond what is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dialect {
    /// `device.allowMultipleAllocations`.
    pub multiple_allocations: bool,
    /// `includes`, for attributes that are lists.
    pub includes: bool,
    /// Without the list functions that came in 1.34; the API server takes what is new one minor later.
    pub without_list_functions: bool,
}

/// Why an expression cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CEL expression {text:?}: {}{message}", Place(*line, *column))]
pub struct BadExpression {
    /// The expression.
    pub text: String,
    /// Line from 1; 0 if the place is not known.
    pub line: u32,
    /// Column from 1; 0 if the place is not known.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

struct Place(u32, u32);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            Ok(())
        } else {
            write!(f, "line {}, column {}: ", self.0, self.1)
        }
    }
}

/// A compiled expression.
pub struct Expression {
    text: String,
    program: Program,
    dialect: Dialect,
    reads: Option<reads::Reads>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl Expression {
    /// Compiles, and checks that everything it names exists and fits together.
    pub fn compile(text: &str, dialect: Dialect) -> Result<Expression, BadExpression> {
        Self::checked(text, dialect, |_| Ok(()))
    }

    /// Compiles a selector, which gives true or false.
    pub fn selector(text: &str, dialect: Dialect) -> Result<Expression, BadExpression> {
        Self::checked(text, dialect, scope::selects)
    }

    fn checked(
        text: &str,
        dialect: Dialect,
        gives: impl Fn(&types::Ty) -> Result<(), scope::Problem>,
    ) -> Result<Expression, BadExpression> {
        let bad = |line: u32, column: u32, message: String| BadExpression {
            text: text.to_owned(),
            line,
            column,
            message,
        };
        let env = ENVIRONMENT
            .as_ref()
            .map_err(|message| bad(0, 0, message.clone()))?;
        if text.len() > MAX_LENGTH {
            return Err(bad(
                0,
                0,
                format!("it has {} bytes; the limit is {MAX_LENGTH}", text.len()),
            ));
        }
        let program = env.compile(text).map_err(|errors| {
            let first = errors.errors.first();
            let place = |n: isize| u32::try_from(n).unwrap_or(0);
            let (line, mut column) =
                first.map_or((0, 0), |error| (place(error.pos.0), place(error.pos.1)));
            if text.is_empty() {
                // The API server counts from 0 where there is nothing to count.
                column = 0;
            }
            bad(
                line,
                column,
                first.map_or_else(|| errors.to_string(), |error| error.msg.clone()),
            )
        })?;
        let ty = scope::check(&program, dialect);
        ty.and_then(|ty| gives(&ty)).map_err(|problem| {
            let (line, column) = problem.place(&program, text);
            bad(line, column, problem.message)
        })?;
        Ok(Expression {
            text: text.to_owned(),
            reads: reads::Reads::of(program.expression()),
            program,
            dialect,
        })
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Asks it of a device: true, false, or an error of the run.
    pub fn holds(&self, facts: &Arc<Facts>) -> Result<bool, String> {
        self.evaluate(facts, |value| match value.downcast_ref::<CelBool>() {
            Some(answer) => Ok(*answer.inner()),
            None => Err(format!(
                "it gives {} where true or false is wanted",
                value.get_type().name()
            )),
        })
    }

    /// Whether it can be seen that it says the same of both devices.
    pub(crate) fn answers_alike(&self, a: &Arc<Facts>, b: &Arc<Facts>) -> bool {
        let reads = self.reads.as_ref();
        Arc::ptr_eq(a, b) || reads.is_some_and(|reads| reads.agree(a, b, self.dialect))
    }

    /// Evaluates it to an attribute.
    pub fn attribute(&self, facts: &Arc<Facts>) -> Result<crate::objects::Attribute, String> {
        self.evaluate(facts, |value| {
            device::attribute_of(value.as_ref()).ok_or_else(|| {
                format!(
                    "it gives {}, which no attribute can hold",
                    value.get_type().name()
                )
            })
        })
    }

    fn evaluate<T>(
        &self,
        facts: &Arc<Facts>,
        then: impl FnOnce(&CowVal<'_, '_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let env = ENVIRONMENT.as_ref().map_err(Clone::clone)?;
        let mut context = Context::with_env(Arc::clone(env));
        let device = device::DeviceValue::new(Arc::clone(facts), self.dialect.multiple_allocations);
        context.add_variable_as_val("device", Box::new(device));
        match Value::resolve_val(self.program.expression(), &context) {
            Ok(value) => then(&value),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
