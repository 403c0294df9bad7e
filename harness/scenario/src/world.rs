//! What one scenario knows: its namespace, the pods it made, and what it sees of the cluster.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cluster::oci::LOAD_ANNOTATION;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate, ResourceSlice};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use report::Failure;
use serde_json::json;

use crate::allocation::{self, PublishedPool};
use crate::applied::Applied;
use crate::sight::{PodSight, Sight};
use crate::testbed::{NodeCards, NodeWish, Testbed, TestbedError};
use crate::wait::{Probe, until};

/// Image of the test pods; the cluster brings it.
const IMAGE: &str = "sliceproof.local/gpu-test:1";
/// Runs until it is told to end. The shell is process 1 and must obey SIGTERM itself: process 1 has no default action.
const FOREVER: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
/// Label of every object that a scenario makes.
pub(crate) const LABEL: &str = "sliceproof.local/scenario";

/// What a pod asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A partition of a profile.
    Profile(String),
    /// A whole card.
    WholeCard,
    /// Whatever a class admits.
    Class(String),
    /// One of an extended resource, without a claim.
    Resource(String),
    /// What the scenario has written out itself.
    Own,
}

impl Ask {
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Profile(profile) => profile.clone(),
            Self::WholeCard => "a whole card".to_owned(),
            Self::Class(class) => format!("any of {class}"),
            Self::Resource(resource) => resource.clone(),
            Self::Own => "what its manifest says".to_owned(),
        }
    }

    fn class(&self) -> &str {
        match self {
            Self::Profile(_) => "mig.nvidia.com",
            Self::WholeCard => "gpu.nvidia.com",
            Self::Class(class) | Self::Resource(class) => class,
            Self::Own => "",
        }
    }

    /// What a claim for it asks for: `spec.devices` of a ResourceClaim.
    pub(crate) fn devices(&self) -> serde_json::Value {
        let mut exactly = json!({ "deviceClassName": self.class() });
        if let Self::Profile(profile) = self {
            let expression =
                format!("device.attributes[\"gpu.nvidia.com\"].profile == \"{profile}\"");
            exactly["selectors"] = json!([{ "cel": { "expression": expression } }]);
        }
        json!({ "requests": [{ "name": "gpu", "exactly": exactly }] })
    }

    fn template(&self) -> String {
        let name = match self {
            Self::Profile(profile) => format!("one-{profile}"),
            Self::WholeCard => "whole-card".to_owned(),
            Self::Class(class) | Self::Resource(class) => format!("any-{class}"),
            Self::Own => "own".to_owned(),
        };
        name.to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect()
    }
}

/// A pod that the scenario made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) pod: String,
    pub(crate) ask: Ask,
    /// The scenario has ended it.
    pub(crate) ended: bool,
    /// Devices in anybody's hands when it came, where it came alone.
    pub(crate) before: Option<Vec<(String, String)>>,
}

/// The state of one scenario.
pub struct World {
    testbed: Arc<dyn Testbed>,
    namespace: String,
    tell: Rc<dyn Fn(&str)>,
    pub(crate) made: Vec<Made>,
    templates: Vec<String>,
    pub(crate) nodes: Vec<NodeWish>,
    /// Pods that the last assertion found waiting.
    pub(crate) waiting: Vec<String>,
    /// Objects that manifests of the scenario made.
    pub(crate) applied: Vec<Applied>,
    /// Gangs that the scenario made.
    pub(crate) gangs: Vec<crate::gang::Made>,
    /// In which form the cluster has gangs, once somebody has asked.
    pub(crate) form: OnceCell<Option<crate::gang::Form>>,
    /// Who places its gangs, where a step has named somebody.
    pub(crate) scheduler: Option<String>,
    /// Schedulers that steps have started.
    pub(crate) schedulers: Vec<&'static str>,
    /// Nodes on which faults are armed.
    pub(crate) faulty: Vec<String>,
    /// Nodes whose driver is dead.
    pub(crate) driverless: Vec<String>,
    /// Nodes whose driver has other feature gates than the node was made with.
    pub(crate) regated: Vec<String>,
    /// The API server is dead.
    pub(crate) without_api: bool,
    /// What the API server said of a manifest that was tried.
    pub(crate) tried: Option<Result<(), String>>,
    /// Kueue, where a step has started it.
    pub(crate) queues: Option<crate::queues::Queues>,
    /// The day of arrivals that a step has let pass.
    pub(crate) passed: Option<crate::arrivals::Passed>,
    /// A step has started Prometheus.
    pub(crate) watched: bool,
    /// External metrics that steps tell.
    pub(crate) metrics: Option<std::collections::BTreeMap<String, i64>>,
    /// Figures for the report.
    pub(crate) tables: Vec<report::Table>,
    /// Where recordings of this scenario are kept.
    pub(crate) keep: Option<std::path::PathBuf>,
    /// Why the cluster can do nothing more.
    broken: RefCell<Option<String>>,
}

