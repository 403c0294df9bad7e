//! What the built library shows to the dynamic linker: names, soname, and what it needs of libc.

mod support;

use std::collections::BTreeSet;

use object::read::elf::{Dyn, ElfFile64, VersionTable};
use object::{Endianness, Object, ObjectSymbol, elf};

const LISTS: [(&str, &str); 4] = [
    ("nvidia-ml-py", include_str!("../data/nvidia-ml-py.txt")),
    (
        "nvml-wrapper-sys",
        include_str!("../data/nvml-wrapper-sys.txt"),
    ),
    ("go-nvml", include_str!("../data/go-nvml.txt")),
    ("nvml.h", include_str!("../data/signatures.tsv")),
];

/// The newest libc that a client's image may have to offer: that of RHEL 9.
const OLDEST_GLIBC: (u32, u32) = (2, 34);

fn names(list: &str) -> BTreeSet<&str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split('\t').next()).collect()
}

struct Library(Vec<u8>);

impl Library {
    fn read() -> Self {
        Self(std::fs::read(support::library()).expect("the library is built with the tests"))
    }

    fn elf(&self) -> ElfFile64<'_, Endianness> {
        ElfFile64::parse(&*self.0).expect("an ELF file")
    }

    fn exports(&self) -> BTreeSet<String> {
        let elf = self.elf();
        let defined = elf
            .dynamic_symbols()
            .filter(|symbol| symbol.is_definition() && symbol.is_global());
        defined
            .map(|symbol| symbol.name().expect("a name").to_owned())
            .collect()
    }

    /// The strings of the dynamic entries of one kind.
    fn dynamic(&self, tag: elf::DynamicTag) -> Vec<String> {
        let elf = self.elf();
        let (endian, sections) = (elf.endian(), elf.elf_section_table());
        let (entries, link) = sections
            .dynamic(endian, &*self.0)
            .expect("readable")
            .expect("a dynamic section");
        let strings = sections.strings(endian, &*self.0, link).expect("strings");
        entries
            .iter()
            .filter(|entry| entry.tag(endian) == tag)
            .map(|entry| {
                let text = strings
                    .get(entry.val32(endian).expect("an offset"))
                    .expect("a string");
                String::from_utf8_lossy(text).into_owned()
            })
            .collect()
    }
}

#[test]
fn exports_are_what_the_header_and_three_bindings_know_and_nothing_else() {
    let library = Library::read();
    let exports = library.exports();
    let union: BTreeSet<String> = LISTS
        .iter()
        .flat_map(|(_, list)| names(list))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = union.difference(&exports).collect();
    let extra: Vec<_> = exports.difference(&union).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    assert!(extra.is_empty(), "exported beyond nvml.h: {extra:?}");
    assert_eq!(exports.len(), 436);
}

#[test]
fn lists_are_whole() {
    let sizes = LISTS.map(|(name, list)| (name, names(list).len()));
    assert_eq!(
        sizes,
        [
            ("nvidia-ml-py", 408),
            ("nvml-wrapper-sys", 396),
            ("go-nvml", 428),
            // 13.5.37, which the bindings are older than.
            ("nvml.h", 436)
        ]
    );
}

#[test]
fn it_is_known_as_libnvidia_ml() {
    assert_eq!(
        Library::read().dynamic(elf::DT_SONAME),
        ["libnvidia-ml.so.1"]
    );
}

#[test]
fn it_needs_libc_and_nothing_else() {
    let needed = Library::read().dynamic(elf::DT_NEEDED);
    let libc = ["libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
    let others: Vec<_> = needed
        .iter()
        .filter(|name| !libc.contains(&name.as_str()))
        .collect();
    assert!(
        others.is_empty(),
        "small images do not have {others:?}; does the compiler have libgcc_eh.a?"
    );
}

#[test]
fn it_needs_no_symbol_newer_than_glibc_2_34() {
    let library = Library::read();
    let elf = library.elf();
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let versions: VersionTable<'_, elf::FileHeader64<Endianness>> = sections
        .versions(endian, &*library.0)
        .expect("readable versions")
        .expect("symbol versions");
    let mut seen = BTreeSet::new();
    for (index, symbol) in elf.elf_dynamic_symbol_table().enumerate() {
        let Ok(Some(version)) = versions.version(versions.version_index(endian, index).into())
        else {
            continue;
        };
        let version = String::from_utf8_lossy(version.name()).into_owned();
        let Some(number) = version.strip_prefix("GLIBC_") else {
            continue;
        };
        let mut parts = number
            .split('.')
            .map(|part| part.parse::<u32>().expect("a number"));
        let number = (parts.next().expect("major"), parts.next().unwrap_or(0));
        let name = elf
            .elf_dynamic_symbol_table()
            .symbol_name(endian, symbol)
            .map(String::from_utf8_lossy);
        assert!(number <= OLDEST_GLIBC, "{name:?} needs {version}");
        seen.insert(number);
    }
    assert!(
        !seen.is_empty(),
        "no version of libc was found: the test reads the wrong table"
    );
}
