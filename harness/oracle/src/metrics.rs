//! Feature gates from the metrics of a Kubernetes program: `kubernetes_feature_enabled{name="DRAAdminAccess",…} 1`.

use crate::gates::{Gate, Gates};
use crate::version::Version;

const METRIC: &str = "kubernetes_feature_enabled{";

impl Gates {
    /// The gates that these metrics say are on; gates that they do not name are as by default. `None` if they name none at all.
    pub fn of_metrics(text: &str, version: Version) -> Option<Gates> {
        let mut gates = Gates::default_of(version);
        let mut any = false;
        for line in text.lines().filter_map(|line| line.strip_prefix(METRIC)) {
            any = true;
            let name = line
                .split("name=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            let on = line.rsplit(' ').next() == Some("1");
            let Some(gate) = Gate::ALL.iter().find(|gate| Some(gate.name()) == name) else {
                continue;
            };
            gates = if on {
                gates.with(*gate)
            } else {
                gates.without(*gate)
            };
        }
        any.then_some(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_turn_gates_on_and_off_and_leave_the_others() {
        let text = "# TYPE kubernetes_feature_enabled gauge\n\
            kubernetes_feature_enabled{name=\"DRAPartitionableDevices\",stage=\"BETA\"} 0\n\
            kubernetes_feature_enabled{name=\"DRADerivedAttributes\",stage=\"ALPHA\"} 1\n\
            kubernetes_feature_enabled{name=\"SomethingElse\",stage=\"\"} 1\n";
        let gates = Gates::of_metrics(text, Version::V1_37).expect("gates");
        assert!(!gates.has(Gate::PartitionableDevices) && gates.has(Gate::DerivedAttributes));
        assert!(gates.has(Gate::AdminAccess), "not named, so as by default");
        assert_eq!(Gates::of_metrics("up 1\n", Version::V1_37), None);
    }
}
