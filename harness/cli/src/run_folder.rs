//! The folder of a run: reports and evidence, and a link `latest` beside it.

use std::path::{Path, PathBuf};

use crate::Error;

/// Where a run keeps what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    /// Name of the run.
    pub run: String,
    /// The folder, absolute.
    pub path: PathBuf,
    /// The folder as a person would type it.
    pub shown: String,
}

/// The environment variable that names the parent of run folders.
pub const PARENT_ENV: &str = "SLICEPROOF_RUNS";

impl RunFolder {
    /// Makes the folder: `out`, or a new one under the usual parent.
    ///
    /// # Errors
    /// The file system refused.
    pub fn make(out: Option<&Path>) -> Result<Self, Error> {
        let run = name();
        let path = match out {
            Some(out) => out.to_owned(),
            None => parent().join(&run),
        };
        std::fs::create_dir_all(&path).map_err(|source| Error::Io {
            doing: "make the run folder",
            path: path.clone(),
            source,
        })?;
        let absolute = path.canonicalize().map_err(|source| Error::Io {
            doing: "find",
            path: path.clone(),
            source,
        })?;
        if out.is_none() {
            link(&absolute, &run);
        }
        Ok(Self {
            run,
            shown: path.display().to_string(),
            path: absolute,
        })
    }
}

/// Time to the second and four letters, so that two runs of one second differ.
fn name() -> String {
    let now = jiff::Timestamp::now();
    let mixed = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(now.subsec_nanosecond().unsigned_abs());
    format!("{}-{:04x}", now.strftime("%Y%m%d-%H%M%S"), mixed & 0xffff)
}

fn parent() -> PathBuf {
    if let Some(parent) = std::env::var_os(PARENT_ENV).filter(|value| !value.is_empty()) {
        return parent.into();
    }
    if Path::new("Cargo.toml").is_file() {
        return "target/sliceproof/runs".into();
    }
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir)
        .join("sliceproof/runs")
}

/// A convenience: where it cannot be had, the run goes on.
fn link(folder: &Path, run: &str) {
    let Some(parent) = folder.parent() else {
        return;
    };
    let (latest, new) = (parent.join("latest"), parent.join(format!(".latest-{run}")));
    let made = std::os::unix::fs::symlink(run, &new).and_then(|()| std::fs::rename(&new, &latest));
    if made.is_err() {
        let _ = std::fs::remove_file(&new);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test says what it expects")]
    use super::*;

    #[test]
    fn the_named_folder_is_taken_and_a_blocked_one_is_named() {
        let parent = tempfile::tempdir().expect("a folder");
        let out = parent.path().join("a/b");
        let folder = RunFolder::make(Some(&out)).expect("made");
        assert!(folder.path.is_dir());
        assert!(!parent.path().join("a/latest").exists());
        let file = parent.path().join("file");
        std::fs::write(&file, "x").expect("written");
        let error = RunFolder::make(Some(&file.join("c"))).expect_err("a file is in the way");
        assert!(error.to_string().contains("make the run folder"), "{error}");
    }

    #[test]
    fn the_link_follows_the_newest_run() {
        let parent = tempfile::tempdir().expect("a folder");
        for run in ["one", "two"] {
            let folder = parent.path().join(run);
            std::fs::create_dir(&folder).expect("made");
            link(&folder, run);
        }
        assert_eq!(
            std::fs::read_link(parent.path().join("latest")).expect("a link"),
            Path::new("two")
        );
    }
}
