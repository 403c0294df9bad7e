//! Kueue as a process beside the control plane: its kinds, rights and webhooks put in place, started with a configuration,
//! ended with everything that would hinder others. Not what it decides, nor its queues: those are objects of scenarios.
//! Comes from the components `kueue` and `kueue-manifests`, which is the text of the module's own files.
use std::{fs, net::Ipv4Addr, path::PathBuf, time::Duration};

use k8s_openapi::{ByteString, api::core::v1::Namespace};
use kube::{
    api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    control_plane::{environment, path},
    error::{Error, Result},
    kubeconfig,
    node::config::make,
    pki::{Authority, Subject},
    progress::Silent,
    rpc::Launch,
    running::{Running, first_ended},
    wait::{Look, Waiter},
};

/// Version of its API.
pub(crate) const API: &str = "kueue.x-k8s.io/v1beta2";
/// Its kinds that say what it decided.
pub(crate) const KINDS: [(&str, &str); 4] = [
    ("workloads", "Workload"),
    ("clusterqueues", "ClusterQueue"),
    ("localqueues", "LocalQueue"),
    ("cohorts", "Cohort"),
];
const KUEUE: &str = "kueue";
const MANIFESTS: &str = "kueue-manifests";
const NAMESPACE: &str = "kueue-system";
/// The user that it is towards the API server.
const USER: &str = "kueue-controller-manager";
/// The name of its webhook configurations, less what they do.
const WEBHOOKS: &str = "webhook-configuration";
/// Its kinds that it converts between versions; of the others all versions are alike (`config/components/crd/kustomization.yaml`).
const CONVERTED: &[&str] = &[
    "LocalQueue",
    "ClusterQueue",
    "Cohort",
    "Workload",
    "MultiKueueCluster",
];
/// Its ports lie in the cluster's own network namespace.
const WEBHOOK_PORT: u16 = 9443;
const HEALTH: &str = "127.0.0.1:8081";
/// It reads the certificate of its metrics from there and nowhere else, also where it serves none.
const METRICS_CERTS: &str = "/etc/kueue/metrics";

const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);

/// Parts of its configuration that say how it runs here.
const OURS: &[&str] = &[
    "apiVersion",
    "kind",
    "namespace",
    "health",
    "metrics",
    "webhook",
    "leaderElection",
    "internalCertManagement",
];

impl Running {
    /// Starts Kueue with this configuration, fields of its `Configuration`, or starts it anew where it runs. Returns when the API
    /// server reaches its webhooks.
    ///
    /// # Errors
    /// A configuration that Kueue refuses, in its own words; what is asked for and is not the user's to say.
    pub async fn start_kueue(&self, configuration: &Value) -> Result<()> {
        let configuration = whole(configuration)?;
        self.init.stop(KUEUE, GRACE).await?;
        let launch = self.lay_kueue(&configuration)?;
        let kinds = self.kueue_objects().await?;
        let waiter = Waiter::new(&Silent);
        // It looks for its kinds once, and ends where one is not served.
        waiter
            .until("Kueue's kinds", LIMIT, async || {
                let missing = self.not_served(&kinds).await?;
                Ok(match missing.as_slice() {
                    [] => Look::Is(()),
                    missing => Look::NotYet(format!("not served: {}", missing.join(", "))),
                })
            })
            .await?;
        self.init.start(launch).await?;
        let ready = waiter.until("Kueue's webhooks", LIMIT, async || {
            first_ended(&self.init.programs().await?, "", "while it started")?;
            Ok(match self.kueue_answers().await {
                Ok(()) => Look::Is(()),
                Err(error) => Look::NotYet(error.to_string()),
            })
        });
        match ready.await {
            Ok(()) => Ok(()),
            Err(error) => {
                // What it asks nobody for must not be in anybody's way, and the cluster goes on.
                let _ = self.stop_kueue().await;
                Err(match error {
                    Error::ComponentEnded { tail, .. } => Error::Init {
                        doing: "start Kueue".into(),
                        message: complaint(&tail),
                    },
                    other => other,
                })
            }
        }
    }

