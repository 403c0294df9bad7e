//! The place of this library, and by it that of the state file.
//! Not the rule by which one follows from the other (`gpu_store::beside`), and nothing is opened here.
//! From the loader, which knows where it found the code that runs here.

use core::ffi::{CStr, c_void};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The state file of this process; it need not exist. `None` if there is no hint of any.
pub(crate) fn state_file() -> Option<PathBuf> {
    gpu_store::named().or_else(|| gpu_store::beside(&library()?))
}

/// The real path of this library.
fn library() -> Option<PathBuf> {
    // SAFETY: Dl_info is plain data for which zeros are valid; dladdr fills it or returns 0, and the address is that of a function
    // of this library.
    let name = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(library as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}
