//! Minor numbers of `/dev/nvidia-caps/nvidia-cap<minor>`.
//! Not here: the files that publish them (`gpu-store` mirrors, `gpu-host` lays the rest).
//! The formula is the driver's `mig-minors` table (135 per GPU, 9 per GPU instance).
use crate::ids::{CiId, GiId, Minor};

/// The node that lets a process configure MIG.
pub const CONFIG: Minor = Minor(1);
/// The node that lets a process see all MIG devices.
pub const MONITOR: Minor = Minor(2);

/// The node of a GPU instance.
pub const fn gi(gpu: Minor, gi: GiId) -> Minor {
    Minor(3 + 135 * gpu.0 + 9 * gi.0)
}

/// The node of a compute instance.
pub const fn ci(gpu: Minor, instance: GiId, ci: CiId) -> Minor {
    Minor(gi(gpu, instance).0 + 1 + ci.0)
}
