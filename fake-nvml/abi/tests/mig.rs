//! The MIG lifecycle, through the public binding.
#![allow(unsafe_code, reason = "the binding's functions are C functions")]

mod support;

use std::collections::BTreeSet;
use std::ptr::null_mut;

use nvml_wrapper_sys::bindings::*;
use support::{Node, Nvml, ask, call};

const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NO_PERMISSION: u32 = 4;
const NOT_FOUND: u32 = 6;
const IN_USE: u32 = 19;
const INSUFFICIENT_RESOURCES: u32 = 23;
const ARGUMENT_VERSION_MISMATCH: u32 = 25;

fn profile(
    nvml: &Nvml,
    device: nvmlDevice_t,
    index: u32,
) -> Result<nvmlGpuInstanceProfileInfo_t, u32> {
    ask!(nvml, nvmlDeviceGetGpuInstanceProfileInfo(device, index) -> nvmlGpuInstanceProfileInfo_t)
}

fn create_gi(nvml: &Nvml, device: nvmlDevice_t, profile: u32) -> Result<nvmlGpuInstance_t, u32> {
    ask!(nvml, nvmlDeviceCreateGpuInstance(device, profile) -> nvmlGpuInstance_t)
}

fn create_ci(
    nvml: &Nvml,
    gi: nvmlGpuInstance_t,
    profile: u32,
) -> Result<nvmlComputeInstance_t, u32> {
    ask!(nvml, nvmlGpuInstanceCreateComputeInstance(gi, profile) -> nvmlComputeInstance_t)
}

fn gi_info(nvml: &Nvml, gi: nvmlGpuInstance_t) -> Result<nvmlGpuInstanceInfo_t, u32> {
    ask!(nvml, nvmlGpuInstanceGetInfo(gi) -> nvmlGpuInstanceInfo_t)
}

fn ci_info(nvml: &Nvml, ci: nvmlComputeInstance_t) -> Result<nvmlComputeInstanceInfo_t, u32> {
    ask!(nvml, nvmlComputeInstanceGetInfo_v2(ci) -> nvmlComputeInstanceInfo_t)
}

fn mode(nvml: &Nvml, device: nvmlDevice_t) -> Result<(u32, u32), u32> {
    let (mut current, mut pending) = (9, 9);
    match call!(
        nvml,
        nvmlDeviceGetMigMode(device, &mut current, &mut pending)
    ) {
        0 => Ok((current, pending)),
        code => Err(code),
    }
}

#[test]
fn profiles_are_enumerated_as_clients_do_it() {
    for cards in ["1xA100-SXM4-40GB", "1xA100-SXM4-80GB", "1xH100-SXM5-80GB"] {
        let nvml = Node::new(cards).init();
        let device = nvml.device(0);
        let mut found = 0;
        // MIG mode is off: profiles are answered all the same. Beyond the enumeration is INVALID_ARGUMENT, a hole NOT_SUPPORTED.
        for index in 0..18 {
            match profile(&nvml, device, index) {
                Ok(info) => {
                    found += 1;
                    assert!(
                        info.instanceCount >= 1 && info.memorySizeMB > 0,
                        "{cards} {index}"
                    );
                    let mut count = 99;
                    assert_eq!(
                        call!(
                            nvml,
                            nvmlDeviceGetGpuInstancePossiblePlacements_v2(
                                device,
                                info.id,
                                null_mut(),
                                &mut count
                            )
                        ),
                        0
                    );
                    let mut places = vec![
                        nvmlGpuInstancePlacement_t {
                            start: 99,
                            size: 99
                        };
                        count as usize + 1
                    ];
                    assert_eq!(
                        call!(
                            nvml,
                            nvmlDeviceGetGpuInstancePossiblePlacements_v2(
                                device,
                                info.id,
                                places.as_mut_ptr(),
                                &mut count
                            )
                        ),
                        0
                    );
                    assert_eq!(
                        places.pop().map(|place| place.start),
                        Some(99),
                        "nothing behind the count"
                    );
                    assert!(
                        places.iter().all(|place| place.start + place.size <= 8),
                        "{cards} {index}"
                    );
                    assert_eq!(places.len() as u32, count);
                }
                Err(code) => assert_eq!(code, NOT_SUPPORTED, "{cards} {index}"),
            }
        }
        assert!(found >= 6, "{cards}: {found} profiles");
        assert_eq!(profile(&nvml, device, 18).map(drop), Err(INVALID_ARGUMENT));
        assert_eq!(
            profile(&nvml, device, 17).map(drop),
            Err(NOT_SUPPORTED),
            "the driver dies of a 3_SLICE_GFX"
        );
    }
}

