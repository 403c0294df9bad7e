//! Every exported function, called as its declaration in nvml.h says and then wrongly in each way that the declaration allows.
//! Not what a function answers when all is right: that is tested by topic. Whatever the arguments are, the answer is the header's error,
//! nothing is written beyond the size that the caller announced, and nothing dies.
//! Calls are made up from `data/signatures.tsv` and `data/layouts-header.tsv`, in a child process, so that a crash names its function.
#![allow(unsafe_code, reason = "C functions are called by name")]

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use gpu_model::{GpuIndex, Machine, Op, ProfileId};
use libloading::Library;
use support::Node;

type Any = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> u32;

const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const INSUFFICIENT_SIZE: u32 = 7;
const VERSION_MISMATCH: u32 = 25;

/// What comes and goes with NVML itself, and what only gives a text.
const LEFT_OUT: [&str; 5] = [
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlErrorString",
];

/// Names that kept their first layout: the struct of that name has grown since.
const OLD_LAYOUTS: [(&str, usize); 5] = [
    ("nvmlDeviceGetPciInfo", 32),
    ("nvmlDeviceGetPciInfo_v2", 36),
    ("nvmlDeviceGetAttributes", 24),
    ("nvmlComputeInstanceGetInfo", 24),
    ("nvmlEventSetWait", 24),
];

/// Functions whose array may be NULL: it asks for the number of items, or there are none to write.
const NULL_ARRAYS: [&str; 18] = [
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetEncoderSessions",
    "nvmlDeviceGetFBCSessions",
    "nvmlDeviceGetGpuInstancePossiblePlacements",
    "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetTopologyNearestGpus",
    "nvmlGpuInstanceGetComputeInstancePossiblePlacements",
    "nvmlSystemGetHicVersion",
    "nvmlSystemGetTopologyGpuSet",
];

/// Structs whose first field does not announce a struct: a bare number in GPM, and in what vGPU managers read the driver writes it.
const BARE_NUMBERS: [&str; 2] = ["nvmlGpmMetricsGet_t", "nvmlGpmSupport_t"];
const WRITTEN_BY_DRIVER: [&str; 2] = ["nvmlVgpuMetadata_t", "nvmlVgpuPgpuMetadata_t"];

/// The room for a text that the header fixes, where no argument says it.
const GSP_FIRMWARE_VERSION: usize = 64;

/// Arrays whose length no argument says: the header asks for as many as another call tells.
const LONG: [&str; 4] = [
    "nvmlGpuInstance_t*",
    "nvmlComputeInstance_t*",
    "nvmlGpuInstancePlacement_t*",
    "nvmlComputeInstancePlacement_t*",
];

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}

struct Function {
    name: &'static str,
    parameters: Vec<&'static str>,
}

fn functions() -> Vec<Function> {
    let all = rows(include_str!("../data/signatures.tsv")).map(|row| Function {
        name: row[0],
        parameters: row[1..].to_vec(),
    });
    all.filter(|function| !LEFT_OUT.contains(&function.name))
        .collect()
}

/// What is known of a struct.
#[derive(Clone, Copy)]
struct Struct {
    size: usize,
    /// What its first field announces, if that is a version.
    version: Option<u32>,
}

fn structs() -> BTreeMap<&'static str, Struct> {
    let all: Vec<_> = rows(include_str!("../data/layouts-header.tsv")).collect();
    let number = |row: &[&str]| {
        // `nvmlX_t` or `nvmlXV_t` is one of `nvmlX_v1_t`, `nvmlX_v2_t` …: the one that looks the same.
        let same = |number: &u32| {
            let stem = row[0].trim_end_matches("_t").trim_end_matches('V');
            let named = format!("{stem}_v{number}_t");
            row[0].ends_with(&format!("_v{number}_t"))
                || all
                    .iter()
                    .any(|other| other[0] == named && other[1..] == row[1..])
        };
        (1..9).rev().find(same).unwrap_or(1)
    };
    let known = |row: &Vec<&'static str>| {
        let size: usize = row[1].parse().expect("a size");
        let versioned = row.get(3).is_some_and(|field| *field == "version:0:4");
        let version = versioned && !WRITTEN_BY_DRIVER.contains(&row[0]);
        let version = version.then(|| match BARE_NUMBERS.contains(&row[0]) {
            true => 1,
            false => u32::try_from(size).expect("small") | number(row) << 24,
        });
        (row[0], Struct { size, version })
    };
    all.iter().map(known).collect()
}

