//! `fakegpu record` and `fakegpu compare`: our own library as the real one, altered ones, drivers that hang and crash, a capture.
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{User, fakegpu, good, shell};
use gpu_store::Store;

/// A machine in a folder, and its recording.
struct Recorded {
    folder: tempfile::TempDir,
}

impl Recorded {
    fn new(create: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("machine");
        let mut args = vec!["create", dir.to_str().expect("UTF-8")];
        args.extend(create);
        good(&fakegpu(User::Me, &args).output().expect("it runs"));
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The library and the state of the machine.
    fn parts(&self) -> (PathBuf, PathBuf) {
        let found = find(&self.at("machine"), "libnvidia-ml.so.1").expect("a library");
        let library = fs::canonicalize(found).expect("its file");
        let states = fs::read_dir(library.parent().expect("a folder")).expect("the folder");
        let state = states
            .map(|entry| entry.expect("an entry").path())
            .find(|path| path.to_string_lossy().contains("libfakegpu-state.so."))
            .expect("a state");
        (library, state)
    }

    fn record(&self, library: &Path, options: &[&str]) -> Output {
        let output = self.at("recording.json");
        let mut args = vec!["record", "--library", library.to_str().expect("UTF-8")];
        args.extend(["-o", output.to_str().expect("UTF-8")]);
        args.extend(options);
        fakegpu(User::Me, &args)
            .env("FAKEGPU_VISIBLE", "all")
            .output()
            .expect("it runs")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.at("recording.json")).expect("the recording")
    }

    fn compare(&self, options: &[&str]) -> Output {
        let recording = self.at("recording.json");
        compare(&recording, options)
    }
}

fn compare(recording: &Path, options: &[&str]) -> Output {
    let mut args = vec!["compare", recording.to_str().expect("UTF-8")];
    args.extend(options);
    fakegpu(User::Me, &args).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => find(&path, name),
            false => (entry.file_name() == name).then_some(path),
        }
    })
}

/// What is recorded of our own library is what the fake says, for a machine in the middle of its life, and of another driver.
#[test]
fn our_own_library_compares_clean() {
    let node = Recorded::new(&["--node", "2xA100-SXM4-40GB,1xL4", "--mig"]);
    let dir = node.at("machine");
    let run = |line: &str| {
        good(&shell(
            User::Me,
            &["--state", dir.to_str().expect("UTF-8")],
            line,
        ))
    };
    run("nvidia-smi mig -i 0 -cgi 9,14,19 -C");
    run("nvidia-smi mig -i 1 -cgi 4g.20gb");
    let (library, state) = node.parts();
    let before = fs::read(&state).expect("the state");
    let said = good(&node.record(&library, &[]));
    assert!(said.contains("driver 580.95.05, 3 GPUs"), "{said}");
    assert!(
        before == fs::read(&state).expect("the state"),
        "recording has changed the machine"
    );
    let report = good(&node.compare(&[]));
    assert!(
        report.contains("fake       A100-SXM4-40GB, A100-SXM4-40GB, L4\n"),
        "{report}"
    );
    assert!(report.contains(" equal, 0 differ;"), "{report}");
    assert!(!report.contains("note "), "{report}");
    // Instances and compute instances are part of it.
    for on in ["gpu/0/gi/2/ci/0", "gpu/0/mig/0", "gpu/1/gi/1"] {
        assert!(node.text().contains(&format!("\"on\":\"{on}\"")), "{on}");
    }
    // Limits in degrees and as distances, as the catalogue has them of these cards.
    let limits = [
        (
            "a100-sxm4-40gb",
            "{kind: absolute, shutdown: 92, slowdown: 89, gpu_max: 85, mem_max: 95}",
        ),
        (
            "l4",
            "{kind: margin, shutdown: -5, slowdown: -2, gpu_max: 0, mem_max: null}",
        ),
    ];
    for (model, limits) in limits {
        let file = node.at(&format!("recording.{model}.yaml"));
        let written = fs::read_to_string(&file).expect("a model file");
        let limits = format!("\n  temperature_c: {{value: {limits}, ");
        assert!(written.contains(&limits), "{limits} in {written}");
        let file = file.to_str().expect("UTF-8");
        let checked = fakegpu(User::Me, &["model", "check", file])
            .output()
            .expect("it runs");
        assert!(good(&checked).contains("is a good model"));
        if model == "l4" {
            continue;
        }
        // The model file makes a fake that is partitioned as the recorded card is.
        let line = "nvidia-smi mig -lgip | tr -s ' ' | cut -d' ' -f2-8";
        let ours = shell(User::Me, &["--node", "1xA100-SXM4-40GB", "--mig"], line);
        let made = shell(
            User::Me,
            &["--model-file", file, "--node", "1xA100-SXM4-40GB", "--mig"],
            line,
        );
        assert_eq!(good(&ours), good(&made));
    }
}

