//! Init, enumeration and identity, through the public binding.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use nvml_wrapper_sys::bindings::*;
use support::{Node, ask, call, text};

const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NOT_FOUND: u32 = 6;
const INSUFFICIENT_SIZE: u32 = 7;
const DRIVER_NOT_LOADED: u32 = 9;
const LIB_RM_VERSION_MISMATCH: u32 = 18;
const ARGUMENT_VERSION_MISMATCH: u32 = 25;

fn c(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).expect("no NUL")
}

#[test]
fn inits_are_counted() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.load();
    assert_eq!(
        ask!(nvml, nvmlDeviceGetCount_v2() -> u32),
        Err(UNINITIALIZED)
    );
    assert_eq!(call!(nvml, nvmlShutdown()), UNINITIALIZED);
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
    assert_eq!(call!(nvml, nvmlInitWithFlags(1)), 0);
    assert_eq!(call!(nvml, nvmlInitWithFlags(8)), INVALID_ARGUMENT);
    assert_eq!(call!(nvml, nvmlShutdown()), 0);
    assert_eq!(ask!(nvml, nvmlDeviceGetCount_v2() -> u32), Ok(1));
    assert_eq!(call!(nvml, nvmlShutdown()), 0);
    assert_eq!(
        ask!(nvml, nvmlDeviceGetCount_v2() -> u32),
        Err(UNINITIALIZED)
    );
    assert_eq!(call!(nvml, nvmlShutdown()), UNINITIALIZED);
}

#[test]
fn a_handle_outlives_shutdown_and_unloading() {
    let node = Node::new("2xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(1);
    let uuid = nvml.uuid(device).expect("a UUID");
    assert_eq!(call!(nvml, nvmlShutdown()), 0);
    drop(nvml);
    let nvml = node.init();
    assert_eq!(nvml.uuid(device), Ok(uuid));
}

#[test]
fn without_a_usable_state_init_says_why() {
    let node = Node::new("1xA100-SXM4-40GB");
    let state = node.store().path().to_owned();
    let nvml = node.load();
    let bytes = std::fs::read(&state).expect("the state");
    let mut other_format = bytes.clone();
    other_format[8] = 99;
    for (content, code) in [
        (Some(&b"not a state"[..]), 999),
        (Some(&bytes[..100]), 999),
        (Some(&other_format), LIB_RM_VERSION_MISMATCH),
        (None, DRIVER_NOT_LOADED),
    ] {
        std::fs::remove_file(&state).expect("removed");
        if let Some(content) = content {
            std::fs::write(&state, content).expect("written");
        }
        assert_eq!(call!(nvml, nvmlInit_v2()), code);
        assert_eq!(
            ask!(nvml, nvmlDeviceGetCount_v2() -> u32),
            Err(UNINITIALIZED)
        );
        if content.is_none() {
            std::fs::write(&state, &bytes).expect("written");
        }
    }
    assert_eq!(call!(nvml, nvmlInit_v2()), 0);
}

#[test]
fn versions() {
    let nvml = Node::new("1xL4").init();
    assert_eq!(
        text(|out, n| call!(nvml, nvmlSystemGetDriverVersion(out, n))).as_deref(),
        Ok("580.95.05")
    );
    assert_eq!(
        text(|out, n| call!(nvml, nvmlSystemGetNVMLVersion(out, n))).as_deref(),
        Ok("13.580.95.05")
    );
    assert_eq!(
        text(|out, _| call!(nvml, nvmlSystemGetDriverVersion(out, 9))),
        Err(INSUFFICIENT_SIZE)
    );
    assert_eq!(
        text(|out, _| call!(nvml, nvmlSystemGetDriverVersion(out, 10))).as_deref(),
        Ok("580.95.05")
    );
    assert_eq!(
        ask!(nvml, nvmlSystemGetCudaDriverVersion_v2() -> i32),
        Ok(13_000)
    );
}

#[test]
fn gpus_are_found_by_index_uuid_serial_and_pci_address() {
    let node = Node::new("2xA100-SXM4-40GB,1xL4");
    let nvml = node.init();
    assert_eq!(ask!(nvml, nvmlDeviceGetCount_v2() -> u32), Ok(3));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetHandleByIndex_v2(3) -> nvmlDevice_t),
        Err(INVALID_ARGUMENT)
    );
    for (index, gpu) in node.machine().gpus.iter().enumerate() {
        let index = index as u32;
        let device = nvml.device(index);
        let uuid = nvml.uuid(device).expect("a UUID");
        assert_eq!(uuid, gpu.uuid.to_string());
        assert_eq!(ask!(nvml, nvmlDeviceGetIndex(device) -> u32), Ok(index));
        assert_eq!(
            ask!(nvml, nvmlDeviceGetMinorNumber(device) -> u32),
            Ok(gpu.minor.0)
        );
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleByUUID(c(&uuid).as_ptr()) -> nvmlDevice_t),
            Ok(device)
        );
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleBySerial(c(&gpu.serial).as_ptr()) -> nvmlDevice_t),
            Ok(device)
        );
        for form in [
            gpu.pci.to_string(),
            format!("{:#}", gpu.pci),
            format!("{:x}:{:x}:0", gpu.pci.domain, gpu.pci.bus),
        ] {
            assert_eq!(
                ask!(nvml, nvmlDeviceGetHandleByPciBusId_v2(c(&form).as_ptr()) -> nvmlDevice_t),
                Ok(device),
                "{form}"
            );
        }
        let mut id = nvmlUUID_t {
            version: 0x0100_0034,
            type_: 2,
            value: nvmlUUIDValue_t {
                bytes: *gpu.uuid.bytes(),
            },
        };
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleByUUIDV(&id) -> nvmlDevice_t),
            Ok(device)
        );
        id.version = 1;
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleByUUIDV(&id) -> nvmlDevice_t),
            Err(ARGUMENT_VERSION_MISMATCH)
        );
    }
    let find = |uuid: &str| ask!(nvml, nvmlDeviceGetHandleByUUID(c(uuid).as_ptr()) -> nvmlDevice_t);
    assert_eq!(
        find("GPU-00000000-0000-0000-0000-000000000000"),
        Err(NOT_FOUND)
    );
    assert_eq!(
        find("MIG-00000000-0000-0000-0000-000000000000"),
        Err(NOT_FOUND)
    );
    assert_eq!(find("no UUID"), Err(INVALID_ARGUMENT));
    let at =
        |bus: &str| ask!(nvml, nvmlDeviceGetHandleByPciBusId_v2(c(bus).as_ptr()) -> nvmlDevice_t);
    assert_eq!(at("00000000:FE:00.0"), Err(NOT_FOUND));
    assert_eq!(at("nowhere"), Err(INVALID_ARGUMENT));
}