    /// Ends Kueue and takes its webhooks away. Its kinds stay.
    pub async fn stop_kueue(&self) -> Result<()> {
        for kind in [
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ] {
            let api = self.any("admissionregistration.k8s.io/v1", kind)?;
            let name = format!(
                "{}-{WEBHOOKS}",
                kind.trim_end_matches("WebhookConfiguration").to_lowercase()
            );
            match api.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => drop(other.map_err(Error::kube(format!("delete {kind} {name}")))?),
            }
        }
        self.init.stop(KUEUE, GRACE).await
    }

    /// Its certificate, kubeconfig and configuration.
    fn lay_kueue(&self, configuration: &Value) -> Result<Launch> {
        let dir = self.dir.join(KUEUE);
        let certs = dir.join("certs");
        make(&certs)?;
        let authority = Authority::open(&self.dir.join("pki"))?;
        let subject =
            Subject::user(KUEUE, USER).serves(&["localhost"], &[Ipv4Addr::LOCALHOST.into()]);
        let identity = authority.issue(&subject)?;
        for (from, to) in [
            (&identity.certificate, "tls.crt"),
            (&identity.key, "tls.key"),
        ] {
            fs::copy(from, certs.join(to)).map_err(Error::io("copy", from))?;
        }
        let config = dir.join("kubeconfig");
        kubeconfig::by_path(&config, &authority, &identity)?;
        let mut configuration = configuration.clone();
        configuration["webhook"] =
            json!({"host": "127.0.0.1", "port": WEBHOOK_PORT, "certDir": certs});
        let file = dir.join("configuration.yaml");
        fs::write(&file, format!("{configuration:#}\n")).map_err(Error::io("write", &file))?;
        let programs = self.programs();
        let busybox = path(programs.path("busybox")?);
        let script = format!(
            "{busybox} mkdir -p {METRICS_CERTS} && {busybox} ln -sfn {} {METRICS_CERTS}/certs && exec \"$@\"",
            path(&certs)
        );
        let argv = [
            busybox,
            "sh".into(),
            "-c".into(),
            script,
            "sh".into(),
            path(programs.path(KUEUE)?),
            format!("--config={}", path(&file)),
            format!("--kubeconfig={}", path(&config)),
            "--zap-log-level=2".into(),
        ];
        Ok(Launch {
            name: KUEUE.into(),
            argv: argv.into(),
            env: environment(),
            log: self.log(KUEUE),
        })
    }

    /// Puts everything in place that Kueue needs; its kinds.
    async fn kueue_objects(&self) -> Result<Vec<String>> {
        let file = self.programs().path(MANIFESTS)?.to_owned();
        let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
        let ca = self.dir.join("pki/ca.crt");
        let ca = ByteString(fs::read(&ca).map_err(Error::io("read", &ca))?);
        let ca = serde_json::to_value(ca).unwrap_or_default();
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})];
        for mut object in documents(&text, file)? {
            reach(&mut object, &ca);
            if object["metadata"]["namespace"].is_string() {
                object["metadata"]["namespace"] = NAMESPACE.into();
            }
            objects.extend(binding(&object));
            objects.push(object);
        }
        let kind = |it: &Value| it["spec"]["names"]["kind"].as_str().map(str::to_owned);
        let kinds: Vec<String> = objects.iter().filter_map(&kind).collect();
        // Kinds stay when Kueue ends, and they are long.
        let missing = self.not_served(&kinds).await?;
        objects.retain(|it| kind(it).is_none_or(|kind| missing.contains(&kind)));
        // What lies in a namespace comes after it.
        self.send(&objects.remove(0)).await?;
        let sent = objects.iter().map(|object| self.send(object));
        futures::future::try_join_all(sent).await?;
        Ok(kinds)
    }

    /// Those of these kinds that the API server does not serve.
    async fn not_served(&self, kinds: &[String]) -> Result<Vec<String>> {
        let served = match self.client.list_api_group_resources(API).await {
            Ok(served) => served.resources,
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(Error::kube("ask for Kueue's kinds")(error)),
        };
        let is_served = |kind: &&String| served.iter().any(|it| it.kind == **kind);
        Ok(kinds.iter().filter(|it| !is_served(it)).cloned().collect())
    }

    pub(crate) async fn send(&self, object: &Value) -> Result<()> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (word(&object["kind"]), word(&object["metadata"]["name"]));
        let resource = resource(&word(&object["apiVersion"]), &kind)?;
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let how = PatchParams::apply("sliceproof").force();
        api.patch(&name, &how, &Patch::Apply(object))
            .await
            .map(drop)
            .map_err(Error::kube(format!("apply {kind} {name}")))
    }

    pub(crate) fn any(&self, api_version: &str, kind: &str) -> Result<Api<DynamicObject>> {
        let resource = resource(api_version, kind)?;
        Ok(Api::all_with(self.client.clone(), &resource))
    }

    /// A flavor that nobody keeps passes through its webhook.
    async fn kueue_answers(&self) -> Result<()> {
        let flavors = self.any(API, "ResourceFlavor")?;
        let tried = json!({
            "apiVersion": API, "kind": "ResourceFlavor",
            "metadata": {"generateName": "is-it-there-"}, "spec": {}
        });
        let tried: DynamicObject = serde_json::from_value(tried).map_err(|error| Error::Kube {
            doing: "read one of our own objects".into(),
            source: Box::new(kube::Error::SerdeError(error)),
        })?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let flavor = flavors.create(&dry, &tried).await;
        flavor
            .map(drop)
            .map_err(Error::kube("try a ResourceFlavor"))?;
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let there = namespaces.get_opt(NAMESPACE).await;
        there
            .map(drop)
            .map_err(Error::kube("get the namespace of Kueue"))
    }
}

