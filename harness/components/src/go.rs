//! Builds programs from public Go modules: one `go build` for all programs of one module that share their flags.
//! Not a Go front end: the module files say what goes in, `go` does the rest, with the user's own proxy and caches.
//! Module files come from the lock; programs go to a work folder of the cache.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::host::Host;
use crate::lock::{Component, GoBuild, GoSource};
use crate::modfile;
use crate::progress::Progress;
use crate::space;
use crate::subprocess::{self, Ended, Job, Line};

/// The first Go that can fetch another one by itself.
const FIRST_WITH_TOOLCHAINS: &str = "1.21";
/// What a build needs in the folder for temporary files beside the programs themselves.
const TEMPORARY_MIB: u64 = 64;
/// Settings of the user that would change what comes out, or break the build.
const UNSET: &[&str] = &[
    "GOOS",
    "GOEXPERIMENT",
    "GODEBUG",
    "GO111MODULE",
    "GOROOT",
    "GOBIN",
    "PWD",
];

/// Programs that one `go build` makes.
pub(crate) struct Group<'a> {
    pub(crate) module: &'a str,
    pub(crate) build: &'a GoBuild,
    pub(crate) cgo: bool,
    pub(crate) programs: Vec<(&'a Component, &'a GoSource)>,
}

impl Group<'_> {
    /// `kubernetes (5 programs)`, `etcd`.
    pub(crate) fn title(&self) -> String {
        match self.programs.as_slice() {
            [(only, _)] => only.name.clone(),
            [(first, _), (second, _)] => format!("{} and {}", first.name, second.name),
            many => format!("{} ({} programs)", self.module, many.len()),
        }
    }
}

/// What `go env` says of the Go that will build.
#[derive(Deserialize)]
struct GoEnv {
    #[serde(rename = "GOVERSION")]
    version: String,
    #[serde(rename = "CC")]
    cc: String,
    #[serde(rename = "GOCACHE")]
    cache: PathBuf,
    #[serde(rename = "GOPROXY")]
    proxy: String,
}

/// What `go mod download -json` says of a module.
#[derive(Deserialize)]
struct Fetched {
    #[serde(rename = "Dir")]
    dir: PathBuf,
}

/// A Go that was seen to work for these groups.
pub(crate) struct Go<'a> {
    host: &'a Host,
    program: PathBuf,
    cache: PathBuf,
    proxy: String,
}

impl<'a> Go<'a> {
    /// Checks everything that can be checked before the first long build: Go, its toolchains, the C compiler, room.
    pub(crate) fn prepare(
        host: &'a Host,
        groups: &[&Group<'_>],
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let all: Vec<String> = groups.iter().map(|group| group.title()).collect();
        let what = all.join(", ");
        let program = host.find_program("go").ok_or_else(|| Error::NoGo {
            what: what.clone(),
            wanted: FIRST_WITH_TOOLCHAINS.to_owned(),
        })?;
        let mut by_toolchain: BTreeMap<&str, String> = BTreeMap::new();
        for group in groups {
            let titles = by_toolchain.entry(&group.build.toolchain).or_default();
            *titles = if titles.is_empty() {
                group.title()
            } else {
                format!("{titles}, {}", group.title())
            };
        }
        let mut env = None;
        for (toolchain, titles) in by_toolchain {
            env = Some(probe(host, &program, toolchain, &titles, folder, progress)?);
        }
        let env = env.ok_or_else(|| Error::NoGo {
            what: what.clone(),
            wanted: FIRST_WITH_TOOLCHAINS.to_owned(),
        })?;
        if let Some(group) = groups.iter().find(|group| group.cgo) {
            check_c_compiler(host, &env.cc, &group.title(), folder, progress)?;
        }
        // The linker writes each program there first. A full build cache only makes a build slow.
        let size = |group: &&Group<'_>| -> u64 {
            let programs = group.programs.iter();
            programs.map(|(component, _)| component.size_mib).sum()
        };
        let need_mib = groups.iter().map(size).max().unwrap_or(0) + TEMPORARY_MIB;
        space::demand(&what, &temporary_folder(host), need_mib, "TMPDIR")?;
        Ok(Self {
            host,
            program,
            cache: env.cache,
            proxy: env.proxy,
        })
    }

