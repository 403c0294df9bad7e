//! Claims, pods and quotas as far as a quota looks at them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::amount::Amount;
use super::key::is_extended;

/// A quantity in an object that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field}: {why}")]
pub struct Unread {
    object: String,
    field: String,
    why: String,
}

/// The devices of one class that a request may get, at most.
pub(crate) type Most = Vec<(String, u64)>;

/// A ResourceClaim, or what a template will make.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Seconds since 1970; none before it is stored.
    pub(crate) created: Option<i64>,
    /// For each request the alternatives: class, and how many devices at most.
    pub(crate) requests: Vec<Most>,
    /// The pod for whose extended resources it says it was made.
    pub(crate) made_for: Option<Owner>,
}

/// The pod that a claim belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// How many devices a request for all may get: the most that a claim can hold.
const ALL: u64 = crate::limits::RESULTS_PER_CLAIM;

fn most(mode: Option<&str>, count: Option<i64>) -> u64 {
    match mode {
        Some("All") => ALL,
        Some("ExactCount") | None => u64::try_from(count.unwrap_or(1)).unwrap_or(0),
        // Of a newer version: nobody knows.
        Some(_) => 0,
    }
}

impl Claim {
    /// Reads a claim. Administrative access is charged as any other.
    pub fn read(from: &api::ResourceClaim) -> Self {
        Self::with(&from.metadata, from.spec.as_ref())
    }

    /// Reads what the template makes.
    pub fn made_from(template: &api::ResourceClaimTemplate) -> Self {
        let none = ObjectMeta::default();
        let spec = template.spec.as_ref();
        let metadata = spec.and_then(|spec| spec.metadata.as_ref());
        Self::with(
            metadata.unwrap_or(&none),
            spec.and_then(|spec| spec.spec.as_ref()),
        )
    }

    fn with(metadata: &ObjectMeta, spec: Option<&api::ResourceClaimSpec>) -> Self {
        let devices = spec.and_then(|spec| spec.devices.as_ref());
        let requests = devices.and_then(|devices| devices.requests.as_ref());
        Claim {
            name: metadata.name.clone().unwrap_or_default(),
            created: metadata
                .creation_timestamp
                .as_ref()
                .map(|time| time.0.as_second()),
            requests: requests.into_iter().flatten().map(alternatives).collect(),
            made_for: made_for(metadata),
        }
    }
}

fn alternatives(request: &api::DeviceRequest) -> Most {
    let first = request.first_available.iter().flatten().map(|sub| {
        let mode = sub.allocation_mode.as_deref();
        (sub.device_class_name.clone(), most(mode, sub.count))
    });
    let exactly = request.exactly.iter().map(|exactly| {
        let mode = exactly.allocation_mode.as_deref();
        (exactly.device_class_name.clone(), most(mode, exactly.count))
    });
    first.chain(exactly).collect()
}

