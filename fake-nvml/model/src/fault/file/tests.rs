//! Good plans become rules; each kind of mistake is told with its place and what to do.
#![allow(clippy::unwrap_used, clippy::expect_used)] // tests stop at the first surprise
use super::*;
use crate::*;

fn machine() -> Machine {
    let catalog = Catalog::builtin();
    let model = |name| catalog.model(name).unwrap();
    let options = Options::default();
    Machine::build(&[(model("A100-SXM4-40GB"), 2), (model("L4"), 1)], &options)
}

const GOOD: &str = "\
format: 1
seed: 7
calls:
  - function: nvmlDeviceGetName
    device: 1
    process: nvidia-smi
    nth: 3
    error: GPU_IS_LOST
  - function: nvmlDeviceGet*
    device: 0/1/0
    process: 42
    probability: 0.25
    from: 10s
    until: 1m
    latency: 50ms
  - {function: nvmlEventSetWait_v2, first: 2, hang: true}
  - {function: nvmlShutdown, every: 5, kill: true, latency: 1ms}
cards:
  - {gpu: 0, at: 5s, xid: {number: 79, gi: 1}}
  - {gpu: 1, absent: true, for: 30s}
  - {gpu: 0, throttle: [hw-thermal, power-cap]}
  - {gpu: 0, nvlink_down: 3, alone: true}
";

#[test]
fn a_good_plan_becomes_rules() {
    let plan = PlanFile::read(GOOD, Some(&machine())).unwrap_or_else(|e| panic!("{e:#?}"));
    assert_eq!(plan.seed, 7);
    assert_eq!(
        plan.rules[0],
        Rule {
            function: Glob("nvmlDeviceGetName".into()),
            device: Some(Scope::gpu(GpuIndex(1))),
            process: Some(ProcessIs::Named(Glob("nvidia-smi".into()))),
            window: Window::default(),
            when: When::Nth(3),
            action: Action {
                wait: 0,
                then: Then::Return(Code::GpuIsLost)
            },
        }
    );
    assert_eq!(
        plan.rules[1],
        Rule {
            function: Glob("nvmlDeviceGet*".into()),
            device: Some(Scope::ci(GpuIndex(0), GiId(1), CiId(0))),
            process: Some(ProcessIs::Pid(Pid(42))),
            window: Window {
                from: 10_000_000,
                until: Some(60_000_000)
            },
            when: When::Chance(250_000),
            action: Action {
                wait: 50_000,
                then: Then::Proceed
            },
        }
    );
    assert_eq!(
        (plan.rules[2].when, plan.rules[2].action.then),
        (When::First(2), Then::Hang)
    );
    assert_eq!(
        (plan.rules[3].when, plan.rules[3].action),
        (
            When::Every(5),
            Action {
                wait: 1_000,
                then: Then::Kill
            }
        )
    );
    assert_eq!(
        plan.cards[0],
        CardFault {
            gpu: GpuIndex(0),
            at: Micros(5_000_000),
            lasts: None,
            what: Injection::Xid {
                xid: 79,
                gi: Some(GiId(1)),
                ci: None
            },
            alone: false,
        }
    );
    assert_eq!(plan.cards[1].lasts, Some(Micros(30_000_000)));
    assert_eq!(
        plan.cards[2].what,
        Injection::Throttle(Throttle::HW_THERMAL.with(Throttle::POWER_CAP))
    );
    assert!(plan.cards[3].alone);
}

#[test]
fn uuids_are_those_of_the_machine() {
    let machine = machine();
    let uuid = machine.gpus[1].uuid;
    let yaml = format!(
        "format: 1\ncalls:\n  - {{function: nvmlDeviceGetName, device: {uuid}, hang: true}}\n"
    );
    let plan = PlanFile::read(&yaml, Some(&machine)).unwrap();
    assert_eq!(plan.rules[0].device, Some(Scope::gpu(GpuIndex(1))));
    let told = PlanFile::read(&yaml, None).unwrap_err();
    assert_eq!(told[0].message, "a UUID belongs to one machine");
}

