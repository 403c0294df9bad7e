//! How the program ends.

/// Documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Each selected scenario ran and passed.
    Passed = 0,
    /// A scenario failed.
    Failed = 1,
    /// Usage, lint or environment: nothing can be said about the scenarios.
    Broken = 2,
    /// No scenario was executed.
    NothingRan = 4,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl Exit {
    /// The code.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}
