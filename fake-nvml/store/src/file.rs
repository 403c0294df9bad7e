//! The mapping: generation, slots, and the protocol that makes a torn state impossible.
//! Not here: locks (`lock`), what the bytes mean (`store`).
//!
//! Generation `g` lives in slot `g % 2`. A writer (one at a time, under the lock) fills the *other* slot with generation
//! `g + 1` and then stores `g + 1` in the header with release ordering. Killed before that store, the old state stands;
//! after it, the new one. A reader copies the slot of the generation it saw and then looks at the generation again: the
//! slot of `g` is written to only once the header says `g + 1`, so if it still says `g` the copy is whole.
use crate::{error::Error, layout::*};
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

/// The mapped file.
pub(crate) struct Mapped {
    map: MmapRaw,
    pub(crate) file: File,
    pub(crate) writable: bool,
}

/// A copy of one slot.
pub(crate) struct Copied {
    pub(crate) generation: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Why a copy was not whole.
pub(crate) enum Torn {
    /// A writer was faster: try again.
    Moved,
    /// The slot does not fit its own checksum.
    Damaged(String),
}

impl Mapped {
    /// Opens for reading and writing, or for reading only if that is all there is.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let io = |doing| {
            move |source| Error::Io {
                doing,
                path: path.to_owned(),
                source,
            }
        };
        let (file, writable) = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => (file, true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Missing {
                    path: path.to_owned(),
                });
            }
            Err(e) if e.kind() == io::ErrorKind::IsADirectory => {
                return Err(Error::NotOurs {
                    path: path.to_owned(),
                    found: "a folder".to_owned(),
                });
            }
            Err(e) if is_read_only(&e) => (File::open(path).map_err(io("open"))?, false),
            Err(e) => return Err(io("open")(e)),
        };
        check(path, &file)?;
        let options = {
            let mut options = MmapOptions::new();
            options.len(SIZE);
            options
        };
        let map = match writable {
            true => options.map_raw(&file),
            false => options.map_raw_read_only(&file),
        }
        .map_err(io("map"))?;
        // Two areas for the kernel, each smaller than a huge page: it maps a file that lies in memory in huge pages by huge pages, and
        // all of it would count as memory of a reader that touches a few kilobytes. Should it refuse, nothing else is different.
        let _ = map.advise_range(Advice::Random, LOG, SIZE - LOG);
        Ok(Self {
            map,
            file,
            writable,
        })
    }

    /// The bytes of a new file that holds one state as generation 1.
    pub(crate) fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0u8; SIZE];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = image.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        put(AT_MAGIC, &MAGIC);
        put(AT_FORMAT, &u64::from(FORMAT).to_le_bytes());
        put(AT_SLOT_SIZE, &(SLOT as u64).to_le_bytes());
        put(AT_GENERATION, &1u64.to_le_bytes());
        let slot = slot_at(1);
        put(slot + SLOT_GENERATION, &1u64.to_le_bytes());
        put(slot + SLOT_LENGTH, &(payload.len() as u64).to_le_bytes());
        put(
            slot + SLOT_CHECKSUM,
            &u64::from(crc32fast::hash(payload)).to_le_bytes(),
        );
        put(slot + SLOT_PAYLOAD, payload);
        image
    }

    /// The generation that stands: one atomic load.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        u64::from_le(self.word(AT_GENERATION).load(Ordering::Acquire))
    }

    /// The half of the generation that changes, for `futex`.
    pub(crate) fn generation_low(&self) -> &AtomicU32 {
        // SAFETY: AT_GENERATION is a multiple of 8 within the mapping, which is SIZE bytes, page-aligned, and lives as
        // long as `self`. The format is little-endian, so the first four bytes are the low half. Every access to them,
        // here and in other processes, is atomic; the kernel reads the word itself.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(AT_GENERATION).cast()) }
    }

    /// How many turns writers have had.
    pub(crate) fn turns(&self) -> u64 {
        u64::from_le(self.word(AT_TURNS).load(Ordering::Relaxed))
    }

    /// Notes a writer's turn. The caller holds the writers' lock, by which alone this word is written.
    pub(crate) fn note_turn(&self) {
        let turns = self.turns().wrapping_add(1);
        self.word(AT_TURNS).store(turns.to_le(), Ordering::Relaxed);
    }

    /// Copies the state that stands.
    pub(crate) fn copy(&self) -> Result<Copied, Torn> {
        let generation = self.generation();
        let slot = slot_at(generation);
        let length = self.word(slot + SLOT_LENGTH).load(Ordering::Relaxed);
        let checksum = self.word(slot + SLOT_CHECKSUM).load(Ordering::Relaxed);
        let written = self.word(slot + SLOT_GENERATION).load(Ordering::Relaxed);
        let length = usize::try_from(u64::from_le(length)).unwrap_or(usize::MAX);
        let bytes = if length <= CAPACITY {
            self.load(slot + SLOT_PAYLOAD, length)
        } else {
            Vec::new()
        };
        // Orders the loads above before the load below; pairs with the fence in `commit`.
        fence(Ordering::Acquire);
        if u64::from_le(self.word(AT_GENERATION).load(Ordering::Relaxed)) != generation {
            return Err(Torn::Moved);
        }
        if length > CAPACITY {
            return Err(Torn::Damaged(format!("a length of {length} bytes")));
        }
        if u64::from_le(written) != generation {
            return Err(Torn::Damaged(format!(
                "generation {generation} points to a slot of generation {}",
                u64::from_le(written)
            )));
        }
        if u64::from_le(checksum) != u64::from(crc32fast::hash(&bytes)) {
            return Err(Torn::Damaged("the checksum does not fit".to_owned()));
        }
        Ok(Copied { generation, bytes })
    }

    /// Makes `payload` the state that stands. The caller holds the writers' lock and has checked the length.
    pub(crate) fn commit(&self, payload: &[u8]) -> u64 {
        let generation = self.generation() + 1;
        // A reader that sees any of the stores below and then fences must also see the generation before this one.
        fence(Ordering::Release);
        for (at, word) in fill(generation, payload) {
            self.word(at).store(word, Ordering::Relaxed);
        }
        self.word(AT_GENERATION)
            .store(generation.to_le(), Ordering::Release);
        generation
    }

    fn load(&self, at: usize, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length.next_multiple_of(8));
        for i in 0..length.div_ceil(8) {
            bytes.extend_from_slice(&self.word(at + i * 8).load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    #[inline]
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(8) && at + 8 <= SIZE);
        // SAFETY: every caller passes an offset of `layout`, a multiple of 8 and at most SIZE - 8; the mapping is SIZE
        // bytes, page-aligned, and lives as long as `self`. All accesses to its words, in this and in other processes,
        // are atomic, so there is no data race. On a read-only mapping only loads happen: `commit` and `note_turn` are
        // reached only through a description opened for writing, `log::append` and `counters::count` look at `writable`.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }
}

