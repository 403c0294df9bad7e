//! The rim of the wrapper: reads settings and bundle, rewrites what has to be rewritten, becomes runc.
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::WRAPPER;
use super::adapt::{adapt, adapt_process, device_paths};
use super::command::{Call, Command};
use super::error::Error;
use super::kill::kill_all;
use super::load;
use super::surroundings::Surroundings;

/// What the wrapper must know, kept in a file beside its symlink because the shim hands on little of its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Version of this file: [`Settings::VERSION`].
    pub version: u32,
    /// The real runc.
    pub runc: PathBuf,
    /// The program that serves the container hook, normally the same as the wrapper's.
    pub hook: PathBuf,
    /// The state file of the node's fake cards, on which pods' annotations put load.
    #[serde(default)]
    pub state: Option<PathBuf>,
}

impl Settings {
    /// The version that this program writes and reads.
    const VERSION: u32 = 2;

    fn file_for(wrapper: &Path) -> PathBuf {
        wrapper.with_extension("json")
    }

    fn read(wrapper: &Path) -> Result<Settings, Error> {
        let path = Settings::file_for(wrapper);
        let settings: Settings = read_json(&path, "settings of the OCI wrapper")?;
        if settings.version != Settings::VERSION {
            return Err(Error::Version {
                path,
                found: settings.version,
                known: Settings::VERSION,
            });
        }
        Ok(settings)
    }
}

/// Lays the wrapper into `folder`: a symlink to `program` (ours, which also serves the hook) and the settings, which name the
/// real `runc` and the `state` file of the fake cards, beside it. Returns the path for containerd's
/// `BinaryName`. Laying it again over an older one is fine.
///
/// # Errors
/// When the folder cannot be written.
pub fn install(
    folder: &Path,
    runc: &Path,
    program: &Path,
    state: Option<&Path>,
) -> Result<PathBuf, Error> {
    let wrapper = folder.join(WRAPPER);
    let settings = Settings {
        version: Settings::VERSION,
        runc: runc.into(),
        hook: program.into(),
        state: state.map(Into::into),
    };
    write_json(
        &Settings::file_for(&wrapper),
        "settings of the OCI wrapper",
        &json!(settings),
    )?;
    let fail = |source| Error::Write {
        what: "symlink",
        path: wrapper.clone(),
        source,
    };
    match fs::remove_file(&wrapper) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
        _ => symlink(program, &wrapper).map_err(fail)?,
    }
    Ok(wrapper)
}

/// Runs the wrapper: `argv` as the process got it. Becomes runc; returns an exit code only when that failed.
#[must_use]
pub fn wrapper_main(argv: &[OsString]) -> i32 {
    let command = Command::parse(argv.get(1..).unwrap_or_default());
    let Err(error) = run(argv, &command);
    if let Some(log) = command.log {
        log_error(&log, &error);
    }
    eprintln!("{WRAPPER}: {error}");
    1
}

fn run(argv: &[OsString], command: &Command) -> Result<Infallible, Error> {
    let wrapper = argv.first().map(PathBuf::from).unwrap_or_default();
    let settings = Settings::read(&wrapper)?;
    match &command.call {
        Call::Create { bundle } => {
            let file = bundle.join("config.json");
            let spec: Value = read_json(&file, "bundle")?;
            // Said before anything of the container exists.
            load::wish(&spec)?;
            let node = Surroundings::observe(device_paths(&spec), Some(settings.hook.clone()));
            write_json(&file, "bundle", &adapt(spec, bundle, &node))?;
        }
        Call::Exec { process } => {
            let spec: Value = read_json(process, "process file")?;
            write_json(
                process,
                "process file",
                &adapt_process(spec, &Surroundings::observe([], None)),
            )?;
        }
        Call::Start { id } => {
            if let Some(state) = &settings.state {
                load::begin(state, &command.root.join(id))?;
            }
        }
        Call::Delete { id } => {
            if let Some(state) = &settings.state {
                load::end(state, &command.root.join(id));
            }
        }
        Call::Kill { id } => kill_all(&command.root.join(id)),
        Call::Other => {}
    }
    // With its own name, and not ours, in argv[0]: runc's parts re-execute themselves.
    let source = process::Command::new(&settings.runc)
        .arg0("runc")
        .args(argv.get(1..).unwrap_or_default())
        .exec();
    Err(Error::Exec {
        path: settings.runc,
        source,
    })
}

/// In the form of runc's own log, from whose last error containerd makes the event's text.
fn log_error(log: &Path, error: &Error) {
    let line = json!({"level": "error", "msg": error.to_string()});
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(log) {
        // Nothing is left to tell it to when this fails as well; stderr has the text.
        let _ = writeln!(file, "{line}");
    }
}

