//! The log of calls: a ring of fixed records that all processes of the node write to, without a lock.
//! Not here: whether calls are logged (`gpu_model::Machine::log`), how a line of the log looks (`fakegpu`).
//!
//! A writer takes the next number, marks the record as being written, fills it, and marks it with its number. One that dies in
//! between, or is overtaken by the whole ring, leaves a record that does not fit its checksum: readers tell that it is missing.
use crate::{
    file::Mapped,
    layout::{AT_LOG_NEXT, RECORD, RECORDS, record_at},
};
use gpu_model::{Now, Pid};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A call that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// When it was over, by the machine's clock.
    pub at: Now,
    /// How long it took, in nanoseconds of real time.
    pub took: u64,
    /// Who called, as its own PID namespace counts.
    pub pid: Pid,
    /// The caller's name.
    pub process: &'a str,
    /// The function.
    pub function: &'a str,
    /// Its arguments as text.
    pub arguments: &'a str,
    /// What it gave, as text.
    pub result: &'a str,
    /// `nvmlReturn_t`.
    pub code: u32,
}

/// A call as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its number, ascending by one over all processes, from 1.
    pub number: u64,
    /// When it was over, by the machine's clock.
    pub at: Now,
    /// How long it took, in nanoseconds of real time.
    pub took: u64,
    /// Who called.
    pub pid: Pid,
    /// The caller's name.
    pub process: String,
    /// The function.
    pub function: String,
    /// Its arguments; `…` at the end if they were cut.
    pub arguments: String,
    /// What it gave.
    pub result: String,
    /// `nvmlReturn_t`.
    pub code: u32,
}

/// A part of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The calls, by number.
    pub calls: Vec<Logged>,
    /// How many were overwritten, or never finished, before they could be read.
    pub lost: u64,
    /// The number to go on from.
    pub next: u64,
}

/// Word 0 is the mark, word 1 the checksum; these follow.
const AT: usize = 16;
const TOOK: usize = 24;
const PID_CODE: usize = 32;
const LENGTHS: usize = 40;
const TEXT: usize = 48;
const TEXT_MAX: usize = RECORD - TEXT;
/// Bytes of the result's text that are kept at least, however long the arguments are.
const RESULT_MIN: usize = 96;
/// Numbers after which a record that is not finished counts as lost: its writer died, or sleeps for long.
const PATIENCE: u64 = RECORDS / 4;

/// Puts a call into the log; `false` if the file can not be written.
pub(crate) fn append(mapped: &Mapped, entry: &Entry<'_>) -> bool {
    if !mapped.writable {
        return false;
    }
    let number = numbers(mapped).fetch_add(1, Ordering::Relaxed) + 1;
    let words = words(number, entry);
    let at = record_at(number);
    // Not of any number while it is being filled; a reader that sees one of the words below sees this mark too, or a later one.
    mapped.word(at).store(0, Ordering::Relaxed);
    fence(Ordering::Release);
    for (word, place) in words.iter().zip(1..) {
        mapped
            .word(at + place * 8)
            .store(word.to_le(), Ordering::Relaxed);
    }
    mapped.word(at).store(number.to_le(), Ordering::Release);
    true
}

/// The calls from this number on, at most `most`.
pub(crate) fn since(mapped: &Mapped, from: u64, most: usize) -> Read {
    let end = numbers(mapped).load(Ordering::Acquire) + 1;
    let from = from.max(1).min(end);
    let oldest = end.saturating_sub(RECORDS).max(1);
    let mut read = Read {
        calls: Vec::new(),
        lost: oldest.saturating_sub(from),
        next: from.max(oldest),
    };
    while read.next < end && read.calls.len() < most {
        match record(mapped, read.next) {
            Some(call) => read.calls.push(call),
            // Perhaps it is being written right now: stop before it, unless so many have come after it that it never will be.
            None if end - read.next <= PATIENCE => break,
            None => read.lost += 1,
        }
        read.next += 1;
    }
    read
}

/// The number of the last call.
pub(crate) fn last(mapped: &Mapped) -> u64 {
    numbers(mapped).load(Ordering::Acquire)
}