/// A page that ends where memory ends: a write beyond it kills, one before its last bytes is seen.
struct Arena(*mut u8);

const PAGE: usize = 1 << 20;
/// Bytes before the room that are looked at.
const WATCHED: usize = 4096;
const CANARY: u8 = 0xa5;

impl Arena {
    fn new() -> Self {
        let (all, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: fresh anonymous memory, of which the last page is taken back.
        unsafe {
            let start = libc::mmap(core::ptr::null_mut(), 2 * PAGE, all, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(
                libc::mprotect(start.cast::<u8>().add(PAGE).cast(), PAGE, libc::PROT_NONE),
                0
            );
            Self(start.cast())
        }
    }

    /// Room for `bytes` at the very end.
    fn place(&self, bytes: &[u8]) -> usize {
        // SAFETY: within the page, as the lengths of all arguments are.
        unsafe {
            let at = self.0.add(PAGE - bytes.len());
            core::ptr::write_bytes(at.sub(WATCHED), CANARY, WATCHED);
            at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            at as usize
        }
    }

    /// Nothing was written before the last `room` bytes.
    fn is_whole(&self, room: usize) -> bool {
        // SAFETY: the page is ours and readable.
        let before =
            unsafe { core::slice::from_raw_parts(self.0.add(PAGE - room - WATCHED), WATCHED) };
        before.iter().all(|byte| *byte == CANARY)
    }
}

/// One way to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// All arguments are of their kinds.
    Right,
    /// The first field of each versioned struct.
    Version(Wrong),
    /// Handles that are none.
    Handle(usize),
    /// The handle of a MIG device where a device is wanted.
    Mig,
    /// NULL for one parameter.
    Null(usize),
    /// Texts and arrays have no room.
    NoRoom,
}

/// What a first field says that no struct has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Zero,
    /// The right size under a number that no version has.
    Number,
    /// A size that is too large by eight bytes.
    Size,
}

impl Wrong {
    fn tag(self, size: usize) -> u32 {
        let size = u32::try_from(size).expect("small");
        match self {
            Self::Zero => 0,
            Self::Number => size | 0x7f << 24,
            Self::Size => (size + 8) | (1 << 24),
        }
    }
}

/// What handles are there.
struct Handles {
    gpu: usize,
    mig: usize,
    gi: usize,
    ci: usize,
}

struct Caller {
    library: Library,
    structs: BTreeMap<&'static str, Struct>,
    arenas: Vec<Arena>,
    handles: Handles,
}

impl Caller {
    /// What a pointer parameter points to.
    fn pointee(&self, function: &str, kind: &str) -> Struct {
        let plain = |size| Struct {
            size,
            version: None,
        };
        let kind = kind.trim_start_matches("const ").trim_end_matches('*');
        if let Some((_, size)) = OLD_LAYOUTS.iter().find(|(name, _)| *name == function) {
            return plain(*size);
        }
        match kind {
            "char" => plain(96),
            "unsigned long" | "unsigned long long" | "long long" => plain(8),
            "nvmlDevice_t"
            | "nvmlGpuInstance_t"
            | "nvmlComputeInstance_t"
            | "nvmlEventSet_t"
            | "nvmlGpmSample_t"
            | "nvmlUnit_t" => plain(8),
            // What is neither a struct nor a handle is an enumeration or a number of that size.
            _ => self.structs.get(kind).copied().unwrap_or(plain(4)),
        }
    }

