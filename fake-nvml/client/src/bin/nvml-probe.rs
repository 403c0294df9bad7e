//! What a program inside a container gets from NVML, as one JSON object: the test program of the `gpu-test` image.
//! Not nvidia-smi: no tables and no options but `--write`, which also tries a call that changes the GPU and reports its answer.
//! Data comes from whatever `libnvidia-ml.so.1` the loader finds and goes to stdout.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use nvml_client::{Device, Error, Nvml, Result};

fn main() -> ExitCode {
    let write = std::env::args()
        .skip(1)
        .any(|argument| argument == "--write");
    match Nvml::init().and_then(|nvml| report(&nvml, write)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("nvml-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(nvml: &Nvml, write: bool) -> Result<String> {
    let gpus = nvml
        .devices()?
        .iter()
        .map(|gpu| describe(gpu, write))
        .collect::<Result<Vec<_>>>()?;
    Ok(format!(
        r#"{{"driver":{},"gpus":[{}]}}"#,
        quote(&nvml.driver_version()?),
        gpus.join(",")
    ))
}

fn describe(gpu: &Device<'_>, write: bool) -> Result<String> {
    // A card without MIG says NOT_SUPPORTED: it then has no partitions.
    let mig = gpu.mig_mode().is_ok_and(|(current, _)| current);
    let partitions = if mig { gpu.mig_devices()? } else { Vec::new() };
    let partitions = partitions
        .iter()
        .map(|partition| entry(partition, ""))
        .collect::<Result<Vec<_>>>()?;
    let mut more = format!(r#","mig":{mig},"partitions":[{}]"#, partitions.join(","));
    if write {
        let answer = match gpu.set_persistence_mode(true) {
            Ok(()) => "Success",
            Err(Error::Call { code, .. }) => code.text(),
            Err(error) => return Err(error),
        };
        more += &format!(r#","write":{}"#, quote(answer));
    }
    entry(gpu, &more)
}

fn entry(device: &Device<'_>, more: &str) -> Result<String> {
    let (name, uuid, mib) = (device.name()?, device.uuid()?, device.memory()?.total >> 20);
    Ok(format!(
        r#"{{"name":{},"uuid":{},"memoryMiB":{mib}{more}}}"#,
        quote(&name),
        quote(&uuid)
    ))
}

/// NVML's names hold no control characters, but a quotation mark would break the reader.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