    /// Builds a group. The programs lie in the returned order, that of the group.
    pub(crate) fn build(
        &self,
        group: &Group<'_>,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>> {
        let (module, out) = self.lay(group, folder)?;
        let built = group.programs.iter().any(|(_, it)| it.files.is_empty());
        if built {
            self.compile(group, &module, &out, progress)?;
        }
        let finish = |(component, source): &(&Component, &GoSource)| {
            let file = out.join(modfile::program_name(&source.package));
            if !source.files.is_empty() {
                return self.files(component, source, group, &module, &out, progress);
            }
            if file.is_file() {
                return Ok(file);
            }
            Err(Error::NoProgram {
                name: component.name.clone(),
                program: modfile::program_name(&source.package).to_owned(),
                command: format!("go build {}", source.package),
            })
        };
        group.programs.iter().map(finish).collect()
    }

    /// The module's files, and an empty folder for what is built.
    fn lay(&self, group: &Group<'_>, folder: &Path) -> Result<(PathBuf, PathBuf)> {
        let (module, out) = (folder.join("module"), folder.join("out"));
        for made in [&module, &out] {
            fs::create_dir_all(made).map_err(Error::cache("make", made))?;
        }
        let own = group.build.own.iter();
        for (name, text) in [
            ("go.mod", &group.build.go_mod),
            ("go.sum", &group.build.go_sum),
        ]
        .into_iter()
        .chain(own.map(|(name, text)| (name.as_str(), text)))
        {
            let file = module.join(name);
            fs::write(&file, text).map_err(Error::cache("write", &file))?;
        }
        Ok((module, out))
    }

    fn compile(
        &self,
        group: &Group<'_>,
        module: &Path,
        out: &Path,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut args: Vec<OsString> = ["build", "-v", "-trimpath"].map(OsString::from).to_vec();
        if !group.build.tags.is_empty() {
            args.push(format!("-tags={}", group.build.tags.join(",")).into());
        }
        args.push(format!("-ldflags={}", group.build.ldflags.join(" ")).into());
        args.push("-o".into());
        args.push(out.join("").into_os_string());
        args.extend(
            group
                .programs
                .iter()
                .filter(|(_, source)| source.files.is_empty())
                .map(|(_, source)| OsString::from(&source.package)),
        );
        let mut env = environment(&group.build.toolchain);
        env.push(("CGO_ENABLED", if group.cgo { "1" } else { "0" }.into()));

        let job = Job {
            host: self.host,
            program: &self.program,
            args,
            folder: module,
            env,
            unset: UNSET,
        };
        let title = group.title();
        let name = format!("building {title}");
        subprocess::task(&name, progress, || {
            let ended = job
                .run(&name, "packages", progress, &build_line)
                .map_err(|error| self.not_started(&title, &error))?;
            if !ended.status.success() {
                return Err(self.judge(&title, &group.build.toolchain, &job, &ended));
            }
            Ok(())
        })
    }

    /// Files of a module, one after another in one file. `go` checks the module against go.sum.
    fn files(
        &self,
        component: &Component,
        source: &GoSource,
        group: &Group<'_>,
        module: &Path,
        out: &Path,
        progress: &dyn Progress,
    ) -> Result<PathBuf> {
        let name = format!("fetching {}", component.name);
        let args = ["mod", "download", "-json", &source.package].map(OsString::from);
        let job = Job {
            host: self.host,
            program: &self.program,
            args: args.to_vec(),
            folder: module,
            env: environment(&group.build.toolchain),
            unset: UNSET,
        };
        let ended = job
            .run(&name, "modules", progress, &build_line)
            .map_err(|error| self.not_started(&component.name, &error))?;
        if !ended.status.success() {
            return Err(self.judge(&component.name, &group.build.toolchain, &job, &ended));
        }
        let missing = |program: String| Error::NoProgram {
            name: component.name.clone(),
            program,
            command: job.command_line(),
        };
        let fetched: Fetched = serde_json::from_str(&ended.stdout)
            .map_err(|error| missing(format!("a module's folder ({error})")))?;
        let mut text = String::new();
        for wanted in &source.files {
            for file in below(&fetched.dir.join(wanted)) {
                let one = fs::read_to_string(&file)
                    .map_err(|error| missing(format!("{wanted} ({error})")))?;
                text.push_str("---\n");
                text.push_str(one.trim_end());
                text.push('\n');
            }
        }
        let file = out.join(&component.name);
        fs::write(&file, text).map_err(Error::cache("write", &file))?;
        Ok(file)
    }

