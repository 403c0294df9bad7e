//! A digest of all entries that does not hang on their order: the sum of their hashes, hashed with their number.
//! It shows that the inputs of two runs differ; it is no signature.

use sha2::{Digest, Sha256};

use crate::entry::Entry;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digests {
    sum: [u64; 4],
    count: u64,
}

impl Digests {
    pub(super) fn add(&mut self, entry: &Entry) {
        // Texts, numbers and lists only: an entry is always written.
        let bytes = serde_json::to_vec(entry).unwrap_or_default();
        let hash = Sha256::digest(&bytes);
        let mut carry = false;
        for (word, bytes) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
            let other = bytes
                .iter()
                .fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            let (sum, over) = word.overflowing_add(other);
            let (sum, more) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, over || more);
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn hex(&self) -> String {
        let mut hash = Sha256::new();
        for word in self.sum.iter().chain([&self.count]) {
            hash.update(word.to_be_bytes());
        }
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
