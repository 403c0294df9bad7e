//! What the catalogue knows of a whole card, for where a pool publishes only some partitions of it.

use std::collections::HashMap;
use std::sync::LazyLock;

use gpu_model::Catalog;

/// All of a card.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeCard {
    pub(super) compute_slices: i64,
    /// Of its largest partition, in bytes: what can be sold of it when it is cut.
    pub(super) memory: i64,
}

/// By what NVML calls the product, and by the catalogue's own name.
static CARDS: LazyLock<HashMap<String, WholeCard>> = LazyLock::new(|| {
    let catalog = Catalog::builtin();
    let cards = catalog.models().into_iter().filter_map(|model| {
        let spec = model.spec();
        let mig = spec.mig.as_ref()?;
        let memory = mig.profiles.iter().map(|profile| profile.memory.0).max()?;
        let whole = WholeCard {
            compute_slices: mig.compute_slices.0.into(),
            memory: i64::try_from(memory).ok()?.checked_mul(1 << 20)?,
        };
        Some([(spec.name.clone(), whole), (spec.model.clone(), whole)])
    });
    cards.flatten().collect()
});

/// The whole card of a product; `None` where it is not in the catalogue or cannot be cut.
pub(super) fn of(product: &str) -> Option<WholeCard> {
    CARDS.get(product).copied()
}
