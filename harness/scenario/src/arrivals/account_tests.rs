use serde_json::json;

use super::*;

/// A day made by hand; each change comes a second after the one before.
#[derive(Default)]
struct Made {
    changes: Vec<Change>,
}

fn start() -> jiff::Timestamp {
    "2026-11-30T00:00:00Z".parse().expect("a time")
}

impl Made {
    fn change(&mut self, became: Became, object: Value) -> &mut Self {
        let seconds = i64::try_from(self.changes.len() + 1).expect("few");
        let at = start() + jiff::SignedDuration::from_secs(seconds);
        self.changes.push(Change { at, became, object });
        self
    }

    fn workload(&mut self, job: &str, charged: i64, finished: bool) -> &mut Self {
        let holds = if charged > 0 { "True" } else { "False" };
        let mut conditions = vec![json!({"type": "QuotaReserved", "status": holds})];
        if finished {
            conditions.push(json!({"type": "Finished", "status": "True"}));
        }
        self.change(
            Became::Modified,
            json!({
                "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                "metadata": {"name": format!("job-{job}"), "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "1"}]},
                "spec": {"queueName": "red", "podSets": [{"count": 1}]},
                "status": {"conditions": conditions, "admission": {"podSetAssignments": [
                    {"resourceUsage": {"cards": charged.to_string()}}]}}
            }),
        )
    }

    fn pod(&mut self, job: &str, phase: &str) -> &mut Self {
        self.change(
            Became::Modified,
            json!({"kind": "Pod", "metadata": {"name": format!("{job}-0"),
                "labels": {"batch.kubernetes.io/job-name": job}}, "status": {"phase": phase}}),
        )
    }

    fn claim(&mut self, job: &str, device: Option<&str>) -> &mut Self {
        let status = device.map(|device| {
            json!({"allocation": {"devices": {"results": [
                {"request": "gpu", "driver": "d", "pool": "n", "device": device}]}}})
        });
        self.change(
            Became::Modified,
            json!({"kind": "ResourceClaim",
                "metadata": {"name": format!("{job}-0-gpu"), "uid": format!("uid-{job}"),
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": format!("{job}-0"), "uid": "2"}]},
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}},
                "status": status.unwrap_or_default()}),
        )
    }

    fn day(&self, samples: &[Sample]) -> Day {
        let terms = Terms {
            charged_as: [("gpu.nvidia.com".to_owned(), "cards".to_owned())].into(),
            quota: [(("red".to_owned(), "cards".to_owned()), 2)].into(),
        };
        day(&self.changes, samples, terms, start())
    }
}

/// A job from its coming to its end: at 1 s it comes, from 2 s it is charged, at 3 s its pod comes, from 4 s it holds a card, at
/// 5 s it runs, at 8 s it has ended, at 9 s the card is free and at 10 s nothing is charged any more.
fn one() -> Made {
    let mut made = Made::default();
    made.workload("a", 0, false)
        .workload("a", 1, false)
        .pod("a", "Pending")
        .claim("a", Some("gpu-0"))
        .pod("a", "Running")
        .pod("a", "Running")
        .pod("a", "Running")
        .pod("a", "Succeeded")
        .claim("a", None)
        .workload("a", 0, true);
    made
}

fn is(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value} and not {wanted}");
}

#[test]
fn a_job_is_charged_from_its_admission_to_its_end_and_holds_its_card_in_between() {
    let busy = |at, part| Sample {
        at,
        busy: [(("n".to_owned(), "gpu-0".to_owned()), part)].into(),
    };
    let day = one().day(&[busy(5_000, 0.5), busy(6_500, 1.0), busy(8_000, 0.0)]);
    assert_eq!(day.wrong, Vec::<String>::new());
    assert_eq!(day.left, Vec::<String>::new());
    let red = &day.tenants["red"];
    assert_eq!((red.came, red.done), (1, 1));
    assert_eq!(red.waited, [4.0]);
    is(red.held, 5.0);
    is(red.seconds, 5.0);
    // Half a card from 5 s to 6.5 s, a whole one to 8 s.
    is(red.busy, 0.75 + 1.5);
    // From 2 s to 4 s, and from 9 s to 10 s.
    is(red.charged_in_vain, 3.0);
    is(red.free_of_charge, 0.0);
    // All but the three changes at 2, 3 and 9 s.
    assert_eq!((day.equal, day.changes), (7, 10));
    let after = |at| day.moments.iter().find(|it| it.at == at).expect("a moment");
    assert_eq!((after(2_000).charged, after(2_000).devices), (1, 0));
    assert_eq!((after(4_000).charged, after(4_000).devices), (1, 1));
    is(after(4_000).held["red"], 1.0);
}

#[test]
fn a_pod_that_runs_is_charged_for_what_it_holds() {
    let mut made = one();
    // Two are charged for the one.
    made.changes.drain(5..);
    made.workload("a", 2, false);
    let day = made.day(&[]);
    assert_eq!(
        day.wrong,
        ["after 6000 ms a is charged 2 of cards and holds 1, with 1 of 1 pods running"]
    );
    assert_eq!(day.left, ["a is still charged", "n/gpu-0 is still held"]);
}

#[test]
fn a_pod_that_lives_does_not_hold_what_nobody_is_charged_for() {
    let mut made = one();
    made.changes.drain(5..);
    made.workload("a", 0, false).pod("a", "Running");
    let day = made.day(&[]);
    assert_eq!(day.wrong.len(), 2);
    assert!(day.wrong[0].starts_with("after 6000 ms a is charged 0 of cards and holds 1"));
    is(day.tenants["red"].free_of_charge, 1.0);
}

#[test]
fn a_device_has_one_holder_and_the_quota_of_all_is_the_end() {
    let mut made = Made::default();
    for job in ["a", "b", "c"] {
        made.workload(job, 1, false).pod(job, "Pending");
    }
    made.claim("a", Some("gpu-0")).claim("b", Some("gpu-0"));
    let day = made.day(&[]);
    let has = |text: &str| day.wrong.iter().any(|it| it.contains(text));
    assert!(
        has("n/gpu-0 is held by the claims uid-a and uid-b"),
        "{:?}",
        day.wrong
    );
    assert!(has("3 of cards are charged, and the quota of all is 2"));
}
