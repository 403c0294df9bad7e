//! A machine made of a temporary folder: fake `go`, `cc`, `apt-get` and `dpkg-deb` as shell scripts on a PATH of their own.
//! Nothing real is built and nothing is fetched; a test bends a tool by a few lines of shell.
//! Every call of a tool is a line in the log.

// Each test target uses its part of it.
#![allow(dead_code)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use components::progress::{Event, Progress};
use components::{Catalog, Error, Host, Kind};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

const GO: &str = r#"#!/bin/sh
echo "go $* | GOTOOLCHAIN=$GOTOOLCHAIN GOFLAGS=$GOFLAGS GOWORK=$GOWORK CGO_ENABLED=$CGO_ENABLED GOPROXY=$GOPROXY" >> "$LAB/log"
version=$GOTOOLCHAIN
if [ -f "$LAB/$1.sh" ]; then . "$LAB/$1.sh"; fi
case "$1" in
env) echo "{\"GOVERSION\":\"$version\",\"CC\":\"cc\",\"GOCACHE\":\"$LAB/gocache\",\"GOPROXY\":\"$GOPROXY\"}" ;;
build)
    test -f go.mod && test -f go.sum || exit 9
    while [ "$1" != -o ]; do shift; done
    out=$2; shift 2
    for package in "$@"; do echo "program $package" > "$out/${package##*/}"; done ;;
mod) echo "{\"Path\":\"example.org/tools\",\"Dir\":\"$LAB/modcache\"}" ;;
esac
"#;

const CC: &str = "#!/bin/sh\nif [ -f \"$LAB/cc.sh\" ]; then . \"$LAB/cc.sh\"; fi\n";

const APT: &str = r#"#!/bin/sh
echo "apt-get $*" >> "$LAB/log"
if [ -f "$LAB/apt.sh" ]; then . "$LAB/apt.sh"; fi
case "$*" in *download*) echo deb > box_1.2_all.deb ;; esac
"#;

const DPKG: &str = r#"#!/bin/sh
case "$1" in
-f) echo 1.2-3 ;;
-x) mkdir -p "$3/bin" && cp "$LAB/static" "$3/bin/box" ;;
esac
"#;

/// Makes an environment whose Python is itself, and plays pip in it.
const PYTHON: &str = r#"#!/bin/sh
echo "python3 $*" >> "$LAB/log"
if [ -f "$LAB/python.sh" ]; then . "$LAB/python.sh"; fi
case "$*" in
-c*) echo 3.11.2; echo "$LAB/bin/python3" ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$LAB/bin/python3" "$3/bin/python3" ;;
*) ;;
esac
"#;

pub(crate) const LOCK: &str = r#"
format = 1
[go.tools]
tags = ["no_x", "no_y"]
ldflags = ["-s", "-X a.b=c"]
[component.alpha]
version = "1.2.3"
purpose = "first"
go = { module = "tools", package = "example.org/tools/cmd/alpha" }
[component.beta]
version = "1.2.3"
purpose = "second"
go = { module = "tools", package = "example.org/tools/cmd/beta" }
[component.gamma]
version = "1.2.3"
purpose = "with parts in C"
go = { module = "tools", package = "example.org/tools/cmd/gamma", cgo = true }
[component.box]
version = "1"
purpose = "from Debian"
deb = { package = "box-static", file = "bin/box", system = ["box"] }
[component.snake]
version = "4.2"
purpose = "from PyPI"
python = { requirements = "snake", package = "snake", module = "snake" }
[component.own]
version = "7"
purpose = "one's own"
path = { file = "own" }
"#;

pub(crate) const GO_MOD: &str =
    "module x\n\ngo 1.26.0\n\ntoolchain go1.26.8\n\nrequire example.org/tools v1.2.3\n";

pub(crate) struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> std::io::Result<Self> {
        let lab = Self {
            folder: tempfile::tempdir()?,
        };
        for (tool, script) in [
            ("go", GO),
            ("cc", CC),
            ("apt-get", APT),
            ("dpkg-deb", DPKG),
            ("python3", PYTHON),
        ] {
            lab.program(&format!("bin/{tool}"), script)?;
        }
        // Tools that the scripts use, and no others: a real Go must not be found.
        for tool in ["cat", "cp", "mkdir", "sleep", "touch"] {
            let real = Host::current()
                .find_program(tool)
                .ok_or(std::io::ErrorKind::NotFound)?;
            std::os::unix::fs::symlink(real, lab.path(&format!("bin/{tool}")))?;
        }
        // The smallest thing that is an ELF program without an interpreter.
        let mut elf = [0u8; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        fs::write(lab.path("static"), elf)?;
        lab.write("lock/components.lock", LOCK)?;
        lab.write("lock/go/tools/go.mod", GO_MOD)?;
        lab.write("lock/go/tools/go.sum", "")?;
        lab.write("lock/python/snake.txt", "snake==4.2 --hash=sha256:00\n")?;
        lab.program("lock/own", "#!/bin/sh\n")?;
        lab.write("log", "")?;
        Ok(lab)
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) -> std::io::Result<()> {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)
    }

    pub(crate) fn program(&self, relative: &str, script: &str) -> std::io::Result<()> {
        self.write(relative, script)?;
        fs::set_permissions(self.path(relative), fs::Permissions::from_mode(0o755))
    }

    pub(crate) fn remove(&self, relative: &str) -> std::io::Result<()> {
        fs::remove_file(self.path(relative))
    }

    pub(crate) fn vars(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", self.path("bin").into()),
            ("LAB", self.path("").into()),
            ("XDG_CACHE_HOME", self.path("cache").into()),
            ("GOPROXY", "https://proxy.example".into()),
            ("GOTOOLCHAIN", "local".into()),
            ("GOFLAGS", "-mod=mod".into()),
        ]
    }

    pub(crate) fn catalog(&self) -> Result<Catalog, Error> {
        Catalog::open_on(
            &self.path("lock/components.lock"),
            Host::with_vars(self.vars()),
        )
    }

    /// The same machine without a single tool.
    pub(crate) fn bare_catalog(&self) -> Result<Catalog, Error> {
        let vars = self.vars().into_iter().filter(|(name, _)| *name != "PATH");
        Catalog::open_on(&self.path("lock/components.lock"), Host::with_vars(vars))
    }

    /// Calls of tools so far that contain all the words.
    pub(crate) fn calls(&self, words: &[&str]) -> Vec<String> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines()
            .filter(|line| words.iter().all(|word| line.contains(word)))
            .map(str::to_owned)
            .collect()
    }

    /// Names of what is in a folder of the cache.
    pub(crate) fn cached(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path("cache/sliceproof/components").join(folder));
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Ensures one component, wants an error of this kind that names its remedy, and nothing left behind.
    pub(crate) fn refused(
        &self,
        name: &str,
        kind: Kind,
    ) -> Result<String, Box<dyn std::error::Error>> {
        let Err(error) = self.catalog()?.ensure(&[name], &Told::default()) else {
            return Err("ensure went well".into());
        };
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert_eq!(error.exit_code(), 2);
        assert!(text.lines().count() >= 2, "no remedy in: {text}");
        assert!(
            self.cached("entries").is_empty() && self.cached("work").is_empty(),
            "something was left behind: {text}"
        );
        Ok(text)
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Progress for Told {
    fn on(&self, event: Event<'_>) {
        if let Ok(mut told) = self.0.lock() {
            told.push(format!("{event:?}"));
        }
    }
}

impl Told {
    pub(crate) fn has(&self, words: &str) -> bool {
        self.0
            .lock()
            .is_ok_and(|told| told.iter().any(|line| line.contains(words)))
    }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
