//! The catalogue: GPU models from YAML files, each value with its confidence and source.
//! Not here: the compact form that travels (`spec`).
//! In: the built-in files of `fake-nvml/catalog/` and users' own. Out: [`Model`]s.
use crate::spec::Spec;

/// All known models.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    models: Vec<Model>,
}

/// One model with the provenance of its values.
#[derive(Clone, Debug)]
pub struct Model {
    spec: Spec,
}

impl Model {
    /// The compact form.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The catalogue's name.
    pub fn name(&self) -> &str {
        &self.spec.model
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
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Looks a model up by name, whatever the case.
    ///
    /// # Errors
    /// [`UnknownModel`] with the nearest name.
    pub fn model(&self, name: &str) -> Result<&Model, UnknownModel> {
        self.models
            .iter()
            .find(|model| model.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                let known: Vec<String> = self.models.iter().map(|m| m.name().to_owned()).collect();
                let lower = name.to_ascii_lowercase();
                let nearest = known
                    .iter()
                    .map(|k| (strsim::jaro_winkler(&lower, &k.to_ascii_lowercase()), k))
                    .filter(|(score, _)| *score > 0.6)
                    .max_by(|(a, _), (b, _)| a.total_cmp(b))
                    .map(|(_, k)| k.clone());
                UnknownModel { asked: name.to_owned(), known, nearest }
            })
    }

    /// All models, in the order of their names.
    pub fn models(&self) -> &[Model] {
        &self.models
    }
}
