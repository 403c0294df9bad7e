//! What tests over a real cluster share: where the programs come from, and small helpers over its API.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::Programs;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
use kube::api::{Api, AttachParams, DeleteParams, LogParams, PostParams};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

/// What a step of a test answers; the text is for the person who reads the failure.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// A folder of programs built by hand, instead of the components' cache.
const PROGRAMS: &str = "SLICEPROOF_TEST_PROGRAMS";

/// The real programs: from the folder that `SLICEPROOF_TEST_PROGRAMS` names, else from the components' cache (built if need be).
pub(crate) fn programs() -> Outcome<Programs> {
    let installed = match std::env::var_os(PROGRAMS) {
        Some(folder) => components::Installed::from_dir(Path::new(&folder)),
        None => components::Catalog::embedded()
            .and_then(|catalog| catalog.ensure(Programs::NEEDED, &*components::progress::auto())),
    };
    Programs::from_installed(&installed.map_err(|e| e.to_string())?).map_err(|e| e.to_string())
}

/// One namespace of a running cluster's API.
#[derive(Clone)]
pub(crate) struct Pods {
    pub(crate) pods: Api<Pod>,
    templates: Api<ResourceClaimTemplate>,
}

/// The image in which NVML clients run.
pub(crate) const IMAGE: &str = cluster::images::GPU_TEST;

impl Pods {
    pub(crate) fn new(client: &kube::Client) -> Self {
        Pods {
            pods: Api::default_namespaced(client.clone()),
            templates: Api::default_namespaced(client.clone()),
        }
    }

    /// A template for claims of one partition of a profile.
    pub(crate) async fn template(&self, profile: &str) -> Outcome<String> {
        let name = profile.replace('.', "-");
        let expression = format!("device.attributes['gpu.nvidia.com'].profile == '{profile}'");
        let template: ResourceClaimTemplate = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [{"name": "mig", "exactly": {
                "deviceClassName": "mig.nvidia.com",
                "selectors": [{"cel": {"expression": expression}}],
            }}]}}},
        }))
        .map_err(|e| e.to_string())?;
        match self
            .templates
            .create(&PostParams::default(), &template)
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(name),
            other => other.map(|_| name).map_err(|e| e.to_string()),
        }
    }

    /// Creates a pod of one container named `main` that waits, with the given fields changed.
    pub(crate) async fn create(
        &self,
        name: &str,
        template: Option<&str>,
        change: impl FnOnce(&mut Value),
    ) -> Outcome {
        let mut pod = json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "containers": [{
                    "name": "main", "image": IMAGE,
                    "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
                }],
            },
        });
        if let Some(template) = template {
            pod["spec"]["resourceClaims"] =
                json!([{"name": "gpu", "resourceClaimTemplateName": template}]);
            pod["spec"]["containers"][0]["resources"] = json!({"claims": [{"name": "gpu"}]});
        }
        change(&mut pod);
        let pod: Pod = serde_json::from_value(pod).map_err(|e| e.to_string())?;
        // The default service account comes a moment after the namespace.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match self.pods.create(&PostParams::default(), &pod).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status))
                    if status.message.contains("serviceaccount") && Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(format!("create pod {name}: {error}")),
            }
        }
    }

    /// Waits until `look` finds something in the pod's status; the failure shows the status.
    pub(crate) async fn wait<T>(
        &self,
        name: &str,
        what: &str,
        look: impl Fn(&Value) -> Option<T>,
    ) -> Outcome<T> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let pod = self
                .pods
                .get(name)
                .await
                .map_err(|e| format!("get pod {name}: {e}"))?;
            let status = serde_json::to_value(pod.status).unwrap_or_default();
            if let Some(found) = look(&status) {
                return Ok(found);
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "pod {name} was not {what} within 60 s; its status: {status:#}"
                ));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn running(&self, name: &str) -> Outcome {
        self.wait(name, "Running", |status| {
            (status["phase"] == "Running").then_some(())
        })
        .await
    }

    /// Runs a shell command in the pod; its output and whether it succeeded.
    pub(crate) async fn exec(&self, name: &str, script: &str) -> Outcome<(String, bool)> {
        let fail = |e: &dyn std::fmt::Display| format!("exec {script:?} in {name}: {e}");
        let how = AttachParams::default().container("main");
        let mut process = self
            .pods
            .exec(name, ["sh", "-c", &format!("{{ {script}\n}} 2>&1")], &how)
            .await
            .map_err(|e| fail(&e))?;
        let status = process.take_status();
        let mut text = String::new();
        if let Some(mut output) = process.stdout() {
            output
                .read_to_string(&mut text)
                .await
                .map_err(|e| fail(&e))?;
        }
        let ended = match status {
            Some(status) => status.await,
            None => None,
        };
        process.join().await.map_err(|e| fail(&e))?;
        let succeeded = ended.is_some_and(|status| status.status.as_deref() == Some("Success"));
        Ok((text, succeeded))
    }

    pub(crate) async fn logs(&self, name: &str) -> Outcome<String> {
        self.pods
            .logs(name, &LogParams::default())
            .await
            .map_err(|e| format!("logs of {name}: {e}"))
    }

    /// Deletes pods and waits until they are gone.
    pub(crate) async fn delete(&self, names: &[&str]) -> Outcome {
        for name in names {
            self.pods
                .delete(name, &DeleteParams::default())
                .await
                .map_err(|e| format!("delete {name}: {e}"))?;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        for name in names {
            while self
                .pods
                .get_opt(name)
                .await
                .map_err(|e| e.to_string())?
                .is_some()
            {
                if Instant::now() > deadline {
                    return Err(format!(
                        "pod {name} is still there 60 s after it was deleted"
                    ));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

/// Reads a file, or says which.
pub(crate) fn read(path: impl AsRef<Path>) -> Outcome<String> {
    let path = path.as_ref();
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A check with the text of what was seen.
pub(crate) fn ensure(holds: bool, seen: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(seen()) }
}
