//! The capability nodes of MIG: minor numbers, names, and the text that publishes one.
//! Not here: the files and nodes themselves (`gpu-store` mirrors those of instances, `gpu-host` lays the rest).
//! The numbers are the driver's `mig-minors` table: for each GPU 15 GPU instances, for each of those itself and 8 compute instances.
use crate::ids::{CiId, GiId, Minor};

/// The node that lets a process configure MIG.
pub const CONFIG: Minor = Minor(1);
/// The node that lets a process see all MIG devices.
pub const MONITOR: Minor = Minor(2);
/// GPU instances that have numbers on each GPU: ids below this.
pub const GPU_INSTANCES: u32 = 15;
/// Compute instances that have numbers in each GPU instance: ids below this.
pub const COMPUTE_INSTANCES: u32 = 8;

const FIRST: u32 = MONITOR.0 + 1;
const PER_GPU_INSTANCE: u32 = 1 + COMPUTE_INSTANCES;
const PER_GPU: u32 = GPU_INSTANCES * PER_GPU_INSTANCE;

/// The node of a GPU instance.
pub const fn gi(gpu: Minor, gi: GiId) -> Minor {
    Minor(FIRST + PER_GPU * gpu.0 + PER_GPU_INSTANCE * gi.0)
}

/// The node of a compute instance.
pub const fn ci(gpu: Minor, instance: GiId, ci: CiId) -> Minor {
    Minor(gi(gpu, instance).0 + 1 + ci.0)
}

/// The folder of the nodes below `/dev`.
pub const FOLDER: &str = "nvidia-caps";
const NAME: &str = "nvidia-cap";

/// Where a node stands below `/dev`.
pub fn node(minor: Minor) -> String {
    format!("{FOLDER}/{NAME}{minor}")
}

/// Which node has this name in [`FOLDER`].
pub fn named(name: &str) -> Option<Minor> {
    name.strip_prefix(NAME)?.parse().ok().map(Minor)
}

/// What the file of a capability below `/proc/driver/nvidia/capabilities` says; `mode` is that of the node.
pub fn text(minor: Minor, mode: u32) -> String {
    format!("DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_drivers_table() {
        // The lines of `mig-minors` that the DRA driver quotes (internal/common/nvcaps.go).
        assert_eq!(gi(Minor(0), GiId(0)), Minor(3));
        assert_eq!(ci(Minor(0), GiId(0), CiId(2)), Minor(6));
        assert_eq!(ci(Minor(3), GiId(3), CiId(3)), Minor(439));
        assert_eq!(ci(Minor(6), GiId(11), CiId(7)), Minor(920));
        assert_eq!(node(Minor(920)), "nvidia-caps/nvidia-cap920");
        assert_eq!(named("nvidia-cap920"), Some(Minor(920)));
        assert_eq!(named("nvidia-cap"), None);
    }
}
