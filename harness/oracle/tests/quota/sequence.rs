//! One sequence: things are made, changed and deleted in two namespaces, and after each both sides must say the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Method;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use oracle::quota::{
    Charge, Claim, Denied, Limits, Pod, admit, growth, of_claim, of_claim_at_its_creation, of_pod,
};
use serde_json::{Value, json};

use crate::chance;
use crate::dice::Dice;
use crate::room::{Agreed, Room, Scene, name_of};
use crate::store;

/// How often a step is tried again that came out otherwise than it should: the admission looks at a cache that may be behind.
const TRIES: u32 = 8;

/// What came of the sequences of a lane.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) count: BTreeMap<&'static str, u64>,
    pub(crate) wrong: Vec<String>,
}

impl Told {
    fn one(&mut self, kind: &'static str) {
        *self.count.entry(kind).or_default() += 1;
    }
}

/// Plays the sequences of a lane, one after the other, in the same two namespaces.
pub(crate) async fn lane(
    scene: &Scene<'_>,
    lane: usize,
    seeds: impl Iterator<Item = u64>,
    told: &mut Told,
) -> Result<(), String> {
    let mut rooms = [
        Room::open(scene, &format!("lane-{lane}-a")).await?,
        Room::open(scene, &format!("lane-{lane}-b")).await?,
    ];
    for seed in seeds {
        if let Err(how) = play(&mut rooms, seed, told).await? {
            told.one("difference");
            told.wrong.push(format!("seed {seed}: {how}"));
        }
        for room in &mut rooms {
            room.clear().await?;
        }
        told.one("sequence");
    }
    Ok(())
}

/// The inner error is a difference.
type Step = Result<Result<(), String>, String>;

