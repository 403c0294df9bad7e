//! The gangs of a cluster as an assertion sees them: who is a member, what they hold, whether they run. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use serde_json::Value;

use super::form::Said;
use super::scheduler::Scheduler;
use crate::allocation::{Held, held};
use crate::manifest::word;
use crate::sight::{PodSight, State};

/// A pod of a gang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pod: PodSight,
    /// A node has it.
    pub(crate) bound: bool,
}

/// A gang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// How many of its pods must start at once.
    pub(crate) min: usize,
    pub(crate) members: Vec<Member>,
    /// Devices of claims that belong to it or to its members.
    pub(crate) held: Vec<Held>,
    pub(crate) said: Option<Said>,
}

/// A gang that holds devices and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stuck {
    pub(crate) gang: String,
    pub(crate) devices: Vec<String>,
    pub(crate) running: usize,
    pub(crate) min: usize,
}

impl Stuck {
    pub(crate) fn line(&self) -> String {
        format!(
            "gang {} holds {}, and {} of its pods run where {} must",
            self.gang,
            self.devices.join(", "),
            self.running,
            self.min
        )
    }
}

impl Sight {
    /// Every gang that `groups` announce, with its members among `pods` and what it holds of `claims`.
    pub(crate) fn all(
        scheduler: &dyn Scheduler,
        groups: &[Value],
        pods: &[Value],
        claims: &[ResourceClaim],
    ) -> Vec<Self> {
        let mut gangs = Vec::new();
        for group in groups {
            for (name, min) in scheduler.announced(group) {
                let namespace = word(&group["metadata"], "namespace").to_owned();
                let mine = |pod: &&Value| {
                    word(&pod["metadata"], "namespace") == namespace
                        && scheduler.gang_of(pod).as_deref() == Some(name.as_str())
                };
                let members: Vec<Member> =
                    pods.iter().filter(mine).filter_map(Member::of).collect();
                let users: BTreeSet<&str> = members.iter().map(|it| it.pod.name.as_str()).collect();
                let claims: Vec<ResourceClaim> = claims
                    .iter()
                    .filter(|claim| claim.metadata.namespace.as_deref() == Some(namespace.as_str()))
                    .filter(|claim| belongs(claim, &name, &users))
                    .cloned()
                    .collect();
                // Admin access looks on and takes nothing from anybody.
                let held = held(&claims).into_iter().filter(|it| !it.admin).collect();
                let said = scheduler.said(group);
                gangs.push(Self {
                    namespace,
                    name,
                    min,
                    members,
                    held,
                    said,
                });
            }
        }
        gangs
    }

    /// How many of its pods run.
    pub(crate) fn running(&self) -> usize {
        self.members.iter().filter(|it| it.pod.runs()).count()
    }

    /// As many of its pods run as it must have.
    pub(crate) fn runs(&self) -> bool {
        self.running() >= self.min
    }

    /// How many of its pods have a node.
    pub(crate) fn bound(&self) -> usize {
        self.members.iter().filter(|it| it.bound).count()
    }

    /// Names of the devices that it holds.
    pub(crate) fn devices(&self) -> Vec<String> {
        self.held.iter().map(Held::path).collect()
    }

    /// That it holds devices without running, where it does.
    pub(crate) fn stuck(&self) -> Option<Stuck> {
        (!self.held.is_empty() && !self.runs()).then(|| Stuck {
            gang: format!("{}/{}", self.namespace, self.name),
            devices: self.devices(),
            running: self.running(),
            min: self.min,
        })
    }

    /// Why it waits: what is said of the group, where its form says anything, and of its pods that were refused.
    pub(crate) fn words(&self) -> Vec<&str> {
        let refused = self.said.iter().filter(|said| !said.scheduled);
        let group = refused.map(|said| said.message.as_str());
        // That nobody has looked at a pod yet is no reason.
        let pods = self.members.iter().filter_map(|it| match &it.pod.state {
            State::Waiting(why) => Some(why.as_str()),
            _ => None,
        });
        group.chain(pods).collect()
    }

    /// The gang in a few lines.
    pub(crate) fn lines(&self) -> String {
        let mut lines = vec![format!(
            "gang {}: {} of {} pods run, {} must at once; holds {}",
            self.name,
            self.running(),
            self.members.len(),
            self.min,
            match self.devices().as_slice() {
                [] => "nothing".to_owned(),
                devices => devices.join(", "),
            }
        )];
        if let Some(said) = self.said.as_ref().filter(|said| !said.scheduled) {
            lines.push(format!("  {}", said.message));
        }
        let not_running = self.members.iter().filter(|it| !it.pod.runs());
        lines.extend(not_running.map(|it| format!("  {}", it.pod.line())));
        lines.join("\n")
    }
}

impl Member {
    fn of(pod: &Value) -> Option<Self> {
        let bound = !word(&pod["spec"], "nodeName").is_empty();
        let pod: Pod = serde_json::from_value(pod.clone()).ok()?;
        Some(Self {
            pod: PodSight::of(&pod),
            bound,
        })
    }
}