/// The stores that fill the slot of a generation: (offset, word as it lies in the file).
fn fill(generation: u64, payload: &[u8]) -> impl Iterator<Item = (usize, u64)> + '_ {
    let slot = slot_at(generation);
    let checksum = u64::from(crc32fast::hash(payload));
    let head = [
        (slot + SLOT_GENERATION, generation.to_le()),
        (slot + SLOT_LENGTH, (payload.len() as u64).to_le()),
        (slot + SLOT_CHECKSUM, checksum.to_le()),
    ];
    let body = payload.chunks(8).zip(0..).map(move |(chunk, i)| {
        let mut word = [0u8; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        (slot + SLOT_PAYLOAD + i * 8, u64::from_ne_bytes(word))
    });
    head.into_iter().chain(body)
}

/// Whether an error means that the file can be read at best.
pub(crate) fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Checks that a file is a state file of ours, whole, and of this version.
fn check(path: &Path, file: &File) -> Result<(), Error> {
    let io = |source| Error::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    };
    let meta = file.metadata().map_err(io)?;
    let not_ours = |found: &str| Error::NotOurs {
        path: path.to_owned(),
        found: found.to_owned(),
    };
    if !meta.is_file() {
        return Err(not_ours("not a regular file"));
    }
    let mut header = [0u8; 24];
    let mut have = 0;
    while let Some(rest) = header.get_mut(have..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, have as u64).map_err(io)? {
            0 => break,
            n => have += n,
        }
    }
    let expected = SIZE as u64;
    let found = meta.len();
    if have == 0 {
        return Err(not_ours("it is empty"));
    }
    if have < MAGIC.len() && MAGIC.starts_with(&header[..have]) {
        return Err(Error::WrongSize {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    if header[..MAGIC.len()] != MAGIC {
        return Err(not_ours("it does not begin as one"));
    }
    if have < header.len() {
        return Err(Error::WrongSize {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    let word = |at: usize| {
        header
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    };
    let format = u32::try_from(word(AT_FORMAT)).unwrap_or(u32::MAX);
    if format != FORMAT || word(AT_SLOT_SIZE) != SLOT as u64 {
        return Err(Error::OtherVersion {
            path: path.to_owned(),
            found: format,
            expected: FORMAT,
        });
    }
    if found != expected {
        return Err(Error::WrongSize {
            path: path.to_owned(),
            found,
            expected,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that dies after any of its stores leaves the old state, after the last one the new.
    #[test]
    fn dying_after_any_store_leaves_a_whole_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        std::fs::write(&path, Mapped::image(b"generation one")).expect("a file");
        let mapped = Mapped::open(&path).unwrap_or_else(|e| panic!("{e}"));
        let mut stands = b"generation one".to_vec();
        for generation in 2..8u64 {
            // Shorter and longer ones in turn, over what the slot held before.
            let length = 1000 - 130 * usize::try_from(generation).expect("small");
            let next: Vec<u8> = (0..length)
                .map(|i| (i as u8).wrapping_mul(generation as u8))
                .collect();
            assert_eq!(whole(&mapped), (generation - 1, stands.clone()));
            for (at, word) in fill(generation, &next) {
                mapped.word(at).store(word, Ordering::Relaxed);
                assert_eq!(
                    whole(&mapped),
                    (generation - 1, stands.clone()),
                    "after the store at {at}"
                );
            }
            // Whoever comes next begins anew, whatever lies in the slot.
            assert_eq!(mapped.commit(&next), generation);
            stands = next;
            assert_eq!(whole(&mapped), (generation, stands.clone()));
        }
    }

    fn whole(mapped: &Mapped) -> (u64, Vec<u8>) {
        match mapped.copy() {
            Ok(copied) => (copied.generation, copied.bytes),
            Err(Torn::Moved) => panic!("nobody else writes"),
            Err(Torn::Damaged(what)) => panic!("{what}"),
        }
    }
}
