//! Structs of memory.

use super::structs;

structs! {
    /// `nvmlMemory_t`, in bytes.
    struct Memory = nvmlMemory_t {
        total: u64,
        free: u64,
        used: u64,
    }

    /// `nvmlMemory_v2_t`, in bytes.
    version 2 struct MemoryV2 = nvmlMemory_v2_t {
        version: u32,
        total: u64,
        reserved: u64,
        free: u64,
        used: u64,
    }

    /// `nvmlBAR1Memory_t`, in bytes.
    struct Bar1Memory = nvmlBAR1Memory_t {
        total = bar1Total: u64,
        free = bar1Free: u64,
        used = bar1Used: u64,
    }
}
