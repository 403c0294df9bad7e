//! A control plane alone: etcd, the API server and the scheduler, without nodes and drivers, and without controllers unless they
//! are asked for.
//! For who writes the Node objects, slices and claims and wants to know what the API server and the scheduler say to them.
//! A spec without nodes in, a `Running` out.
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;

use crate::{
    error::{Error, Result},
    programs::Programs,
    progress::Listener,
    running::{Cluster, Running},
    spec::ClusterSpec,
    start::{LIMIT, STARTING, begin_in_folder, is_ready, with_hint},
    wait::{Look, Waiter},
};

impl Cluster {
    /// Starts the programs of [`Programs::CONTROL_PLANE`] and returns when the API server is ready. There is nobody who makes
    /// service accounts, ends pods or collects what has no owner, unless the spec's programs have kube-controller-manager too.
    pub async fn start_control_plane(
        spec: ClusterSpec,
        listener: &dyn Listener,
    ) -> Result<Running> {
        let waiter = Waiter::new(listener);
        spec.check_without_nodes()?;
        let (running, later) = begin_in_folder(&spec, Programs::CONTROL_PLANE, &waiter).await?;
        let ready = async {
            api_ready(&running, &waiter).await?;
            // Controllers look after what is nobody's here, and take nodes without a kubelet for lost: only who asks has them.
            for launch in later {
                running.init.start(launch).await?;
            }
            waiter.reached("scheduler is started");
            Ok(())
        };
        match ready.await {
            Ok(()) => Ok(running),
            Err(error) => Err(with_hint(error, &running)),
        }
    }
}

async fn api_ready(running: &Running, waiter: &Waiter<'_>) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(running.client.clone());
    waiter
        .until("the API server to be ready", LIMIT, async || {
            running.check_while(STARTING).await?;
            if let Err(why) = is_ready(running).await {
                return Ok(Look::NotYet(why));
            }
            let default = namespaces.get_opt("default").await;
            Ok(
                match default.map_err(Error::kube("get the namespace default"))? {
                    Some(_) => Look::Is(()),
                    None => Look::NotYet("there is no namespace default".into()),
                },
            )
        })
        .await?;
    waiter.reached("API server is ready");
    Ok(())
}
