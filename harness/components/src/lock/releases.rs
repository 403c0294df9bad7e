//! Other minors of Kubernetes than the one that the components name: the same programs from another module folder.
//! Not here: how a program is built (`go`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Component, Lock, Source};
use crate::error::{Error, Result};
use crate::modfile::ModFile;

/// The module folder of the components' own Kubernetes.
const FOLDER: &str = "kubernetes";

/// A table `[kubernetes."1.36"]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    version: String,
    pub(super) module: String,
}

impl Release {
    /// These components as this release has them.
    fn of(&self, components: &[Component]) -> Vec<Component> {
        let mut components = components.to_vec();
        for component in &mut components {
            if let Source::Go(source) = &mut component.source
                && source.module == FOLDER
            {
                source.module.clone_from(&self.module);
                component.version.clone_from(&self.version);
            }
        }
        components
    }

    /// The release is of the minor that names it, and its module folder has every program.
    pub(super) fn check(
        &self,
        minor: &str,
        components: &[Component],
        module: Option<&ModFile>,
    ) -> Result<(), String> {
        if minor_of(&self.version) != minor {
            return Err(format!(
                "[kubernetes.{minor:?}] names version {}, which is of another minor",
                self.version
            ));
        }
        self.of(components)
            .iter()
            .filter_map(|component| match &component.source {
                Source::Go(source) if source.module == self.module => Some((component, source)),
                _ => None,
            })
            .try_for_each(|(component, source)| super::check_go(component, source, module))
    }
}

/// `1.36` of `1.36.3`.
fn minor_of(version: &str) -> &str {
    match version.match_indices('.').nth(1) {
        Some((dot, _)) => &version[..dot],
        None => version,
    }
}

/// By which minors are ordered: 9 is older than 10.
fn number(minor: &str) -> Option<u32> {
    minor.rsplit('.').next()?.parse().ok()
}

impl Lock {
    /// The minor of Kubernetes that the components have, `1.37`; `None` where none is built from Kubernetes' module.
    #[must_use]
    pub fn kubernetes(&self) -> Option<&str> {
        let ours = |module: &str| {
            module == FOLDER
                || self
                    .releases
                    .values()
                    .any(|release| release.module == module)
        };
        let mut components = self.components.iter();
        let found = components.find(|it| matches!(&it.source, Source::Go(go) if ours(&go.module)));
        found.map(|component| minor_of(&component.version))
    }

    /// The minors that [`Lock::with_kubernetes`] takes, oldest first.
    #[must_use]
    pub fn minors(&self) -> Vec<&str> {
        let mut minors: Vec<&str> = self.releases.keys().map(String::as_str).collect();
        minors.extend(self.kubernetes());
        minors.sort_by_key(|minor| number(minor));
        minors.dedup();
        minors
    }

    /// The same programs, those of Kubernetes in this minor.
    ///
    /// # Errors
    /// The lock has no such minor.
    pub fn with_kubernetes(mut self, minor: &str) -> Result<Self> {
        if self.kubernetes() == Some(minor) {
            return Ok(self);
        }
        let Some(release) = self.releases.get(minor) else {
            return Err(Error::Kubernetes {
                asked: minor.to_owned(),
                known: self.minors().join(", "),
            });
        };
        self.components = release.of(&self.components);
        Ok(self)
    }
}

/// The tables by minor.
pub(super) type Releases = BTreeMap<String, Release>;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Catalog;

    #[test]
    fn each_minor_gives_the_same_programs_in_its_version() -> Result<()> {
        let lock = Catalog::embedded()?.lock().clone();
        assert_eq!(lock.minors(), ["1.34", "1.35", "1.36", "1.37"]);
        assert_eq!(lock.kubernetes(), Some("1.37"));
        let names = |lock: &Lock| -> Vec<String> {
            lock.components().iter().map(|it| it.name.clone()).collect()
        };
        for minor in lock.minors() {
            let other = lock.clone().with_kubernetes(minor)?;
            assert_eq!(names(&other), names(&lock));
            assert_eq!(other.kubernetes(), Some(minor));
            let kubelet = other.component("kubelet")?;
            assert_eq!(minor_of(&kubelet.version), minor);
            let Source::Go(source) = &kubelet.source else {
                panic!("{kubelet:?}")
            };
            // What the programs say of themselves is what they are.
            let flags = &other.go_build(&source.module).expect("its table").ldflags;
            let said = format!("gitVersion=v{}", kubelet.version);
            assert!(flags.iter().any(|flag| flag.ends_with(&said)), "{flags:?}");
            assert_eq!(
                other.component("etcd")?.version,
                lock.component("etcd")?.version
            );
        }
        Ok(())
    }

    #[test]
    fn a_minor_that_is_not_there_is_refused_with_those_that_are() -> Result<()> {
        let lock = Catalog::embedded()?.lock().clone();
        let error = lock.with_kubernetes("1.33").expect_err("1.33").to_string();
        assert!(
            error.contains("\"1.33\"") && error.contains("1.34, 1.35, 1.36, 1.37"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn a_table_that_cannot_be_is_refused_with_its_line() {
        let lock = |table: &str| {
            let text = format!(
                "format = 1\n[go.kubernetes]\n[go.old]\n[component.kubelet]\nversion = \"1.37.2\"\npurpose = \"p\"\n\
                 go = {{ module = \"kubernetes\", package = \"k8s.io/kubernetes/cmd/kubelet\" }}\n{table}"
            );
            let read = Lock::parse(&text, Path::new("components.lock"), |file| {
                let version = if file.contains("old") {
                    "1.36.3"
                } else {
                    "1.37.2"
                };
                Ok(format!(
                    "module m\ngo 1.26.8\nrequire k8s.io/kubernetes v{version}\n"
                ))
            });
            read.map(|lock| lock.minors().join(" "))
                .map_err(|error| error.to_string())
        };
        let table = |minor: &str, version: &str, module: &str| {
            lock(&format!(
                "[kubernetes.\"{minor}\"]\nversion = \"{version}\"\nmodule = \"{module}\"\n"
            ))
        };
        assert_eq!(table("1.36", "1.36.3", "old").as_deref(), Ok("1.36 1.37"));
        for (wrong, part) in [
            (table("1.35", "1.36.3", "old"), "which is of another minor"),
            (
                table("1.36", "1.36.4", "old"),
                "kubelet is 1.36.4 here, but go/old/go.mod requires 1.36.3",
            ),
            (table("1.36", "1.36.3", "none"), "no [go.none] table"),
        ] {
            let error = wrong.expect_err(part);
            assert!(
                error.contains("line 8: ") && error.contains(part),
                "{error}"
            );
        }
    }
}
