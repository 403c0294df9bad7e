//! Placeholder so that the workspace parses.
fn main() {}
