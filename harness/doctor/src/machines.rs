//! GPU pools of Cluster API, checked as objects: what their machines will be as nodes.
//! Which labels of a Machine reach its Node is Cluster API's label sync (proposal 20220927); which labels a kubelet may give
//! itself is Kubernetes' NodeRestriction; capacity annotations are those of the cluster autoscaler's provider `clusterapi`.

use std::collections::BTreeMap;

use serde_json::Value;

use oracle::counted;

use crate::finding::{Check, Examined, Found};
use crate::seen::Seen;

/// Domains of Machine labels that are kept in step with the Node.
const SYNCED: [&str; 3] = [
    "node-role.kubernetes.io",
    "node-restriction.kubernetes.io",
    "node.cluster.x-k8s.io",
];
/// Labels under kubernetes.io that a kubelet may give itself, besides those of the domains below.
const OF_KUBELET: [&str; 7] = [
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// Domains in which a kubelet may give itself any label.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The autoscaler may take the pool to this size.
const MIN_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
/// What the autoscaler expects of a node that is not there yet.
const CAPACITY: &str = "capacity.cluster-autoscaler.kubernetes.io";
/// The first Kubernetes that serves `resource.k8s.io/v1`.
const FIRST: (u32, u32) = (1, 34);

pub(crate) fn examine(seen: &Seen) -> Examined {
    let objects = match &seen.machines {
        Ok(objects) => objects,
        Err(why) => return Examined::left_out(Check::Machines, why),
    };
    let mut found = Found::default();
    let by_name: BTreeMap<(&str, &str, &str), &Value> = objects
        .iter()
        .map(|object| ((kind(object), namespace(object), name(object)), object))
        .collect();
    let pools: Vec<Pool<'_>> = objects
        .iter()
        .filter(|object| kind(object) == "MachineDeployment")
        .map(|object| Pool::of(object, &by_name))
        .collect();
    let mut of_gpus = 0;
    for pool in &pools {
        pool.references(&mut found);
        if !pool.has_gpus() {
            continue;
        }
        of_gpus += 1;
        pool.taints(&mut found);
        pool.labels(&mut found);
        pool.version(&mut found);
        pool.scale_from_zero(&mut found);
    }
    match pools.len() {
        0 => Examined::left_out(Check::Machines, "there is no MachineDeployment here"),
        all => Examined::new(
            Check::Machines,
            format!("{}, {of_gpus} of GPUs", counted(all, "MachineDeployment")),
            found.0,
        ),
    }
}

/// A MachineDeployment and the template from which its machines are booted.
struct Pool<'o> {
    object: &'o Value,
    about: String,
    bootstrap: Reference<'o>,
    infrastructure: Reference<'o>,
}

/// A reference, and what it leads to.
struct Reference<'o> {
    field: &'static str,
    kind: &'o str,
    name: &'o str,
    found: Option<&'o Value>,
}