    fn value(&self, kind: &str, case: Case) -> usize {
        let handle = |own: usize| match case {
            Case::Handle(wrong) => wrong,
            _ => own,
        };
        match kind {
            "nvmlDevice_t" if case == Case::Mig => self.handles.mig,
            "nvmlDevice_t" => handle(self.handles.gpu),
            "nvmlGpuInstance_t" => handle(self.handles.gi),
            "nvmlComputeInstance_t" => handle(self.handles.ci),
            "nvmlEventSet_t" | "nvmlGpmSample_t" | "nvmlUnit_t" => handle(0),
            // Not 0, which no virtual GPU has: there is none all the same.
            "nvmlVgpuInstance_t" => 1,
            // Long enough for each text; the room is as long.
            "unsigned int" if case != Case::NoRoom => 96,
            _ => 0,
        }
    }

    /// Calls the function and gives its code; complains about writes that nobody announced room for.
    fn call(&self, function: &Function, case: Case) -> Result<u32, String> {
        let mut arguments = [0usize; 8];
        let mut rooms = Vec::new();
        let text = function.parameters.contains(&"char*");
        for (index, kind) in function.parameters.iter().enumerate() {
            if !kind.ends_with('*') {
                // Without a text, a number is an index, an id or a choice: 0 is one in each.
                let number = *kind == "unsigned int" && !text;
                arguments[index] = if number { 0 } else { self.value(kind, case) };
                continue;
            }
            if case == Case::Null(index) {
                continue;
            }
            let Struct { size, version } = self.pointee(function.name, kind);
            let size = match (*kind, case) {
                ("char*", _) if function.name == "nvmlDeviceGetGspFirmwareVersion" => {
                    GSP_FIRMWARE_VERSION
                }
                ("char*", Case::NoRoom) => 0,
                (kind, _) if LONG.contains(&kind) => size * 64,
                _ => size,
            };
            let mut bytes = vec![0; size];
            if let Some(version) = version {
                let tag = match case {
                    Case::Version(wrong) => wrong.tag(size),
                    _ => version,
                };
                bytes[..4].copy_from_slice(&tag.to_le_bytes());
            }
            if *kind == "unsigned int*" && case != Case::NoRoom {
                // A count, if it is one: room for one item, which is what arrays have here.
                bytes.copy_from_slice(&1u32.to_le_bytes());
            }
            arguments[index] = self.arenas[index].place(&bytes);
            rooms.push((index, size));
        }
        println!("{} {case:?}", function.name);
        let [a, b, c, d, e, f, g, h] = arguments;
        // SAFETY: each argument is of the kind that the declaration has in its place; that the function keeps to it is what is tested.
        let code = unsafe {
            self.library
                .get::<Any>(function.name.as_bytes())
                .expect("exported")(a, b, c, d, e, f, g, h)
        };
        if let Some((index, _)) = rooms
            .iter()
            .find(|(index, room)| !self.arenas[*index].is_whole(*room))
        {
            return Err(format!(
                "{} {case:?}: wrote before parameter {index}",
                function.name
            ));
        }
        Ok(code)
    }
}

fn machine() -> Machine {
    let options = gpu_model::Options {
        mig: true,
        ..Default::default()
    };
    let mut machine = support::machine("1xA100-SXM4-40GB", &options);
    let (gpu, now) = (GpuIndex(0), gpu_model::Now::from_secs(1));
    let gi = Op::CreateGpuInstance {
        gpu,
        profile: ProfileId(19),
        placement: None,
    };
    machine = machine.apply(gi, now).expect("room").0;
    let gi = machine.gpus[0].instances[0].id;
    let ci = Op::CreateComputeInstance {
        gpu,
        gi,
        profile: ProfileId(0),
        placement: None,
    };
    machine.apply(ci, now).expect("room").0
}

