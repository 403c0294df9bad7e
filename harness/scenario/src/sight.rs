//! The pods of a scenario as an assertion sees them.

use k8s_openapi::api::core::v1::Pod;

use crate::allocation::Held;

/// One look at the cluster.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) namespace: String,
    /// In the order in which the scenario made them.
    pub(crate) pods: Vec<PodSight>,
    /// Devices that any claim of the cluster holds.
    pub(crate) held: Vec<Held>,
}

/// One pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodSight {
    pub(crate) name: String,
    pub(crate) state: State,
}

/// What a pod is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// Its container runs.
    Running,
    /// The scheduler has refused it, with its words.
    Waiting(String),
    /// The scheduler could not try it to the end, with its words; it tries again.
    Failing(String),
    /// On its way: not looked at by the scheduler yet, or bound and starting.
    Coming(String),
    /// Nothing good will come of it.
    Dead(String),
    /// On its way out, or over.
    Ending,
}

/// Reasons from which a container of ours does not come back.
const HOPELESS: [&str; 6] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CrashLoopBackOff",
];

impl PodSight {
    pub(crate) fn of(pod: &Pod) -> Self {
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            state: state(pod),
        }
    }

    pub(crate) fn runs(&self) -> bool {
        self.state == State::Running
    }

    /// Name and state in one line.
    pub(crate) fn line(&self) -> String {
        let state = match &self.state {
            State::Running => "Running".to_owned(),
            State::Waiting(why) => format!("Pending: {why}"),
            State::Failing(what) | State::Coming(what) => what.clone(),
            State::Dead(why) => format!("will not run: {why}"),
            State::Ending => "ending".to_owned(),
        };
        format!("{}: {state}", self.name)
    }
}

fn state(pod: &Pod) -> State {
    let status = pod.status.clone().unwrap_or_default();
    let phase = status.phase.as_deref().unwrap_or("Unknown");
    if pod.metadata.deletion_timestamp.is_some() || phase == "Succeeded" {
        return State::Ending;
    }
    // The first that does not run speaks for all.
    let container = status
        .container_statuses
        .iter()
        .flatten()
        .filter_map(|container| container.state.clone())
        .min_by_key(|state| state.running.is_some());
    let condition = container.unwrap_or_default();
    if phase == "Failed" {
        let ended = condition.terminated.map(|ended| {
            format!(
                "its container ended with {}: {}",
                ended.exit_code,
                ended.message.or(ended.reason).unwrap_or_default()
            )
        });
        return State::Dead(
            ended
                .or(status.message)
                .or(status.reason)
                .unwrap_or_else(|| "it failed".to_owned()),
        );
    }
    if phase == "Running" && condition.running.is_some() {
        return State::Running;
    }
    if let Some(waiting) = condition.waiting {
        let reason = waiting.reason.unwrap_or_default();
        let text = match waiting.message {
            Some(message) => format!("{reason}: {message}"),
            None => reason.clone(),
        };
        return if HOPELESS.contains(&reason.as_str()) {
            State::Dead(text)
        } else {
            State::Coming(text)
        };
    }
    let scheduled = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled");
    match scheduled {
        Some(condition)
            if condition.status == "False"
                && condition.reason.as_deref() == Some("Unschedulable") =>
        {
            State::Waiting(condition.message.clone().unwrap_or_default())
        }
        Some(condition) if condition.reason.as_deref() == Some("SchedulerError") => {
            State::Failing(condition.message.clone().unwrap_or_default())
        }
        Some(condition) if condition.status == "True" => {
            State::Coming("bound to its node, starting".to_owned())
        }
        Some(condition) => State::Coming(
            condition
                .message
                .clone()
                .unwrap_or_else(|| "not scheduled yet".to_owned()),
        ),
        None => State::Coming("not scheduled yet".to_owned()),
    }
}

impl Sight {
    /// Names of the pods that run.
    pub(crate) fn running(&self) -> Vec<&str> {
        self.pods
            .iter()
            .filter(|pod| pod.runs())
            .map(|pod| pod.name.as_str())
            .collect()
    }

    /// Names of the pods that the scheduler has refused, with its words.
    pub(crate) fn waiting(&self) -> Vec<(&str, &str)> {
        self.pods
            .iter()
            .filter_map(|pod| match &pod.state {
                State::Waiting(why) => Some((pod.name.as_str(), why.as_str())),
                _ => None,
            })
            .collect()
    }

    /// A pod of which nothing will come.
    pub(crate) fn dead(&self) -> Option<&PodSight> {
        self.pods
            .iter()
            .find(|pod| matches!(pod.state, State::Dead(_)))
    }

    /// Nobody is on the way, in or out.
    pub(crate) fn settled(&self) -> bool {
        !self.pods.iter().any(|pod| {
            matches!(
                pod.state,
                State::Failing(_) | State::Coming(_) | State::Ending
            )
        })
    }

    /// Devices that `pod` of this scenario holds.
    pub(crate) fn devices_of(&self, pod: &str) -> Vec<&Held> {
        self.held
            .iter()
            .filter(|held| {
                held.namespace == self.namespace && held.pods.iter().any(|name| name == pod)
            })
            .collect()
    }

    /// All pods: those that run in one line, the others in a line each.
    pub(crate) fn lines(&self) -> String {
        let running = self.running();
        let mut lines = Vec::new();
        if !running.is_empty() {
            lines.push(format!("Running: {}", running.join(", ")));
        }
        lines.extend(
            self.pods
                .iter()
                .filter(|pod| !pod.runs())
                .map(PodSight::line),
        );
        if lines.is_empty() {
            "no pod".to_owned()
        } else {
            lines.join("\n")
        }
    }

    /// All pods in one line.
    pub(crate) fn short(&self) -> String {
        let running = self.running().len();
        let rest: Vec<String> = self
            .pods
            .iter()
            .filter(|pod| !pod.runs())
            .map(PodSight::line)
            .collect();
        if rest.is_empty() {
            format!("{running} run")
        } else {
            format!("{running} run; {}", rest.join("; "))
        }
    }
}
