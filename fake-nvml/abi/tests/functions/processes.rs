//! Processes, their use and their accounts.

use std::ptr::null_mut;

use gpu_model::{
    GpuIndex, MiB, NewLoad, Now, Op, Outcome, Pid, Process, ProcessKind, Scope, Shape, Traffic,
};
use gpu_store::Store;
use nvml_wrapper_sys::bindings as sys;

use crate::support::{Node, Nvml, ask, call, text};
use crate::{CARDS, INVALID, NOT_FOUND, NOT_SUPPORTED, OK, TOO_SMALL, VERSION, tag};

/// A process that is busy half of the time in this place.
fn put(store: &Store, scope: Scope, pid: u32, kind: ProcessKind, memory: u64) {
    let process = Process {
        pid: Pid(pid),
        name: format!("work-{pid}"),
        kind,
        real: false,
    };
    let load = NewLoad {
        scope,
        process: Some(process),
        memory: MiB(memory),
        shape: Shape::constant(5_000),
        traffic: Traffic::default(),
        since: None,
        until: None,
    };
    let now = Now::from(std::time::SystemTime::now());
    store
        .update(|machine, _| machine.with_load(load.clone(), now))
        .expect("a load");
}

/// (pid, MiB, GPU instance, compute instance) of each process.
fn compute(nvml: &Nvml, device: sys::nvmlDevice_t) -> Vec<(u32, u64, u32, u32)> {
    let mut count = 0;
    let first = call!(
        nvml,
        nvmlDeviceGetComputeRunningProcesses_v3(device, &mut count, null_mut())
    );
    assert_eq!(
        first,
        if count == 0 { OK } else { TOO_SMALL },
        "clients take the number from this call"
    );
    let mut infos = vec![
        sys::nvmlProcessInfo_t {
            pid: 0,
            usedGpuMemory: 0,
            gpuInstanceId: 0,
            computeInstanceId: 0
        };
        count as usize
    ];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetComputeRunningProcesses_v3(device, &mut count, infos.as_mut_ptr())
        ),
        OK
    );
    infos
        .iter()
        .map(|it| {
            (
                it.pid,
                it.usedGpuMemory >> 20,
                it.gpuInstanceId,
                it.computeInstanceId,
            )
        })
        .collect()
}

#[test]
fn lists_are_by_kind_and_a_process_stands_once() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let gpu = Scope::gpu(GpuIndex(0));
    put(node.store(), gpu, 100, ProcessKind::Compute, 512);
    put(node.store(), gpu, 100, ProcessKind::Compute, 256);
    put(node.store(), gpu, 200, ProcessKind::Graphics, 64);
    put(node.store(), gpu, 300, ProcessKind::Mps, 32);
    assert_eq!(
        compute(&nvml, nvml.device(0)),
        [(100, 768, u32::MAX, u32::MAX)]
    );
    assert_eq!(compute(&nvml, nvml.device(1)), []);
    // The first version is eight bytes shorter: a guard behind it must stay.
    let mut old = [sys::nvmlProcessInfo_v1_t {
        pid: 7,
        usedGpuMemory: 7,
    }; 2];
    let mut count = 1;
    // SAFETY: the binding takes the type of the newest version; the unversioned name takes the oldest.
    let code = unsafe {
        let library = libloading::Library::new(node.library()).expect("loads");
        let list = library.get::<unsafe extern "C" fn(
            sys::nvmlDevice_t,
            *mut u32,
            *mut sys::nvmlProcessInfo_v1_t,
        ) -> u32>(b"nvmlDeviceGetGraphicsRunningProcesses");
        list.expect("exported")(nvml.device(0), &mut count, old.as_mut_ptr())
    };
    assert_eq!(
        (code, count, old[0].pid, old[0].usedGpuMemory, old[1].pid),
        (OK, 1, 200, 64 << 20, 7)
    );
    let mut count = 0;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml.device(0), &mut count, null_mut())
        ),
        TOO_SMALL
    );
    assert_eq!(count, 1);
    assert_eq!(
        text(|out, length| call!(nvml, nvmlSystemGetProcessName(300, out, length))).as_deref(),
        Ok("work-300")
    );
    // The card holds the sum.
    let memory =
        ask!(nvml, nvmlDeviceGetMemoryInfo(nvml.device(0)) -> sys::nvmlMemory_t).expect("memory");
    let empty =
        ask!(nvml, nvmlDeviceGetMemoryInfo(nvml.device(1)) -> sys::nvmlMemory_t).expect("memory");
    assert_eq!((memory.used - empty.used) >> 20, 768 + 64 + 32);
}

#[test]
fn details_are_by_mode() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    put(
        node.store(),
        Scope::gpu(GpuIndex(0)),
        100,
        ProcessKind::Mps,
        512,
    );
    let mut details = [sys::nvmlProcessDetail_v1_t {
        pid: 0,
        usedGpuMemory: 0,
        gpuInstanceId: 0,
        computeInstanceId: 0,
        usedGpuCcProtectedMemory: 9,
    }; 1];
    let mut get = |version, mode, room| {
        let mut list = sys::nvmlProcessDetailList_v1_t {
            version,
            mode,
            numProcArrayEntries: room,
            procArray: details.as_mut_ptr(),
        };
        let code = call!(
            nvml,
            nvmlDeviceGetRunningProcessDetailList(nvml.device(0), &mut list)
        );
        (code, list.numProcArrayEntries)
    };
    let v1 = tag::<sys::nvmlProcessDetailList_v1_t>(1);
    assert_eq!(
        (
            get(v1, 2, 0),
            get(v1, 2, 1),
            get(v1, 0, 1),
            get(v1, 3, 1).0,
            get(7, 2, 1).0
        ),
        ((TOO_SMALL, 1), (OK, 1), (OK, 0), INVALID, VERSION)
    );
    assert_eq!(
        (
            details[0].pid,
            details[0].usedGpuMemory >> 20,
            details[0].usedGpuCcProtectedMemory
        ),
        (100, 512, 0)
    );
}

