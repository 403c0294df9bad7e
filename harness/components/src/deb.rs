//! Takes a program out of a Debian package without installing it, as any user; elsewhere takes an equal program of the system.
//! Not a package manager: one package, no dependencies; a `dynamic` program must find its libraries on this system. apt checks the package's signature chain.
//! Packages come from apt's own sources; the program goes to a work folder of the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::elf;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::lock::DebSource;
use crate::progress::Progress;
use crate::space;
use crate::subprocess::{self, Ended, Job, Line};

/// A program and where it came from in the end.
pub(crate) struct Taken {
    pub(crate) program: PathBuf,
    pub(crate) origin: String,
}

/// `debian 12`, from os-release: part of the cache key, since each release has its own version of a package.
pub(crate) fn release() -> String {
    format!("{} {}", os_release("ID"), os_release("VERSION_ID"))
}

fn os_release(name: &str) -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .map_or("unknown", |value| value.trim_matches('"'))
        .to_owned()
}

/// Gets the program, from apt if there is one, else from the system.
pub(crate) fn take(
    host: &Host,
    name: &str,
    deb: &DebSource,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Taken> {
    let from_apt = match (host.find_program("apt-get"), host.find_program("dpkg-deb")) {
        (Some(apt), Some(dpkg)) => Apt {
            host,
            apt,
            dpkg,
            folder,
            package: &deb.package,
            progress,
        }
        .take(name, deb),
        _ => Err(Error::NoDeb {
            name: name.to_owned(),
            reason: format!(
                "its package {} needs apt-get and dpkg-deb, which this system has not",
                deb.package
            ),
            remedy: remedy(name, deb),
        }),
    };
    match from_apt {
        Err(Error::NoDeb { .. } | Error::NoNetwork { .. }) => {
            from_system(host, name, deb, folder, progress)?.map_or(from_apt, Ok)
        }
        other => other,
    }
}

fn remedy(name: &str, deb: &DebSource) -> String {
    let places: Vec<String> = deb
        .system
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    if deb.dynamic {
        return format!(
            "Install {name} with what it needs, so that it is found as {} (Debian, Ubuntu: `apt-get install {}`; Fedora: `dnf install {name}`; \
             Arch: `pacman -S {name}`), or name one with --component {name}=PATH.",
            places.join(" or "),
            deb.package
        );
    }
    format!(
        "Install a statically linked {name} so that it is found as {} (Fedora: `dnf install {name}`; Alpine: `apk add {name}-static`; Arch: `pacman -S {name}`), \
         or name one with --component {name}=PATH.",
        places.join(" or ")
    )
}

/// First program of the system that needs nothing beside it.
fn from_system(
    host: &Host,
    name: &str,
    deb: &DebSource,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Option<Taken>> {
    // Alpine calls the static one `busybox.static`.
    let places = deb.system.iter().cloned().chain([
        PathBuf::from(format!("{name}.static")),
        PathBuf::from(format!("/bin/{name}.static")),
    ]);
    let Some(found) = places
        .filter_map(|place| host.find_program(place))
        .find(|program| deb.dynamic || elf::is_static(program))
    else {
        return Ok(None);
    };
    let copy = folder.join("from-system");
    fs::copy(&found, &copy).map_err(Error::cache("copy the system's program to", &copy))?;
    progress.on(crate::progress::Event::Note {
        text: &format!("{name}: taken from {}", found.display()),
    });
    Ok(Some(Taken {
        program: copy,
        origin: format!("system {}", found.display()),
    }))
}

struct Apt<'a> {
    host: &'a Host,
    apt: PathBuf,
    dpkg: PathBuf,
    folder: &'a Path,
    package: &'a str,
    progress: &'a dyn Progress,
}

impl Apt<'_> {
    fn take(&self, name: &str, deb: &DebSource) -> Result<Taken> {
        let task = format!("fetching {name} (Debian package {})", self.package);
        subprocess::task(&task, self.progress, || {
            let package = self.download(&task, name, deb)?;
            let version = self.dpkg(
                &task,
                ["-f".into(), package.clone().into(), "Version".into()],
                name,
                deb,
            )?;
            let unpacked = self.folder.join("unpacked");
            self.dpkg(
                &task,
                ["-x".into(), package.into(), unpacked.clone().into()],
                name,
                deb,
            )?;
            let program = unpacked.join(&deb.file);
            if deb.dynamic {
                self.libraries(&task, &program, name, deb)?;
            } else if !elf::is_static(&program) {
                let reason = format!(
                    "package {} has no statically linked program {}",
                    self.package,
                    deb.file.display()
                );
                return Err(Error::NoDeb {
                    name: name.to_owned(),
                    reason,
                    remedy: remedy(name, deb),
                });
            }
            Ok(Taken {
                program,
                origin: format!("deb {} {}", self.package, version.stdout.trim()),
            })
        })
    }

    /// The system has every library that the program names.
    fn libraries(&self, task: &str, program: &Path, name: &str, deb: &DebSource) -> Result<()> {
        // Without the tool that can tell, the program itself tells when it starts.
        let Some(ldd) = self.host.find_program("ldd") else {
            return Ok(());
        };
        let told = self
            .run(task, &ldd, vec![program.into()])
            .map_err(|error| self.not_started(name, deb, &error))?;
        let missing: Vec<&str> = told
            .stdout
            .lines()
            .filter_map(|line| line.trim().strip_suffix(" => not found"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::NoDeb {
            name: name.to_owned(),
            reason: format!(
                "its program {} needs {}, which this system has not",
                deb.file.display(),
                missing.join(", ")
            ),
            remedy: remedy(name, deb),
        })
    }

    /// Sources for a section of the archive that the system does not read: its own Debian sources, with that section.
    fn section(
        &self,
        task: &str,
        section: &str,
        name: &str,
        deb: &DebSource,
    ) -> Result<Vec<OsString>> {
        let args = [
            "indextargets",
            "--format",
            "$(SITE) $(RELEASE) $(COMPONENT)",
            "Created-By: Packages",
        ];
        let told = self
            .run(task, &self.apt, args.map(OsString::from).to_vec())
            .map_err(|error| self.not_started(name, deb, &error))?;
        let codename = os_release("VERSION_CODENAME");
        let keyring = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
        let signed = if keyring.exists() {
            format!("[signed-by={}] ", keyring.display())
        } else {
            String::new()
        };
        let sources: String = told
            .stdout
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                let (site, release) = (words.next()?, words.next()?);
                let own = words.next() == Some("main")
                    && (release == codename || release == format!("{codename}-updates"));
                own.then(|| format!("deb {signed}{site} {release} {section}\n"))
            })
            .collect();
        let file = self.folder.join("section.list");
        fs::write(&file, sources).map_err(Error::cache("write", &file))?;
        let mut list = OsString::from("Dir::Etc::SourceList=");
        list.push(&file);
        Ok(vec![list, "Dir::Etc::SourceParts=-".into()])
    }

    /// Downloads with the system's package lists; when they are missing or stale, with lists of its own, which needs no root.
    fn download(&self, task: &str, name: &str, deb: &DebSource) -> Result<PathBuf> {
        let state = self.folder.join("apt");
        for made in ["lists/partial", "cache/archives/partial"] {
            let made = state.join(made);
            fs::create_dir_all(&made).map_err(Error::cache("make", &made))?;
        }
        let own = [
            ("Dir::State::lists=", state.join("lists")),
            ("Dir::Cache=", state.join("cache")),
        ]
        .map(|(key, folder)| {
            let mut option = OsString::from(key);
            option.push(folder);
            option
        });
        let mut own = own.to_vec();
        let with = |options: &[OsString], words: &[&str]| {
            let options = options
                .iter()
                .cloned()
                .flat_map(|option| ["-o".into(), option]);
            let words = words.iter().map(OsString::from);
            let args = common().into_iter().chain(options).chain(words).collect();
            self.run(task, &self.apt, args)
                .map_err(|error| self.not_started(name, deb, &error))
        };

        let download = ["download", self.package];
        let mut ended = with(&[], &download)?;
        let mut said = ended.tail.clone();
        if !ended.status.success() && subprocess::disk_full_line(&said).is_none() {
            if let Some(section) = &deb.section {
                own.extend(self.section(task, section, name, deb)?);
            }
            // Where there is no network apt calls this a success with warnings, and the warnings say why.
            said.extend(with(&own, &["update"])?.tail);
            ended = with(&own, &download)?;
            said.extend(ended.tail.iter().cloned());
        }
        if ended.status.success() {
            self.downloaded(name, deb)
        } else {
            ended.tail = said;
            Err(self.judge(name, deb, &ended))
        }
    }

    fn downloaded(&self, name: &str, deb: &DebSource) -> Result<PathBuf> {
        let is_package =
            |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
        let files = fs::read_dir(self.folder).map_err(Error::cache("read", self.folder))?;
        files
            .flatten()
            .map(|entry| entry.path())
            .find(is_package)
            .ok_or_else(|| Error::NoDeb {
                name: name.to_owned(),
                reason: format!(
                    "`apt-get download {}` ended well but left no package",
                    self.package
                ),
                remedy: remedy(name, deb),
            })
    }

    fn dpkg<const N: usize>(
        &self,
        task: &str,
        args: [OsString; N],
        name: &str,
        deb: &DebSource,
    ) -> Result<Ended> {
        match self.run(task, &self.dpkg, args.to_vec()) {
            Ok(ended) if ended.status.success() => Ok(ended),
            Ok(ended) => Err(self.judge(name, deb, &ended)),
            Err(error) => Err(self.not_started(name, deb, &error)),
        }
    }

    fn run(&self, task: &str, program: &Path, args: Vec<OsString>) -> std::io::Result<Ended> {
        let env = vec![
            ("LC_ALL", "C".into()),
            ("DEBIAN_FRONTEND", "noninteractive".into()),
        ];
        let job = Job {
            host: self.host,
            program,
            args,
            folder: self.folder,
            env,
            unset: &[],
        };
        job.run(task, "steps", self.progress, &|_| Line::Words)
    }

    fn not_started(&self, name: &str, deb: &DebSource, error: &std::io::Error) -> Error {
        let reason = format!(
            "{} {}",
            self.apt.display(),
            subprocess::could_not_run(error)
        );
        Error::NoDeb {
            name: name.to_owned(),
            reason,
            remedy: remedy(name, deb),
        }
    }

    fn judge(&self, name: &str, deb: &DebSource, ended: &Ended) -> Error {
        if let Some(line) = subprocess::disk_full_line(&ended.tail) {
            return Error::DiskFull {
                what: name.to_owned(),
                detail: line.clone(),
                places: space::describe(&[self.folder.to_owned()]),
            };
        }
        if let Some(line) = subprocess::network_line(&ended.tail) {
            let remedy = format!(
                "The first run needs Debian's package mirror; later runs need no network. {}",
                remedy(name, deb)
            );
            return Error::NoNetwork {
                what: name.to_owned(),
                detail: line.clone(),
                remedy,
            };
        }
        let words = ended
            .tail
            .iter()
            .rev()
            .find(|line| line.starts_with("E:"))
            .or(ended.tail.last())
            .cloned()
            .unwrap_or_default();
        let reason = format!("apt cannot give its package {}: {words}", self.package);
        Error::NoDeb {
            name: name.to_owned(),
            reason,
            remedy: remedy(name, deb),
        }
    }
}

/// Options of every call: few tries, short waits, no change of user (a private folder is not readable for another one).
fn common() -> Vec<OsString> {
    [
        "-q",
        "-o",
        "Acquire::Retries=1",
        "-o",
        "Acquire::http::Timeout=20",
        "-o",
        "Acquire::https::Timeout=20",
        "-o",
        "APT::Sandbox::User=",
    ]
    .map(OsString::from)
    .to_vec()
}
