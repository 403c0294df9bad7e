//! What the catalogue knows, for the checks of parameters.

use std::collections::BTreeSet;

use gpu_model::Catalog;

/// Names of all models.
pub(crate) fn models() -> Vec<String> {
    Catalog::builtin().names().map(str::to_owned).collect()
}

/// Names of all MIG profiles of all models.
pub(crate) fn profiles() -> Vec<String> {
    let catalog = Catalog::builtin();
    let all: BTreeSet<String> = catalog
        .models()
        .iter()
        .filter_map(|model| model.spec().mig.as_ref())
        .flat_map(|mig| mig.profiles.iter().map(|profile| profile.name.clone()))
        .collect();
    all.into_iter().collect()
}