#[test]
fn a_profile_in_all_versions() {
    let nvml = Node::new("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    let v1 = profile(&nvml, device, 0).expect("1g.5gb");
    assert_eq!(
        (
            v1.id,
            v1.sliceCount,
            v1.instanceCount,
            v1.multiprocessorCount,
            v1.memorySizeMB
        ),
        (19, 1, 7, 14, 4864)
    );
    // SAFETY: numbers and characters.
    let mut v2: nvmlGpuInstanceProfileInfo_v2_t = unsafe { core::mem::zeroed() };
    v2.version = 0x0200_0098;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, &mut v2)
        ),
        0
    );
    assert_eq!(
        (v2.id, v2.memorySizeMB, v2.version),
        (19, 4864, 0x0200_0098)
    );
    // SAFETY: as above.
    let mut v3: nvmlGpuInstanceProfileInfo_v3_t = unsafe { core::mem::zeroed() };
    v3.version = size_of::<nvmlGpuInstanceProfileInfo_v3_t>() as u32 | 3 << 24;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, (&raw mut v3).cast())
        ),
        0
    );
    assert_eq!((v3.id, v3.memorySizeMB, v3.capabilities), (19, 4864, 0));
    assert_eq!(v3.name.map(|c| c as u8)[..11], *b"MIG 1g.5gb\0");
    v2.version = 0x0400_0098;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, &mut v2)
        ),
        ARGUMENT_VERSION_MISMATCH
    );
}

#[test]
fn a_card_without_mig() {
    let nvml = Node::mig("1xL4").init();
    let device = nvml.device(0);
    assert_eq!(mode(&nvml, device), Err(NOT_SUPPORTED));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMaxMigDeviceCount(device) -> u32),
        Ok(0)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceSetMigMode(device, 1) -> u32),
        Err(NOT_SUPPORTED)
    );
    for index in 0..18 {
        assert_eq!(profile(&nvml, device, index).map(drop), Err(NOT_SUPPORTED));
    }
    assert_eq!(create_gi(&nvml, device, 19), Err(NOT_SUPPORTED));
    assert_eq!(
        ask!(nvml, nvmlDeviceIsMigDeviceHandle(device) -> u32),
        Ok(0)
    );
}

#[test]
fn mig_mode_off() {
    let nvml = Node::new("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    assert_eq!(mode(&nvml, device), Ok((0, 0)));
    assert_eq!(create_gi(&nvml, device, 19), Err(NOT_SUPPORTED));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetGpuInstanceById(device, 0) -> nvmlGpuInstance_t),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetGpuInstanceRemainingCapacity(device, 19) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMaxMigDeviceCount(device) -> u32),
        Ok(0)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, 0) -> nvmlDevice_t),
        Err(NOT_FOUND)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceSetMigMode(device, 2) -> u32),
        Err(INVALID_ARGUMENT)
    );
}

