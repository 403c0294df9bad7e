//! What `fake-nvml/release.sh` has built needs no symbol of glibc newer than 2.28, and runs. The build takes minutes: it is looked at
//! where it lies (`FAKEGPU_RELEASE`, else target/fakegpu-release), and not run where nobody has made it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader as _};

const NEWEST: (u32, u32) = (2, 28);

/// The versions of the C library's symbols that a program or library asks for.
fn glibc(path: &Path) -> Vec<(u32, u32)> {
    let data = fs::read(path).expect("the file");
    let data = data.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let sections = header.sections(endian, data).expect("sections");
    let mut versions = Vec::new();
    for section in sections.iter() {
        let Some((mut needs, strings)) = section.gnu_verneed(endian, data).expect("versions")
        else {
            continue;
        };
        let strings = sections.strings(endian, data, strings).expect("strings");
        while let Some((_, mut each)) = needs.next().expect("a need") {
            while let Some(version) = each.next().expect("a version") {
                let name = String::from_utf8_lossy(version.name(endian, strings).expect("a name"));
                if let Some(number) = name.strip_prefix("GLIBC_") {
                    let mut parts = number.split('.').map(|n| n.parse().unwrap_or(u32::MAX));
                    versions.push((parts.next().unwrap_or(0), parts.next().unwrap_or(0)));
                }
            }
        }
    }
    versions
}

/// The reader reads: what the tests themselves are linked with asks for versions.
#[test]
fn versions_are_found() {
    let found = glibc(&std::env::current_exe().expect("this program"));
    assert!(found.iter().any(|version| *version >= (2, 2)), "{found:?}");
}

#[test]
fn a_release_needs_no_newer_glibc() {
    let folder = std::env::var_os("FAKEGPU_RELEASE").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_fakegpu"));
        let target = program.ancestors().nth(2).unwrap_or(program);
        target.join("fakegpu-release")
    });
    if !folder.join("libnvidia-ml.so.1").exists() {
        eprintln!(
            "not run: nobody has built a release in {} (fake-nvml/release.sh)",
            folder.display()
        );
        return;
    }
    for name in ["libnvidia-ml.so.1", "nvidia-smi", "nvml-probe", "fakegpu"] {
        let found = glibc(&folder.join(name));
        let newest = found.iter().max().copied().unwrap_or((0, 0));
        assert!(
            newest <= NEWEST,
            "{name} asks for GLIBC_{}.{}",
            newest.0,
            newest.1
        );
        assert!(newest > (2, 0), "{name}: no version found");
    }
    let shown = Command::new(folder.join("fakegpu"))
        .args(["run", "--node", "1xL4", "--", "nvidia-smi", "-L"])
        .output()
        .expect("it starts");
    assert!(
        String::from_utf8_lossy(&shown.stdout).starts_with("GPU 0: NVIDIA L4 (UUID: GPU-"),
        "{shown:?}"
    );
}
