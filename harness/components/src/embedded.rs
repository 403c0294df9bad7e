//! The lock file and the files beside it (Go modules, Python requirements) as they were when this program was built.
//! Not a cache: it holds text only, so that the program works from any folder.
//! Data comes from `ci/` at compile time and goes to [`crate::Catalog::embedded`].

pub(crate) const LOCK: &str = include_str!("../../../ci/components.lock");

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../ci/", $name)))),*]
    };
}

/// The files beside the lock, by their path from its folder.
pub(crate) const FILES: &[(&str, &str)] = files![
    "go/containerd/go.mod",
    "go/containerd/go.sum",
    "go/coscheduling/go.mod",
    "go/coscheduling/go.sum",
    "go/coscheduling/main.go",
    "go/dra-allocator-1.34/go.mod",
    "go/dra-allocator-1.34/go.sum",
    "go/dra-allocator-1.34/main.go",
    "go/dra-allocator-1.34/version.go",
    "go/dra-allocator-1.35/chosen.go",
    "go/dra-allocator-1.35/go.mod",
    "go/dra-allocator-1.35/go.sum",
    "go/dra-allocator-1.35/main.go",
    "go/dra-allocator-1.35/version.go",
    "go/dra-allocator-1.36/chosen.go",
    "go/dra-allocator-1.36/go.mod",
    "go/dra-allocator-1.36/go.sum",
    "go/dra-allocator-1.36/main.go",
    "go/dra-allocator-1.36/version.go",
    "go/dra-allocator-1.37/chosen.go",
    "go/dra-allocator-1.37/go.mod",
    "go/dra-allocator-1.37/go.sum",
    "go/dra-allocator-1.37/main.go",
    "go/dra-allocator-1.37/version.go",
    "go/etcd/go.mod",
    "go/etcd/go.sum",
    "go/kubernetes-1.34/go.mod",
    "go/kubernetes-1.34/go.sum",
    "go/kubernetes-1.35/go.mod",
    "go/kubernetes-1.35/go.sum",
    "go/kubernetes-1.36/go.mod",
    "go/kubernetes-1.36/go.sum",
    "go/kubernetes/go.mod",
    "go/kubernetes/go.sum",
    "go/kueue/go.mod",
    "go/kueue/go.sum",
    "go/node/go.mod",
    "go/node/go.sum",
    "go/nvidia-container-toolkit/go.mod",
    "go/nvidia-container-toolkit/go.sum",
    "go/nvidia-device-plugin/go.mod",
    "go/nvidia-device-plugin/go.sum",
    "go/nvidia-dra-driver/go.mod",
    "go/nvidia-dra-driver/go.sum",
    "go/nvml-view/go.mod",
    "go/nvml-view/go.sum",
    "go/nvml-view/main.go",
    "python/gpustat-build.txt",
    "python/gpustat.txt",
    "python/nvidia-ml-py.txt",
    "python/nvitop.txt",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_beside_the_lock_is_embedded() -> std::io::Result<()> {
        let ci = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci"));
        let mut found = Vec::new();
        let mut folders = vec![ci.join("go"), ci.join("python")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(relative) = path.strip_prefix(ci) {
                    found.push(relative.to_string_lossy().into_owned());
                }
            }
        }
        found.sort();
        let embedded: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, embedded);
        Ok(())
    }
}
