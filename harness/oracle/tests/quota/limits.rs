//! Limits that nobody can mean: taken or refused as the oracle says, with its words, and the API server stays up.

use oracle::Gates;
use oracle::quota::{Rules, claims, devices, implicit, requests, unfit};
use serde_json::json;

use crate::plane::Plane;
use crate::store;

const TEXTS: [&str; 28] = [
    "0",
    "1",
    "-1",
    "-0",
    "1.5",
    "-1.5",
    "0.5",
    "1500m",
    "1n",
    "1e3",
    "1E3",
    "2Ki",
    "0.5Ki",
    "1k",
    "9223372036854775",
    "9223372036854776",
    "99999999999999999",
    "9Ei",
    "999999999999999999",
    "1000000000000000000",
    "5000000000000000001",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999",
    "1E",
    "9E",
    "1e30",
];

pub(crate) async fn table(plane: &Plane, gates: &Gates) -> Result<(), String> {
    let namespace = json!({"metadata": {"name": "limits"}});
    store::must_create(plane.client(), "Namespace", &namespace).await?;
    let rules = Rules::of(gates);
    let keys = [
        claims().to_owned(),
        devices("gpu.quota.test"),
        implicit("gpu.quota.test"),
        requests("quota.test/gpu"),
    ];
    let (mut taken, mut refused, mut wrong) = (0, 0, Vec::new());
    for (at, (key, text)) in keys
        .iter()
        .flat_map(|key| TEXTS.map(|text| (key, text)))
        .enumerate()
    {
        let quota = json!({"metadata": {"name": format!("q{at}"), "namespace": "limits"}, "spec": {"hard": {key: text}}});
        let said: Vec<String> = unfit(key, text, &rules)
            .into_iter()
            .filter(|it| it.is_refused())
            .map(|it| it.to_string())
            .collect();
        match store::create(plane.client(), "ResourceQuota", &quota).await? {
            Ok(_) if said.is_empty() => taken += 1,
            Err(no) if no.code == 422 && !said.is_empty() => {
                refused += 1;
                let mut causes: Vec<&str> = no
                    .causes
                    .iter()
                    .map(|(_, message)| {
                        message
                            .rsplit_once(": ")
                            .map_or(message.as_str(), |(_, why)| why)
                    })
                    .collect();
                causes.sort_unstable();
                causes.dedup();
                if causes
                    .iter()
                    .any(|cause| !said.iter().any(|it| it == cause))
                    || causes.len() != said.len()
                {
                    wrong.push(format!("{key}: {text}: {no}; the oracle: {said:?}"));
                }
            }
            Ok(stored) => wrong.push(format!(
                "{key}: {text} is taken, as {}; the oracle: {said:?}",
                stored["spec"]["hard"][key]
            )),
            Err(no) => wrong.push(format!(
                "{key}: {text} is refused: {no}; the oracle: {said:?}"
            )),
        }
    }
    println!(
        "{taken} limits taken by both, {refused} refused by both with the same words, {} otherwise",
        wrong.len()
    );
    if wrong.is_empty() && refused > 0 && taken > 0 {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}