#[test]
fn seven_small_ones_fill_an_a100() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let nvml = node.init();
    let device = nvml.device(0);
    assert_eq!(mode(&nvml, device), Ok((1, 1)));
    let max = ask!(nvml, nvmlDeviceGetMaxMigDeviceCount(device) -> u32).expect("a count");
    assert_eq!(max, 7);
    let small = profile(&nvml, device, 0).expect("1g.5gb");
    let mut uuids = BTreeSet::new();
    for left in (0..7).rev() {
        let gi = create_gi(&nvml, device, small.id).expect("a GPU instance");
        let ci = create_ci(&nvml, gi, 0).expect("a compute instance");
        let info = ci_info(&nvml, ci).expect("what it is");
        assert_eq!(info.gpuInstance, gi);
        assert_eq!((info.placement.start, info.placement.size), (0, 1));
        uuids.insert(nvml.uuid(info.device).expect("a UUID at once"));
        assert_eq!(
            ask!(nvml, nvmlDeviceGetGpuInstanceRemainingCapacity(device, small.id) -> u32),
            Ok(left)
        );
    }
    assert_eq!(
        create_gi(&nvml, device, small.id),
        Err(INSUFFICIENT_RESOURCES)
    );
    assert_eq!(uuids.len(), 7);

    let mut listed = BTreeSet::new();
    let mut last = None;
    for index in 0..max {
        let mig = ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, index) -> nvmlDevice_t)
            .expect("a MIG device");
        assert_eq!(ask!(nvml, nvmlDeviceIsMigDeviceHandle(mig) -> u32), Ok(1));
        assert_eq!(ask!(nvml, nvmlDeviceGetIndex(mig) -> u32), Ok(index));
        assert_eq!(
            ask!(nvml, nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig) -> nvmlDevice_t),
            Ok(device)
        );
        assert_eq!(
            nvml.name(mig).as_deref(),
            Ok("NVIDIA A100-SXM4-40GB MIG 1g.5gb")
        );
        assert_eq!(
            ask!(nvml, nvmlDeviceGetMemoryInfo(mig) -> nvmlMemory_t).map(|memory| memory.total),
            Ok(4864 << 20)
        );
        let has = ask!(nvml, nvmlDeviceGetAttributes_v2(mig) -> nvmlDeviceAttributes_t)
            .expect("attributes");
        assert_eq!(
            (
                has.gpuInstanceSliceCount,
                has.computeInstanceSliceCount,
                has.memorySizeMB
            ),
            (1, 1, 4864)
        );
        let gi = ask!(nvml, nvmlDeviceGetGpuInstanceId(mig) -> u32).expect("an id");
        assert!(last < Some(gi), "ascending ids");
        last = Some(gi);
        assert_eq!(
            ask!(nvml, nvmlDeviceGetComputeInstanceId(mig) -> u32),
            Ok(0)
        );
        let uuid = nvml.uuid(mig).expect("a UUID");
        let text = std::ffi::CString::new(uuid.clone()).expect("no NUL");
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleByUUID(text.as_ptr()) -> nvmlDevice_t),
            Ok(mig)
        );
        let old =
            std::ffi::CString::new(format!("MIG-{}/{gi}/0", nvml.uuid(device).expect("a UUID")))
                .expect("no NUL");
        assert_eq!(
            ask!(nvml, nvmlDeviceGetHandleByUUID(old.as_ptr()) -> nvmlDevice_t),
            Ok(mig)
        );
        listed.insert(uuid);
    }
    assert_eq!(listed, uuids);
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, max) -> nvmlDevice_t),
        Err(INVALID_ARGUMENT)
    );

    let mut count = 0;
    let mut all: Vec<nvmlGpuInstance_t> = vec![null_mut(); small.instanceCount as usize];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetGpuInstances(device, small.id, all.as_mut_ptr(), &mut count)
        ),
        0
    );
    assert_eq!(count, 7);
}

#[test]
fn what_only_a_whole_card_has_a_mig_device_does_not() {
    let nvml = Node::mig("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    let gi = create_gi(&nvml, device, 19).expect("a GPU instance");
    let mig = ci_info(&nvml, create_ci(&nvml, gi, 0).expect("a compute instance"))
        .expect("what it is")
        .device;
    assert_eq!(
        ask!(nvml, nvmlDeviceGetTemperature(mig, 0) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetUtilizationRates(mig) -> nvmlUtilization_t).map(drop),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetUtilizationRates(device) -> nvmlUtilization_t).map(drop),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMinorNumber(mig) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMaxMigDeviceCount(mig) -> u32),
        Err(INVALID_ARGUMENT)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetGpuInstanceId(device) -> u32),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetAttributes_v2(device) -> nvmlDeviceAttributes_t).map(drop),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device) -> nvmlDevice_t),
        Err(INVALID_ARGUMENT)
    );
    assert_eq!(ask!(nvml, nvmlDeviceGetArchitecture(mig) -> u32), Ok(7));
}