fn resource(api_version: &str, kind: &str) -> Result<ApiResource> {
    let types = kube::core::TypeMeta {
        api_version: api_version.into(),
        kind: kind.into(),
    };
    let gvk = GroupVersionKind::try_from(&types).map_err(|error| Error::Init {
        doing: format!("read the kind of Kueue's {kind}"),
        message: error.to_string(),
    })?;
    Ok(ApiResource::from_gvk(&gvk))
}

/// Gives a role to the user that Kueue is here; its own manifests give it to a service account.
fn binding(role: &Value) -> Option<Value> {
    let kind = role["kind"]
        .as_str()
        .filter(|kind| kind.ends_with("Role"))?;
    let group = "rbac.authorization.k8s.io";
    Some(json!({
        "apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"),
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": group, "kind": kind, "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": USER}],
    }))
}

/// The user's part and ours.
fn whole(configuration: &Value) -> Result<Value> {
    let refused = |what: String, remedy: &str| Error::Spec {
        what,
        remedy: remedy.to_owned(),
    };
    let Some(fields) = configuration.as_object() else {
        return Err(refused(
            "the configuration of Kueue is no object".into(),
            "write fields of its Configuration, as resources:, fairSharing: or waitForPodsReady:",
        ));
    };
    if let Some(ours) = fields.keys().find(|key| OURS.contains(&key.as_str())) {
        return Err(refused(
            format!("{ours} of Kueue's configuration is set by the cluster"),
            "leave it out",
        ));
    }
    let mut all = configuration.clone();
    all["apiVersion"] = "config.kueue.x-k8s.io/v1beta2".into();
    all["kind"] = "Configuration".into();
    all["namespace"] = NAMESPACE.into();
    all["health"] = json!({"healthProbeBindAddress": HEALTH});
    all["metrics"] = json!({"bindAddress": "0"});
    all["leaderElection"] = json!({"leaderElect": false});
    all["internalCertManagement"] = json!({"enable": false});
    if all["clientConnection"].is_null() {
        all["clientConnection"] = json!({"qps": 1000, "burst": 2000});
    }
    // Its own API server for who waits in a queue would have to be known to ours.
    if all["featureGates"]["VisibilityOnDemand"].is_null() {
        all["featureGates"]["VisibilityOnDemand"] = false.into();
    }
    Ok(all)
}

