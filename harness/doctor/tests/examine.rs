//! One cluster in order, and one cluster for each thing that can be wrong: exactly that is found.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use doctor::{Check, Examined, Level, Seen, examine};
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use oracle::objects::Listed;
use oracle::{Gate, Gates, Version};
use serde::de::DeserializeOwned;
use serde_json::Value;

fn yaml<T: DeserializeOwned>(text: &str) -> T {
    serde_yaml_ng::from_str(text).unwrap()
}

fn node(name: &str, gpu: bool) -> Node {
    let taints = if gpu {
        "[{key: nvidia.com/gpu, value: present, effect: NoSchedule}]"
    } else {
        "[]"
    };
    yaml(&format!(
        "{{metadata: {{name: {name}, labels: {{nvidia.com/gpu.present: '{gpu}'}}}}, spec: {{taints: {taints}}},
          status: {{conditions: [{{type: Ready, status: 'True'}}]}}}}"
    ))
}

/// A card of 40 GB as the driver publishes it, cut into three kinds.
fn slices(node: &str) -> Vec<ResourceSlice> {
    let slice = |name: &str, rest: &str| {
        yaml(&format!(
            "{{metadata: {{name: {node}-{name}}}, spec: {{driver: gpu.nvidia.com, nodeName: {node},
              pool: {{name: {node}, generation: 1, resourceSliceCount: 2}}, {rest}}}}}"
        ))
    };
    let memory: Vec<String> = (0..8)
        .map(|n| format!("memory-slice-{n}: {{value: '1'}}"))
        .collect();
    let partition = |name: &str, profile: &str, from: usize, size: usize| {
        format!(
            "{{name: {name}, attributes: {{type: {{string: mig}}, profile: {{string: {profile}}}}},
              consumesCounters: [{{counterSet: gpu-0, counters: {{{}}}}}]}}",
            memory[from..from + size].join(", ")
        )
    };
    vec![
        slice(
            "counters",
            &format!(
                "sharedCounters: [{{name: gpu-0, counters: {{{}}}}}]",
                memory.join(", ")
            ),
        ),
        slice(
            "devices",
            &format!(
                "devices: [{}, {}]",
                partition("small", "1g.5gb", 0, 1),
                partition("large", "3g.20gb", 4, 4)
            ),
        ),
    ]
}

fn class(name: &str, expression: &str) -> DeviceClass {
    yaml(&format!(
        "{{metadata: {{name: {name}}}, spec: {{selectors: [{{cel: {{expression: {expression:?}}}}}]}}}}"
    ))
}

fn claim(name: &str, class: &str, status: &str) -> ResourceClaim {
    yaml(&format!(
        "{{metadata: {{name: {name}, namespace: team}}, status: {status},
          spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: {class}}}}}]}}}}}}"
    ))
}

fn pod(name: &str, spec: &str, status: &str) -> Pod {
    yaml(&format!(
        "{{metadata: {{name: {name}, namespace: team}}, spec: {{containers: [{{name: c}}], {spec}}}, status: {status}}}"
    ))
}

const MIG: &str =
    r#"device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig""#;

const SMALL: &str = r#"device.attributes["gpu.nvidia.com"].profile == "1g.5gb""#;

/// Two nodes with a card each and one without; one claim that is used.
fn sound() -> Seen {
    let held = "{reservedFor: [{resource: pods, name: p, uid: u}],
        allocation: {devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: gpu-1, device: small}]}}}";
    Seen {
        server: "v1.37.2".to_owned(),
        gates: Gates::default_of(Version::V1_37),
        gates_from: "gates as they are".to_owned(),
        served: true,
        listed: Listed {
            slices: [slices("gpu-1"), slices("gpu-2")].concat(),
            classes: vec![class("mig.nvidia.com", MIG)],
            claims: vec![claim("one", "mig.nvidia.com", held)],
            nodes: vec![
                node("gpu-1", true),
                node("gpu-2", true),
                node("cpu-1", false),
            ],
            rules: Vec::new(),
        },
        pods: Ok(vec![
            pod(
                "p",
                "nodeName: gpu-1, resourceClaims: [{name: gpu, resourceClaimName: one}],
                 tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
                "{phase: Running}",
            ),
            pod("web", "nodeName: cpu-1", "{phase: Running}"),
        ]),
        quotas: Ok(vec![quota("requests.nvidia.com/gpu", "4", "0")]),
        machines: Ok(Vec::new()),
    }
}

