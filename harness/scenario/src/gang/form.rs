//! The Workload API in the forms that it had in each minor. Pure.
//! 1.35: a Workload with its groups in it, and no status. Since 1.36 a PodGroup of its own, whose condition was renamed in 1.37.

use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::scheduler::Scheduler;
use crate::manifest::word;

/// The only group of a Workload of 1.35.
const PODS: &str = "pods";

/// Which form a cluster serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `scheduling.k8s.io/v1alpha1` of 1.35.
    Workload,
    /// `scheduling.k8s.io/v1alpha2` of 1.36.
    Alpha,
    /// `scheduling.k8s.io/v1beta1` of 1.37.
    Beta,
}

/// What a gang asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// How many of its pods must start at once.
    pub(crate) min: usize,
    pub(crate) priority: Option<String>,
    /// Template of a claim that all its pods share.
    pub(crate) claim: Option<String>,
}

/// What a cluster says of a gang as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) scheduled: bool,
    pub(crate) message: String,
}

impl Form {
    /// Newest first.
    pub(crate) const ALL: [Form; 3] = [Form::Beta, Form::Alpha, Form::Workload];

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Form::Workload => "scheduling.k8s.io/v1alpha1",
            Form::Alpha => "scheduling.k8s.io/v1alpha2",
            Form::Beta => "scheduling.k8s.io/v1beta1",
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Form::Workload => "Workload",
            Form::Alpha | Form::Beta => "PodGroup",
        }
    }

    /// As an API server names it. `v1beta1` had PriorityClasses long before it had groups.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Form::Workload => "workloads",
            Form::Alpha | Form::Beta => "podgroups",
        }
    }
}

/// The cluster's own scheduler, by the Workload API.
impl Scheduler for Form {
    fn resource(&self) -> ApiResource {
        let version = self.api_version().rsplit('/').next().unwrap_or_default();
        let kind = GroupVersionKind::gvk("scheduling.k8s.io", version, self.kind());
        ApiResource::from_gvk_with_plural(&kind, self.plural())
    }

    /// The object that announces a gang; `None` where this form has no place for what it asks.
    fn announce(&self, group: &Group) -> Option<Value> {
        let gang = json!({ "gang": { "minCount": group.min } });
        let mut spec = match self {
            Form::Workload if group.claim.is_some() => return None,
            // Its priority is that of its pods.
            Form::Workload => json!({ "podGroups": [{ "name": PODS, "policy": gang }] }),
            Form::Alpha | Form::Beta => json!({ "schedulingPolicy": gang }),
        };
        if *self != Form::Workload {
            if let Some(class) = &group.priority {
                spec["priorityClassName"] = json!(class);
            }
            if let Some(template) = &group.claim {
                spec["resourceClaims"] =
                    json!([{ "name": "gpu", "resourceClaimTemplateName": template }]);
            }
        }
        Some(json!({
            "apiVersion": self.api_version(),
            "kind": self.kind(),
            "metadata": { "name": group.name },
            "spec": spec
        }))
    }

    fn join(&self, pod: &mut Value, group: &str) {
        match self {
            Form::Workload => {
                pod["spec"]["workloadRef"] = json!({ "name": group, "podGroup": PODS });
            }
            Form::Alpha | Form::Beta => {
                pod["spec"]["schedulingGroup"] = json!({ "podGroupName": group });
            }
        }
    }

    /// The gang of which a pod is a member. Replicas of a Workload's group are gangs of their own.
    fn gang_of(&self, pod: &Value) -> Option<String> {
        let spec = &pod["spec"];
        let name = match self {
            Form::Workload => {
                let of = &spec["workloadRef"];
                let parts = [
                    word(of, "name"),
                    word(of, "podGroup"),
                    word(of, "podGroupReplicaKey"),
                ];
                named(&parts)
            }
            Form::Alpha | Form::Beta => word(&spec["schedulingGroup"], "podGroupName").to_owned(),
        };
        (!name.is_empty()).then_some(name)
    }

