//! Kueue as a scenario sees it: its configuration, the workloads of the scenario, what each is charged, and what the devices
//! that it holds consume. Not here: how charges are reckoned (`oracle::kueue`) and the steps (`steps::queue`).
//! Data comes from Workloads, ResourceClaims and ResourceSlices of the API server.

mod ledger;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use oracle::kueue::{Charge, consumed};
use report::Failure;
use serde_json::{Value, json};

use crate::allocation::quantity;
use crate::wait::Probe;
use crate::world::{World, api};

pub(crate) use ledger::Ledger;

const GROUP: &str = "kueue.x-k8s.io";
/// What Kueue's objects may take to go; then they are let go by force.
const GOING: Duration = Duration::from_secs(10);
/// Kinds that Kueue keeps until nobody uses them.
const KEPT: &[&str] = &[
    "Workload",
    "LocalQueue",
    "ClusterQueue",
    "Cohort",
    "ResourceFlavor",
];

/// Kueue, started by a scenario.
pub(crate) struct Queues {
    pub(crate) configuration: Value,
    pub(crate) ledger: Ledger,
}

/// By what a mapping charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum By {
    Devices,
    Counter(String),
    Capacity(Vec<String>),
}

/// A line of `deviceClassMappings`.
#[derive(Debug, Clone)]
struct Mapping {
    resource: String,
    classes: Vec<String>,
    by: By,
}

/// A condition of an object.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pub(crate) kind: String,
    pub(crate) holds: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// A Workload.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    /// The job that it stands for.
    pub(crate) job: String,
    pub(crate) conditions: Vec<Condition>,
    /// What it is charged, by resource.
    pub(crate) charged: BTreeMap<String, Charge>,
}

/// What a workload is charged of a resource, and what its devices consume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) job: String,
    pub(crate) resource: String,
    pub(crate) charged: Charge,
    pub(crate) consumed: Charge,
    pub(crate) devices: Vec<String>,
}

impl Account {
    pub(crate) fn line(&self) -> String {
        let devices = match self.devices.as_slice() {
            [] => "no device".to_owned(),
            devices => devices.join(", "),
        };
        format!(
            "{}: {} charged {}, consumed {} by {devices}",
            self.job, self.resource, self.charged, self.consumed
        )
    }
}

impl Workload {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let owners = object.metadata.owner_references.iter().flatten();
        let job = owners
            .clone()
            .map(|owner| owner.name.clone())
            .next()
            .or_else(|| object.metadata.name.clone());
        let status = &object.data["status"];
        let mut charged: BTreeMap<String, Charge> = BTreeMap::new();
        for set in list(&status["admission"]["podSetAssignments"]) {
            for (resource, amount) in set["resourceUsage"].as_object().into_iter().flatten() {
                let amount = amount.as_str().and_then(quantity).unwrap_or(0);
                let amount = Charge::try_from(amount).unwrap_or(Charge::MAX);
                let sum = charged.entry(resource.clone()).or_default();
                *sum = sum.saturating_add(amount);
            }
        }
        Self {
            job: job.unwrap_or_default(),
            conditions: conditions(object),
            charged,
        }
    }

    fn holds(&self, kind: &str) -> bool {
        let mut all = self.conditions.iter();
        all.any(|it| it.kind == kind && it.holds)
    }

    pub(crate) fn holds_quota(&self) -> bool {
        self.holds("QuotaReserved") && !self.holds("Finished")
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.holds("Finished")
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.holds("Admitted") && self.holds_quota()
    }

    /// Kueue has looked at it and said why it does not start.
    pub(crate) fn is_judged(&self) -> bool {
        self.is_admitted()
            || self
                .conditions
                .iter()
                .any(|it| it.kind == "QuotaReserved" && !it.holds && !it.message.is_empty())
    }

    pub(crate) fn says(&self, text: &str) -> bool {
        self.conditions.iter().any(|it| it.message.contains(text))
    }

    pub(crate) fn line(&self) -> String {
        let state = match (self.is_admitted(), self.holds_quota()) {
            (true, _) => "admitted",
            (false, true) => "quota reserved",
            (false, false) => "waits",
        };
        let said: Vec<String> = self
            .conditions
            .iter()
            .filter(|it| !matches!(it.kind.as_str(), "Admitted" | "PodsReady") || !it.holds)
            .map(|it| format!("{}={} {}: {}", it.kind, it.holds, it.reason, it.message))
            .collect();
        format!("{}: {state}; {}", self.job, said.join("; "))
    }
}

