//! Programs that the user names in place of the lock's: `--component NAME=PATH`, or `SLICEPROOF_COMPONENT_<NAME>`.
//! Not cached and not copied: they are used where they lie, so that a rebuilt driver is the one that runs.
//! Text comes from the command line and the environment; checked paths go to `catalog`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::host::{Host, is_executable};

/// Start of the variables' names; the component's name follows in capitals, with `_` for dashes and dots.
const PREFIX: &str = "SLICEPROOF_COMPONENT_";

/// Component name, file, and who named it.
#[derive(Debug, Clone, Default)]
pub struct Overrides(BTreeMap<String, Named>);

/// A file and who named it.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) path: PathBuf,
    pub(crate) origin: String,
}

impl Overrides {
    /// From values of `--component`, each `NAME=PATH`.
    pub fn from_args<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Result<Self> {
        let one = |given: &str| match given.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((
                name.to_owned(),
                Named {
                    path: path.into(),
                    origin: format!("--component {given}"),
                },
            )),
            _ => Err(Error::OverrideSyntax {
                given: given.to_owned(),
            }),
        };
        args.into_iter()
            .map(|given| one(given.as_ref()))
            .collect::<Result<_>>()
            .map(Self)
    }

    /// From the environment. A variable for a name that does not exist is an error: it would be silently without effect.
    pub(crate) fn from_env<'a>(
        host: &Host,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self> {
        let mut overrides = BTreeMap::new();
        for (variable, path) in host.vars() {
            let Some(suffix) = variable
                .to_str()
                .and_then(|variable| variable.strip_prefix(PREFIX))
            else {
                continue;
            };
            if path.is_empty() {
                continue;
            }
            let name = known
                .clone()
                .find(|name| name.to_ascii_uppercase().replace(['-', '.'], "_") == suffix)
                .ok_or_else(|| {
                    Error::unknown(
                        &suffix.to_ascii_lowercase().replace('_', "-"),
                        known.clone(),
                    )
                })?;
            overrides.insert(
                name.to_owned(),
                Named {
                    path: path.into(),
                    origin: format!("the variable {PREFIX}{suffix}"),
                },
            );
        }
        Ok(Self(overrides))
    }

    /// These, with the others winning.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Named> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Named {
    /// The file as an absolute path, if it can be executed.
    pub(crate) fn check(&self, name: &str) -> Result<PathBuf> {
        let unusable = |problem: String, remedy: String| Error::UnusablePath {
            name: name.to_owned(),
            origin: self.origin.clone(),
            path: self.path.clone(),
            problem,
            remedy,
        };
        match self.path.canonicalize() {
            Err(error) => Err(unusable(
                format!("which cannot be opened: {error}"),
                "Name an existing program, or leave it out to use the one of the lock file."
                    .to_owned(),
            )),
            Ok(path) if path.is_dir() => Err(unusable(
                "which is a folder".to_owned(),
                format!(
                    "Name the program itself, perhaps {}.",
                    path.join(name).display()
                ),
            )),
            Ok(path) if !is_executable(&path) => Err(unusable(
                "which is not executable".to_owned(),
                format!("If it is a program: `chmod +x {}`.", path.display()),
            )),
            Ok(path) => Ok(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_matched_to_names() -> Result<()> {
        let known = ["kubelet", "containerd-shim-runc-v2"];
        let read = |variable: &str| {
            Overrides::from_env(&Host::with_vars([(variable, "/x")]), known.into_iter())
        };
        assert!(
            read("SLICEPROOF_COMPONENT_CONTAINERD_SHIM_RUNC_V2")?
                .get("containerd-shim-runc-v2")
                .is_some()
        );
        assert!(read("SLICEPROOF_COMPONENTS_LOCK")?.names().next().is_none());
        let message = read("SLICEPROOF_COMPONENT_KUBLET")
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert!(
            matches!(&message, Err(text) if text.contains("did you mean \"kubelet\"?")),
            "{message:?}"
        );
        Ok(())
    }

    #[test]
    fn arguments_need_a_name_and_a_path() {
        for wrong in ["kubelet", "=x", "kubelet=", ""] {
            assert!(
                matches!(
                    Overrides::from_args([wrong]),
                    Err(Error::OverrideSyntax { .. })
                ),
                "{wrong}"
            );
        }
    }
}
