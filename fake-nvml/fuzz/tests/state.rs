//! State files: one with random bytes changed, with a checksum that fits or not, is opened or refused with a reason, and never panics.
use gpu_model::{Catalog, Machine, NodeSpec, Options};
use gpu_store::{Error, Store};
use std::{fs, path::Path, time::Duration};

/// Where things lie in a file of generation 1 (see `gpu_store`'s layout).
const AT_SLOT_SIZE: usize = 16;
const SLOTS: usize = 8192;
const SLOT_LENGTH: usize = 8;
const SLOT_CHECKSUM: usize = 16;
const SLOT_PAYLOAD: usize = 64;

fn image(path: &Path) -> Vec<u8> {
    let catalog = Catalog::builtin();
    let cards: NodeSpec = "1xA100-SXM4-40GB,1xL4".parse().expect("cards");
    let options = Options {
        mig: true,
        ..Options::default()
    };
    let machine = Machine::build(&cards.resolve(&catalog).expect("known"), &options);
    drop(Store::create(path, &machine).expect("a state file"));
    fs::read(path).expect("its bytes")
}

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..at + 8].try_into().expect("eight bytes");
    usize::try_from(u64::from_le_bytes(word)).expect("it fits")
}

#[test]
fn state_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = image(&folder.path().join("good"));
    let path = folder.path().join("state");
    let slot = SLOTS + word(&good, AT_SLOT_SIZE);
    let length = word(&good, slot + SLOT_LENGTH);
    let payload = slot + SLOT_PAYLOAD..slot + SLOT_PAYLOAD + length;
    assert!(
        length > 500 && payload.end < good.len(),
        "the layout is another one: mend this target"
    );
    bolero::check!(name = "state")
        .with_test_time(Duration::from_millis(400))
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let (how, edits) = bytes.split_first().unwrap_or((&0, &[]));
            let mut image = good.clone();
            for edit in edits.chunks_exact(4) {
                let at = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
                let at = match how % 4 {
                    // The header, the slot's head, or (mostly) what is decoded.
                    0 => at % 256,
                    1 => slot + at % 96,
                    _ => payload.start + at % length,
                };
                image[at] = match edit[2] % 3 {
                    0 => edit[3],
                    1 => image[at] ^ edit[3],
                    _ => 0xff,
                };
            }
            if how % 4 >= 2 {
                let sum = u64::from(crc32fast::hash(&image[payload.clone()]));
                image[slot + SLOT_CHECKSUM..slot + SLOT_CHECKSUM + 8]
                    .copy_from_slice(&sum.to_le_bytes());
            }
            if how & 0x80 != 0 {
                image.truncate(usize::from(*how & 0x7f) * image.len() / 128);
            }
            fs::write(&path, &image).expect("written");
            match Store::open(&path) {
                Ok(store) => {
                    let machine = &store.read().expect("it has been read").machine;
                    assert!(machine.gpus.len() <= 64 * 1024);
                }
                Err(error) => {
                    let expected = matches!(
                        error,
                        Error::NotOurs { .. }
                            | Error::WrongSize { .. }
                            | Error::OtherVersion { .. }
                            | Error::Damaged { .. }
                            | Error::Busy { .. }
                    );
                    assert!(expected, "{error}");
                    assert!(error.to_string().contains("state"), "{error}");
                }
            }
        });
}
