//! Numbers that the environment gives a test.

/// The variable's number, or the other one where nobody has set it; an error where it is none: a run of the wrong size proves nothing.
pub(crate) fn number(variable: &str, otherwise: u64) -> Result<u64, String> {
    match std::env::var(variable) {
        Err(std::env::VarError::NotPresent) => Ok(otherwise),
        Ok(text) => text
            .parse()
            .map_err(|_| format!("{variable} is {text:?}: write a number, as {otherwise}")),
        Err(error) => Err(format!("{variable}: {error}")),
    }
}