fn read_json<T: for<'a> Deserialize<'a>>(path: &Path, what: &'static str) -> Result<T, Error> {
    let text = fs::read(path).map_err(|source| Error::Read {
        what,
        path: path.into(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|source| Error::Parse {
        what,
        path: path.into(),
        source,
    })
}

/// Replaces the file in one step, so that no reader meets half of it.
fn write_json(path: &Path, what: &'static str, value: &Value) -> Result<(), Error> {
    let fail = |source| Error::Write {
        what,
        path: path.into(),
        source,
    };
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let fresh = PathBuf::from(name);
    fs::write(&fresh, value.to_string()).map_err(fail)?;
    fs::rename(&fresh, path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let wrapper = install(
            folder.path(),
            Path::new("/no/such/runc"),
            Path::new("/bin/true"),
            None,
        )
        .expect("laid");
        (folder, wrapper)
    }

    fn argv(wrapper: &Path, rest: &[&str]) -> Vec<OsString> {
        [wrapper.as_os_str()]
            .into_iter()
            .chain(rest.iter().map(std::ffi::OsStr::new))
            .map(Into::into)
            .collect()
    }

    #[test]
    fn it_is_laid_twice_without_complaint_and_finds_its_settings() {
        let (folder, wrapper) = lay();
        assert_eq!(
            install(
                folder.path(),
                Path::new("/runc"),
                Path::new("/bin/false"),
                Some(Path::new("/state"))
            )
            .expect("laid"),
            wrapper
        );
        assert_eq!(
            fs::read_link(&wrapper).expect("a symlink"),
            Path::new("/bin/false")
        );
        let settings = Settings::read(&wrapper).expect("settings");
        assert_eq!(
            settings,
            Settings {
                version: 2,
                runc: "/runc".into(),
                hook: "/bin/false".into(),
                state: Some("/state".into())
            }
        );
    }

    #[test]
    fn a_missing_runc_is_named_in_runcs_log() {
        let (folder, wrapper) = lay();
        let log = folder.path().join("log.json");
        let code = wrapper_main(&argv(
            &wrapper,
            &["--log", log.to_str().expect("text"), "state", "c1"],
        ));
        assert_eq!(code, 1);
        let line: Value = serde_json::from_slice(&fs::read(&log).expect("a log")).expect("JSON");
        assert_eq!(line["level"], "error");
        assert!(
            line["msg"]
                .as_str()
                .expect("text")
                .contains("starting runc /no/such/runc"),
            "{line}"
        );
    }

    #[test]
    fn bundle_and_process_file_are_rewritten_before_runc_starts() {
        let (folder, wrapper) = lay();
        let bundle = folder.path().join("config.json");
        fs::write(
            &bundle,
            json!({"linux": {"cgroupsPath": "/x"}, "root": {"path": "rootfs"}}).to_string(),
        )
        .expect("written");
        let process = folder.path().join("process");
        fs::write(&process, json!({"user": {"uid": 7, "gid": 7}}).to_string()).expect("written");
        for (command, flag, path) in [
            ("create", "--bundle", folder.path()),
            ("exec", "--process", process.as_path()),
        ] {
            let failed = run(
                &[],
                &Command::parse(&argv(
                    Path::new(command),
                    &[flag, path.to_str().expect("text")],
                )),
            );
            assert!(
                matches!(
                    failed,
                    Err(Error::Read {
                        what: "settings of the OCI wrapper",
                        ..
                    })
                ),
                "{failed:?}"
            );
            assert_eq!(
                wrapper_main(&argv(
                    &wrapper,
                    &[command, flag, path.to_str().expect("text"), "c1"]
                )),
                1
            );
        }
        let spec: Value = read_json(&bundle, "bundle").expect("JSON");
        assert_eq!(spec["linux"]["cgroupsPath"], "");
        let root = folder.path().join("rootfs");
        assert_eq!(
            spec["hooks"]["createContainer"][0]["args"],
            json!(["/bin/true", "__container-hook", root])
        );
        let spec: Value = read_json(&process, "process").expect("JSON");
        assert_eq!(spec["user"], json!({"uid": 0, "gid": 0}));
    }

    #[test]
    fn broken_input_is_named() {
        let (folder, wrapper) = lay();
        fs::write(folder.path().join("config.json"), "{").expect("written");
        let call = Command::parse(&argv(
            Path::new("create"),
            &["--bundle", folder.path().to_str().expect("text")],
        ));
        let error = run(&argv(&wrapper, &[]), &call).expect_err("broken");
        assert!(
            error.to_string().starts_with(&format!(
                "bundle {}/config.json is not valid",
                folder.path().display()
            )),
            "{error}"
        );
        fs::write(
            Settings::file_for(&wrapper),
            r#"{"version":9,"runc":"/r","hook":"/h"}"#,
        )
        .expect("written");
        assert!(matches!(
            run(&argv(&wrapper, &[]), &call),
            Err(Error::Version {
                found: 9,
                known: 2,
                ..
            })
        ));
    }
}
