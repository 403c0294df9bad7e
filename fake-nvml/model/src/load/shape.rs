//! A curve over time, and the exact area under it.
//!
//! One form for all of them: points with straight lines between, two points at the same moment are a jump, after the last point
//! the curve stays there or begins anew. Constant, ramp and square are such curves, and so is what a file says.
use serde::{Deserialize, Serialize};

/// A corner of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Microseconds since the curve began.
    pub at: u64,
    /// Height, in hundredths of a percent: 0 to [`Shape::FULL`].
    pub level: u32,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    points: Vec<Point>,
    repeats: bool,
}

/// Why points make no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// There are none.
    #[error("a curve needs at least one point: write `0s 50`")]
    Empty,
    /// There are too many.
    #[error(
        "a curve has at most {max} points, this one has {found}: leave out some, or repeat a part"
    )]
    TooMany {
        /// That many.
        found: usize,
        /// At most.
        max: usize,
    },
    /// The first one is not at the beginning.
    #[error("the first point of a curve lies at 0, not at {at} us: shift all points")]
    Late {
        /// Where it lies.
        at: u64,
    },
    /// They do not ascend.
    #[error("point {point} lies before point {}: sort the points by time", .point - 1)]
    Backwards {
        /// Which, from 1.
        point: usize,
    },
    /// Too high.
    #[error("point {point} is higher than 100 %: a card cannot be busier than that")]
    TooHigh {
        /// Which, from 1.
        point: usize,
    },
    /// A curve that repeats needs a length.
    #[error("a curve that begins anew must last some time: put its last point later than 0")]
    NoLength,
}

impl Shape {
    /// The level of 100 %.
    pub const FULL: u32 = 10_000;
    /// Points that a curve can have.
    pub const MAX_POINTS: usize = 256;
    /// Times are taken modulo a century, so that no sum overflows.
    const CENTURY: u64 = 100 * 366 * 86_400 * 1_000_000;

    /// A curve through these points; `repeats`: with the last one it begins anew.
    ///
    /// # Errors
    /// [`ShapeError`].
    pub fn new(points: Vec<Point>, repeats: bool) -> Result<Self, ShapeError> {
        let Some((first, last)) = points.first().zip(points.last()) else {
            return Err(ShapeError::Empty);
        };
        if points.len() > Self::MAX_POINTS {
            return Err(ShapeError::TooMany {
                found: points.len(),
                max: Self::MAX_POINTS,
            });
        }
        if first.at != 0 {
            return Err(ShapeError::Late { at: first.at });
        }
        if repeats && last.at == 0 {
            return Err(ShapeError::NoLength);
        }
        let mut before = 0;
        for (point, place) in points.iter().zip(1..) {
            if point.at < before {
                return Err(ShapeError::Backwards { point: place });
            }
            if point.level > Self::FULL {
                return Err(ShapeError::TooHigh { point: place });
            }
            before = point.at;
        }
        Ok(Self { points, repeats })
    }

    /// Always the same level (more than [`Shape::FULL`] counts as that).
    pub fn constant(level: u32) -> Self {
        let level = level.min(Self::FULL);
        Self {
            points: vec![Point { at: 0, level }],
            repeats: false,
        }
    }

    /// From one level to another in this time, and then on at that.
    pub fn ramp(from: u32, to: u32, micros: u64) -> Self {
        let point = |at, level: u32| Point {
            at,
            level: level.min(Self::FULL),
        };
        Self {
            points: vec![point(0, from), point(micros, to)],
            repeats: false,
        }
    }

    /// High for a part of each period, then low.
    pub fn square(low: u32, high: u32, period: u64, high_for: u64) -> Self {
        let period = period.max(1);
        let high_for = high_for.min(period);
        let point = |at, level: u32| Point {
            at,
            level: level.min(Self::FULL),
        };
        Self {
            points: vec![
                point(0, high),
                point(high_for, high),
                point(high_for, low),
                point(period, low),
            ],
            repeats: true,
        }
    }

    /// Its corners.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Whether it begins anew after the last one.
    pub const fn repeats(&self) -> bool {
        self.repeats
    }

    /// Its highest level.
    pub fn peak(&self) -> u32 {
        self.points.iter().map(|p| p.level).max().unwrap_or(0)
    }

    /// Its level this long after it began; at a jump the one after it.
    pub fn level(&self, micros: u64) -> u32 {
        u32::try_from(self.level_fine(micros) / 1_000).unwrap_or(0)
    }

    /// [`Shape::level`] in thousandths.
    pub fn level_fine(&self, micros: u64) -> u64 {
        let at = match self.length() {
            Some(length) if self.repeats => micros % length,
            _ => micros,
        };
        let after = self.points.partition_point(|p| p.at <= at);
        let before = after.checked_sub(1).and_then(|i| self.points.get(i));
        match (before, self.points.get(after)) {
            (Some(a), Some(b)) => {
                let (x, width) = (i128::from(at - a.at), i128::from(b.at - a.at));
                let rise = i128::from(b.level) - i128::from(a.level);
                let level = 1_000 * i128::from(a.level) + (1_000 * rise * x).div_euclid(width);
                u64::try_from(level).unwrap_or(0)
            }
            (Some(a), None) => 1_000 * u64::from(a.level),
            (None, _) => 0,
        }
    }

