//! The machine as this crate sees it: environment variables and where programs are found.
//! Not global state: it is a value, so that a test can hand in another machine.
//! Comes from the process's environment once, goes to every child as its whole environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Environment variables of one machine and user.
#[derive(Debug, Clone, Default)]
pub struct Host {
    vars: BTreeMap<OsString, OsString>,
}

impl Host {
    /// This process's environment.
    pub fn current() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
        }
    }

    /// A machine with just these variables.
    pub fn with_vars<K: Into<OsString>, V: Into<OsString>>(
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self {
            vars: vars
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        }
    }

    /// The value of a variable; an empty one counts as not set.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// All variables.
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars
            .iter()
            .map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }

    /// First executable file of that name on PATH; a name with a slash is taken as it is.
    pub fn find_program(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        let name = name.as_ref();
        if name.components().count() > 1 {
            return is_executable(name).then(|| name.to_owned());
        }
        std::env::split_paths(self.var("PATH")?)
            .map(|folder| folder.join(name))
            .find(|file| is_executable(file))
    }

    /// `$XDG_CACHE_HOME/sliceproof`, else `$HOME/.cache/sliceproof`.
    pub fn cache_folder(&self) -> Result<PathBuf> {
        let absolute = |name| {
            self.var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|base| base.join("sliceproof"))
            .ok_or(Error::NoCacheFolder)
    }
}

/// A file that may be executed.
pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
