//! The time that is printed.

/// Now, in the machine's own zone.
pub(crate) fn now() -> jiff::Zoned {
    jiff::Zoned::now()
}
