//! The mapped state file that all processes of a node share.
#![forbid(unsafe_code)]
