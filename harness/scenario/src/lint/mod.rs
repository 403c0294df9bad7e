//! What is wrong with feature files, found before anything starts.
//! Not here: whether the scenarios hold; only whether they say something that can be checked.
//! Data comes from `source`, `document` and the registry of steps, and goes out as findings.

mod features;
pub(crate) mod keywords;
mod lines;
mod steps;

pub(crate) use features::features;
pub(crate) use lines::lines;
pub(crate) use steps::bind;
