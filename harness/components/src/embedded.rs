//! The lock file and the Go module files as they were when this program was built.
//! Not a cache: it holds text only, so that the program works from any folder.
//! Data comes from `ci/` at compile time and goes to [`crate::Catalog::embedded`].

pub(crate) const LOCK: &str = include_str!("../../../ci/components.lock");

macro_rules! module {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../ci/go/", $name, "/go.mod")),
            include_str!(concat!("../../../ci/go/", $name, "/go.sum")),
        )
    };
}

/// Folder name, go.mod, go.sum.
pub(crate) const MODULES: &[(&str, &str, &str)] = &[
    module!("containerd"),
    module!("etcd"),
    module!("kubernetes"),
    module!("node"),
    module!("nvidia-dra-driver"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_folder_is_embedded() -> std::io::Result<()> {
        let mut folders: Vec<String> =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/go"))?
                .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                .collect::<Result<_, _>>()?;
        folders.sort();
        assert_eq!(
            folders,
            MODULES
                .iter()
                .map(|(name, ..)| (*name).to_owned())
                .collect::<Vec<_>>()
        );
        Ok(())
    }
}
