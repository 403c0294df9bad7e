//! Where what lies in the file.
//! Not here: how it is read and written (`file`, `counters`, `log`).
//! A header page, a page of counters, two slots, the log. All numbers are little-endian words of 64 bits.

/// The format that this program writes. Raise it with every change of this layout or of any type inside
/// [`gpu_model::Machine`]; the test `format_is_raised_when_the_state_changes` tells when.
pub const FORMAT: u32 = 7;

/// The first eight bytes.
pub(crate) const MAGIC: [u8; 8] = *b"FAKEGPU\0";

/// Bytes of the header page.
pub(crate) const HEADER: usize = 4096;
/// Byte offsets within the header.
pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_FORMAT: usize = 8;
pub(crate) const AT_SLOT_SIZE: usize = 16;
/// On a cache line of its own: every reader polls it.
pub(crate) const AT_GENERATION: usize = 64;
/// Counts the turns of writers, changes or not: who waits for the lock sees by it that the others come and go.
pub(crate) const AT_TURNS: usize = 128;
/// Number of the next record of the log, from 1; on a cache line of its own.
pub(crate) const AT_LOG_NEXT: usize = 192;

/// Where the counters of fault rules lie: a word for each rule that a plan can have.
pub(crate) const COUNTERS: usize = HEADER;
const COUNTERS_SIZE: usize = 4096;
const _: () = assert!(gpu_model::FaultPlan::MAX_RULES * 8 <= COUNTERS_SIZE);

const SLOTS: usize = COUNTERS + COUNTERS_SIZE;
/// Bytes of one slot. The whole file is written when it is made, so that no store into the mapping can meet a full disk.
pub(crate) const SLOT: usize = 512 * 1024;
/// Byte offsets within a slot.
pub(crate) const SLOT_GENERATION: usize = 0;
pub(crate) const SLOT_LENGTH: usize = 8;
pub(crate) const SLOT_CHECKSUM: usize = 16;
pub(crate) const SLOT_PAYLOAD: usize = 64;
/// What a slot can hold.
pub(crate) const CAPACITY: usize = SLOT - SLOT_PAYLOAD;

/// Where the log lies.
pub(crate) const LOG: usize = SLOTS + 2 * SLOT;
/// Neither what lies before the log nor the log itself covers a huge page: see `Mapped::open`.
const _: () = assert!(LOG < 2 << 20 && RECORDS as usize * RECORD < 2 << 20);
/// Records that the log keeps.
pub(crate) const RECORDS: u64 = 4096;
/// Bytes of one record.
pub(crate) const RECORD: usize = 384;

/// Bytes of the whole file, always.
pub(crate) const SIZE: usize = LOG + RECORDS as usize * RECORD;

/// The slot that holds a generation: they alternate.
pub(crate) const fn slot_at(generation: u64) -> usize {
    SLOTS
        + if generation.is_multiple_of(2) {
            0
        } else {
            SLOT
        }
}

/// The record of a number.
pub(crate) const fn record_at(number: u64) -> usize {
    LOG + (number % RECORDS) as usize * RECORD
}
