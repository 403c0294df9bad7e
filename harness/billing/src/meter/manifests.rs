//! The meter as a Deployment, with rights to look and nothing else.

use serde_json::{Value, json};

use super::Kind;

/// What is put into the manifests.
#[derive(Clone, Debug)]
pub struct Install {
    /// The namespace.
    pub namespace: String,
    /// The image that has `sliceproof`.
    pub image: String,
    /// The ledger's URL is read from this secret, key `url`; without one the ledger is a file on a volume claim.
    pub secret: Option<String>,
}

/// What the meter may do.
#[must_use]
pub fn rules() -> Value {
    let mut groups = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    for kind in Kind::ALL {
        let (group, plural) = kind.resource();
        groups.entry(group).or_default().push(plural);
    }
    let watched = groups.into_iter().map(|(group, plurals)| {
        json!({ "apiGroups": [group], "resources": plurals, "verbs": ["list", "watch"] })
    });
    // The cluster is known by the UID of this namespace.
    let named = json!({ "apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"] });
    watched.chain([named]).collect()
}

/// The objects, in the order in which they are made.
#[must_use]
pub fn manifests(install: &Install) -> Vec<Value> {
    let name = "sliceproof-meter";
    let namespace = &install.namespace;
    let labels = json!({ "app.kubernetes.io/name": name });
    let named = json!({ "name": name, "namespace": namespace, "labels": labels });
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": named }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name, "labels": labels }, "rules": rules() }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name, "labels": labels },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }] }),
    ];
    let (ledger, env, volumes, mounts) = match &install.secret {
        Some(secret) => (
            "$(LEDGER)",
            json!([{ "name": "LEDGER", "valueFrom": { "secretKeyRef": { "name": secret, "key": "url" } } }]),
            json!([]),
            json!([]),
        ),
        None => {
            objects.push(json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": named,
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "5Gi" } } } }));
            (
                "/ledger/ledger.db",
                json!([]),
                json!([{ "name": "ledger", "persistentVolumeClaim": { "claimName": name } }]),
                json!([{ "name": "ledger", "mountPath": "/ledger" }]),
            )
        }
    };
    objects.push(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": named, "spec": {
        "replicas": 1,
        // One writer of a file at a time; two of a database do no harm.
        "strategy": { "type": "Recreate" },
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": {
            "serviceAccountName": name,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": "meter", "image": install.image, "args": ["meter", "--in-cluster", "--ledger", ledger], "env": env, "volumeMounts": mounts,
                "resources": { "requests": { "cpu": "10m", "memory": "64Mi" }, "limits": { "memory": "512Mi" } },
                "securityContext": { "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] } },
            }],
            "volumes": volumes,
        } },
    } }));
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_may_look_and_nothing_else() {
        for rule in rules().as_array().expect("rules") {
            let verbs: Vec<&str> = rule["verbs"]
                .as_array()
                .expect("verbs")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert!(
                verbs
                    .iter()
                    .all(|verb| ["get", "list", "watch"].contains(verb)),
                "{rule}"
            );
            let resources = rule["resources"].to_string();
            assert!(
                !resources.contains("secrets") && !resources.contains('*'),
                "{rule}"
            );
        }
        let install = Install {
            namespace: "billing".to_owned(),
            image: "x".to_owned(),
            secret: None,
        };
        let kinds = |install: &Install| -> Vec<String> {
            manifests(install)
                .iter()
                .map(|it| it["kind"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        assert_eq!(
            kinds(&install),
            [
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "PersistentVolumeClaim",
                "Deployment"
            ]
        );
        let database = Install {
            secret: Some("ledger".to_owned()),
            ..install
        };
        assert_eq!(
            kinds(&database),
            [
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "Deployment"
            ]
        );
    }
}
