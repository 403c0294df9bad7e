//! Processes on a GPU as the tables list them: one row each, whatever lists it stands in.
//! Names come from NVML, and from `/proc` where the library does not know them.

use nvml_client::{Device, Nvml, ProcessKind};

/// A row.
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// `C`, `G`, `C+G`, `M+C`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) memory: Option<u64>,
    pub(crate) gpu_instance: Option<u32>,
    pub(crate) compute_instance: Option<u32>,
}

pub(crate) fn of(nvml: &Nvml, gpu: &Device<'_>) -> Vec<Running> {
    let mut rows: Vec<Running> = Vec::new();
    for (kind, word) in [
        (ProcessKind::Compute, "C"),
        (ProcessKind::Graphics, "G"),
        (ProcessKind::Mps, "M+C"),
    ] {
        for process in gpu.processes(kind).unwrap_or_default() {
            let same = rows.iter_mut().find(|row| {
                row.pid == process.pid
                    && row.gpu_instance == process.gpu_instance
                    && row.compute_instance == process.compute_instance
            });
            match same {
                Some(row) if word == "G" => row.kind = "C+G",
                Some(row) => row.kind = word,
                None => rows.push(Running {
                    pid: process.pid,
                    kind: word,
                    name: name(nvml, process.pid),
                    memory: process.memory,
                    gpu_instance: process.gpu_instance,
                    compute_instance: process.compute_instance,
                }),
            }
        }
    }
    rows.sort_by_key(|row| (row.gpu_instance, row.compute_instance, row.pid));
    rows
}

/// The command of a process.
pub(crate) fn name(nvml: &Nvml, pid: u32) -> String {
    if let Ok(name) = nvml.process_name(pid)
        && !name.is_empty()
    {
        return name;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = line.split(|b| *b == 0).next().unwrap_or_default();
    if first.is_empty() {
        "[Not Found]".into()
    } else {
        String::from_utf8_lossy(first).into_owned()
    }
}
