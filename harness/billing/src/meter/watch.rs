//! Lists and watches of one kind: where to begin, when to list anew, and since when nobody watched.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::sync::mpsc;

use super::keeper::{blocking, locked};
use super::{Clock, Kind, MeterError, Told};
use crate::fact::{Fact, Uid, What, Why};
use crate::ledger::{Cursor, Ledger, Present};
use crate::observe::{Change, How, ObjectChange, SKEW, observe};
use crate::text::Text;
use crate::time::Seconds;

/// How many objects a list has in a page.
const PAGE: u32 = 500;
/// How long a server that does not answer is left alone, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long a watch that ended in good order is left alone.
const PAUSE: Duration = Duration::from_millis(50);
/// The answer of a server that has forgotten.
const EXPIRED: u16 = 410;

/// What was heard of one kind.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The facts.
    pub facts: Vec<Fact>,
    /// How far that goes.
    pub cursor: Cursor,
    /// Everything of now is among what was heard until here.
    pub caught_up: bool,
}

pub(super) type Tell = Arc<dyn Fn(Told) + Send + Sync>;

/// What every watch of a meter has in common.
#[derive(Clone)]
pub(super) struct Wiring {
    pub(super) cluster: String,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) heard: mpsc::Sender<Vec<Heard>>,
    pub(super) clock: Clock,
    pub(super) tell: Tell,
}

/// The watch of one kind.
struct Watch {
    kind: Kind,
    api: Api<DynamicObject>,
    with: Wiring,
    /// Up to which version everything was heard.
    version: Option<String>,
    /// When the server was last heard of.
    alive: Option<Seconds>,
    /// Of pods: what was last kept. Most of their changes say nothing new.
    pods: HashMap<Uid, What>,
}

/// A watch for each kind that is served. What a ledger does not know yet, or anew all, is listed first, all kinds together.
pub(super) async fn all(
    client: &Client,
    cursors: &[Cursor],
    anew: bool,
    with: &Wiring,
) -> Result<Vec<impl Future<Output = MeterError> + use<>>, MeterError> {
    let mut watches = Vec::new();
    for kind in Kind::ALL {
        let Some(api) = served(client, kind, &with.tell).await? else {
            continue;
        };
        let cursor = cursors.iter().find(|cursor| cursor.kind == kind.name());
        watches.push(Watch {
            kind,
            api,
            with: with.clone(),
            version: cursor
                .filter(|_| !anew)
                .map(|cursor| cursor.version.clone()),
            alive: cursor.map(|cursor| cursor.at),
            pods: HashMap::new(),
        });
    }
    let mut since = BTreeMap::new();
    // All in one transaction: a claim without its pool would be a riddle.
    let mut first_sight = Vec::new();
    for watch in watches.iter_mut().filter(|watch| watch.version.is_none()) {
        let mut first = watch.list("the meter did not run").await?;
        if watch.kind == Kind::ResourceClaim {
            since = earliest(&first.facts);
        }
        backdate(&mut first.facts, &since);
        first_sight.push(first);
    }
    if !first_sight.is_empty() {
        let _ = with.heard.send(first_sight).await;
    }
    Ok(watches.into_iter().map(Watch::follow).collect())
}

/// The kind in a version that is served; `None` where a cluster may do without it.
async fn served(
    client: &Client,
    kind: Kind,
    tell: &Tell,
) -> Result<Option<Api<DynamicObject>>, MeterError> {
    let mut patience = PATIENCE.0;
    'again: loop {
        for version in kind.versions() {
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.api(version));
            match api.list(&ListParams::default().limit(1)).await {
                Ok(_) => return Ok(Some(api)),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    refused("list", kind, &error)?;
                    wait(&mut patience, kind, &error.to_string(), tell).await;
                    continue 'again;
                }
            }
        }
        if kind.is_optional() {
            return Ok(None);
        }
        return Err(MeterError::Refused {
            doing: "list",
            kind,
            why: "it does not serve them; DRA needs Kubernetes 1.34 or newer".to_owned(),
        });
    }
}

/// An error that waiting does not mend.
fn refused(doing: &'static str, kind: Kind, error: &kube::Error) -> Result<(), MeterError> {
    match error {
        kube::Error::Api(status) if [401, 403].contains(&status.code) => Err(MeterError::Refused {
            doing,
            kind,
            why: status.message.clone(),
        }),
        _ => Ok(()),
    }
}

async fn wait(patience: &mut Duration, kind: Kind, why: &str, tell: &Tell) {
    tell(Told::Trouble {
        what: format!("{kind}: {why}; tried again in {} s", patience.as_secs()),
    });
    tokio::time::sleep(*patience).await;
    *patience = (*patience * 2).min(PATIENCE.1);
}

/// Since when claims hold something of each pool.
fn earliest(facts: &[Fact]) -> BTreeMap<(Text, Text), Seconds> {
    let mut since = BTreeMap::new();
    for fact in facts {
        let What::ClaimHolds(claim) = &fact.what else {
            continue;
        };
        for held in &claim.devices {
            let known = since
                .entry((held.driver.clone(), held.pool.clone()))
                .or_insert(fact.at);
            *known = fact.at.min(*known);
        }
    }
    since
}

