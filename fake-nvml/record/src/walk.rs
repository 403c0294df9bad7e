//! The walk over a machine: the system, its GPUs, their MIG devices and instances as they stand. Nothing is changed.
//! Not the asking itself (`ask`).
use crate::{
    ask::{Process, Reply, Request, Wire},
    getters::{Getter, getters},
    layout::unhex,
    recording::{Call, FORMAT, Failure, Origin, OriginKind, Recording},
    target::Target,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// How to walk.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program and its version, for the origin.
    pub tool: String,
    /// The time, for the origin.
    pub taken: String,
}

/// What is on the machine.
struct Found {
    targets: Vec<Target>,
    gpus: u32,
}

/// MIG devices and instances that a GPU can have at most.
const MOST_MIG: u32 = 8;
const MOST_GI: u32 = 15;
const MOST_CI: u32 = 8;

/// Asks everything. `progress` hears how many targets are done.
///
/// # Errors
/// What `nvmlDeviceGetCount_v2` did instead of answering.
pub fn walk(
    process: &mut Process,
    options: &Options,
    mut progress: impl FnMut(usize, usize),
) -> Result<Recording, String> {
    let found = look(process)?;
    let mut recording = Recording {
        format: FORMAT,
        origin: Origin {
            kind: OriginKind::Machine,
            taken: options.taken.clone(),
            tool: options.tool.clone(),
            driver_version: None,
            nvml_version: None,
            cuda_version: None,
            anonymous: false,
            sources: Vec::new(),
            notes: Vec::new(),
        },
        absent: Vec::new(),
        calls: Vec::new(),
    };
    let (mut absent, mut hung) = (BTreeSet::new(), BTreeSet::new());
    for (done, target) in found.targets.iter().enumerate() {
        progress(done, found.targets.len());
        let peers: Vec<u32> = (0..found.gpus)
            .filter(|gpu| Some(*gpu) != target.gpu())
            .collect();
        for getter in getters() {
            if !getter.on.iter().any(|kind| kind == target.kind()) {
                continue;
            }
            for arguments in getter.arguments(&peers) {
                if absent.contains(&getter.name) {
                    break;
                }
                let call =
                    match hung.contains(&getter.name) {
                        true => Some(answered(getter, *target, &arguments, Reply::TimedOut)).map(
                            |call| Call {
                                failure: Some(Failure::NotAskedAgain),
                                ..call
                            },
                        ),
                        false => match process.ask(&request(getter, *target, &arguments)) {
                            Reply::Absent => {
                                absent.insert(getter.name.clone());
                                None
                            }
                            reply => Some(answered(getter, *target, &arguments, reply)),
                        },
                    };
                if let Some(call) = call {
                    if call.failure == Some(Failure::TimedOut) {
                        hung.insert(getter.name.clone());
                    }
                    recording.calls.push(call);
                }
            }
        }
    }
    progress(found.targets.len(), found.targets.len());
    recording.absent = absent.into_iter().collect();
    let text = |function: &str, field: &str| {
        recording
            .answer(function, "system")
            .and_then(|value| value.get(field))
            .cloned()
    };
    let string = |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned));
    let driver_version = string(text("nvmlSystemGetDriverVersion", "text"));
    let nvml_version = string(text("nvmlSystemGetNVMLVersion", "text"));
    let cuda_version = text("nvmlSystemGetCudaDriverVersion_v2", "cudaDriverVersion")
        .and_then(|v| i32::try_from(v.as_i64()?).ok());
    recording.origin.driver_version = driver_version;
    recording.origin.nvml_version = nvml_version;
    recording.origin.cuda_version = cuda_version;
    Ok(recording)
}

/// The request for one call.
pub(crate) fn request(getter: &Getter, target: Target, arguments: &[(String, u64)]) -> Request {
    Request {
        function: getter.name.clone(),
        on: target.to_string(),
        args: getter.wire(arguments),
    }
}

/// The call as it is written down.
pub(crate) fn answered(
    getter: &Getter,
    target: Target,
    arguments: &[(String, u64)],
    reply: Reply,
) -> Call {
    let mut call = Call {
        function: getter.name.clone(),
        version: getter.version(),
        on: target.to_string(),
        args: arguments.iter().cloned().collect(),
        code: None,
        failure: None,
        granularity: None,
        value: serde_json::Map::new(),
    };
    match reply {
        Reply::Returned { code, bytes } => {
            call.code = Some(code);
            if code == 0 {
                let bytes: Vec<Vec<u8>> = bytes.iter().filter_map(|text| unhex(text)).collect();
                call.value = getter.value(&bytes);
            }
        }
        Reply::NoTarget(code) => call.code = Some(code),
        Reply::Overrun(code) => {
            call.code = Some(code);
            call.failure = Some(Failure::Overrun);
        }
        Reply::TimedOut => call.failure = Some(Failure::TimedOut),
        Reply::Absent | Reply::Died(_) => call.failure = Some(Failure::Died),
    }
    call
}

/// Which targets there are.
fn look(process: &mut Process) -> Result<Found, String> {
    let count = Request {
        function: "nvmlDeviceGetCount_v2".to_owned(),
        on: Target::System.to_string(),
        args: vec![Wire::Bytes("00000000".to_owned())],
    };
    let gpus = match process.ask(&count) {
        Reply::Returned { code: 0, bytes } => bytes
            .first()
            .and_then(|text| unhex(text)?.try_into().ok().map(u32::from_le_bytes))
            .unwrap_or_default(),
        other => return Err(format!("nvmlDeviceGetCount_v2: {other:?}")),
    };
    let mut targets = vec![Target::System];
    for gpu in 0..gpus {
        targets.push(Target::Gpu(gpu));
        let mig = (0..MOST_MIG).map(|index| Target::Mig(gpu, index));
        let instances: Vec<u32> = (0..MOST_GI)
            .filter(|gi| opens(process, Target::Gi(gpu, *gi)))
            .collect();
        targets.extend(mig.filter(|mig| opens(process, *mig)));
        for gi in instances {
            targets.push(Target::Gi(gpu, gi));
            let compute = (0..MOST_CI).map(|ci| Target::Ci(gpu, gi, ci));
            targets.extend(compute.filter(|ci| opens(process, *ci)));
        }
    }
    Ok(Found { targets, gpus })
}

/// Whether a target is there: a getter that needs it is reached.
fn opens(process: &mut Process, target: Target) -> bool {
    let function = match target {
        Target::Gi(..) => "nvmlGpuInstanceGetInfo",
        Target::Ci(..) => "nvmlComputeInstanceGetInfo_v2",
        _ => "nvmlDeviceGetIndex",
    };
    let request = Request {
        function: function.to_owned(),
        on: target.to_string(),
        args: vec![Wire::Bytes("00".repeat(64))],
    };
    matches!(process.ask(&request), Reply::Returned { .. })
}
