//! What the Kubernetes programs are told to be beyond their defaults. Which gates there are and what they mean is not
//! known here: a program that does not know one stops and says so.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Feature gates and API versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// Feature gates, for the API server, the controller manager, the scheduler and the kubelets.
    pub gates: BTreeMap<String, bool>,
    /// API versions that are served besides, as `resource.k8s.io/v1beta2`.
    pub apis: BTreeSet<String>,
    /// The DRA driver makes MIG devices on demand. Kubernetes must know partitions for that.
    pub dynamic_mig: bool,
}

impl Default for Features {
    /// The defaults of a Kubernetes that knows partitions, 1.36 or newer.
    fn default() -> Self {
        Features {
            gates: BTreeMap::new(),
            apis: BTreeSet::new(),
            dynamic_mig: true,
        }
    }
}

impl Features {
    /// `--feature-gates=…`, where there is one.
    pub(crate) fn gates_flag(&self) -> Option<String> {
        flag("feature-gates", self.gates.iter())
    }

    /// `--runtime-config=…`, where there is one.
    pub(crate) fn apis_flag(&self) -> Option<String> {
        flag("runtime-config", self.apis.iter().map(|api| (api, &true)))
    }
}

fn flag<'a>(name: &str, values: impl Iterator<Item = (&'a String, &'a bool)>) -> Option<String> {
    let values: Vec<String> = values
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    (!values.is_empty()).then(|| format!("--{name}={}", values.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_what_differs_and_nothing_else() {
        assert_eq!(Features::default().gates_flag(), None);
        assert_eq!(Features::default().apis_flag(), None);
        let features = Features {
            gates: [("AllBeta".to_owned(), false), ("DRAX".to_owned(), true)].into(),
            apis: ["a/v1beta1".to_owned(), "b/v1alpha3".to_owned()].into(),
            dynamic_mig: false,
        };
        assert_eq!(
            features.gates_flag().as_deref(),
            Some("--feature-gates=AllBeta=false,DRAX=true")
        );
        assert_eq!(
            features.apis_flag().as_deref(),
            Some("--runtime-config=a/v1beta1=true,b/v1alpha3=true")
        );
    }
}