impl World {
    pub(crate) fn new(
        testbed: Arc<dyn Testbed>,
        namespace: String,
        tell: Rc<dyn Fn(&str)>,
    ) -> Self {
        Self {
            testbed,
            namespace,
            tell,
            made: Vec::new(),
            templates: Vec::new(),
            nodes: Vec::new(),
            waiting: Vec::new(),
            applied: Vec::new(),
            gangs: Vec::new(),
            form: OnceCell::new(),
            scheduler: None,
            schedulers: Vec::new(),
            faulty: Vec::new(),
            driverless: Vec::new(),
            regated: Vec::new(),
            without_api: false,
            tried: None,
            queues: None,
            passed: None,
            watched: false,
            metrics: None,
            tables: Vec::new(),
            keep: None,
            broken: RefCell::default(),
        }
    }

    /// The namespace of the scenario.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Where a recording of this name is kept; nowhere where nobody keeps any.
    pub(crate) fn keeps(&self, name: &str) -> Option<std::path::PathBuf> {
        self.keep.as_ref().map(|folder| folder.join(name))
    }

    /// The namespace that a step may make beside it.
    pub(crate) fn other_namespace(&self) -> String {
        format!("{}-other", self.namespace)
    }

    /// The cluster.
    #[must_use]
    pub fn testbed(&self) -> &dyn Testbed {
        self.testbed.as_ref()
    }

    /// The node that a step before has made, the first if there are several.
    pub(crate) fn the_node(&self) -> Result<&NodeWish, Failure> {
        self.nodes.first().ok_or_else(|| {
            Failure::new("no step before has made a node")
                .help("write `Given a node with …` before")
        })
    }

