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

/// A built-in file and, once it was asked for, what it says: reading one costs milliseconds, and a run needs one or two.
#[derive(Debug)]
struct File {
    /// The model in it, so that a name is looked up without reading any file.
    model: &'static str,
    name: &'static str,
    yaml: &'static str,
    read: OnceLock<Model>,
}

impl File {
    const fn new(model: &'static str, name: &'static str, yaml: &'static str) -> Self {
        Self {
            model,
            name,
            yaml,
            read: OnceLock::new(),
        }
    }

    fn model(&self) -> &Model {
        self.read
            .get_or_init(|| match Model::of(self.name, self.yaml) {
                Ok(model) => model,
                Err(error) => panic!("a built-in model does not read: {error}"),
            })
    }
}

macro_rules! builtin {
    ($($model:literal $name:literal)*) => {
        /// The built-in files by family, the oldest part last; a test compares this list with the folder.
        static BUILTIN: [File; [$($name),*].len()] = [$(File::new(
            $model,
            $name,
            include_str!(concat!("../../../catalog/", $name)),
        )),*];
    };
}

builtin! {
    "A30-PCIE-24GB" "a30-pcie-24gb.yaml"
    "A100-PCIE-40GB" "a100-pcie-40gb.yaml"
    "A100-PCIE-80GB" "a100-pcie-80gb.yaml"
    "A100-SXM4-40GB" "a100-sxm4-40gb.yaml"
    "A100-SXM4-80GB" "a100-sxm4-80gb.yaml"
    "H100-96GB" "h100-96gb.yaml"
    "H100-NVL-94GB" "h100-nvl-94gb.yaml"
    "H100-PCIE-80GB" "h100-pcie-80gb.yaml"
    "H100-SXM5-80GB" "h100-sxm5-80gb.yaml"
    "GH200-144GB" "gh200-144gb.yaml"
    "GH200-96GB" "gh200-96gb.yaml"
    "H200-NVL-141GB" "h200-nvl-141gb.yaml"
    "H200-SXM5-141GB" "h200-sxm5-141gb.yaml"
    "H20-96GB" "h20-96gb.yaml"
    "B200-SXM-180GB" "b200-sxm-180gb.yaml"
    "GB200-186GB" "gb200-186gb.yaml"
    "B300-SXM-269GB" "b300-sxm-269gb.yaml"
    "GB300-278GB" "gb300-278gb.yaml"
    "RTX-PRO-6000-BLACKWELL-SERVER-96GB" "rtx-pro-6000-blackwell-server-96gb.yaml"
    "RTX-6000-ADA" "rtx-6000-ada.yaml"
    "RTX-4000-SFF-ADA" "rtx-4000-sff-ada.yaml"
    "L4" "l4.yaml"
    "L40S" "l40s.yaml"
    "T4" "t4.yaml"
    "V100-SXM2-16GB" "v100-sxm2-16gb.yaml"
}
const SOURCES: (&str, &str) = (
    "sources.yaml",
    include_str!("../../../catalog/sources.yaml"),
);

/// All known models.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Builtin(&'static File),
    Own(Box<Model>),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Builtin(file) => file.model,
            Self::Own(model) => model.name(),
        }
    }

    fn model(&self) -> &Model {
        match self {
            Self::Builtin(file) => file.model(),
            Self::Own(model) => model,
        }
    }
}

/// One model with the provenance of its values.
#[derive(Clone, Debug)]
pub struct Model {
    spec: Spec,
    /// What the file says, and its list for people once somebody asks: to make a machine nobody does.
    yaml: String,
    facts: OnceLock<Vec<FactRow>>,
    notes: Vec<String>,
    /// Sources that the file itself describes.
    sources: BTreeMap<String, String>,
}

impl Model {
    /// Reads a model file and checks it. `name` is what messages call the file.
    ///
    /// # Errors
    /// [`CatalogError`]: the first problem, with its place and what to mend.
    pub fn read(name: &str, yaml: &str) -> Result<Self, CatalogError> {
        let model = Self::of(name, yaml)?;
        // Nobody is told later that a file of theirs has no list.
        let facts = rows::read(name, yaml)?;
        Ok(Self {
            facts: OnceLock::from(facts),
            ..model
        })
    }

    fn of(name: &str, yaml: &str) -> Result<Self, CatalogError> {
        let parsed = file::read(name, yaml)?;
        let mut sources = sources()?.clone();
        sources.extend(parsed.sources.clone());
        let spec = check::Checker::new(name, &sources).spec(&parsed)?;
        Ok(Self {
            spec,
            yaml: yaml.to_owned(),
            facts: OnceLock::new(),
            notes: parsed.notes,
            sources: parsed.sources,
        })
    }

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
        self.facts.get_or_init(|| {
            // Only built-in files come here, and a test lists the facts of each.
            rows::read(self.name(), &self.yaml).unwrap_or_default()
        })
    }

    /// The values that nobody has shown, with the note that says what stands there instead.
    pub fn stand_ins(&self) -> impl Iterator<Item = &FactRow> {
        self.facts().iter().filter(|row| row.is_stand_in())
    }

    /// Remarks on the whole model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What a source id of [`Model::facts`] stands for.
    pub fn source(&self, id: &str) -> Option<&str> {
        let builtin = sources().ok().and_then(|all| all.get(id));
        self.sources.get(id).or(builtin).map(String::as_str)
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
    /// The models that come with the program. Each is read when it is first asked for.
    ///
    /// # Panics
    /// Never, nor does any other method: a test reads every built-in file.
    pub fn builtin() -> Self {
        Self {
            entries: BUILTIN.iter().map(Entry::Builtin).collect(),
        }
    }

    /// Adds a model; one of the same name is replaced.
    pub fn add(&mut self, model: Model) {
        self.entries
            .retain(|known| !known.name().eq_ignore_ascii_case(model.name()));
        self.entries.push(Entry::Own(Box::new(model)));
    }

    /// Looks a model up by name, whatever the case.
    ///
    /// # Errors
    /// [`UnknownModel`] with the nearest name.
    pub fn model(&self, name: &str) -> Result<&Model, UnknownModel> {
        self.entries
            .iter()
            .find(|entry| entry.name().eq_ignore_ascii_case(name))
            .map(Entry::model)
            .ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> UnknownModel {
        let known: Vec<String> = self.names().map(str::to_owned).collect();
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

    /// Names of all models; reads no file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(Entry::name)
    }

    /// All models; reads all files.
    pub fn models(&self) -> Vec<&Model> {
        self.entries.iter().map(Entry::model).collect()
    }
}

/// What the source ids of the built-in folder stand for; users' files may cite them too.
fn sources() -> Result<&'static BTreeMap<String, String>, CatalogError> {
    static READ: OnceLock<Result<BTreeMap<String, String>, CatalogError>> = OnceLock::new();
    READ.get_or_init(|| file::sources(SOURCES.0, SOURCES.1))
        .as_ref()
        .map_err(Clone::clone)
}
