//! The functions of nvml.h, one file per topic.
//! Not how a call gets in and out (`boundary`), nor what the state is (`gpu_model`): here arguments are decoded, the state is
//! asked or changed, and the answer is written where the caller wants it.

pub mod accounting;
pub mod board;
pub mod clocks;
pub mod compute_instance;
pub mod confidential;
pub mod device;
pub mod drain;
pub mod events;
pub mod fields;
pub mod gpm;
pub mod gpu_instance;
pub mod health;
pub mod init;
pub mod memory;
pub mod mig;
pub mod monitors;
pub mod nvlink;
pub mod policy;
pub mod power;
pub mod processes;
pub mod retirement;
pub mod samples;
pub mod sessions;
pub mod system;
pub mod system_events;
pub mod thermal;
pub mod topology;
pub mod units;
pub mod vgpu;