impl<'o> Pool<'o> {
    fn of(object: &'o Value, by_name: &BTreeMap<(&'o str, &'o str, &'o str), &'o Value>) -> Self {
        let reference = |field: &'static str| {
            let written = at(object, field);
            let of = |key: &str| written[key].as_str().unwrap_or_default();
            let (kind, name) = (of("kind"), of("name"));
            Reference {
                field,
                kind,
                name,
                found: by_name.get(&(kind, namespace(object), name)).copied(),
            }
        };
        Self {
            about: format!("MachineDeployment {}/{}", namespace(object), name(object)),
            bootstrap: reference("spec.template.spec.bootstrap.configRef"),
            infrastructure: reference("spec.template.spec.infrastructureRef"),
            object,
        }
    }

    fn references(&self, found: &mut Found) {
        for reference in [&self.bootstrap, &self.infrastructure] {
            if reference.found.is_none() && !reference.name.is_empty() {
                found.problem(
                    &self.about,
                    format!(
                        "{} names {} {}, which is not there: no machine will be made",
                        reference.field, reference.kind, reference.name
                    ),
                    "apply the template in the same namespace, or mend the reference",
                );
            }
        }
        let (selector, labels) = (
            texts(at(self.object, "spec.selector.matchLabels")),
            texts(at(self.object, "spec.template.metadata.labels")),
        );
        if let Some((key, value)) = selector
            .iter()
            .find(|(key, value)| labels.get(*key) != Some(*value))
        {
            found.problem(
                &self.about,
                format!("its selector wants the label {key}={value}, which its own template does not give"),
                "write the label in spec.template.metadata.labels",
            );
        }
    }

    fn registration(&self) -> &'o Value {
        self.bootstrap.found.map_or(&Value::Null, |template| {
            at(
                template,
                "spec.template.spec.joinConfiguration.nodeRegistration",
            )
        })
    }

    /// Taints that its nodes come with, as (key, effect).
    fn tainted(&self) -> impl Iterator<Item = (&'o str, &'o str)> {
        let of = |list: &'o Value| list.as_array().into_iter().flatten();
        of(&self.registration()["taints"])
            .chain(of(at(self.object, "spec.template.spec.taints")))
            .map(|taint| {
                let text = |key: &str| taint[key].as_str().unwrap_or_default();
                (text("key"), text("effect"))
            })
    }

    /// Labels that its kubelets give themselves: of v1beta1 a map of arguments, of v1beta2 a list.
    fn own_labels(&self) -> BTreeMap<&'o str, &'o str> {
        let arguments = &self.registration()["kubeletExtraArgs"];
        let listed = arguments.as_array().into_iter().flatten();
        let named = listed
            .filter(|argument| argument["name"] == "node-labels")
            .find_map(|argument| argument["value"].as_str());
        let text = named.or_else(|| arguments["node-labels"].as_str());
        text.into_iter()
            .flat_map(|text| text.split(','))
            .filter_map(|label| label.split_once('='))
            .collect()
    }

    /// A taint, a label or an annotation about GPUs, or a name that says so.
    fn has_gpus(&self) -> bool {
        let about = |text: &str| {
            let text = text.to_lowercase();
            text.contains("gpu") || text.contains("nvidia")
        };
        let annotations = texts(at(self.object, "metadata.annotations"));
        let labels = texts(at(self.object, "spec.template.metadata.labels"));
        about(name(self.object))
            || self.tainted().any(|(key, _)| about(key))
            || self.own_labels().keys().any(|key| about(key))
            || labels.keys().any(|key| about(key))
            || annotations.keys().any(|key| about(key))
    }

    fn taints(&self, found: &mut Found) {
        let keeps = |(_, effect): (&str, &str)| matches!(effect, "NoSchedule" | "NoExecute");
        if self.bootstrap.found.is_some() && !self.tainted().any(keeps) {
            found.problem(
                &self.about,
                "its nodes come without a taint: ordinary pods land on them and take their processors and memory",
                format!(
                    "add {{key: nvidia.com/gpu, value: present, effect: NoSchedule}} to spec.template.spec.joinConfiguration.nodeRegistration.taints of {} {}",
                    self.bootstrap.kind, self.bootstrap.name
                ),
            );
        }
    }

    fn labels(&self, found: &mut Found) {
        let own = self.own_labels();
        for label in texts(at(self.object, "spec.template.metadata.labels")).keys() {
            let synced = SYNCED.iter().any(|domain| within(label, domain));
            // Those of Cluster API itself are for machines.
            let of_machines = within(label, "cluster.x-k8s.io");
            if !synced && !of_machines && !own.contains_key(label) {
                found.warning(
                    &self.about,
                    format!("the label {label} stays on its machines and never comes to their nodes"),
                    format!(
                        "give it a name in {}, or let the kubelet set it: node-labels in kubeletExtraArgs",
                        SYNCED[2]
                    ),
                );
            }
        }
        for label in own.keys() {
            let kubernetes = within(label, "kubernetes.io") || within(label, "k8s.io");
            let allowed = OF_KUBELET.contains(label)
                || KUBELET_DOMAINS.iter().any(|domain| within(label, domain));
            if kubernetes && !allowed {
                found.problem(
                    &self.about,
                    format!("its kubelets are told to give themselves the label {label}, which a kubelet refuses: it will not start"),
                    format!("write it in spec.template.metadata.labels if it belongs to {}, else rename it", SYNCED[0]),
                );
            }
        }
    }

    fn version(&self, found: &mut Found) {
        let text = at(self.object, "spec.template.spec.version")
            .as_str()
            .unwrap_or_default();
        let mut parts = text
            .trim_start_matches('v')
            .split('.')
            .map(str::parse::<u32>);
        if let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next())
            && (major, minor) < FIRST
        {
            found.problem(
                &self.about,
                format!("its nodes will be of Kubernetes {text}, whose kubelet knows nothing of resource.k8s.io/v1"),
                format!("set spec.template.spec.version to {}.{} or newer", FIRST.0, FIRST.1),
            );
        }
    }

    fn scale_from_zero(&self, found: &mut Found) {
        let annotations = texts(at(self.object, "metadata.annotations"));
        let said = |key: &str| annotations.contains_key(format!("{CAPACITY}/{key}").as_str());
        if annotations.get(MIN_SIZE).is_some_and(|size| *size == "0") && !said("gpu-count") {
            found.warning(
                &self.about,
                "the autoscaler may take it to no machine, and then nothing says that its nodes would have GPUs: it never comes back for a pod that wants one",
                format!("annotate {CAPACITY}/gpu-count and {CAPACITY}/gpu-type, with DRA also {CAPACITY}/dra-driver"),
            );
        }
    }
}

/// A label of a domain or one below it.
fn within(label: &str, domain: &str) -> bool {
    let of = label.split_once('/').map_or("", |(of, _)| of);
    of == domain
        || of
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
}

/// The value at a path of field names.
fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(object, |value, field| &value[field])
}

/// A map of texts.
fn texts(value: &Value) -> BTreeMap<&str, &str> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect()
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    at(object, "metadata.name").as_str().unwrap_or_default()
}

fn namespace(object: &Value) -> &str {
    at(object, "metadata.namespace")
        .as_str()
        .unwrap_or("default")
}
