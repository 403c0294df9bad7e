//! The plan of a run: what was read, bound to its steps, and selected. A plan that exists has nothing wrong with it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use oracle::{Gate, Version};
use report::PlannedStep;

use crate::asks::Asks;
use crate::document::{self, Scenario};
use crate::filter::Filter;
use crate::finding::Finding;
use crate::gates::{self, GateSet};
use crate::lint;
use crate::parameters;
use crate::registry::{Args, Registry};
use crate::source::{self, SourceError, SourceFile};
use crate::unplayed;

/// The parameter of steps that names a manifest file.
const MANIFEST: &str = "manifest";
/// What steps say that apply one.
const APPLIED: &str = "is applied";

/// Scenarios to run, in order.
#[derive(Debug)]
pub struct Plan {
    /// The selected scenarios.
    pub scenarios: Vec<PlannedScenario>,
    /// Scenarios that were read but not selected.
    pub unselected: usize,
    /// Public reports that lists beside the scenarios name and no scenario plays.
    pub unplayed: Vec<report::Unplayed>,
}

/// A scenario, each step bound to its definition.
#[derive(Debug, Clone)]
pub struct PlannedScenario {
    /// The scenario.
    pub scenario: Scenario,
    /// Index into the registry and values, for each step.
    pub(crate) bound: Vec<(usize, Args)>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A path that gives nothing.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Source(Vec<SourceError>),
    /// The lint has something to say.
    #[error("{} finding(s) in the feature files", .0.len())]
    Findings(Vec<Finding>),
}

impl Plan {
    /// Reads `paths`, checks all that is there and takes what `filter` takes. The lint looks at every scenario, the
    /// unselected ones included.
    ///
    /// # Errors
    /// Everything that is wrong with paths or files, at once.
    pub fn load(
        registry: &Registry,
        paths: &[PathBuf],
        filter: &Filter,
    ) -> Result<Self, LoadError> {
        let files = source::read(paths).map_err(LoadError::Source)?;
        let unplayed = unplayed::beside(&files).map_err(LoadError::Source)?;
        let plan = Self::of(registry, &files, filter)?;
        Ok(Self { unplayed, ..plan })
    }

    /// Which steps are used: their indices in the registry.
    #[must_use]
    pub fn used(&self) -> BTreeSet<usize> {
        let bound = self.scenarios.iter().flat_map(|it| &it.bound);
        bound.map(|(at, _)| *at).collect()
    }

    /// Manifests that steps apply, scenario by scenario, with the gates that the scenario needs. Those that are only
    /// tried may be wrong on purpose. A path is taken from the folder of the feature.
    #[must_use]
    pub fn manifests(&self, registry: &Registry) -> BTreeSet<(Vec<PathBuf>, Vec<Gate>)> {
        let of_scenario = |it: &PlannedScenario| {
            let folder = &it.scenario.file.folder;
            let applied = it.bound.iter().filter(|(at, _)| {
                let def = registry.steps().get(*at);
                def.is_some_and(|def| def.expression.contains(APPLIED))
            });
            let named = applied.flat_map(|(_, args)| args.named());
            let paths = named
                .filter(|(name, _)| *name == MANIFEST)
                .map(|(_, value)| folder.join(parameters::unquote(value)));
            let tags = &it.scenario.tags;
            let needed = tags
                .iter()
                .filter_map(|tag| gates::named(tag.strip_prefix(gates::NEEDS)?));
            let asks = Asks::of(tags);
            let gates = needed.chain(asks.of_allocation());
            (paths.collect::<Vec<_>>(), gates.collect())
        };
        let all = self.scenarios.iter().map(of_scenario);
        all.filter(|(paths, _)| !paths.is_empty()).collect()
    }

    /// The same from files in memory.
    ///
    /// # Errors
    /// Everything that is wrong with the files, at once.
    pub fn of(
        registry: &Registry,
        files: &[Arc<SourceFile>],
        filter: &Filter,
    ) -> Result<Self, LoadError> {
        let mut findings = Vec::new();
        let mut features = Vec::new();
        for file in files {
            let lines = lint::lines(file, registry);
            if !lines.is_empty() {
                // What the parser makes of such a file says nothing that a person could use.
                findings.extend(lines);
                continue;
            }
            match document::parse(file) {
                Ok(feature) => features.push(feature),
                Err(wrong) => findings.extend(wrong),
            }
        }
        findings.extend(lint::features(&features));
        let mut scenarios = Vec::new();
        let mut unselected = 0;
        let mut told = std::collections::BTreeSet::new();
        for scenario in features.into_iter().flat_map(|feature| feature.scenarios) {
            let mut bound = Vec::new();
            for step in &scenario.steps {
                match lint::bind(&scenario.file, step, registry) {
                    Ok((def, args)) => {
                        let index = registry.steps().iter().position(|it| std::ptr::eq(it, def));
                        bound.extend(index.map(|index| (index, args)));
                    }
                    // A background is in each scenario, an outline in each example: say it once.
                    Err(wrong) => findings.extend(wrong.into_iter().filter(|it| {
                        told.insert((it.file.shown.clone(), it.span, it.message.clone()))
                    })),
                }
            }
            if filter.takes(&scenario) {
                scenarios.push(PlannedScenario { scenario, bound });
            } else {
                unselected += 1;
            }
        }
        if findings.is_empty() {
            Ok(Self {
                scenarios,
                unselected,
                unplayed: Vec::new(),
            })
        } else {
            Err(LoadError::Findings(findings))
        }
    }
}

/// Feature files that can be parsed, each with its path; steps need not be known.
///
/// # Errors
/// Everything that is wrong with paths or lines, at once.
pub fn read_features(
    registry: &Registry,
    paths: &[PathBuf],
) -> Result<Vec<(PathBuf, Arc<SourceFile>)>, LoadError> {
    let files = source::read_with_paths(paths).map_err(LoadError::Source)?;
    let mut findings = Vec::new();
    for (_, file) in &files {
        let lines = lint::lines(file, registry);
        if lines.is_empty() {
            findings.extend(document::parse(file).err().into_iter().flatten());
        } else {
            findings.extend(lines);
        }
    }
    if findings.is_empty() {
        Ok(files)
    } else {
        Err(LoadError::Findings(findings))
    }
}

impl PlannedScenario {
    /// What it asks of its cluster.
    #[must_use]
    pub fn asks(&self) -> Asks {
        Asks::of(&self.scenario.tags)
    }

    /// Why a run with this set of gates on this Kubernetes cannot play it; `None` where it can.
    #[must_use]
    pub fn missing(&self, set: GateSet, version: Version) -> Option<String> {
        let asks = self.asks();
        let needed = gates::missing(&self.scenario.tags, &set.gates_with(version, &asks));
        asks.missing(set, version).or(needed)
    }

    /// The scenario as reports know it.
    #[must_use]
    pub fn for_report(&self) -> report::PlannedScenario {
        let scenario = &self.scenario;
        report::PlannedScenario {
            id: scenario.id.clone(),
            feature: scenario.feature.clone(),
            about: scenario.about.clone(),
            name: scenario.name.clone(),
            file: scenario.file.shown.clone(),
            line: scenario.line,
            tags: scenario.tags.clone(),
            steps: scenario
                .steps
                .iter()
                .map(|step| PlannedStep {
                    keyword: step.keyword.clone(),
                    text: step.text.clone(),
                    block: step.block.as_ref().map(document::Block::text),
                    line: step.line,
                    background: step.background,
                })
                .collect(),
        }
    }
}