/// Whether a claim is that of the gang or of a member: reserved for one, or made for one.
fn belongs(claim: &ResourceClaim, gang: &str, members: &BTreeSet<&str>) -> bool {
    let status = claim.status.as_ref();
    let users = status.and_then(|status| status.reserved_for.as_ref());
    let mut reserved = users.into_iter().flatten();
    let mut owners = claim.metadata.owner_references.iter().flatten();
    reserved.any(|user| match user.resource.as_str() {
        "pods" => members.contains(user.name.as_str()),
        "podgroups" => user.name == gang,
        _ => false,
    }) || owners.any(|owner| match owner.kind.as_str() {
        "Pod" => members.contains(owner.name.as_str()),
        "PodGroup" => owner.name == gang,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::form::Form;
    use super::*;
    use serde_json::json;

    fn group(name: &str, min: usize) -> Value {
        json!({ "metadata": { "name": name, "namespace": "ns" }, "spec": { "schedulingPolicy": { "gang": { "minCount": min } } } })
    }

    fn pod(name: &str, gang: &str, runs: bool) -> Value {
        let mut pod = json!({ "metadata": { "name": name, "namespace": "ns" }, "spec": { "containers": [] } });
        if runs {
            pod["spec"]["nodeName"] = json!("node-1");
            pod["status"] = json!({ "phase": "Running", "containerStatuses": [
                { "name": "main", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": {} } }
            ] });
        }
        Form::Beta.join(&mut pod, gang);
        pod
    }

    /// An allocated claim, reserved for nobody or for this one.
    fn claim(name: &str, device: &str, user: Option<(&str, &str)>) -> Value {
        let mut claim = json!({
            "metadata": { "name": name, "namespace": "ns" },
            "spec": {},
            "status": { "allocation": { "devices": { "results": [
                { "driver": "gpu.nvidia.com", "pool": "node-1", "device": device, "request": "gpu" }
            ] } } }
        });
        if let Some((resource, user)) = user {
            claim["status"]["reservedFor"] =
                json!([{ "resource": resource, "name": user, "uid": "u" }]);
        }
        claim
    }

    fn stuck(groups: &[Value], pods: &[Value], claims: &[Value]) -> Vec<String> {
        let claims: Vec<ResourceClaim> = claims
            .iter()
            .map(|claim| serde_json::from_value(claim.clone()).expect("a claim"))
            .collect();
        let gangs = Sight::all(&Form::Beta, groups, pods, &claims);
        let found = gangs.iter().filter_map(Sight::stuck);
        found.map(|it| it.line()).collect()
    }

    #[test]
    fn half_a_gang_that_holds_a_partition_is_found() {
        let pods = [pod("a-1", "a", true), pod("a-2", "a", false)];
        let claims = [claim("c1", "gpu-0-mig-1g5gb-19-0", Some(("pods", "a-1")))];
        let found = stuck(&[group("a", 2)], &pods, &claims);
        assert_eq!(
            found,
            [
                "gang ns/a holds gpu.nvidia.com/node-1/gpu-0-mig-1g5gb-19-0, and 1 of its pods run where 2 must"
            ]
        );
    }

    #[test]
    fn a_gang_that_runs_or_holds_nothing_is_not() {
        let run = [pod("a-1", "a", true), pod("a-2", "a", true)];
        let wait = [pod("b-1", "b", false), pod("b-2", "b", false)];
        let pods = [run, wait].concat();
        let claims = [
            claim("c1", "d1", Some(("pods", "a-1"))),
            claim("c2", "d2", Some(("pods", "a-2"))),
        ];
        let groups = [group("a", 2), group("b", 2)];
        assert!(stuck(&groups, &pods, &claims).is_empty());
        // As many as must run do: the third may come later, or never.
        let third = [pods, vec![pod("a-3", "a", false)]].concat();
        assert!(stuck(&groups, &third, &claims).is_empty());
        // The same claims in the hands of the other gang.
        let claims = [claim("c1", "d1", Some(("pods", "b-1")))];
        assert_eq!(stuck(&groups, &third, &claims).len(), 1);
    }

    #[test]
    fn claims_of_the_group_and_those_that_only_have_an_owner_count() {
        let pods = [pod("a-1", "a", false)];
        let of_group = claim("c", "d1", Some(("podgroups", "a")));
        assert_eq!(stuck(&[group("a", 1)], &pods, &[of_group]).len(), 1);
        let mut owned = claim("c", "d1", None);
        owned["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "a-1", "uid": "u", "controller": true }]);
        assert_eq!(stuck(&[group("a", 1)], &pods, &[owned]).len(), 1);
        // Of another namespace, of a pod outside of the gang, and one that only looks on.
        let mut elsewhere = claim("c", "d1", Some(("pods", "a-1")));
        elsewhere["metadata"]["namespace"] = json!("other");
        let outside = claim("c", "d1", Some(("pods", "single")));
        let mut admin = claim("c", "d1", Some(("pods", "a-1")));
        admin["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = json!(true);
        assert!(stuck(&[group("a", 1)], &pods, &[elsewhere, outside, admin]).is_empty());
    }

    #[test]
    fn only_who_was_refused_has_a_reason_to_wait() {
        let gang = |pod: Value, group: Value| Sight::all(&Form::Beta, &[group], &[pod], &[]);
        let new = gang(pod("a-1", "a", false), group("a", 1));
        assert!(new[0].words().is_empty(), "nobody has looked at it");
        let mut refused = pod("a-1", "a", false);
        refused["status"] = json!({ "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room" }
        ] });
        assert_eq!(gang(refused, group("a", 1))[0].words(), ["no room"]);
        let mut said = group("a", 1);
        said["status"] = json!({ "conditions": [
            { "type": "PodGroupInitiallyScheduled", "status": "False", "message": "too many" }
        ] });
        let new = gang(pod("a-1", "a", false), said);
        assert_eq!(new[0].words(), ["too many"]);
    }

    #[test]
    fn a_gang_without_pods_is_no_deadlock() {
        let empty = Sight::all(&Form::Beta, &[group("a", 3)], &[], &[]);
        assert_eq!((empty[0].members.len(), empty[0].stuck()), (0, None));
        assert!(empty[0].lines().contains("0 of 0 pods run, 3 must at once"));
    }
}
