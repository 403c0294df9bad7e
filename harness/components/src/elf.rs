//! Whether a program needs a dynamic linker: one that runs in an image with nothing else in it must not.
//! Not an ELF library: it reads the program header table and nothing more.
//! Bytes come from a file of the system; yes or no goes to the `deb` source.

use std::os::unix::fs::FileExt;
use std::path::Path;

const PT_INTERP: u32 = 3;

/// True for a 64-bit little-endian ELF program without an interpreter.
pub(crate) fn is_static(path: &Path) -> bool {
    read(path).unwrap_or(false)
}

fn read(path: &Path) -> std::io::Result<bool> {
    let file = std::fs::File::open(path)?;
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0)?;
    let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(false);
    }
    let table = header[32..40]
        .iter()
        .rev()
        .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    for index in 0..half(56) {
        let mut kind = [0u8; 4];
        file.read_exact_at(&mut kind, table.saturating_add(index * half(54)))?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_dynamic_and_a_script_is_no_program() {
        assert!(!is_static(&std::env::current_exe().unwrap_or_default()));
        assert!(!is_static(Path::new(file!())));
    }
}
