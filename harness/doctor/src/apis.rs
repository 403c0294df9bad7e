//! Whether the API server can do what is asked of it.

use oracle::{Gate, Gates};

use crate::finding::{Check, Examined, Found};
use crate::seen::Seen;

pub(crate) fn examine(seen: &Seen) -> Examined {
    let mut found = Found::default();
    let about = format!("API server {}", seen.server);
    if !seen.served {
        found.problem(
            &about,
            "it does not serve resource.k8s.io/v1, so nothing can be published or claimed",
            "use Kubernetes 1.34 or newer, and take resource.k8s.io/v1=false out of --runtime-config if it stands there",
        );
    }
    let on = |gate: Gate| seen.gates.has(gate);
    if !on(Gate::PartitionableDevices) {
        found.warning(
            &about,
            "DRAPartitionableDevices is off: a driver cannot offer cards that are cut when they are claimed",
            "set --feature-gates=DRAPartitionableDevices=true on API server and scheduler, or cut the cards beforehand",
        );
    }
    if !on(Gate::DeviceTaints) {
        found.warning(
            &about,
            "DRADeviceTaints is off: an unhealthy device goes on being handed out",
            "set --feature-gates=DRADeviceTaints=true on API server, controller manager and scheduler",
        );
    }
    let all = Gates::all_of(seen.gates.version());
    let off: Vec<&str> = all
        .iter()
        .filter(|gate| !on(*gate))
        .map(Gate::name)
        .collect();
    let off = match off.as_slice() {
        [] => "none of device allocation is off".to_owned(),
        off => format!("off: {}", off.join(", ")),
    };
    Examined::new(
        Check::Apis,
        format!("{about}; {}; {off}", seen.gates_from),
        found.0,
    )
}