#[test]
fn an_a100_looks_like_one() {
    let nvml = Node::new("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    assert_eq!(nvml.name(device).as_deref(), Ok("NVIDIA A100-SXM4-40GB"));
    assert_eq!(ask!(nvml, nvmlDeviceGetArchitecture(device) -> u32), Ok(7));
    assert_eq!(ask!(nvml, nvmlDeviceGetBrand(device) -> u32), Ok(14));
    let (mut major, mut minor) = (0, 0);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCudaComputeCapability(device, &mut major, &mut minor)
        ),
        0
    );
    assert_eq!((major, minor), (8, 0));
    let pci = ask!(nvml, nvmlDeviceGetPciInfo_v3(device) -> nvmlPciInfo_t).expect("PCI info");
    assert_eq!(pci.pciDeviceId, 0x20b0_10de);
    let memory = ask!(nvml, nvmlDeviceGetMemoryInfo(device) -> nvmlMemory_t).expect("memory");
    assert_eq!(memory.total, 40_960 << 20);
    assert_eq!(memory.total, memory.free + memory.used);
    assert_eq!(
        ask!(nvml, nvmlDeviceGetVirtualizationMode(device) -> u32),
        Ok(0)
    );
    let mut mode = nvmlDeviceAddressingMode_t {
        version: 0x0100_0008,
        value: 9,
    };
    assert_eq!(
        call!(nvml, nvmlDeviceGetAddressingMode(device, &mut mode)),
        NOT_SUPPORTED
    );
    assert_eq!(
        text(|out, n| call!(nvml, nvmlDeviceGetName(device, out, n.min(5)))),
        Err(INSUFFICIENT_SIZE)
    );
}

#[test]
fn no_more_is_written_than_the_caller_announced() {
    let nvml = Node::new("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    // SAFETY: numbers and characters, for which ones are valid.
    let mut pci: nvmlPciInfo_t =
        unsafe { core::mem::transmute([0xffu8; size_of::<nvmlPciInfo_t>()]) };
    assert_eq!(call!(nvml, nvmlDeviceGetPciInfo(device, &mut pci)), 0);
    assert_eq!(pci.pciDeviceId, 0x20b0_10de);
    assert_eq!(
        (pci.pciSubSystemId, pci.busId[0]),
        (u32::MAX, -1),
        "version 1 ends before the subsystem"
    );
    assert_eq!(call!(nvml, nvmlDeviceGetPciInfo_v2(device, &mut pci)), 0);
    assert_ne!(pci.pciSubSystemId, u32::MAX);
    assert_eq!(pci.busId[0], -1, "version 2 ends before the long bus id");

    // A version that is not ours: nothing is written at all.
    for version in [0, 2, 0x0200_0020, 0x0300_0028] {
        let mut memory = nvmlMemory_v2_t {
            version,
            total: 7,
            reserved: 7,
            free: 7,
            used: 7,
        };
        assert_eq!(
            call!(nvml, nvmlDeviceGetMemoryInfo_v2(device, &mut memory)),
            ARGUMENT_VERSION_MISMATCH
        );
        assert_eq!((memory.version, memory.total, memory.used), (version, 7, 7));
    }
    let mut memory = nvmlMemory_v2_t {
        version: 0x0200_0028,
        total: 7,
        reserved: 7,
        free: 7,
        used: 7,
    };
    assert_eq!(
        call!(nvml, nvmlDeviceGetMemoryInfo_v2(device, &mut memory)),
        0
    );
    assert_eq!(memory.version, 0x0200_0028);
    assert_eq!(memory.total, memory.reserved + memory.free + memory.used);
}

#[test]
fn bad_handles_are_invalid() {
    let nvml = Node::new("1xA100-SXM4-40GB").init();
    let real = nvml.device(0) as usize;
    let here = 0u64;
    for bad in [
        0,
        1,
        real + 1,
        real ^ (1 << 40),
        real ^ (1 << 48),
        &raw const here as usize,
        usize::MAX,
    ] {
        let device = bad as nvmlDevice_t;
        assert_eq!(
            ask!(nvml, nvmlDeviceGetIndex(device) -> u32),
            Err(INVALID_ARGUMENT),
            "{bad:#x}"
        );
        assert_eq!(nvml.uuid(device), Err(INVALID_ARGUMENT), "{bad:#x}");
        assert_eq!(
            ask!(nvml, nvmlDeviceGetTemperature(device, 0) -> u32),
            Err(INVALID_ARGUMENT),
            "{bad:#x}"
        );
    }
}
