//! The meter: watches the claims, slices, taint rules, pods and nodes of a cluster and keeps what it sees in a ledger.
//! It changes nothing in the cluster, and knows no price.
//! In: an API server's lists and watches, and a clock. Out: facts and cursors, in one transaction each.
//!
//! A watch goes on where the ledger's cursor stands, so that what happened while the meter was away is heard later. Where the
//! API server no longer knows that far back (410), everything is listed, what vanished is closed at the time when it was last
//! seen, and the gap becomes a fact.

mod keeper;
mod kinds;
pub mod manifests;
mod watch;

use std::sync::{Arc, Mutex};

use futures::future::select_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::sync::mpsc;

use crate::ledger::{Ledger, LedgerError, Place};
use crate::time::Seconds;

pub use kinds::Kind;
pub use watch::Heard;

/// A clock of whole seconds.
pub type Clock = Arc<dyn Fn() -> Seconds + Send + Sync>;

/// Why a meter ends.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// The API server did not say which cluster it is of.
    #[error(
        "cannot ask the cluster for the UID of its namespace kube-system, by which the ledger knows it: {source}. The meter needs the rights that `sliceproof meter --manifests` gives"
    )]
    Cluster {
        /// What it said.
        source: Box<kube::Error>,
    },
    /// The API server refused what the meter may not do without.
    #[error(
        "the API server refuses to {doing} {kind}: {why}. The meter needs the rights that `sliceproof meter --manifests` gives"
    )]
    Refused {
        /// `list` or `watch`.
        doing: &'static str,
        /// The kind.
        kind: Kind,
        /// What it said.
        why: String,
    },
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A part of the meter ended without a word.
    #[error("the meter's watch ended without a word; what it had kept stands, start it again")]
    Ended,
}

/// What a meter tells whoever runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It knows the cluster and goes on from there.
    Began {
        /// The cluster's UID.
        cluster: String,
        /// When it was last watched; `None`: never.
        last: Option<Seconds>,
    },
    /// Facts are in the ledger.
    Kept {
        /// New rows.
        new: u64,
        /// Rows that were there.
        known: u64,
    },
    /// The API server cannot be reached or has forgotten.
    Trouble {
        /// What is the matter, and what is done about it.
        what: String,
    },
    /// Everything of now is in the ledger.
    CaughtUp,
}

/// What a meter is to do.
#[derive(Clone, Debug)]
pub struct Task {
    /// The ledger.
    pub ledger: Place,
    /// End when everything of now is in the ledger.
    pub once: bool,
}

/// Runs until it fails, or is dropped, or is done where it runs once.
///
/// # Errors
/// The cluster refuses, or the ledger is broken: waiting would not mend it. A server that is away is waited for.
pub async fn run(
    client: Client,
    task: &Task,
    clock: Clock,
    tell: impl Fn(Told) + Send + Sync + 'static,
) -> Result<(), MeterError> {
    let tell: Arc<dyn Fn(Told) + Send + Sync> = Arc::new(tell);
    let cluster = cluster(&client).await?;
    let place = task.ledger.clone();
    let ledger = keeper::blocking(move || place.open()).await?;
    let ledger = Arc::new(Mutex::new(ledger));
    let cursors = {
        let (ledger, cluster) = (Arc::clone(&ledger), cluster.clone());
        keeper::blocking(move || keeper::locked(&ledger).cursors(&cluster)).await?
    };
    let last = cursors.iter().map(|cursor| cursor.at).min();
    tell(Told::Began {
        cluster: cluster.clone(),
        last,
    });
    let (heard, hears) = mpsc::channel(64);
    let wiring = watch::Wiring {
        cluster,
        ledger: Arc::clone(&ledger),
        heard,
        clock,
        tell: Arc::clone(&tell),
    };
    let watchers = watch::all(&client, &cursors, task.once, &wiring).await?;
    // The watchers' ends of the channel are all there is, so that it ends with them.
    drop(wiring);
    let once = task.once.then_some(watchers.len());
    let keeper = keeper::keep(hears, ledger, once, tell);
    let mut watchers: Vec<_> = watchers.into_iter().map(Box::pin).collect();
    if watchers.is_empty() {
        return Err(MeterError::Ended);
    }
    tokio::pin!(keeper);
    tokio::select! {
        kept = &mut keeper => kept,
        (ended, _, _) = select_all(watchers.iter_mut()) => Err(ended),
    }
}

/// The UID of a cluster's namespace kube-system, which nobody deletes.
async fn cluster(client: &Client) -> Result<String, MeterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let wrong = |source| MeterError::Cluster {
        source: Box::new(source),
    };
    let namespace = namespaces.get("kube-system").await.map_err(wrong)?;
    namespace.metadata.uid.ok_or(MeterError::Ended)
}

/// The clock of this machine.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let now = jiff::Timestamp::now().as_second();
        Seconds::new(now).unwrap_or_default()
    })
}

/// Opens a ledger for whoever reads what a meter has written.
///
/// # Errors
/// It cannot be opened.
pub fn open(place: &Place) -> Result<Ledger, LedgerError> {
    place.open()
}
