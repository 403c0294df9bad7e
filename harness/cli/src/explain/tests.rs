#![allow(clippy::expect_used, reason = "tests stop at the first surprise")]

use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use k8s_openapi::api::resource::v1::ResourceClaim;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use oracle::objects::Listed;

use super::account::{Account, Agreement, account};
use super::{asked, json, text};
use crate::Error;
use crate::live::GatesFrom;
use crate::live::captured::{a100, server};

fn asked_of(listed: &Listed, pods: &[Pod], what: &str) -> Result<Account, Error> {
    let asked = asked::find(what, "default", "cluster test", listed, pods)?;
    account(listed, &server(), asked)
}

fn of(what: &str) -> Account {
    let (listed, pods) = a100();
    asked_of(&listed, &pods, what).expect("an account")
}

fn claim<'l>(listed: &'l mut Listed, prefix: &str) -> &'l mut ResourceClaim {
    let named = |claim: &&mut ResourceClaim| {
        let name = claim.metadata.name.as_deref();
        name.is_some_and(|name| name.starts_with(prefix))
    };
    listed.claims.iter_mut().find(named).expect("the claim")
}

#[test]
fn a_claim_that_has_the_first_match() {
    insta::assert_snapshot!(text::render(&of("pod/small"), false));
}

#[test]
fn a_claim_that_waits_folded_and_unfolded() {
    insta::assert_snapshot!(text::render(&of("pod/wait"), false));
    let unfolded = text::render(&of("pod/wait"), true);
    let devices = a100()
        .0
        .slices
        .iter()
        .flat_map(|slice| slice.spec.devices.clone())
        .flatten()
        .count();
    let lines = unfolded
        .lines()
        .filter(|line| line.contains("  gpu-0-mig-"))
        .count();
    assert_eq!(lines, devices, "{unfolded}");
    assert!(!unfolded.contains("for the same reason"), "{unfolded}");
}

#[test]
fn a_claim_that_got_more_memory_than_the_smallest_that_fits() {
    let (listed, _) = a100();
    let name = listed.claims[0].metadata.name.clone().expect("a name");
    insta::assert_snapshot!(text::render(&of(&name), false));
}

#[test]
fn nothing_is_folded_in_json() {
    let value = json::value(&of("pod/wait"));
    assert_eq!(value["format"], "sliceproof.explain/1");
    assert_eq!(value["nodes"][0]["answer"], "refused");
    let looks = value["nodes"][0]["looks"].as_array().expect("looks");
    assert_eq!(
        looks.len(),
        a100().0.slices[1].spec.devices.as_ref().map_or(0, Vec::len)
    );
    assert!(
        looks
            .iter()
            .all(|look| look["taken"] == false && look["why"].is_string())
    );
    let value = json::value(&of("pod/any2"));
    assert_eq!(value["given"]["oracle"], "same");
    assert_eq!(value["given"]["misallocation"][0]["memorySlices"], 1);
}

#[test]
fn another_device_than_the_first_match_is_said() {
    let (mut listed, pods) = a100();
    let status = claim(&mut listed, "small")
        .status
        .as_mut()
        .expect("a status");
    let devices = status
        .allocation
        .as_mut()
        .and_then(|it| it.devices.as_mut())
        .expect("devices");
    for result in devices.results.iter_mut().flatten() {
        result.device = "gpu-0-mig-1g5gb-19-6".to_owned();
    }
    let account = asked_of(&listed, &pods, "pod/small").expect("an account");
    let given = account.given.as_ref().expect("given");
    assert_eq!(given.agreement, Some(Agreement::Differs));
    let text = text::render(&account, false);
    assert!(
        text.contains("that is NOT what the oracle gives now"),
        "{text}"
    );
}