pub(crate) fn conditions(object: &DynamicObject) -> Vec<Condition> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = list(&object.data["status"]["conditions"]);
    all.map(|it| Condition {
        kind: word(&it["type"]),
        holds: it["status"] == "True",
        reason: word(&it["reason"]),
        message: word(&it["message"]),
    })
    .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The mappings that a configuration has.
fn mappings(configuration: &Value) -> Vec<Mapping> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |mapping: &Value| {
        let counter = list(&mapping["sources"]).find_map(|it| it["counter"]["name"].as_str());
        let capacities: Vec<String> = list(&mapping["sources"])
            .filter_map(|it| it["capacity"]["name"].as_str())
            .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
            .collect();
        Mapping {
            resource: word(&mapping["name"]),
            classes: list(&mapping["deviceClassNames"]).map(word).collect(),
            by: match counter {
                Some(counter) => By::Counter(counter.to_owned()),
                None if !capacities.is_empty() => By::Capacity(capacities),
                None => By::Devices,
            },
        }
    };
    list(&configuration["resources"]["deviceClassMappings"])
        .map(of)
        .collect()
}

/// A device that a job's pod holds.
struct Given {
    job: String,
    class: String,
    path: String,
    pool: String,
    device: String,
    capacity: BTreeMap<String, u128>,
}

impl World {
    /// Starts Kueue with these fields beside those of the steps before.
    pub(crate) async fn start_queues(&mut self, fields: &Value) -> Result<(), Failure> {
        let mut configuration = match &self.queues {
            Some(queues) => queues.configuration.clone(),
            None => json!({}),
        };
        merge(&mut configuration, fields);
        let started = self.testbed().queues(Some(&configuration)).await;
        started.map_err(|error| Failure::new(error.message))?;
        match &mut self.queues {
            Some(queues) => queues.configuration = configuration,
            None => {
                let ledger = Ledger::open(self.testbed().client(), self.namespace());
                self.queues = Some(Queues {
                    configuration,
                    ledger,
                });
            }
        }
        Ok(())
    }

    /// Under which resource each class is charged, one for a device; classes that are charged by something else are left out.
    pub(crate) fn charged_as(&self) -> BTreeMap<String, String> {
        let configuration = self.queues.as_ref().map(|it| it.configuration.clone());
        let all = mappings(&configuration.unwrap_or_default());
        let devices = all.into_iter().filter(|it| it.by == By::Devices);
        devices
            .flat_map(|it| {
                let resource = it.resource;
                it.classes
                    .into_iter()
                    .map(move |class| (class, resource.clone()))
            })
            .collect()
    }

    /// What happened to each workload until now: the time between quota and devices, in figures.
    pub(crate) fn admission_table(&self) -> Option<report::Table> {
        let courses = self.queues.as_ref()?.ledger.courses();
        (!courses.is_empty()).then(|| ledger::table(&courses, std::time::Instant::now()))
    }

    /// Ends Kueue when its objects are gone. What the scenario made has been deleted.
    pub(crate) async fn end_queues(&mut self) -> Result<(), Failure> {
        if self.queues.take().is_none() {
            return Ok(());
        }
        let gone = self
            .until(GOING, "Kueue's objects go", async || {
                let left = self.kept().await?;
                Ok(match left.is_empty() {
                    true => Probe::Ready(()),
                    false => Probe::NotYet(
                        left.iter()
                            .map(|(kind, it)| {
                                format!("{kind} {}", it.metadata.name.as_deref().unwrap_or("?"))
                            })
                            .collect::<Vec<_>>()
                            .join(", "),
                    ),
                })
            })
            .await;
        let ended = self.testbed().queues(None).await;
        if gone.is_err() {
            for (kind, object) in self.kept().await? {
                self.let_go(kind, &object).await?;
            }
        }
        ended.map_err(|error| Failure::new(error.message))
    }

    /// Kueue's objects that are there.
    async fn kept(&self) -> Result<Vec<(&'static str, DynamicObject)>, Failure> {
        let mut all = Vec::new();
        for kind in KEPT {
            let found = self
                .of_kueue(kind, false)
                .list(&ListParams::default())
                .await;
            let found = found.map_err(|error| api(&format!("list the {kind}s"), &error))?;
            all.extend(found.items.into_iter().map(|object| (*kind, object)));
        }
        Ok(all)
    }

