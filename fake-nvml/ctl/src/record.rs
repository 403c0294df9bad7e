//! `fakegpu record`: what NVML says on this machine, written down. It only reads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use nvml_record::{Options, Process, Recording, Varies, WORKER_ARG, model_file, walk};

use crate::error::Error;

/// Arguments of `record`.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The NVML library.
    #[arg(long, value_name = "PATH", default_value = "libnvidia-ml.so.1")]
    library: PathBuf,
    /// The recording; a model file of each GPU model is written beside it.
    #[arg(short, long, value_name = "FILE", default_value = "recording.json")]
    output: PathBuf,
    /// Take out what identifies the machine: UUIDs, serial numbers, PCI addresses, processes.
    #[arg(long, visible_alias = "anonymise")]
    anonymize: bool,
    /// Seconds that a call may take; one that takes longer is noted as hanging and not made again.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
}

/// Serves as the worker, if this process was started as one.
pub(crate) fn worker() -> Option<std::process::ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != WORKER_ARG {
        return None;
    }
    let library = args.next().unwrap_or_default();
    let done = nvml_record::work(&library, std::io::stdin().lock(), std::io::stdout().lock());
    Some(match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("fakegpu record: {why}");
            std::process::ExitCode::from(2)
        }
    })
}

/// A process of this very program that asks this library.
pub(crate) fn asking(library: &Path, timeout: Duration) -> Result<Process, Error> {
    let program = std::env::current_exe().map_err(|source| Error::File {
        what: "find",
        path: "/proc/self/exe".into(),
        source,
    })?;
    let args: Vec<OsString> = vec![WORKER_ARG.into(), library.into()];
    Ok(Process::new(program, args, timeout))
}

impl Record {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let timeout = Duration::try_from_secs_f64(self.timeout)
            .ok()
            .filter(|t| !t.is_zero())
            .ok_or(Error::Timeout {
                given: self.timeout,
            })?;
        let mut process = asking(&self.library, timeout)?;
        let options = Options {
            tool: format!("fakegpu {}", env!("CARGO_PKG_VERSION")),
            taken: jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
        };
        let mut recording =
            walk(&mut process, &options, |_, _| {}).map_err(|why| Error::NoRecording {
                library: self.library.clone(),
                why,
            })?;
        if self.anonymize {
            recording.anonymise(&Varies::builtin()?);
        }
        recording.write(&self.output)?;
        println!(
            "{}: driver {}, {} GPUs, {} calls, {} functions that this library does not have",
            self.output.display(),
            recording
                .origin
                .driver_version
                .as_deref()
                .unwrap_or("unknown"),
            recording.gpus(),
            recording.calls.len(),
            recording.absent.len()
        );
        for (function, how) in failures(&recording) {
            println!("failed: {function}: {how}");
        }
        self.models(&recording)
    }

    /// One model file for each model that is there.
    fn models(&self, recording: &Recording) -> Result<(), Error> {
        let mut written = Vec::new();
        for gpu in 0..recording.gpus() {
            let (model, text) = match model_file(recording, gpu) {
                Ok(made) => made,
                Err(why) => {
                    println!("no model file of {why}");
                    continue;
                }
            };
            if written.contains(&model) {
                continue;
            }
            let path = self
                .output
                .with_extension(format!("{}.yaml", model.to_lowercase()));
            std::fs::write(&path, text).map_err(|source| Error::File {
                what: "write",
                path: path.clone(),
                source,
            })?;
            println!(
                "{}: a model file for {model}; try fakegpu model check {}",
                path.display(),
                path.display()
            );
            written.push(model);
        }
        Ok(())
    }
}

/// Functions that did not answer, with how.
fn failures(recording: &Recording) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for call in &recording.calls {
        if let Some(failure) = call.failure
            && found.iter().all(|(function, _)| *function != call.function)
        {
            found.push((call.function.clone(), format!("{failure:?} on {}", call.on)));
        }
    }
    found
}
