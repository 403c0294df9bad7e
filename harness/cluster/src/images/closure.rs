//! Which shared objects a program or library needs: this machine's own loader is asked, as `ldd` does.
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, elf};

use super::error::Error;

/// A library or loader with the path under which the loader looks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedObject {
    /// Absolute, as the loader or the program spells it.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Libraries that programs people bring along need although ours do not: all part of the C library.
const USUAL: &[&str] = &["libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"];

/// What several programs and libraries need together, with their loaders, in the order of their paths. An error when one is no ELF
/// file of this machine or a library is missing.
pub(super) fn closure_of_all<'a>(
    clients: impl Iterator<Item = &'a (&'a str, &'a [u8])>,
) -> Result<Vec<SharedObject>, Error> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (name, bytes) in clients {
        let own = interpreter(name, bytes)?;
        let loader = match &own {
            Some(loader) => PathBuf::from(loader),
            None => default_loader(name)?,
        };
        for path in list(name, bytes, &loader)? {
            found.insert(path.clone(), path.into());
        }
        let spelled = loader.to_string_lossy().into_owned();
        found.insert(spelled, loader);
    }
    let beside: Vec<PathBuf> = found
        .keys()
        .filter(|path| path.ends_with("/libc.so.6"))
        .flat_map(|libc| {
            USUAL
                .iter()
                .map(|name| Path::new(libc).with_file_name(name))
        })
        .filter(|path| path.is_file())
        .collect();
    found.extend(
        beside
            .into_iter()
            .map(|path| (path.to_string_lossy().into_owned(), path)),
    );
    found
        .into_iter()
        .map(|(path, source)| {
            let bytes = fs::read(&source).map_err(Error::reading("library", &source))?;
            Ok(SharedObject { path, bytes })
        })
        .collect()
}

/// The loader that a program names; a library names none.
fn interpreter(name: &str, bytes: &[u8]) -> Result<Option<String>, Error> {
    let fail = |detail: String| Error::NotElf {
        name: name.to_owned(),
        detail,
    };
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| fail(error.to_string()))?;
    let endian = file.endian();
    for header in file.elf_program_headers() {
        if header.p_type(endian) == elf::PT_INTERP {
            let text = header
                .data(endian, bytes)
                .map_err(|()| fail("its interpreter lies outside the file".into()))?;
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    Ok(None)
}

/// The loader of the running program: what a library of this machine is loaded by.
fn default_loader(name: &str) -> Result<PathBuf, Error> {
    let own = Path::new("/proc/self/exe");
    let bytes = fs::read(own).map_err(Error::reading("this program", own))?;
    interpreter("this program", &bytes)?
        .map(PathBuf::from)
        .ok_or_else(|| Error::NotElf {
            name: name.to_owned(),
            detail: "it names no loader, and this program is static, so there is none to ask"
                .into(),
        })
}

/// Asks the loader, on a copy of the file.
fn list(name: &str, bytes: &[u8], loader: &Path) -> Result<Vec<String>, Error> {
    let fail = |detail: String| Error::Unresolved {
        name: name.to_owned(),
        loader: loader.into(),
        detail,
    };
    let mut copy = tempfile::NamedTempFile::new()
        .map_err(Error::writing("temporary file", &std::env::temp_dir()))?;
    copy.write_all(bytes)
        .map_err(Error::writing("temporary file", copy.path()))?;
    let output = Command::new(loader)
        .arg("--list")
        .arg(copy.path())
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(fail(format!(
            "{}, {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    parse_list(&text).map_err(|missing| fail(format!("{missing} is not found")))
}

/// The paths in the output of `ld.so --list`, or the name of a library that it did not find.
fn parse_list(text: &str) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_once(" => ").unwrap_or((line, line));
        if rest.starts_with("not found") {
            return Err(name.to_owned());
        }
        let path = rest.split(" (").next().unwrap_or_default();
        // What has no path is the kernel's own linux-vdso.
        if path.starts_with('/') {
            paths.push(path.to_owned());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closure(name: &str, bytes: &[u8]) -> Result<Vec<SharedObject>, Error> {
        closure_of_all([&(name, bytes)].into_iter())
    }

    #[test]
    fn the_loaders_list_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibgcc_s.so.1 => /lib/x/libgcc_s.so.1 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            parse_list(text),
            Ok(vec![
                "/lib/x/libgcc_s.so.1".to_owned(),
                "/lib64/ld-linux-x86-64.so.2".to_owned()
            ])
        );
        assert_eq!(
            parse_list("\tlibnope.so.1 => not found\n"),
            Err("libnope.so.1".to_owned())
        );
        assert_eq!(parse_list("\tstatically linked\n"), Ok(vec![]));
    }

    #[test]
    fn this_program_needs_a_c_library_and_a_loader() {
        let own = fs::read("/proc/self/exe").expect("readable");
        let needed = closure("this test", &own).expect("resolved");
        let paths: Vec<_> = needed.iter().map(|object| object.path.as_str()).collect();
        assert!(
            paths.iter().any(|path| path.ends_with("/libc.so.6")),
            "{paths:?}"
        );
        assert!(
            paths.iter().any(|path| path.contains("ld-linux")),
            "{paths:?}"
        );
        assert!(
            needed
                .iter()
                .all(|object| object.bytes.starts_with(b"\x7fELF"))
        );
    }

    #[test]
    fn what_is_no_elf_file_is_named() {
        let error = closure("readme", b"hello").expect_err("no ELF");
        assert!(
            error
                .to_string()
                .contains("readme is not a program or library"),
            "{error}"
        );
    }
}
