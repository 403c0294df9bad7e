//! The library as a driver of a given version has it: without the names that came with later drivers.
//! Not which names those are (`gpu_model::driver`). One library is built; its copy in a driver root loses them here.
//! In: the bytes of a library. Out: the same, with a shorter dynamic symbol table; nothing moves, no code changes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use gpu_model::driver::Driver;
use object::elf::{self, FileHeader64, SectionHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, Rela as _, SectionHeader as _};
use object::{LittleEndian, SymbolIndex};

/// `sizeof(Elf64_Sym)` and of an entry of `.gnu.version`.
const SYMBOL: usize = 24;
const VERSION: usize = 2;
/// `sizeof(Elf64_Shdr)` and the offset of `sh_size` in it.
const SECTION_HEADER: usize = 64;
const SH_SIZE: usize = 32;

/// Why a library can not be cut to a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Uncut {
    /// It is no 64-bit little-endian ELF file.
    #[error("it is no ELF file of a 64-bit little-endian machine")]
    NotElf,
    /// A table that the cut needs is not there, or not as it must be.
    #[error(
        "its {0} is missing or not as it must be: link it with --hash-style=gnu and leave its section headers in"
    )]
    Table(&'static str),
    /// Something in it refers to one of its own functions by name.
    #[error(
        "a relocation refers to one of its own functions by name, so the names can not be moved"
    )]
    Referred,
}

/// The library without the functions that came after the driver of this version.
///
/// # Errors
/// [`Uncut`], for a library that was not linked as ours is.
pub fn cut<'l>(library: &'l [u8], driver_version: &str) -> Result<Cow<'l, [u8]>, Uncut> {
    let gone: BTreeSet<&str> = Driver::of(driver_version).lacks().collect();
    if gone.is_empty() {
        return Ok(Cow::Borrowed(library));
    }
    let tables = Tables::find(library)?;
    let mut out = library.to_vec();
    tables.rewrite(library, &mut out, |name| gone.contains(name))?;
    Ok(Cow::Owned(out))
}

/// Where the tables lie in the file.
struct Tables {
    symbols: Range<usize>,
    /// The header of the section of symbols, which says how many there are.
    symbols_header: usize,
    strings: Range<usize>,
    versions: Range<usize>,
    hash: Hash,
}

/// The parts of `.gnu.hash`.
struct Hash {
    /// The number of the first symbol that can be looked up.
    first: usize,
    buckets: Range<usize>,
    chains: Range<usize>,
}

impl Tables {
    fn find(library: &[u8]) -> Result<Self, Uncut> {
        let endian = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(library).map_err(|_| Uncut::NotElf)?;
        let sections = header
            .sections(endian, library)
            .map_err(|_| Uncut::NotElf)?;
        let place = |section: &SectionHeader64<LittleEndian>| {
            let start = usize::try_from(section.sh_offset(endian)).ok()?;
            let end = start.checked_add(usize::try_from(section.sh_size(endian)).ok()?)?;
            (end <= library.len()).then_some(start..end)
        };
        let of_kind = |kind, name| {
            let found = sections
                .enumerate()
                .find(|(_, section)| section.sh_type(endian) == kind);
            let (index, section) = found.ok_or(Uncut::Table(name))?;
            Ok((index.0, section, place(section).ok_or(Uncut::Table(name))?))
        };
        let (index, section, symbols) = of_kind(elf::SHT_DYNSYM, ".dynsym")?;
        let strings = sections.section(section.link(endian)).ok().and_then(place);
        let headers = usize::try_from(header.e_shoff.get(endian)).map_err(|_| Uncut::NotElf)?;
        let hash = Hash::find(library, of_kind(elf::SHT_GNU_HASH, ".gnu.hash")?.2)?;

        // A second table of hashes would still lead to the names.
        let dynamic = sections.dynamic(endian, library).ok().flatten();
        let (entries, _) = dynamic.ok_or(Uncut::Table(".dynamic"))?;
        if entries
            .iter()
            .any(|entry| entry.tag(endian) == elf::DT_HASH)
        {
            return Err(Uncut::Table(".hash"));
        }
        // What is imported comes before what can be looked up, and keeps its number.
        for section in sections.iter() {
            let found = section
                .rela(endian, library)
                .map_err(|_| Uncut::Table("relocations"))?;
            let Some((relocations, _)) = found else {
                continue;
            };
            let symbol = |index: Option<SymbolIndex>| index.map_or(0, |index| index.0);
            if relocations
                .iter()
                .any(|rela| symbol(rela.symbol(endian, false)) >= hash.first)
            {
                return Err(Uncut::Referred);
            }
        }
        Ok(Self {
            symbols,
            symbols_header: headers + index * SECTION_HEADER,
            strings: strings.ok_or(Uncut::Table(".dynstr"))?,
            versions: of_kind(elf::SHT_GNU_VERSYM, ".gnu.version")?.2,
            hash,
        })
    }

