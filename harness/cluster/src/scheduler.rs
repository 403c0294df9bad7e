//! A scheduler beside Kubernetes' own: a process of the control plane with a configuration of its own, for the pods that name it.
//! Not what it decides, nor the kinds that it wants: those are objects of who starts it.
//! A component and its configuration in, a process that is its leader out.
use std::{fs, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

use crate::{
    control_plane::{environment, path},
    error::{Error, Result},
    kubeconfig,
    node::config::make,
    pki::{Authority, Subject},
    progress::Silent,
    rpc::Launch,
    running::{Running, first_ended},
    wait::{Look, Waiter},
};

/// Where its lease lies.
const NAMESPACE: &str = "kube-system";
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);

/// What a scheduler is started with.
#[derive(Debug, Clone, Copy)]
pub struct Scheduler<'a> {
    /// The component that it is.
    pub component: &'a str,
    /// Its `KubeSchedulerConfiguration`, less how it reaches the API server and who leads.
    pub configuration: &'a Value,
    /// Its feature gates; those of the cluster where there are none.
    pub gates: Option<&'a str>,
}

impl Running {
    /// Starts a scheduler under this name. Returns when it leads, or says why it does not.
    ///
    /// # Errors
    /// A component that is not there, a configuration that it refuses.
    pub async fn start_scheduler(&self, name: &str, scheduler: Scheduler<'_>) -> Result<()> {
        self.stop_scheduler(name).await?;
        let launch = self.lay_scheduler(name, scheduler)?;
        self.init.start(launch).await?;
        let waiter = Waiter::new(&Silent);
        let what = format!("the scheduler {name} to lead");
        let leads = waiter.until(&what, LIMIT, async || {
            first_ended(&self.init.programs().await?, "", "while it started")?;
            let lease = self
                .leases()
                .get_opt(name)
                .await
                .map_err(Error::kube(format!("get the lease of {name}")))?;
            let leader = lease.and_then(|lease| lease.spec?.holder_identity);
            Ok(match leader.filter(|leader| !leader.is_empty()) {
                Some(_) => Look::Is(()),
                None => Look::NotYet("nobody holds its lease".into()),
            })
        });
        let Err(error) = leads.await else {
            return Ok(());
        };
        // A scheduler that is no part of the cluster must not end it.
        self.init.stop(name, GRACE).await?;
        Err(match error {
            Error::ComponentEnded { tail, .. } => Error::Init {
                doing: format!("start the scheduler {name}"),
                message: tail,
            },
            other => other,
        })
    }

    /// Ends it. Does nothing where it does not run.
    pub async fn stop_scheduler(&self, name: &str) -> Result<()> {
        self.init.stop(name, GRACE).await?;
        match self.leases().delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other
                .map(drop)
                .map_err(Error::kube(format!("delete the lease of {name}"))),
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn lay_scheduler(&self, name: &str, scheduler: Scheduler<'_>) -> Result<Launch> {
        let dir = self.dir.join(name);
        make(&dir)?;
        let authority = Authority::open(&self.dir.join("pki"))?;
        let user = Subject::user(name, name).group("system:masters");
        let identity = authority.issue(&user)?;
        let access = dir.join("kubeconfig");
        kubeconfig::by_path(&access, &authority, &identity)?;
        let file = dir.join("configuration.yaml");
        let text = whole(name, scheduler.configuration, &path(&access)).to_string();
        fs::write(&file, text).map_err(Error::io("write", &file))?;
        let record = self.record();
        let gates = match scheduler.gates {
            Some(gates) => Some(format!("--feature-gates={gates}")),
            None => record.features.gates_flag(),
        };
        let program = path(record.programs.path(scheduler.component)?);
        let argv = [
            program,
            format!("--config={}", path(&file)),
            "--secure-port=0".into(),
        ];
        Ok(Launch {
            name: name.into(),
            argv: argv.into_iter().chain(gates).collect(),
            env: environment(),
            log: self.dir.join("logs").join(format!("{name}.log")),
        })
    }
}

/// JSON is YAML, too.
fn whole(name: &str, configuration: &Value, kubeconfig: &str) -> Value {
    let mut whole = configuration.clone();
    whole["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
    whole["kind"] = json!("KubeSchedulerConfiguration");
    whole["clientConnection"] = json!({ "kubeconfig": kubeconfig, "qps": 1000, "burst": 2000 });
    // There is one of it: that it leads says that it works.
    whole["leaderElection"] = json!({
        "leaderElect": true,
        "resourceLock": "leases",
        "resourceNamespace": NAMESPACE,
        "resourceName": name
    });
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_what_is_ours_is_said() {
        let asked = json!({ "profiles": [{ "schedulerName": "second" }] });
        let whole = whole("second", &asked, "/run/kubeconfig");
        assert_eq!(whole["profiles"], asked["profiles"]);
        assert_eq!(whole["clientConnection"]["kubeconfig"], "/run/kubeconfig");
        assert_eq!(whole["leaderElection"]["resourceName"], "second");
    }
}
