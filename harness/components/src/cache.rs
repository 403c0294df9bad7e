//! The cache on disk: finished programs by the digest of everything that went into them.
//! Not a place for half things: an entry appears by one rename, after its files are on the disk.
//! Programs come from a work folder below it; paths go to `catalog`.
//!
//! ```text
//! components/entries/NAME-VERSION-DIGEST/{NAME, manifest.json}, and a folder that the program needs beside it (a Python environment)
//! components/locks/LABEL.lock        held (flock) while the label's programs are made; the kernel drops it with the process
//! components/work/XXXX, XXXX.lock    one run's work folder, and the lock that says that its owner lives
//! ```
//! A found program is taken for good when its size, its time of change and its right to be executed are as the manifest says:
//! that costs one `stat`, and a half-written or edited file does not pass. When only the time differs (a copied cache) its digest decides.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::error::{Error, Result};
use crate::host::is_executable;

/// Version of the manifest and of the folder layout; part of every key.
pub(crate) const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";

/// Names one build of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Digest of all inputs, hex.
    pub(crate) digest: String,
}

/// What is known of a finished program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) inputs: String,
    /// Where it came from in the end: a toolchain, a package with its version, a file of the system.
    pub(crate) origin: String,
    pub(crate) sha256: String,
    pub(crate) size: u64,
    modified_ns: i128,
    made_unix: u64,
    /// The folder that the program needs beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<Beside>,
}

/// A folder beside a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// Its name.
    pub(crate) name: String,
    /// A file in it that must be executable, through links that lead out of the cache: the environment's Python.
    pub(crate) needs: PathBuf,
    /// Digest over its files.
    pub(crate) sha256: String,
}

/// A finished program.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) program: PathBuf,
    pub(crate) manifest: Manifest,
}

