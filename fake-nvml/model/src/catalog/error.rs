//! A model file that can not be used: where, why, and what to mend.
//! Not here: names that no model has (`UnknownModel`).
//! Made by the reader and the checker; shown to whoever wrote the file.

/// The first problem of a model file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}: {remedy}")]
pub struct CatalogError {
    /// Which file.
    pub file: String,
    /// Line, from 1; 0 if the place is not known.
    pub line: u64,
    /// Column, from 1; 0 if the place is not known.
    pub column: u64,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl CatalogError {
    pub(super) fn yaml(file: &str, error: &serde_saphyr::Error) -> Self {
        let (line, column) = error
            .location()
            .map_or((0, 0), |at| (at.line(), at.column()));
        let text = error.without_snippet().to_string();
        // The crate repeats the place in its message; we print it in front already.
        let problem = text
            .split(" at line ")
            .next()
            .unwrap_or(&text)
            .trim_start_matches("error: ")
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        Self {
            file: file.to_owned(),
            line,
            column,
            problem,
            remedy: "compare with the built-in files (fake-nvml/catalog/)".to_owned(),
        }
    }
}
