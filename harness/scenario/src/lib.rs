//! Scenarios: read, checked, planned and run, with the steps in which they are written.
//! Not here: how a cluster is made (crate `cluster`) and how a run is shown (crate `report`).
//! Data comes from `.feature` files and from a [`Testbed`], and goes out as events.
#![forbid(unsafe_code)]

mod agreement;
mod allocation;
mod applied;
mod arrivals;
mod asks;
mod document;
mod evidence;
mod exit;
mod expectation;
mod filter;
mod finding;
mod format;
mod gang;
mod gates;
mod layouts;
mod lint;
mod live;
mod manifest;
mod manifests;
mod page;
mod parameters;
mod picture;
mod plan;
mod process;
mod queues;
mod recording;
mod registry;
mod runner;
mod sight;
mod smi;
mod source;
mod steps;
mod testbed;
mod unplayed;
mod wait;
mod world;

pub use allocation::{Counters, DeviceView, PublishedPool};
pub use asks::Asks;
pub use document::{Block, Feature, Scenario, Step};
pub use exit::Exit;
pub use filter::{Filter, FilterError};
pub use finding::{Finding, render};
pub use format::format;
pub use gates::GateSet;
pub use live::{GatesFrom, Live, LiveError, Server};
pub use manifests::{LintedManifests, lint_manifests};
pub use page::page;
pub use parameters::{ParameterView, parameters};
pub use plan::{LoadError, Plan, PlannedScenario, read_features};
pub use process::{End, ProcessCluster, Progress, machine};
pub use registry::{Args, BlockWish, Kind, Registry, StepDef, StepFn, StepResult};
pub use runner::{Launch, Options, Runner, Verdict};
pub use source::{SourceError, SourceFile, is_manifest};
pub use steps::registry;
pub use testbed::{
    ApiServerEvent, CardState, ExecOutput, InstanceState, NodeCards, NodeEvent, NodeWish, Testbed,
    TestbedError,
};
pub use world::World;
