//! Extended resources that devices serve (KEP-5004): the one claim that the scheduler makes for a pod, which depends on the node.
//! Not here: what device plugins serve, but for whether a node has so much at all; who uses it is a matter of all pods.

use std::collections::BTreeMap;

use crate::gates::Gate;
use crate::names::Name;
use crate::objects::{
    Ask, Claim, ClaimKey, Class, Container, Mode, Node, Pod, Request, Runs, Wanted,
};
use crate::quirks::Quirk;
use crate::verdict::Refused;
use crate::version::Version;
use crate::world::World;

/// The name under which each class is an extended resource without being told.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// The claim of a pod's extended resources.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The claim.
    pub claim: Claim,
    /// Which request serves what of a container, as the pod's status says it.
    pub mappings: Vec<Mapping>,
}

/// A container's extended resource, and a request that serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// The container.
    pub container: Name,
    /// The extended resource.
    pub resource: Name,
    /// The request.
    pub request: Name,
}

impl Pod {
    /// The extended resources that it asks for, whatever serves them.
    pub fn resources(&self) -> impl Iterator<Item = &Name> {
        self.needs().into_keys()
    }

    /// How much of each extended resource it needs at one time.
    fn needs(&self) -> BTreeMap<&Name, u64> {
        let mut needs: BTreeMap<&Name, u64> = BTreeMap::new();
        let asked = self
            .containers
            .iter()
            .flat_map(|container| container.requests.keys());
        for resource in asked.filter(|name| is_extended(name)) {
            let of = |container: &Container| container.requests.get(resource).copied().unwrap_or(0);
            // Those that stay add up; one that ends has those beside it that have been started.
            let (mut stay, mut most) = (0, 0);
            for container in &self.containers {
                match container.runs {
                    Runs::Before => most = most.max(stay + of(container)),
                    Runs::Beside | Runs::Along => stay += of(container),
                }
            }
            needs.insert(resource, most.max(stay));
        }
        needs.retain(|_, amount| *amount > 0);
        needs
    }
}

impl World {
    /// The class that stands for an extended resource: of two with one name the newest, then the first by name. Each class
    /// stands for `deviceclass.resource.kubernetes.io/<class>` besides.
    pub fn class_for(&self, resource: &str) -> Option<&Class> {
        if !self.gates.has(Gate::ExtendedResource) {
            return None;
        }
        match resource.strip_prefix(IMPLICIT) {
            // In its first alpha the name was taken for one of Kubernetes itself.
            Some(_) if self.gates.version() < Version::V1_35 => None,
            Some(class) => self.classes.get(class).filter(|class| {
                let named = class
                    .extended_resource
                    .as_deref()
                    .and_then(|name| self.class_named(name));
                let loses = named.is_some_and(|winner| winner.name != class.name);
                !(loses && self.quirks.has(Quirk::AClassThatLosesItsNameLosesBoth))
            }),
            None => self.class_named(resource),
        }
    }

    fn class_named(&self, resource: &str) -> Option<&Class> {
        let named = |class: &&Class| class.extended_resource.as_deref() == Some(resource);
        // Of equals the last is taken: the first by name.
        self.classes
            .values()
            .filter(named)
            .rev()
            .max_by_key(|class| class.created)
    }

    /// Whether the pod asks for an extended resource that a class stands for.
    pub fn has_extended(&self, pod: &Pod) -> bool {
        pod.needs()
            .keys()
            .any(|resource| self.class_for(resource).is_some())
    }

    /// The claim that the scheduler makes for the pod's extended resources on that node; `None` where devices serve nothing.
    ///
    /// # Errors
    /// The node has neither a device plugin that publishes enough of a resource, nor is there a class for it.
    pub fn extended(&self, pod: &Pod, node: &Node) -> Result<Option<Extended>, Refused> {
        let mut served = BTreeMap::new();
        for (resource, wanted) in pod.needs() {
            let has = node.resources.get(resource).copied();
            let plugin = match self.gates.version() {
                Version::V1_34 => has.is_some(),
                _ => has.is_some_and(|has| has > 0),
            };
            match self.class_for(resource) {
                Some(class) if !plugin => {
                    served.insert(resource, class);
                }
                _ if has.unwrap_or(0) >= wanted => {}
                _ => {
                    return Err(Refused::Resource {
                        resource: resource.clone(),
                        wanted,
                        has: has.unwrap_or(0),
                    });
                }
            }
        }
        Ok((!served.is_empty()).then(|| self.claim_for(pod, &served)))
    }