    /// Twice the area under it in its first `micros`, in levels times microseconds, rounded down. Never falls as `micros` grows.
    pub fn area_twice(&self, micros: u64) -> u128 {
        let micros = micros % Self::CENTURY;
        match self.length() {
            Some(length) if self.repeats => {
                let whole = self.first(length);
                u128::from(micros / length) * whole + self.first(micros % length)
            }
            Some(length) if micros > length => {
                let last = self.points.last().map_or(0, |p| p.level);
                self.first(length) + 2 * u128::from(last) * u128::from(micros - length)
            }
            Some(_) => self.first(micros),
            None => 2 * u128::from(self.points.last().map_or(0, |p| p.level)) * u128::from(micros),
        }
    }

    /// Where its last point lies; `None` if it has no length.
    fn length(&self) -> Option<u64> {
        self.points.last().map(|p| p.at).filter(|&at| at > 0)
    }

    /// Twice the area under the points up to `micros`, which lies not behind the last one.
    fn first(&self, micros: u64) -> u128 {
        let mut twice: i128 = 0;
        for pair in self.points.windows(2) {
            let [a, b] = pair else { continue };
            if a.at >= micros {
                break;
            }
            let (x, width) = (i128::from(micros.min(b.at) - a.at), i128::from(b.at - a.at));
            let (low, rise) = (
                i128::from(a.level),
                i128::from(b.level) - i128::from(a.level),
            );
            twice += 2 * low * x + (rise * x * x).div_euclid(width.max(1));
        }
        u128::try_from(twice).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = (Vec<Point>, bool)> {
        (
            prop::collection::vec((0u64..2_000, 0u32..=Shape::FULL), 1..12),
            prop::bool::ANY,
        )
            .prop_map(|(steps, repeats)| {
                let mut at = 0;
                let mut points: Vec<Point> = steps
                    .into_iter()
                    .enumerate()
                    .map(|(i, (step, level))| {
                        at += if i == 0 { 0 } else { step };
                        Point { at, level }
                    })
                    .collect();
                if at == 0 {
                    points.push(Point { at: 7, level: 0 });
                }
                (points, repeats)
            })
    }

    proptest! {
        /// The area is the sum of the levels at all microseconds, up to the rounding of one level each.
        #[test]
        fn the_area_is_the_sum_of_fine_steps((points, repeats) in points(), to in 0u64..30_000) {
            let shape = Shape::new(points, repeats).expect("a curve");
            let sum: u128 = (0..to).map(|t| u128::from(shape.level(t)) + u128::from(shape.level(t + 1))).sum();
            let area = shape.area_twice(to);
            // Where the curve jumps, the trapezoid of the steps is off by half a jump; it has at most eleven corners a round.
            let rounds = u128::from(to) / u128::from(shape.length().unwrap_or(to + 1).max(1)) + 1;
            let slack = 2 * u128::from(to) + rounds * 12 * u128::from(Shape::FULL) * 2;
            prop_assert!(area.abs_diff(sum) <= slack, "{area} against {sum}");
        }

        /// Pieces add up, and no piece is negative.
        #[test]
        fn the_area_never_falls((points, repeats) in points(), mut times in prop::collection::vec(0u64..100_000, 2..9)) {
            let shape = Shape::new(points, repeats).expect("a curve");
            times.sort_unstable();
            let areas: Vec<u128> = times.iter().map(|&t| shape.area_twice(t)).collect();
            prop_assert!(areas.is_sorted());
            let most = 2 * u128::from(shape.peak());
            for (a, t) in areas.windows(2).zip(times.windows(2)) {
                prop_assert!(a[1] - a[0] <= most * u128::from(t[1] - t[0]) + 12);
            }
        }
    }

    #[test]
    fn a_square_is_high_and_low() {
        let shape = Shape::square(1_000, 9_000, 100, 25);
        assert_eq!(
            [0, 24, 25, 99, 100, 125].map(|t| shape.level(t)),
            [9_000, 9_000, 1_000, 1_000, 9_000, 1_000]
        );
        assert_eq!(shape.area_twice(100), 2 * (25 * 9_000 + 75 * 1_000));
        assert_eq!(
            shape.area_twice(1_000_025),
            10_000 * shape.area_twice(100) + 2 * 25 * 9_000
        );
        assert_eq!(shape.peak(), 9_000);
    }

    #[test]
    fn a_ramp_rises_and_stays() {
        let shape = Shape::ramp(0, 10_000, 1_000);
        assert_eq!(
            [0, 1, 500, 1_000, 5_000].map(|t| shape.level(t)),
            [0, 10, 5_000, 10_000, 10_000]
        );
        assert_eq!(shape.area_twice(1_000), 10_000 * 1_000);
        assert_eq!(shape.area_twice(3_000), 10_000 * 1_000 + 2 * 10_000 * 2_000);
    }

    #[test]
    fn what_is_no_curve_says_why() {
        let p = |at, level| Point { at, level };
        assert_eq!(Shape::new(vec![], false), Err(ShapeError::Empty));
        assert_eq!(
            Shape::new(vec![p(3, 0)], false),
            Err(ShapeError::Late { at: 3 })
        );
        assert_eq!(
            Shape::new(vec![p(0, 0), p(5, 0), p(4, 0)], false),
            Err(ShapeError::Backwards { point: 3 })
        );
        assert_eq!(
            Shape::new(vec![p(0, 10_001)], false),
            Err(ShapeError::TooHigh { point: 1 })
        );
        assert_eq!(
            Shape::new(vec![p(0, 1), p(0, 2)], true),
            Err(ShapeError::NoLength)
        );
        assert_eq!(
            Shape::new(vec![p(0, 1); 300], false),
            Err(ShapeError::TooMany {
                found: 300,
                max: 256
            })
        );
    }
}
