//! A real Kubernetes cluster of plain processes over fake GPUs.
#![forbid(unsafe_code)]
