//! Handles: what a client holds in an `nvmlDevice_t`, `nvmlGpuInstance_t`, `nvmlComputeInstance_t` or `nvmlEventSet_t`.
//! Not a pointer: a number that names a thing of the shared state, so a handle needs no memory, is the same in every process,
//! survives dlclose and a new init, and dies with the thing it names. Encoded and decoded here, checked against the state in `view`.

/// A GPU or a MIG device (`nvmlDevice_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Device(usize);

/// A GPU instance (`nvmlGpuInstance_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct GpuInstance(usize);

/// A compute instance (`nvmlComputeInstance_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ComputeInstance(usize);

/// An event set (`nvmlEventSet_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct EventSet(usize);

/// A sample of performance metrics (`nvmlGpmSample_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct GpmSample(usize);

/// What a handle names. The stamp tells a thing from a later one in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Gpu { gpu: u8, stamp: u32 },
    GpuInstance { gpu: u8, gi: u8, stamp: u32 },
    ComputeInstance { gpu: u8, gi: u8, ci: u8, stamp: u32 },
    MigDevice { gpu: u8, gi: u8, ci: u8, stamp: u32 },
    EventSet { slot: u16, stamp: u32 },
    GpmSample { slot: u16, stamp: u32 },
}

const _: () = assert!(usize::BITS == 64, "a handle needs 64 bits");

/// The top bits of each handle. No pointer on x86-64 or arm64 looks so (the address would not be canonical), so a stray
/// pointer is never taken for a handle, and Go's collector, which looks at handles as pointers, finds no heap there.
const MAGIC: u64 = 0x5fa;
const STAMP_BITS: u32 = 24;
/// The part of a serial number that a handle carries.
pub(crate) const STAMP_MASK: u32 = (1 << STAMP_BITS) - 1;

const fn pack(kind: u64, gpu: u8, gi: u8, ci: u8, stamp: u32) -> usize {
    (MAGIC << 52
        | kind << 48
        | (gpu as u64) << 40
        | (gi as u64) << 32
        | (ci as u64) << 24
        | (stamp & STAMP_MASK) as u64) as usize
}

/// The named thing behind the bits, if these bits can be a handle of ours at all.
const fn unpack(bits: usize) -> Option<Named> {
    let bits = bits as u64;
    if bits >> 52 != MAGIC {
        return None;
    }
    let (gpu, gi, ci) = ((bits >> 40) as u8, (bits >> 32) as u8, (bits >> 24) as u8);
    let stamp = bits as u32 & STAMP_MASK;
    match bits >> 48 & 0xf {
        1 => Some(Named::Gpu { gpu, stamp }),
        2 => Some(Named::GpuInstance { gpu, gi, stamp }),
        3 => Some(Named::ComputeInstance { gpu, gi, ci, stamp }),
        4 => Some(Named::MigDevice { gpu, gi, ci, stamp }),
        5 => Some(Named::EventSet {
            slot: (gpu as u16) << 8 | gi as u16,
            stamp,
        }),
        6 => Some(Named::GpmSample {
            slot: (gpu as u16) << 8 | gi as u16,
            stamp,
        }),
        _ => None,
    }
}

impl Device {
    pub(crate) const fn gpu(gpu: u8, stamp: u32) -> Self {
        Self(pack(1, gpu, 0, 0, stamp))
    }

    pub(crate) const fn mig(gpu: u8, gi: u8, ci: u8, stamp: u32) -> Self {
        Self(pack(4, gpu, gi, ci, stamp))
    }

    pub(crate) const fn named(self) -> Option<Named> {
        unpack(self.0)
    }
}

impl GpuInstance {
    pub(crate) const fn new(gpu: u8, gi: u8, stamp: u32) -> Self {
        Self(pack(2, gpu, gi, 0, stamp))
    }

    pub(crate) const fn named(self) -> Option<Named> {
        unpack(self.0)
    }
}

impl ComputeInstance {
    pub(crate) const fn new(gpu: u8, gi: u8, ci: u8, stamp: u32) -> Self {
        Self(pack(3, gpu, gi, ci, stamp))
    }

    pub(crate) const fn named(self) -> Option<Named> {
        unpack(self.0)
    }
}

impl EventSet {
    pub(crate) const fn new(slot: u16, stamp: u32) -> Self {
        Self(pack(5, (slot >> 8) as u8, slot as u8, 0, stamp))
    }

    pub(crate) const fn named(self) -> Option<Named> {
        unpack(self.0)
    }
}

impl GpmSample {
    pub(crate) const fn new(slot: u16, stamp: u32) -> Self {
        Self(pack(6, (slot >> 8) as u8, slot as u8, 0, stamp))
    }

    pub(crate) const fn named(self) -> Option<Named> {
        unpack(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let stamp = 0x00ab_cdef;
        assert_eq!(
            Device::gpu(7, stamp).named(),
            Some(Named::Gpu { gpu: 7, stamp })
        );
        assert_eq!(
            Device::mig(7, 13, 2, stamp).named(),
            Some(Named::MigDevice {
                gpu: 7,
                gi: 13,
                ci: 2,
                stamp
            })
        );
        assert_eq!(
            GpuInstance::new(1, 9, stamp).named(),
            Some(Named::GpuInstance {
                gpu: 1,
                gi: 9,
                stamp
            })
        );
        assert_eq!(
            ComputeInstance::new(1, 9, 6, stamp).named(),
            Some(Named::ComputeInstance {
                gpu: 1,
                gi: 9,
                ci: 6,
                stamp
            })
        );
        assert_eq!(
            EventSet::new(1063, stamp).named(),
            Some(Named::EventSet { slot: 1063, stamp })
        );
        // A long serial wraps and does not spill over the ids.
        assert_eq!(
            GpuInstance::new(1, 9, u32::MAX).named(),
            Some(Named::GpuInstance {
                gpu: 1,
                gi: 9,
                stamp: STAMP_MASK
            })
        );
    }

    #[test]
    fn no_pointer_is_a_handle() {
        let here = 0u8;
        for bits in [
            0,
            1,
            0xdead_beef,
            &raw const here as usize,
            usize::MAX,
            0x7fff_ffff_ffff_f000,
            0xffff_8000_0000_0000,
        ] {
            assert_eq!(unpack(bits), None, "{bits:#x}");
        }
        assert_eq!(
            unpack((MAGIC << 52 | 15 << 48) as usize),
            None,
            "a kind that does not exist"
        );
    }
}