#[test]
fn a_mig_device_shows_its_own_processes_and_the_gpu_all() {
    let node = Node::mig("1xA100-SXM4-40GB");
    let gpu = GpuIndex(0);
    let spec = node.machine().specs[0].clone();
    let profile = spec
        .mig
        .as_ref()
        .and_then(|mig| mig.by_name("3g.20gb"))
        .expect("a profile");
    let mut places = Vec::new();
    for _ in 0..2 {
        let made = node
            .store()
            .apply(Op::CreateGpuInstance {
                gpu,
                profile: profile.id,
                placement: None,
            })
            .expect("an instance");
        let Outcome::GpuInstance { id: gi, .. } = made else {
            panic!("{made:?}")
        };
        let full = profile.full_compute().expect("a profile").id;
        let made = node
            .store()
            .apply(Op::CreateComputeInstance {
                gpu,
                gi,
                profile: full,
                placement: None,
            })
            .expect("an instance");
        let Outcome::ComputeInstance { id: ci, .. } = made else {
            panic!("{made:?}")
        };
        places.push((gi, ci));
    }
    for (&(gi, ci), pid) in places.iter().zip([100, 200]) {
        put(
            node.store(),
            Scope::ci(gpu, gi, ci),
            pid,
            ProcessKind::Compute,
            1024,
        );
    }
    let nvml = node.init();
    let all = compute(&nvml, nvml.device(0));
    assert_eq!(
        all,
        places
            .iter()
            .zip([100, 200])
            .map(|(&(gi, ci), pid)| (pid, 1024, gi.0, ci.0))
            .collect::<Vec<_>>()
    );
    for index in 0..2 {
        let mig = ask!(nvml, nvmlDeviceGetMigDeviceHandleByIndex(nvml.device(0), index) -> sys::nvmlDevice_t).expect("a MIG device");
        let gi = ask!(nvml, nvmlDeviceGetGpuInstanceId(mig) -> u32).expect("an id");
        let own: Vec<_> = all.iter().copied().filter(|it| it.2 == gi).collect();
        assert_eq!(compute(&nvml, mig), own);
    }
    let mut count = 0;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(nvml.device(0), null_mut(), &mut count, 0)
        ),
        NOT_SUPPORTED
    );
}

#[test]
fn use_by_process_is_told_once_for_each() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let mut count = 9;
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(nvml.device(0), null_mut(), &mut count, 0)
        ),
        NOT_FOUND
    );
    assert_eq!(count, 0);
    put(
        node.store(),
        Scope::gpu(GpuIndex(0)),
        100,
        ProcessKind::Compute,
        512,
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(nvml.device(0), null_mut(), &mut count, 0)
        ),
        TOO_SMALL
    );
    assert_eq!(count, 1);
    // SAFETY: a plain struct, for which zeros are valid.
    let mut sample: sys::nvmlProcessUtilizationSample_t = unsafe { core::mem::zeroed() };
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(nvml.device(0), &mut sample, &mut count, 0)
        ),
        OK
    );
    assert_eq!(
        (sample.pid, sample.smUtil, sample.memUtil, sample.encUtil),
        (100, 50, 33, 0)
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(nvml.device(0), &mut sample, &mut count, u64::MAX)
        ),
        NOT_FOUND
    );
    let mut used = [sys::nvmlProcessUtilizationInfo_v1_t {
        timeStamp: 0,
        pid: 0,
        smUtil: 0,
        memUtil: 0,
        encUtil: 9,
        decUtil: 9,
        jpgUtil: 9,
        ofaUtil: 9,
    }; 1];
    let mut info = sys::nvmlProcessesUtilizationInfo_v1_t {
        version: tag::<sys::nvmlProcessesUtilizationInfo_v1_t>(1),
        processSamplesCount: 1,
        lastSeenTimeStamp: 0,
        procUtilArray: used.as_mut_ptr(),
    };
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetProcessesUtilizationInfo(nvml.device(0), &mut info)
        ),
        OK
    );
    assert_eq!((used[0].pid, used[0].smUtil, used[0].ofaUtil), (100, 50, 0));
}

#[test]
fn processes_are_accounted_from_when_it_is_switched_on() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let gpu = Scope::gpu(GpuIndex(0));
    put(node.store(), gpu, 100, ProcessKind::Compute, 1);
    assert_eq!(
        call!(nvml, nvmlDeviceSetAccountingMode(nvml.device(0), 1)),
        OK
    );
    put(node.store(), gpu, 200, ProcessKind::Compute, 512);
    let (mut count, mut pids) = (4, [0u32; 4]);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetAccountingPids(nvml.device(0), &mut count, pids.as_mut_ptr())
        ),
        OK
    );
    assert_eq!((count, pids[0]), (1, 200));
    let stats = |pid| ask!(nvml, nvmlDeviceGetAccountingStats(nvml.device(0), pid) -> sys::nvmlAccountingStats_t);
    let account = stats(200).expect("accounted");
    assert_eq!(
        (
            account.gpuUtilization,
            account.maxMemoryUsage >> 20,
            account.isRunning,
            account.time
        ),
        (50, 512, 1, 0)
    );
    assert!(account.startTime > 0);
    assert_eq!(stats(100).err(), Some(NOT_FOUND), "it ran before");
}