    async fn let_go(&self, kind: &str, object: &DynamicObject) -> Result<(), Failure> {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let api_of = match &object.metadata.namespace {
            Some(namespace) => Api::<DynamicObject>::namespaced_with(
                self.testbed().client(),
                namespace,
                &resource(kind),
            ),
            None => self.of_kueue(kind, false),
        };
        let free = json!({"metadata": {"finalizers": null}});
        let how = PatchParams::default();
        let _ = api_of.patch(name, &how, &Patch::Merge(&free)).await;
        match api_of.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(api(&format!("delete the {kind} {name:?}"), &error)),
        }
    }

    /// Kueue's objects of a kind, of the scenario's namespace or of all.
    pub(crate) fn of_kueue(&self, kind: &str, own: bool) -> Api<DynamicObject> {
        let (client, resource) = (self.testbed().client(), resource(kind));
        match own {
            true => Api::namespaced_with(client, self.namespace(), &resource),
            false => Api::all_with(client, &resource),
        }
    }

    /// The workloads of the scenario, by job.
    pub(crate) async fn workloads(&self) -> Result<Vec<Workload>, Failure> {
        let all = self
            .of_kueue("Workload", true)
            .list(&ListParams::default())
            .await;
        let all = all.map_err(|error| api("list the Workloads", &error))?;
        let mut all: Vec<Workload> = all.items.iter().map(Workload::of).collect();
        all.sort_by(|a, b| a.job.cmp(&b.job));
        Ok(all)
    }

    /// What each workload with quota is charged of each resource of a device, and what its devices consume of it.
    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, Failure> {
        let configuration = self.queues.as_ref().map(|it| it.configuration.clone());
        let mappings = mappings(&configuration.unwrap_or_default());
        let client = self.testbed().client();
        let classes = Api::<DeviceClass>::all(client);
        let (workloads, given, published, classes) =
            futures::join!(self.workloads(), self.given(), self.published(), async {
                classes.list(&ListParams::default()).await
            });
        let (workloads, given, published) = (workloads?, given?, published?);
        let classes = classes.map_err(|error| api("list the DeviceClasses", &error))?;
        let mut accounts = Vec::new();
        for workload in workloads.iter().filter(|it| it.holds_quota()) {
            for (resource, charged) in &workload.charged {
                let mapping = mappings.iter().find(|it| it.resource == *resource);
                // Without a mapping a resource is the extended one of its class.
                let extended = classes.items.iter().find(|class| {
                    let spec = class.spec.as_ref();
                    let name = spec.and_then(|spec| spec.extended_resource_name.as_ref());
                    name == Some(resource)
                });
                let (named, by) = match (mapping, extended) {
                    (Some(mapping), _) => (mapping.classes.clone(), &mapping.by),
                    (None, Some(class)) => (
                        class.metadata.name.clone().into_iter().collect(),
                        &By::Devices,
                    ),
                    // Neither: cores and memory of nodes.
                    (None, None) => continue,
                };
                let held: Vec<&Given> = given
                    .iter()
                    .filter(|it| it.job == workload.job && named.contains(&it.class))
                    .collect();
                let amount = |it: &&Given| -> i128 {
                    let amount = match by {
                        By::Devices => 1,
                        By::Counter(counter) => published
                            .iter()
                            .filter(|pool| pool.pool == it.pool)
                            .flat_map(|pool| &pool.devices)
                            .filter(|device| device.name == it.device)
                            .flat_map(|device| &device.consumes)
                            .filter(|((_, name), _)| name == counter)
                            .map(|(_, amount)| *amount)
                            .sum(),
                        By::Capacity(names) => {
                            names.iter().filter_map(|name| it.capacity.get(name)).sum()
                        }
                    };
                    i128::try_from(amount).unwrap_or(i128::MAX)
                };
                accounts.push(Account {
                    job: workload.job.clone(),
                    resource: resource.clone(),
                    charged: *charged,
                    consumed: consumed(held.iter().map(amount)),
                    devices: held.iter().map(|it| it.path.clone()).collect(),
                });
            }
        }
        Ok(accounts)
    }

    /// Devices that pods of jobs of the scenario hold.
    async fn given(&self) -> Result<Vec<Given>, Failure> {
        let claims: Api<ResourceClaim> = Api::namespaced(self.testbed().client(), self.namespace());
        let everything = ListParams::default();
        let pods = self.pods();
        let (claims, pods) = futures::join!(claims.list(&everything), pods.list(&everything));
        let claims = claims.map_err(|error| api("list the ResourceClaims", &error))?;
        let pods = pods.map_err(|error| api("list the pods", &error))?;
        let job_of = |pod: &str| -> Option<String> {
            let mut all = pods.items.iter();
            let pod = all.find(|it| it.metadata.name.as_deref() == Some(pod))?;
            job_of(&pod.metadata)
        };
        let mut all = Vec::new();
        for claim in &claims.items {
            let held = crate::allocation::held(std::slice::from_ref(claim));
            let owner = claim.metadata.owner_references.iter().flatten();
            let mut owner = owner.filter(|it| it.kind == "Pod");
            let Some(job) = owner.next().and_then(|it| job_of(&it.name)) else {
                continue;
            };
            let results = claim.status.as_ref().and_then(|it| it.allocation.as_ref());
            let results = results.and_then(|it| it.devices.as_ref()?.results.as_ref());
            let results = results.into_iter().flatten();
            for (result, held) in results.zip(held) {
                let request = result.request.split('/').next().unwrap_or_default();
                let asked = claim.spec.as_ref().and_then(|it| it.devices.as_ref());
                let mut requests = asked.iter().flat_map(|it| it.requests.iter().flatten());
                let asked = requests.find(|it| it.name == request);
                let class = asked.and_then(|it| it.exactly.as_ref());
                all.push(Given {
                    job: job.clone(),
                    class: class.map_or_else(String::new, |it| it.device_class_name.clone()),
                    path: format!("{}/{}", held.pool, held.device),
                    pool: held.pool.clone(),
                    device: held.device.clone(),
                    capacity: held.capacity.clone(),
                });
            }
        }
        Ok(all)
    }
}