    /// The gangs that an object announces, each with the pods that it must have at once. Groups without a gang's policy are none.
    fn announced(&self, object: &Value) -> Vec<(String, usize)> {
        let name = word(&object["metadata"], "name");
        let min = |policy: &Value| usize::try_from(policy["gang"]["minCount"].as_u64()?).ok();
        match self {
            Form::Workload => {
                let groups = object["spec"]["podGroups"].as_array();
                let of = |group: &Value| {
                    let parts = [name, word(group, "name"), ""];
                    Some((named(&parts), min(&group["policy"])?))
                };
                groups.into_iter().flatten().filter_map(of).collect()
            }
            Form::Alpha | Form::Beta => {
                let min = min(&object["spec"]["schedulingPolicy"]);
                min.map(|min| (name.to_owned(), min)).into_iter().collect()
            }
        }
    }

    /// What the object says of its gang; `None` where it says nothing yet, or cannot.
    fn said(&self, object: &Value) -> Option<Said> {
        let wanted = match self {
            Form::Workload => return None,
            Form::Alpha => "PodGroupScheduled",
            Form::Beta => "PodGroupInitiallyScheduled",
        };
        let conditions = object["status"]["conditions"].as_array()?;
        let condition = conditions.iter().find(|it| word(it, "type") == wanted)?;
        Some(Said {
            scheduled: word(condition, "status") == "True",
            message: word(condition, "message").to_owned(),
        })
    }
}

/// The usual gang of a Workload goes by its name alone.
fn named([workload, group, replica]: &[&str; 3]) -> String {
    let rest: Vec<&str> = [*group, *replica]
        .into_iter()
        .filter(|part| !part.is_empty() && *part != PODS)
        .collect();
    if rest.is_empty() {
        (*workload).to_owned()
    } else {
        format!("{workload}/{}", rest.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Group {
        Group {
            name: "train".into(),
            min: 3,
            priority: Some("high".into()),
            claim: None,
        }
    }

    #[test]
    fn what_is_announced_is_read_back_and_its_pods_are_its_members() {
        for form in Form::ALL {
            let object = form.announce(&group()).expect("has a place for it");
            assert_eq!(
                form.announced(&object),
                [("train".to_owned(), 3)],
                "{form:?}"
            );
            let mut pod = json!({ "spec": {} });
            assert_eq!(form.gang_of(&pod), None);
            form.join(&mut pod, "train");
            assert_eq!(form.gang_of(&pod).as_deref(), Some("train"), "{form:?}");
            assert_eq!(form.said(&object), None);
        }
    }

    #[test]
    fn only_gangs_count_and_replicas_are_told_apart() {
        let basic =
            json!({ "metadata": { "name": "g" }, "spec": { "schedulingPolicy": { "basic": {} } } });
        assert!(Form::Beta.announced(&basic).is_empty());
        let pod = |replica: &str| json!({ "spec": { "workloadRef": { "name": "w", "podGroup": "pods", "podGroupReplicaKey": replica } } });
        assert_ne!(
            Form::Workload.gang_of(&pod("a")),
            Form::Workload.gang_of(&pod("b"))
        );
        assert_eq!(Form::Workload.gang_of(&pod("")).as_deref(), Some("w"));
    }

    #[test]
    fn each_minor_has_its_condition() {
        let object = |condition: &str| json!({ "status": { "conditions": [{ "type": condition, "status": "False", "message": "no room" }] } });
        let said = Some(Said {
            scheduled: false,
            message: "no room".to_owned(),
        });
        assert_eq!(Form::Beta.said(&object("PodGroupInitiallyScheduled")), said);
        assert_eq!(Form::Alpha.said(&object("PodGroupScheduled")), said);
        assert_eq!(Form::Beta.said(&object("PodGroupScheduled")), None);
    }

    #[test]
    fn a_claim_of_the_group_has_no_place_in_1_35() {
        let group = Group {
            claim: Some("template".into()),
            ..group()
        };
        assert_eq!(Form::Workload.announce(&group), None);
        let object = Form::Alpha.announce(&group).expect("has one");
        assert_eq!(object["spec"]["resourceClaims"][0]["name"], "gpu");
    }
}
