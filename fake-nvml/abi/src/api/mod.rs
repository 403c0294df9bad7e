//! The functions of nvml.h, one file per topic.
//! Not how a call gets in and out (`boundary`), nor what the state is (`gpu_model`): here arguments are decoded, the state is
//! asked or changed, and the answer is written where the caller wants it.

pub mod compute_instance;
pub mod device;
pub mod events;
pub mod gpu_instance;
pub mod health;
pub mod init;
pub mod memory;
pub mod mig;
pub mod monitors;
pub mod policy;
pub mod processes;
pub mod system;
pub mod unsupported;
