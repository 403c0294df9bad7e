//! A real Kubernetes cluster of plain processes over fake GPUs: etcd to DRA driver, each node a set of Linux namespaces.
//! Not a simulation of any of them, and no part of a claim's path is ours; only the silicon is fake (gpu-host, gpu-store).
//! Comes from a [`ClusterSpec`]; what runs is a [`Running`], which ends with the process that holds it.
#![forbid(unsafe_code)]

mod control_plane;
mod error;
mod evidence;
mod external_metrics;
mod features;
pub mod images;
mod init;
mod kubeconfig;
mod kueue;
mod net;
mod node;
mod ns;
mod objects;
pub mod oci;
mod owner;
mod pki;
mod plane;
mod programs;
mod progress;
mod prometheus;
mod roles;
mod rpc;
mod running;
mod scheduler;
mod shape;
mod spec;
mod start;
pub mod supervisor;
mod wait;

pub use error::{Error, Result};
pub use features::Features;
pub use programs::Programs;
pub use progress::{Listener, Progress, Silent};
pub use roles::dispatch;
pub use rpc::Output;
pub use running::{Cluster, Node, Running};
pub use scheduler::Scheduler;
pub use spec::{ClusterSpec, MigStrategy, NodeShape, Offer};
