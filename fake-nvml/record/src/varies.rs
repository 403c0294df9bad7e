//! What may differ between a card and its fake without meaning anything: what varies by itself, and what belongs to one machine.
//! Not a place to hide a wrong value: each line says why. `data/varies.txt`, and files of the user's own in the same form.
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Why something may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It changes by itself: temperature, energy, counters.
    Time,
    /// It names this machine or this card: UUIDs, serial numbers, addresses, processes.
    Machine,
    /// Somebody has looked at it and says why it may differ.
    Allowed,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "time",
            Self::Machine => "machine",
            Self::Allowed => "allowed",
        })
    }
}

/// The rules.
#[derive(Clone, Debug)]
pub struct Varies {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    class: Class,
    function: String,
    field: String,
}

/// A list that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VariesError {
    /// The file.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of it.
    #[error("{}:{line}: {why}; write: time|machine|allowed FUNCTION FIELD  why (with * for any)", path.display())]
    Line {
        /// Where.
        path: PathBuf,
        /// Its number.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl Varies {
    /// The list that comes with this program.
    ///
    /// # Errors
    /// Never, as a test shows.
    pub fn builtin() -> Result<Self, VariesError> {
        let mut varies = Self { rules: Vec::new() };
        varies.add_text(Path::new("varies.txt"), include_str!("../data/varies.txt"))?;
        Ok(varies)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// [`VariesError`].
    pub fn add(&mut self, path: &Path) -> Result<(), VariesError> {
        let text = std::fs::read_to_string(path).map_err(|source| VariesError::File {
            path: path.to_owned(),
            source,
        })?;
        self.add_text(path, &text)
    }

    fn add_text(&mut self, path: &Path, text: &str) -> Result<(), VariesError> {
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: &str| VariesError::Line {
                path: path.to_owned(),
                line: i + 1,
                why: why.to_owned(),
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let [class, function, field, _, ..] = words.as_slice() else {
                return Err(wrong(
                    "a class, a function, a field and a reason are needed",
                ));
            };
            let class = match *class {
                "time" => Class::Time,
                "machine" => Class::Machine,
                "allowed" => Class::Allowed,
                other => return Err(wrong(&format!("`{other}` is no class"))),
            };
            self.rules.push(Rule {
                class,
                function: (*function).to_owned(),
                field: (*field).to_owned(),
            });
        }
        Ok(())
    }

    /// Why a field of a function may differ, if it may. The field `code` is the return code.
    pub fn class(&self, function: &str, field: &str) -> Option<Class> {
        self.rules
            .iter()
            .find(|rule| matches(&rule.function, function) && matches(&rule.field, field))
            .map(|rule| rule.class)
    }
}

/// A pattern with `*` for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| matches(after, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_reads_and_knows_what_varies() {
        let varies = Varies::builtin().expect("the list");
        assert_eq!(
            varies.class("nvmlDeviceGetTemperature", "temp"),
            Some(Class::Time)
        );
        assert_eq!(
            varies.class("nvmlDeviceGetUUID", "text"),
            Some(Class::Machine)
        );
        assert_eq!(
            varies.class("nvmlDeviceGetThermalSettings", "sensor[0].currentTemp"),
            Some(Class::Time)
        );
        assert_eq!(varies.class("nvmlDeviceGetName", "text"), None);
        assert_eq!(varies.class("nvmlDeviceGetMemoryInfo", "total"), None);
        assert_eq!(varies.class("nvmlDeviceGetTemperature", "code"), None);
    }

    #[test]
    fn patterns() {
        assert!(matches("a*c", "abc") && matches("*", "") && matches("a*b*c", "aXbYc"));
        assert!(!matches("a*c", "abd") && !matches("a", "ab"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let mut varies = Varies::builtin().expect("the list");
        let error = varies
            .add_text(Path::new("mine.txt"), "# fine\nsometimes f g because")
            .expect_err("no class");
        assert!(
            error
                .to_string()
                .starts_with("mine.txt:2: `sometimes` is no class"),
            "{error}"
        );
        assert!(
            varies.add_text(Path::new("mine.txt"), "time f g").is_err(),
            "a reason is needed"
        );
    }
}
