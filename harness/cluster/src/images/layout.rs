//! The OCI image layout: layers, configs and manifests as blobs by digest, one index with the names. Pure.
use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType};

use super::error::Error;
use super::tree::{Tree, header, hex};

/// An image to be: its name, its root file system and how its process starts.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) name: &'static str,
    /// Lowest first; a layer that several images share is stored once.
    pub(super) layers: Vec<Tree>,
    pub(super) entrypoint: Vec<String>,
    pub(super) command: Vec<String>,
}

#[derive(Default)]
struct Blobs(BTreeMap<String, Vec<u8>>);

impl Blobs {
    /// Stores a blob and describes it.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = hex(&Sha256::digest(&bytes));
        let described = json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()});
        self.0.insert(digest, bytes);
        described
    }
}

/// The layout of all images as one tar.
pub(super) fn archive(images: &[Image]) -> Result<Vec<u8>, Error> {
    let mut blobs = Blobs::default();
    let mut manifests = Vec::new();
    let mut known: Vec<(&Tree, Value)> = Vec::new();
    for image in images {
        let mut layers = Vec::new();
        for tree in &image.layers {
            let described = match known.iter().find(|(other, _)| *other == tree) {
                Some((_, described)) => described.clone(),
                None => blobs.add("application/vnd.oci.image.layer.v1.tar", tree.to_tar()?),
            };
            known.push((tree, described.clone()));
            layers.push(described);
        }
        manifests.push(manifest(image, &layers, &mut blobs));
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    });
    let mut files: BTreeMap<String, Vec<u8>> = blobs
        .0
        .into_iter()
        .map(|(digest, bytes)| (format!("blobs/sha256/{digest}"), bytes))
        .collect();
    files.insert("index.json".into(), index.to_string().into_bytes());
    files.insert(
        "oci-layout".into(),
        json!({"imageLayoutVersion": "1.0.0"})
            .to_string()
            .into_bytes(),
    );
    let mut tar = Builder::new(Vec::new());
    for (path, bytes) in &files {
        tar.append_data(
            &mut header(EntryType::Regular, 0o644, bytes.len()),
            path,
            bytes.as_slice(),
        )
        .map_err(|source| Error::Layer {
            entry: path.clone(),
            source,
        })?;
    }
    tar.into_inner().map_err(|source| Error::Layer {
        entry: "end".into(),
        source,
    })
}

fn manifest(image: &Image, layers: &[Value], blobs: &mut Blobs) -> Value {
    let platform = json!({"architecture": architecture(), "os": "linux"});
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Entrypoint": image.entrypoint,
            "Cmd": image.command,
            "WorkingDir": "/",
        },
        // Uncompressed layers: the digest of the blob is the one of its content.
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| &layer["digest"]).collect::<Vec<_>>()},
    });
    let config = blobs.add(
        "application/vnd.oci.image.config.v1+json",
        config.to_string().into_bytes(),
    );
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
    });
    let mut described = blobs.add(
        "application/vnd.oci.image.manifest.v1+json",
        manifest.to_string().into_bytes(),
    );
    described["platform"] = platform;
    let tag = image.name.rsplit(':').next().unwrap_or_default();
    described["annotations"] =
        json!({"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": tag});
    described
}

/// This machine's architecture by Go's name.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
