//! Faults, clock, loads and the log on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use common::{Ended, User, fakegpu, good};

/// A folder with a machine.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new(node: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("m").to_str().unwrap().to_owned();
        let mut args = vec!["create", "--node", node];
        args.extend(options);
        args.push(&at);
        good(&fakegpu(User::Me, &args).output().unwrap());
        Self(folder)
    }

    fn at(&self) -> String {
        self.0.path().join("m").to_str().unwrap().to_owned()
    }

    /// `fakegpu WORDS --state M REST`: exit code, output, errors.
    fn try_run(&self, words: &[&str], rest: &[&str]) -> (i32, String, String) {
        let at = self.at();
        let mut args = words.to_vec();
        args.extend(["--state", &at]);
        args.extend(rest);
        let output = fakegpu(User::Me, &args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&at, "M");
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn run(&self, words: &[&str], rest: &[&str]) -> String {
        let (code, out, err) = self.try_run(words, rest);
        assert_eq!((code, err.as_str()), (0, ""), "{words:?} {rest:?}");
        out
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A shell line among the machine's GPUs.
    fn shell(&self, line: &str) -> String {
        good(&common::shell(User::Me, &["--state", &self.at()], line))
    }

    fn show(&self) -> String {
        good(&fakegpu(User::Me, &["show", &self.at()]).output().unwrap())
    }
}

#[test]
fn a_plan_is_checked_armed_shown_and_cleared() {
    let machine = Machine::new("2xA100-SXM4-40GB", &[]);
    let plan = machine.file(
        "plan.yaml",
        "format: 1\nseed: 3\ncalls:\n  - {function: nvmlDeviceGetName, device: 1, nth: 2, error: GPU_IS_LOST}\n  - {function: 'nvmlInit*', latency: 50ms, until: 10s}\ncards:\n  - {gpu: 0, at: 1h, lost: true}\n",
    );
    machine.run(&["clock", "set"], &["2026-01-31T12:00:00Z"]);
    machine.run(&["clock", "stop"], &[]);
    assert!(
        machine
            .run(&["fault", "lint"], &[&plan])
            .ends_with("good, 2 about calls, 1 about cards\n")
    );
    assert_eq!(
        machine.run(&["fault", "arm"], &[&plan]),
        "armed: 2 about calls, 1 about cards\n"
    );
    let shown = machine.run(&["fault", "show"], &[]);
    assert!(shown.contains("seed 3\n  1  nvmlDeviceGetName on GPU 1 call 2 -> GPU_IS_LOST  (0 met)\n  2  nvmlInit* until 10s -> wait 50ms  (0 met)\n"), "{shown}");
    assert!(shown.contains("GPU 0  Lost(true)"), "{shown}");
    machine.run(
        &["inject"],
        &[
            "--in",
            "5s",
            "call",
            "nvmlShutdown",
            "--process",
            "42",
            "--every",
            "3",
            "--kill",
        ],
    );
    let shown = machine.run(&["fault", "show"], &[]);
    assert!(
        shown.contains("  3  nvmlShutdown by process 42 every 3 from 5s -> kill  (0 met)"),
        "{shown}"
    );
    assert!(!machine.show().contains("lost"));
    machine.run(&["clock", "step"], &["1h"]);
    assert!(
        machine.show().contains(
            "lost: it fell off the bus\n       the driver asks for NodeReboot\n       last Xid 154"
        ),
        "{}",
        machine.show()
    );
    assert_eq!(machine.run(&["fault", "clear"], &[]), "nothing is armed\n");
    assert_eq!(machine.run(&["fault", "show"], &[]), "nothing is armed\n");
}

#[test]
fn a_bad_plan_is_drawn_with_all_its_problems() {
    let machine = Machine::new("1xL4", &[]);
    let plan = machine.file(
        "bad.yaml",
        "format: 1\ncalls:\n  - function: nvmlDeviceGetNames\n    probability: 7\n    hang: true\n",
    );
    for words in [["fault", "lint"], ["fault", "arm"]] {
        let (code, out, err) = machine.try_run(&words, &[&plan]);
        assert_eq!((code, out.as_str()), (2, ""));
        let err = err.replace(&plan, "bad.yaml");
        insta::assert_snapshot!("bad_plan", err);
    }
    assert_eq!(machine.run(&["fault", "show"], &[]), "nothing is armed\n");
    let (code, _, err) = machine.try_run(&["inject"], &["call", "nvmlDeviceGetNam", "--hang"]);
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "fakegpu: inject call: NVML has no function `nvmlDeviceGetNam`: did you mean `nvmlDeviceGetName`?\n"
        )
    );
    let (code, _, err) = machine.try_run(&["inject"], &["--for", "5s", "xid", "79"]);
    assert_eq!(
        (code, err.as_str()),
        (
            2,
            "fakegpu: this fault is an event, it can not be undone after a time: leave --for out\n"
        )
    );
    let (code, _, err) = machine.try_run(&["inject"], &["nvlink", "0", "down"]);
    assert_eq!(
        (code, err.as_str()),
        (
            1,
            "fakegpu: GPU 0 has no NVLink 0: it has 0, counted from 0\n"
        )
    );
}

