//! Fuzz targets of the fake GPU, one a file under `tests`. Nothing is here: they are tests, so that stable Rust and `cargo test` run
//! them, each for a moment.
//! `BOLERO_RANDOM_TEST_TIME_MS=60000 BOLERO_RANDOM_ITERATIONS=100000000 cargo test -p fake-nvml-fuzz` runs each for a minute. The
//! corpus lies in `tests/__fuzz__/<target>/corpus`, what once failed in `crashes` beside it; both are run each time.
//! `cargo bolero test` (nightly) runs the same targets under libFuzzer.
#![forbid(unsafe_code)]
