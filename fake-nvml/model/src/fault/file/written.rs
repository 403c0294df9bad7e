//! The plan file's own types: what serde reads and what the schema is made from.
#![allow(missing_docs)] // the texts below are the schema's descriptions
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// A fault plan of fakegpu.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "fault plan", rename = "FaultPlan")]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Format of this file: 1.
    #[schemars(with = "u32")]
    pub(super) format: Spanned<u32>,
    /// What chance is made from: the same seed, the same calls hit.
    #[serde(default)]
    pub(super) seed: u64,
    /// Faults of calls: for each call the first rule that fires decides.
    #[serde(default)]
    #[schemars(with = "Vec<CallFault>")]
    pub(super) calls: Vec<Spanned<CallFault>>,
    /// Faults of cards.
    #[serde(default)]
    #[schemars(with = "Vec<Card>")]
    pub(super) cards: Vec<Spanned<Card>>,
}

/// A rule about calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallFault {
    /// The function, as nvmlDeviceGetName; `*` stands for any text, `?` for one character.
    #[schemars(with = "String")]
    pub(super) function: Spanned<String>,
    /// Only calls about this device: index, UUID of a GPU or MIG device, or GPU/GI or GPU/GI/CI.
    #[schemars(with = "Option<NumberOrText>")]
    pub(super) device: Option<Spanned<NumberOrText>>,
    /// Only calls by this process: its name (with `*` and `?`) or its id.
    #[schemars(with = "Option<NumberOrText>")]
    pub(super) process: Option<Spanned<NumberOrText>>,
    /// Only this one of the calls, from 1.
    #[schemars(with = "Option<u64>")]
    pub(super) nth: Option<Spanned<u64>>,
    /// Only so many calls.
    #[schemars(with = "Option<u64>")]
    pub(super) first: Option<Spanned<u64>>,
    /// Each n-th call.
    #[schemars(with = "Option<u64>")]
    pub(super) every: Option<Spanned<u64>>,
    /// Each call with this chance, 0 to 1.
    #[schemars(with = "Option<f64>", range(min = 0, max = 1))]
    pub(super) probability: Option<Spanned<f64>>,
    /// Only from this time after arming (10s, 50ms …).
    #[schemars(with = "Option<String>")]
    pub(super) from: Option<Spanned<String>>,
    /// Only until before this time after arming.
    #[schemars(with = "Option<String>")]
    pub(super) until: Option<Spanned<String>>,
    /// The call takes this much longer.
    #[schemars(with = "Option<String>")]
    pub(super) latency: Option<Spanned<String>>,
    /// The call does nothing and returns this: GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST or 15.
    #[schemars(with = "Option<NumberOrText>")]
    pub(super) error: Option<Spanned<NumberOrText>>,
    /// The call does not come back until the plan is disarmed.
    #[serde(default)]
    pub(super) hang: bool,
    /// The process dies inside the call.
    #[serde(default)]
    pub(super) kill: bool,
}

/// A fault of a card; exactly one kind of fault.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Card {
    /// The GPU: index or UUID.
    #[schemars(with = "NumberOrText")]
    pub(super) gpu: Spanned<NumberOrText>,
    /// When, after arming; without it at once.
    #[schemars(with = "Option<String>")]
    pub(super) at: Option<Spanned<String>>,
    /// For how long; without it for good.
    #[serde(rename = "for")]
    #[schemars(with = "Option<String>")]
    pub(super) lasts: Option<Spanned<String>>,
    /// Without what follows from it (Xid, recovery action).
    #[serde(default)]
    pub(super) alone: bool,
    /// An Xid.
    pub(super) xid: Option<Xid>,
    /// ECC errors.
    pub(super) ecc: Option<Ecc>,
    /// Rows remapped, as a new state.
    pub(super) remaps: Option<Remaps>,
    /// What the driver asks for.
    pub(super) recovery: Option<Recovery>,
    /// Falls off the bus.
    #[serde(default)]
    pub(super) lost: bool,
    /// Is not there: with `for` it appears late.
    #[serde(default)]
    pub(super) absent: bool,
    /// Must be reset before it can be used again.
    #[serde(default)]
    pub(super) reset_required: bool,
    /// Why clocks are held down.
    pub(super) throttle: Option<Vec<Reason>>,
    /// An NVLink that goes down, from 0.
    #[schemars(with = "Option<u32>")]
    pub(super) nvlink_down: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum NumberOrText {
    Number(u32),
    Text(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Xid {
    /// Its number.
    pub(super) number: u32,
    /// GPU instance.
    pub(super) gi: Option<u32>,
    /// Compute instance of that GPU instance.
    pub(super) ci: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ecc {
    /// How many were corrected.
    #[serde(default)]
    pub(super) corrected: u64,
    /// How many were not.
    #[serde(default)]
    pub(super) uncorrected: u64,
    /// GPU instance.
    pub(super) gi: Option<u32>,
    /// In a memory of the chip itself; without it in the card's memory.
    pub(super) sram: Option<Sram>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sram {
    /// Which part of the chip.
    pub(super) source: Source,
    /// What found those that were not corrected.
    #[serde(default)]
    pub(super) check: Check,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Source {
    L2,
    Sm,
    Pcie,
    Microcontroller,
    Other,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    Parity,
    #[default]
    SecDed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remaps {
    /// For corrected errors.
    #[serde(default)]
    pub(super) corrected: u32,
    /// For uncorrected errors.
    #[serde(default)]
    pub(super) uncorrected: u32,
    /// One waits for a reset.
    #[serde(default)]
    pub(super) pending: bool,
    /// One has failed.
    #[serde(default)]
    pub(super) failed: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Recovery {
    None,
    GpuReset,
    NodeReboot,
    DrainP2p,
    DrainAndReset,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reason {
    PowerCap,
    HwSlowdown,
    SwThermal,
    HwThermal,
    PowerBrake,
}