fn quota(key: &str, hard: &str, used: &str) -> ResourceQuota {
    yaml(&format!(
        "{{metadata: {{name: gpus, namespace: team}}, spec: {{hard: {{{key}: '{hard}'}}}}, status: {{used: {{{key}: '{used}'}}}}}}"
    ))
}

/// Everything that is found: check, level, object and what, in that order.
fn found(seen: &Seen) -> Vec<(Check, Level, String, String)> {
    let told = |one: Examined| {
        let check = one.check;
        one.findings.into_iter().map(move |it| {
            assert!(!it.remedy.is_empty(), "{}: nothing mends it", it.what);
            (check, it.level, it.about, it.what)
        })
    };
    examine(seen).into_iter().flat_map(told).collect()
}

/// Exactly one thing is found, of this check and level, about this, and its text holds these words.
#[track_caller]
fn only(seen: &Seen, check: Check, level: Level, about: &str, words: &str) {
    let all = found(seen);
    let [(its, how, whom, what)] = all.as_slice() else {
        panic!("one finding is expected: {all:#?}");
    };
    assert_eq!((*its, *how, whom.as_str()), (check, level, about), "{what}");
    assert!(what.contains(words), "{what:?} does not say {words:?}");
}

#[test]
fn nothing_is_wrong_with_a_cluster_in_order() {
    assert_eq!(found(&sound()), []);
    let left_out: Vec<Check> = examine(&sound())
        .into_iter()
        .filter(|one| one.left_out)
        .map(|one| one.check)
        .collect();
    assert_eq!(left_out, [Check::Machines, Check::Meter]);
}

#[test]
fn what_could_not_be_read_is_left_out_and_says_why() {
    let mut seen = sound();
    seen.quotas = Err("resourcequotas is forbidden".to_owned());
    let quota = examine(&seen)
        .into_iter()
        .find(|one| one.check == Check::Quota)
        .unwrap();
    assert_eq!(
        (quota.left_out, quota.looked_at.as_str()),
        (true, "resourcequotas is forbidden")
    );
}

#[test]
fn gates_that_are_off_are_told() {
    let mut seen = sound();
    seen.gates = seen.gates.without(Gate::DeviceTaints);
    only(
        &seen,
        Check::Apis,
        Level::Warning,
        "API server v1.37.2",
        "DRADeviceTaints is off",
    );
}

#[test]
fn a_driver_and_a_device_plugin_on_one_node() {
    let mut seen = sound();
    let status = seen.listed.nodes[0].status.as_mut().unwrap();
    status.allocatable = Some(yaml(
        "{cpu: '8', nvidia.com/gpu: '1', example.com/fpga: '1'}",
    ));
    only(
        &seen,
        Check::Nodes,
        Level::Problem,
        "node gpu-1",
        "offers nvidia.com/gpu",
    );
    // What a plugin has stopped offering stays on the node with the amount 0.
    let status = seen.listed.nodes[0].status.as_mut().unwrap();
    status.allocatable = Some(yaml("{nvidia.com/gpu: '0'}"));
    assert_eq!(found(&seen), []);
}

#[test]
fn a_node_with_a_card_that_nobody_hands_out() {
    let mut seen = sound();
    seen.listed.slices.truncate(2);
    only(
        &seen,
        Check::Nodes,
        Level::Problem,
        "node gpu-2",
        "nvidia.com/gpu.present",
    );
}

