//! Time of the bill: whole seconds of UTC, half-open spans, and where hours, days and months begin.
//! Not here: clocks. Leap seconds do not exist, as in the times of Kubernetes' API: every day has 86400 seconds.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::ratio::{Arithmetic, Ratio};

/// Seconds since 1970 in UTC. Written and read as in `2026-11-01T00:00:00Z`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Seconds(i64);

/// From a second up to, and without, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Bounds", into = "Bounds")]
pub struct Span {
    from: Seconds,
    until: Seconds,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    from: Seconds,
    until: Seconds,
}

/// What a span is cut at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Full hours of UTC.
    Hour,
    /// Midnights of UTC.
    Day,
    /// Firsts of the month in UTC.
    Month,
}

/// How many hours a price per month pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MonthBasis {
    /// A twelfth of a year of 8760 hours.
    #[serde(rename = "730h")]
    Hours730,
    /// Thirty days.
    #[serde(rename = "720h")]
    Hours720,
    /// The hours of the very month.
    #[serde(rename = "calendar")]
    Calendar,
}

/// What is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not read.
    #[error("{text:?} is no time: write it as 2026-11-01T00:00:00Z")]
    Unreadable {
        /// What was written.
        text: String,
    },
    /// Between two seconds.
    #[error("{text:?} lies between two seconds: the bill counts whole ones, so say which")]
    Fraction {
        /// What was written.
        text: String,
    },
    /// The end lies before the start.
    #[error(
        "this ends at {until}, before it starts at {from}: it is refused, not turned round and not taken as nothing"
    )]
    Backwards {
        /// Start.
        from: Seconds,
        /// End.
        until: Seconds,
    },
    /// Outside the years that can be computed with.
    #[error("second {second} lies outside the years 1970 to 9998")]
    Range {
        /// Seconds since 1970.
        second: i64,
    },
}

impl Seconds {
    /// The last second that there is: a day before the year 9999.
    const MOST: i64 = 253_370_764_800;

    /// So many seconds after 1970 began in UTC.
    pub fn new(second: i64) -> Result<Self, TimeError> {
        if (0..=Self::MOST).contains(&second) {
            return Ok(Self(second));
        }
        Err(TimeError::Range { second })
    }

    /// Seconds since 1970.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    fn date(self) -> Date {
        // All seconds that exist here are within jiff's range.
        let at = Timestamp::from_second(self.0).unwrap_or_default();
        TimeZone::UTC.to_datetime(at).date()
    }

    fn of_date(date: Date) -> Option<Self> {
        let at = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
        Self::new(at).ok()
    }

    /// The month that holds it.
    #[must_use]
    pub fn month(self) -> Span {
        let first = self.date().first_of_month();
        let next = first.checked_add(1.month()).ok().and_then(Self::of_date);
        Span {
            from: Self::of_date(first).unwrap_or(self),
            until: next.unwrap_or(Seconds(Self::MOST)),
        }
    }

    /// Where the next hour, day or month begins.
    #[must_use]
    pub fn next(self, unit: Unit) -> Self {
        let every = |length: i64| Seconds(self.0 - self.0.rem_euclid(length) + length);
        match unit {
            Unit::Hour => every(3600),
            Unit::Day => every(86400),
            Unit::Month => self.month().until,
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Timestamp::from_second(self.0).unwrap_or_default().fmt(f)
    }
}

impl FromStr for Seconds {
    type Err = TimeError;

    /// RFC 3339 with any offset, or a date alone: its midnight in UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unreadable = || TimeError::Unreadable {
            text: text.to_owned(),
        };
        if text.len() == 10 {
            let date: Date = text.parse().map_err(|_| unreadable())?;
            return Self::of_date(date).ok_or_else(unreadable);
        }
        let at: Timestamp = text.parse().map_err(|_| unreadable())?;
        if at.subsec_nanosecond() != 0 {
            return Err(TimeError::Fraction {
                text: text.to_owned(),
            });
        }
        Self::new(at.as_second())
    }
}

