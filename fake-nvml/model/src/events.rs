//! The ring of events that NVML event sets read from.
//! Not here: who has registered for what (each process keeps that for itself).
//! Written by the engine; a reader remembers the last sequence number it saw.
use crate::{
    ids::{CiId, GiId, GpuIndex},
    units::Now,
};
use serde::{Deserialize, Serialize};

/// What happened; [`EventKind::type_bit`] gives the bit of nvml.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A corrected ECC error.
    SingleBitEcc,
    /// An uncorrected ECC error.
    DoubleBitEcc,
    /// The performance state changed.
    PState,
    /// An Xid; `eventData` is its number.
    Xid(u32),
    /// The clocks changed.
    Clock,
    /// The power source changed.
    PowerSource,
    /// MIG mode, a GPU instance or a compute instance changed.
    MigConfig,
    /// The GPU can not be used any more.
    Unavailable,
    /// The recovery action changed.
    Recovery,
}

impl EventKind {
    /// `nvmlEventType*`.
    pub const fn type_bit(self) -> u64 {
        match self {
            Self::SingleBitEcc => 0x1,
            Self::DoubleBitEcc => 0x2,
            Self::PState => 0x4,
            Self::Xid(_) => 0x8,
            Self::Clock => 0x10,
            Self::PowerSource => 0x80,
            Self::MigConfig => 0x100,
            Self::Unavailable => 0x4000,
            Self::Recovery => 0x8000,
        }
    }

    /// `nvmlEventData_t.eventData`: the Xid, or 0.
    pub const fn data(self) -> u64 {
        match self {
            Self::Xid(xid) => xid as u64,
            _ => 0,
        }
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Sequence number, ascending by one over the life of the machine, first is 1.
    pub seq: u64,
    /// When.
    pub at: Now,
    /// On which GPU.
    pub gpu: GpuIndex,
    /// On which GPU instance, if it can be told.
    pub gi: Option<GiId>,
    /// On which compute instance, if it can be told.
    pub ci: Option<CiId>,
    /// What.
    pub kind: EventKind,
}

/// The last events, oldest first, at most [`Events::CAPACITY`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    ring: Vec<Event>,
    last: u64,
}

impl Events {
    /// How many events are kept; older ones are forgotten, as the driver's own queue does.
    pub const CAPACITY: usize = 128;

    /// The sequence number of the newest event, 0 before the first.
    pub const fn last_seq(&self) -> u64 {
        self.last
    }

    /// All events that are still kept, oldest first.
    pub fn all(&self) -> &[Event] {
        &self.ring
    }

    /// The events after `seq`, oldest first.
    pub fn after(&self, seq: u64) -> &[Event] {
        let from = self.ring.partition_point(|event| event.seq <= seq);
        self.ring.get(from..).unwrap_or_default()
    }

    pub(crate) fn push(
        &mut self,
        at: Now,
        gpu: GpuIndex,
        gi: Option<GiId>,
        ci: Option<CiId>,
        kind: EventKind,
    ) -> u64 {
        if self.ring.len() >= Self::CAPACITY {
            self.ring.remove(0);
        }
        self.last += 1;
        self.ring.push(Event {
            seq: self.last,
            at,
            gpu,
            gi,
            ci,
            kind,
        });
        self.last
    }
}