#[test]
#[ignore = "the child of the others"]
fn as_a_child() {
    let node = Node::new("1xA100-SXM4-40GB");
    let machine = machine();
    let reset = || {
        let set = node
            .store()
            .update(|_, _| Ok::<_, std::convert::Infallible>((machine.clone(), ())));
        set.expect("a writable state");
    };
    reset();
    support::see_everything();
    // SAFETY: the library's constructors do nothing.
    let library = unsafe { Library::new(node.library()) }.expect("the library loads");
    let ask = |name: &str, first: usize, second: usize| {
        let mut out = 0usize;
        let out_at = &raw mut out as usize;
        let arguments = match name {
            "nvmlDeviceGetHandleByIndex_v2" => [first, out_at, 0],
            _ => [first, second, out_at],
        };
        // SAFETY: (handle or index, index, place for a handle) as in nvml.h.
        let code = unsafe {
            library.get::<Any>(name.as_bytes()).expect("exported")(
                arguments[0],
                arguments[1],
                arguments[2],
                0,
                0,
                0,
                0,
                0,
            )
        };
        assert_eq!(code, 0, "{name}");
        out
    };
    // SAFETY: nvmlReturn_t f(void).
    unsafe {
        assert_eq!(
            library.get::<Any>(b"nvmlInit_v2").expect("exported")(0, 0, 0, 0, 0, 0, 0, 0),
            0
        )
    };
    let gpu = ask("nvmlDeviceGetHandleByIndex_v2", 0, 0);
    let mig = ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 0);
    let gi_id = machine.gpus[0].instances[0].id.0 as usize;
    let gi = ask("nvmlDeviceGetGpuInstanceById", gpu, gi_id);
    let ci = ask("nvmlGpuInstanceGetComputeInstanceById", gi, 0);
    let caller = Caller {
        library,
        structs: structs(),
        arenas: (0..8).map(|_| Arena::new()).collect(),
        handles: Handles { gpu, mig, gi, ci },
    };

    let mut wrong = Vec::new();
    let mut cases = 0;
    for function in functions() {
        let versioned = function.parameters.iter().any(|kind| {
            kind.ends_with('*') && caller.pointee(function.name, kind).version.is_some()
        });
        let mut tries: Vec<(Case, Option<u32>)> =
            vec![(Case::Right, None), (Case::Mig, None), (Case::NoRoom, None)];
        let handle = function.parameters.first().is_some_and(|kind| {
            [
                "nvmlDevice_t",
                "nvmlGpuInstance_t",
                "nvmlComputeInstance_t",
                "nvmlEventSet_t",
                "nvmlGpmSample_t",
                "nvmlUnit_t",
            ]
            .contains(kind)
        });
        if handle {
            for bits in [0, 0xdead_beef, usize::MAX, gpu ^ 0xff, gi ^ 0xff] {
                tries.push((Case::Handle(bits), Some(INVALID_ARGUMENT)));
            }
        }
        if versioned {
            for wrong in [Wrong::Zero, Wrong::Number, Wrong::Size] {
                tries.push((Case::Version(wrong), Some(VERSION_MISMATCH)));
            }
        }
        for (index, kind) in function.parameters.iter().enumerate() {
            if kind.ends_with('*') {
                tries.push((Case::Null(index), None));
            }
        }
        for (case, expected) in tries {
            reset();
            cases += 1;
            match caller.call(&function, case) {
                Err(complaint) => wrong.push(complaint),
                Ok(code) if code > 28 && code != 999 => {
                    wrong.push(format!("{} {case:?}: {code} is no code", function.name))
                }
                Ok(code) if expected.is_some_and(|expected| expected != code) => wrong.push(
                    format!("{} {case:?}: {code}, not {expected:?}", function.name),
                ),
                Ok(VERSION_MISMATCH) if !matches!(case, Case::Version(_)) => {
                    wrong.push(format!("{} {case:?}: the version is right", function.name))
                }
                Ok(0) if matches!(case, Case::Null(_)) && !NULL_ARRAYS.contains(&function.name) => {
                    wrong.push(format!("{} {case:?}: success", function.name))
                }
                Ok(0)
                    if case == Case::NoRoom
                        && function.parameters.contains(&"char*")
                        && function.name != "nvmlDeviceGetGspFirmwareVersion" =>
                {
                    wrong.push(format!(
                        "{} {case:?}: success, not {INSUFFICIENT_SIZE}",
                        function.name
                    ));
                }
                Ok(code @ (999 | 1)) => wrong.push(format!("{} {case:?}: {code}", function.name)),
                Ok(_) => {}
            }
        }
    }
    println!("{cases} cases");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// How many models answer something else than NOT_SUPPORTED, with MIG mode on or off: what `fakegpu coverage` shows.