#[test]
fn handles_die_with_what_they_name() {
    let nvml = Node::mig("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    let gi = create_gi(&nvml, device, 19).expect("a GPU instance");
    let id = gi_info(&nvml, gi).expect("what it is").id;
    let ci = create_ci(&nvml, gi, 0).expect("a compute instance");
    let mig = ci_info(&nvml, ci).expect("what it is").device;

    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), IN_USE);
    assert_eq!(call!(nvml, nvmlComputeInstanceDestroy(ci)), 0);
    assert_eq!(
        call!(nvml, nvmlComputeInstanceDestroy(ci)),
        INVALID_ARGUMENT
    );
    assert_eq!(ci_info(&nvml, ci).map(drop), Err(INVALID_ARGUMENT));
    assert_eq!(nvml.uuid(mig), Err(INVALID_ARGUMENT));
    assert_eq!(
        ask!(nvml, nvmlGpuInstanceGetComputeInstanceById(gi, 0) -> nvmlComputeInstance_t),
        Err(NOT_FOUND)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(device, 0) -> nvmlDevice_t),
        Err(NOT_FOUND),
        "a GPU instance alone is no MIG device"
    );

    let again = create_ci(&nvml, gi, 0).expect("a compute instance anew");
    assert_ne!(again, ci, "the same id, another instance");
    assert_eq!(nvml.uuid(mig), Err(INVALID_ARGUMENT));
    assert_eq!(call!(nvml, nvmlComputeInstanceDestroy(again)), 0);
    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), 0);
    assert_eq!(call!(nvml, nvmlGpuInstanceDestroy(gi)), INVALID_ARGUMENT);
    assert_eq!(gi_info(&nvml, gi).map(drop), Err(INVALID_ARGUMENT));
    assert_eq!(
        ask!(nvml, nvmlDeviceGetGpuInstanceById(device, id) -> nvmlGpuInstance_t),
        Err(NOT_FOUND)
    );
    let gi_again = create_gi(&nvml, device, 19).expect("a GPU instance anew");
    assert_eq!(gi_info(&nvml, gi_again).map(|info| info.id), Ok(id));
    assert_eq!(
        gi_info(&nvml, gi).map(drop),
        Err(INVALID_ARGUMENT),
        "the old handle does not name the new instance"
    );
}

#[test]
fn a_taken_place_is_not_to_be_had() {
    let nvml = Node::mig("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    let at = |profile: u32, start, size| {
        let place = nvmlGpuInstancePlacement_t { start, size };
        ask!(nvml, nvmlDeviceCreateGpuInstanceWithPlacement(device, profile, &place) -> nvmlGpuInstance_t)
    };
    let gi = at(9, 4, 4).expect("3g.20gb at 4");
    let info = gi_info(&nvml, gi).expect("what it is");
    assert_eq!(
        (
            info.device,
            info.id,
            info.profileId,
            info.placement.start,
            info.placement.size
        ),
        (device, 2, 9, 4, 4)
    );
    assert_eq!(at(9, 4, 4), Err(INSUFFICIENT_RESOURCES));
    assert_eq!(at(19, 5, 1), Err(INSUFFICIENT_RESOURCES));
    assert_eq!(at(9, 1, 4), Err(INVALID_ARGUMENT), "no such placement");
    assert_eq!(at(4711, 0, 1), Err(INVALID_ARGUMENT), "no such profile");
    assert_eq!(create_ci(&nvml, gi, 4711), Err(INVALID_ARGUMENT));
}

