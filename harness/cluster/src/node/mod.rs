//! A node: a set of namespaces with a real kubelet, containerd and driver in it.
//! Not its scheduling (`start`) nor its GPUs' state (gpu-store).
pub(crate) mod config;
pub(crate) mod driver;
pub(crate) mod host;
