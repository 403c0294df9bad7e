//! What the tests of the library share: where it lies, and a machine for it to show.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::path::{Path, PathBuf};

/// The library that cargo built beside the tests.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let profile = test.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    profile.join("libnvidia_ml.so")
}

/// A folder of its own for a test, gone with it.
pub struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
