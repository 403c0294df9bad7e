//! A curve as a file has it: a time and a percentage per line, `#` begins a comment, the word `repeat` at the end.
use super::{Point, Shape, ShapeError};
use crate::span::{BadMicros, Micros};

/// Why a text is no curve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// A line that is none.
    #[error(
        "line {line}: `{text}` is no point: write a time and a percentage, as `30s 85`, or `repeat` as the last line"
    )]
    Line {
        /// Which, from 1.
        line: usize,
        /// As written.
        text: String,
    },
    /// A time that is none.
    #[error("line {line}: {source}")]
    Time {
        /// Which, from 1.
        line: usize,
        /// Why.
        source: BadMicros,
    },
    /// Not between 0 and 100.
    #[error("line {line}: `{text}` is no percentage: write a number from 0 to 100, as 85 or 12.5")]
    Level {
        /// Which, from 1.
        line: usize,
        /// As written.
        text: String,
    },
    /// The points do not fit together.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl Shape {
    /// Reads a percentage, `85` or `12.5`, as a level.
    pub fn level_of(text: &str) -> Option<u32> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 2 {
            return None;
        }
        let part: u32 = fraction.parse().ok()?;
        let part = if fraction.len() == 1 { part * 10 } else { part };
        let level = whole
            .parse::<u32>()
            .ok()?
            .checked_mul(100)?
            .checked_add(part)?;
        (level <= Self::FULL).then_some(level)
    }

    /// Reads a curve.
    ///
    /// # Errors
    /// [`CurveError`] with the line.
    pub fn read(text: &str) -> Result<Self, CurveError> {
        let mut points = Vec::new();
        let mut repeats = false;
        for (content, line) in text.lines().zip(1..) {
            let content = content.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let bad = || CurveError::Line {
                line,
                text: content.to_owned(),
            };
            if repeats {
                return Err(bad());
            }
            let words: Vec<&str> = content.split_whitespace().collect();
            match *words.as_slice() {
                ["repeat"] => repeats = true,
                [at, level] => {
                    let at: Micros = at
                        .parse()
                        .map_err(|source| CurveError::Time { line, source })?;
                    let level = Self::level_of(level).ok_or_else(|| CurveError::Level {
                        line,
                        text: level.to_owned(),
                    })?;
                    points.push(Point { at: at.0, level });
                }
                _ => return Err(bad()),
            }
        }
        Ok(Self::new(points, repeats)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_curve() {
        let shape =
            Shape::read("# training\n0s 0\n10s 95.5 # warm\n\n20s 95.5\n20s 5\n60s 5\nrepeat\n")
                .expect("a curve");
        assert!(shape.repeats());
        assert_eq!(shape.points().len(), 5);
        assert_eq!(
            [0, 5_000_000, 10_000_000, 20_000_000, 70_000_000].map(|t| shape.level(t)),
            [0, 4_775, 9_550, 500, 9_550]
        );
    }

    #[test]
    fn what_is_no_curve_names_its_line() {
        let told = |text: &str| Shape::read(text).expect_err(text).to_string();
        assert!(told("0s 0\nsoon\n").starts_with("line 2: `soon` is no point"));
        assert!(told("0s 0\n5 10").starts_with("line 2: `5` is no length of time"));
        assert!(told("0s 101").starts_with("line 1: `101` is no percentage"));
        assert!(told("0s 1.234").contains("no percentage"));
        assert!(told("0s 10\n1s 20\nrepeat\n2s 30").starts_with("line 4"));
        assert!(told("").contains("at least one point"));
        assert!(told("5s 10").contains("first point"));
    }
}