#[test]
fn slices_of_a_node_that_is_gone() {
    let mut seen = sound();
    seen.listed.nodes.remove(1);
    only(
        &seen,
        Check::Nodes,
        Level::Problem,
        "node gpu-2",
        "no such node",
    );
}

#[test]
fn a_node_without_a_taint_and_pods_that_have_no_business_there() {
    let mut seen = sound();
    seen.listed.nodes[1] = node("gpu-2", false);
    seen.listed.nodes[1].metadata.labels = None;
    only(
        &seen,
        Check::Access,
        Level::Warning,
        "node gpu-2",
        "no taint",
    );

    let mut seen = sound();
    seen.pods
        .as_mut()
        .unwrap()
        .push(pod("idler", "nodeName: gpu-2", "{phase: Running}"));
    only(
        &seen,
        Check::Access,
        Level::Problem,
        "node gpu-2",
        "team/idler runs on it without a GPU",
    );

    let mut seen = sound();
    let mut agent = pod("agent", "nodeName: gpu-2", "{phase: Running}");
    agent.metadata.owner_references = Some(yaml(
        "[{apiVersion: apps/v1, kind: DaemonSet, name: a, uid: u}]",
    ));
    seen.pods.as_mut().unwrap().push(agent);
    assert_eq!(found(&seen), []);
}

#[test]
fn a_pod_that_no_node_with_gpus_lets_in() {
    let mut seen = sound();
    seen.pods.as_mut().unwrap().push(pod(
        "shut-out",
        "resourceClaims: [{name: gpu, resourceClaimName: other}]",
        "{phase: Pending}",
    ));
    only(
        &seen,
        Check::Access,
        Level::Problem,
        "pod team/shut-out",
        "tolerates the taints of no node",
    );
}

#[test]
fn a_pool_that_is_not_whole() {
    let mut seen = sound();
    seen.listed.slices.remove(2);
    only(
        &seen,
        Check::Pools,
        Level::Problem,
        "pool gpu-2 of gpu.nvidia.com",
        "1 of 2 slices",
    );
}

#[test]
fn an_order_that_gives_the_larger_first() {
    let mut seen = sound();
    for slice in &mut seen.listed.slices {
        slice
            .spec
            .devices
            .iter_mut()
            .for_each(|devices| devices.reverse());
    }
    only(
        &seen,
        Check::Order,
        Level::Note,
        "DeviceClass mig.nvidia.com",
        "in 2 pools (gpu-1, gpu-2) large stands before small",
    );
}

#[test]
fn nodes_that_publish_the_same_in_different_orders() {
    let mut seen = sound();
    // Of one size, so that only the difference is told.
    for slice in &mut seen.listed.slices {
        for device in slice.spec.devices.iter_mut().flatten() {
            device.attributes.as_mut().unwrap().remove("profile");
        }
    }
    assert_eq!(found(&seen), []);
    seen.listed.slices[3]
        .spec
        .devices
        .as_mut()
        .unwrap()
        .reverse();
    only(
        &seen,
        Check::Order,
        Level::Warning,
        "pools gpu-1, gpu-2",
        "in different orders",
    );
}

#[test]
fn classes_that_admit_nothing_or_fail() {
    let mut seen = sound();
    seen.listed.classes.push(class("empty", "false"));
    only(
        &seen,
        Check::Classes,
        Level::Warning,
        "DeviceClass empty",
        "none of the 4 devices",
    );
    seen.listed.classes.pop();
    seen.listed.classes.push(class(
        "broken",
        r#"device.attributes["gpu.nvidia.com"].nosuch == "x""#,
    ));
    only(
        &seen,
        Check::Classes,
        Level::Problem,
        "DeviceClass broken",
        "nosuch",
    );
}

