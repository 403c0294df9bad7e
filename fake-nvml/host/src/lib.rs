//! The files around a GPU: driver root, /dev, /proc, /sys, and the namespace that shows them.
#![forbid(unsafe_code)]