    fn claim_for(&self, pod: &Pod, served: &BTreeMap<&Name, &Class>) -> Extended {
        let mut requests = Vec::new();
        let mut mappings = Vec::new();
        // Before 1.35 a container that ends has devices of its own.
        let reuse = self.gates.version() >= Version::V1_35;
        for (resource, class) in served {
            let mut of_resource = OfResource {
                resource,
                class,
                pod,
                requests: BTreeMap::new(),
                mappings: Vec::new(),
            };
            for at in 0..pod.containers.len() {
                if pod.containers[at].runs != Runs::Before || !reuse {
                    of_resource.stays(at);
                }
            }
            if reuse {
                of_resource.ends();
            }
            requests.extend(of_resource.requests.into_values());
            mappings.extend(of_resource.mappings);
        }
        requests.sort_by(|a, b| a.name.cmp(&b.name));
        Extended {
            claim: Claim {
                key: ClaimKey {
                    namespace: pod.key.namespace.clone(),
                    name: format!("{}-extended-resources", pod.key.name).into(),
                },
                requests,
                constraints: vec![],
                config: vec![],
                holds: None,
            },
            mappings,
        }
    }
}

/// The requests for one resource, by container.
struct OfResource<'a> {
    resource: &'a Name,
    class: &'a Class,
    pod: &'a Pod,
    requests: BTreeMap<usize, Request>,
    mappings: Vec<Mapping>,
}

impl OfResource<'_> {
    fn wants(&self, at: usize) -> u64 {
        self.pod.containers[at]
            .requests
            .get(self.resource)
            .copied()
            .unwrap_or(0)
    }

    /// The container's place and that of the resource among all that it requests.
    fn name(&self, at: usize) -> Name {
        let requests = &self.pod.containers[at].requests;
        let place = requests
            .keys()
            .position(|name| name == self.resource)
            .unwrap_or(0);
        format!("container-{at}-request-{place}").into()
    }

    fn request(&self, at: usize, count: u64) -> Request {
        let name = self.name(at);
        Request {
            name: name.clone(),
            wanted: Wanted::Exactly(Box::new(Ask {
                name,
                class: self.class.name.clone(),
                selectors: vec![],
                mode: Mode::Exact(count),
                admin: false,
                tolerations: vec![],
                capacity: BTreeMap::new(),
                derived: vec![],
            })),
        }
    }

    fn map(&mut self, at: usize, request: Name) {
        self.mappings.push(Mapping {
            container: self.pod.containers[at].name.clone(),
            resource: self.resource.clone(),
            request,
        });
    }

    /// A container that stays has devices of its own.
    fn stays(&mut self, at: usize) {
        let wanted = self.wants(at);
        if wanted > 0 {
            self.requests.insert(at, self.request(at, wanted));
            self.map(at, self.name(at));
        }
    }

    /// Containers that end take devices of those that start after them; what they want beyond that they share.
    fn ends(&mut self) {
        let own: Vec<(usize, Name)> = self
            .requests
            .iter()
            .map(|(at, request)| (*at, request.name.clone()))
            .collect();
        let mut taken: Vec<(usize, Option<Name>)> = Vec::new();
        let mut shared: Option<(usize, u64)> = None;
        for at in 0..self.pod.containers.len() {
            if self.pod.containers[at].runs != Runs::Before {
                continue;
            }
            let mut lacks = self.wants(at);
            for (other, name) in own.iter().filter(|(other, _)| *other >= at) {
                if lacks > 0 {
                    taken.push((at, Some(name.clone())));
                    lacks = lacks.saturating_sub(self.wants(*other));
                }
            }
            if lacks > 0 {
                taken.push((at, None));
                if shared.is_none_or(|(_, most)| most < lacks) {
                    shared = Some((at, lacks));
                }
            }
        }
        // It bears the name of the one that lacks most, the first of them.
        let shared = shared.map(|(at, count)| {
            self.requests.insert(at, self.request(at, count));
            self.name(at)
        });
        for (at, name) in taken {
            if let Some(name) = name.or_else(|| shared.clone()) {
                self.map(at, name);
            }
        }
    }
}

/// Whether devices or a device plugin may serve a resource of that name: not one of Kubernetes itself.
pub(crate) fn is_extended(resource: &str) -> bool {
    resource.starts_with(IMPLICIT)
        || (resource.contains('/')
            && !resource.contains("kubernetes.io/")
            && !resource.starts_with("requests."))
}
