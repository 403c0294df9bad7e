//! Each deviation, met on purpose: what the documents say does not come, what the oracle says does.

use std::time::Duration;

use oracle::Gates;
use oracle::quota::{Deviation, Rules, claims, implicit, requests, used};
use serde_json::{Value, json};

use crate::plane::Plane;
use crate::room::{Room, Scene};

pub(crate) async fn check(plane: &Plane, gates: &Gates) -> Result<(), String> {
    let scene = Scene::set(plane, gates).await?;
    let ask = |class: &str, count: i64| json!({"name": class.split('.').next(), "exactly": {"deviceClassName": class, "count": count}});
    let twins = [ask("one.quota.test", 2), ask("two.quota.test", 3)];
    let twin = requests("quota.test/twin");
    deviates(&scene, gates, "twins", json!({&twin: "9"}), &twins, &twin).await?;
    let absent = [ask("absent.quota.test", 2)];
    let key = implicit("absent.quota.test");
    deviates(&scene, gates, "alone", json!({&key: "9"}), &absent, &key).await?;
    // In company it counts, as it should.
    let mut room = held(
        &scene,
        "company",
        json!({&key: "9", claims(): "9"}),
        &absent,
    )
    .await?;
    room.agree(None).await??;
    if room.quotas[0].used[&key].to_string() != "2" {
        return Err(format!(
            "in company an absent class is charged {}",
            room.quotas[0].used[&key]
        ));
    }
    // A fraction of a device admits none.
    let gpu = requests("quota.test/gpu");
    let room = held(
        &scene,
        "fraction",
        json!({&gpu: "1500m"}),
        &[ask("gpu.quota.test", 1)],
    )
    .await?;
    let more = json!({"spec": {"devices": {"requests": [ask("gpu.quota.test", 1)]}}});
    match room.must_create("ResourceClaim", "more", more).await {
        Err(why) if why.contains("limited: requests.quota.test/gpu=1500m") => {}
        other => return Err(format!("a second device of 1.5: {other:?}")),
    }
    let real = Deviation::ALL.iter().filter(|it| it.is_of(gates.version()));
    println!(
        "deviations of {}: {:?}",
        gates.version(),
        real.map(|it| it.name()).collect::<Vec<_>>()
    );
    Ok(())
}

/// A namespace with a quota and a claim.
async fn held<'s>(
    scene: &'s Scene<'s>,
    name: &str,
    hard: Value,
    asks: &[Value],
) -> Result<Room<'s>, String> {
    let mut room = Room::open(scene, name).await?;
    room.must_create("ResourceQuota", "q", json!({"spec": {"hard": hard}}))
        .await?;
    room.agree(None).await??;
    let claim = json!({"spec": {"devices": {"requests": asks}}});
    // The admission may not have seen yet what the controller has counted.
    for _ in 0..20 {
        match room.must_create("ResourceClaim", "c", claim.clone()).await {
            Err(why) if why.contains("status unknown") => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            other => return other.map(|_| room),
        }
    }
    Err(format!(
        "{name}: the admission never sees the quota's status"
    ))
}

/// The quota agrees with the oracle's account of what is real, and not with the documents.
async fn deviates<'s>(
    scene: &'s Scene<'s>,
    gates: &Gates,
    name: &str,
    hard: Value,
    asks: &[Value],
    key: &str,
) -> Result<(), String> {
    let mut room = held(scene, name, hard, asks).await?;
    room.agree(None).await??;
    let documented = Rules::documented(gates);
    let said = used(&room.quotas[0], &room.held, &scene.classes, &documented);
    let (_, should) = said[key];
    let is = room.quotas[0].used[key];
    if is.value == should.value {
        return Err(format!(
            "{name}: {key} is {is}, as documented: the deviation is gone"
        ));
    }
    println!("{name}: {key} is {is}, by the documents {should}");
    Ok(())
}
