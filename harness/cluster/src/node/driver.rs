//! The driver of a node that runs, be it the DRA driver or the device plugin: stopping, starting, and knowing whether the
//! kubelet has it. Not what it publishes (`start::slices_published`).
//! Reads the kubelet's log and the driver's checkpoint from outside the node's namespaces.
use std::{collections::BTreeMap, fs, time::Duration};

use crate::{
    error::{Error, Result},
    progress::Silent,
    rpc::Launch,
    running::{Node, first_ended},
    spec::Offer,
    wait::{Look, Waiter},
};

const DRIVER: &str = "gpu-kubelet-plugin";
const KUBELET: &str = "kubelet";
pub(crate) const DEVICE_PLUGIN: &str = "nvidia-device-plugin";

/// What the kubelet's log says of a device plugin that registers, once for each resource.
const PLUGIN_REGISTERED: &str = "\"Got registration request from device plugin with resource\"";

/// What the driver may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// What a registration may take; the kubelet looks for new sockets every second.
const LIMIT: Duration = Duration::from_secs(60);

/// A driver that was started: where the kubelet's log was then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    log_length: u64,
}

impl Node {
    /// Ends the driver and starts it again on the cards as they are, as a restart of its pod would. Returns when the kubelet
    /// has registered it anew.
    pub async fn restart_driver(&self) -> Result<()> {
        self.stop_driver().await?;
        let started = self.start_driver().await?;
        self.driver_registered(started, &Waiter::new(&Silent)).await
    }

    /// Kills the driver, as the kernel does with a process that has no memory left: its sockets stay behind.
    pub async fn kill_driver(&self) -> Result<()> {
        self.control.stop(DRIVER, Duration::ZERO).await
    }

    /// Starts a driver that was killed, and returns when the kubelet has registered it anew.
    pub async fn revive_driver(&self) -> Result<()> {
        let started = self.start_driver().await?;
        self.driver_registered(started, &Waiter::new(&Silent)).await
    }

    /// Ends the kubelet and starts it again; pods go on meanwhile. Returns when it has registered the driver.
    pub async fn restart_kubelet(&self) -> Result<()> {
        self.control.stop(KUBELET, GRACE).await?;
        let log_length = fs::metadata(self.log(KUBELET)).map_or(0, |m| m.len());
        self.control.start(self.launch(KUBELET)?).await?;
        self.driver_registered(Started { log_length }, &Waiter::new(&Silent))
            .await
    }

    /// By SIGTERM, on which it removes its sockets.
    pub(crate) async fn stop_driver(&self) -> Result<()> {
        self.control.stop(DEVICE_PLUGIN, GRACE).await?;
        self.control.stop(DRIVER, GRACE).await
    }

    pub(crate) async fn start_driver(&self) -> Result<Started> {
        let launch = match self.shape().offer {
            Offer::DraDriver => {
                let mut launch = self.launch(DRIVER)?;
                regate(&mut launch.argv, &self.shape().driver_gates);
                launch
            }
            Offer::DevicePlugin(strategy) => {
                let mut launch = self.launch(DEVICE_PLUGIN)?;
                launch
                    .argv
                    .push(format!("--mig-strategy={}", strategy.name()));
                launch
            }
        };
        let log_length = fs::metadata(self.log("kubelet")).map_or(0, |m| m.len());
        self.control.start(launch).await?;
        Ok(Started { log_length })
    }

    fn launch(&self, program: &str) -> Result<Launch> {
        Launch::read(program, &self.at.launch(program))
    }