#[test]
fn two_classes_with_one_extended_resource() {
    let mut seen = sound();
    for name in ["a", "b"] {
        let mut class = class(name, MIG);
        class.spec.as_mut().unwrap().extended_resource_name = Some("example.com/mig".to_owned());
        seen.listed.classes.push(class);
    }
    only(
        &seen,
        Check::Classes,
        Level::Warning,
        "extended resource example.com/mig",
        "DeviceClass a, DeviceClass b",
    );
}

#[test]
fn claims_that_wait_and_claims_of_nobody() {
    let mut seen = sound();
    seen.listed.claims.push(claim("lost", "nowhere", "{}"));
    only(
        &seen,
        Check::Claims,
        Level::Problem,
        "ResourceClaim team/lost",
        "DeviceClass nowhere",
    );

    let mut seen = sound();
    seen.listed.claims[0].status.as_mut().unwrap().reserved_for = None;
    only(
        &seen,
        Check::Claims,
        Level::Warning,
        "ResourceClaim team/one",
        "holds 1 device and no pod uses it",
    );

    let mut seen = sound();
    seen.listed
        .claims
        .push(claim("two", "mig.nvidia.com", "{}"));
    let waits = "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', message: cannot allocate all claims}]}";
    seen.pods.as_mut().unwrap().push(pod(
        "q",
        "resourceClaims: [{name: gpu, resourceClaimName: two}], tolerations: [{operator: Exists}]",
        waits,
    ));
    only(
        &seen,
        Check::Claims,
        Level::Warning,
        "ResourceClaim team/two",
        "team/q waits for it: cannot allocate all claims",
    );
}

#[test]
fn a_claim_that_was_never_made() {
    let mut seen = sound();
    seen.pods.as_mut().unwrap().push(pod(
        "q",
        "resourceClaims: [{name: gpu, resourceClaimTemplateName: t}], tolerations: [{operator: Exists}]",
        "{phase: Pending}",
    ));
    only(
        &seen,
        Check::Claims,
        Level::Problem,
        "pod team/q",
        "claim gpu is not made yet",
    );
}

#[test]
fn quotas_that_count_nothing_and_quotas_at_their_end() {
    let mut seen = sound();
    seen.quotas.as_mut().unwrap().push(quota(
        "request.deviceclass.resource.kubernetes.io/a",
        "1",
        "0",
    ));
    only(
        &seen,
        Check::Quota,
        Level::Problem,
        "ResourceQuota team/gpus",
        "counts nothing",
    );

    let mut seen = sound();
    seen.quotas = Ok(Vec::new());
    only(
        &seen,
        Check::Quota,
        Level::Note,
        "namespaces team",
        "no quota on devices",
    );

    let mut seen = sized();
    seen.quotas = Ok(vec![quota(&devices("one-slice"), "1", "1")]);
    assert_eq!(found(&seen), [], "nobody waits");
    seen.pods.as_mut().unwrap().push(pod(
        "q",
        "resourceClaims: [{name: gpu, resourceClaimName: one}], tolerations: [{operator: Exists}]",
        "{phase: Pending}",
    ));
    only(
        &seen,
        Check::Quota,
        Level::Warning,
        "ResourceQuota team/gpus",
        "is used up (1 of 1)",
    );
}

/// The same with a class for each size, of which the claim has one.
fn sized() -> Seen {
    let mut seen = sound();
    seen.listed.classes.push(class("one-slice", SMALL));
    let held = seen.listed.claims[0].status.take();
    seen.listed.claims = vec![claim("one", "one-slice", "{}")];
    seen.listed.claims[0].status = held;
    seen
}

fn devices(class: &str) -> String {
    oracle::quota::devices(class)
}