/// (plan after `format: 1`, what is told, help, the text that is pointed at)
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "calls: [{function: nvmlDeviceGetNames, hang: true}]",
        "NVML has no function `nvmlDeviceGetNames`",
        "did you mean `nvmlDeviceGetName`?",
        "nvmlDeviceGetNames",
    ),
    (
        "calls: [{function: 'nvmlDevcie*', hang: true}]",
        "no function of NVML is called `nvmlDevcie*`",
        "nvmlDeviceGet*",
        "'nvmlDevcie*'",
    ),
    (
        "calls: [{function: nvmlShutdown, error: GPU_IS_LOSST}]",
        "NVML has no return code `GPU_IS_LOSST`",
        "did you mean `GPU_IS_LOST`?",
        "GPU_IS_LOSST",
    ),
    (
        "calls: [{function: nvmlShutdown, error: 0}]",
        "SUCCESS is no error",
        "leave `error` out",
        "0",
    ),
    (
        "calls: [{function: nvmlShutdown, latncy: 5ms}]",
        "unknown field `latncy`",
        "did you mean `latency`?",
        "latncy",
    ),
    (
        "calls: [{function: nvmlShutdown, probability: 1.5, hang: true}]",
        "a probability of 1.5 lies outside of 0 to 1",
        "0.25",
        "1.5",
    ),
    (
        "calls: [{function: nvmlShutdown, from: 5s, until: 2s, hang: true}]",
        "the window ends at 2s and begins at 5s: it is empty",
        "`until` come after",
        "2s",
    ),
    (
        "calls: [{function: nvmlShutdown, latency: 5}]",
        "no length of time",
        "50ms",
        "5",
    ),
    (
        "calls: [{function: nvmlShutdown, nth: 0, hang: true}]",
        "`nth: 0` is never",
        "counted from 1",
        "0",
    ),
    (
        "calls: [{function: nvmlShutdown, nth: 1, every: 2, hang: true}]",
        "more than one of nth, first, every, probability",
        "two rules",
        "{function: nvmlShutdown",
    ),
    (
        "calls: [{function: nvmlShutdown, kill: true, hang: true}]",
        "more than one of error, hang, kill",
        "one way",
        "{function: nvmlShutdown",
    ),
    (
        "calls: [{function: nvmlShutdown}]",
        "this rule does nothing",
        "hang: true",
        "{function: nvmlShutdown",
    ),
    (
        "calls: [{function: nvmlDeviceGetName, device: 7, hang: true}]",
        "there is no GPU 7: this machine has 3",
        "the node has",
        "7",
    ),
    (
        "calls: [{function: nvmlDeviceGetName, device: first, hang: true}]",
        "`first` names no device",
        "GPU/GI/CI",
        "first",
    ),
    (
        "calls: [{function: nvmlDeviceGetName, device: GPU-123, hang: true}]",
        "`GPU-123` is no UUID",
        "nvidia-smi -L",
        "GPU-123",
    ),
    (
        "calls: [{function: nvmlDeviceGetName, device: GPU-00000000-1111-2222-3333-444444444444, hang: true}]",
        "the node has no device GPU-0000",
        "nvidia-smi -L",
        "GPU-00000000-1111-2222-3333-444444444444",
    ),
    (
        "calls: [{function: nvmlShutdown, process: gpu-kubelet-plugin, hang: true}]",
        "the kernel keeps 15 bytes",
        "write `gpu-kubelet-plu`",
        "gpu-kubelet-plugin",
    ),
    (
        "cards: [{gpu: 0}]",
        "this card has no fault",
        "add one of xid",
        "{gpu: 0",
    ),
    (
        "cards: [{gpu: 0, lost: true, absent: true}]",
        "more than one fault",
        "one item for each",
        "{gpu: 0",
    ),
    (
        "cards: [{gpu: 0, for: 5s, xid: {number: 48}}]",
        "this fault is an event",
        "leave `for` out",
        "5s",
    ),
    (
        "cards: [{gpu: 0, for: 0s, lost: true}]",
        "lasts no time",
        "leave `for` out",
        "0s",
    ),
    (
        "cards: [{gpu: 2, nvlink_down: 0}]",
        "GPU 2 has no NVLink 0: it has 0",
        "what the card has",
        "{gpu: 2",
    ),
    (
        "cards: [{gpu: 0/1, lost: true}]",
        "about a whole GPU",
        "name the GPU here",
        "0/1",
    ),
    (
        "cards: [{gpu: 0, recovery: gpu-rest}]",
        "unknown variant `gpu-rest`",
        "did you mean `gpu-reset`?",
        "gpu-rest",
    ),
];

