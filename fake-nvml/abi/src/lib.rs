//! libnvidia-ml.so.1: every function of nvml.h over the shared state.
#![forbid(unsafe_code)]
