//! How identities are made: deterministic, and for UUIDs by the driver's own rule.
//! Not here: parsing and printing (`ids`).
//! In: the node's name, chip id, instance ids. Out: UUIDs, serial numbers.
//!
//! The rule (open kernel modules, gpu_uuid.c): SHA-1 over a name space, "NVIDIA GPU", and length-prefixed fields; the
//! first sixteen bytes with version 5 and the variant bits. A MIG device's UUID adds "SMC", the swizz id and the syspipe.
//! The syspipe of a compute instance is not published by any tool; we take the first compute slice it occupies on the
//! card (unknown on hardware, unique here).
use crate::ids::{Bytes16, GiId, GpuUuid, MachineId, MigUuid};
use sha1::{Digest, Sha1};

const NAME_SPACE: [u8; 16] = [
    0xc8, 0x16, 0xc9, 0xa3, 0x52, 0x24, 0x56, 0xbf, 0x9d, 0x9a, 0xac, 0x7e, 0xa7, 0x03, 0xfb, 0x5b,
];

fn v5(hash: Sha1) -> Bytes16 {
    let digest = hash.finalize();
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(digest) {
        *to = from;
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x50;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Bytes16(bytes)
}

fn gpu_hash(chip: u16, pdi: u64) -> Sha1 {
    let mut hash = Sha1::new();
    hash.update(NAME_SPACE);
    hash.update(b"NVIDIA GPU");
    hash.update([2]);
    hash.update(chip.to_le_bytes());
    hash.update([8]);
    hash.update(pdi.to_le_bytes());
    hash
}

pub(crate) fn gpu(chip: u16, pdi: u64) -> GpuUuid {
    GpuUuid(v5(gpu_hash(chip, pdi)))
}

pub(crate) fn mig(chip: u16, pdi: u64, gi: GiId, syspipe: u32) -> MigUuid {
    let mut hash = gpu_hash(chip, pdi);
    hash.update([11]);
    hash.update(b"SMC");
    hash.update(gi.0.to_le_bytes());
    hash.update(syspipe.to_le_bytes());
    MigUuid(v5(hash))
}

pub(crate) fn machine(node: &str) -> MachineId {
    let mut hash = Sha1::new();
    hash.update(b"fakegpu machine\0");
    hash.update(node.as_bytes());
    MachineId(v5(hash))
}

/// The per-device identifier of the card at `index`.
pub(crate) fn pdi(node: &str, index: u32) -> u64 {
    let mut hash = Sha1::new();
    hash.update(b"fakegpu pdi\0");
    hash.update(index.to_le_bytes());
    hash.update(node.as_bytes());
    hash.finalize()
        .iter()
        .take(8)
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Thirteen digits, as data-centre cards have.
pub(crate) fn serial(pdi: u64) -> String {
    format!("1{:012}", pdi % 1_000_000_000_000)
}
