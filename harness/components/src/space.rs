//! Room on disks.
//! Not a promise: a disk can fill up later, which `subprocess` then finds in a build's last words.
//! Figures come from the file system; they go into errors.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Free MiB for this user where the folder is or would be made.
pub(crate) fn free_mib(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|path| path.exists())?;
    let stat = nix::sys::statvfs::statvfs(existing).ok()?;
    // Both are c_ulong, whose width depends on the target.
    #[allow(clippy::useless_conversion)]
    let bytes = u64::from(stat.blocks_available()).saturating_mul(u64::from(stat.fragment_size()));
    Some(bytes >> 20)
}

/// Fails when less than `need_mib` are free. A file system that does not say is taken as roomy.
pub(crate) fn demand(
    what: &str,
    place: &Path,
    need_mib: u64,
    variable: &'static str,
) -> Result<()> {
    match free_mib(place) {
        Some(free_mib) if free_mib < need_mib => Err(Error::DiskLow {
            what: what.to_owned(),
            place: place.to_owned(),
            need_mib,
            free_mib,
            variable,
        }),
        _ => Ok(()),
    }
}

/// `12 MiB in /a, 3 MiB in /b`.
pub(crate) fn describe(places: &[PathBuf]) -> String {
    let each: Vec<String> = places
        .iter()
        .filter_map(|place| {
            free_mib(place).map(|free| format!("{free} MiB in {}", place.display()))
        })
        .collect();
    each.join(", ")
}