/// A pool that was there before the meter was so when the first of its claims got a device, whatever its slices say.
fn backdate(facts: &mut [Fact], since: &BTreeMap<(Text, Text), Seconds>) {
    for fact in facts
        .iter_mut()
        .filter(|fact| fact.estimated == Some(Why::FirstSight))
    {
        if let What::SlicePublished(slice) = &fact.what
            && let Some(since) = since.get(&(slice.driver.clone(), slice.pool.clone()))
        {
            fact.at = fact.at.min(*since);
        }
    }
}

impl Watch {
    fn now(&self) -> Seconds {
        let now = (self.with.clock)();
        // A clock that was set back does not make things happen before what is known.
        self.alive.map_or(now, |alive| alive.max(now))
    }

    /// Watches for ever; ends with what cannot be waited for.
    async fn follow(mut self) -> MeterError {
        loop {
            if let Err(error) = self.round().await {
                return error;
            }
        }
    }

    async fn round(&mut self) -> Result<(), MeterError> {
        let Some(version) = self.version.clone() else {
            let heard = self
                .list("the API server no longer knew what had happened since")
                .await?;
            self.say(heard).await;
            return Ok(());
        };
        let mut patience = PATIENCE.0;
        // What happened up to this version happened unseen, if it is long ago that somebody looked.
        let away = self
            .alive
            .filter(|alive| self.now().get() - alive.get() > SKEW);
        let unseen = loop {
            let Some(since) = away else { break None };
            match self.api.list(&ListParams::default().limit(1)).await {
                Ok(list) => {
                    break list
                        .metadata
                        .resource_version
                        .and_then(|it| it.parse::<u64>().ok())
                        .map(|it| (it, since));
                }
                Err(error) => {
                    refused("list", self.kind, &error)?;
                    wait(
                        &mut patience,
                        self.kind,
                        &error.to_string(),
                        &self.with.tell,
                    )
                    .await;
                }
            }
        };
        let watched = self.api.watch(&WatchParams::default(), &version).await;
        let stream = match watched {
            Ok(stream) => stream,
            Err(error) => return self.ended(&error).await,
        };
        let mut stream = Box::pin(stream).ready_chunks(256);
        while let Some(chunk) = stream.next().await {
            if let Err(error) = self.hear(chunk, unseen).await {
                return self.ended(&error).await;
            }
            if self.version.is_none() {
                return Ok(());
            }
        }
        // The server ended it in good order, as it does every few minutes; one that does so at once is not pestered.
        tokio::time::sleep(PAUSE).await;
        self.alive = Some(self.now());
        Ok(())
    }

    /// A watch has ended with an error.
    async fn ended(&mut self, error: &kube::Error) -> Result<(), MeterError> {
        refused("watch", self.kind, error)?;
        if matches!(error, kube::Error::Api(status) if status.code == EXPIRED) {
            self.version = None;
            return Ok(());
        }
        let mut patience = PATIENCE.0;
        wait(
            &mut patience,
            self.kind,
            &error.to_string(),
            &self.with.tell,
        )
        .await;
        Ok(())
    }

