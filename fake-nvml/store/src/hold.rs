//! Open clients: a process says what it has open, and the kernel forgets it when the process is gone.
//! Not here: what an open client forbids (`gpu_model`).
//!
//! A hold is a shared lock on one byte far behind the end of the file. Its position tells what is held and by which
//! process, so that holders can be listed without writing anything: it works on a read-only file too.
use crate::lock::{Kind, Lock, Range};
use gpu_model::{CiId, Client, GiId, GpuIndex, Pid, Scope};
use std::{fs::File, io};

/// Holds something open until it is dropped or the process ends.
///
/// A child made by `fork` without `exec` shares it, as it would share an open device.
#[derive(Debug)]
pub struct Hold {
    _lock: Lock,
    /// What is held.
    pub scope: Scope,
}

impl Hold {
    /// Keeps what is held until the process and all it starts have ended, also when it becomes another program by `exec`.
    ///
    /// # Errors
    /// The system's.
    pub fn keep(self) -> io::Result<()> {
        self._lock.inherit()?;
        std::mem::forget(self);
        Ok(())
    }
}

/// The first of the bytes that stand for holds.
const BASE: i64 = 1 << 40;
/// GPU (8 bits) . GPU instance + 1 (4 bits) . compute instance + 1 (4 bits) . pid (32 bits).
const PID_BITS: u32 = 32;
const ALL: Range = Range {
    start: BASE,
    len: 1 << (PID_BITS + 16),
};

pub(crate) fn take(file: File, scope: Scope, pid: u32) -> Result<Hold, io::Error> {
    let range = Range {
        start: position(scope, pid),
        len: 1,
    };
    match Lock::try_take(file, range, Kind::Shared) {
        Ok(lock) => Ok(Hold { _lock: lock, scope }),
        Err((_, e)) => Err(e),
    }
}

pub(crate) fn list(file: &File) -> io::Result<Vec<Client>> {
    let ranges = crate::lock::taken(file, ALL)?;
    Ok(ranges
        .into_iter()
        .flat_map(|range| (range.start..range.start + range.len.min(4096)).map(client))
        .collect())
}

fn position(scope: Scope, pid: u32) -> i64 {
    let gi = scope.gi.map_or(0, |gi| i64::from(gi.0 & 0xf) + 1) & 0xf;
    let ci = scope.ci.map_or(0, |ci| i64::from(ci.0 & 0xf) + 1) & 0xf;
    let place = (i64::from(scope.gpu.0 & 0xff) << 8) | (gi << 4) | ci;
    BASE + ((place << PID_BITS) | i64::from(pid))
}

fn client(position: i64) -> Client {
    let offset = position - BASE;
    let low = |value: i64, mask: i64| u32::try_from(value & mask).unwrap_or(0);
    let place = offset >> PID_BITS;
    let gi = low(place >> 4, 0xf);
    let ci = low(place, 0xf);
    Client {
        scope: Scope {
            gpu: GpuIndex(low(place >> 8, 0xff)),
            gi: gi.checked_sub(1).map(GiId),
            ci: ci.checked_sub(1).map(CiId),
        },
        pid: Pid(low(offset, 0xffff_ffff)),
    }
}