#[test]
fn nodes_alike_are_one_block_and_the_node_of_the_claim_comes_first() {
    let (mut listed, pods) = a100();
    for at in 2..=9 {
        let name = format!("node-{at}");
        let mut node = listed.nodes[0].clone();
        node.metadata.name = Some(name.clone());
        listed.nodes.insert(0, node);
        for slice in listed.slices.clone().iter().take(2) {
            let mut slice = slice.clone();
            slice.metadata.name = slice.metadata.name.map(|it| it.replace("node-1", &name));
            slice.spec.pool.name.clone_from(&name);
            slice.spec.node_name = Some(name.clone());
            listed.slices.push(slice);
        }
    }
    let account = asked_of(&listed, &pods, "pod/small").expect("an account");
    let text = text::render(&account, false);
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("node "))
        .collect();
    assert_eq!(
        heads,
        ["node node-1", "node node-9, and 7 more nodes alike"],
        "{text}"
    );
    let all = text::render(&account, true);
    assert_eq!(
        all.lines().filter(|line| line.starts_with("node ")).count(),
        9,
        "{all}"
    );
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let (listed, pods) = a100();
    let error = |what: &str, namespace: &str| match asked::find(
        what,
        namespace,
        "cluster test",
        &listed,
        &pods,
    ) {
        Err(error) => {
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        }
        Ok(asked) => panic!("{what} is found: {asked:?}"),
    };
    let unknown = error("nope", "default");
    assert!(
        unknown.contains("no ResourceClaim nope in namespace default of cluster test"),
        "{unknown}"
    );
    assert!(unknown.contains("there are any-gpu-"), "{unknown}");
    assert!(error("small", "default").contains("write pod/small"));
    let name = listed.claims[0].metadata.name.clone().expect("a name");
    assert!(error(&name, "other").contains("add -n default"));
    assert!(error("pod/nope", "default").contains("no Pod nope"));
    let mut bare = pods[0].clone();
    bare.spec.as_mut().expect("a spec").resource_claims = None;
    let none = asked::find("pod/any", "default", "c", &listed, &[bare]);
    assert!(none.is_err_and(|error| error.to_string().contains("has no claims")));
    let mut unmade = pods[0].clone();
    unmade.status = None;
    let none = asked::find("pod/any", "default", "c", &listed, &[unmade]);
    assert!(none.is_err_and(|error| error.to_string().contains("no claim yet for its entry gpu")));
}

#[test]
fn a_claim_of_extended_resources_is_one_of_the_pod() {
    let (listed, pods) = a100();
    let mut pod = pods[0].clone();
    let claim = listed.claims[0].metadata.name.clone().expect("a name");
    pod.spec.as_mut().expect("a spec").resource_claims = None;
    let status = pod.status.as_mut().expect("a status");
    status.extended_resource_claim_status =
        Some(k8s_openapi::api::core::v1::PodExtendedResourceClaimStatus {
            resource_claim_name: claim.clone(),
            request_mappings: Vec::new(),
        });
    let asked = asked::find("pod/any", "default", "c", &listed, &[pod]).expect("found");
    assert_eq!(
        asked
            .claims
            .iter()
            .map(|key| key.name.to_string())
            .collect::<Vec<_>>(),
        [claim]
    );
}

#[test]
fn a_pod_that_asks_for_extended_resources_before_its_claim_is_made() {
    let (mut listed, pods) = a100();
    let class = &mut listed.classes[0];
    let name = class.metadata.name.clone().expect("a name");
    class.spec.get_or_insert_default().extended_resource_name = Some("example.com/gpu".to_owned());
    let asking = |resource: &str| {
        let mut pod = pods[0].clone();
        pod.status = None;
        let spec = pod.spec.as_mut().expect("a spec");
        spec.resource_claims = None;
        spec.node_name = None;
        let limits = [(resource.to_owned(), Quantity("1".to_owned()))];
        spec.containers[0].resources = Some(ResourceRequirements {
            limits: Some(limits.into()),
            ..Default::default()
        });
        pod
    };
    let account = asked_of(&listed, &[asking("example.com/gpu")], "pod/any").expect("an account");
    let text = text::render(&account, false);
    for part in [
        "claim default/any-extended-resources".to_owned(),
        format!("request container-0-request-0: 1 device of class {name}"),
        format!(
            "example.com/gpu of container {}: request container-0-request-0",
            account.mappings[0].container
        ),
        "is made when a node is chosen".to_owned(),
        "not allocated; asked as of now".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert!(account.given.is_none() && account.verdicts.len() == listed.nodes.len());
    // A node whose device plugin serves it needs no claim.
    let status = listed.nodes[0].status.get_or_insert_default();
    let plugin = [("example.com/gpu".to_owned(), Quantity("8".to_owned()))];
    status.allocatable.get_or_insert_default().extend(plugin);
    let account = asked_of(&listed, &[asking("example.com/gpu")], "pod/any").expect("an account");
    assert!(account.mappings.is_empty() && account.verdicts[0].looks.is_empty());
    let text = text::render(&account, false);
    assert!(text.contains("a device plugin serves it"), "{text}");
    let none = asked_of(&listed, &[asking("example.com/none")], "pod/any");
    let why = none.err().expect("no class stands for it").to_string();
    assert!(
        why.contains("no DeviceClass stands for example.com/none"),
        "{why}"
    );
}

#[test]
fn gates_that_are_guessed_are_said_to_be() {
    let (listed, pods) = a100();
    let asked = asked::find("pod/any", "default", "c", &listed, &pods).expect("found");
    let mut server = server();
    server.gates_from = GatesFrom::Defaults {
        why: "forbidden".to_owned(),
    };
    let account = account(&listed, &server, asked).expect("an account");
    let text = text::render(&account, false);
    assert!(
        text.contains("taken to be this minor's defaults") && text.contains("forbidden"),
        "{text}"
    );
}
