//! A namespace, what is in it, and whether its quotas say what the oracle says.

use std::time::{Duration, Instant};

use http::Method;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use oracle::Gates;
use oracle::quota::{Claim, Classes, Held, Limits, Pod, Rules, used};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chance;
use crate::plane::Plane;
use crate::store::{self, No};

/// How long the controllers may take; generous, since machines are slow and shared.
const LIMIT: Duration = Duration::from_secs(60);

/// What all rooms have in common.
pub(crate) struct Scene<'p> {
    pub(crate) plane: &'p Plane,
    pub(crate) classes: Classes,
    pub(crate) rules: Rules,
}

impl<'p> Scene<'p> {
    /// Makes the classes, and waits until the controllers count.
    pub(crate) async fn set(plane: &'p Plane, gates: &Gates) -> Result<Self, String> {
        for (class, resource) in chance::CLASSES {
            if chance::is_there(class) {
                let object = json!({"metadata": {"name": class}, "spec": {"extendedResourceName": resource}});
                store::must_create(plane.client(), "DeviceClass", &object).await?;
            }
        }
        let there = chance::CLASSES
            .into_iter()
            .filter(|(class, _)| chance::is_there(class));
        let scene = Scene {
            plane,
            classes: Classes::named(there),
            rules: Rules::of(gates),
        };
        let mut room = Room::open(&scene, "warm-up").await?;
        let quota = json!({"hard": {oracle::quota::claims(): "99", oracle::quota::requests("quota.test/gpu"): "99"}});
        room.must_create("ResourceQuota", "q", json!({"spec": quota}))
            .await?;
        room.agree(None).await??;
        // Watches of the controller come up one after the other: it counts when what is deleted is given back.
        for at in 0.. {
            let ask = json!({"name": "r", "exactly": {"deviceClassName": "gpu.quota.test"}});
            let claim = json!({"spec": {"devices": {"requests": [ask]}}});
            let name = format!("c{at}");
            room.must_create("ResourceClaim", &name, claim).await?;
            room.delete("ResourceClaim", &name).await?;
            match room.agree_within(None, Duration::from_secs(5)).await? {
                Ok(_) => break,
                Err(why) if at > 20 => return Err(format!("the controllers do not count: {why}")),
                Err(_) => {}
            }
        }
        Ok(scene)
    }
}

/// A namespace.
pub(crate) struct Room<'s> {
    pub(crate) scene: &'s Scene<'s>,
    pub(crate) name: String,
    pub(crate) quotas: Vec<Limits>,
    pub(crate) held: Held,
    /// Claims and pods as they are stored.
    pub(crate) claims: Vec<Value>,
    pub(crate) pods: Vec<Value>,
}

/// How an agreement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    AtOnce,
    Later,
    /// As the admission counted; the controller will count otherwise when it adds up next.
    AsAdmitted,
}

fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| format!("{error}: {value}"))
}

pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

