//! Init and shutdown.
//! Not what they do (`session`).
//! NVML counts inits; the last shutdown ends it. Neither touches the shared state.

use crate::macros::api;
use crate::session;
use crate::status::Status;

/// All flags of nvml.h: NO_GPUS, NO_ATTACH, FORCE_INIT.
const KNOWN_FLAGS: u32 = 0b111;

api! {
    table INIT;

    /// As `nvmlInit_v2`.
    free fn nvmlInit() { session::begin(0) }

    /// Finds the state file and looks which GPUs are visible. DRIVER_NOT_LOADED without a state file, GPU_NOT_FOUND if no GPU is
    /// visible, LIB_RM_VERSION_MISMATCH for a state file of another format.
    free fn nvmlInit_v2() { session::begin(0) }

    /// `nvmlInit_v2` with flags: 1 (NO_GPUS) makes do without GPUs; 2 (NO_ATTACH) and 4 (FORCE_INIT) change nothing here.
    free fn nvmlInitWithFlags(flags: u32) {
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Status::InvalidArgument);
        }
        session::begin(flags)
    }

    /// Takes back one init; UNINITIALIZED if there is none.
    free fn nvmlShutdown() { session::end() }
}
