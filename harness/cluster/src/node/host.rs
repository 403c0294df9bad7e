//! The node's fake host: laid out from outside, put in place by the node's init.
//! Everything about GPUs is gpu-host's; this is the join.
use std::path::Path;

/// Called in the node's mount namespace.
pub(crate) fn enter(_dir: &Path) -> Result<(), String> {
    Ok(())
}
