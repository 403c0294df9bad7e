//! The file `libcuda.so.<driver version>`: a shared library with a name and without a function.
//! Not a CUDA driver: nothing can be computed here, and a program that asks the library for `cuInit` is told that it has none.
//! It is there because NVIDIA's container tools look for this file to find where the driver's libraries lie.

use std::sync::LazyLock;

/// The name that the loader knows it by.
const SONAME: &[u8] = b"libcuda.so.1";

/// The library's bytes.
pub(crate) fn library() -> &'static [u8] {
    static LIBRARY: LazyLock<Vec<u8>> = LazyLock::new(build);
    &LIBRARY
}

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
/// The whole file, the dynamic section, and no executable stack.
const PROGRAM_HEADERS: u64 = 3;
const DYNAMIC: u64 = HEADER + PROGRAM_HEADERS * PROGRAM_HEADER;
const DYNAMIC_ENTRIES: u64 = 7;
const SYMBOLS: u64 = DYNAMIC + DYNAMIC_ENTRIES * 16;
const SYMBOL: u64 = 24;
const HASH: u64 = SYMBOLS + SYMBOL;
const STRINGS: u64 = HASH + 16;
const STRINGS_SIZE: u64 = 1 + SONAME.len() as u64 + 1;
const END: u64 = STRINGS + STRINGS_SIZE;

/// Layout as the System V ABI has it: chapter "Object Files" for the header, "Program Loading and Dynamic Linking" for the rest.
fn build() -> Vec<u8> {
    let mut file = Vec::new();
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());

    // 64 bit, little endian, version 1; a shared object for this machine.
    file.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    half(&mut file, 3);
    half(
        &mut file,
        if cfg!(target_arch = "aarch64") {
            183
        } else {
            62
        },
    );
    word(&mut file, 1);
    for value in [0, HEADER, 0] {
        long(&mut file, value);
    }
    word(&mut file, 0);
    for value in [
        HEADER as u16,
        PROGRAM_HEADER as u16,
        PROGRAM_HEADERS as u16,
        0,
        0,
        0,
    ] {
        half(&mut file, value);
    }

    // PT_LOAD (the loader writes addresses into the dynamic section), PT_DYNAMIC, PT_GNU_STACK: readable and writable.
    for (kind, at, size, align) in [
        (1, 0, END, 0x10000),
        (2, DYNAMIC, DYNAMIC_ENTRIES * 16, 8),
        (0x6474_e551, 0, 0, 16),
    ] {
        word(&mut file, kind);
        word(&mut file, 6);
        for value in [at, at, at, size, size, align] {
            long(&mut file, value);
        }
    }

    // DT_SONAME, DT_HASH, DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_SYMENT, DT_NULL.
    for (tag, value) in [
        (14, 1),
        (4, HASH),
        (6, SYMBOLS),
        (5, STRINGS),
        (10, STRINGS_SIZE),
        (11, SYMBOL),
        (0, 0),
    ] {
        long(&mut file, tag);
        long(&mut file, value);
    }
    // The empty symbol that every table begins with, and a hash table of one empty bucket.
    file.extend([0; SYMBOL as usize]);
    for value in [1, 1, 0, 0] {
        word(&mut file, value);
    }
    file.push(0);
    file.extend(SONAME);
    file.push(0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_lies_where_the_headers_say() {
        let file = library();
        assert_eq!(file.len() as u64, END);
        assert_eq!(&file[STRINGS as usize + 1..][..SONAME.len()], SONAME);
    }
}
