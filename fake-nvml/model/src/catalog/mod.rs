//! The catalogue: GPU models from YAML files, each value with its confidence and source.
//! Not here: the compact form that travels (`spec`).
//! In: the built-in files of `fake-nvml/catalog/` and users' own. Out: [`Model`]s.
mod check;
mod error;
mod file;
mod rows;
#[cfg(test)]
mod tests;

pub use error::CatalogError;
pub use file::Confidence;
pub use rows::FactRow;

use crate::spec::Spec;
use std::{collections::BTreeMap, sync::OnceLock};

/// The built-in files; a test compares this list with the folder.
const BUILTIN: &[(&str, &str)] = &[
    (
        "a100-sxm4-40gb.yaml",
        include_str!("../../../catalog/a100-sxm4-40gb.yaml"),
    ),
    (
        "a100-sxm4-80gb.yaml",
        include_str!("../../../catalog/a100-sxm4-80gb.yaml"),
    ),
    (
        "h100-sxm5-80gb.yaml",
        include_str!("../../../catalog/h100-sxm5-80gb.yaml"),
    ),
    ("l4.yaml", include_str!("../../../catalog/l4.yaml")),
];
const SOURCES: (&str, &str) = (
    "sources.yaml",
    include_str!("../../../catalog/sources.yaml"),
);

/// All known models.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    models: Vec<Model>,
    sources: BTreeMap<String, String>,
}

/// One model with the provenance of its values.
#[derive(Clone, Debug)]
pub struct Model {
    spec: Spec,
    facts: Vec<FactRow>,
    notes: Vec<String>,
    sources: BTreeMap<String, String>,
}

impl Model {
    /// The compact form.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The catalogue's name.
    #[allow(clippy::misnamed_getters)] // the spec's `name` is the product's
    pub fn name(&self) -> &str {
        &self.spec.model
    }

    /// Every value with its confidence and sources, in the order of the file.
    pub fn facts(&self) -> &[FactRow] {
        &self.facts
    }

    /// Remarks on the whole model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What a source id of [`Model::facts`] stands for.
    pub fn source(&self, id: &str) -> Option<&str> {
        self.sources.get(id).map(String::as_str)
    }
}

/// A name that no model has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no GPU model `{asked}`{}; known are {}", .nearest.as_ref().map(|n| format!(", did you mean `{n}`?")).unwrap_or_default(), .known.join(", "))]
pub struct UnknownModel {
    /// Asked for.
    pub asked: String,
    /// All there are.
    pub known: Vec<String>,
    /// The most similar one, if one is similar at all.
    pub nearest: Option<String>,
}

impl Catalog {
    /// The models that come with the program.
    ///
    /// # Panics
    /// Never: a test reads every built-in file.
    pub fn builtin() -> Self {
        static BUILT: OnceLock<Catalog> = OnceLock::new();
        BUILT
            .get_or_init(|| match Self::read_builtin() {
                Ok(catalog) => catalog,
                Err(error) => panic!("the built-in catalogue does not read: {error}"),
            })
            .clone()
    }

    fn read_builtin() -> Result<Self, CatalogError> {
        let mut catalog = Self {
            models: Vec::new(),
            sources: file::sources(SOURCES.0, SOURCES.1)?,
        };
        for (name, text) in BUILTIN {
            let model = catalog.check(name, text)?;
            catalog.models.push(model);
        }
        Ok(catalog)
    }

    /// Reads a model file and checks it, without adding it. `name` is what messages call the file.
    ///
    /// # Errors
    /// [`CatalogError`]: the first problem, with its place and what to mend.
    pub fn check(&self, name: &str, yaml: &str) -> Result<Model, CatalogError> {
        let parsed = file::read(name, yaml)?;
        let mut sources = self.sources.clone();
        sources.extend(parsed.sources.clone());
        let checker = check::Checker::new(name, &sources);
        let spec = checker.spec(&parsed)?;
        let facts = rows::read(name, yaml)?;
        let cited = |id: &String| facts.iter().any(|row| row.sources.contains(id));
        sources.retain(|id, _| cited(id));
        Ok(Model {
            spec,
            facts,
            notes: parsed.notes,
            sources,
        })
    }

    /// Adds a model; one of the same name is replaced.
    pub fn add(&mut self, model: Model) {
        self.models
            .retain(|known| !known.name().eq_ignore_ascii_case(model.name()));
        self.models.push(model);
    }

    /// Looks a model up by name, whatever the case.
    ///
    /// # Errors
    /// [`UnknownModel`] with the nearest name.
    pub fn model(&self, name: &str) -> Result<&Model, UnknownModel> {
        self.models
            .iter()
            .find(|model| model.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> UnknownModel {
        let known: Vec<String> = self.models.iter().map(|m| m.name().to_owned()).collect();
        let lower = name.to_ascii_lowercase();
        let nearest = known
            .iter()
            .map(|k| (strsim::jaro_winkler(&lower, &k.to_ascii_lowercase()), k))
            .filter(|(score, _)| *score > 0.6)
            // The first of equals: the smaller card.
            .fold(
                None,
                |best: Option<(f64, &String)>, (score, k)| match best {
                    Some((top, _)) if top >= score => best,
                    _ => Some((score, k)),
                },
            )
            .map(|(_, k)| k.clone());
        UnknownModel {
            asked: name.to_owned(),
            known,
            nearest,
        }
    }

    /// All models.
    pub fn models(&self) -> &[Model] {
        &self.models
    }
}