/// How many records have been begun. The format is little-endian, and so is every machine that a driver of these cards runs on:
/// an addition has no other order of bytes.
fn numbers(mapped: &Mapped) -> &AtomicU64 {
    const { assert!(cfg!(target_endian = "little")) };
    mapped.word(AT_LOG_NEXT)
}

fn record(mapped: &Mapped, number: u64) -> Option<Logged> {
    let at = record_at(number);
    if u64::from_le(mapped.word(at).load(Ordering::Acquire)) != number {
        return None;
    }
    let word = |place: usize| u64::from_le(mapped.word(at + place).load(Ordering::Relaxed));
    let words: Vec<u64> = (1..RECORD / 8).map(|i| word(i * 8)).collect();
    // Orders the loads above before the one below: pairs with the fence in `append`.
    fence(Ordering::Acquire);
    if u64::from_le(mapped.word(at).load(Ordering::Relaxed)) != number {
        return None;
    }
    let (sum, words) = words.split_first()?;
    if *sum != checksum(number, words) {
        return None;
    }
    let get = |place: usize| words.get((place - AT) / 8).copied();
    let (pid_code, lengths) = (get(PID_CODE)?, get(LENGTHS)?);
    let bytes: Vec<u8> = words
        .get((TEXT - AT) / 8..)?
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut rest = bytes.as_slice();
    let mut text = |index: u32| {
        let length = (lengths >> (16 * index)) as u16;
        let (text, after) = rest.split_at_checked(length.into())?;
        rest = after;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    Some(Logged {
        number,
        at: Now(get(AT)?),
        took: get(TOOK)?,
        pid: Pid(pid_code as u32),
        process: text(0)?,
        function: text(1)?,
        arguments: text(2)?,
        result: text(3)?,
        code: (pid_code >> 32) as u32,
    })
}

/// The words of a record after its mark, the checksum first.
fn words(number: u64, entry: &Entry<'_>) -> [u64; RECORD / 8 - 1] {
    let mut bytes = [0u8; TEXT_MAX];
    let mut used = 0;
    let mut put = |text: &str, room: usize| -> u64 {
        let start = used;
        let cut = cut(text, room.min(TEXT_MAX - used));
        for part in [cut.0, cut.1] {
            if let Some(place) = bytes.get_mut(used..used + part.len()) {
                place.copy_from_slice(part.as_bytes());
                used += part.len();
            }
        }
        (used - start) as u64
    };
    let process = put(entry.process, 16);
    let function = put(entry.function, 72);
    let left = TEXT_MAX - (process + function) as usize;
    let arguments = put(entry.arguments, left - RESULT_MIN.min(entry.result.len()));
    let result = put(entry.result, TEXT_MAX);
    let mut words = [0u64; RECORD / 8 - 1];
    let head = [
        0,
        entry.at.0,
        entry.took,
        u64::from(entry.pid.0) | u64::from(entry.code) << 32,
        process | function << 16 | arguments << 32 | result << 48,
    ];
    let body = bytes.chunks_exact(8).map(|chunk| {
        let mut word = [0u8; 8];
        word.copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    for (word, value) in words.iter_mut().zip(head.into_iter().chain(body)) {
        *word = value;
    }
    if let Some((sum, rest)) = words.split_first_mut() {
        *sum = checksum(number, rest);
    }
    words
}

/// As much of a text as fits, and what tells that there was more.
fn cut(text: &str, room: usize) -> (&str, &str) {
    const MORE: &str = "\u{2026}";
    if text.len() <= room {
        return (text, "");
    }
    let Some(mut end) = room.checked_sub(MORE.len()) else {
        return ("", "");
    };
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (text.get(..end).unwrap_or_default(), MORE)
}

fn checksum(number: u64, words: &[u64]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    u64::from(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn entry<'a>(arguments: &'a str, result: &'a str) -> Entry<'a> {
        Entry {
            at: Now(5),
            took: 6,
            pid: Pid(7),
            process: "nvidia-smi",
            function: "nvmlDeviceGetName",
            arguments,
            result,
            code: 999,
        }
    }

    fn mapped(folder: &Path) -> Mapped {
        let path = folder.join("state");
        std::fs::write(&path, Mapped::image(b"state")).expect("a file");
        Mapped::open(&path).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let mapped = mapped(folder.path());
        assert_eq!(
            since(&mapped, 0, 10),
            Read {
                next: 1,
                ..Read::default()
            }
        );
        assert!(append(&mapped, &entry("GPU-1, 96", "\"NVIDIA L4\"")));
        assert!(append(&mapped, &entry("", "")));
        let read = since(&mapped, 1, 10);
        assert_eq!((read.lost, read.next, read.calls.len()), (0, 3, 2));
        let call = &read.calls[0];
        assert_eq!(
            (call.number, call.at, call.took, call.pid, call.code),
            (1, Now(5), 6, Pid(7), 999)
        );
        assert_eq!(
            (call.process.as_str(), call.function.as_str()),
            ("nvidia-smi", "nvmlDeviceGetName")
        );
        assert_eq!(
            (call.arguments.as_str(), call.result.as_str()),
            ("GPU-1, 96", "\"NVIDIA L4\"")
        );
        assert_eq!(since(&mapped, 2, 10).calls.len(), 1);
        assert_eq!(since(&mapped, 1, 1).next, 2);
        assert_eq!(
            since(&mapped, 99, 1).next,
            3,
            "a number that is not there yet is the end"
        );
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let mapped = mapped(folder.path());
        let long = "\u{e4}".repeat(1000);
        assert!(append(&mapped, &entry(&long, &long)));
        assert!(append(&mapped, &entry(&long, "short")));
        let read = since(&mapped, 1, 10);
        for call in &read.calls {
            assert!(call.arguments.ends_with('\u{2026}') && call.arguments.starts_with('\u{e4}'));
            assert!(!call.arguments.contains('\u{fffd}') && !call.result.contains('\u{fffd}'));
        }
        assert!(
            read.calls[0].result.ends_with('\u{2026}')
                && read.calls[0].result.len() >= RESULT_MIN - 4
        );
        assert_eq!(read.calls[1].result, "short");
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mapped = mapped(folder.path());
        for i in 0..RECORDS + 10 {
            assert!(append(&mapped, &entry(&i.to_string(), "")));
        }
        let read = since(&mapped, 1, usize::MAX);
        assert_eq!((read.lost, read.next), (10, RECORDS + 11));
        assert_eq!(read.calls.first().map(|it| it.number), Some(11));
        assert!(
            read.calls
                .iter()
                .all(|it| it.arguments == (it.number - 1).to_string())
        );
    }

    /// A writer that dies after any of its stores leaves no call, and the ones after it are read once it is clear that it is dead.
    #[test]
    fn a_dead_writer_is_a_missing_call() {
        let folder = tempfile::tempdir().expect("a folder");
        let mapped = mapped(folder.path());
        assert!(append(&mapped, &entry("first", "")));
        for stores in 0..RECORD / 8 {
            let before = last(&mapped);
            let number = numbers(&mapped).fetch_add(1, Ordering::Relaxed) + 1;
            let at = record_at(number);
            mapped.word(at).store(0, Ordering::Relaxed);
            for (word, place) in words(number, &entry("torn", ""))
                .iter()
                .zip(1..)
                .take(stores)
            {
                mapped
                    .word(at + place * 8)
                    .store(word.to_le(), Ordering::Relaxed);
            }
            assert!(append(&mapped, &entry("after", "")));
            let read = since(&mapped, before + 1, 10);
            assert_eq!(
                (read.calls.len(), read.next),
                (0, before + 1),
                "after {stores} stores"
            );
            for _ in 0..PATIENCE {
                assert!(append(&mapped, &entry("later", "")));
            }
            let read = since(&mapped, before + 1, 1);
            assert_eq!((read.lost, read.calls[0].arguments.as_str()), (1, "after"));
        }
    }
}
