//! What can go wrong while images are put together.
use std::io;
use std::path::{Path, PathBuf};

/// A failure to assemble an image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part cannot be read.
    #[error("images: reading {what} {}: {source}", path.display())]
    Read {
        /// What it is.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The archive or its folder cannot be written.
    #[error("images: writing {what} {}: {source}; is the disk full, or is the cache folder not yours?", path.display())]
    Write {
        /// What it is.
        what: &'static str,
        /// Where it should go.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Busybox does not run or does not list its applets.
    #[error("images: `{} --list-full` failed: {detail}; is the busybox component a static busybox for this machine?", path.display())]
    Busybox {
        /// The busybox that was tried.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
    /// A program that the image is made for is no dynamic ELF file of this machine.
    #[error("images: {name} is not a program or library that this machine can load: {detail}")]
    NotElf {
        /// Its name.
        name: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The machine's loader does not find a library.
    #[error("images: the loader {} cannot resolve what {name} needs: {detail}", loader.display())]
    Unresolved {
        /// The program or library that was looked at.
        name: String,
        /// The loader that was asked.
        loader: PathBuf,
        /// What it said.
        detail: String,
    },
    /// An archive could not be put together in memory.
    #[error("images: writing the entry {entry} of a layer: {source}")]
    Layer {
        /// The entry.
        entry: String,
        /// What the writer said.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn reading(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Read {
            what,
            path: path.into(),
            source,
        }
    }

    pub(super) fn writing(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Write {
            what,
            path: path.into(),
            source,
        }
    }
}
