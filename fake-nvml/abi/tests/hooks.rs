//! What somebody asks to happen around calls: faults of a plan, the log, and cards that come late.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::time::{Duration, Instant};

use gpu_model::{
    Action, Code, Glob, GpuIndex, Injection, Machine, Now, Op, Rule, Scope, Then, When, Window,
};
use nvml_wrapper_sys::bindings::nvmlDevice_t;
use support::{Node, Nvml, ask, call};

/// A rule about a function that does `then` when `when` says so.
fn rule(function: &str, when: When, then: Then) -> Rule {
    Rule {
        function: Glob(function.to_owned()),
        device: None,
        process: None,
        window: Window::default(),
        when,
        action: Action { wait: 0, then },
    }
}

fn change(node: &Node, change: impl FnOnce(&Machine, Now) -> Machine) {
    let now = node.store().real();
    let changed = node.store().update(|machine, _| {
        Ok::<_, std::convert::Infallible>((change(machine, machine.now(now)), ()))
    });
    changed.expect("a writable state");
}

fn arm(node: &Node, rules: Vec<Rule>) {
    change(node, |machine, now| machine.armed(1, rules, now));
}

fn disarm(node: &Node) {
    change(node, |machine, now| machine.disarmed(now));
}

fn count(nvml: &Nvml) -> Result<u32, u32> {
    ask!(nvml, nvmlDeviceGetCount_v2() -> u32)
}

fn minor(nvml: &Nvml, device: nvmlDevice_t) -> Result<u32, u32> {
    ask!(nvml, nvmlDeviceGetMinorNumber(device) -> u32)
}

#[test]
fn a_call_fails_as_the_plan_says_and_no_other_does() {
    let node = Node::new("2xA100-SXM4-40GB");
    let nvml = node.init();
    let devices = [nvml.device(0), nvml.device(1)];
    assert_eq!(count(&nvml), Ok(2));
    arm(
        &node,
        vec![
            rule(
                "nvmlDeviceGetCount*",
                When::Nth(2),
                Then::Return(Code::Unknown),
            ),
            Rule {
                device: Some(Scope::gpu(GpuIndex(1))),
                ..rule(
                    "nvmlDeviceGetMinorNumber",
                    When::Always,
                    Then::Return(Code::GpuIsLost),
                )
            },
            rule(
                "nvmlDeviceGetFanSpeedRPM",
                When::Always,
                Then::Return(Code::Timeout),
            ),
            rule(
                "nvmlEventSetCreate",
                When::Always,
                Then::Return(Code::Memory),
            ),
        ],
    );
    assert_eq!(
        [count(&nvml), count(&nvml), count(&nvml)],
        [Ok(2), Err(Code::Unknown.raw()), Ok(2)]
    );
    assert_eq!(minor(&nvml, devices[0]), Ok(0));
    assert_eq!(minor(&nvml, devices[1]), Err(Code::GpuIsLost.raw()));
    // One without behaviour, and one that needs more than a look at the state.
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetFanSpeedRPM(devices[0], core::ptr::null_mut())
        ),
        Code::Timeout.raw()
    );
    assert_eq!(
        call!(nvml, nvmlEventSetCreate(core::ptr::null_mut())),
        Code::Memory.raw()
    );
    disarm(&node);
    assert_eq!(minor(&nvml, devices[1]), Ok(1));
}

#[test]
fn an_init_can_fail_too() {
    let node = Node::new("1xL4");
    arm(
        &node,
        vec![rule(
            "nvmlInit*",
            When::First(1),
            Then::Return(Code::DriverNotLoaded),
        )],
    );
    let nvml = node.load();
    assert_eq!(call!(nvml, nvmlInit_v2()), Code::DriverNotLoaded.raw());
    assert_eq!(count(&nvml), Err(1), "not initialised");
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
}

#[test]
fn a_call_waits_and_a_call_hangs_until_the_plan_goes() {
    let node = Node::new("1xL4");
    let nvml = node.init();
    let mut slow = rule("nvmlDeviceGetCount_v2", When::First(1), Then::Proceed);
    slow.action.wait = 30_000;
    arm(&node, vec![slow]);
    let started = Instant::now();
    assert_eq!(count(&nvml), Ok(1));
    assert!(started.elapsed() >= Duration::from_millis(30));

    arm(
        &node,
        vec![rule("nvmlDeviceGetCount_v2", When::Always, Then::Hang)],
    );
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| count(&nvml));
        std::thread::sleep(Duration::from_millis(30));
        assert!(
            !hanging.is_finished(),
            "it came back while the plan was armed"
        );
        disarm(&node);
        assert_eq!(hanging.join().expect("no panic"), Ok(1));
    });
}