#[test]
fn faults_of_a_card_come_and_go_with_the_clock() {
    let machine = Machine::new("1xA100-SXM4-40GB", &[]);
    machine.run(&["clock", "stop"], &[]);
    machine.run(&["inject"], &["--for", "30s", "absent"]);
    machine.run(
        &["inject"],
        &["--in", "10s", "--for", "10s", "throttle", "hw-thermal"],
    );
    machine.run(&["inject"], &["nvlink", "3", "down"]);
    let shown = machine.show();
    assert!(
        shown.contains("absent")
            && shown.contains("NVLinks down: 3")
            && shown.contains("last Xid 74"),
        "{shown}"
    );
    machine.run(&["clock", "step"], &["15s"]);
    assert!(machine.show().contains("clocks held down, reasons 0x40"));
    machine.run(&["clock", "step"], &["15s"]);
    let shown = machine.show();
    assert!(
        !shown.contains("absent") && !shown.contains("held down"),
        "{shown}"
    );
    machine.run(&["inject"], &["ecc", "--uncorrected", "1"]);
    let shown = machine.show();
    assert!(
        shown.contains("DrainAndReset") && shown.contains("1 uncorrected, one waits for a reset"),
        "{shown}"
    );
    machine.run(&["inject"], &["reset"]);
    machine.run(&["inject"], &["--alone", "ecc", "--uncorrected", "1"]);
    assert!(!machine.show().contains("DrainAndReset"));
}

#[test]
fn the_clock() {
    let machine = Machine::new("1xL4", &[]);
    assert!(
        machine
            .run(&["clock", "show"], &[])
            .ends_with("Z (the system's)\n")
    );
    machine.run(&["clock", "stop"], &[]);
    assert_eq!(
        machine.run(&["clock", "set"], &["2026-01-31T12:00:00Z"]),
        "2026-01-31T12:00:00.000000Z (stopped)\n"
    );
    assert_eq!(
        machine.run(&["clock", "step"], &["1.5s"]),
        "2026-01-31T12:00:01.500000Z (stopped)\n"
    );
    assert_eq!(
        machine.run(&["clock", "step"], &["2s", "--back"]),
        "2026-01-31T11:59:59.500000Z (stopped)\n"
    );
    assert!(
        machine
            .run(&["clock", "run"], &[])
            .starts_with("2026-01-31T11:59:59.")
    );
    assert!(
        machine
            .run(&["clock", "real"], &[])
            .ends_with("(the system's)\n")
    );
    let (code, _, err) = machine.try_run(&["clock", "step"], &["5"]);
    assert!(
        code == 2 && err.contains("write a number and a unit"),
        "{err}"
    );
}

