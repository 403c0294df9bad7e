//! Schedulers that start gangs, by the names that tags and steps give them: how each gets into a cluster, how a gang is given to it,
//! and how what became of the gang is read back. Pure.

use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::form::{Form, Group, Said};
use crate::manifest::word;

/// A scheduler.
pub(crate) trait Scheduler {
    /// What gets it into a cluster; `None` where it is there anyway.
    fn install(&self) -> Option<Install> {
        None
    }

    /// The kind of the objects that announce gangs.
    fn resource(&self) -> ApiResource;

    /// The object that announces a gang; `None` where it has no place for what the gang asks.
    fn announce(&self, group: &Group) -> Option<Value>;

    /// Makes a pod a member.
    fn join(&self, pod: &mut Value, gang: &str);

    /// The gang of which a pod is a member.
    fn gang_of(&self, pod: &Value) -> Option<String>;

    /// The gangs that an object announces, each with the pods that it must have at once.
    fn announced(&self, object: &Value) -> Vec<(String, usize)>;

    /// What the object says of its gang; `None` where it says nothing yet, or cannot.
    fn said(&self, _: &Value) -> Option<Said> {
        None
    }
}

/// What gets a scheduler into a cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Install {
    pub(crate) name: &'static str,
    /// The component of the lock that it is.
    pub(crate) component: &'static str,
    /// Its `KubeSchedulerConfiguration`.
    pub(crate) configuration: Value,
    /// Its feature gates; those of the cluster where there are none.
    pub(crate) gates: Option<&'static str>,
    /// Kinds that it wants.
    pub(crate) kinds: Vec<Value>,
}

/// A scheduler that somebody may name, and why it cannot be had where it cannot.
struct Known {
    name: &'static str,
    absent: Option<&'static str>,
}

const KNOWN: [Known; 5] = [
    Known {
        name: SECOND,
        absent: None,
    },
    Known {
        name: COSCHEDULING,
        absent: None,
    },
    Known {
        name: "volcano",
        absent: Some(
            "volcano.sh/volcano is on the Go module proxy and not yet among the components",
        ),
    },
    Known {
        name: "kai",
        absent: Some("its module cannot be had from the Go module proxy"),
    },
    Known {
        name: "hami",
        absent: Some(
            "it shares cards by a library between programs and CUDA, which a fake card has not",
        ),
    },
];

/// Every name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}

/// Why a scheduler of this name cannot be had.
pub(crate) fn absent(name: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.name == name)?.absent
}

/// The component that a scheduler of this name is, where that is none that every cluster has.
pub(crate) fn component(name: &str) -> Option<&'static str> {
    (name == COSCHEDULING).then_some(COSCHEDULING)
}

/// The scheduler of this name, where it can be had. `form` is what the cluster serves.
pub(crate) fn named(name: &str, form: Option<Form>) -> Option<Box<dyn Scheduler>> {
    match (name, form) {
        (SECOND, Some(form)) => Some(Box::new(Second(form))),
        (COSCHEDULING, _) => Some(Box::new(Coscheduling)),
        _ => None,
    }
}

const SECOND: &str = "second";

/// Another kube-scheduler with a profile of its own, which starts gangs as the cluster's own does.
struct Second(Form);

impl Scheduler for Second {
    fn install(&self) -> Option<Install> {
        Some(Install {
            name: SECOND,
            component: "kube-scheduler",
            configuration: json!({ "profiles": [{ "schedulerName": SECOND }] }),
            gates: None,
            kinds: Vec::new(),
        })
    }

    fn resource(&self) -> ApiResource {
        self.0.resource()
    }

    fn announce(&self, group: &Group) -> Option<Value> {
        self.0.announce(group)
    }

    fn join(&self, pod: &mut Value, gang: &str) {
        self.0.join(pod, gang);
        pod["spec"]["schedulerName"] = json!(SECOND);
    }

    fn gang_of(&self, pod: &Value) -> Option<String> {
        self.0.gang_of(pod)
    }

    fn announced(&self, object: &Value) -> Vec<(String, usize)> {
        self.0.announced(object)
    }

    fn said(&self, object: &Value) -> Option<Said> {
        self.0.said(object)
    }
}

const COSCHEDULING: &str = "coscheduling";
const POD_GROUP: &str = "scheduling.x-k8s.io/pod-group";

