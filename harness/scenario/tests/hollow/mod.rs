//! A cluster in memory: an API server, a scheduler, a driver and a node in one lock, behind the real client.
//! Not a fake to develop against: it knows only what the steps ask, and its point is that it can lie.
//! Data comes from the real catalogue and the real MIG engine, and goes out as API objects.

mod api;
mod node;
mod publish;
mod schedule;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use gpu_model::Machine;
use report::{Environment, EnvironmentKind};
use scenario::{
    ApiServerEvent, Asks, ExecOutput, NodeCards, NodeEvent, NodeWish, Testbed, TestbedError,
};
use serde_json::Value;

/// How the hollow cluster is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// It is not.
    Nothing,
    /// The scheduler gives a partition away twice when none is left.
    GivesTwice,
    /// The scheduler looks at no counter.
    IgnoresCounters,
    /// The scheduler takes the last device that fits.
    LastMatch,
    /// The scheduler gives another reason.
    OtherReason,
    /// The scheduler refuses the last pod although a device is free.
    GivesOneLess,
    /// A pod that waits is never looked at again.
    ForgetsWaiting,
    /// The scheduler gives a partition of another profile.
    WrongProfile,
    /// The driver cuts nothing.
    CutsNothing,
    /// The driver cuts at another place.
    CutsElsewhere,
    /// The driver leaves one partition on the card when its pod ends.
    Leaves,
    /// The driver offers an A100 in MIG mode whole, too.
    OffersBoth,
    /// Every pod sees the partitions of all.
    ShowsAll,
    /// Every pod sees the partition of the first.
    ShowsTheFirst,
    /// A pod with a partition sees none.
    ShowsNone,
    /// Pods are bound and never start.
    NeverStarts,
    /// The image cannot be had.
    NoImage,
    /// A component is dead, and pods never start.
    Dies,
}

/// The state of the hollow cluster.
pub(crate) struct State {
    lie: Lie,
    /// Objects by plural, namespace and name.
    objects: BTreeMap<(String, String, String), Value>,
    /// Names of pods in the order of their creation.
    order: Vec<(String, String)>,
    nodes: Vec<(NodeWish, Machine)>,
    serial: u64,
    generation: i64,
    left_one: bool,
    /// What befell nodes, or would have.
    befallen: Vec<NodeEvent>,
    /// What the clusters were asked for that it has been.
    launched: Vec<Asks>,
    /// Something befell its API server since.
    worn: bool,
}

/// The hollow cluster.
pub(crate) struct Hollow {
    state: Arc<Mutex<State>>,
}

impl Hollow {
    /// A cluster without nodes that is wrong in this way.
    pub(crate) fn new(lie: Lie) -> Arc<Self> {
        let state = State {
            lie,
            objects: BTreeMap::new(),
            order: Vec::new(),
            nodes: Vec::new(),
            serial: 0,
            generation: 0,
            left_one: false,
            befallen: Vec::new(),
            launched: Vec::new(),
            worn: false,
        };
        Arc::new(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What befell nodes, or would have.
    pub(crate) fn befallen(&self) -> Vec<NodeEvent> {
        self.lock().befallen.clone()
    }

    /// Somebody starts it, and asks this of it.
    pub(crate) fn launch(&self, asks: Asks) {
        let mut state = self.lock();
        state.launched.push(asks);
        state.worn = false;
    }

    /// What was asked of it at each start.
    pub(crate) fn launched(&self) -> Vec<String> {
        self.lock().launched.iter().map(Asks::to_string).collect()
    }

    /// Objects of a kind that are there.
    pub(crate) fn count(&self, plural: &str) -> usize {
        self.lock()
            .objects
            .keys()
            .filter(|(kind, _, _)| kind == plural)
            .count()
    }
}

impl Testbed for Hollow {
    fn client(&self) -> kube::Client {
        let state = Arc::clone(&self.state);
        let service = tower::service_fn(move |request| api::answer(Arc::clone(&state), request));
        kube::Client::new(service, "default")
    }

    fn shape<'a>(&'a self, nodes: &'a [NodeWish]) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let result = self.lock().shape(nodes);
        async move { result }.boxed_local()
    }

    fn cards(&self) -> LocalBoxFuture<'_, Result<Vec<NodeCards>, TestbedError>> {
        let cards = self
            .lock()
            .nodes
            .iter()
            .map(|(wish, machine)| NodeCards::of(&wish.name, machine))
            .collect();
        async move { Ok(cards) }.boxed_local()
    }

    fn exec<'a>(
        &'a self,
        namespace: &'a str,
        pod: &'a str,
        _: Option<&'a str>,
        argv: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        assert_eq!(argv, ["nvidia-smi", "-L"]);
        let stdout = self.lock().listing(namespace, pod);
        async move {
            Ok(ExecOutput {
                code: Some(0),
                stdout,
                stderr: String::new(),
            })
        }
        .boxed_local()
    }

    fn on_node<'a>(
        &'a self,
        node: &'a str,
        _: &'a [&'a str],
    ) -> LocalBoxFuture<'a, Result<ExecOutput, TestbedError>> {
        async move {
            Err(TestbedError::new(format!(
                "{node} is hollow: no program runs on it"
            )))
        }
        .boxed_local()
    }

    fn befall<'a>(
        &'a self,
        node: &'a str,
        event: NodeEvent,
    ) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        self.lock().befallen.push(event.clone());
        async move {
            Err(TestbedError::new(format!(
                "{node} is hollow: {event:?} is nothing to it"
            )))
        }
        .boxed_local()
    }

    fn worn(&self) -> bool {
        self.lock().worn
    }

    fn api_server(&self, event: ApiServerEvent) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        self.lock().worn = true;
        async move {
            Err(TestbedError::new(format!(
                "an API server in memory: {event:?} is nothing to it"
            )))
        }
        .boxed_local()
    }

    fn evidence<'a>(&'a self, folder: &'a Path) -> LocalBoxFuture<'a, Result<(), TestbedError>> {
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join("driver.log"), "hollow\n"));
        async move { written.map_err(|error| TestbedError::new(error.to_string())) }.boxed_local()
    }

    fn check(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        let dead = self.lock().lie == Lie::Dies;
        async move {
            if dead {
                Err(TestbedError::fatal("etcd ended"))
            } else {
                Ok(())
            }
        }
        .boxed_local()
    }

    fn environment(&self) -> Environment {
        Environment {
            kind: EnvironmentKind::Mock,
            backend: "hollow".to_owned(),
            sliceproof: "0.0.0".to_owned(),
            machine: BTreeMap::new(),
            components: [("kube-apiserver".to_owned(), "hollow".to_owned())].into(),
        }
    }

    fn how_to_reach(&self) -> String {
        "nowhere".to_owned()
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), TestbedError>> {
        async { Ok(()) }.boxed_local()
    }
}
