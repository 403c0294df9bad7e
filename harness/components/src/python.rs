//! Installs packages of PyPI into an environment of their own: `python3 -m venv`, then pip with pinned versions and digests.
//! Not a package manager: pip fetches and judges. The environment is moved into the cache afterwards, so its program is called
//! by a path from its own place, never by the paths that pip wrote into it.
//! Requirements come from the lock's folder; a program and its environment go to a work folder of the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::lock::{Component, PythonSource};
use crate::progress::Progress;
use crate::space;
use crate::subprocess::{self, Ended, Job, Line};

/// Name of the environment's folder.
const ENVIRONMENT: &str = "venv";
/// The environment's Python, from its folder.
pub(crate) const PYTHON: &str = "bin/python3";
/// Settings of the user that would lead Python or pip elsewhere.
const UNSET: &[&str] = &[
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_NO_BINARY",
    "PIP_ONLY_BINARY",
];
/// Says its version and the program behind wrappers and links, so that a Python that goes away is noticed.
const ASK: &str = "import os, sys, venv, ensurepip\n\
                   assert sys.version_info >= (3, 9), 'it is Python %d.%d' % sys.version_info[:2]\n\
                   print('%d.%d.%d' % sys.version_info[:3])\n\
                   print(os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable))";

/// A program with its environment, and where they came from.
pub(crate) struct Made {
    pub(crate) program: PathBuf,
    pub(crate) environment: PathBuf,
    pub(crate) origin: String,
}

/// Makes the environment of a component and the program that starts in it.
pub(crate) fn install(
    host: &Host,
    component: &Component,
    source: &PythonSource,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Made> {
    let name = &component.name;
    let Some(python) = host.find_program("python3") else {
        return Err(Error::NoPython {
            name: name.clone(),
            reason: "there is no `python3` on PATH".to_owned(),
        });
    };
    let task = format!("installing {name} (PyPI {})", source.package);
    let pip = Pip {
        host,
        name,
        folder,
        task: &task,
        progress,
    };
    subprocess::task(&task, progress, || {
        let told = pip.python(&python, ["-c", ASK].map(OsString::from).to_vec())?;
        let mut lines = told.stdout.lines();
        let (Some(version), Some(real)) = (lines.next(), lines.next()) else {
            return Err(pip.unusable(&python, &told));
        };
        let environment = folder.join(ENVIRONMENT);
        let place = environment.clone().into_os_string();
        pip.python(Path::new(real), vec!["-m".into(), "venv".into(), place])?;
        let own = environment.join(PYTHON);
        // pip never fetches what a build asks for by itself: that would be whatever is newest, without a digest.
        match &source.build_text {
            None => pip.install(
                &own,
                "requirements.txt",
                &source.text,
                "--only-binary=:all:",
            )?,
            Some(text) => {
                pip.install(&own, "build.txt", text, "--only-binary=:all:")?;
                pip.install(
                    &own,
                    "requirements.txt",
                    &source.text,
                    "--no-build-isolation",
                )?;
                pip.pip(&own, &["uninstall", "--yes", "-r", "build.txt"])?;
            }
        }
        // It has done its work; without it the environment is a third of the size.
        pip.pip(&own, &["uninstall", "--yes", "pip", "setuptools"])?;
        let program = folder.join("program");
        fs::write(&program, starter(component, source)).map_err(Error::cache("write", &program))?;
        Ok(Made {
            program,
            environment,
            origin: format!(
                "pypi {} {}, Python {version}",
                source.package, component.version
            ),
        })
    })
}

/// The program: it finds the environment beside itself.
fn starter(component: &Component, source: &PythonSource) -> String {
    let module = source
        .module
        .as_ref()
        .map(|module| format!("-I -m {module} "))
        .unwrap_or_default();
    format!(
        "#!/bin/sh\n# {} {} of PyPI, in an environment of its own.\nexec \"${{0%/*}}/{ENVIRONMENT}/{PYTHON}\" {module}\"$@\"\n",
        source.package, component.version
    )
}

struct Pip<'a> {
    host: &'a Host,
    name: &'a str,
    folder: &'a Path,
    task: &'a str,
    progress: &'a dyn Progress,
}

impl Pip<'_> {
    fn python(&self, python: &Path, args: Vec<OsString>) -> Result<Ended> {
        let ended = self.run(python, args)?;
        if ended.status.success() {
            Ok(ended)
        } else {
            self.disk(&ended)?;
            Err(self.unusable(python, &ended))
        }
    }

    /// Installs what a requirements file pins.
    fn install(&self, python: &Path, file: &str, text: &str, how: &str) -> Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(Error::cache("write", &path))?;
        self.pip(python, &["install", "--require-hashes", how, "-r", file])
    }

    fn pip(&self, python: &Path, words: &[&str]) -> Result<()> {
        let mut args: Vec<OsString> = [
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--no-input",
            "--quiet",
        ]
        .map(OsString::from)
        .to_vec();
        args.extend(words.iter().map(OsString::from));
        let job = self.job(python, args);
        let ended = self.start(&job)?;
        if ended.status.success() {
            return Ok(());
        }
        self.disk(&ended)?;
        if let Some(line) = subprocess::network_line(&ended.tail) {
            return Err(Error::NoNetwork {
                what: self.name.to_owned(),
                detail: line.clone(),
                remedy: "The first run needs PyPI, or the index that pip is told of; later runs need no network.".to_owned(),
            });
        }
        Err(Error::Build(job.failure(self.name, &ended)))
    }

    fn run(&self, python: &Path, args: Vec<OsString>) -> Result<Ended> {
        self.start(&self.job(python, args))
    }

    fn job<'a>(&'a self, program: &'a Path, args: Vec<OsString>) -> Job<'a> {
        Job {
            host: self.host,
            program,
            args,
            folder: self.folder,
            env: vec![
                ("LC_ALL", "C.UTF-8".into()),
                ("PIP_RETRIES", "1".into()),
                ("PIP_DEFAULT_TIMEOUT", "20".into()),
                ("PIP_ROOT_USER_ACTION", "ignore".into()),
            ],
            unset: UNSET,
        }
    }

    fn start(&self, job: &Job<'_>) -> Result<Ended> {
        job.run(self.task, "steps", self.progress, &|_| Line::Words)
            .map_err(|error| Error::NoPython {
                name: self.name.to_owned(),
                reason: format!(
                    "{} {}",
                    job.program.display(),
                    subprocess::could_not_run(&error)
                ),
            })
    }

    fn disk(&self, ended: &Ended) -> Result<()> {
        match subprocess::disk_full_line(&ended.tail) {
            None => Ok(()),
            Some(line) => Err(Error::DiskFull {
                what: self.name.to_owned(),
                detail: line.clone(),
                places: space::describe(&[self.folder.to_owned()]),
            }),
        }
    }

    fn unusable(&self, python: &Path, ended: &Ended) -> Error {
        let mut said = ended
            .stdout
            .lines()
            .chain(ended.tail.iter().map(String::as_str));
        let words = said
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("it says nothing");
        Error::NoPython {
            name: self.name.to_owned(),
            reason: format!("{} cannot make environments: {words}", python.display()),
        }
    }
}