impl From<Seconds> for String {
    fn from(at: Seconds) -> Self {
        at.to_string()
    }
}

impl TryFrom<String> for Seconds {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl Span {
    /// Refused where the end lies before the start; it may be empty.
    pub fn new(from: Seconds, until: Seconds) -> Result<Self, TimeError> {
        if until < from {
            return Err(TimeError::Backwards { from, until });
        }
        Ok(Self { from, until })
    }

    /// A month as in `2026-11`.
    pub fn of_month(text: &str) -> Result<Self, TimeError> {
        let first: Seconds = format!("{text}-01")
            .parse()
            .map_err(|_| TimeError::Unreadable {
                text: text.to_owned(),
            })?;
        Ok(first.month())
    }

    /// Its first second.
    #[must_use]
    pub const fn from(self) -> Seconds {
        self.from
    }

    /// The first second after it.
    #[must_use]
    pub const fn until(self) -> Seconds {
        self.until
    }

    /// Its length.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.until.0 - self.from.0
    }

    /// Whether it has no second.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.seconds() == 0
    }

    /// What lies in both; `None` if that is no second.
    #[must_use]
    pub fn within(self, other: Span) -> Option<Span> {
        let from = self.from.max(other.from);
        let until = self.until.min(other.until);
        (from < until).then_some(Span { from, until })
    }

    /// Its parts between one hour, day or month and the next; together they are the whole.
    pub fn cut(self, unit: Unit) -> impl Iterator<Item = Span> {
        let mut from = self.from;
        std::iter::from_fn(move || {
            (from < self.until).then(|| {
                let until = from.next(unit).min(self.until);
                let part = Span { from, until };
                from = until;
                part
            })
        })
    }

    /// Its parts before and after each of these moments, which are in order; together they are the whole.
    pub fn cut_at(self, moments: &[Seconds]) -> impl Iterator<Item = Span> {
        let inside = moments
            .iter()
            .copied()
            .filter(move |it| *it > self.from && *it < self.until);
        let mut from = self.from;
        inside
            .chain(std::iter::once(self.until))
            .filter_map(move |until| {
                let part = Span { from, until };
                from = until;
                (!part.is_empty()).then_some(part)
            })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.until)
    }
}

impl TryFrom<Bounds> for Span {
    type Error = TimeError;

    fn try_from(it: Bounds) -> Result<Self, Self::Error> {
        Self::new(it.from, it.until)
    }
}

impl From<Span> for Bounds {
    fn from(it: Span) -> Self {
        Self {
            from: it.from,
            until: it.until,
        }
    }
}

impl MonthBasis {
    /// How many seconds a month's price pays for, at a moment.
    #[must_use]
    pub fn seconds(self, at: Seconds) -> i64 {
        match self {
            Self::Hours730 => 730 * 3600,
            Self::Hours720 => 720 * 3600,
            Self::Calendar => at.month().seconds(),
        }
    }

    /// Where, inside a span, its length changes: nowhere, or at each first of a month.
    #[must_use]
    pub fn cuts(self, span: Span) -> Vec<Seconds> {
        match self {
            Self::Calendar => span.cut(Unit::Month).skip(1).map(Span::from).collect(),
            _ => Vec::new(),
        }
    }

    /// The part of a month that a span is. One that crosses months has a part of each.
    pub fn months(self, span: Span) -> Result<Ratio, Arithmetic> {
        let mut sum = Ratio::ZERO;
        for part in span.cut_at(&self.cuts(span)) {
            let part = Ratio::new(part.seconds().into(), self.seconds(part.from()).into())?;
            sum = sum.plus(part)?;
        }
        Ok(sum)
    }
}

