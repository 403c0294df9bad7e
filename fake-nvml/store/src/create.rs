//! A new file that appears whole or not at all.
//! Not here: what is in it (`file`), nor what it is called.
//! The kernel frees a file without a name with its last descriptor, so a killed creator leaves nothing, and two creators of the
//! same process id (in two containers) are not in each other's way.
use std::{
    ffi::CString,
    fs, io,
    io::Write,
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// Writes `image` to a new file at `path`; `AlreadyExists` if anything is there.
pub(crate) fn whole(path: &Path, image: &[u8]) -> io::Result<()> {
    match nameless(path, image) {
        Err(e) if needs_a_name(&e) => named(path, image),
        other => other,
    }
}

/// What file systems (and kernels, and a missing /proc) answer that know no files without a name.
fn needs_a_name(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL)
    )
}

fn nameless(path: &Path, image: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .mode(0o666)
        .custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC)
        .open(folder(path))?;
    file.write_all(image)?;
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    let here = libc::AT_FDCWD;
    // SAFETY: two C strings that live during the call; the rest are numbers.
    match unsafe {
        libc::linkat(
            here,
            from.as_ptr(),
            here,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Under a name of its own, then linked.
fn named(path: &Path, image: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for turn in 0..100 {
        // A name that is taken belongs to a creator that was killed, or that is at work elsewhere.
        let aside = path.with_file_name(format!(".{name}.{}.{turn}.new", std::process::id()));
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o666)
            .open(&aside);
        let linked = match file {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(e),
            Ok(mut file) => file
                .write_all(image)
                .and_then(|()| fs::hard_link(&aside, path)),
        };
        let _ = fs::remove_file(&aside);
        return linked;
    }
    Err(io::Error::other(
        "a hundred unfinished files lie beside it: remove them",
    ))
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_and_without_a_name_on_the_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        for make in [nameless, named] {
            fs::write(
                folder
                    .path()
                    .join(format!(".state.{}.0.new", std::process::id())),
                "stale",
            )
            .expect("what a killed one left");
            make(&path, b"whole").expect("made");
            assert_eq!(fs::read(&path).expect("it"), b"whole");
            let again = make(&path, b"other").expect_err("it is there");
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).expect("it"), b"whole");
            assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 2);
            fs::remove_file(&path).expect("gone");
        }
        let missing = folder.path().join("no/state");
        let error = whole(&missing, b"x").expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