    /// Closes the ranks of the symbols and of their versions, and writes buckets and chains anew. The symbols keep their order, so
    /// each bucket stays together; the filter before the buckets still lets all pass that are left.
    fn rewrite(
        &self,
        old: &[u8],
        out: &mut [u8],
        gone: impl Fn(&str) -> bool,
    ) -> Result<(), Uncut> {
        let count = self.symbols.len() / SYMBOL;
        if self.versions.len() < count * VERSION
            || self.hash.chains.len() / 4 + self.hash.first < count
        {
            return Err(Uncut::Table(".gnu.version"));
        }
        let symbol = |index: usize| {
            self.symbols.start + index * SYMBOL..self.symbols.start + (index + 1) * SYMBOL
        };
        let version = |index: usize| {
            self.versions.start + index * VERSION..self.versions.start + (index + 1) * VERSION
        };
        let mut kept = 0;
        let mut hashes = Vec::new();
        for index in 0..count {
            let at = word(old, symbol(index).start).ok_or(Uncut::Table(".dynsym"))?;
            let name = self.name(old, at).ok_or(Uncut::Table(".dynstr"))?;
            if index >= self.hash.first {
                if gone(name) {
                    out[self.strings.start + at..][..name.len()].fill(0);
                    continue;
                }
                hashes.push(gnu_hash(name));
            }
            out[symbol(kept)].copy_from_slice(&old[symbol(index)]);
            out[version(kept)].copy_from_slice(&old[version(index)]);
            kept += 1;
        }
        out[symbol(kept).start..self.symbols.end].fill(0);
        out[version(kept).start..self.versions.end].fill(0);
        self.hash.write(out, &hashes)?;
        let size = u64::try_from(kept * SYMBOL).map_err(|_| Uncut::NotElf)?;
        let size_at = self.symbols_header + SH_SIZE;
        let place = out.get_mut(size_at..size_at + 8).ok_or(Uncut::NotElf)?;
        place.copy_from_slice(&size.to_le_bytes());
        Ok(())
    }

    fn name<'l>(&self, library: &'l [u8], at: usize) -> Option<&'l str> {
        let text = library.get(self.strings.clone())?.get(at..)?;
        std::str::from_utf8(text.split(|byte| *byte == 0).next()?).ok()
    }
}

impl Hash {
    fn find(library: &[u8], section: Range<usize>) -> Result<Self, Uncut> {
        let parts = || {
            let [buckets, first, filter] = [0, 4, 8].map(|at| word(library, section.start + at));
            let buckets_at = section.start + 16 + filter? * 8;
            let chains_at = buckets_at + buckets? * 4;
            let sound = buckets? > 0 && chains_at <= section.end;
            sound.then_some(Self {
                first: first?,
                buckets: buckets_at..chains_at,
                chains: chains_at..section.end,
            })
        };
        parts().ok_or(Uncut::Table(".gnu.hash"))
    }

    /// Buckets and chains for symbols of these hashes, of which each bucket's stand together.
    fn write(&self, out: &mut [u8], hashes: &[u32]) -> Result<(), Uncut> {
        let bucket = |hash: &u32| *hash as usize % (self.buckets.len() / 4);
        out[self.buckets.start..self.chains.end].fill(0);
        let mut before = None;
        for (position, hash) in hashes.iter().enumerate() {
            let own = bucket(hash);
            if before != Some(own) {
                let at = self.buckets.start + own * 4;
                if word(out, at) != Some(0) {
                    return Err(Uncut::Table(".gnu.hash"));
                }
                let number = u32::try_from(self.first + position).map_err(|_| Uncut::NotElf)?;
                out[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            before = Some(own);
            // The lowest bit says that the bucket ends here.
            let last = hashes.get(position + 1).map(bucket) != Some(own);
            let link = hash & !1 | u32::from(last);
            out[self.chains.start + position * 4..][..4].copy_from_slice(&link.to_le_bytes());
        }
        Ok(())
    }
}

/// The hash of a name in `.gnu.hash`.
fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(byte.into())
    })
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    usize::try_from(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_of_the_dynamic_linker() {
        // Written out in the description of the format.
        assert_eq!(gnu_hash(""), 0x0000_1505);
        assert_eq!(gnu_hash("printf"), 0x156b_2bb8);
    }

    #[test]
    fn what_is_no_library_is_refused() {
        assert_eq!(cut(b"no ELF file at all", "535.161.08"), Err(Uncut::NotElf));
        assert_eq!(cut(b"", "535.161.08"), Err(Uncut::NotElf));
        // The newest has everything, so nothing is looked at.
        assert!(matches!(cut(b"anything", "616.1"), Ok(Cow::Borrowed(_))));
    }
}
