//! Where GPUs sit: beside each other, and beside CPUs and memory.
//! Not links between them (`nvlink`).
//! From NUMA nodes of the state: each card has a PCI root of its own, so two of one node meet in the node and others in the system.
//! CPUs are the system's own, where it has the node, else all of them.

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, list};
use crate::status::{Result, Status};
use crate::view::{GpuView, View};

/// `nvmlGpuTopologyLevel_t`.
mod level {
    pub(super) const INTERNAL: u32 = 0;
    pub(super) const NODE: u32 = 40;
    pub(super) const SYSTEM: u32 = 50;
    pub(super) const ALL: [u32; 6] = [INTERNAL, 10, 20, 30, NODE, SYSTEM];
}

/// `nvmlGpuP2PStatus_t`.
mod status {
    pub(super) const OK: u32 = 0;
    pub(super) const NOT_SUPPORTED: u32 = 5;
}

/// The levels of `nvmlAffinityScope_t`: node and socket; here a socket is a node.
const SCOPES: u32 = 2;
/// CPUs that a set of this library can hold.
const CPUS: usize = 4096;
const BITS: usize = 64;

/// A set of CPUs as the header wants it: bit by bit in words.
type CpuSet = [u64; CPUS / BITS];

fn common(view: &View, one: &GpuView, other: &GpuView) -> u32 {
    if core::ptr::eq(one, other) {
        level::INTERNAL
    } else if view.state(one).numa_node == view.state(other).numa_node {
        level::NODE
    } else {
        level::SYSTEM
    }
}

/// Whether two cards reach each other by NVLink: they are of one model, as those on one board are, and a link of each is up.
fn linked(view: &View, one: &GpuView, other: &GpuView) -> bool {
    let up = |gpu: &GpuView| {
        view.spec(gpu).nvlink.as_ref().is_some_and(|nvlink| {
            (0..nvlink.links).any(|link| super::nvlink::is_up(view, gpu, link))
        })
    };
    core::ptr::eq(view.spec(one), view.spec(other)) && up(one) && up(other)
}

/// Adds the CPUs of a list as the kernel writes it, `0-3,8`.
fn add(set: &mut CpuSet, cpus: &str) {
    for range in cpus.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            continue;
        };
        for cpu in first..=last.min(CPUS - 1) {
            set[cpu / BITS] |= 1 << (cpu % BITS);
        }
    }
}

/// The CPUs beside a NUMA node; all CPUs if the system has no such node.
fn cpus(node: u32) -> CpuSet {
    let mut set = [0; CPUS / BITS];
    let of_node = format!("/sys/devices/system/node/node{node}/cpulist");
    for path in [&*of_node, "/sys/devices/system/cpu/possible"] {
        if let Ok(cpus) = std::fs::read_to_string(path) {
            add(&mut set, &cpus);
        }
        if set.iter().any(|word| *word != 0) {
            break;
        }
    }
    set
}

fn put_words(size: u32, out: &OutArray<u64>, words: &[u64]) -> Result {
    if size == 0 || out.is_null() {
        return Err(Status::InvalidArgument);
    }
    let beyond = core::iter::repeat(0);
    out.fill(size as usize, words.iter().copied().chain(beyond))
}

fn affinity(view: &View, device: Device, size: u32, out: &OutArray<u64>) -> Result {
    let gpu = view.card(device)?;
    put_words(size, out, &cpus(view.state(gpu).numa_node))
}

/// Lets the calling thread run on these CPUs.
fn pin(set: &CpuSet) -> Result {
    // SAFETY: the set is as long as said, and 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<CpuSet>(), set.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(Status::Unknown),
    }
}

