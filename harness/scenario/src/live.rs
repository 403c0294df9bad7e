//! A cluster that runs, as its API server tells: every object that decides about devices, its version and gates.
//! Not here: what follows from them (crate `oracle`), and which cluster it is.
//! Data comes from an API server, once for each question, and is never written.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice};
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use oracle::objects::Listed;
use oracle::{Gates, Version};
use serde::de::DeserializeOwned;

/// What an API server is.
#[derive(Clone, Debug)]
pub struct Server {
    /// As it says itself: `v1.37.2`.
    pub version: String,
    /// The gates that are on.
    pub gates: Gates,
    /// Where the gates are from.
    pub gates_from: GatesFrom,
}

/// Where gates are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatesFrom {
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

/// A question that an API server did not answer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// It refused or could not be reached.
    #[error("cannot {doing}: {source}")]
    Api {
        /// Verb phrase.
        doing: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// It answered something else than was asked.
    #[error("the API server answers {path} with something that is not understood: {why}")]
    Answer {
        /// What was asked.
        path: String,
        /// Why.
        why: String,
    },
    /// A Kubernetes that nobody here knows.
    #[error(transparent)]
    Version(#[from] oracle::UnknownVersion),
}

/// A connection to an API server.
#[derive(Clone)]
pub struct Live {
    client: Client,
}

impl Live {
    /// By a client of it.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Every object that decides about devices.
    ///
    /// # Errors
    /// A list that cannot be had.
    pub async fn listed(&self) -> Result<Listed, LiveError> {
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

    /// All objects of a kind, `what` in words.
    ///
    /// # Errors
    /// They cannot be had.
    pub async fn list<K>(&self, what: &str) -> Result<Vec<K>, LiveError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.list_of(&Api::all(self.client.clone()), what).await
    }

    /// All objects of a kind in a namespace, `what` in words.
    ///
    /// # Errors
    /// They cannot be had.
    pub async fn list_in<K>(&self, namespace: &str, what: &str) -> Result<Vec<K>, LiveError>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let all = Api::namespaced(self.client.clone(), namespace);
        self.list_of(&all, what).await
    }

    async fn list_of<K>(&self, api: &Api<K>, what: &str) -> Result<Vec<K>, LiveError>
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let list = api.list(&ListParams::default()).await;
        Ok(list
            .map_err(|error| refused(&format!("list the {what}"), error))?
            .items)
    }

    /// DeviceTaintRules, in whichever version they are served; none where they are not.
    async fn rules(&self) -> Result<Vec<DeviceTaintRule>, LiveError> {
        for version in ["v1", "v1beta2", "v1alpha3"] {
            let path = format!("/apis/resource.k8s.io/{version}/devicetaintrules");
            match self.get(&path).await {
                Ok(text) => {
                    return rules_of(&text).map_err(|why| LiveError::Answer { path, why });
                }
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(refused("list the DeviceTaintRules", error)),
            }
        }
        Ok(Vec::new())
    }

    /// What the API server is.
    ///
    /// # Errors
    /// Its version cannot be had, or nobody here knows it.
    pub async fn server(&self) -> Result<Server, LiveError> {
        let info = self.client.apiserver_version().await;
        let info = info.map_err(|error| refused("ask for the version", error))?;
        let version: Version = format!("{}.{}", info.major, info.minor).parse()?;
        let named = match self.get("/metrics").await {
            Ok(text) => Gates::of_metrics(&text, version)
                .ok_or_else(|| "they do not name kubernetes_feature_enabled".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let (gates, gates_from) = match named {
            Ok(gates) => (gates, GatesFrom::Metrics),
            Err(why) => (Gates::default_of(version), GatesFrom::Defaults { why }),
        };
        Ok(Server {
            version: info.git_version,
            gates,
            gates_from,
        })
    }

    /// What a path answers.
    ///
    /// # Errors
    /// As the client has them: a path that is not served is 404.
    pub async fn get(&self, path: &str) -> Result<String, kube::Error> {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)?;
        self.client.request_text(request).await
    }
}

fn refused(doing: &str, error: kube::Error) -> LiveError {
    LiveError::Api {
        doing: doing.to_owned(),
        source: Box::new(error),
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
