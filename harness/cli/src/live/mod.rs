//! A cluster that runs, by its name or its kubeconfig, as explain, inspect and doctor ask it; refusals name it.
//! Not here: how an API server is asked (`scenario::Live`), and what follows from its answers; that is pure.
//! Data comes from an API server, once, and is never written.

#[cfg(test)]
pub(crate) mod captured;
mod machines;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Resource};
use oracle::objects::Listed;
use scenario::LiveError;
pub(crate) use scenario::{GatesFrom, Server};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::args::LiveArgs;

/// The first lines of what is said of a cluster: which server and allocator, and whether another order would do as well.
pub(crate) fn head(
    text: &mut String,
    server: &Server,
    variant: &str,
    order_is_specified: bool,
) -> std::fmt::Result {
    writeln!(
        text,
        "Kubernetes {}, allocator {variant}, {}",
        server.version, server.gates_from
    )?;
    if !order_is_specified {
        writeln!(
            text,
            "note: this allocator does not say in which order it takes pools; one order is shown"
        )?;
    }
    Ok(())
}

/// A line for each object that cannot be read.
pub(crate) fn left_out(text: &mut String, unreadable: &[String]) -> std::fmt::Result {
    for mistake in unreadable {
        writeln!(text, "note: left out, for it cannot be read: {mistake}")?;
    }
    Ok(())
}

/// A connection to a cluster that has a name in messages.
pub(crate) struct Live {
    asked: scenario::Live,
    /// What the server is called in messages.
    pub(crate) name: String,
}

impl Live {
    /// To a cluster of ours by name, or to any by its kubeconfig.
    pub(crate) async fn open(args: &LiveArgs) -> Result<Live, Error> {
        let (file, name) = match &args.kubeconfig {
            Some(file) => (file.clone(), format!("the cluster of {}", file.display())),
            None => (
                crate::kubectl::kubeconfig(&args.name)?,
                format!("cluster {}", args.name),
            ),
        };
        Ok(Live {
            asked: scenario::Live::new(client(&file).await?),
            name,
        })
    }

    /// Every object that decides about devices.
    pub(crate) async fn listed(&self) -> Result<Listed, Error> {
        self.asked.listed().await.map_err(|error| self.of(error))
    }

    /// The pods of a namespace.
    pub(crate) async fn pods(&self, namespace: &str) -> Result<Vec<Pod>, Error> {
        let pods = self.asked.list_in(namespace, "Pods").await;
        pods.map_err(|error| self.of(error))
    }

    pub(crate) async fn list<K>(&self, what: &str) -> Result<Vec<K>, Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.asked.list(what).await.map_err(|error| self.of(error))
    }

    /// What the API server is.
    pub(crate) async fn server(&self) -> Result<Server, Error> {
        self.asked.server().await.map_err(|error| self.of(error))
    }

    /// The error, with the cluster's name.
    fn of(&self, error: LiveError) -> Error {
        match error {
            LiveError::Api { doing, source } => Error::Api {
                doing: format!("{doing} of {}", self.name),
                source,
            },
            LiveError::Answer { path, why } => Error::Answer {
                server: self.name.clone(),
                path,
                why,
            },
            LiveError::Version(unknown) => Error::Version(unknown),
        }
    }
}

/// A client of a cluster of ours by name, or of any by its kubeconfig.
pub(crate) async fn client_of(args: &LiveArgs) -> Result<Client, Error> {
    match &args.kubeconfig {
        Some(file) => client(file).await,
        None => client(&crate::kubectl::kubeconfig(&args.name)?).await,
    }
}

async fn client(file: &Path) -> Result<Client, Error> {
    let wrong = |why: String| Error::Kubeconfig {
        path: PathBuf::from(file),
        why,
    };
    let config =
        kube::config::Kubeconfig::read_from(file).map_err(|error| wrong(error.to_string()))?;
    let config =
        kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default())
            .await
            .map_err(|error| wrong(error.to_string()))?;
    Client::try_from(config).map_err(|error| wrong(error.to_string()))
}