#[test]
fn each_mistake_is_told_with_its_place() {
    let machine = machine();
    for (yaml, message, help, at) in WRONG {
        let yaml = format!("format: 1\n{yaml}\n");
        let told = PlanFile::read(&yaml, Some(&machine)).expect_err(&yaml);
        assert_eq!(told.len(), 1, "{yaml}: {told:#?}");
        let problem = &told[0];
        assert!(problem.message.contains(message), "{yaml}: {problem:#?}");
        assert!(problem.help.contains(help), "{yaml}: {problem:#?}");
        assert_eq!(problem.line, 2, "{yaml}: {problem:#?}");
        let place = &yaml[problem.offset..][..problem.length];
        assert!(place.starts_with(at), "{yaml}: points at `{place}`");
    }
    let told = PlanFile::read("format: 2\n", None).unwrap_err();
    assert_eq!((told[0].rule, told[0].line), ("format", 1));
    let told = PlanFile::read("format: 1\ncalls: [\n", None).unwrap_err();
    assert_eq!(told[0].rule, "yaml");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let yaml = "format: 1\ncalls:\n  - {function: nvmlNo, hang: true}\n  - {function: nvmlShutdown}\ncards:\n  - {gpu: 9, lost: true}\n";
    let told = PlanFile::read(yaml, Some(&machine())).unwrap_err();
    assert_eq!(told.iter().map(|it| it.line).collect::<Vec<_>>(), [3, 4, 6]);
}

#[test]
fn more_rules_than_counters() {
    let rule = "  - {function: nvmlShutdown, hang: true}\n";
    let plan = |n| format!("format: 1\ncalls:\n{}", rule.repeat(n));
    assert!(PlanFile::read(&plan(FaultPlan::MAX_RULES), None).is_ok());
    let told = PlanFile::read(&plan(FaultPlan::MAX_RULES + 1), None).unwrap_err();
    assert_eq!(
        (told[0].rule, told[0].line),
        ("too-many", FaultPlan::MAX_RULES + 3)
    );
}

#[test]
fn an_armed_plan_happens_in_its_time() {
    let yaml = "format: 1\ncards:\n  - {gpu: 1, absent: true, for: 30s}\n  - {gpu: 0, at: 10s, lost: true, for: 5s}\n  - {gpu: 0, at: 10s, nvlink_down: 3, for: 1s}\n";
    let machine = machine();
    let plan = PlanFile::read(yaml, Some(&machine)).unwrap();
    let start = Now::from_secs(1000);
    let armed = machine.with_plan(&plan, start).unwrap();
    let at = |secs: u64| armed.at(Now::from_secs(1000 + secs)).into_owned();
    let absent = |m: &Machine| m.gpus[1].health.absent;
    let lost = |m: &Machine| m.gpus[0].health.lost;
    assert_eq!([0, 29, 30].map(|s| absent(&at(s))), [true, true, false]);
    assert_eq!(
        [9, 10, 14, 15].map(|s| lost(&at(s))),
        [false, true, true, false]
    );
    assert_eq!(
        [9, 10, 11].map(|s| at(s).gpus[0].health.link_up(3)),
        [true, false, true]
    );
    let xids: Vec<u64> = at(20)
        .events
        .all()
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Xid(_)))
        .map(|e| e.kind.data())
        .collect();
    assert_eq!(xids, [79, 154, 74]);
    // Another plan forgets what was to come.
    let other = PlanFile::read("format: 1\n", None).unwrap();
    let replaced = armed.with_plan(&other, Now::from_secs(1001)).unwrap();
    assert_eq!(replaced.next_due(), None);
}

/// The committed schema is what the types say; `UPDATE_SCHEMA=1` writes it anew.
#[test]
fn the_schema_is_in_step() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/fault-plan.schema.json");
    let schema = format!("{:#}\n", PlanFile::schema().to_value());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == schema,
        "data/fault-plan.schema.json is out of step: run this test once with UPDATE_SCHEMA=1"
    );
    let json: serde_json::Value = serde_json::from_str(&kept).unwrap();
    for field in ["format", "seed", "calls", "cards"] {
        assert!(json["properties"][field].is_object(), "{field}");
    }
}