#[test]
fn models_table_is_in_step() {
    let catalog = gpu_model::Catalog::builtin();
    let cards: Vec<_> = catalog
        .models()
        .iter()
        .map(|model| format!("1x{}", model.name()))
        .collect();
    support::see_everything();
    let mut answering: BTreeMap<&str, std::collections::BTreeSet<usize>> = BTreeMap::new();
    for mig in [false, true] {
        let options = gpu_model::Options {
            mig,
            ..Default::default()
        };
        let node = Node::with(&cards.join(","), &options);
        // SAFETY: the library's constructors do nothing.
        let library = unsafe { Library::new(node.library()) }.expect("the library loads");
        // SAFETY: nvmlReturn_t f(void).
        unsafe {
            assert_eq!(
                library.get::<Any>(b"nvmlInit_v2").expect("exported")(0, 0, 0, 0, 0, 0, 0, 0),
                0
            )
        };
        let mut caller = Caller {
            library,
            structs: structs(),
            arenas: (0..8).map(|_| Arena::new()).collect(),
            handles: Handles {
                gpu: 0,
                mig: 0,
                gi: 0,
                ci: 0,
            },
        };
        for index in 0..cards.len() {
            let mut gpu = 0usize;
            // SAFETY: (index, place for a handle) as in nvml.h.
            let code = unsafe {
                caller
                    .library
                    .get::<Any>(b"nvmlDeviceGetHandleByIndex_v2")
                    .expect("exported")(
                    index, &raw mut gpu as usize, 0, 0, 0, 0, 0, 0
                )
            };
            assert_eq!(code, 0);
            caller.handles.gpu = gpu;
            for function in functions().iter().filter(|function| {
                function.parameters.first() == Some(&"nvmlDevice_t")
                    && function.name.contains("Get")
            }) {
                let code = caller
                    .call(function, Case::Right)
                    .expect("nothing written before its room");
                let models = answering.entry(function.name).or_default();
                if code != NOT_SUPPORTED {
                    models.insert(index);
                }
            }
        }
    }
    let rows = answering
        .iter()
        .map(|(name, models)| format!("{name}\t{}/{}\n", models.len(), cards.len()));
    let table = format!(
        "# Written by a test of nvml-abi; do not edit. Function, and on how many models of the catalogue it answers anything but NOT_SUPPORTED.\n{}",
        rows.collect::<String>()
    );
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models.tsv");
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        std::fs::write(&path, &table).expect("the table is written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == table,
        "data/models.tsv is out of step: run the test once with UPDATE_COVERAGE=1"
    );
}

#[test]
fn wrong_arguments_are_the_headers_errors_and_touch_nothing() {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    let child = child.args([
        "--exact",
        "as_a_child",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    let output = child.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let last = said
        .lines()
        .rev()
        .find(|line| line.starts_with("nvml"))
        .unwrap_or("nothing");
    assert!(
        output.status.success(),
        "{}; the last call was {last}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let cases = said
        .lines()
        .find_map(|line| line.strip_suffix(" cases")?.parse::<usize>().ok());
    assert!(
        cases.is_some_and(|cases| cases > 3000),
        "{cases:?} cases: {said}"
    );
}
