//! A day in figures: a table of tenants with the cards that each held over time, and one of quota against devices. Pure.

use report::{Chart, Series, Table};

use super::{Day, Passed, Terms};
use crate::arrivals::account::{Moment, Tenant};

/// All tables, with their charts.
pub(crate) fn tables(passed: &Passed) -> Vec<Table> {
    vec![
        tenants(&passed.day, &passed.terms),
        agreement(&passed.day, &passed.lost),
        fragmentation(&passed.day),
    ]
}

fn tenants(day: &Day, terms: &Terms) -> Table {
    let held: f64 = day.tenants.values().map(|it| it.held).sum();
    let quota: i64 = terms.quota.values().sum();
    let rows = day.tenants.iter().map(|(name, tenant)| {
        let own = terms.quota.iter().filter(|((queue, _), _)| queue == name);
        let own: i64 = own.map(|(_, amount)| amount).sum();
        let waited = waits(tenant);
        vec![
            name.clone(),
            format!("{} of {}", tenant.done, tenant.came),
            percent(real(own), real(quota)),
            percent(tenant.held, held),
            format!("{:.1}", tenant.held),
            format!("{:.1}", mean(&waited)),
            format!("{:.1}", at(&waited, 95)),
            format!("{:.1}", at(&waited, 100)),
            format!("{:.0}", tenant.seconds),
            format!("{:.0}", tenant.busy),
            percent(tenant.busy, tenant.seconds),
        ]
    });
    let columns = [
        "tenant",
        "jobs done",
        "part of quota (devices)",
        "part of what was held",
        "card seconds held",
        "mean wait (s)",
        "95 % wait at most (s)",
        "longest (s)",
        "device seconds held",
        "busy by NVML (s)",
        "used",
    ];
    let series = day.tenants.keys().map(|name| {
        let value = |it: &Moment| it.held.get(name).copied().unwrap_or(0.0);
        series(day, name, value)
    });
    Table {
        title: "A day of arrivals, by tenant; a partition counts for its part of a card".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        chart: Some(Chart {
            unit: "cards".to_owned(),
            millis: end(day),
            stacked: series.collect(),
            lines: Vec::new(),
        }),
    }
}

fn agreement(day: &Day, lost: &[String]) -> Table {
    let sum = |of: fn(&Tenant) -> f64| day.tenants.values().map(of).sum::<f64>();
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = vec![
        row("changes gone through", day.changes.to_string()),
        row(
            "of them with each workload charged exactly what it holds",
            day.equal.to_string(),
        ),
        row(
            "device seconds charged before or after a device is held",
            format!("{:.1}", sum(|it| it.charged_in_vain)),
        ),
        row(
            "device seconds held after nothing is charged any more",
            format!("{:.1}", sum(|it| it.free_of_charge)),
        ),
        row(
            "device seconds held",
            format!("{:.1}", sum(|it| it.seconds)),
        ),
        row("jobs that came and did not end", lost.len().to_string()),
    ];
    let count = |of: fn(&Moment) -> i64| move |it: &Moment| real(of(it));
    Table {
        title: "Quota charged against devices held".to_owned(),
        columns: ["what", "how much"].map(str::to_owned).to_vec(),
        rows,
        chart: Some(Chart {
            unit: "devices".to_owned(),
            millis: end(day),
            stacked: Vec::new(),
            lines: vec![
                series(day, "held", count(|it| it.devices)),
                series(day, "charged", count(|it| it.charged)),
            ],
        }),
    }
}

fn fragmentation(day: &Day) -> Table {
    let (mean, most) = day.stranded;
    let row = |name: &str, part: f64| vec![name.to_owned(), format!("{:.0} %", part * 100.0)];
    Table {
        title: "Fragmentation of cards in MIG mode: free memory slices beyond the largest partition that still fits on each".to_owned(),
        columns: ["when", "part of what is free"].map(str::to_owned).to_vec(),
        rows: vec![row("mean over time", mean), row("at most", most)],
        chart: Some(Chart {
            unit: "of what is free".to_owned(),
            millis: end(day),
            stacked: vec![series(day, "of no use", |it| it.stranded)],
            lines: Vec::new(),
        }),
    }
}

fn end(day: &Day) -> u64 {
    day.moments.last().map_or(0, |it| it.at)
}

/// A series of those moments at which it changes.
fn series(day: &Day, name: &str, value: impl Fn(&Moment) -> f64) -> Series {
    let mut points: Vec<(u64, u64)> = Vec::new();
    for moment in &day.moments {
        let now = thousandths(value(moment));
        if points.last().is_none_or(|(_, last)| *last != now) {
            points.push((moment.at, now));
        }
    }
    Series {
        name: name.to_owned(),
        points,
    }
}

fn waits(tenant: &Tenant) -> Vec<f64> {
    let mut all = tenant.waited.clone();
    all.sort_by(f64::total_cmp);
    all
}

fn mean(sorted: &[f64]) -> f64 {
    let count = i64::try_from(sorted.len()).unwrap_or(i64::MAX);
    sorted.iter().sum::<f64>() / real(count.max(1))
}

/// The wait that so many percent do not exceed; `sorted` is from short to long.
fn at(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    rank.checked_sub(1)
        .and_then(|it| sorted.get(it))
        .copied()
        .unwrap_or(0.0)
}

fn percent(part: f64, whole: f64) -> String {
    match whole > 0.0 {
        true => format!("{:.0} %", part / whole * 100.0),
        false => "-".to_owned(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn real(count: i64) -> f64 {
    count as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of devices, not below 0"
)]
fn thousandths(value: f64) -> u64 {
    (value * 1_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_that_so_many_do_not_exceed() {
        let waits: Vec<f64> = (1..=20).map(f64::from).collect();
        assert!((at(&waits, 95) - 19.0).abs() < 1e-9);
        assert!((at(&waits, 100) - 20.0).abs() < 1e-9);
        assert!((mean(&waits) - 10.5).abs() < 1e-9);
        assert!(at(&[], 95).abs() < 1e-9 && mean(&[]).abs() < 1e-9);
    }

    #[test]
    fn parts_are_of_all_that_was_held() {
        let tenant = |held, seconds, busy| Tenant {
            came: 2,
            done: 1,
            held,
            seconds,
            busy,
            waited: vec![2.0],
            ..Tenant::default()
        };
        let day = Day {
            tenants: [
                ("blue".to_owned(), tenant(1.0, 8.0, 4.0)),
                ("red".to_owned(), tenant(3.0, 3.0, 0.0)),
            ]
            .into(),
            ..Day::default()
        };
        let quota = [
            (("red".to_owned(), "cards".to_owned()), 1),
            (("blue".to_owned(), "mig".to_owned()), 3),
        ];
        let terms = Terms {
            quota: quota.into(),
            ..Terms::default()
        };
        let table = tenants(&day, &terms);
        let blue = [
            "blue", "1 of 2", "75 %", "25 %", "1.0", "2.0", "2.0", "2.0", "8", "4", "50 %",
        ];
        assert_eq!(table.rows[0], blue.map(str::to_owned));
        assert_eq!(table.rows[1][3], "75 %");
        assert_eq!(table.columns.len(), blue.len());
    }
}
