//! The front door: a lock file, a machine and a cache together give programs.
//! It fetches and builds nothing itself: `go` and `deb` do.
//! Names come from the caller; paths of whole, checked programs go back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cache::{self, Cache, Entry, Key, Look};
use crate::deb;
use crate::digest::Inputs;
use crate::embedded;
use crate::error::{Error, Result};
use crate::go::{Go, Group};
use crate::host::Host;
use crate::installed::{Installed, InstalledComponent};
use crate::lock::{Component, DebSource, Lock, PythonSource, Source};
use crate::overrides::{Named, Overrides};
use crate::progress::{Event, Progress};
use crate::python;
use crate::space;

/// A lock file on a machine.
#[derive(Debug, Clone)]
pub struct Catalog {
    lock: Lock,
    /// Folder of the lock file, where relative `path` sources start.
    base: PathBuf,
    host: Host,
    from_env: Overrides,
    from_args: Overrides,
}

/// Whether a component is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// In the cache, or a usable file of the user.
    Present,
    /// To be made by `ensure`.
    Missing,
    /// There, but not what was put there: `ensure` makes it anew. With the reason.
    Damaged(String),
    /// A file that the user named and that cannot be used. With the reason.
    Unusable(String),
}

/// One line of a list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listed {
    /// The component's name.
    pub name: String,
    /// Its version in the lock; `own` for a program that the user named.
    pub version: String,
    /// What it is for.
    pub purpose: String,
    /// Its source in the lock; the package with its version once taken; or who named it.
    pub source: String,
    /// Whether it is there.
    pub state: State,
    /// SHA-256 of the program, if it is in the cache.
    pub sha256: Option<String>,
    /// Size of the program in bytes, if it is there.
    pub size: Option<u64>,
    /// The program, if it is there.
    pub path: Option<PathBuf>,
}

