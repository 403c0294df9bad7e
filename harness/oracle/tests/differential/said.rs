//! What one side says to a case, in one form for both.

use serde_json::Value;

/// What either side says to a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// One allocation per claim, in one form for both sides.
    Allocated(Value),
    /// Not on this node.
    No(String),
    /// An error that ends the attempt.
    Error(String),
    /// It did not come to an end.
    TooLong,
}
