//! The program `sliceproof`.
//! Not here: anything but the order of two calls.
//! Arguments come from the command line, the exit code goes to the shell: 0 passed, 1 failed, 2 usage, lint or
//! environment, 4 nothing ran, 130 interrupted.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else, threads above all: this program is also the init of its nodes.
    cluster::dispatch();
    sliceproof::main()
}