/// A recording whose values were altered, and another model: the very fields are named, and the exit code says it.
#[test]
fn what_differs_is_named() {
    let node = Recorded::new(&["--node", "1xL4"]);
    let (library, _) = node.parts();
    good(&node.record(&library, &[]));
    let text = node.text();
    let altered = text
        .replacen("\"limit\":72000", "\"limit\":71000", 1)
        .replacen("\"numFans\"", "\"numFansAltered\"", 1);
    assert_ne!(text, altered, "nothing was altered: {text}");
    fs::write(node.at("recording.json"), altered).expect("written");
    let output = node.compare(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = stdout(&output);
    assert!(
        report.contains("limit was 71000, the fake says 72000"),
        "{report}"
    );
    assert!(
        stderr(&output).contains("the fake differs in "),
        "{output:?}"
    );
    // A reason makes it pass.
    fs::write(
        node.at("allow"),
        "# mine\nallowed nvmlDevice* *imit  a lab card\nallowed * numFans* tried\n",
    )
    .expect("written");
    let allow = node.at("allow");
    good(&node.compare(&["--allow", allow.to_str().expect("UTF-8")]));
    // Against another model nearly all differs.
    let output = node.compare(&["--model", "A100-SXM4-40GB", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let count = report["differences"].as_array().map_or(0, Vec::len);
    assert!(count > 50, "{count}");
}

/// A library that lacks every function which changes something gives the same recording: none of them is called.
#[test]
fn recording_calls_no_setter() {
    let node = Recorded::new(&["--node", "1xA100-SXM4-40GB", "--mig"]);
    let (library, state) = node.parts();
    let bytes = fs::read(&library).expect("the library");
    let mut blanked = bytes.clone();
    let mut count = 0;
    for at in 1..bytes.len() - 5 {
        if bytes[at - 1] != 0 || !bytes[at..].starts_with(b"nvml") {
            continue;
        }
        let name: Vec<u8> = bytes[at..]
            .iter()
            .copied()
            .take_while(|b| *b != 0)
            .collect();
        let name = String::from_utf8_lossy(&name);
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !reads(&name) {
            blanked[at] = b'x';
            count += 1;
        }
    }
    assert!(count > 80, "{count} functions that change something");
    let bare = node.at("bare");
    fs::create_dir(&bare).expect("a folder");
    let copy = bare.join(library.file_name().expect("a name"));
    fs::write(&copy, blanked).expect("a library");
    fs::copy(&state, bare.join(state.file_name().expect("a name"))).expect("its state");
    good(&node.record(&library, &[]));
    let whole = calls(&node.text());
    good(&node.record(&copy, &[]));
    let bare = calls(&node.text());
    let differs = whole.iter().zip(&bare).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(whole.len(), bare.len());
}

/// The rule by which a person sorts the names of nvml.h, said once more and in other words than the program says it.
fn reads(name: &str) -> bool {
    const CHANGE: [&str; 14] = [
        "Set", "Create", "Destroy", "Clear", "Reset", "Register", "Freeze", "Remove", "Modify",
        "Update", "Validate", "Discover", "Wait", "Alloc",
    ];
    ["nvmlInitWithFlags", "nvmlShutdown"].contains(&name)
        || (name.contains("Get") || name.contains("Is"))
            && !CHANGE
                .iter()
                .any(|word| name.replace("Settings", "").contains(word))
}

/// The calls of a recording without what varies from moment to moment.
fn calls(text: &str) -> Vec<serde_json::Value> {
    let recording: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let mut calls = recording["calls"].as_array().expect("calls").clone();
    for call in &mut calls {
        call.as_object_mut().expect("a call").remove("value");
    }
    assert!(calls.len() > 500);
    calls
}

/// A driver that hangs in one call, dies in another, writes too much in a third and lacks the rest: what answers is recorded.
#[test]
fn a_bad_driver_costs_its_own_answers_only() {
    const DRIVER: &str = r#"
        #include <string.h>
        #include <unistd.h>
        int nvmlInitWithFlags(unsigned f) { return 0; }
        int nvmlShutdown(void) { return 0; }
        int nvmlSystemGetDriverVersion(char *t, unsigned n) { strncpy(t, "123.45", n); return 0; }
        int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
        int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)0x77; return 0; }
        int nvmlDeviceGetName(void *h, char *t, unsigned n) { if (h != (void *)0x77) return 2; strncpy(t, "NVIDIA Odd", n); return 0; }
        int nvmlDeviceGetBrand(void *h, unsigned *b) { sleep(600); return 0; }
        int nvmlDeviceGetClockInfo(void *h, unsigned t, unsigned *c) { sleep(600); return 0; }
        int nvmlDeviceGetSerial(void *h, char *t, unsigned n) { *(volatile int *)0 = 1; return 0; }
        int nvmlDeviceGetMemoryInfo(void *h, char *m) { memset(m, 1, 200); return 0; }
        int nvmlDeviceGetMemoryInfo_v2(void *h, unsigned *m) { return 25; }
        int nvmlDeviceGetUUID(void *h, char *t, unsigned n) { strncpy(t, "GPU-odd", n); return 0; }
    "#;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("odd.c"), DRIVER).expect("a source");
    let built = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-w", "-shared", "-fPIC", "-O0", "-o"])
        .args([at("odd.so"), at("odd.c")])
        .status();
    assert!(
        built
            .expect("a C compiler, which linking needs too")
            .success()
    );
    let node = Recorded { folder };
    let said = good(&node.record(&node.at("odd.so"), &["--timeout", "0.3"]));
    assert!(said.contains("driver 123.45, 1 GPUs"), "{said}");
    let text = node.text();
    let line = |function: &str| {
        let needle = format!("\"function\":\"{function}\"");
        text.lines()
            .find(|line| line.contains(&needle))
            .unwrap_or_else(|| panic!("{function}"))
            .to_owned()
    };
    assert!(line("nvmlDeviceGetName").contains("NVIDIA Odd"));
    assert!(line("nvmlDeviceGetBrand").contains("timed_out"));
    assert!(line("nvmlDeviceGetClockInfo").contains("timed_out"));
    assert!(
        text.contains("not_asked_again"),
        "a function that hung once is left alone"
    );
    assert!(line("nvmlDeviceGetSerial").contains("died"));
    assert!(line("nvmlDeviceGetMemoryInfo").contains("overrun"));
    assert!(line("nvmlDeviceGetMemoryInfo_v2").contains("\"code\":25"));
    assert!(
        line("nvmlDeviceGetUUID").contains("GPU-odd"),
        "it goes on after a death"
    );
    assert!(
        text.contains("\"nvmlDeviceGetMigMode\""),
        "absent functions are listed"
    );
    assert!(
        said.contains("no model file of gpu/0: the recording has no nvmlDeviceGetArchitecture"),
        "{said}"
    );
}

/// What identifies the machine is taken out, everywhere, and the rest still compares.
#[test]
fn anonymised() {
    let node = Recorded::new(&["--node", "1xA100-SXM4-40GB", "--mig"]);
    let (library, state) = node.parts();
    let machine = Store::open(&state)
        .expect("the state")
        .read()
        .expect("it reads")
        .machine
        .clone();
    let gpu = &machine.gpus[0];
    good(&node.record(&library, &[]));
    let (uuid, serial) = (gpu.uuid.to_string(), gpu.serial.to_string());
    assert!(
        node.text().contains(&uuid) && node.text().contains(&serial),
        "otherwise this proves nothing"
    );
    good(&node.record(&library, &["--anonymize"]));
    let text = node.text();
    assert!(
        !text.contains(&uuid) && !text.contains(&serial) && !text.contains(&gpu.pci.to_string())
    );
    assert!(text.contains("\"anonymous\": true") && text.contains("NVIDIA A100-SXM4-40GB"));
    good(&node.compare(&[]));
}

/// The recording that was made from a public capture. Where the fake may differ from it, and why; all else must be as on the card.
#[test]
fn a_capture_of_a_real_h100() {
    const KNOWN: [(&str, &str); 5] = [
        ("nvmlDeviceGetPersistenceMode", "a setting of that machine"),
        (
            "nvmlDeviceGetVirtualizationMode",
            "that machine is a virtual one",
        ),
        (
            "nvmlDeviceGetAddressingMode",
            "follows the kernel of that machine",
        ),
        (
            "nvmlDeviceGetVbiosVersion",
            "the catalogue shows another card's",
        ),
        (
            "nvmlDeviceGetMemoryInfo_v2",
            "`reserved` is another driver's",
        ),
    ];
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../record/recordings/h100-sxm5-80gb.capture.json");
    let output = compare(&recording, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let differences = report["differences"].as_array().expect("a list");
    let known = |d: &&serde_json::Value| KNOWN.iter().any(|(name, _)| d["function"] == *name);
    let new: Vec<_> = differences.iter().filter(|d| !known(d)).collect();
    assert!(new.is_empty(), "{new:#?}");
    assert!(report["equal"].as_u64() > Some(120), "{report:#}");
    let text = stdout(&compare(&recording, &[]));
    assert!(
        text.contains("made from a capture, 2026-08-21T08:54:01Z, driver 580.105.08\n"),
        "{text}"
    );
    assert!(
        text.contains("source     https://github.com/NVIDIA/k8s-test-infra/"),
        "{text}"
    );
}

#[test]
fn wrong_input_is_one_clear_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.json");
    let path = file.to_str().expect("UTF-8");
    let said = |args: &[&str]| {
        let output = fakegpu(User::Me, args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        stderr(&output).replace(path, "FILE")
    };
    assert!(said(&["compare", path]).starts_with("fakegpu: cannot read FILE: No such file"));
    fs::write(&file, "{\"format\": 7}").expect("written");
    assert!(said(&["compare", path]).contains("a recording of format 7, this program reads 1"));
    fs::write(&file, "not JSON").expect("written");
    assert!(said(&["compare", path]).contains("no recording of ours"));
    let none = said(&[
        "record",
        "--library",
        "/nowhere/libnvidia-ml.so.1",
        "-o",
        path,
    ]);
    assert!(
        none.contains("cannot load /nowhere/libnvidia-ml.so.1"),
        "{none}"
    );
    assert!(
        none.contains("cannot record /nowhere/libnvidia-ml.so.1"),
        "{none}"
    );
    assert!(said(&["record", "--timeout", "0"]).contains("--timeout: `0` is no time"));
}
