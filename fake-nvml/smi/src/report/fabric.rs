//! Membership of an NVLink fabric.

use nvml_client::{Fabric, Result};

use super::Dialect;
use super::tree::Node;
use crate::value;

pub(super) fn section(got: Result<Fabric>, dialect: Dialect) -> Node {
    // A GPU that takes no part in a fabric has nothing to say of one.
    let fabric = got.ok().filter(|f| f.state != 0);
    let show = |word: fn(&Fabric) -> String| fabric.as_ref().map_or_else(|| "N/A".to_owned(), word);
    // Each property has a few bits of the mask; 0 is "not supported".
    let health = |shift: u32, bits: u32, words: &[&str]| {
        let number = fabric.map_or(0, |f| f.health >> shift & ((1 << bits) - 1));
        words
            .get(number as usize)
            .copied()
            .unwrap_or("N/A")
            .to_owned()
    };
    let truth = ["N/A", "True", "False"];
    let mut lines = Vec::new();
    if dialect.since(580) {
        lines.push(Node::value(
            "Summary",
            "summary",
            match fabric.map_or(0, |f| f.summary) {
                1 => "Healthy",
                2 => "Unhealthy",
                3 => "Limited Capacity",
                _ => "N/A",
            },
        ));
    }
    lines.extend([
        Node::value(
            "Bandwidth",
            "bandwidth",
            health(0, 2, &["N/A", "Degraded", "Full"]),
        ),
        Node::value(
            "Route Recovery in progress",
            "route_recovery_in_progress",
            health(2, 2, &truth),
        ),
        Node::value("Route Unhealthy", "route_unhealthy", health(4, 2, &truth)),
        Node::value(
            "Access Timeout Recovery",
            "access_timeout_recovery",
            health(6, 2, &truth),
        ),
    ]);
    if dialect.since(580) {
        lines.push(Node::value(
            "Incorrect Configuration",
            "incorrect_configuration",
            health(
                8,
                4,
                &[
                    "N/A",
                    "None",
                    "Incorrect System Guid",
                    "Incorrect Chassis Serial Number",
                    "No Partition",
                    "Insufficient Nvlinks",
                ],
            ),
        ));
    }
    // Not in a capture of 580.105.08, in one of 580.142.
    if dialect.since_minor(580, 142) {
        lines.push(Node::value(
            "Partition Assigned",
            "partition_assigned",
            "N/A",
        ));
    }
    Node::group(
        "Fabric",
        "fabric",
        vec![
            Node::value(
                "State",
                "state",
                show(|f| value::fabric_state(f.state).into()),
            ),
            Node::value(
                "Status",
                "status",
                show(|f| f.status.map_or("Success", nvml_client::Code::text).into()),
            ),
            Node::value("CliqueId", "cliqueId", show(|f| f.clique.to_string())),
            Node::value(
                "ClusterUUID",
                "clusterUuid",
                show(|f| value::uuid(&f.cluster)),
            ),
            Node::group("Health", "health", lines),
        ],
    )
}
