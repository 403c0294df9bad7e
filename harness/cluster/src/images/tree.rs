//! A root file system as a value, and its bytes as a reproducible tar. Pure.
use std::collections::BTreeMap;

use tar::{Builder, EntryType, Header};

use super::error::Error;

/// One entry of a root file system; all belong to uid 0 and gid 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Symlink { target: String },
}

/// A root file system: entries by path without a leading slash. Parents are made as needed, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds an entry and the folders above it; a folder that is there keeps its mode.
    pub(super) fn put(&mut self, path: &str, entry: Entry) {
        let path = path.trim_matches('/');
        for (at, _) in path.match_indices('/') {
            self.0
                .entry(path[..at].to_owned())
                .or_insert(Entry::Folder { mode: 0o755 });
        }
        self.0.insert(path.to_owned(), entry);
    }

    pub(super) fn folder(&mut self, path: &str, mode: u32) {
        self.put(path, Entry::Folder { mode });
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, bytes: impl Into<Vec<u8>>) {
        self.put(
            path,
            Entry::File {
                mode,
                bytes: bytes.into(),
            },
        );
    }

    pub(super) fn symlink(&mut self, path: &str, target: &str) {
        self.put(
            path,
            Entry::Symlink {
                target: target.to_owned(),
            },
        );
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.0
    }

    /// The tree as an uncompressed tar: the layer of an image.
    pub(super) fn to_tar(&self) -> Result<Vec<u8>, Error> {
        let mut tar = Builder::new(Vec::new());
        for (path, entry) in &self.0 {
            let fail = |source| Error::Layer {
                entry: path.clone(),
                source,
            };
            match entry {
                Entry::Folder { mode } => tar.append_data(
                    &mut header(EntryType::Directory, *mode, 0),
                    format!("{path}/"),
                    &[][..],
                ),
                Entry::File { mode, bytes } => tar.append_data(
                    &mut header(EntryType::Regular, *mode, bytes.len()),
                    path,
                    bytes.as_slice(),
                ),
                Entry::Symlink { target } => {
                    tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)
                }
            }
            .map_err(fail)?;
        }
        tar.into_inner().map_err(|source| Error::Layer {
            entry: "end".into(),
            source,
        })
    }
}

/// No time, no names, no owner but 0: the same tree gives the same bytes on every machine.
pub(super) fn header(kind: EntryType, mode: u32, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size as u64);
    header
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