impl<'s> Room<'s> {
    /// Makes the namespace, and waits for its service account.
    pub(crate) async fn open(scene: &'s Scene<'s>, name: &str) -> Result<Self, String> {
        let namespace = json!({"metadata": {"name": name, "labels": {"resource.kubernetes.io/admin-access": "true"}}});
        store::must_create(scene.plane.client(), "Namespace", &namespace).await?;
        let room = Room {
            scene,
            name: name.to_owned(),
            quotas: vec![],
            held: Held::default(),
            claims: vec![],
            pods: vec![],
        };
        let deadline = Instant::now() + LIMIT;
        while room.get("ServiceAccount", "default").await?.is_err() {
            if Instant::now() > deadline {
                scene.plane.check().await?;
                return Err(format!("{name}: nobody makes its service account"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(room)
    }

    pub(crate) fn path(&self, kind: &str, name: &str) -> String {
        format!("{}/{name}", store::collection(kind, &self.name))
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Result<Value, No>, String> {
        store::ask(self.scene.plane.client(), method, path, body).await
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Result<Result<Value, No>, String> {
        self.ask(Method::GET, &self.path(kind, name), None).await
    }

    /// The object with its name and namespace.
    pub(crate) fn named(&self, name: &str, mut object: Value) -> Value {
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(self.name);
        object
    }

    pub(crate) async fn must_create(
        &self,
        kind: &str,
        name: &str,
        object: Value,
    ) -> Result<Value, String> {
        let object = self.named(name, object);
        store::must_create(self.scene.plane.client(), kind, &object).await
    }

    /// Changes an object as it is stored; gives up where it is gone.
    pub(crate) async fn change(
        &self,
        kind: &str,
        name: &str,
        sub: &str,
        change: impl Fn(&mut Value),
    ) -> Result<(), String> {
        for _ in 0..20 {
            let Ok(mut object) = self.get(kind, name).await? else {
                return Ok(());
            };
            change(&mut object);
            let path = format!("{}{sub}", self.path(kind, name));
            match self.ask(Method::PUT, &path, Some(&object)).await? {
                Ok(_) => return Ok(()),
                Err(no) if no.code == 409 || no.code == 404 => {}
                Err(no) => return Err(format!("put {path}: {no}")),
            }
        }
        Err(format!("put {kind} {name}: it changes all the time"))
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) -> Result<(), String> {
        let path = format!("{}?gracePeriodSeconds=0", self.path(kind, name));
        match self.ask(Method::DELETE, &path, None).await? {
            Err(no) if no.code != 404 => Err(format!("delete {path}: {no}")),
            _ => Ok(()),
        }
    }

    async fn list(&self, kind: &str) -> Result<Vec<Value>, String> {
        let path = store::collection(kind, &self.name);
        let list = self.ask(Method::GET, &path, None).await?;
        let list = list.map_err(|no| format!("{path}: {no}"))?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    pub(crate) async fn read(&mut self) -> Result<(), String> {
        let (claims, pods, quotas) = futures::join!(
            self.list("ResourceClaim"),
            self.list("Pod"),
            self.list("ResourceQuota")
        );
        (self.claims, self.pods) = (claims?, pods?);
        let claims = self.claims.iter().map(parse::<api::ResourceClaim>);
        let pods = self.pods.iter().map(parse::<core::Pod>);
        self.held = Held {
            claims: claims
                .map(|it| it.map(|it| Claim::read(&it)))
                .collect::<Result<_, _>>()?,
            pods: pods
                .map(|it| Pod::read(&it?).map_err(|error| error.to_string()))
                .collect::<Result<_, _>>()?,
        };
        let quotas = quotas?;
        let quotas = quotas.iter().map(parse::<core::ResourceQuota>);
        self.quotas = quotas
            .map(|it| Limits::read(&it?).map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The first thing in which a quota does not say what the oracle says.
    fn difference(&self) -> Option<String> {
        self.quotas.iter().find_map(|quota| {
            let name = &quota.name;
            let same = |key: &String| {
                let enforced = quota.hard.get(key).map(|it| it.value);
                enforced == quota.wanted.get(key).map(|it| it.value)
            };
            let mut keys = quota.hard.keys().chain(quota.wanted.keys());
            if let Some(key) = keys.find(|key| !same(key)) {
                return Some(format!("{name}: the limit of {key} is not enforced yet"));
            }
            let used = used(quota, &self.held, &self.scene.classes, &self.scene.rules);
            used.into_iter()
                .find_map(|(key, (least, most))| match quota.used.get(&key) {
                    None => Some(format!("{name}: {key} is not counted")),
                    Some(said) if said.value < least.value || said.value > most.value => {
                        Some(format!(
                            "{name}: {key}: the cluster says {said}, the oracle {least} to {most}"
                        ))
                    }
                    Some(_) => None,
                })
        })
    }

    fn is_as(&self, admitted: &[Limits]) -> bool {
        self.quotas.iter().all(|quota| {
            let before = admitted.iter().find(|it| it.name == quota.name);
            before.is_some_and(|before| {
                let mut used = quota.used.iter();
                quota.used.len() == before.used.len()
                    && used.all(|(key, it)| {
                        before
                            .used
                            .get(key)
                            .is_some_and(|was| was.value == it.value)
                    })
            })
        })
    }

    /// Waits until every quota says what the oracle says, or what `admitted` says; the inner error says what differs to the end.
    pub(crate) async fn agree(
        &mut self,
        admitted: Option<&[Limits]>,
    ) -> Result<Result<Agreed, String>, String> {
        self.agree_within(admitted, LIMIT).await
    }

    async fn agree_within(
        &mut self,
        admitted: Option<&[Limits]>,
        limit: Duration,
    ) -> Result<Result<Agreed, String>, String> {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(15);
        for look in 0.. {
            self.read().await?;
            let Some(difference) = self.difference() else {
                return Ok(Ok(if look == 0 {
                    Agreed::AtOnce
                } else {
                    Agreed::Later
                }));
            };
            if admitted.is_some_and(|admitted| self.is_as(admitted)) {
                return Ok(Ok(Agreed::AsAdmitted));
            }
            if Instant::now() > deadline {
                self.scene.plane.check().await?;
                return Ok(Err(difference));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(250));
        }
        Ok(Err("never".to_owned()))
    }

    /// Takes everything away.
    pub(crate) async fn clear(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.read().await?;
            if self.claims.is_empty() && self.pods.is_empty() && self.quotas.is_empty() {
                return Ok(());
            }
            for claim in &self.claims {
                if claim["metadata"]["finalizers"].is_array() {
                    self.change("ResourceClaim", name_of(claim), "", |claim| {
                        claim["metadata"]["finalizers"] = json!([]);
                    })
                    .await?;
                }
            }
            for kind in ["Pod", "ResourceClaim", "ResourceQuota"] {
                let path = format!(
                    "{}?gracePeriodSeconds=0",
                    store::collection(kind, &self.name)
                );
                let gone = self.ask(Method::DELETE, &path, None).await?;
                gone.map_err(|no| format!("delete {path}: {no}"))?;
            }
            if Instant::now() > deadline {
                return Err(format!("{}: it does not become empty", self.name));
            }
        }
    }
}
