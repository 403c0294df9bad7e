//! The API's objects as the oracle works with them: parsed once, so that inside nothing is text that should be a number.
//! Not a validator of everything the API server checks: `validate` does that.
//! They come from `resource.k8s.io/v1` objects (`read`), and a mistake names the object and the field.

mod attribute;
mod claim;
mod class;
mod listed;
mod node;
mod pod;
mod read;
mod rule;
mod slice;

pub use attribute::{Attribute, Scalar};
pub use claim::{Ask, Claim, ClaimKey, Constraint, Derived, Held, Mode, Must, Request, Wanted};
pub use class::{Class, Opaque};
pub use listed::{Listed, bound_node};
pub use node::{Node, NodeRequirement, NodeSelector, NodeTerm, Operator};
pub use pod::{Container, Pod, Runs};
pub use read::Mistake;
pub use rule::{Effect, Rule, RuleSelector, Taint, Toleration, TolerationOperator};
pub use slice::{Capacity, Consumption, CounterSet, Device, Policy, Range, Reach, Slice, Span};

use crate::cel::{BadExpression, Dialect, Expression};

/// A selector of a class or request, compiled or known to be broken.
#[derive(Debug, Clone)]
pub struct Selector {
    /// What was written.
    pub text: String,
    /// The compiled expression.
    pub expression: Result<std::sync::Arc<Expression>, BadExpression>,
}

impl Selector {
    /// Compiles the text.
    pub fn new(text: &str, dialect: Dialect) -> Self {
        Selector {
            text: text.to_owned(),
            expression: Expression::selector(text, dialect).map(std::sync::Arc::new),
        }
    }
}
