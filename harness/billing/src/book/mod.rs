//! The price book: what a card costs, what a share of it is sold for, and by which weights and roundings.
//! Not here: what was used (`entry`), what it comes to (`charge`).

mod weights;

pub use weights::{Part, UnknownWeight, Weights};