impl Catalog {
    /// The lock that this program carries, on this machine.
    pub fn embedded() -> Result<Self> {
        let file = Path::new("components.lock (embedded)");
        let lock = Lock::parse(embedded::LOCK, file, |wanted| {
            let found = embedded::FILES.iter().find(|(name, _)| *name == wanted);
            found
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| Error::Lock {
                    file: file.to_owned(),
                    problem: format!(
                        "{wanted} is not embedded; add it to harness/components/src/embedded.rs"
                    ),
                })
        })?;
        Self::new(lock, PathBuf::new(), Host::current())
    }

    /// Another lock file, on this machine. Its module files lie beside it, in `go/<module>/`, its Python requirements in `python/`.
    pub fn open(file: &Path) -> Result<Self> {
        Self::open_on(file, Host::current())
    }

    /// Another lock file, on a machine that the caller describes.
    pub fn open_on(file: &Path, host: Host) -> Result<Self> {
        let read = |file: &Path, remedy: &str| {
            std::fs::read_to_string(file).map_err(|source| Error::ReadLock {
                file: file.to_owned(),
                source,
                remedy: remedy.to_owned(),
            })
        };
        let text = read(
            file,
            "Name an existing lock file, or leave it out to use the one that sliceproof carries.",
        )?;
        let base = file.parent().unwrap_or(Path::new("")).to_owned();
        let lock = Lock::parse(&text, file, |beside| {
            let remedy = "A [go.NAME] table of the lock file needs go/NAME/go.mod and go/NAME/go.sum beside it, a python source its python/NAME.txt.";
            read(&base.join(beside), remedy)
        })?;
        Self::new(lock, base, host)
    }

    fn new(lock: Lock, base: PathBuf, host: Host) -> Result<Self> {
        let from_env = Overrides::from_env(
            &host,
            lock.components()
                .iter()
                .map(|component| component.name.as_str()),
        )?;
        Ok(Self {
            lock,
            base,
            host,
            from_env,
            from_args: Overrides::default(),
        })
    }

    /// With programs of the user's own in place of the lock's. They win over those of the environment.
    pub fn with_overrides(mut self, overrides: Overrides) -> Result<Self> {
        for name in overrides.names() {
            self.lock.component(name)?;
        }
        self.from_args = self.from_args.and(overrides);
        Ok(self)
    }

    /// With Kubernetes in another minor, `1.36`.
    ///
    /// # Errors
    /// The lock file has no such minor.
    pub fn with_kubernetes(mut self, minor: &str) -> Result<Self> {
        self.lock = self.lock.with_kubernetes(minor)?;
        Ok(self)
    }

    /// The lock file.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Names of all components, in the order of the lock file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lock
            .components()
            .iter()
            .map(|component| component.name.as_str())
    }

    /// Makes sure that these programs are there: from the cache, else fetched and built. When all are cached this is a `stat` each:
    /// no tool is looked for, nothing is written. Safe when several runs do it at once.
    pub fn ensure<S: AsRef<str>>(&self, names: &[S], progress: &dyn Progress) -> Result<Installed> {
        let components = names
            .iter()
            .map(|name| self.lock.component(name.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        let mut installed = Vec::new();
        let mut missing: Vec<&Component> = Vec::new();
        for component in components {
            match self.own(component) {
                Some(named) => installed.push(own_component(
                    component,
                    &named,
                    named.check(&component.name)?,
                )),
                None => match self.cache()?.look(&self.key(component), false) {
                    Look::Present(entry) => installed.push(cached_component(component, &entry)),
                    Look::Missing => missing.push(component),
                    Look::Damaged(why) => {
                        let text = format!(
                            "{}: the cached program is damaged ({why}); making it anew",
                            component.name
                        );
                        progress.on(Event::Note { text: &text });
                        missing.push(component);
                    }
                },
            }
        }
        if !missing.is_empty() {
            installed.extend(self.make(&missing, progress)?);
        }
        Ok(Installed::new(installed))
    }

    /// As [`Catalog::ensure`], for all components.
    pub fn ensure_all(&self, progress: &dyn Progress) -> Result<Installed> {
        self.ensure(&self.names().collect::<Vec<_>>(), progress)
    }

    /// The program of a component, if it is there; makes nothing.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let component = self.lock.component(name)?;
        if let Some(named) = self.own(component) {
            return named.check(name);
        }
        let cache = self.cache()?;
        match cache.look(&self.key(component), false) {
            Look::Present(entry) => Ok(entry.program),
            Look::Missing | Look::Damaged(_) => Err(Error::Missing {
                name: name.to_owned(),
                cache: cache.root().to_owned(),
            }),
        }
    }

    /// Every component with its state. `thorough` reads each cached program and compares its digest.
    pub fn list(&self, thorough: bool) -> Result<Vec<Listed>> {
        let cache = self.cache()?;
        let one = |component: &Component| {
            let mut listed = Listed {
                name: component.name.clone(),
                version: component.version.clone(),
                purpose: component.purpose.clone(),
                source: component.describe_source(),
                state: State::Missing,
                sha256: None,
                size: None,
                path: None,
            };
            if let Some(named) = self.own(component) {
                listed.source = named.origin.clone();
                if !matches!(component.source, Source::Path(_)) {
                    listed.version = "own".to_owned();
                }
                match named.check(&component.name) {
                    Ok(path) => {
                        listed.size = path.metadata().ok().map(|meta| meta.len());
                        listed.path = Some(path);
                        listed.state = State::Present;
                    }
                    Err(error) => listed.state = State::Unusable(error.to_string()),
                }
            } else {
                match cache.look(&self.key(component), thorough) {
                    Look::Present(entry) => {
                        listed.state = State::Present;
                        if matches!(component.source, Source::Deb(_)) {
                            listed.source.clone_from(&entry.manifest.origin);
                        }
                        listed.sha256 = Some(entry.manifest.sha256);
                        listed.size = Some(entry.manifest.size);
                        listed.path = Some(entry.program);
                    }
                    Look::Missing => {}
                    Look::Damaged(why) => listed.state = State::Damaged(why),
                }
            }
            listed
        };
        Ok(self.lock.components().iter().map(one).collect())
    }

    fn cache(&self) -> Result<Cache> {
        Ok(Cache::new(&self.host.cache_folder()?))
    }

    /// The user's own program in place of a built one.
    fn own(&self, component: &Component) -> Option<Named> {
        let named = self
            .from_args
            .get(&component.name)
            .or_else(|| self.from_env.get(&component.name))
            .cloned();
        match &component.source {
            Source::Path(path) => named.or_else(|| {
                Some(Named {
                    path: self.base.join(&path.file),
                    origin: "the lock file".to_owned(),
                })
            }),
            Source::Go(_) | Source::Deb(_) | Source::Python(_) => named,
        }
    }

    /// Everything that can change the program goes into its key; nothing that has to be asked of a tool does.
    fn key(&self, component: &Component) -> Key {
        let inputs = Inputs::default()
            .add("cache", &cache::FORMAT.to_string())
            .add("name", &component.name)
            .add("version", &component.version)
            .add("target", std::env::consts::ARCH);
        let inputs = match &component.source {
            Source::Go(source) => {
                let inputs = inputs
                    .add("package", &source.package)
                    .add("cgo", if source.cgo { "1" } else { "0" });
                let inputs = match source.files.as_slice() {
                    [] => inputs,
                    files => inputs.add_all("files", files),
                };
                match self.lock.go_build(&source.module) {
                    Some(build) => inputs
                        .add("toolchain", &build.toolchain)
                        .add_all("tags", &build.tags)
                        .add_all("ldflags", &build.ldflags)
                        .add("go.mod", &build.go_mod)
                        .add("go.sum", &build.go_sum)
                        .add_own(&build.own),
                    None => inputs,
                }
            }
            Source::Deb(source) => {
                let inputs = inputs
                    .add("package", &source.package)
                    .add("file", &source.file.to_string_lossy())
                    .add("release", &deb::release());
                if source.dynamic {
                    inputs.add("dynamic", "1")
                } else {
                    inputs
                }
            }
            Source::Python(source) => {
                let inputs = inputs
                    .add("requirements", &source.text)
                    .add("module", source.module.as_deref().unwrap_or_default());
                match &source.build_text {
                    Some(text) => inputs.add("build", text),
                    None => inputs,
                }
            }
            Source::Path(source) => inputs.add("file", &source.file.to_string_lossy()),
        };
        Key {
            name: component.name.clone(),
            version: component.version.clone(),
            digest: inputs.hex(),
        }
    }

    fn make(
        &self,
        missing: &[&Component],
        progress: &dyn Progress,
    ) -> Result<Vec<InstalledComponent>> {
        let cache = self.cache()?;
        let titles: Vec<&str> = missing
            .iter()
            .map(|component| component.name.as_str())
            .collect();
        let need_mib = missing
            .iter()
            .map(|component| component.size_mib)
            .sum::<u64>()
            + 64;
        space::demand(&titles.join(", "), cache.root(), need_mib, "XDG_CACHE_HOME")?;

        let groups = self.groups(missing);
        let go = if groups.is_empty() {
            None
        } else {
            let work = cache.work()?;
            Some(Go::prepare(
                &self.host,
                &groups.iter().collect::<Vec<_>>(),
                work.path(),
                progress,
            )?)
        };
        let mut made = Vec::new();
        for component in missing {
            match &component.source {
                Source::Deb(source) => {
                    made.push(self.make_deb(&cache, component, source, progress)?)
                }
                Source::Python(source) => {
                    made.push(self.make_python(&cache, component, source, progress)?)
                }
                Source::Go(_) | Source::Path(_) => {}
            }
        }
        for group in &groups {
            if let Some(go) = &go {
                made.extend(self.make_group(&cache, go, group, progress)?);
            }
        }
        Ok(made)
    }

    /// Missing programs by module and cgo, in the order of the lock file.
    fn groups<'a>(&'a self, missing: &[&'a Component]) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for component in missing {
            let Source::Go(source) = &component.source else {
                continue;
            };
            let Some(build) = self.lock.go_build(&source.module) else {
                continue;
            };
            match groups
                .iter_mut()
                .find(|group| group.module == source.module && group.cgo == source.cgo)
            {
                Some(group) => group.programs.push((component, source)),
                None => groups.push(Group {
                    module: &source.module,
                    build,
                    cgo: source.cgo,
                    programs: vec![(component, source)],
                }),
            }
        }
        groups
    }

    fn make_group(
        &self,
        cache: &Cache,
        go: &Go<'_>,
        group: &Group<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<InstalledComponent>> {
        let label = format!("go-{}-cgo{}", group.module, u8::from(group.cgo));
        let _lock = self.lock_label(cache, &label, &group.title(), progress)?;
        // Another run may have made some of them in the meantime.
        let (mut done, mut rest) = (Vec::new(), Vec::new());
        for (component, source) in &group.programs {
            match cache.look(&self.key(component), false) {
                Look::Present(entry) => done.push(cached_component(component, &entry)),
                Look::Missing | Look::Damaged(_) => rest.push((*component, *source)),
            }
        }
        if rest.is_empty() {
            return Ok(done);
        }
        let work = cache.work()?;
        let rest = Group {
            programs: rest,
            ..*group
        };
        let programs = go.build(&rest, work.path(), progress)?;
        for ((component, _), program) in rest.programs.iter().zip(programs) {
            let entry = cache.store(
                &self.key(component),
                &program,
                format!("go {}", group.build.toolchain),
                &work,
            )?;
            done.push(cached_component(component, &entry));
        }
        Ok(done)
    }

    fn make_deb(
        &self,
        cache: &Cache,
        component: &Component,
        source: &DebSource,
        progress: &dyn Progress,
    ) -> Result<InstalledComponent> {
        let _lock = self.lock_label(
            cache,
            &format!("deb-{}", component.name),
            &component.name,
            progress,
        )?;
        if let Look::Present(entry) = cache.look(&self.key(component), false) {
            return Ok(cached_component(component, &entry));
        }
        let work = cache.work()?;
        let taken = deb::take(&self.host, &component.name, source, work.path(), progress)?;
        let entry = cache.store(&self.key(component), &taken.program, taken.origin, &work)?;
        Ok(cached_component(component, &entry))
    }

    fn make_python(
        &self,
        cache: &Cache,
        component: &Component,
        source: &PythonSource,
        progress: &dyn Progress,
    ) -> Result<InstalledComponent> {
        let label = format!("python-{}", component.name);
        let _lock = self.lock_label(cache, &label, &component.name, progress)?;
        if let Look::Present(entry) = cache.look(&self.key(component), false) {
            return Ok(cached_component(component, &entry));
        }
        let work = cache.work()?;
        let made = python::install(&self.host, component, source, work.path(), progress)?;
        let beside = Some((made.environment.as_path(), Path::new(python::PYTHON)));
        let entry = cache.store_with(
            &self.key(component),
            &made.program,
            beside,
            made.origin,
            &work,
        )?;
        Ok(cached_component(component, &entry))
    }

    fn lock_label(
        &self,
        cache: &Cache,
        label: &str,
        title: &str,
        progress: &dyn Progress,
    ) -> Result<std::fs::File> {
        let task = format!("waiting for another run that makes {title}");
        let mut waited = None::<Duration>;
        let lock = cache.lock(label, &mut |elapsed| {
            if waited.is_none() {
                progress.on(Event::Started { task: &task });
            }
            waited = Some(elapsed);
            progress.on(Event::Running {
                task: &task,
                note: "",
                elapsed,
            });
        });
        if let Some(elapsed) = waited {
            progress.on(if lock.is_ok() {
                Event::Finished {
                    task: &task,
                    note: "",
                    elapsed,
                }
            } else {
                Event::Failed {
                    task: &task,
                    elapsed,
                }
            });
        }
        lock
    }
}

fn own_component(component: &Component, named: &Named, path: PathBuf) -> InstalledComponent {
    let version = if matches!(component.source, Source::Path(_)) {
        component.version.clone()
    } else {
        "own".to_owned()
    };
    InstalledComponent {
        name: component.name.clone(),
        program: component.program().to_owned(),
        version,
        origin: named.origin.clone(),
        path,
        sha256: None,
    }
}

fn cached_component(component: &Component, entry: &Entry) -> InstalledComponent {
    InstalledComponent {
        name: component.name.clone(),
        program: component.program().to_owned(),
        version: component.version.clone(),
        origin: entry.manifest.origin.clone(),
        path: entry.program.clone(),
        sha256: Some(entry.manifest.sha256.clone()),
    }
}