api! {
    table TOPOLOGY;

    /// Where the ways of two GPUs meet: 0 in one GPU, 40 in a NUMA node, 50 in the system.
    view fn nvmlDeviceGetTopologyCommonAncestor(device: Device, other: Device, out: Out<u32>) |view| {
        out.put(common(view, view.gpu(device)?, view.gpu(other)?))
    }

    /// The other GPUs whose ways meet that of this one at a level.
    view fn nvmlDeviceGetTopologyNearestGpus(device: Device, at: u32, count: Out<u32>, devices: OutArray<Device>) |view| {
        let gpu = view.gpu(device)?;
        if !level::ALL.contains(&at) {
            return Err(Status::InvalidArgument);
        }
        let near = || view.listed().filter(|other| !core::ptr::eq(*other, gpu) && common(view, gpu, other) == at);
        if devices.is_null() {
            return count.put(near().count() as u32);
        }
        list(&count, &devices, near().count() as u32, near().map(GpuView::handle))
    }

    /// The GPUs beside a CPU.
    view fn nvmlSystemGetTopologyGpuSet(cpu: u32, count: Out<u32>, devices: OutArray<Device>) |view| {
        count.check()?;
        let cpu = cpu as usize;
        let all = cpus(u32::MAX);
        if cpu >= CPUS || all[cpu / BITS] >> (cpu % BITS) & 1 == 0 {
            return Err(Status::InvalidArgument);
        }
        let beside = |gpu: &&GpuView| cpus(view.state(gpu).numa_node)[cpu / BITS] >> (cpu % BITS) & 1 == 1;
        let near = || view.listed().filter(beside);
        if devices.is_null() {
            return count.put(near().count() as u32);
        }
        list(&count, &devices, near().count() as u32, near().map(GpuView::handle))
    }

    /// Whether two GPUs reach each other's memory: by reading (0), writing (1), NVLink (2), atomics (3), PCI (4). Not with MIG mode on.
    view fn nvmlDeviceGetP2PStatus(device: Device, other: Device, index: u32, out: Out<u32>) |view| {
        let (one, other) = (view.gpu(device)?, view.gpu(other)?);
        out.check()?;
        let mig = [one, other].iter().any(|gpu| view.not_in_mig_mode(gpu).is_err());
        let open = match index {
            0 | 1 | 4 => !mig,
            2 | 3 => !mig && linked(view, one, other),
            _ => return Err(Status::InvalidArgument),
        };
        out.put(if open { status::OK } else { status::NOT_SUPPORTED })
    }

    /// Whether two GPUs are on one board: each has its own.
    view fn nvmlDeviceOnSameBoard(device: Device, other: Device, out: Out<i32>) |view| {
        let same = core::ptr::eq(view.gpu(device)?, view.gpu(other)?);
        out.put(same.into())
    }

    /// The CPUs beside a GPU, bit by bit in words of 64.
    view fn nvmlDeviceGetCpuAffinity(device: Device, size: u32, out: OutArray<u64>) |view| { affinity(view, device, size, &out) }

    /// `nvmlDeviceGetCpuAffinity` within a NUMA node (0) or a socket (1).
    view fn nvmlDeviceGetCpuAffinityWithinScope(device: Device, size: u32, out: OutArray<u64>, scope: u32) |view| {
        if scope >= SCOPES {
            return Err(Status::InvalidArgument);
        }
        affinity(view, device, size, &out)
    }

    /// The NUMA nodes beside a GPU, bit by bit in words of 64.
    view fn nvmlDeviceGetMemoryAffinity(device: Device, size: u32, out: OutArray<u64>, scope: u32) |view| {
        let gpu = view.card(device)?;
        if scope >= SCOPES {
            return Err(Status::InvalidArgument);
        }
        let node = view.state(gpu).numa_node as usize;
        let mut words = [0; CPUS / BITS];
        if let Some(word) = words.get_mut(node / BITS) {
            *word = 1 << (node % BITS);
        }
        put_words(size, &out, &words)
    }

    /// From now on the calling thread runs on the CPUs beside the GPU.
    view fn nvmlDeviceSetCpuAffinity(device: Device) |view| { pin(&cpus(view.state(view.card(device)?).numa_node)) }

    /// From now on the calling thread runs on all CPUs.
    view fn nvmlDeviceClearCpuAffinity(device: Device) |view| {
        view.card(device)?;
        pin(&cpus(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        let mut set = [0; CPUS / BITS];
        add(&mut set, "0-2,5,64-65\n");
        assert_eq!(set[..3], [0b10_0111, 0b11, 0]);
        add(&mut set, "99999-100000");
        assert_eq!(set[2..], [0; CPUS / BITS - 2]);
    }
}
