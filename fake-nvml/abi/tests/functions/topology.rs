//! Where GPUs sit.

use std::ptr::null_mut;

use crate::support::{Node, ask, call};
use crate::{CARDS, INVALID, OK, TOO_SMALL};

#[test]
fn cards_of_one_numa_node_meet_there() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let [a, b, c, d] = [0, 1, 2, 3].map(|index| nvml.device(index));
    let meet = |x, y| ask!(nvml, nvmlDeviceGetTopologyCommonAncestor(x, y) -> u32);
    assert_eq!(
        (meet(a, a), meet(a, b), meet(a, c), meet(c, d)),
        (Ok(0), Ok(40), Ok(50), Ok(40))
    );
    assert_eq!(meet(a, null_mut()), Err(INVALID));
}

#[test]
fn the_nearest_are_those_of_a_level() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let near = |index, level| {
        let mut count = 0;
        let first = call!(
            nvml,
            nvmlDeviceGetTopologyNearestGpus(nvml.device(index), level, &mut count, null_mut())
        );
        assert_eq!(first, OK);
        let mut found = vec![null_mut(); count as usize];
        let code = call!(
            nvml,
            nvmlDeviceGetTopologyNearestGpus(
                nvml.device(index),
                level,
                &mut count,
                found.as_mut_ptr()
            )
        );
        (code, found)
    };
    assert_eq!(near(0, 40), (OK, vec![nvml.device(1)]));
    assert_eq!(near(0, 50), (OK, vec![nvml.device(2), nvml.device(3)]));
    assert_eq!(near(0, 10), (OK, vec![]));
    let mut count = 1;
    let mut one = [null_mut(); 1];
    let code = call!(
        nvml,
        nvmlDeviceGetTopologyNearestGpus(nvml.device(0), 50, &mut count, one.as_mut_ptr())
    );
    assert_eq!(
        (code, count, one),
        (TOO_SMALL, 2, [null_mut()]),
        "nothing is written into an array that is too short"
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetTopologyNearestGpus(nvml.device(0), 41, &mut count, null_mut())
        ),
        INVALID
    );
}

#[test]
fn peers_reach_each_other_unless_partitioned() {
    let node = Node::new(CARDS);
    let nvml = node.init();
    let status = |nvml: &crate::support::Nvml, x, y, index| ask!(nvml, nvmlDeviceGetP2PStatus(nvml.device(x), nvml.device(y), index) -> u32);
    // Reading, writing, NVLink, atomics.
    assert_eq!(
        [0, 1, 2, 3].map(|index| status(&nvml, 0, 1, index)),
        [Ok(0); 4]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|index| status(&nvml, 0, 3, index)),
        [Ok(0), Ok(0), Ok(5), Ok(5)],
        "an L4 has no NVLink"
    );
    assert_eq!(
        status(&nvml, 0, 2, 2),
        Ok(5),
        "an H100 sits on another board"
    );
    assert_eq!(status(&nvml, 0, 1, 5), Err(INVALID));
    let node = Node::mig(CARDS);
    let nvml = node.init();
    assert_eq!([0, 2].map(|index| status(&nvml, 0, 1, index)), [Ok(5); 2]);
    assert_eq!(
        ask!(nvml, nvmlDeviceOnSameBoard(nvml.device(0), nvml.device(1)) -> i32),
        Ok(0)
    );
}

#[test]
fn affinity_names_cpus_that_are_there() {
    let node = Node::new("1xA100-SXM4-40GB");
    let nvml = node.init();
    let mut set = [0u64; 64];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCpuAffinity(nvml.device(0), 64, set.as_mut_ptr())
        ),
        OK
    );
    let cpus: u32 = set.iter().map(|word| word.count_ones()).sum();
    // SAFETY: a number in, a number out.
    let there = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    assert!(cpus >= 1 && i64::from(cpus) <= there, "{cpus} of {there}");
    let mut same = [0u64; 64];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCpuAffinityWithinScope(nvml.device(0), 64, same.as_mut_ptr(), 1)
        ),
        OK
    );
    assert_eq!(set, same);
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCpuAffinityWithinScope(nvml.device(0), 64, same.as_mut_ptr(), 2)
        ),
        INVALID
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCpuAffinity(nvml.device(0), 0, set.as_mut_ptr())
        ),
        INVALID
    );
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetCpuAffinity(nvml.device(0), 1, null_mut())
        ),
        INVALID
    );
    let mut nodes = [7u64; 2];
    assert_eq!(
        call!(
            nvml,
            nvmlDeviceGetMemoryAffinity(nvml.device(0), 2, nodes.as_mut_ptr(), 0)
        ),
        OK
    );
    assert_eq!(nodes, [1, 0]);
    assert_eq!(call!(nvml, nvmlDeviceSetCpuAffinity(nvml.device(0))), OK);
    assert_eq!(call!(nvml, nvmlDeviceClearCpuAffinity(nvml.device(0))), OK);
    let mut count = 0;
    assert_eq!(
        call!(nvml, nvmlSystemGetTopologyGpuSet(0, &mut count, null_mut())),
        OK
    );
    assert_eq!(count, 1);
    assert_eq!(
        call!(
            nvml,
            nvmlSystemGetTopologyGpuSet(4095, &mut count, null_mut())
        ),
        INVALID
    );
}