#[test]
fn compute_instances_share_a_gpu_instance() {
    let nvml = Node::mig("1xA100-SXM4-40GB").init();
    let device = nvml.device(0);
    let gi = create_gi(&nvml, device, 9).expect("3g.20gb");
    let of = |index| ask!(nvml, nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, index, 0) -> nvmlComputeInstanceProfileInfo_t);
    let one = of(0).expect("1c.3g.20gb");
    assert_eq!((one.sliceCount, one.instanceCount), (1, 3));
    assert_eq!(of(2).map(|info| info.sliceCount), Ok(3));
    assert_eq!(of(4).map(drop), Err(NOT_SUPPORTED));
    assert_eq!(of(9).map(drop), Err(INVALID_ARGUMENT));
    assert_eq!(ask!(nvml, nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 0, 1) -> nvmlComputeInstanceProfileInfo_t).map(drop), Err(INVALID_ARGUMENT));

    let place = nvmlComputeInstancePlacement_t { start: 1, size: 1 };
    let middle = ask!(nvml, nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi, one.id, &place) -> nvmlComputeInstance_t).expect("in the middle");
    let info = ci_info(&nvml, middle).expect("what it is");
    assert_eq!((info.id, info.placement.start), (0, 1));
    assert_eq!(
        nvml.name(info.device).as_deref(),
        Ok("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb")
    );
    assert_eq!(
        ask!(nvml, nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, one.id) -> u32),
        Ok(2)
    );
    create_ci(&nvml, gi, one.id).expect("a second");
    create_ci(&nvml, gi, one.id).expect("a third");
    assert_eq!(create_ci(&nvml, gi, one.id), Err(INSUFFICIENT_RESOURCES));
    let mut all: Vec<nvmlComputeInstance_t> = vec![null_mut(); one.instanceCount as usize];
    let mut count = 0;
    assert_eq!(
        call!(
            nvml,
            nvmlGpuInstanceGetComputeInstances(gi, one.id, all.as_mut_ptr(), &mut count)
        ),
        0
    );
    assert_eq!(count, 3);
    assert_eq!(all[0], middle);

    // SAFETY: numbers and handles; all ones, to see where writing ends.
    let mut v1: nvmlComputeInstanceInfo_t =
        unsafe { core::mem::transmute([0xffu8; size_of::<nvmlComputeInstanceInfo_t>()]) };
    assert_eq!(call!(nvml, nvmlComputeInstanceGetInfo(middle, &mut v1)), 0);
    assert_eq!(
        (v1.id, v1.placement.start, v1.placement.size),
        (0, u32::MAX, u32::MAX),
        "version 1 has no placement"
    );
}

#[test]
fn an_ampere_waits_for_a_reset_and_a_hopper_does_not() {
    let node = Node::new("1xA100-SXM4-40GB,1xH100-SXM5-80GB");
    let nvml = node.init();
    let (ampere, hopper) = (nvml.device(0), nvml.device(1));
    assert_eq!(ask!(nvml, nvmlDeviceSetMigMode(hopper, 1) -> u32), Ok(0));
    assert_eq!(mode(&nvml, hopper), Ok((1, 1)));
    create_gi(&nvml, hopper, 19).expect("a GPU instance");
    assert_eq!(
        ask!(nvml, nvmlDeviceSetMigMode(hopper, 0) -> u32),
        Ok(IN_USE),
        "SUCCESS, and the status says that it is not in force"
    );
    assert_eq!(mode(&nvml, hopper).map(|(current, _)| current), Ok(1));

    let status = ask!(nvml, nvmlDeviceSetMigMode(ampere, 1) -> u32).expect("taken note of");
    assert_eq!(status, 16, "RESET_REQUIRED");
    assert_eq!(mode(&nvml, ampere), Ok((0, 1)));
    assert_eq!(create_gi(&nvml, ampere, 19), Err(NOT_SUPPORTED));
    node.store()
        .apply(gpu_model::Op::Reset {
            gpu: gpu_model::GpuIndex(0),
        })
        .expect("a reset");
    assert_eq!(
        mode(&nvml, ampere),
        Ok((1, 1)),
        "what another process does is seen at once"
    );
    create_gi(&nvml, ampere, 19).expect("a GPU instance");
}