/// The job of a pod.
pub(crate) fn job_of(
    pod: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> Option<String> {
    let labels = pod.labels.as_ref()?;
    labels.get("batch.kubernetes.io/job-name").cloned()
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1beta2", kind))
}

/// Puts fields over those that are there; lists grow.
fn merge(into: &mut Value, fields: &Value) {
    match (into, fields) {
        (Value::Object(into), Value::Object(fields)) => {
            for (name, value) in fields {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(more)) => into.extend(more.iter().cloned()),
        (into, fields) => *into = fields.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_together() {
        let mut all = json!({"resources": {"deviceClassMappings": [1]}, "a": 1});
        merge(
            &mut all,
            &json!({"resources": {"deviceClassMappings": [2]}, "a": 2, "b": {}}),
        );
        assert_eq!(
            all,
            json!({"resources": {"deviceClassMappings": [1, 2]}, "a": 2, "b": {}})
        );
    }

    #[test]
    fn a_mapping_says_by_what_it_charges() {
        let all = mappings(&json!({"resources": {"deviceClassMappings": [
            {"name": "a", "deviceClassNames": ["x"]},
            {"name": "b", "deviceClassNames": ["x", "y"], "sources": [{"counter": {"name": "memory"}}]},
            {"name": "c", "deviceClassNames": ["z"], "sources": [{"capacity": {"name": "d.e/seats"}}]},
        ]}}));
        let by: Vec<&By> = all.iter().map(|it| &it.by).collect();
        assert_eq!(
            by,
            [
                &By::Devices,
                &By::Counter("memory".to_owned()),
                &By::Capacity(vec!["seats".to_owned()])
            ]
        );
        assert_eq!(all[1].classes, ["x", "y"]);
    }

    #[test]
    fn a_workload_is_charged_for_all_its_pod_sets() {
        let object = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "job-a-1", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "1"}]},
            "status": {
                "conditions": [{"type": "QuotaReserved", "status": "True", "message": "in q"}],
                "admission": {"podSetAssignments": [
                    {"resourceUsage": {"gpu.memory": "5Gi"}},
                    {"resourceUsage": {"gpu.memory": "1Gi", "cpu": "2"}}]}}
        });
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let workload = Workload::of(&object);
        assert_eq!(workload.job, "a");
        assert_eq!(workload.charged["gpu.memory"], 6 << 30);
        assert!(workload.holds_quota() && !workload.is_admitted());
    }
}
