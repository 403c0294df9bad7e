//! A cluster that runs, as explain and inspect see it: every object that decides about devices, its version and gates.
//! Not here: what follows from them; that is pure.
//! Data comes from an API server, once, and is never written.

#[cfg(test)]
pub(crate) mod captured;
mod machines;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use oracle::objects::Listed;
use oracle::{Gates, Version};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::args::LiveArgs;

/// What an API server is.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// As it says itself: `v1.37.2`.
    pub(crate) version: String,
    /// The gates that are on.
    pub(crate) gates: Gates,
    /// Where the gates are from.
    pub(crate) gates_from: GatesFrom,
}

/// Where gates are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GatesFrom {
    /// The API server's metrics.
    Metrics,
    /// The minor's defaults, because the metrics could not be had.
    Defaults {
        /// Why not.
        why: String,
    },
}

impl std::fmt::Display for GatesFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GatesFrom::Metrics => f.write_str("gates as the API server's metrics say"),
            GatesFrom::Defaults { why } => write!(
                f,
                "gates are taken to be this minor's defaults, for the API server's metrics cannot be had: {why}"
            ),
        }
    }
}

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

/// A connection.
pub(crate) struct Live {
    client: Client,
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
            client: client(&file).await?,
            name,
        })
    }

    /// Every object that decides about devices, and the pods of a namespace.
    pub(crate) async fn listed(&self) -> Result<Listed, Error> {
        let (slices, classes, claims, nodes, rules) = tokio::join!(
            self.list::<ResourceSlice>("ResourceSlices"),
            self.list::<DeviceClass>("DeviceClasses"),
            self.list::<ResourceClaim>("ResourceClaims"),
            self.list::<Node>("Nodes"),
            self.rules(),
        );
        Ok(Listed {
            slices: slices?,
            classes: classes?,
            claims: claims?,
            nodes: nodes?,
            rules: rules?,
        })
    }

    /// The pods of a namespace.
    pub(crate) async fn pods(&self, namespace: &str) -> Result<Vec<Pod>, Error> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let list = pods.list(&ListParams::default()).await;
        Ok(list
            .map_err(|error| self.refused("list the Pods", error))?
            .items)
    }

    pub(crate) async fn list<K>(&self, what: &str) -> Result<Vec<K>, Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let all: Api<K> = Api::all(self.client.clone());
        let list = all.list(&ListParams::default()).await;
        Ok(list
            .map_err(|error| self.refused(&format!("list the {what}"), error))?
            .items)
    }

    /// DeviceTaintRules, in whichever version they are served; none where they are not.
    async fn rules(&self) -> Result<Vec<DeviceTaintRule>, Error> {
        for version in ["v1", "v1beta2", "v1alpha3"] {
            let path = format!("/apis/resource.k8s.io/{version}/devicetaintrules");
            match self.get(&path).await {
                Ok(text) => return rules_of(&text).map_err(|why| self.strange(&path, &why)),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(self.refused("list the DeviceTaintRules", error)),
            }
        }
        Ok(Vec::new())
    }

    /// What the API server is.
    pub(crate) async fn server(&self) -> Result<Server, Error> {
        let info = self.client.apiserver_version().await;
        let info = info.map_err(|error| self.refused("ask for the version", error))?;
        let version: Version = format!("{}.{}", info.major, info.minor)
            .parse()
            .map_err(Error::Version)?;
        let (gates, gates_from) = match self.get("/metrics").await {
            Ok(text) => match Gates::of_metrics(&text, version) {
                Some(gates) => (gates, GatesFrom::Metrics),
                None => (
                    Gates::default_of(version),
                    GatesFrom::Defaults {
                        why: "they do not name kubernetes_feature_enabled".to_owned(),
                    },
                ),
            },
            Err(error) => (
                Gates::default_of(version),
                GatesFrom::Defaults {
                    why: error.to_string(),
                },
            ),
        };
        Ok(Server {
            version: info.git_version,
            gates,
            gates_from,
        })
    }

    async fn get(&self, path: &str) -> Result<String, kube::Error> {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        self.client.request_text(request).await
    }

    fn refused(&self, what: &str, error: kube::Error) -> Error {
        Error::Api {
            doing: format!("{what} of {}", self.name),
            source: Box::new(error),
        }
    }

    fn strange(&self, path: &str, why: &str) -> Error {
        Error::Answer {
            server: self.name.clone(),
            path: path.to_owned(),
            why: why.to_owned(),
        }
    }
}

/// The rules of a list in any version: what is asked of them is the same in all.
fn rules_of(text: &str) -> Result<Vec<DeviceTaintRule>, String> {
    let list: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let rule = |mut item: serde_json::Value| {
        item["apiVersion"] = "resource.k8s.io/v1".into();
        item["kind"] = "DeviceTaintRule".into();
        serde_json::from_value(item).map_err(|error| error.to_string())
    };
    items.into_iter().map(rule).collect()
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

#[cfg(test)]
mod tests {
    use super::rules_of;

    #[test]
    fn rules_are_read_in_the_versions_that_are_served() {
        for version in ["v1", "v1beta2", "v1alpha3"] {
            let list = format!(
                r#"{{"kind":"DeviceTaintRuleList","apiVersion":"resource.k8s.io/{version}","items":[
                    {{"metadata":{{"name":"drain"}},"spec":{{"deviceSelector":{{"pool":"node-1"}},
                     "taint":{{"key":"k","effect":"NoExecute"}}}}}}]}}"#
            );
            let rules = rules_of(&list).expect("rules");
            let pool = rules[0]
                .spec
                .device_selector
                .as_ref()
                .and_then(|selector| selector.pool.clone());
            assert_eq!(pool.as_deref(), Some("node-1"), "{version}");
        }
        assert!(rules_of("{").is_err());
    }
}