    fn not_started(&self, what: &str, error: &std::io::Error) -> Error {
        Error::WrongGo {
            what: what.to_owned(),
            wanted: "a Go that runs".to_owned(),
            found: format!(
                "{} {}",
                self.program.display(),
                subprocess::could_not_run(error)
            ),
            remedy: "Install Go again, or put another one first on PATH.".to_owned(),
        }
    }

    fn judge(&self, what: &str, toolchain: &str, job: &Job<'_>, ended: &Ended) -> Error {
        let temporary = temporary_folder(self.host);
        if let Some(line) = subprocess::disk_full_line(&ended.tail) {
            let places = space::describe(&[job.folder.to_owned(), self.cache.clone(), temporary]);
            return Error::DiskFull {
                what: what.to_owned(),
                detail: line.clone(),
                places,
            };
        }
        judge(what, toolchain, &self.proxy, job, ended)
    }
}

/// Where `go` works.
fn temporary_folder(host: &Host) -> PathBuf {
    let named = host.var("GOTMPDIR").or_else(|| host.var("TMPDIR"));
    named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// Variables of every call of `go`.
fn environment(toolchain: &str) -> Vec<(&'static str, OsString)> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    vec![
        // Exactly the module's own toolchain: a setting of `local` would refuse it, and a newer Go would build something else.
        ("GOTOOLCHAIN", toolchain.into()),
        ("GOFLAGS", "-mod=readonly -buildvcs=false".into()),
        ("GOWORK", "off".into()),
        ("GOARCH", architecture.into()),
    ]
}

/// Asks the toolchain for its settings, which fetches it when it is not there.
fn probe(
    host: &Host,
    program: &Path,
    toolchain: &str,
    what: &str,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<GoEnv> {
    let args = ["env", "-json", "GOVERSION", "CC", "GOCACHE", "GOPROXY"]
        .map(OsString::from)
        .to_vec();
    let job = Job {
        host,
        program,
        args,
        folder,
        env: environment(toolchain),
        unset: UNSET,
    };
    let name = format!("looking for Go {}", toolchain.trim_start_matches("go"));
    let wrong = |found: String| Error::WrongGo {
        what: what.to_owned(),
        wanted: toolchain.to_owned(),
        found,
        remedy: format!(
            "A Go of {FIRST_WITH_TOOLCHAINS} or newer fetches {toolchain} by itself, through GOPROXY. Install one (https://go.dev/dl), or {toolchain} itself."
        ),
    };
    let began = std::time::Instant::now();
    let ended = job
        .run(&name, "steps", progress, &build_line)
        .map_err(|error| {
            wrong(format!(
                "but {} {}",
                program.display(),
                subprocess::could_not_run(&error)
            ))
        })?;
    let elapsed = began.elapsed();
    if elapsed.as_secs() >= 2 {
        progress.on(crate::progress::Event::Finished {
            task: &name,
            note: "",
            elapsed,
        });
    }
    if !ended.status.success() {
        let proxy = host.var("GOPROXY").map_or_else(
            || "Go's default".to_owned(),
            |proxy| proxy.to_string_lossy().into_owned(),
        );
        return Err(match judge(what, toolchain, &proxy, &job, &ended) {
            Error::Build(failure) => wrong(format!(
                "and {} cannot become it: {}",
                program.display(),
                failure.tail.join(" / ")
            )),
            other => other,
        });
    }
    let env: GoEnv = serde_json::from_str(&ended.stdout).map_err(|error| {
        wrong(format!(
            "but {} does not answer `go env -json`: {error}",
            program.display()
        ))
    })?;
    let exact = env
        .version
        .strip_prefix(toolchain)
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit() || next == '.'));
    if exact {
        Ok(env)
    } else {
        Err(wrong(format!(
            "and {} is {}",
            program.display(),
            env.version
        )))
    }
}

