//! kubeconfig files: one per identity, by path for the components, with everything embedded for people.
//! Not a parser; kube reads them.
use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    control_plane::inner_server,
    error::{Error, Result},
    pki::{Authority, Identity, write_private},
};

/// Writes a kubeconfig for a program of the cluster, which names the certificate files.
pub(crate) fn by_path(path: &Path, authority: &Authority, identity: &Identity) -> Result<()> {
    write(
        path,
        json!({"server": inner_server(), "certificate-authority": authority.certificate()}),
        json!({"client-certificate": identity.certificate, "client-key": identity.key}),
        "sliceproof",
    )
}

/// Writes a kubeconfig that holds the certificates, so that the one file can be copied away.
pub(crate) fn embedded(
    path: &Path,
    server: &str,
    ca: &Path,
    identity: &Identity,
    context: &str,
) -> Result<()> {
    write(
        path,
        json!({"server": server, "certificate-authority-data": data(ca)?}),
        json!({"client-certificate-data": data(&identity.certificate)?, "client-key-data": data(&identity.key)?}),
        context,
    )
}

fn data(path: &Path) -> Result<k8s_openapi::ByteString> {
    Ok(k8s_openapi::ByteString(
        fs::read(path).map_err(Error::io("read", path))?,
    ))
}

fn write(path: &Path, cluster: Value, user: Value, name: &str) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    // JSON is YAML; every reader of kubeconfigs takes it.
    write_private(path, &format!("{config:#}\n"))
}
