//! A place for a tree that is gone with the last process that sees it, however that ends: nothing is written to any disk.
//! Needs a private mount namespace; the tree is kept in memory (tmpfs).

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{At, Error};
use crate::mounts::{bind, detach, tmpfs};

/// A folder of `/proc` that every kernel has and that nobody needs while a namespace is set up: the tmpfs needs some place.
const COVER: &str = "/proc/fs";
/// Where the tree of `fakegpu run` can be seen inside.
pub const SHOWN: &str = "/dev/.fakegpu";

/// A tmpfs in the current mount namespace.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Mounts it.
    ///
    /// # Errors
    /// [`Error::Mount`].
    pub fn mount() -> Result<Self, Error> {
        tmpfs(Path::new(COVER))?;
        Ok(Self {
            dir: Path::new(COVER).join("tree"),
        })
    }

    /// Where to lay the tree.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Shows a file or folder from elsewhere in place of one in the tree.
    ///
    /// # Errors
    /// [`Error::Mount`].
    pub fn put(&self, from: &Path, at: &Path) -> Result<(), Error> {
        bind(from, at)
    }

    /// After [`HostTree::enter`](crate::HostTree::enter): gives the covered folder back and shows the tree below `/dev`.
    ///
    /// # Errors
    /// [`Error::Mount`], [`Error::File`].
    pub fn finish(self) -> Result<PathBuf, Error> {
        let shown = PathBuf::from(SHOWN);
        fs::create_dir_all(&shown).at("make the folder", &shown)?;
        bind(&self.dir, &shown)?;
        detach(Path::new(COVER))?;
        Ok(shown)
    }
}
