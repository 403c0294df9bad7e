//! The programs of one run, ready to be started.
//! Not a cache: it is a table of paths and of what is known about them.
//! Comes from [`crate::Catalog::ensure`] or from a folder of hand-built programs; goes to `cluster` and into reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::host::is_executable;

/// One program that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledComponent {
    /// The component's name.
    pub name: String,
    /// File name that the program has in the world: `ptp` for `cni-ptp`.
    pub program: String,
    /// Its version, as the lock says; for a program that the user named, `own`.
    pub version: String,
    /// Where it came from: toolchain, package with version, file of the user.
    pub origin: String,
    /// The program, as an absolute path.
    pub path: PathBuf,
    /// SHA-256 of the program; not known for programs that the user named.
    pub sha256: Option<String>,
}

/// Programs by component name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed(BTreeMap<String, InstalledComponent>);

impl Installed {
    pub(crate) fn new(components: impl IntoIterator<Item = InstalledComponent>) -> Self {
        Self(
            components
                .into_iter()
                .map(|component| (component.name.clone(), component))
                .collect(),
        )
    }

    /// Programs built by hand into one folder: each file is named like the component, or like the program in the world.
    /// Components without a file are left out; [`Installed::path`] tells when one is asked for.
    pub fn from_dir(folder: &Path) -> Result<Self> {
        let catalog = Catalog::embedded()?;
        let folder = folder
            .canonicalize()
            .map_err(Error::cache("open the folder", folder))?;
        let found = catalog.lock().components().iter().filter_map(|component| {
            let path = [component.name.as_str(), component.program()]
                .iter()
                .map(|name| folder.join(name))
                .find(|file| is_executable(file))?;
            Some(InstalledComponent {
                name: component.name.clone(),
                program: component.program().to_owned(),
                version: "own".to_owned(),
                origin: format!("folder {}", folder.display()),
                path,
                sha256: None,
            })
        });
        Ok(Self::new(found))
    }

    /// The program of a component.
    pub fn path(&self, name: &str) -> Result<&Path> {
        self.get(name).map(|component| component.path.as_path())
    }

    /// All that is known of a component.
    pub fn get(&self, name: &str) -> Result<&InstalledComponent> {
        self.0.get(name).ok_or_else(|| Error::NotInstalled {
            name: name.to_owned(),
            present: self.0.keys().cloned().collect(),
        })
    }

    /// All components, by name.
    pub fn components(&self) -> impl Iterator<Item = &InstalledComponent> {
        self.0.values()
    }
}