#[test]
fn quotas_that_mean_something_else_than_they_say() {
    let mut seen = sized();
    for (key, hard, used, level, words) in [
        // The claim is of another class.
        (
            devices("mig.nvidia.com"),
            "4",
            "0",
            Level::Note,
            "of different size: 1g.5gb, 3g.20gb",
        ),
        (
            devices("one-slice"),
            "4",
            "2",
            Level::Warning,
            "says that 2 is used, and what is there adds up to 1",
        ),
        (
            devices("one-slise"),
            "4",
            "0",
            Level::Warning,
            "a DeviceClass one-slise that is not there",
        ),
        (
            oracle::quota::implicit("one-slice"),
            "1.5",
            "1",
            Level::Warning,
            "devices are whole",
        ),
        (
            devices("one-slice"),
            "9223372036854775807",
            "1",
            Level::Warning,
            "this is no limit",
        ),
    ] {
        seen.quotas = Ok(vec![quota(&key, hard, used)]);
        only(&seen, Check::Quota, level, "ResourceQuota team/gpus", words);
    }
}

/// A pool of two machines with GPUs, as it should be.
fn machines() -> Vec<Value> {
    let documents = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: gpu-pool, namespace: clusters}
spec:
  clusterName: c
  replicas: 2
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: gpu-pool}}
  template:
    metadata:
      labels: {cluster.x-k8s.io/deployment-name: gpu-pool, node.cluster.x-k8s.io/gpu: a100}
    spec:
      clusterName: c
      version: v1.37.2
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: gpu-pool}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachineTemplate, name: gpu-pool}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: gpu-pool, namespace: clusters}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
          kubeletExtraArgs: [{name: node-labels, value: "nvidia.com/gpu.present=true"}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachineTemplate
metadata: {name: gpu-pool, namespace: clusters}
spec: {template: {spec: {}}}
"#;
    use serde::Deserialize;
    serde_yaml_ng::Deserializer::from_str(documents)
        .map(|document| Value::deserialize(document).unwrap())
        .collect()
}

/// The one thing that is found when a pool is changed so.
#[track_caller]
fn of_machines(change: impl FnOnce(&mut Vec<Value>), level: Level, words: &str) {
    let mut seen = sound();
    let mut machines = machines();
    change(&mut machines);
    seen.machines = Ok(machines);
    only(
        &seen,
        Check::Machines,
        level,
        "MachineDeployment clusters/gpu-pool",
        words,
    );
}

#[test]
fn machine_pools_are_checked_as_objects() {
    let mut seen = sound();
    seen.machines = Ok(machines());
    assert_eq!(found(&seen), []);
    let registration = |all: &mut Vec<Value>| {
        let config = &mut all[1]["spec"]["template"]["spec"]["joinConfiguration"];
        config["nodeRegistration"].take()
    };
    of_machines(
        |all| drop(registration(all)),
        Level::Problem,
        "come without a taint",
    );
    of_machines(
        |all| drop(all.remove(2)),
        Level::Problem,
        "names DockerMachineTemplate gpu-pool, which is not there",
    );
    of_machines(
        |all| all[0]["spec"]["template"]["spec"]["version"] = "v1.33.4".into(),
        Level::Problem,
        "will be of Kubernetes v1.33.4",
    );
    of_machines(
        |all| {
            all[0]["spec"]["template"]["metadata"]["labels"]["nvidia.com/mig.strategy"] =
                "mixed".into()
        },
        Level::Warning,
        "nvidia.com/mig.strategy stays on its machines",
    );
    of_machines(
        |all| all[0]["spec"]["selector"]["matchLabels"]["pool"] = "gpu".into(),
        Level::Problem,
        "pool=gpu",
    );
    of_machines(
        |all| {
            all[1]["spec"]["template"]["spec"]["joinConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] = serde_json::json!({"node-labels": "node-role.kubernetes.io/gpu=,nvidia.com/gpu.present=true"});
        },
        Level::Problem,
        "node-role.kubernetes.io/gpu, which a kubelet refuses",
    );
    of_machines(
        |all| {
            all[0]["metadata"]["annotations"] = serde_json::json!({"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0"});
        },
        Level::Warning,
        "never comes back",
    );
}
