//! What Cluster API has of machine pools: MachineDeployments and the templates that they name.

use scenario::LiveError;
use serde_json::Value;

use super::Live;
use crate::Error;

/// The API groups of the core, the bootstrap providers and the infrastructure providers.
const GROUPS: [&str; 3] = [
    "cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
];

impl Live {
    /// MachineDeployments and templates of all namespaces; none where there is no Cluster API.
    pub(crate) async fn machines(&self) -> Result<Vec<Value>, Error> {
        let mut all = Vec::new();
        for group in GROUPS {
            let Some(of_group) = self.json(&format!("/apis/{group}")).await? else {
                continue;
            };
            let version = of_group["preferredVersion"]["groupVersion"].as_str();
            let base = format!("/apis/{}", version.unwrap_or(group));
            let Some(resources) = self.json(&base).await? else {
                continue;
            };
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let plural = resource["name"].as_str().unwrap_or_default();
                let wanted = plural == "machinedeployments" || plural.ends_with("templates");
                if !wanted || plural.contains('/') {
                    continue;
                }
                let mut list = self
                    .json(&format!("{base}/{plural}"))
                    .await?
                    .unwrap_or_default();
                // The items of a list do not say their kind.
                for item in list["items"].as_array_mut().into_iter().flatten() {
                    item["kind"] = resource["kind"].clone();
                    all.push(item.take());
                }
            }
        }
        Ok(all)
    }

    /// What a path answers; `None` where there is no such path.
    async fn json(&self, path: &str) -> Result<Option<Value>, Error> {
        let answer = match self.asked.get(path).await {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| LiveError::Answer {
                    path: path.to_owned(),
                    why: error.to_string(),
                }),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(LiveError::Api {
                doing: format!("read {path}"),
                source: Box::new(error),
            }),
        };
        answer.map_err(|error| self.of(error))
    }
}
