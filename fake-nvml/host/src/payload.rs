//! What travels: the NVML library, nvidia-smi and a test program, built by this crate's build script and carried as bytes.

/// `libnvidia-ml.so.1`.
pub const NVML: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libnvidia-ml.so"));

/// `nvidia-smi`.
pub const NVIDIA_SMI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nvidia-smi"));

/// `nvml-probe`: prints as JSON what NVML shows in the place where it runs.
pub const NVML_PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nvml-probe"));