/// What a look into the cache finds.
#[derive(Debug)]
pub(crate) enum Look {
    Present(Box<Entry>),
    Missing,
    /// It is there, and not what was put there.
    Damaged(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// A run's own folder, gone when dropped; swept by the next run when its owner was killed.
pub(crate) struct Work {
    folder: PathBuf,
    lock_file: PathBuf,
    _lock: File,
}

impl Work {
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays is swept by the next run.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(&self.lock_file);
    }
}

impl Cache {
    pub(crate) fn new(cache_folder: &Path) -> Self {
        Self {
            root: cache_folder.join("components"),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn entry_folder(&self, key: &Key) -> PathBuf {
        self.root.join("entries").join(format!(
            "{}-{}-{}",
            key.name,
            key.version,
            &key.digest[..16]
        ))
    }

    /// What is there under a key. `thorough` reads the whole program, else see the top of this file.
    pub(crate) fn look(&self, key: &Key, thorough: bool) -> Look {
        let folder = self.entry_folder(key);
        let text = match fs::read(folder.join(MANIFEST)) {
            Ok(text) => text,
            Err(_) if !folder.exists() => return Look::Missing,
            Err(error) => return Look::Damaged(format!("its manifest: {error}")),
        };
        let manifest: Manifest = match serde_json::from_slice(&text) {
            Ok(manifest) => manifest,
            Err(error) => return Look::Damaged(format!("its manifest: {error}")),
        };
        if manifest.format != FORMAT || manifest.inputs != key.digest {
            return Look::Damaged("its manifest belongs to another build".to_owned());
        }
        let program = folder.join(&key.name);
        let meta = match program.metadata() {
            Ok(meta) => meta,
            Err(error) => return Look::Damaged(format!("its program: {error}")),
        };
        if meta.len() != manifest.size {
            return Look::Damaged(format!(
                "its program has {} bytes, not {}",
                meta.len(),
                manifest.size
            ));
        }
        if !is_executable(&program) {
            return Look::Damaged("its program is not executable".to_owned());
        }
        let as_left = modified_ns(&meta) == manifest.modified_ns;
        if thorough || !as_left {
            match digest::of_file(&program) {
                Ok(seen) if seen == manifest.sha256 => {}
                Ok(_) => {
                    return Look::Damaged(
                        "its program has another content than was put there".to_owned(),
                    );
                }
                Err(error) => return Look::Damaged(format!("its program: {error}")),
            }
        }
        if let Some(beside) = &manifest.beside {
            let tree = folder.join(&beside.name);
            if !is_executable(&tree.join(&beside.needs)) {
                return Look::Damaged(format!("{} is gone", tree.join(&beside.needs).display()));
            }
            match thorough.then(|| digest::of_tree(&tree)) {
                Some(Ok(seen)) if seen != beside.sha256 => {
                    return Look::Damaged(format!("{} is not as it was put there", tree.display()));
                }
                Some(Err(error)) => return Look::Damaged(format!("{}: {error}", tree.display())),
                _ => {}
            }
        }
        if !as_left {
            let renewed = Manifest {
                modified_ns: modified_ns(&meta),
                ..manifest.clone()
            };
            // In a cache that may only be read the digest is taken each time.
            let _ = write_beside(&folder, &renewed);
        }
        Look::Present(Box::new(Entry { program, manifest }))
    }

    /// Takes the lock under which a label's programs are made. While another run holds it, `waiting` is called several times a second.
    pub(crate) fn lock(&self, label: &str, waiting: &mut dyn FnMut(Duration)) -> Result<File> {
        let path = self.root.join("locks").join(format!("{label}.lock"));
        let file = open_lock(&path)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {
                    waiting(began.elapsed());
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(TryLockError::Error(source)) => {
                    return Err(Error::Cache {
                        action: "lock",
                        path,
                        source,
                    });
                }
            }
        }
    }

    /// A fresh work folder; folders of runs that were killed are removed on the way.
    pub(crate) fn work(&self) -> Result<Work> {
        let parent = self.root.join("work");
        fs::create_dir_all(&parent).map_err(Error::cache("make", &parent))?;
        // Making and sweeping exclude each other, else a sweep could take a lock that its owner has made and not yet taken.
        let guard_path = self.root.join("locks").join("work.lock");
        let guard = open_lock(&guard_path)?;
        guard.lock().map_err(Error::cache("lock", &guard_path))?;
        sweep(&parent);
        let folder = tempfile::Builder::new()
            .prefix("w")
            .tempdir_in(&parent)
            .map_err(Error::cache("make a folder in", &parent))?
            .keep();
        let lock_file = folder.with_extension("lock");
        let lock = open_lock(&lock_file)?;
        lock.lock().map_err(Error::cache("lock", &lock_file))?;
        Ok(Work {
            folder,
            lock_file,
            _lock: lock,
        })
    }

    /// Makes an entry of a finished program in a work folder. The caller holds the label's lock.
    pub(crate) fn store(
        &self,
        key: &Key,
        program: &Path,
        origin: String,
        work: &Work,
    ) -> Result<Entry> {
        self.store_with(key, program, None, origin, work)
    }

    /// As [`Cache::store`], with a folder that the program needs beside it, and the file in it that must be executable.
    pub(crate) fn store_with(
        &self,
        key: &Key,
        program: &Path,
        beside: Option<(&Path, &Path)>,
        origin: String,
        work: &Work,
    ) -> Result<Entry> {
        let stage = work.path().join(format!("entry-{}", key.name));
        fs::create_dir_all(&stage).map_err(Error::cache("make", &stage))?;
        let staged = stage.join(&key.name);
        fs::rename(program, &staged).map_err(Error::cache("move a program to", &staged))?;
        fs::set_permissions(&staged, fs::Permissions::from_mode(0o755))
            .map_err(Error::cache("make executable", &staged))?;
        let meta = File::open(&staged)
            .and_then(|file| file.sync_all().and_then(|()| file.metadata()))
            .map_err(Error::cache("write out", &staged))?;
        let sha256 = digest::of_file(&staged).map_err(Error::cache("read", &staged))?;
        let beside = match beside {
            None => None,
            Some((tree, needs)) => {
                let name = tree.file_name().unwrap_or_default();
                let placed = stage.join(name);
                fs::rename(tree, &placed).map_err(Error::cache("move a folder to", &placed))?;
                let sha256 = digest::of_tree(&placed).map_err(Error::cache("read", &placed))?;
                Some(Beside {
                    name: name.to_string_lossy().into_owned(),
                    needs: needs.to_owned(),
                    sha256,
                })
            }
        };
        let manifest = Manifest {
            format: FORMAT,
            name: key.name.clone(),
            version: key.version.clone(),
            inputs: key.digest.clone(),
            origin,
            sha256,
            size: meta.len(),
            modified_ns: modified_ns(&meta),
            made_unix: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs(),
            beside,
        };
        write_beside(&stage, &manifest)
            .and_then(|()| sync_folder(&stage))
            .map_err(Error::cache("write the manifest in", &stage))?;

        let folder = self.entry_folder(key);
        let entries = self.root.join("entries");
        fs::create_dir_all(&entries).map_err(Error::cache("make", &entries))?;
        if folder.exists() {
            let old = work.path().join(format!("old-{}", key.name));
            fs::rename(&folder, &old).map_err(Error::cache("set aside the damaged", &folder))?;
        }
        fs::rename(&stage, &folder)
            .and_then(|()| sync_folder(&entries))
            .map_err(Error::cache("put in place", &folder))?;
        Ok(Entry {
            program: folder.join(&key.name),
            manifest,
        })
    }
}

fn open_lock(path: &Path) -> Result<File> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(Error::cache("make", parent))?;
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(Error::cache("open", path))
}

/// Removes the work folders whose owners are gone.
fn sweep(parent: &Path) {
    for lock_file in fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        if lock_file
            .extension()
            .is_none_or(|extension| extension != "lock")
        {
            continue;
        }
        let ownerless = File::options()
            .write(true)
            .open(&lock_file)
            .is_ok_and(|file| file.try_lock().is_ok());
        if ownerless {
            // A next sweep takes what this one cannot.
            let _ = fs::remove_dir_all(lock_file.with_extension(""));
            let _ = fs::remove_file(&lock_file);
        }
    }
}

