//! What can go wrong on the way to a program, one variant per remedy.
//! Not for failures of a running program: those belong to `cluster`.
//! Facts come from the callers; the text goes to a person as it is.

use std::path::{Path, PathBuf};

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The last words of a program that failed.
#[derive(Debug, Clone)]
pub struct BuildFailure {
    /// What was being made, for people: `kubernetes (5 programs)`.
    pub what: String,
    /// The command as one could type it.
    pub command: String,
    /// How it ended: `exit status: 1`.
    pub status: String,
    /// Its last lines of output.
    pub tail: Vec<String>,
}

impl BuildFailure {
    fn indented(&self) -> String {
        self.tail
            .iter()
            .map(|line| format!("\n    {line}"))
            .collect()
    }
}

/// Which remedy an [`Error`] calls for; for callers that react to it, and for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The lock file or a Go module file is wrong.
    Lock,
    /// A name that the lock file does not have.
    UnknownComponent,
    /// A program was named by `--component`, an environment variable or a `path` source and cannot be used.
    Path,
    /// There is no Go on PATH.
    NoGo,
    /// Go is there, but not the one that the module asks for, and it cannot be had.
    WrongGo,
    /// No C compiler for a program with C parts.
    NoCCompiler,
    /// The disk is full, or nearly.
    DiskFull,
    /// A source could not be reached.
    NoNetwork,
    /// This system has no Debian packages, and no equal program.
    NoDeb,
    /// No Python that can make environments.
    NoPython,
    /// A build ended with an error of its own.
    Build,
    /// The cache folder cannot be used.
    Cache,
}

