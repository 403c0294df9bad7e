//! What this program is and what it carries.

/// Several lines for `--version`.
pub(crate) fn long() -> String {
    let mut text = format!("{}\n", env!("CARGO_PKG_VERSION"));
    let Ok(catalog) = components::Catalog::embedded() else {
        return text;
    };
    for component in catalog.lock().components() {
        text.push_str(&format!("{:<24} {}\n", component.name, component.version));
    }
    text.push_str(&format!(
        "{:<24} {}\n",
        "fake NVIDIA driver",
        gpu_model::Machine::DRIVER_VERSION
    ));
    text.trim_end().to_owned()
}