/// Compiles a program of one line: finds a missing compiler and missing C headers alike.
fn check_c_compiler(
    host: &Host,
    cc: &str,
    what: &str,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let missing = || Error::NoCCompiler {
        what: what.to_owned(),
        compiler: cc.to_owned(),
    };
    let mut words = cc.split_whitespace();
    let program = words
        .next()
        .and_then(|name| host.find_program(name))
        .ok_or_else(missing)?;
    let source = folder.join("probe.c");
    fs::write(
        &source,
        "#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n",
    )
    .map_err(Error::cache("write", &source))?;
    let args = words
        .map(OsString::from)
        .chain(["-o".into(), folder.join("probe").into(), source.into()])
        .collect();
    let job = Job {
        host,
        program: &program,
        args,
        folder,
        env: Vec::new(),
        unset: &[],
    };
    match job.run("looking for a C compiler", "steps", progress, &|_| {
        Line::Words
    }) {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => match subprocess::disk_full_line(&ended.tail) {
            Some(line) => Err(Error::DiskFull {
                what: what.to_owned(),
                detail: line.clone(),
                places: space::describe(&[folder.to_owned()]),
            }),
            None => Err(missing()),
        },
        Err(_) => Err(missing()),
    }
}

/// Sorts what `go build -v` says: a package path alone is a step; fetching is worth a note.
fn build_line(line: &str) -> Line {
    match line.strip_prefix("go: downloading ") {
        Some(module) => Line::Note(format!("fetching {module}")),
        None if !line.is_empty() && !line.contains(char::is_whitespace) && !line.contains(':') => {
            Line::Step
        }
        None => Line::Words,
    }
}

/// Puts a failed call of `go` under the remedy that it calls for.
fn judge(what: &str, toolchain: &str, proxy: &str, job: &Job<'_>, ended: &Ended) -> Error {
    if let Some(line) = subprocess::disk_full_line(&ended.tail) {
        return Error::DiskFull {
            what: what.to_owned(),
            detail: line.clone(),
            places: space::describe(&[job.folder.to_owned()]),
        };
    }
    if let Some(line) = subprocess::network_line(&ended.tail) {
        return Error::NoNetwork {
            what: what.to_owned(),
            detail: line.clone(),
            remedy: format!(
                "The first run needs the Go module proxy (GOPROXY is {proxy}); later runs need no network. Mend the connection or set GOPROXY, \
                 then run the command again; what is already fetched stays."
            ),
        };
    }
    if let Some(line) = ended
        .tail
        .iter()
        .find(|line| line.contains("C compiler") && line.contains("not found"))
    {
        return Error::NoCCompiler {
            what: what.to_owned(),
            compiler: line.clone(),
        };
    }
    if let Some(line) = ended.tail.iter().find(|line| {
        line.contains("toolchain not available") || line.contains("go.mod requires go >=")
    }) {
        return Error::WrongGo {
            what: what.to_owned(),
            wanted: toolchain.to_owned(),
            found: format!("which cannot be had: {line}"),
            remedy: format!(
                "Install {toolchain} (https://go.dev/dl) and put it first on PATH, or set GOPROXY to a proxy that serves it."
            ),
        };
    }
    Error::Build(job.failure(what, ended))
}

/// The file, or the files in a folder by their names.
fn below(wanted: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(wanted) else {
        return vec![wanted.to_owned()];
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_lines_are_steps_and_errors_are_kept() {
        assert!(matches!(build_line("k8s.io/api/core/v1"), Line::Step));
        assert!(
            matches!(build_line("go: downloading k8s.io/api v0.37.2"), Line::Note(note) if note == "fetching k8s.io/api v0.37.2")
        );
        for words in [
            "# k8s.io/api",
            "x.go:3:1: undefined: y",
            "go: no such tool",
            "a.go:1:2:oops",
        ] {
            assert!(matches!(build_line(words), Line::Words), "{words}");
        }
    }
}
