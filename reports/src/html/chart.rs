//! Geometry of a chart over time: areas laid one on another in steps, lines over them, and a scale.

use std::fmt::Write as _;

use serde::Serialize;

use crate::event::{Chart, Series};

const WIDTH: u64 = 860;
const HEIGHT: u64 = 180;
const LEFT: u64 = 44;
const TOP: u64 = 12;
/// Colours that the page has.
const COLOURS: u64 = 6;

/// A chart as the page draws it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Drawing {
    unit: String,
    width: u64,
    height: u64,
    left: u64,
    bottom: u64,
    right: u64,
    areas: Vec<Shape>,
    lines: Vec<Shape>,
    /// Height on the page and value.
    marks: Vec<(u64, String)>,
    /// Place on the page and seconds.
    times: Vec<(u64, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Shape {
    name: String,
    colour: u64,
    path: String,
}

/// A drawing of a chart; none of one that shows nothing.
pub(super) fn of(chart: &Chart) -> Option<Drawing> {
    let mut times: Vec<u64> = [0, chart.millis].into();
    let all = chart.stacked.iter().chain(&chart.lines);
    times.extend(all.flat_map(|it| it.points.iter().map(|(at, _)| *at)));
    times.retain(|at| *at <= chart.millis);
    times.sort_unstable();
    times.dedup();
    let sum = |at: u64| chart.stacked.iter().map(|it| it.at(at)).sum::<u64>();
    let most = |at: &u64| {
        let lines = chart.lines.iter().map(|it| it.at(*at)).max();
        sum(*at).max(lines.unwrap_or(0))
    };
    let top = times.iter().map(most).max().unwrap_or(0).div_ceil(1_000) * 1_000;
    if top == 0 || chart.millis == 0 {
        return None;
    }
    let x = |at: u64| LEFT + at * WIDTH / chart.millis;
    let y = |value: u64| TOP + HEIGHT - value * HEIGHT / top;
    let colour = |number: usize| u64::try_from(number).unwrap_or(0) % COLOURS + 1;
    let areas = (0..chart.stacked.len()).map(|number| {
        let below = |at: u64, until: usize| -> u64 {
            chart.stacked[..until].iter().map(|it| it.at(at)).sum()
        };
        let upper = steps(&times, |at| below(at, number + 1));
        let lower = steps(&times, |at| below(at, number));
        let mut path = String::new();
        for (place, (at, value)) in upper.iter().chain(lower.iter().rev()).enumerate() {
            let way = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{way}{} {}", x(*at), y(*value));
        }
        path.push('Z');
        Shape {
            name: chart.stacked[number].name.clone(),
            colour: colour(number),
            path,
        }
    });
    let line = |(number, series): (usize, &Series)| {
        let mut path = String::new();
        for (place, (at, value)) in steps(&times, |at| series.at(at)).iter().enumerate() {
            let way = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{way}{} {}", x(*at), y(*value));
        }
        Shape {
            name: series.name.clone(),
            colour: colour(number),
            path,
        }
    };
    let marks = [0, top / 2, top].map(|value| (y(value), thousandths(value)));
    let ticks = (0..=4).map(|part| chart.millis * part / 4);
    Some(Drawing {
        unit: chart.unit.clone(),
        width: LEFT + WIDTH + 8,
        height: TOP + HEIGHT + 22,
        left: LEFT,
        bottom: TOP + HEIGHT,
        right: LEFT + WIDTH,
        areas: areas.collect(),
        lines: chart.lines.iter().enumerate().map(line).collect(),
        marks: marks.into(),
        times: ticks
            .map(|at| (x(at), format!("{} s", at / 1_000)))
            .collect(),
    })
}

/// Corners of a line that keeps each value until the next: before and after each time.
fn steps(times: &[u64], value: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    let mut corners: Vec<(u64, u64)> = Vec::new();
    for at in times {
        let now = value(*at);
        match corners.last().copied() {
            Some((_, before)) if before == now && *at != *times.last().unwrap_or(at) => continue,
            Some((_, before)) => corners.extend([(*at, before), (*at, now)]),
            None => corners.push((*at, now)),
        }
    }
    corners
}

fn thousandths(value: u64) -> String {
    match value % 1_000 {
        0 => (value / 1_000).to_string(),
        part => format!("{}.{}", value / 1_000, part / 100),
    }
}

/// A series as a line of blocks, each as high as the series was on average in its part of the time; `most` is the highest.
pub(crate) fn blocks(series: &Series, millis: u64, most: u64, width: u64) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let of = |part: u64| {
        // Ten looks at each part are enough for the eye.
        let looks = (0..10).map(|look| series.at(millis * (part * 10 + look) / (width * 10)));
        let height = (looks.sum::<u64>() * 8).div_ceil((most * 10).max(1));
        BLOCKS[usize::try_from(height.min(8)).unwrap_or(8)]
    };
    (0..width).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(u64, u64)]) -> Series {
        Series {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    fn chart() -> Chart {
        Chart {
            unit: "cards".to_owned(),
            millis: 1_000,
            stacked: vec![series("a", &[(0, 1_000)]), series("b", &[(500, 1_000)])],
            lines: vec![series("all", &[(0, 2_000)])],
        }
    }

    #[test]
    fn areas_lie_one_on_another_and_values_last_until_the_next() {
        let drawing = of(&chart()).expect("a drawing");
        // Two cards are the top of 180 points; the second area begins in the middle, on the first.
        assert_eq!(
            drawing.areas[0].path,
            "M44 102L904 102L904 102L904 192L904 192L44 192Z"
        );
        assert_eq!(
            drawing.areas[1].path,
            "M44 102L474 102L474 12L904 12L904 12L904 102L904 102L44 102Z"
        );
        assert_eq!(drawing.lines[0].path, "M44 12L904 12L904 12");
        assert_eq!(of(&Chart::default()), None);
    }

    #[test]
    fn blocks_are_as_high_as_the_series() {
        let series = series("b", &[(500, 1_000)]);
        assert_eq!(blocks(&series, 1_000, 2_000, 4), "  ▄▄");
        assert_eq!(blocks(&series, 1_000, 1_000, 4), "  ██");
    }
}
