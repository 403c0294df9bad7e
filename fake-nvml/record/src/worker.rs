//! The process that makes the calls: requests in by lines, replies out by lines.
//! Not the choice of what to call (`walk`), and never a setter (`nvml_client::raw`).
use crate::{
    ask::{Reply, Request, Wire},
    layout::{hex, unhex},
    target::Target,
};
use nvml_client::raw::{Arg, Called, Raw};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{BufRead, Write},
};

/// The first argument by which a program knows that it is to be a worker; the library's path follows.
pub const WORKER_ARG: &str = "--nvml-record-worker";

/// `NVML_INIT_FLAG_NO_GPUS`, `NVML_INIT_FLAG_NO_ATTACH` is not set: GPUs are looked at as other programs do.
const NO_GPUS: u64 = 1;

/// Serves until the input ends. Says why it cannot.
///
/// # Errors
/// The library does not load, or does not begin.
pub fn work(library: &OsStr, input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    let library_name = library.to_string_lossy().into_owned();
    let library = Raw::open(library).map_err(|e| format!("cannot load {library_name}: {e}"))?;
    let begun = library.call("nvmlInitWithFlags", &mut [Arg::Number(NO_GPUS)]);
    match begun {
        Ok(Called::Code(0)) => {}
        other => return Err(format!("{library_name}: nvmlInitWithFlags says {other:?}")),
    }
    let mut worker = Worker {
        library,
        handles: BTreeMap::new(),
    };
    for line in input.lines() {
        let line = line.map_err(|e| e.to_string())?;
        let reply = match serde_json::from_str(&line) {
            Ok(request) => worker.serve(&request),
            Err(e) => Reply::Died(format!("not understood: {e}")),
        };
        let line = serde_json::to_string(&reply).map_err(|e| e.to_string())?;
        writeln!(output, "{line}")
            .and_then(|()| output.flush())
            .map_err(|e| e.to_string())?;
    }
    let _ = worker.library.call("nvmlShutdown", &mut []);
    Ok(())
}

struct Worker {
    library: Raw,
    handles: BTreeMap<Target, u64>,
}

impl Worker {
    fn serve(&mut self, request: &Request) -> Reply {
        let mut args = Vec::new();
        let target: Target = match request.on.parse() {
            Ok(target) => target,
            Err(why) => return Reply::Died(why),
        };
        match self.handle(target) {
            Ok(None) => {}
            Ok(Some(handle)) => args.push(Arg::Number(handle)),
            Err(reply) => return reply,
        }
        for wire in &request.args {
            args.push(match wire {
                Wire::Number(number) => Arg::Number(*number),
                Wire::Bytes(text) => match unhex(text) {
                    Some(bytes) => Arg::Bytes(bytes),
                    None => return Reply::Died(format!("`{text}` is no hexadecimal text")),
                },
                Wire::Gpu(index) => match self.handle(Target::Gpu(*index as u32)) {
                    Ok(handle) => Arg::Number(handle.unwrap_or_default()),
                    Err(reply) => return reply,
                },
            });
        }
        match self.library.call(&request.function, &mut args) {
            Ok(Called::Code(code)) => Reply::Returned {
                code,
                bytes: args
                    .iter()
                    .filter_map(|arg| match arg {
                        Arg::Bytes(bytes) => Some(hex(bytes)),
                        Arg::Number(_) => None,
                    })
                    .collect(),
            },
            Ok(Called::Absent) => Reply::Absent,
            Ok(Called::Overrun(code)) => Reply::Overrun(code),
            Err(refused) => Reply::Died(refused.to_string()),
        }
    }

    fn handle(&mut self, target: Target) -> Result<Option<u64>, Reply> {
        if target == Target::System {
            return Ok(None);
        }
        if let Some(known) = self.handles.get(&target) {
            return Ok(Some(*known));
        }
        let (function, before, number) = match target {
            Target::System => return Ok(None),
            Target::Gpu(gpu) => ("nvmlDeviceGetHandleByIndex_v2", None, gpu),
            Target::Mig(gpu, index) => (
                "nvmlDeviceGetMigDeviceHandleByIndex",
                self.handle(Target::Gpu(gpu))?,
                index,
            ),
            Target::Gi(gpu, id) => (
                "nvmlDeviceGetGpuInstanceById",
                self.handle(Target::Gpu(gpu))?,
                id,
            ),
            Target::Ci(gpu, gi, id) => (
                "nvmlGpuInstanceGetComputeInstanceById",
                self.handle(Target::Gi(gpu, gi))?,
                id,
            ),
        };
        let mut args: Vec<Arg> = before.into_iter().map(Arg::Number).collect();
        args.push(Arg::Number(u64::from(number)));
        args.push(Arg::Bytes(vec![0; 8]));
        match self.library.call(function, &mut args) {
            Ok(Called::Code(0)) => {
                let bytes = match args.last() {
                    Some(Arg::Bytes(bytes)) => bytes.as_slice().try_into().unwrap_or_default(),
                    _ => [0; 8],
                };
                let handle = u64::from_ne_bytes(bytes);
                self.handles.insert(target, handle);
                Ok(Some(handle))
            }
            Ok(Called::Code(code) | Called::Overrun(code)) => Err(Reply::NoTarget(code)),
            Ok(Called::Absent) => Err(Reply::Absent),
            Err(refused) => Err(Reply::Died(refused.to_string())),
        }
    }
}
