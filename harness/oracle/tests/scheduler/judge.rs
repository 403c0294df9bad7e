//! Holds what the cluster said to a case against the oracle.

use k8s_openapi::api::resource::v1 as api;
use oracle::validate::{self, Finding};
use oracle::{Gates, Variant};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cast::Cast;
use crate::compare;
use crate::generate::Case;
use crate::known;
use crate::play::{Played, Round, Stored};
use crate::said::Said;
use crate::store::No;

/// The deviation that `waiting` shows.
pub(crate) const WAITING_SHARES_COUNT_TWICE: &str = "shares-of-a-waiting-pod-count-twice";

/// How one thing of a case came out.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Both say this.
    Same(&'static str),
    /// They differ by something that is known.
    Explained(&'static str),
    /// They differ.
    Differs(String),
}

/// One verdict per pod; one for the case where the API server does not take an object.
pub(crate) fn judge(cast: &Cast, gates: &Gates, played: &Played) -> Vec<Verdict> {
    match played {
        Played::Invalid(refused) => refused
            .iter()
            .take(1)
            .map(|(kind, object, no)| invalid(kind, object, no, gates))
            .collect(),
        Played::Rounds(stored, rounds) => {
            let mut taken = taken(cast, gates);
            let mut earlier = stored.held.clone();
            let mut waiting = Vec::new();
            for (at, round) in rounds.iter().enumerate() {
                let mut verdict = pod(cast, at, gates, stored, &earlier, round);
                if matches!(verdict, Verdict::Differs(_)) && !waiting.is_empty() {
                    // As if each of their shares were there twice.
                    let twice: Vec<Value> = earlier.iter().chain(&waiting).cloned().collect();
                    if !matches!(
                        pod(cast, at, gates, stored, &twice, round),
                        Verdict::Differs(_)
                    ) {
                        verdict = Verdict::Explained(WAITING_SHARES_COUNT_TWICE);
                    }
                }
                taken.push(verdict);
                earlier.extend(round.claims.iter().cloned());
                if round.waits {
                    waiting.extend(round.claims.iter().cloned());
                }
            }
            taken
        }
    }
}

/// What the oracle has against an object; an object that cannot even be read is refused with one finding.
pub(crate) fn findings(kind: &str, object: &Value, gates: &Gates) -> Vec<Finding> {
    fn read<T: DeserializeOwned>(
        object: &Value,
        check: impl Fn(&T) -> Vec<Finding>,
    ) -> Vec<Finding> {
        match serde_json::from_value(object.clone()) {
            Ok(object) => check(&object),
            Err(error) => vec![Finding::new(String::new(), error.to_string())],
        }
    }
    match kind {
        "ResourceSlice" => read(object, |slice: &api::ResourceSlice| {
            validate::slice(slice, gates)
        }),
        "DeviceClass" => read(object, |class: &api::DeviceClass| {
            validate::class(class, gates)
        }),
        "ResourceClaim" => read(object, |claim: &api::ResourceClaim| {
            validate::claim(claim, gates)
        }),
        "ResourceClaimTemplate" => read(object, |template: &api::ResourceClaimTemplate| {
            validate::template(template, gates)
        }),
        "DeviceTaintRule" => read(object, validate::rule),
        _ => vec![],
    }
}

fn invalid(kind: &str, object: &Value, no: &No, gates: &Gates) -> Verdict {
    let found = findings(kind, object, gates);
    if agrees(&found, no) {
        return Verdict::Same("invalid");
    }
    Verdict::Differs(format!(
        "{kind}: the API server: {no}\nthe oracle: {found:?}\n{object}"
    ))
}

/// Whether a place that the server complains of is one that the oracle complains of.
pub(crate) fn agrees(found: &[Finding], no: &No) -> bool {
    let places: Vec<&str> = no.causes.iter().map(|(field, _)| field.as_str()).collect();
    found
        .iter()
        .any(|finding| places.contains(&finding.field.as_str()))
}

/// What the API server takes the oracle must not call invalid.
fn taken(cast: &Cast, gates: &Gates) -> Vec<Verdict> {
    let of_kind = |kind: &'static str, objects: &[Value]| {
        objects.iter().find_map(|object| {
            let found = findings(kind, object, gates);
            (!found.is_empty()).then(|| {
                Verdict::Differs(format!(
                    "{kind}: the API server takes it, the oracle: {found:?}\n{object}"
                ))
            })
        })
    };
    let claims: Vec<Value> = cast.pods.iter().flatten().cloned().collect();
    let kinds = [
        ("ResourceSlice", &cast.slices),
        ("DeviceClass", &cast.classes),
        ("ResourceClaim", &claims),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, objects)| of_kind(kind, objects))
        .collect()
}