fn write_beside(folder: &Path, manifest: &Manifest) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, manifest)?;
    file.write_all(b"\n")?;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(folder.join(MANIFEST))
        .map(|_| ())
        .map_err(|error| error.error)
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

fn modified_ns(meta: &fs::Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    fn key() -> Key {
        Key {
            name: "x".to_owned(),
            version: "1".to_owned(),
            digest: "0123456789abcdef0123456789abcdef".to_owned(),
        }
    }

    fn stored(cache: &Cache, content: &str) -> Result<Entry, Box<dyn std::error::Error>> {
        let work = cache.work()?;
        let program = work.path().join("out");
        fs::write(&program, content)?;
        Ok(cache.store(&key(), &program, "test".to_owned(), &work)?)
    }

    #[test]
    fn an_entry_is_found_and_leaves_no_work_folder() -> Outcome {
        let dir = tempfile::tempdir()?;
        let cache = Cache::new(dir.path());
        assert!(matches!(cache.look(&key(), false), Look::Missing));
        let entry = stored(&cache, "hello")?;
        assert!(
            matches!(cache.look(&key(), true), Look::Present(found) if found.program == entry.program)
        );
        assert_eq!(fs::read_dir(cache.root().join("work"))?.count(), 0);
        Ok(())
    }

    #[test]
    fn damage_is_seen() -> Outcome {
        let dir = tempfile::tempdir()?;
        let cache = Cache::new(dir.path());
        let damaged = |hurt: &dyn Fn(&Path) -> std::io::Result<()>| -> Result<String, Box<dyn std::error::Error>> {
            hurt(&stored(&cache, "hello")?.program)?;
            match cache.look(&key(), false) {
                Look::Damaged(why) => Ok(why),
                other => Err(format!("not seen: {other:?}").into()),
            }
        };
        assert!(damaged(&|program| fs::write(program, "hell"))?.contains("4 bytes, not 5"));
        assert!(damaged(&|program| fs::write(program, "hallo"))?.contains("another content"));
        assert!(damaged(&|program| fs::remove_file(program))?.contains("its program"));
        assert!(
            damaged(&|program| fs::set_permissions(program, fs::Permissions::from_mode(0o644)))?
                .contains("not executable")
        );
        assert!(
            damaged(&|program| fs::write(program.with_file_name(MANIFEST), "{"))?
                .contains("its manifest")
        );
        assert!(
            damaged(&|program| fs::remove_file(program.with_file_name(MANIFEST)))?
                .contains("its manifest")
        );
        Ok(())
    }

    #[test]
    fn a_copied_cache_is_good_and_its_times_are_learned() -> Outcome {
        let dir = tempfile::tempdir()?;
        let cache = Cache::new(dir.path());
        let program = stored(&cache, "hello")?.program;
        File::options()
            .write(true)
            .open(&program)?
            .set_modified(UNIX_EPOCH)?;
        let Look::Present(_) = cache.look(&key(), false) else {
            return Err("a changed time alone is no damage".into());
        };
        let manifest: Manifest =
            serde_json::from_slice(&fs::read(program.with_file_name(MANIFEST))?)?;
        assert_eq!(manifest.modified_ns, 0);
        Ok(())
    }

    #[test]
    fn the_next_run_sweeps_what_a_killed_one_left() -> Outcome {
        let dir = tempfile::tempdir()?;
        let cache = Cache::new(dir.path());
        let living = cache.work()?;
        let killed = cache.work()?;
        let left = killed.path().to_owned();
        fs::write(left.join("half"), "ha")?;
        // What kill -9 does: the lock goes, the folder stays.
        let Work { _lock, .. } = &killed;
        _lock.unlock()?;
        std::mem::forget(killed);
        let next = cache.work()?;
        assert!(!left.exists() && living.path().exists() && next.path().exists());
        Ok(())
    }
}