/// Runs one of the ignored tests of this file in a process of its own.
fn apart(node: &Node, test: &str, as_root: bool) {
    let mut child =
        std::process::Command::new(std::env::current_exe().expect("the test's own path"));
    child
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("NVML_TEST_LIBRARY", node.library());
    if !as_root {
        child.env(support::STAY_ORDINARY, "1");
    }
    let child = child.output().expect("the test runs again");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

/// The library that `apart` was given, initialised, and the first GPU.
fn given() -> (NvmlLib, nvmlDevice_t) {
    let library = std::env::var_os("NVML_TEST_LIBRARY").expect("run by another test");
    support::see_everything();
    // SAFETY: the library's constructors do nothing.
    let nvml = unsafe { NvmlLib::new(&library) }.expect("the library loads");
    assert_eq!(call!(nvml, nvmlInit_v2()), 0, "reading is allowed");
    let device = ask!(nvml, nvmlDeviceGetHandleByIndex_v2(0) -> nvmlDevice_t).expect("a GPU");
    (nvml, device)
}

fn nothing_can_be_changed(nvml: &NvmlLib, device: nvmlDevice_t) {
    assert_eq!(
        ask!(nvml, nvmlDeviceCreateGpuInstance(device, 19) -> nvmlGpuInstance_t),
        Err(NO_PERMISSION)
    );
    assert_eq!(
        ask!(nvml, nvmlDeviceSetMigMode(device, 0) -> u32),
        Err(NO_PERMISSION)
    );
    assert_eq!(
        call!(nvml, nvmlDeviceSetPersistenceMode(device, 1)),
        NO_PERMISSION
    );
}

#[test]
fn changes_are_for_root_and_need_a_writable_state() {
    let node = Node::mig("1xA100-SXM4-40GB");
    // The folder of a test is its owner's alone; an ordinary user must find the library in it.
    let mut open = std::fs::metadata(node.folder())
        .expect("the folder")
        .permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o755);
    std::fs::set_permissions(node.folder(), open).expect("readable by all");
    apart(&node, "as_an_ordinary_user", false);
    apart(&node, "as_root_with_a_read_only_mount", true);
    assert_eq!(
        node.machine(),
        support::machine(
            "1xA100-SXM4-40GB",
            &gpu_model::Options {
                mig: true,
                ..Default::default()
            }
        )
    );
}

#[test]
#[ignore = "run by changes_are_for_root_and_need_a_writable_state"]
fn as_an_ordinary_user() {
    // SAFETY: no arguments.
    assert_ne!(unsafe { libc::geteuid() }, 0);
    let (nvml, device) = given();
    nothing_can_be_changed(&nvml, device);
}

/// As in a container: the state file is a mount that nobody may write to, root included.
#[test]
#[ignore = "run by changes_are_for_root_and_need_a_writable_state"]
fn as_root_with_a_read_only_mount() {
    use std::os::unix::ffi::OsStringExt;
    let library = std::env::var_os("NVML_TEST_LIBRARY").expect("run by another test");
    let state = std::path::PathBuf::from(library).with_file_name(gpu_store::file_name("580.95.05"));
    let path = std::ffi::CString::new(state.into_os_string().into_vec()).expect("no NUL");
    let mount = |flags| {
        // SAFETY: C strings that live during the call, or NULL where mount(2) allows it.
        let done = unsafe {
            libc::mount(
                path.as_ptr(),
                path.as_ptr(),
                std::ptr::null(),
                flags,
                std::ptr::null(),
            )
        };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    };
    // SAFETY: a number; the mounts of this thread become its own.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    assert_eq!(unshared, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: as above; what is mounted from here on stays here.
    let apart = unsafe {
        libc::mount(
            std::ptr::null(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    };
    assert_eq!(apart, 0, "{}", std::io::Error::last_os_error());
    mount(libc::MS_BIND);
    mount(libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY);
    let (nvml, device) = given();
    nothing_can_be_changed(&nvml, device);
}