#[test]
fn loads_by_hand() {
    let machine = Machine::new("2xL4", &[]);
    machine.run(&["clock", "stop"], &[]);
    machine.run(
        &["load"],
        &[
            "-i",
            "1",
            "--memory",
            "1000",
            "--use",
            "0-100:60s",
            "--pid",
            "77",
            "--name",
            "train",
        ],
    );
    let curve = machine.file("curve", "0s 10\n30s 10\n30s 90\n60s 90\nrepeat\n");
    machine.run(
        &["load"],
        &["--memory", "5", "--curve", &curve, "--for", "2m"],
    );
    machine.run(&["clock", "step"], &["30s"]);
    let at = machine.at();
    let list = good(
        &fakegpu(User::Me, &["load", "list", "--state", &at])
            .output()
            .unwrap(),
    );
    assert_eq!(
        list,
        "load 2  GPU 0  no process  5 MiB  90 % of it\nload 1  GPU 1  train[77] (made up)  1000 MiB  50 % of it\n"
    );
    machine.run(&["clock", "step"], &["2m"]);
    assert!(machine.show().contains("load 100 %, 1000 MiB"));
    let (code, _, err) = machine.try_run(&["load"], &["--memory", "99999999"]);
    assert!(
        code == 1 && err.contains("GPU 0 has") && err.contains("does not fit"),
        "{err}"
    );
    let (code, _, err) = machine.try_run(&["load"], &["--use", "lots"]);
    assert!(
        code == 2 && err.starts_with("fakegpu: --use: `lots` is no curve"),
        "{err}"
    );
    let bad = machine.file("bad", "0s 10\nlater 20\n");
    let (code, _, err) = machine.try_run(&["load"], &["--curve", &bad]);
    assert!(
        code == 2 && err.contains("line 2: `later` is no length of time"),
        "{err}"
    );
    machine.run(&["load", "end"], &[]);
    assert_eq!(
        good(
            &fakegpu(User::Me, &["load", "list", "--state", &at])
                .output()
                .unwrap()
        ),
        ""
    );
}