    /// Takes some events of a watch.
    async fn hear(
        &mut self,
        chunk: Vec<kube::Result<WatchEvent<DynamicObject>>>,
        unseen: Option<(u64, Seconds)>,
    ) -> Result<(), kube::Error> {
        let received = self.now();
        let mut heard = self.nothing(received);
        let mut failed = None;
        for event in chunk {
            let (object, change) = match event {
                Ok(WatchEvent::Added(object)) => (object, Change::Added),
                Ok(WatchEvent::Modified(object)) => (object, Change::Modified),
                Ok(WatchEvent::Deleted(object)) => (object, Change::Deleted),
                Ok(WatchEvent::Bookmark(bookmark)) => {
                    heard.cursor.version = bookmark.metadata.resource_version;
                    continue;
                }
                Ok(WatchEvent::Error(status)) => {
                    failed = Some(kube::Error::Api(status));
                    break;
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            let version = object.metadata.resource_version.clone().unwrap_or_default();
            let late =
                unseen.filter(|(unseen, _)| version.parse::<u64>().is_ok_and(|it| it <= *unseen));
            let how = late.map_or(How::Watched, |(_, since)| How::Late { since });
            self.take(&mut heard, object, change, received, how);
            if !version.is_empty() {
                heard.cursor.version = version;
            }
        }
        self.version = Some(heard.cursor.version.clone());
        self.alive = Some(received);
        self.say(heard).await;
        failed.map_or(Ok(()), Err)
    }

    fn nothing(&self, at: Seconds) -> Heard {
        Heard {
            facts: Vec::new(),
            cursor: Cursor {
                cluster: self.with.cluster.clone(),
                kind: self.kind.name().to_owned(),
                version: self.version.clone().unwrap_or_default(),
                at,
                came: Vec::new(),
                went: Vec::new(),
            },
            caught_up: false,
        }
    }

    fn take(
        &mut self,
        heard: &mut Heard,
        object: DynamicObject,
        change: Change,
        received: Seconds,
        how: How,
    ) {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let present = Present {
            uid: uid.as_str().into(),
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
        };
        let version = object.metadata.resource_version.clone();
        let facts = match self.kind.object(object) {
            Ok(object) => observe(&ObjectChange {
                object,
                change,
                received,
                how,
            }),
            Err(why) => vec![Fact {
                uid: present.uid.clone(),
                version: version.and_then(|it| it.parse().ok()).unwrap_or_default(),
                at: received,
                estimated: None,
                what: What::Unreadable {
                    mistake: format!(
                        "{} {}/{}: {why}",
                        self.kind.name(),
                        present.namespace,
                        present.name
                    ),
                },
            }],
        };
        match change {
            Change::Deleted => heard.cursor.went.push(present.uid),
            // Pods that have nothing to do with devices are nobody's business.
            Change::Added if !facts.is_empty() || self.kind == Kind::Node => {
                heard.cursor.came.push(present)
            }
            _ => {}
        }
        let news = facts.into_iter().filter(|fact| match &fact.what {
            What::PodIs(_) => {
                self.pods
                    .insert(fact.uid.clone(), fact.what.clone())
                    .as_ref()
                    != Some(&fact.what)
            }
            What::PodGone => {
                self.pods.remove(&fact.uid);
                true
            }
            _ => true,
        });
        heard.facts.extend(news);
    }

    /// Lists everything; where somebody watched before, the gap since then gets a name.
    async fn list(&mut self, because: &str) -> Result<Heard, MeterError> {
        let mut patience = PATIENCE.0;
        let (objects, version) = loop {
            match self.pages().await {
                Ok(listed) => break listed,
                Err(error) => {
                    refused("list", self.kind, &error)?;
                    wait(
                        &mut patience,
                        self.kind,
                        &error.to_string(),
                        &self.with.tell,
                    )
                    .await;
                }
            }
        };
        let received = self.now();
        let mut heard = self.nothing(received);
        heard.cursor.version = version.clone();
        heard.caught_up = true;
        let how = self
            .alive
            .map_or(How::FirstSight, |since| How::Late { since });
        let listed: BTreeSet<Uid> = objects
            .iter()
            .filter_map(|it| it.metadata.uid.as_deref().map(Into::into))
            .collect();
        for object in objects {
            self.take(&mut heard, object, Change::Added, received, how);
        }
        if let Some(since) = self.alive {
            for missed in self.missed(&listed).await? {
                let how = How::Vanished {
                    since,
                    listed: version.parse().unwrap_or_default(),
                };
                self.take(&mut heard, shadow(&missed), Change::Deleted, received, how);
            }
            if !self.kind.is_billed() {
                return Ok(self.listed(heard, version, received));
            }
            heard.facts.push(Fact {
                uid: Uid::from(format!("watch of {} in {}", self.kind, self.with.cluster)),
                version: version.parse().unwrap_or_default(),
                at: since,
                estimated: None,
                what: What::Gap {
                    until: received,
                    because: because.to_owned(),
                },
            });
        }
        Ok(self.listed(heard, version, received))
    }

    /// The watch goes on where a list ends.
    fn listed(&mut self, heard: Heard, version: String, at: Seconds) -> Heard {
        self.version = Some(version);
        self.alive = Some(at);
        heard
    }

    async fn pages(&self) -> Result<(Vec<DynamicObject>, String), kube::Error> {
        let mut objects = Vec::new();
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = self.api.list(&params).await?;
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok((objects, page.metadata.resource_version.unwrap_or_default())),
            }
        }
    }

    /// Objects that were there and are not in a list.
    async fn missed(&self, listed: &BTreeSet<Uid>) -> Result<Vec<Present>, MeterError> {
        let (ledger, cluster, kind) = (
            Arc::clone(&self.with.ledger),
            self.with.cluster.clone(),
            self.kind,
        );
        let present = blocking(move || locked(&ledger).present(&cluster, kind.name())).await?;
        Ok(present
            .into_iter()
            .filter(|it| !listed.contains(&it.uid))
            .collect())
    }

    async fn say(&self, heard: Heard) {
        // Nobody hears any more only where the meter ends.
        let _ = self.with.heard.send(vec![heard]).await;
    }
}

/// An object of which only the names are known.
fn shadow(of: &Present) -> DynamicObject {
    let mut object = DynamicObject {
        types: None,
        metadata: kube::core::ObjectMeta::default(),
        data: serde_json::Value::Object(serde_json::Map::new()),
    };
    object.metadata.uid = Some(of.uid.to_string());
    object.metadata.name = Some(of.name.clone());
    object.metadata.namespace = (!of.namespace.is_empty()).then(|| of.namespace.clone());
    object
}