const KILLED: &str = "NVML_TEST_KILLED_IN_A_CALL";

#[test]
fn a_process_is_killed_inside_a_call() {
    if std::env::var_os(KILLED).is_some() {
        let node = Node::new("1xL4");
        let nvml = node.init();
        arm(
            &node,
            vec![rule("nvmlDeviceGetCount_v2", When::Nth(2), Then::Kill)],
        );
        assert_eq!(count(&nvml), Ok(1));
        let _ = count(&nvml);
        unreachable!("the second call never returns");
    }
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
    let child = child
        .args([
            "--exact",
            "a_process_is_killed_inside_a_call",
            "--nocapture",
        ])
        .env(KILLED, "1");
    let output = child.output().expect("it runs");
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(
        signal,
        Some(libc::SIGKILL),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn the_log_has_the_calls_while_it_is_on() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    assert_eq!(node.store().last_logged(), 0, "off until somebody asks");
    change(&node, |machine, _| machine.with_log(true));
    assert_eq!(minor(&nvml, device), Ok(0));
    let name = nvml.name(device).expect("a name");
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetMinorNumber(device, core::ptr::null_mut())
        ),
        2
    );
    let gi = ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvml_wrapper_sys::bindings::nvmlGpuInstance_t);
    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi.expect("room"))), 0);
    change(&node, |machine, _| machine.with_log(false));
    assert_eq!(minor(&nvml, device), Ok(0));

    let calls = node.store().logged(1, 100).calls;
    let lines: Vec<_> = calls
        .iter()
        .map(|call| {
            assert_eq!(call.pid.0, std::process::id());
            format!(
                "{}({}) -> {} {}",
                call.function, call.arguments, call.code, call.result
            )
        })
        .collect();
    let of_gi = calls[3].result.trim_start_matches("gpu_instance=");
    assert_eq!(
        lines,
        [
            "nvmlDeviceGetMinorNumber(device=GPU 0) -> 0 minor=0".to_owned(),
            format!("nvmlDeviceGetName(device=GPU 0, length=96) -> 0 name={name:?}"),
            "nvmlDeviceGetMinorNumber(device=GPU 0, minor=NULL) -> 2 ".to_owned(),
            format!(
                "nvmlDeviceCreateGpuInstance(device=GPU 0, profile_id=19) -> 0 gpu_instance={of_gi}"
            ),
            format!("nvmlGpuInstanceDestroy(gpu_instance={of_gi}) -> 0 "),
        ]
    );
    assert!(of_gi.starts_with("GPU 0 "), "{of_gi}");
}

#[test]
fn a_card_that_comes_late_is_listed_by_the_next_init() {
    let node = Node::new("2xL4");
    let absent = |absent| {
        let op = Op::Inject {
            gpu: GpuIndex(1),
            what: Injection::Absent(absent),
        };
        node.store().apply(op).expect("allowed");
    };
    absent(true);
    let nvml = node.init();
    assert_eq!(count(&nvml), Ok(1));
    absent(false);
    assert_eq!(count(&nvml), Ok(1), "this init has looked already");
    assert_eq!(call!(nvml, nvmlShutdown()), 0);
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
    assert_eq!(count(&nvml), Ok(2));
}

#[test]
fn a_timed_fault_comes_without_a_write() {
    let node = Node::new("1xL4");
    let nvml = node.init();
    let device = nvml.device(0);
    let now = node.machine().now(node.store().real());
    let op = Op::Schedule {
        gpu: GpuIndex(0),
        at: Now(now.0 + 50_000),
        what: Injection::Lost(true),
    };
    node.store().apply(op).expect("allowed");
    let generation = node.store().generation();
    let end = Instant::now() + Duration::from_secs(20);
    while minor(&nvml, device) == Ok(0) {
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(minor(&nvml, device), Err(Code::GpuIsLost.raw()));
    assert_eq!(node.store().generation(), generation, "somebody wrote");
}
