//! What the doctor says.

use serde::Serialize;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Version, served APIs, feature gates.
    Apis,
    /// The driver or the device plugin of each node.
    Nodes,
    /// Taints of nodes, and who lands there.
    Access,
    /// Pools of devices, whole and without contradictions.
    Pools,
    /// The order in which devices are published.
    Order,
    /// Device classes.
    Classes,
    /// Claims that wait, claims that nobody uses.
    Claims,
    /// Quotas.
    Quota,
    /// GPU pools of Cluster API.
    Machines,
    /// The meter.
    Meter,
}

impl Check {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apis => "APIs and gates",
            Self::Nodes => "drivers of the nodes",
            Self::Access => "taints and who lands there",
            Self::Pools => "pools",
            Self::Order => "published order",
            Self::Classes => "classes",
            Self::Claims => "claims",
            Self::Quota => "quota",
            Self::Machines => "machine pools",
            Self::Meter => "meter",
        }
    }
}

/// How bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Worth knowing.
    Note,
    /// It works, and will hurt.
    Warning,
    /// Something does not work, or two are given the same.
    Problem,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad.
    pub level: Level,
    /// The object: `node gpu-3`, `DeviceClass mig.nvidia.com`.
    pub about: String,
    /// What is wrong.
    pub what: String,
    /// What mends it.
    pub remedy: String,
}

/// One check and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// Which.
    pub check: Check,
    /// What was looked at, in a few words; where the check was left out, why.
    pub looked_at: String,
    /// The check could not be made.
    pub left_out: bool,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
}

impl Examined {
    pub(crate) fn new(check: Check, looked_at: String, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        Self {
            check,
            looked_at,
            left_out: false,
            findings,
        }
    }

    pub(crate) fn left_out(check: Check, why: &str) -> Self {
        Self {
            check,
            looked_at: why.to_owned(),
            left_out: true,
            findings: Vec::new(),
        }
    }

    /// Whether something does not work.
    #[must_use]
    pub fn has_problems(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.level == Level::Problem)
    }
}

/// The findings of one check, as they come.
#[derive(Default)]
pub(crate) struct Found(pub(crate) Vec<Finding>);

impl Found {
    pub(crate) fn say(
        &mut self,
        level: Level,
        about: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.0.push(Finding {
            level,
            about: about.into(),
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    pub(crate) fn problem(
        &mut self,
        about: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.say(Level::Problem, about, what, remedy);
    }

    pub(crate) fn warning(
        &mut self,
        about: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.say(Level::Warning, about, what, remedy);
    }
}

/// The first few of many, by name.
pub(crate) fn few(names: impl IntoIterator<Item = impl Into<String>>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = names.into_iter().map(Into::into).collect();
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