fn made_for(metadata: &ObjectMeta) -> Option<Owner> {
    let annotations = metadata.annotations.as_ref()?;
    if annotations.get("resource.kubernetes.io/extended-resource-claim")? != "true" {
        return None;
    }
    let mut owners = metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    (owner.kind == "Pod" && owner.api_version == "v1").then(|| Owner {
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

/// A Pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: String,
    pub(crate) uid: String,
    /// It has succeeded or failed: it is charged no more.
    pub(crate) ended: bool,
    /// What it requests of extended resources.
    pub(crate) requests: BTreeMap<String, Amount>,
    /// The claim that its status names for them.
    pub(crate) claim: Option<String>,
    terminating: bool,
    best_effort: bool,
    across: bool,
    priority_class: Option<String>,
}

impl Pod {
    /// Reads a pod. One that was asked to end and whose time is over counts as one that is there: no clock is read here.
    pub fn read(from: &core::Pod) -> Result<Self, Unread> {
        let name = from.metadata.name.clone().unwrap_or_default();
        let none = core::PodSpec::default();
        let spec = from.spec.as_ref().unwrap_or(&none);
        let status = from.status.as_ref();
        let phase = status.and_then(|status| status.phase.as_deref());
        let claim = status.and_then(|status| status.extended_resource_claim_status.as_ref());
        Ok(Pod {
            uid: from.metadata.uid.clone().unwrap_or_default(),
            ended: matches!(phase, Some("Succeeded" | "Failed")),
            requests: requests(&name, spec)?,
            claim: claim.map(|it| it.resource_claim_name.clone()),
            terminating: spec.active_deadline_seconds.is_some_and(|it| it >= 0),
            best_effort: best_effort(spec),
            across: across(spec),
            priority_class: spec.priority_class_name.clone(),
            name,
        })
    }
}

/// The sum of the containers that run together, or what an earlier one needs if that is more.
fn requests(pod: &str, spec: &core::PodSpec) -> Result<BTreeMap<String, Amount>, Unread> {
    let mut sum: BTreeMap<String, Amount> = BTreeMap::new();
    let mut highest: BTreeMap<String, Amount> = BTreeMap::new();
    for container in &spec.containers {
        for (name, amount) in extended(pod, container)? {
            let so_far = sum.entry(name).or_default();
            *so_far = so_far.plus(amount);
        }
    }
    let mut beside: BTreeMap<String, Amount> = BTreeMap::new();
    for container in spec.init_containers.iter().flatten() {
        let own = extended(pod, container)?;
        let stays = container.restart_policy.as_deref() == Some("Always");
        for (name, amount) in own {
            let now = beside.get(&name).copied().unwrap_or_default().plus(amount);
            if stays {
                beside.insert(name.clone(), now);
                let so_far = sum.entry(name.clone()).or_default();
                *so_far = so_far.plus(amount);
            }
            let most = highest.entry(name).or_default();
            if now.value > most.value {
                *most = now;
            }
        }
    }
    for (name, amount) in highest {
        let so_far = sum.entry(name).or_default();
        if amount.value > so_far.value {
            *so_far = amount;
        }
    }
    Ok(sum)
}

fn extended(pod: &str, container: &core::Container) -> Result<Vec<(String, Amount)>, Unread> {
    let Some(resources) = &container.resources else {
        return Ok(Vec::new());
    };
    // What has a limit and no request requests its limit.
    let mut asked: BTreeMap<&String, &Text> = resources.limits.iter().flatten().collect();
    asked.extend(resources.requests.iter().flatten());
    let asked = asked.into_iter().filter(|(name, _)| is_extended(name));
    asked
        .map(|(name, text)| Ok((name.clone(), amount(&format!("Pod {pod}"), name, text)?)))
        .collect()
}

fn amount(object: &str, field: &str, text: &Text) -> Result<Amount, Unread> {
    text.0.parse().map_err(|why| Unread {
        object: object.to_owned(),
        field: field.to_owned(),
        why: format!("{why}"),
    })
}

/// No container asks for processor time or memory.
fn best_effort(spec: &core::PodSpec) -> bool {
    let own = spec.resources.iter();
    let containers = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    let mut all = own.chain(containers.filter_map(|container| container.resources.as_ref()));
    !all.any(|resources| {
        let mut both = resources.requests.iter().chain(&resources.limits).flatten();
        both.any(|(name, text)| {
            let asked = text
                .0
                .parse::<Amount>()
                .is_ok_and(|amount| !amount.is_zero());
            matches!(name.as_str(), "cpu" | "memory") && asked
        })
    })
}

/// A term of its (anti-)affinity names namespaces.
fn across(spec: &core::PodSpec) -> bool {
    let Some(affinity) = &spec.affinity else {
        return false;
    };
    let term = |term: &core::PodAffinityTerm| {
        term.namespace_selector.is_some()
            || term.namespaces.as_ref().is_some_and(|it| !it.is_empty())
    };
    let of = |must: &Option<Vec<core::PodAffinityTerm>>,
              may: &Option<Vec<core::WeightedPodAffinityTerm>>| {
        must.iter().flatten().any(term)
            || may.iter().flatten().any(|it| term(&it.pod_affinity_term))
    };
    let with = affinity.pod_affinity.as_ref().is_some_and(|it| {
        of(
            &it.required_during_scheduling_ignored_during_execution,
            &it.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let without = affinity.pod_anti_affinity.as_ref().is_some_and(|it| {
        of(
            &it.required_during_scheduling_ignored_during_execution,
            &it.preferred_during_scheduling_ignored_during_execution,
        )
    });
    with || without
}

/// What a quota limits itself to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Pods with a deadline.
    Terminating,
    /// Pods without.
    NotTerminating,
    /// Pods that ask for no processor time and memory.
    BestEffort,
    /// Pods that do.
    NotBestEffort,
    /// Pods with affinity to other namespaces.
    CrossNamespace,
    /// Pods with a priority class: any, one of these, or none of these.
    Priority {
        /// `Exists`, `DoesNotExist`, `In` or `NotIn`.
        operator: String,
        /// Of these.
        values: Vec<String>,
    },
    /// Of other objects, or not known: no pod fits.
    Other,
}

impl Scope {
    fn read(name: &str, operator: &str, values: &[String]) -> Self {
        match name {
            "Terminating" => Scope::Terminating,
            "NotTerminating" => Scope::NotTerminating,
            "BestEffort" => Scope::BestEffort,
            "NotBestEffort" => Scope::NotBestEffort,
            "CrossNamespacePodAffinity" => Scope::CrossNamespace,
            "PriorityClass" => Scope::Priority {
                operator: operator.to_owned(),
                values: values.to_vec(),
            },
            _ => Scope::Other,
        }
    }

    fn fits(&self, pod: &Pod) -> bool {
        match self {
            Scope::Terminating => pod.terminating,
            Scope::NotTerminating => !pod.terminating,
            Scope::BestEffort => pod.best_effort,
            Scope::NotBestEffort => !pod.best_effort,
            Scope::CrossNamespace => pod.across,
            Scope::Priority { operator, values } => {
                let named = pod.priority_class.as_ref();
                let listed = named.is_some_and(|class| values.contains(class));
                match operator.as_str() {
                    "Exists" => named.is_some(),
                    "DoesNotExist" => named.is_none(),
                    "In" => listed,
                    _ => !listed,
                }
            }
            Scope::Other => false,
        }
    }
}

/// A ResourceQuota: what it is at, not what its owner has asked for since.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Its name.
    pub name: String,
    /// To what it limits itself. Claims fit no scope.
    pub scopes: Vec<Scope>,
    /// `spec.hard`
    pub wanted: BTreeMap<String, Amount>,
    /// `status.hard`: what is enforced.
    pub hard: BTreeMap<String, Amount>,
    /// `status.used`
    pub used: BTreeMap<String, Amount>,
}

impl Limits {
    /// Reads a ResourceQuota.
    pub fn read(from: &core::ResourceQuota) -> Result<Self, Unread> {
        let name = from.metadata.name.clone().unwrap_or_default();
        let about = format!("ResourceQuota {name}");
        let list = |field: &str, list: Option<&BTreeMap<String, Text>>| {
            let list = list.into_iter().flatten();
            list.map(|(key, text)| {
                let field = format!("{field}[{key}]");
                Ok((key.clone(), amount(&about, &field, text)?))
            })
            .collect::<Result<BTreeMap<_, _>, Unread>>()
        };
        let (spec, status) = (from.spec.as_ref(), from.status.as_ref());
        let plain = spec.iter().flat_map(|spec| &spec.scopes).flatten();
        let selected = spec
            .iter()
            .flat_map(|spec| &spec.scope_selector)
            .flat_map(|selector| &selector.match_expressions)
            .flatten();
        let scopes = plain
            .map(|name| Scope::read(name, "Exists", &[]))
            .chain(selected.map(|it| {
                let values = it.values.as_deref().unwrap_or_default();
                Scope::read(&it.scope_name, &it.operator, values)
            }))
            .collect();
        Ok(Limits {
            scopes,
            wanted: list("spec.hard", spec.and_then(|spec| spec.hard.as_ref()))?,
            hard: list(
                "status.hard",
                status.and_then(|status| status.hard.as_ref()),
            )?,
            used: list(
                "status.used",
                status.and_then(|status| status.used.as_ref()),
            )?,
            name,
        })
    }

    /// Whether claims can be in its scopes.
    pub(crate) fn has_claims_in_scope(&self) -> bool {
        self.scopes.is_empty()
    }

    pub(crate) fn has_in_scope(&self, pod: &Pod) -> bool {
        self.scopes.iter().all(|scope| scope.fits(pod))
    }
}
