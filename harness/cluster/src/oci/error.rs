//! What can go wrong between containerd and runc.
use std::io;
use std::path::PathBuf;

/// A failure of the wrapper or of the hook. containerd shows the text in the pod's events, so it says what to look at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that the wrapper needs cannot be read.
    #[error("reading {what} {}: {source}", path.display())]
    Read {
        /// What the file is.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that the wrapper changes cannot be written.
    #[error("writing {what} {}: {source}; is the disk full?", path.display())]
    Write {
        /// What the file is.
        what: &'static str,
        /// Where it should go.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file is there but is not the JSON that it should be.
    #[error("{what} {} is not valid: {source}", path.display())]
    Parse {
        /// What the file is.
        what: &'static str,
        /// Where it lies.
        path: PathBuf,
        /// What the parser found.
        source: serde_json::Error,
    },
    /// The settings were written by another version of this program.
    #[error("settings of the OCI wrapper {} have version {found}, this program reads version {known}; start the cluster anew", path.display())]
    Version {
        /// The settings file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The version that is understood.
        known: u32,
    },
    /// The annotation that asks for load cannot be read.
    // What is wrong stands first: kubelet and containerd put much before it, and whoever shows events cuts them.
    #[error(
        "{problem}, says the annotation {} {text:?}; write it like \"utilization=80,memory=2GiB\"",
        super::load::ANNOTATION
    )]
    Load {
        /// The annotation.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The cards do not take the load that the annotation asks for.
    #[error("{why}, for the annotation {}", super::load::ANNOTATION)]
    LoadRefused {
        /// What the card says.
        why: String,
    },
    /// runc could not be started.
    #[error("starting runc {}: {source}; check it with `sliceproof components path runc`", path.display())]
    Exec {
        /// The runc that the settings name.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The hook could not put one of the node's files into the container.
    #[error("container hook: binding the node's {} over {}: {source}", from.display(), to.display())]
    Bind {
        /// The node's file or folder.
        from: PathBuf,
        /// The place in the container's root file system.
        to: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The hook was called without the path of the container's root.
    #[error(
        "container hook: called without the path of the container's root file system; it is meant to be called by runc"
    )]
    NoRoot,
}
