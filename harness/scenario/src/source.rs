//! Feature files: found, read, and never silently left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A feature file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as a person would type it.
    pub shown: String,
    /// Name of the file in ids: relative to the innermost `scenarios` folder, without its ending.
    pub id: String,
    /// Whole text, ending in a newline.
    pub text: String,
    /// Its folder: manifests that it names lie there.
    pub folder: PathBuf,
}

impl SourceFile {
    /// A file from its text.
    #[must_use]
    pub fn new(shown: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let shown = shown.into();
        let folder = Path::new(&shown)
            .parent()
            .unwrap_or(Path::new(""))
            .to_owned();
        Self::within(folder, shown, text)
    }

    /// The same, where its folder is not what `shown` says.
    #[must_use]
    pub fn within(
        folder: impl Into<PathBuf>,
        shown: impl Into<String>,
        text: impl Into<String>,
    ) -> Arc<Self> {
        let shown = shown.into();
        let mut text = text.into();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Arc::new(Self {
            id: id_of(&shown),
            shown,
            text,
            folder: folder.into(),
        })
    }

    /// Place of line `number` (from 1) without its indentation.
    #[must_use]
    pub fn line_span(&self, number: usize) -> (usize, usize) {
        let mut start = 0;
        for (at, line) in self.text.split_inclusive('\n').enumerate() {
            if at + 1 == number {
                let indent = line.len() - line.trim_start().len();
                return (start + indent.min(line.len() - 1), line.trim().len().max(1));
            }
            start += line.len();
        }
        (0, 1)
    }

    /// Column (in characters, from 1) of byte `offset`.
    #[must_use]
    pub fn column_at(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1
    }

    /// Line (from 1) that holds byte `offset`.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.text
            .as_bytes()
            .iter()
            .take(offset)
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    }
}

/// A path that gives no feature file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Nothing there.
    #[error(
        "there is no file or folder {path}; name a .feature file or a folder that holds some (`sliceproof test scenarios/`)"
    )]
    Missing {
        /// As asked for.
        path: String,
    },
    /// A folder under the name of a manifest.
    #[error("{path} is a folder; name the manifests in it one by one")]
    Folder {
        /// As asked for.
        path: String,
    },
    /// No manifest there.
    #[error("there is no manifest {path}")]
    MissingManifest {
        /// As asked for.
        path: String,
    },
    /// A folder without features.
    #[error(
        "the folder {path} holds no .feature file; name another, or write one (`sliceproof steps` lists what it can say)"
    )]
    NoFeatures {
        /// As asked for.
        path: String,
    },
    /// A file of another kind.
    #[error("{path} is not a feature file: its name does not end in .feature")]
    NotAFeature {
        /// As asked for.
        path: String,
    },
    /// A file of bytes.
    #[error("{path} is not text: byte {at} is not UTF-8; save the file as UTF-8")]
    NotText {
        /// As asked for.
        path: String,
        /// The first byte that is none, from 0.
        at: usize,
    },
    /// The file system refused.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// Why.
        reason: String,
    },
}

/// Reads every feature file under `paths`, each once, sorted by path; or says everything that is wrong with the paths.
///
/// # Errors
/// Each path that gives nothing.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Arc<SourceFile>>, Vec<SourceError>> {
    let files = read_with_paths(paths)?;
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

/// The same with the path of each file.
pub(crate) fn read_with_paths(
    paths: &[PathBuf],
) -> Result<Vec<(PathBuf, Arc<SourceFile>)>, Vec<SourceError>> {
    let mut errors = Vec::new();
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            walk(path, &mut found, &mut errors);
            if found.len() == before && errors.is_empty() {
                errors.push(SourceError::NoFeatures {
                    path: path.display().to_string(),
                });
            }
        } else if path.is_file() {
            if path.extension().is_some_and(|ending| ending == "feature") {
                found.push(path.clone());
            } else {
                errors.push(SourceError::NotAFeature {
                    path: path.display().to_string(),
                });
            }
        } else {
            errors.push(SourceError::Missing {
                path: path.display().to_string(),
            });
        }
    }
    found.sort();
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    let mut files = Vec::new();
    for path in found {
        match load(&path) {
            Ok(file) => files.push((path, file)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(files)
    } else {
        Err(errors)
    }
}

/// A file's text.
fn load(path: &Path) -> Result<Arc<SourceFile>, SourceError> {
    let shown = || path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| SourceError::Unreadable {
        path: shown(),
        reason: error.to_string(),
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceFile::new(show(path), text)),
        Err(error) => Err(SourceError::NotText {
            path: shown(),
            at: error.utf8_error().valid_up_to(),
        }),
    }
}

/// Whether a path is that of a manifest, by its ending.
#[must_use]
pub fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["yaml", "yml", "json"].contains(&ending))
}

/// Reads manifests, each a file, each once.
pub(crate) fn read_manifests(paths: &[PathBuf]) -> Result<Vec<Arc<SourceFile>>, Vec<SourceError>> {
    let mut errors = Vec::new();
    let mut files = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        if !path.exists() {
            errors.push(SourceError::MissingManifest {
                path: path.display().to_string(),
            });
            continue;
        }
        if path.is_dir() {
            errors.push(SourceError::Folder {
                path: path.display().to_string(),
            });
            continue;
        }
        match load(path) {
            Ok(file) => files.push(file),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(files)
    } else {
        Err(errors)
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>, errors: &mut Vec<SourceError>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(SourceError::Unreadable {
                path: folder.display().to_string(),
                reason: error.to_string(),
            });
            return;
        }
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // Links to folders are not followed: a loop would never end.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            walk(&path, found, errors);
        } else if path.extension().is_some_and(|ending| ending == "feature") {
            found.push(path);
        }
    }
}

fn show(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
        .display()
        .to_string()
}

fn id_of(shown: &str) -> String {
    let bare = shown.strip_suffix(".feature").unwrap_or(shown);
    let parts: Vec<&str> = bare
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
        .collect();
    let from = parts
        .iter()
        .rposition(|part| *part == "scenarios")
        .map_or(0, |at| at + 1);
    parts
        .get(from..)
        .filter(|rest| !rest.is_empty())
        .unwrap_or(&parts)
        .join("/")
}