async fn play(rooms: &mut [Room<'_>; 2], seed: u64, told: &mut Told) -> Step {
    let dice = &mut Dice::new(seed);
    let mut next = 0;
    for room in rooms.iter_mut() {
        for _ in 0..dice.within(1, 2) {
            let name = format!("q{next}");
            next += 1;
            let spec = chance::quota(dice);
            room.must_create("ResourceQuota", &name, json!({"spec": spec}))
                .await?;
        }
        if let Err(how) = settled(room, None, told).await? {
            return Ok(Err(how));
        }
    }
    for _ in 0..dice.within(6, 10) {
        let room = &mut rooms[usize::from(dice.percent(30))];
        next += 1;
        let name = format!("o{seed}-{next}");
        if let Err(how) = step(room, dice, &name, told).await? {
            let last = format!("{} in {}", name, room.name);
            return Ok(Err(format!("{last}: {how}")));
        }
    }
    // What was done in one namespace has not touched the other.
    for room in rooms {
        if let Err(how) = settled(room, None, told).await? {
            return Ok(Err(how));
        }
    }
    Ok(Ok(()))
}

async fn settled(room: &mut Room<'_>, admitted: Option<&[Limits]>, told: &mut Told) -> Step {
    Ok(room.agree(admitted).await?.map(|agreed| {
        told.one(match agreed {
            Agreed::AtOnce => "sums that agree at once",
            Agreed::Later => "sums that agree later",
            Agreed::AsAdmitted => "sums as they were admitted",
        });
    }))
}

async fn step(room: &mut Room<'_>, dice: &mut Dice, name: &str, told: &mut Told) -> Step {
    let any = |dice: &mut Dice, list: &[Value]| -> Option<Value> {
        (!list.is_empty()).then(|| dice.pick(list).clone())
    };
    match dice.below(20) {
        0..=6 => {
            let mut claim = json!({"spec": chance::spec(dice)});
            let owner = dice.percent(30).then(|| any(dice, &room.pods)).flatten();
            if let Some(pod) = owner {
                claim["metadata"] = json!({
                    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": name_of(&pod), "uid": pod["metadata"]["uid"], "controller": true}],
                });
            }
            if dice.percent(10) {
                claim["metadata"]["finalizers"] = json!(["quota.test/hold"]);
            }
            let dry = dice.percent(10);
            create(room, "ResourceClaim", &room.named(name, claim), dry, told).await
        }
        7..=9 => {
            let pod = json!({"spec": chance::pod(dice)});
            create(room, "Pod", &room.named(name, pod), false, told).await
        }
        10 | 11 => from_template(room, name, chance::spec(dice), told).await,
        12 | 13 => {
            let Some(claim) = any(dice, &room.claims) else {
                return Ok(Ok(()));
            };
            room.delete("ResourceClaim", name_of(&claim)).await?;
            if dice.percent(50) {
                room.change("ResourceClaim", name_of(&claim), "", |claim| {
                    claim["metadata"]["finalizers"] = json!([]);
                })
                .await?;
            }
            told.one("claims deleted");
            settled(room, None, told).await
        }
        14 => {
            let Some(claim) = any(dice, &room.claims) else {
                return Ok(Ok(()));
            };
            update(room, name_of(&claim), dice.percent(50), told).await
        }
        15 => {
            let Some(pod) = any(dice, &room.pods) else {
                return Ok(Ok(()));
            };
            room.delete("Pod", name_of(&pod)).await?;
            told.one("pods deleted");
            settled(room, None, told).await
        }
        16 => {
            let Some(pod) = any(dice, &room.pods) else {
                return Ok(Ok(()));
            };
            let phase = *dice.pick(&["Succeeded", "Failed"]);
            room.change("Pod", name_of(&pod), "/status", |pod| {
                pod["status"]["phase"] = json!(phase);
            })
            .await?;
            told.one("pods ended");
            settled(room, None, told).await
        }
        17 | 18 => {
            let quota = dice.below(room.quotas.len().max(1));
            let Some(quota) = room.quotas.get(quota).map(|it| it.name.clone()) else {
                return Ok(Ok(()));
            };
            let hard = chance::hard(dice);
            room.change("ResourceQuota", &quota, "", |it| {
                it["spec"]["hard"] = hard.clone()
            })
            .await?;
            told.one("quotas changed");
            settled(room, None, told).await
        }
        _ => {
            if room.quotas.len() > 1 {
                let gone = room.quotas[0].name.clone();
                room.delete("ResourceQuota", &gone).await?;
                told.one("quotas deleted");
            } else {
                let spec = chance::quota(dice);
                room.must_create("ResourceQuota", name, json!({"spec": spec}))
                    .await?;
                told.one("quotas made");
            }
            settled(room, None, told).await
        }
    }
}

/// What the oracle says to an object, with the pod if it is one.
fn expected(
    room: &Room<'_>,
    kind: &str,
    object: &Value,
) -> Result<Result<Vec<Limits>, Vec<Denied>>, String> {
    let (classes, rules) = (&room.scene.classes, &room.scene.rules);
    let bad = |error: serde_json::Error| format!("{error}: {object}");
    if kind == "Pod" {
        let pod: core::Pod = serde_json::from_value(object.clone()).map_err(bad)?;
        let pod = Pod::read(&pod).map_err(|error| error.to_string())?;
        return Ok(admit(
            &room.quotas,
            &of_pod(&pod, rules),
            Some(&pod),
            classes,
            rules,
        ));
    }
    let claim: api::ResourceClaim = serde_json::from_value(object.clone()).map_err(bad)?;
    let charge = of_claim_at_its_creation(&Claim::read(&claim), &room.held, classes, rules);
    Ok(admit(&room.quotas, &charge, None, classes, rules))
}

/// What comes after `is forbidden: `; of a claim that KCM makes only that is known.
fn reason(text: &str) -> &str {
    text.split_once("is forbidden: ")
        .map_or(text, |(_, why)| why)
}

async fn create(
    room: &mut Room<'_>,
    kind: &'static str,
    object: &Value,
    dry: bool,
    told: &mut Told,
) -> Step {
    let mut how = String::new();
    for tries in 0..TRIES {
        if tries > 0 {
            told.one("tried again: the admission's cache was behind");
            tokio::time::sleep(Duration::from_millis(60) * tries).await;
            room.read().await?;
        }
        let expected = expected(room, kind, object)?;
        let mut whole = object.clone();
        whole["kind"] = json!(kind);
        whole["apiVersion"] = json!(if kind == "Pod" {
            "v1"
        } else {
            "resource.k8s.io/v1"
        });
        let query = if dry { "?dryRun=All" } else { "" };
        let path = format!("{}{query}", store::collection(kind, &room.name));
        let came = room.ask(Method::POST, &path, Some(&whole)).await?;
        match (&expected, &came) {
            (Ok(after), Ok(_)) => {
                told.one(if dry { "admitted, dry" } else { "admitted" });
                let after = if dry { None } else { Some(after.as_slice()) };
                return settled(room, after, told).await;
            }
            (Err(denied), Err(no)) => {
                let resource = if kind == "Pod" {
                    "pods"
                } else {
                    "resourceclaims.resource.k8s.io"
                };
                let name = name_of(object);
                let mut texts = denied
                    .iter()
                    .map(|it| format!("{resource} \"{name}\" is forbidden: {it}"));
                if no.code == 403 && texts.any(|text| text == no.message) {
                    told.one("refused with the oracle's words");
                    return settled(room, None, told).await;
                }
                how = format!("refused otherwise: {no}; the oracle: {}", shown(denied));
            }
            (Ok(_), Err(no)) => how = format!("refused: {no}; the oracle takes it: {object}"),
            (Err(denied), Ok(_)) => {
                how = format!("taken; the oracle: {}: {object}", shown(denied));
                if !dry {
                    room.delete(kind, name_of(object)).await?;
                    if let Err(how) = settled(room, None, told).await? {
                        return Ok(Err(how));
                    }
                }
            }
        }
    }
    Ok(Err(how))
}

fn shown(denied: &[Denied]) -> String {
    let texts: Vec<String> = denied.iter().map(ToString::to_string).collect();
    texts.join(" or ")
}

/// A label comes, or the claim is said to be made for no pod any more: only the latter can cost something.
async fn update(room: &mut Room<'_>, name: &str, leave: bool, told: &mut Told) -> Step {
    let Ok(old) = room.get("ResourceClaim", name).await? else {
        return Ok(Ok(()));
    };
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"changed": "yes"});
    if leave && let Some(metadata) = new["metadata"].as_object_mut() {
        metadata.remove("ownerReferences");
    }
    let (classes, rules) = (&room.scene.classes, &room.scene.rules);
    let charge = |object: &Value| -> Result<Charge, String> {
        let claim: api::ResourceClaim =
            serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
        Ok(of_claim(&Claim::read(&claim), &room.held, classes, rules))
    };
    let growth = growth(&charge(&new)?, &charge(&old)?);
    let expected = admit(&room.quotas, &growth, None, classes, rules);
    let came = room
        .ask(Method::PUT, &room.path("ResourceClaim", name), Some(&new))
        .await?;
    match (expected, came) {
        (_, Err(no)) if no.code == 409 || no.code == 404 => settled(room, None, told).await,
        (Ok(after), Ok(_)) => {
            told.one("claims changed");
            settled(room, Some(after.as_slice()), told).await
        }
        (Err(denied), Err(no))
            if denied
                .iter()
                .any(|it| it.to_string() == reason(&no.message)) =>
        {
            told.one("changes refused with the oracle's words");
            settled(room, None, told).await
        }
        (Ok(_), Err(no)) => Ok(Err(format!(
            "a change is refused: {no}; the oracle takes it"
        ))),
        (Err(denied), Err(no)) => Ok(Err(format!(
            "a change is refused: {no}; the oracle: {}",
            shown(&denied)
        ))),
        (Err(denied), Ok(_)) => Ok(Err(format!(
            "a change is taken; the oracle: {}",
            shown(&denied)
        ))),
    }
}