/// What went wrong, on what, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lock file does not parse, or says something impossible.
    #[error("{file}: {problem}\nMend the file; its format is explained in ci/README.md.", file = .file.display())]
    Lock {
        /// The lock file or module file.
        file: PathBuf,
        /// Place and fault.
        problem: String,
    },

    /// A file of the catalogue cannot be read.
    #[error("cannot read {file}: {source}\n{remedy}", file = .file.display())]
    ReadLock {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
        /// What to do.
        remedy: String,
    },

    /// A name that is not in the lock file.
    #[error("there is no component {name:?}{}\nKnown: {}", did_you_mean(.nearest), .known.join(", "))]
    UnknownComponent {
        /// As asked.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
        /// All of them.
        known: Vec<String>,
    },

    /// `--kubernetes` names a minor that the lock file does not have.
    #[error("Kubernetes {asked:?} is not in the lock file\nIt has {known}.")]
    Kubernetes {
        /// As asked.
        asked: String,
        /// All that there are.
        known: String,
    },

    /// `--component` without `NAME=PATH`.
    #[error(
        "{given:?} is not NAME=PATH\nWrite it like `--component kubelet=/usr/local/bin/kubelet`."
    )]
    OverrideSyntax {
        /// As given.
        given: String,
    },

    /// A program that the user named cannot be used.
    #[error("component {name}: {origin} names {path}, {problem}\n{remedy}", path = .path.display())]
    UnusablePath {
        /// The component.
        name: String,
        /// Who named it: an option, a variable, the lock file.
        origin: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: String,
    },

    /// [`crate::Installed`] was asked for what was not put in.
    #[error("component {name} is not among the installed ones ({})\nAsk for it with `ensure`.", .present.join(", "))]
    NotInstalled {
        /// As asked.
        name: String,
        /// What is there.
        present: Vec<String>,
    },

    /// A component is not in the cache.
    #[error("component {name} is not in the cache {cache}\nGet it with `sliceproof components ensure {name}`.", cache = .cache.display())]
    Missing {
        /// The component.
        name: String,
        /// Where it was looked for.
        cache: PathBuf,
    },

    /// No Go.
    #[error(
        "cannot build {what}: no `go` on PATH\nInstall Go {wanted} or newer (https://go.dev/dl, or your system's package `golang`) and run the command again, \
         or name programs of your own with --component NAME=PATH."
    )]
    NoGo {
        /// What was to be built.
        what: String,
        /// The oldest Go that can fetch the others.
        wanted: String,
    },

    /// A Go that cannot become the wanted one.
    #[error("cannot build {what}: its module asks for {wanted}, {found}\n{remedy}")]
    WrongGo {
        /// What was to be built.
        what: String,
        /// The toolchain of go.mod.
        wanted: String,
        /// What is there instead, and what it said.
        found: String,
        /// What to do.
        remedy: String,
    },

    /// No C compiler.
    #[error(
        "cannot build {what}: it has parts in C, and the C compiler {compiler:?} does not run\n\
         Install one (Debian, Ubuntu: `apt-get install gcc libc6-dev`; Fedora: `dnf install gcc`), or name another in the variable CC."
    )]
    NoCCompiler {
        /// What was to be built.
        what: String,
        /// What `go env CC` says.
        compiler: String,
    },

    /// Less room than a build needs, seen before it starts.
    #[error(
        "not enough room on the disk: {what} needs about {need_mib} MiB in {place}, {free_mib} MiB are free\n\
         Make room there, or move the folder with {variable}.",
        place = .place.display()
    )]
    DiskLow {
        /// What needs it.
        what: String,
        /// The folder.
        place: PathBuf,
        /// Needed.
        need_mib: u64,
        /// Found.
        free_mib: u64,
        /// The environment variable that moves the folder.
        variable: &'static str,
    },

    /// The disk became full on the way.
    #[error(
        "the disk became full while making {what}: {detail}\nFree now: {places}\nMake room and run the command again; what is already built stays."
    )]
    DiskFull {
        /// What was being made.
        what: String,
        /// The line that said so.
        detail: String,
        /// The folders in question with their free space.
        places: String,
    },

    /// A source could not be reached.
    #[error("cannot fetch the sources of {what}: {detail}\n{remedy}")]
    NoNetwork {
        /// What was being made.
        what: String,
        /// The line that said so.
        detail: String,
        /// What to do.
        remedy: String,
    },

    /// No Debian tools and no equal program.
    #[error("cannot get {name}: {reason}\n{remedy}")]
    NoDeb {
        /// The component.
        name: String,
        /// Why the package could not be taken.
        reason: String,
        /// What else does.
        remedy: String,
    },

    /// No Python, or one that lacks what environments need.
    #[error(
        "cannot install {name}: {reason}\n\
         Install Python 3.9 or newer with venv and pip (Debian, Ubuntu: `apt-get install python3 python3-venv`; Fedora: `dnf install python3`), \
         or name a program of your own with --component {name}=PATH."
    )]
    NoPython {
        /// The component.
        name: String,
        /// What is missing.
        reason: String,
    },

    /// A build failed by itself.
    #[error("making {} failed ({}): {}\nIts last words:{}", .0.what, .0.status, .0.command, .0.indented())]
    Build(BuildFailure),

    /// A build ended well, but a program is not there.
    #[error(
        "`{command}` ended well but left no program {program:?} for component {name}\nThe lock file's package path may be wrong: it must name a main package."
    )]
    NoProgram {
        /// The component.
        name: String,
        /// File name that was expected.
        program: String,
        /// The command.
        command: String,
    },

    /// No folder for the cache is known.
    #[error(
        "no cache folder: neither XDG_CACHE_HOME nor HOME is an absolute path\nSet one of them, for example `export XDG_CACHE_HOME=/var/tmp/cache`."
    )]
    NoCacheFolder,

    /// The cache folder or something in it cannot be used.
    #[error("cannot {action} {path}: {source}\n{remedy}", path = .path.display(), remedy = cache_remedy(source))]
    Cache {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// Which remedy it calls for.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Lock { .. } | Self::ReadLock { .. } => Kind::Lock,
            Self::UnknownComponent { .. } | Self::Kubernetes { .. } => Kind::UnknownComponent,
            Self::OverrideSyntax { .. } | Self::UnusablePath { .. } => Kind::Path,
            Self::NoGo { .. } => Kind::NoGo,
            Self::WrongGo { .. } => Kind::WrongGo,
            Self::NoCCompiler { .. } => Kind::NoCCompiler,
            Self::DiskLow { .. } | Self::DiskFull { .. } => Kind::DiskFull,
            Self::NoNetwork { .. } => Kind::NoNetwork,
            Self::NoDeb { .. } => Kind::NoDeb,
            Self::NoPython { .. } => Kind::NoPython,
            Self::Build(_) | Self::NoProgram { .. } => Kind::Build,
            Self::NotInstalled { .. } | Self::Missing { .. } | Self::NoCacheFolder => Kind::Cache,
            Self::Cache { source, .. } if is_disk_full(source) => Kind::DiskFull,
            Self::Cache { .. } => Kind::Cache,
        }
    }

    /// The exit code that the whole program ends with: each of these is a matter of usage or environment.
    pub fn exit_code(&self) -> u8 {
        2
    }

    pub(crate) fn cache(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Cache {
            action,
            path,
            source,
        }
    }

    pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.map(str::to_owned).collect();
        let nearest = known
            .iter()
            .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, candidate)| candidate.clone());
        Self::UnknownComponent {
            name: name.to_owned(),
            nearest,
            known,
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map(|name| format!("; did you mean {name:?}?"))
        .unwrap_or_default()
}

pub(crate) fn is_disk_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

fn cache_remedy(source: &std::io::Error) -> &'static str {
    if is_disk_full(source) {
        "Make room there, or move the cache with XDG_CACHE_HOME."
    } else {
        "The cache must be a folder that you can write to; XDG_CACHE_HOME moves it."
    }
}