    pub(crate) fn node_objects(&self) -> Api<Node> {
        Api::all(self.testbed.client())
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.testbed.client(), &self.namespace)
    }

    fn claims(&self) -> Api<ResourceClaim> {
        Api::all(self.testbed.client())
    }

    /// Waits for `probe`, telling whoever watches what is seen.
    pub(crate) async fn until<T>(
        &self,
        limit: Duration,
        what: &str,
        probe: impl AsyncFnMut() -> Result<Probe<T>, Failure>,
    ) -> Result<T, Failure> {
        let tell = Rc::clone(&self.tell);
        match until(limit, what, move |state| tell(state), probe).await {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.explained(failure).await),
        }
    }

    /// Adds what the cluster complained about to a failure that waited in vain.
    async fn explained(&self, mut failure: Failure) -> Failure {
        if failure.last_state.is_none() {
            return failure;
        }
        let warnings = self.warnings().await;
        if !warnings.is_empty() {
            let state = failure.last_state.take().unwrap_or_default();
            failure.last_state = Some(format!("{state}\n{}", warnings.join("\n")));
        }
        failure
    }

    /// The newest warning of each object in the namespace, at most five; scheduling is reported elsewhere.
    async fn warnings(&self) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.testbed.client(), &self.namespace);
        let Ok(list) = events.list(&ListParams::default()).await else {
            return Vec::new();
        };
        let mut lines: Vec<String> = Vec::new();
        for event in list.items.iter().rev() {
            if event.type_.as_deref() != Some("Warning")
                || event.reason.as_deref() == Some("FailedScheduling")
            {
                continue;
            }
            let object = event.involved_object.name.clone().unwrap_or_default();
            let text: String = event
                .message
                .clone()
                .unwrap_or_default()
                .chars()
                .take(300)
                .collect();
            let line = format!(
                "{object}: {}: {text}",
                event.reason.clone().unwrap_or_default()
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
            if lines.len() == 5 {
                break;
            }
        }
        lines
    }

    /// Makes the namespace, with the service account that pods need, so that nothing has to wait for a controller.
    pub(crate) async fn open(&self) -> Result<(), Failure> {
        let namespaces: Api<Namespace> = Api::all(self.testbed.client());
        let namespace =
            object(json!({ "metadata": { "name": self.namespace, "labels": { LABEL: "yes" } } }))?;
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .map_err(|error| api("create the namespace", &error))?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.testbed.client(), &self.namespace);
        let account = object(json!({ "metadata": { "name": "default" } }))?;
        match accounts.create(&PostParams::default(), &account).await {
            Ok(_) => Ok(()),
            // The controller was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(api("create the service account", &error)),
        }
    }

    /// Gives the cluster these nodes.
    pub(crate) async fn shape(&mut self, nodes: Vec<NodeWish>) -> Result<(), Failure> {
        self.testbed
            .shape(&nodes)
            .await
            .map_err(|error| self.broken_by(&error))?;
        self.nodes = nodes;
        Ok(())
    }

    /// Creates a pod that claims `ask`; does not wait for anything.
    pub(crate) async fn claim(
        &mut self,
        ask: Ask,
        before: Option<Vec<(String, String)>>,
    ) -> Result<(), Failure> {
        self.claim_and_load(ask, before, None).await
    }

    /// As [`World::claim`], with the annotation that puts load on the pod's devices.
    pub(crate) async fn claim_and_load(
        &mut self,
        ask: Ask,
        before: Option<Vec<(String, String)>>,
        load: Option<&str>,
    ) -> Result<(), Failure> {
        let template = self.template(&ask).await?;
        let claims = json!([{ "name": "gpu", "resourceClaimTemplateName": template }]);
        self.pod(None, ask, before, claims, load).await
    }

    /// The name of the template of claims for `ask`, made where it is not there yet.
    pub(crate) async fn template(&mut self, ask: &Ask) -> Result<String, Failure> {
        let template = ask.template();
        if !self.templates.contains(&template) {
            let templates: Api<ResourceClaimTemplate> =
                Api::namespaced(self.testbed.client(), &self.namespace);
            let wanted = object(claim_template(&template, &ask.devices()))?;
            templates
                .create(&PostParams::default(), &wanted)
                .await
                .map_err(|error| api("create the ResourceClaimTemplate", &error))?;
            self.templates.push(template.clone());
        }
        Ok(template)
    }

    /// Creates a pod with a claim for `devices`, the `spec.devices` of a ResourceClaim. A nameless one is numbered.
    pub(crate) async fn claim_devices(
        &mut self,
        pod: Option<&str>,
        devices: &serde_json::Value,
    ) -> Result<(), Failure> {
        let pod = pod.map_or_else(|| self.next_pod(), str::to_owned);
        // By way of the manifests: an API server that is strict finds what is mistyped.
        let template = json!({
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": { "name": pod },
            "spec": { "spec": { "devices": devices } }
        });
        self.apply(&[template]).await?;
        let claims = json!([{ "name": "gpu", "resourceClaimTemplateName": pod }]);
        self.pod(Some(&pod), Ask::Own, None, claims, None).await
    }

    /// Creates a pod that uses claims of the namespace by their names.
    pub(crate) async fn use_claims(&mut self, pod: &str, claims: &[&str]) -> Result<(), Failure> {
        let claims: Vec<serde_json::Value> = claims
            .iter()
            .enumerate()
            .map(|(at, claim)| json!({ "name": format!("gpu-{at}"), "resourceClaimName": claim }))
            .collect();
        self.pod(Some(pod), Ask::Own, None, json!(claims), None)
            .await
    }

    fn next_pod(&self) -> String {
        format!("pod-{}", self.made.len() + 1)
    }

    /// Creates a pod that asks for one of an extended resource; does not wait for anything.
    pub(crate) async fn ask(&mut self, resource: &str) -> Result<(), Failure> {
        let ask = Ask::Resource(resource.to_owned());
        self.pod(None, ask, None, json!([]), None).await
    }

    async fn pod(
        &mut self,
        name: Option<&str>,
        ask: Ask,
        before: Option<Vec<(String, String)>>,
        claims: serde_json::Value,
        load: Option<&str>,
    ) -> Result<(), Failure> {
        let name = name.map_or_else(|| self.next_pod(), str::to_owned);
        let mut pod = pod_object(&name, &claims);
        if let Ask::Resource(resource) = &ask {
            pod["spec"]["containers"][0]["resources"] =
                json!({ "limits": { resource.as_str(): "1" } });
        }
        if let Some(load) = load {
            pod["metadata"]["annotations"] = json!({ LOAD_ANNOTATION: load });
        }
        let pod = object(pod)?;
        self.pods()
            .create(&PostParams::default(), &pod)
            .await
            .map_err(|error| api(&format!("create {name}"), &error))?;
        self.made.push(Made {
            pod: name,
            ask,
            ended: false,
            before,
        });
        Ok(())
    }

    /// Ends a pod and waits until it is gone.
    pub(crate) async fn end(&mut self, pod: &str) -> Result<(), Failure> {
        self.delete(pod).await?;
        self.gone(&[pod.to_owned()], Duration::from_secs(30)).await
    }

    /// Asks for the end of a pod.
    pub(crate) async fn delete(&mut self, pod: &str) -> Result<(), Failure> {
        match self.pods().delete(pod, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(api(&format!("delete {pod}"), &error)),
        }
        for made in self.made.iter_mut().filter(|made| made.pod == pod) {
            made.ended = true;
        }
        Ok(())
    }

    /// Runs a program on a node to its good end; its standard output.
    pub(crate) async fn on_node(&self, node: &str, argv: &[&str]) -> Result<String, Failure> {
        let program = argv.first().copied().unwrap_or_default();
        let output = self
            .testbed
            .on_node(node, argv)
            .await
            .map_err(|error| self.broken_by(&error))?;
        if output.code == Some(0) {
            return Ok(output.stdout);
        }
        Err(output.failure(&format!("{program} failed on {node}")))
    }

    /// Waits until these pods are gone from the API.
    pub(crate) async fn gone(&self, pods: &[String], limit: Duration) -> Result<(), Failure> {
        self.until(limit, "the pods end", async || {
            let sight = self.look().await?;
            let left: Vec<String> = sight
                .pods
                .iter()
                .filter(|pod| pods.contains(&pod.name))
                .map(PodSight::line)
                .collect();
            Ok(if left.is_empty() {
                Probe::Ready(())
            } else {
                Probe::NotYet(left.join("; "))
            })
        })
        .await
    }

    /// The pods of the scenario and every device that any claim of the cluster holds, now.
    pub(crate) async fn look(&self) -> Result<Sight, Failure> {
        let everything = ListParams::default();
        let (pods, claims) = (self.pods(), self.claims());
        let (pods, claims) = tokio::join!(pods.list(&everything), claims.list(&everything));
        let pods = pods.map_err(|error| api("list the pods", &error))?;
        let claims = claims.map_err(|error| api("list the ResourceClaims", &error))?;
        let mut pods: Vec<PodSight> = pods.items.iter().map(PodSight::of).collect();
        pods.sort_by_key(|pod| self.made.iter().position(|made| made.pod == pod.name));
        Ok(Sight {
            pods,
            held: allocation::held(&claims.items),
            namespace: self.namespace.clone(),
        })
    }

    /// An object of the scenario's namespace as it is now.
    pub(crate) async fn get_object(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        name: &str,
    ) -> Result<serde_json::Value, Failure> {
        let kind = kube::core::GroupVersionKind::gvk(group, version, kind);
        let resource = kube::api::ApiResource::from_gvk(&kind);
        let all: Api<kube::api::DynamicObject> =
            Api::namespaced_with(self.testbed.client(), &self.namespace, &resource);
        let object = all.get(name).await;
        let object =
            object.map_err(|error| api(&format!("get the {} {name}", kind.kind), &error))?;
        serde_json::to_value(object).map_err(|error| Failure::new(error.to_string()))
    }

    /// Ends what steps have started beside the cluster to look on or to tell numbers.
    pub(crate) async fn end_watch(&mut self) -> Result<(), Failure> {
        let mut first = Ok(());
        if std::mem::take(&mut self.watched) {
            first = first.and(self.testbed.prometheus(None).await);
        }
        if self.metrics.take().is_some() {
            first = first.and(self.testbed.metrics(None).await);
        }
        first.map_err(|error| Failure::new(error.message))
    }

    /// What the drivers publish, now.
    pub(crate) async fn published(&self) -> Result<Vec<PublishedPool>, Failure> {
        let slices: Api<ResourceSlice> = Api::all(self.testbed.client());
        let list = slices
            .list(&ListParams::default())
            .await
            .map_err(|error| api("list the ResourceSlices", &error))?;
        Ok(allocation::pools(&list.items))
    }

    /// What NVML says on the nodes, now.
    pub(crate) async fn cards(&self) -> Result<Vec<NodeCards>, Failure> {
        self.testbed
            .cards()
            .await
            .map_err(|error| self.broken_by(&error))
    }

    fn broken_by(&self, error: &TestbedError) -> Failure {
        if error.fatal {
            *self.broken.borrow_mut() = Some(error.message.clone());
        }
        Failure::new(error.message.clone())
    }

    /// Why the cluster can do nothing more, where it cannot.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    /// What the scenario made under the name of a pod; of one that never was nothing can be said.
    pub(crate) fn made_pod(&self, pod: &str) -> Result<&Made, Failure> {
        let found = self.made.iter().rfind(|made| made.pod == pod);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.made.iter().map(|made| made.pod.as_str()).collect();
            Failure::new(format!("this scenario made no pod {pod:?}")).versus(pod, known.join(", "))
        })
    }

    pub(crate) fn ask_of(&self, pod: &str) -> Option<&Ask> {
        self.made
            .iter()
            .find(|made| made.pod == pod)
            .map(|made| &made.ask)
    }
}

/// A template for claims that ask for `devices`.
pub(crate) fn claim_template(name: &str, devices: &serde_json::Value) -> serde_json::Value {
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": { "name": name, "labels": { LABEL: "yes" } },
        "spec": { "spec": { "devices": devices } }
    })
}

/// A pod that lives until it is ended, and whose container uses all of `claims`.
pub(crate) fn pod_object(name: &str, claims: &serde_json::Value) -> serde_json::Value {
    let used: Vec<serde_json::Value> = claims
        .as_array()
        .into_iter()
        .flatten()
        .map(|claim| json!({ "name": claim["name"] }))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "labels": { LABEL: "yes" } },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 2,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "resourceClaims": claims,
            "containers": [{
                "name": "main",
                "image": IMAGE,
                "imagePullPolicy": "Never",
                // The shell is process 1 and must obey SIGTERM itself: process 1 has no default action.
                "command": ["sh", "-c", FOREVER],
                "resources": { "claims": used }
            }]
        }
    })
}

/// A Kubernetes object from its JSON.
fn object<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::new(format!("a manifest of this program is wrong: {error}")))
}

pub(crate) fn api(what: &str, error: &kube::Error) -> Failure {
    Failure::new(format!("cannot {what}: {error}"))
}