/// A pod with a template: the controller makes its claim, or says in an event why it cannot.
async fn from_template(room: &mut Room<'_>, name: &str, spec: Value, told: &mut Told) -> Step {
    room.must_create(
        "ResourceClaimTemplate",
        name,
        json!({"spec": {"spec": spec}}),
    )
    .await?;
    let claim = room.named("of-a-template", json!({"spec": spec}));
    let expected = expected(room, "ResourceClaim", &claim)?;
    let pod = json!({"spec": {
        "containers": [{"name": "c", "image": "none"}],
        "resourceClaims": [{"name": "it", "resourceClaimTemplateName": name}],
        "schedulingGates": [{"name": "quota.test/hold"}],
    }});
    room.must_create("Pod", name, pod).await?;
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let pod = room.get("Pod", name).await?.map_err(|no| no.to_string())?;
        let made = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].is_string();
        let selector =
            format!("fieldSelector=involvedObject.name={name},reason=FailedResourceClaimCreation");
        let path = format!("{}?{selector}", store::collection("Event", &room.name));
        let events = room
            .ask(Method::GET, &path, None)
            .await?
            .map_err(|no| no.to_string())?;
        let texts = events["items"].as_array().cloned().unwrap_or_default();
        let texts: Vec<&str> = texts
            .iter()
            .filter_map(|it| it["message"].as_str())
            .collect();
        match &expected {
            Ok(after) if made => {
                told.one("claims of templates made");
                return settled(room, Some(after.as_slice()), told).await;
            }
            Err(denied)
                if texts
                    .iter()
                    .any(|it| denied.iter().any(|no| it.contains(&no.to_string()))) =>
            {
                told.one("claims of templates refused with the oracle's words");
                // The controller would try again for ever.
                room.delete("Pod", name).await?;
                return settled(room, None, told).await;
            }
            _ => {}
        }
        if Instant::now() > deadline {
            let oracle = expected
                .map(|_| "takes it".to_owned())
                .unwrap_or_else(|denied| shown(&denied));
            return Ok(Err(format!(
                "a template's claim: made: {made}, events {texts:?}; the oracle: {oracle}"
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