fn pod(
    cast: &Cast,
    at: usize,
    gates: &Gates,
    stored: &Stored,
    earlier: &[Value],
    round: &Round,
) -> Verdict {
    let wanted: Vec<&Value> = cast.pods[at]
        .iter()
        .filter_map(|claim| stored.claims.get(claim["metadata"]["name"].as_str()?))
        .collect();
    let on = |node: &Value| Case {
        gates: gates.clone(),
        variant: Variant::chosen(gates),
        objects: json!({
            "slices": stored.slices, "classes": stored.classes, "claims": earlier,
            "node": node, "wanted": wanted,
            "pod": cast.containers[at].is_some().then(|| cast.pod(at)),
        }),
    };
    let mine = |node: &&Value| {
        round.node.is_none() || node["metadata"]["name"].as_str() == round.node.as_deref()
    };
    let mut right = Vec::new();
    for node in stored.nodes.iter().filter(mine) {
        let case = on(node);
        match compare::oracle(&case) {
            Ok(answers) => right.push((case, answers)),
            Err(error) => {
                return Verdict::Differs(format!("the oracle cannot read what is stored: {error}"));
            }
        }
    }
    // An allocation is one node's; an error of one node ends the attempt; a refusal is that of every node.
    let every = matches!(round.said, Said::No(_));
    let mut reasons = Vec::new();
    for (case, answers) in &right {
        if compare::any_agrees(answers, &round.said) {
            reasons.push(None);
            continue;
        }
        match known::explained(case, &round.said) {
            Some(name) => reasons.push(Some(name)),
            None if every => return differs(cast, at, round, &right, &on),
            None => {}
        }
    }
    match (
        reasons.iter().any(Option::is_none),
        reasons.iter().flatten().next(),
    ) {
        (true, None) => Verdict::Same(kind(&round.said)),
        (true, Some(_)) if !every => Verdict::Same(kind(&round.said)),
        (_, Some(name)) => Verdict::Explained(name),
        (false, None) => differs(cast, at, round, &right, &on),
    }
}

fn kind(said: &Said) -> &'static str {
    match said {
        Said::Allocated(_) => "allocated",
        Said::No(_) => "refused",
        Said::Error(_) => "error",
        Said::TooLong => "given up",
    }
}

fn differs(
    cast: &Cast,
    at: usize,
    round: &Round,
    right: &[(Case, Vec<Said>)],
    on: &dyn Fn(&Value) -> Case,
) -> Verdict {
    let show = |said: &Said| match said {
        Said::Allocated(value) => value.to_string(),
        other => format!("{other:?}"),
    };
    let answers: Vec<String> = right
        .iter()
        .map(|(case, answers)| {
            let node = case.objects["node"]["metadata"]["name"]
                .as_str()
                .unwrap_or_default();
            format!(
                "on {node}: {}",
                answers.iter().map(show).collect::<Vec<_>>().join(" or ")
            )
        })
        .collect();
    let objects = on(&json!({})).objects;
    Verdict::Differs(format!(
        "pod p{at} of {}\nscheduler ({:?}): {}\noracle {}\n{}",
        cast.tag,
        round.node,
        show(&round.said),
        answers.join("\n       "),
        serde_yaml_ng::to_string(&objects).unwrap_or_default()
    ))
}