/// kube-scheduler with the plugin of kubernetes-sigs/scheduler-plugins, which lets members wait for each other with what they got.
/// Names of fields and of the label are those of its `apis/scheduling/v1alpha1`, the arguments those of its shipped configuration.
struct Coscheduling;

impl Scheduler for Coscheduling {
    fn install(&self) -> Option<Install> {
        let only =
            json!({ "enabled": [{ "name": "Coscheduling" }], "disabled": [{ "name": "*" }] });
        let profile = json!({
            "schedulerName": COSCHEDULING,
            "plugins": {
                "multiPoint": { "enabled": [{ "name": "Coscheduling" }] },
                "queueSort": only
            },
            "pluginConfig": [
                { "name": "Coscheduling", "args": { "permitWaitingTimeSeconds": 10 } }
            ]
        });
        let kind = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "podgroups.scheduling.x-k8s.io",
                "annotations": {
                    "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
                }
            },
            "spec": {
                "group": "scheduling.x-k8s.io",
                "names": { "kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup" },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1alpha1",
                    "served": true,
                    "storage": true,
                    "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                        "spec": { "type": "object", "properties": {
                            "minMember": { "type": "integer", "format": "int32", "minimum": 1 },
                            "scheduleTimeoutSeconds": { "type": "integer", "format": "int32" }
                        } },
                        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
                    } } }
                }]
            }
        });
        Some(Install {
            name: COSCHEDULING,
            component: COSCHEDULING,
            configuration: json!({ "profiles": [profile] }),
            // It is a Kubernetes of its own, 1.34, where partitions are off by default.
            gates: Some("DRAPartitionableDevices=true"),
            kinds: vec![kind],
        })
    }

    fn resource(&self) -> ApiResource {
        let kind = GroupVersionKind::gvk("scheduling.x-k8s.io", "v1alpha1", "PodGroup");
        ApiResource::from_gvk_with_plural(&kind, "podgroups")
    }

    fn announce(&self, group: &Group) -> Option<Value> {
        group.claim.is_none().then(|| {
            json!({
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": { "name": group.name },
                "spec": { "minMember": group.min }
            })
        })
    }

    fn join(&self, pod: &mut Value, gang: &str) {
        pod["spec"]["schedulerName"] = json!(COSCHEDULING);
        pod["metadata"]["labels"][POD_GROUP] = json!(gang);
    }

    fn gang_of(&self, pod: &Value) -> Option<String> {
        let name = word(&pod["metadata"]["labels"], POD_GROUP);
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn announced(&self, object: &Value) -> Vec<(String, usize)> {
        let min = object["spec"]["minMember"].as_u64();
        let min = min.and_then(|min| usize::try_from(min).ok());
        let name = word(&object["metadata"], "name").to_owned();
        min.map(|min| (name, min)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_reads_back_what_it_announced_and_its_pods_name_it() {
        for name in names().filter(|name| absent(name).is_none()) {
            let scheduler = named(name, Some(Form::Beta)).expect("can be had");
            let group = Group {
                name: "train".into(),
                min: 3,
                ..Group::default()
            };
            let object = scheduler.announce(&group).expect("a gang");
            assert_eq!(
                scheduler.announced(&object),
                [("train".to_owned(), 3)],
                "{name}"
            );
            let mut pod = json!({ "metadata": { "labels": {} }, "spec": {} });
            assert_eq!(scheduler.gang_of(&pod), None, "{name}");
            scheduler.join(&mut pod, "train");
            assert_eq!(scheduler.gang_of(&pod).as_deref(), Some("train"), "{name}");
            let install = scheduler.install().expect("it is beside the usual one");
            assert_eq!(pod["spec"]["schedulerName"], install.name);
            assert_eq!(
                install.configuration["profiles"][0]["schedulerName"],
                install.name
            );
            assert_eq!(
                scheduler.resource().kind,
                object["kind"].as_str().unwrap_or_default()
            );
        }
    }

    #[test]
    fn who_cannot_be_had_says_why() {
        for name in ["kai", "volcano", "hami"] {
            assert!(absent(name).is_some_and(|why| why.len() > 20), "{name}");
            assert!(named(name, Some(Form::Beta)).is_none());
        }
        assert!(named("second", None).is_none(), "without the Workload API");
    }
}