/// The program is the load, under its own process id, and takes it along when it is killed.
#[test]
fn a_program_is_a_load_as_long_as_it_lives() {
    let machine = Machine::new("1xL4", &[]);
    let at = machine.at();
    let list = || {
        good(
            &fakegpu(User::Me, &["load", "list", "--state", &at])
                .output()
                .unwrap(),
        )
    };
    let mut command = fakegpu(
        User::Me,
        &[
            "load",
            "--state",
            &at,
            "--memory",
            "9",
            "--use",
            "40",
            "--",
            "sh",
            "-c",
            "echo ready; exec sleep 60",
        ],
    );
    let mut child = Ended(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(
        list(),
        format!("load 1  GPU 0  sh[{}]  9 MiB  40 % of it\n", child.0.id())
    );
    let (code, _, err) = machine.try_run(&["inject"], &["reset"]);
    assert!(code == 1 && err.contains("is open in process"), "{err}");
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert_eq!(list(), "");
    let (code, _, err) = machine.try_run(&["load"], &["--", "/no/such/program"]);
    assert!(code == 127 && err.contains("cannot run"), "{err}");
    assert_eq!(list(), "");
}

#[test]
fn the_log_is_switched_and_printed() {
    let machine = Machine::new("1xL4", &[]);
    assert_eq!(machine.run(&["log"], &[]), "");
    assert_eq!(machine.run(&["log"], &["--on"]), "calls are now logged\n");
    let state = fs::read_dir(machine.at()).unwrap();
    assert!(state.count() > 0);
    let store = gpu_store::Store::open(
        gpu_host::HostTree::open(machine.at().as_ref())
            .unwrap()
            .state_path(),
    )
    .unwrap();
    assert!(store.read().unwrap().machine.log);
    let entry = gpu_store::Entry {
        at: gpu_model::Now::from_secs(1_769_860_800),
        took: 1_234_567,
        pid: gpu_model::Pid(42),
        process: "nvidia-smi",
        function: "nvmlDeviceGetName",
        arguments: "GPU 0, 96",
        result: "\"NVIDIA L4\"",
        code: 0,
    };
    assert!(
        store.log(&entry)
            && store.log(&gpu_store::Entry {
                code: 15,
                result: "",
                ..entry
            })
    );
    let text = machine.run(&["log"], &[]);
    assert_eq!(
        text,
        "2026-01-31T12:00:00.000000Z nvidia-smi[42] nvmlDeviceGetName(GPU 0, 96) = SUCCESS \"NVIDIA L4\" <1234.567 us>\n2026-01-31T12:00:00.000000Z nvidia-smi[42] nvmlDeviceGetName(GPU 0, 96) = GPU_IS_LOST <1234.567 us>\n"
    );
    let json = machine.run(&["log"], &["--json", "--last", "1"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["number"], &json["code_name"]),
        (&2.into(), &"GPU_IS_LOST".into())
    );
    for _ in 0..5_000 {
        store.log(&entry);
    }
    let text = machine.run(&["log"], &[]);
    assert!(
        text.starts_with("... 906 calls were overwritten, or never finished\n"),
        "{}",
        &text[..80]
    );
    assert_eq!(machine.run(&["log"], &["--last", "2"]).lines().count(), 2);
    assert_eq!(
        machine.run(&["log"], &["--off"]),
        "calls are no longer logged\n"
    );
    assert!(!store.read().unwrap().machine.log);
}

/// The time that nvidia-smi prints is the machine's: it stands while the clock stands, and moves with its steps.
#[test]
fn nvidia_smi_tells_the_time_of_a_stopped_clock() {
    let machine = Machine::new("1xL4", &[]);
    machine.run(&["clock", "stop"], &[]);
    machine.run(&["clock", "set"], &["2026-01-31T12:00:00Z"]);
    let told = || {
        machine.shell(
            "export TZ=UTC; nvidia-smi | head -1; nvidia-smi -q | grep ^Timestamp | cut -d: -f2-; nvidia-smi -q -x | grep '<timestamp>'
             nvidia-smi --query-gpu=timestamp --format=csv,noheader",
        )
    };
    let at = |hour: &str| {
        format!(
            "Sat Jan 31 {hour}:00:00 2026       \n Sat Jan 31 {hour}:00:00 2026\n\t<timestamp>Sat Jan 31 {hour}:00:00 2026</timestamp>\n\
             2026/01/31 {hour}:00:00.000\n"
        )
    };
    assert_eq!(told(), at("12"));
    assert_eq!(told(), at("12"));
    machine.run(&["clock", "step"], &["1h"]);
    assert_eq!(told(), at("13"));
}

/// What processes have used stands in the report, in XML and in rows, and is gone with accounting.
#[test]
fn nvidia_smi_tells_of_accounted_processes() {
    let machine = Machine::new("1xL4", &[]);
    machine.run(&["clock", "stop"], &[]);
    let ask = "nvidia-smi --query-accounted-apps=gpu_name,pid,time,gpu_util,mem_util,max_memory_usage --format=csv
               nvidia-smi --query-accounted-apps=gpu_uuid,pid,max_memory_usage --format=csv,noheader,nounits | cut -d, -f2-
               nvidia-smi -q -d ACCOUNTING | sed -n '/Accounted/,$p'; nvidia-smi -q -x | sed -n '/<accounted_processes>/,/<.accounted_processes>/p'";
    assert_eq!(
        machine.shell(&format!("nvidia-smi -am 1; {ask}")),
        "Enabled Accounting Mode for GPU 00000000:07:00.0.\nAll done.\n\
         gpu_name, pid, time [ms], gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB]\n    \
         Accounted Processes                   : None\n\n\t\t<accounted_processes>\n\t\t</accounted_processes>\n"
    );
    let load = [
        "--memory", "1000", "--use", "60", "--pid", "77", "--name", "train", "--for", "10s",
    ];
    machine.run(&["load"], &load);
    // What comes after its end does not count.
    machine.run(&["clock", "step"], &["25s"]);
    insta::assert_snapshot!(machine.shell(ask));
    let off = "nvidia-smi -am 0 >/dev/null; nvidia-smi --query-accounted-apps=pid --format=csv,noheader; nvidia-smi -q -d ACCOUNTING | grep Accounted";
    assert_eq!(
        machine.shell(off),
        "    Accounted Processes                   : None\n"
    );
}
