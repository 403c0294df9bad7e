//! The fake GPU as a pure state machine: model data, MIG engine, health, events.
//! Not here: files, clocks, processes, Kubernetes. Time comes in as [`Now`], open clients as [`Clients`].
//! Data comes from the YAML catalogue (feature `catalog`) and goes out as [`Machine`], which `gpu-store` keeps.
#![forbid(unsafe_code)]

mod board;
pub mod caps;
#[cfg(feature = "catalog")]
pub mod catalog;
mod chosen;
mod clients;
mod clock;
mod code;
mod consequences;
pub mod driver;
mod engine;
mod events;
mod fault;
mod geometry;
mod health;
mod ids;
mod load;
mod machine;
pub mod naming;
mod node_spec;
mod op;
mod power;
mod query;
mod rate;
mod refusal;
mod schedule;
mod span;
mod spec;
mod telemetry;
mod throttle;
mod units;
mod uuid;

pub use board::{AddressingMode, Board, Draw, Idle, SupportedClocks};
#[cfg(feature = "catalog")]
pub use catalog::{Catalog, CatalogError, Confidence, FactRow, Model, UnknownModel};
pub use chosen::{AppClocks, Choice, Chosen, ClockRange};
pub use clients::{Client, Clients, Scope};
pub use clock::Clock;
pub use code::Code;
pub use engine::{ClockChange, CutError, Obstacle};
pub use events::{Event, EventKind, Events};
#[cfg(feature = "catalog")]
pub use fault::file::{CardFault, PlanFile, Problem};
pub use fault::{Action, Call, FaultPlan, Glob, ProcessIs, Rule, Then, When, Window};
pub use health::{
    EccCounts, EccSite, Health, RecoveryAction, RowRemaps, SramCheck, SramCounts, SramSource,
};
pub use ids::{
    Birth, CiId, GiId, GpuIndex, GpuUuid, MachineId, MigUuid, Minor, PciAddress, Pid, ProfileId,
};
pub use load::{
    CurveError, Flow, Load, LoadId, Moved, NewLoad, Point, Process, ProcessKind, Shape, ShapeError,
    Traffic,
};
pub use machine::{
    ComputeInstance, ComputeMode, Gpu, GpuInstance, Machine, MigMode, Options, Quirks, Timeslice,
};
pub use node_spec::{NodeSpec, NodeSpecError};
pub use op::{Injection, Op, Outcome};
pub use power::Energy;
pub use query::{BadProfileIndex, MigDevice};
pub use rate::{BadRate, Rate};
pub use refusal::Refusal;
pub use schedule::Scheduled;
pub use span::{BadMicros, Micros};
pub use spec::{
    Architecture, Brand, CiProfile, CiProfileIndex, Clocks, ComputeCapability, Engines, GiProfile,
    GiProfileIndex, Inforom, MigSpec, MigToggle, NvLink, Pcie, Placement, PowerLimits, Spec,
    StandIn, Thermal,
};
pub use telemetry::{Telemetry, Use};
pub use throttle::Throttle;
pub use units::{Celsius, MHz, MiB, MilliJoules, MilliWatts, Now, Percent, Slices};