impl fmt::Display for MonthBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hours730 => "a month of 730 h",
            Self::Hours720 => "a month of 720 h",
            Self::Calendar => "the calendar's month",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Seconds {
        text.parse().expect("a time")
    }

    fn span(from: &str, until: &str) -> Span {
        Span::new(at(from), at(until)).expect("forwards")
    }

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(at("2026-11-01").to_string(), "2026-11-01T00:00:00Z");
        assert_eq!(at("2026-11-01T01:00:00+01:00"), at("2026-11-01"));
        assert!(matches!(
            "2026-11-01T00:00:00.5Z".parse::<Seconds>(),
            Err(TimeError::Fraction { .. })
        ));
        for wrong in [
            "",
            "tomorrow",
            "2026-11-31",
            "2026-11-01T00:00:00",
            "1969-12-31",
        ] {
            assert!(wrong.parse::<Seconds>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn case_15_an_end_before_the_start_is_refused() {
        let (early, late) = (at("2026-11-01"), at("2026-11-02"));
        assert!(matches!(
            Span::new(late, early),
            Err(TimeError::Backwards { .. })
        ));
        assert!(Span::new(early, early).expect("empty").is_empty());
        let json = r#"{"from": "2026-11-02T00:00:00Z", "until": "2026-11-01T00:00:00Z"}"#;
        let error = serde_json::from_str::<Span>(json).expect_err("backwards");
        assert!(error.to_string().contains("before it starts"), "{error}");
    }

    #[test]
    fn case_27_months_have_their_own_length_or_the_one_that_is_named() {
        for (month, days) in [
            ("2026-02", 28),
            ("2028-02", 29),
            ("2026-04", 30),
            ("2026-12", 31),
        ] {
            let month = Span::of_month(month).expect("a month");
            assert_eq!(month.seconds(), days * 86400);
            assert_eq!(MonthBasis::Calendar.months(month), Ok(Ratio::ONE));
            let hours = |basis: MonthBasis| basis.months(month).expect("fits");
            assert_eq!(
                hours(MonthBasis::Hours730),
                Ratio::new((days * 24).into(), 730).expect("fits")
            );
            assert_eq!(
                hours(MonthBasis::Hours720),
                Ratio::new((days * 24).into(), 720).expect("fits")
            );
        }
        let two = span("2026-01-31", "2026-02-02");
        assert_eq!(
            MonthBasis::Calendar.months(two),
            Ratio::new(31 + 28, 31 * 28)
        );
    }

    #[test]
    fn case_26_a_span_is_cut_at_hours_days_and_months() {
        let long = span("2026-10-31T22:30:00Z", "2026-11-02T00:30:00Z");
        assert_eq!(long.cut(Unit::Hour).count(), 27);
        assert_eq!(long.cut(Unit::Day).count(), 3);
        let months: Vec<i64> = long.cut(Unit::Month).map(Span::seconds).collect();
        assert_eq!(months, [5400, 88200]);
        let parts: Vec<Span> = long
            .cut_at(&[at("2026-10-01"), at("2026-11-01"), at("2026-12-01")])
            .collect();
        assert_eq!(parts.len(), 2);
        let empty = span("2026-11-01", "2026-11-01");
        assert_eq!(empty.cut(Unit::Hour).count() + empty.cut_at(&[]).count(), 0);
    }

    proptest! {
        #[test]
        fn case_26_the_parts_are_the_whole(from in 0_i64..8_000_000_000, length in 0_i64..9_000_000) {
            let whole = Span::new(Seconds::new(from).expect("in range"), Seconds::new(from + length).expect("in range")).expect("forwards");
            for unit in [Unit::Hour, Unit::Day, Unit::Month] {
                let parts: Vec<Span> = whole.cut(unit).collect();
                prop_assert_eq!(parts.iter().map(|it| it.seconds()).sum::<i64>(), length);
                prop_assert!(parts.windows(2).all(|it| it[0].until() == it[1].from()));
            }
        }
    }
}