fn documents(text: &str, file: PathBuf) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let value = Value::deserialize(document).map_err(|error| Error::Io {
            doing: "read",
            path: file.clone(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        })?;
        if !value.is_null() {
            all.push(value);
        }
    }
    Ok(all)
}

/// Where an object names Kueue's Service, it gets the address at which the process listens.
fn reach(object: &mut Value, ca: &Value) {
    let at = |path: &str| json!({"url": format!("https://127.0.0.1:{WEBHOOK_PORT}{path}"), "caBundle": ca});
    let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let path = webhook["clientConfig"]["service"]["path"].as_str();
        webhook["clientConfig"] = at(path.unwrap_or("/"));
    }
    let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default();
    if object["kind"] == "CustomResourceDefinition" && CONVERTED.contains(&kind) {
        object["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": at("/convert")}
        });
    }
}

/// What it says of a configuration that it refuses, out of its last lines.
fn complaint(tail: &str) -> String {
    let line = tail
        .lines()
        .rev()
        .find(|line| line.contains("\"level\":\"error\""))
        .and_then(|line| serde_json::from_str::<Value>(line).ok());
    match line {
        Some(line) => {
            let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            format!("it says: {}: {}", word("msg"), word("error"))
        }
        None => format!("its last lines:\n{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_the_service_reaches_the_process() {
        let ca = json!("Q0E=");
        let mut hooks = json!({
            "kind": "ValidatingWebhookConfiguration",
            "webhooks": [{"clientConfig": {"service": {"name": "webhook-service", "path": "/validate-x"}}}]
        });
        reach(&mut hooks, &ca);
        let config = &hooks["webhooks"][0]["clientConfig"];
        assert_eq!(
            config,
            &json!({"url": "https://127.0.0.1:9443/validate-x", "caBundle": "Q0E="})
        );
        let kind = |kind: &str| json!({"kind": "CustomResourceDefinition", "spec": {"names": {"kind": kind}}});
        let (mut two, mut one) = (kind("Workload"), kind("ResourceFlavor"));
        reach(&mut two, &ca);
        reach(&mut one, &ca);
        assert_eq!(
            two["spec"]["conversion"]["webhook"]["clientConfig"]["url"],
            "https://127.0.0.1:9443/convert"
        );
        assert_eq!(one, kind("ResourceFlavor"), "nothing is added to others");
    }

    #[test]
    fn its_roles_are_given_to_the_user_that_it_is() {
        let role = json!({"kind": "Role", "metadata": {"name": "r", "namespace": "n"}});
        let binding = binding(&role).expect("a role");
        assert_eq!(binding["kind"], "RoleBinding");
        assert_eq!(binding["metadata"]["namespace"], "n");
        assert_eq!(binding["subjects"][0]["name"], USER);
        assert_eq!(super::binding(&json!({"kind": "Secret"})), None);
    }

    #[test]
    fn the_configuration_is_the_users_but_for_what_makes_it_run_here() {
        let mine = json!({"fairSharing": {}, "featureGates": {"KueueDRAIntegration": true}});
        let all = whole(&mine).expect("taken");
        assert_eq!(all["featureGates"]["KueueDRAIntegration"], true);
        assert_eq!(all["featureGates"]["VisibilityOnDemand"], false);
        assert!(all["fairSharing"].is_object());
        for (wrong, says) in [
            (json!([]), "no object"),
            (json!({"webhook": {}}), "webhook of Kueue's configuration"),
        ] {
            let text = whole(&wrong).expect_err("refused").to_string();
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        let log = "{\"level\":\"info\",\"msg\":\"x\"}\n{\"level\":\"error\",\"msg\":\"Unable to validate the configuration\",\"error\":\"resources: bad\"}";
        assert_eq!(
            complaint(log),
            "it says: Unable to validate the configuration: resources: bad"
        );
        assert_eq!(complaint("panic: x"), "its last lines:\npanic: x");
    }
}