    /// Waits until the kubelet has registered the driver that was started. Before that a pod with a claim fails to be
    /// prepared, and the slices are published without regard to it.
    ///
    /// The kubelet's metric `plugin_manager_total_plugins` does not tell the new registration from the old one (same socket), so
    /// that one would first have to wait for its end; the log has both in order.
    pub(crate) async fn driver_registered(
        &self,
        started: Started,
        waiter: &Waiter<'_>,
    ) -> Result<()> {
        let what = format!("the kubelet of {} to register the driver", self.name());
        waiter
            .until(&what, LIMIT, async || {
                first_ended(
                    &self.control.programs().await?,
                    self.name(),
                    "while its driver registered",
                )?;
                let log = fs::read(self.log("kubelet")).unwrap_or_default();
                let from = usize::try_from(started.log_length)
                    .unwrap_or(0)
                    .min(log.len());
                let log = String::from_utf8_lossy(&log[from..]);
                let seen = match self.shape().offer {
                    Offer::DraDriver => last_registration(&log),
                    Offer::DevicePlugin(_) => log.contains(PLUGIN_REGISTERED).then_some(true),
                };
                Ok(match seen {
                    Some(true) => Look::Is(()),
                    Some(false) => Look::NotYet("the earlier one is unregistered".into()),
                    None => Look::NotYet("it has not seen it".into()),
                })
            })
            .await
    }

    /// The driver holds no prepared claim.
    pub(crate) fn has_no_claims(&self) -> bool {
        let plugin = self.at.var().join("lib/kubelet/plugins/gpu.nvidia.com");
        fs::read_to_string(plugin.join("checkpoint.json"))
            .is_ok_and(|text| !text.contains("\"preparedClaims\""))
    }

    /// What the driver keeps about claims that it prepared: a boot empties it.
    pub(crate) async fn forget_claims(&self) -> Result<()> {
        let script = "rm -f /var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json /run/cdi/k8s.gpu.nvidia.com-claim_*";
        let output = self.exec(&["sh", "-c", script]).await?;
        if output.ok() {
            return Ok(());
        }
        Err(Error::Init {
            doing: format!("empty the driver's checkpoint on node {}", self.name()),
            message: output.stderr,
        })
    }
}

/// Sets these feature gates on a command line, in the place of what it says of them.
fn regate(argv: &mut [String], gates: &BTreeMap<String, bool>) {
    const FLAG: &str = "--feature-gates=";
    for arg in argv.iter_mut() {
        let Some(list) = arg.strip_prefix(FLAG) else {
            continue;
        };
        let others = list.split(',').filter(|gate| {
            let name = gate.split('=').next().unwrap_or_default();
            !gates.contains_key(name)
        });
        let mut all: Vec<String> = others.map(str::to_owned).collect();
        all.extend(gates.iter().map(|(name, on)| format!("{name}={on}")));
        *arg = format!("{FLAG}{}", all.join(","));
    }
}

/// Whether the last thing that a piece of the kubelet's log says about the driver is that it is registered.
fn last_registration(log: &str) -> Option<bool> {
    let of_driver = log
        .lines()
        .filter(|l| l.contains("driverName=\"gpu.nvidia.com\""));
    of_driver
        .filter_map(|line| {
            if line.contains("\"Registered DRA plugin\"") {
                Some(true)
            } else if line.contains("\"Unregistered DRA plugin\"") {
                Some(false)
            } else {
                None
            }
        })
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_a_node_take_the_place_of_the_clusters() {
        let mut argv = ["driver", "--feature-gates=DynamicMIG=true", "-v=4"].map(str::to_owned);
        regate(&mut argv, &BTreeMap::new());
        assert_eq!(argv[1], "--feature-gates=DynamicMIG=true");
        let gates = [("DynamicMIG", false), ("NVMLDeviceHealthCheck", true)];
        let gates = gates.map(|(name, on)| (name.to_owned(), on));
        regate(&mut argv, &BTreeMap::from(gates));
        let wanted = "--feature-gates=DynamicMIG=false,NVMLDeviceHealthCheck=true";
        assert_eq!(argv[1], wanted);
    }

    #[test]
    fn the_last_word_of_the_kubelet_counts() {
        let line = |what: &str| {
            format!(
                "I1129 1 manager.go:444] \"{what} DRA plugin\" driverName=\"gpu.nvidia.com\" endpoint=\"x\"\n"
            )
        };
        assert_eq!(last_registration(""), None);
        assert_eq!(last_registration("I1129 unrelated\n"), None);
        assert_eq!(last_registration(&line("Registered")), Some(true));
        let restarted = line("Unregistered") + &line("Registered");
        assert_eq!(last_registration(&restarted), Some(true));
        let ended = line("Registered") + &line("Unregistered");
        assert_eq!(last_registration(&ended), Some(false));
    }
}
