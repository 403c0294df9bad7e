//! What holds for all functions alike: not before init, and never a crash or a success over NULL.
#![allow(unsafe_code, reason = "C functions are called by name")]

mod support;

use libloading::Library;
use support::Node;

/// Any function of the library. It gets more arguments than it takes, which the C ABIs of 64-bit Linux allow.
type Any = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> u32;

/// What comes and goes with NVML itself.
const LIFE: [&str; 4] = [
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
];

fn functions() -> impl Iterator<Item = &'static str> {
    let header = include_str!("../data/go-nvml.txt").lines();
    header
        .filter(|line| !line.starts_with('#') && !LIFE.contains(line) && *line != "nvmlErrorString")
}

fn load(node: &Node) -> Library {
    support::see_everything();
    // SAFETY: the library's constructors do nothing.
    unsafe { Library::new(node.library()) }.expect("the library loads")
}

fn call(library: &Library, name: &str, first: usize) -> u32 {
    // SAFETY: every name of the list is a function that returns a number. Its arguments are a handle or 0: NULL where it takes
    // pointers, which is what is tested.
    unsafe { library.get::<Any>(name.as_bytes()).expect("exported")(first, 0, 0, 0, 0, 0) }
}

#[test]
fn before_init_each_says_uninitialized() {
    let node = Node::new("1xA100-SXM4-40GB");
    let library = load(&node);
    let wrong: Vec<_> = functions()
        .map(|name| (name, call(&library, name, 0)))
        .filter(|(_, code)| *code != 1)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(functions().count() > 400);
}

#[test]
fn null_is_never_a_success() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let library = load(&node);
    assert_eq!(call(&library, "nvmlInit_v2", 0), 0);
    let mut device = 0usize;
    // SAFETY: (unsigned index, nvmlDevice_t *) as in nvml.h.
    let by_index = unsafe {
        library
            .get::<unsafe extern "C" fn(u32, *mut usize) -> u32>(b"nvmlDeviceGetHandleByIndex_v2")
    }
    .expect("exported");
    // SAFETY: the pointer is to a live place for a handle.
    assert_eq!(unsafe { by_index(0, &mut device) }, 0);
    let wrong = |functions: &mut dyn Iterator<Item = &'static str>, first: usize| -> Vec<_> {
        let codes = functions.map(|name| (name, call(&library, name, first)));
        codes.filter(|(_, code)| !matches!(code, 2 | 3)).collect()
    };
    assert_eq!(wrong(&mut functions(), 0), []);
    // Those that take a device first, and do not rightly do something with a device and a zero.
    let of_a_device = |name: &&str| {
        name.starts_with("nvmlDevice")
            && ![
                "GetCount",
                "GetHandleBy",
                "SetPersistenceMode",
                "SetComputeMode",
                "SetEccMode",
                "SetAccountingMode",
                "ClearAccountingPids",
                "ClearEccErrorCounts",
                "LockedClocks",
                "ResetApplicationsClocks",
                "ResetNvLinkErrorCounters",
                "CpuAffinity",
                "ValidateInforom",
                // These take a place on the bus.
                "DrainState",
                "RemoveGpu",
                "DiscoverGpus",
            ]
            .iter()
            .any(|other| name.contains(other))
    };
    assert!(functions().filter(of_a_device).count() > 250);
    assert_eq!(wrong(&mut functions().filter(of_a_device), device), []);
}
