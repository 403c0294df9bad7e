//! Accounts of processes, in `-d ACCOUNTING` and in XML.
//! Not the modes of accounting (`identity`) and the processes of now (`mig`).
//! Lines and elements are those of a capture of driver 580.159.03 and of an older XML (smi/tests/data/README.md).

use nvml_client::{Account, Device};

use super::tree::{Look, Node};
use crate::value;

/// The text: behind the modes, where a filter asks for them.
pub(super) fn text(gpu: &Device<'_>) -> Node {
    let mut lines = Vec::new();
    for (pid, account) in gpu.accounts() {
        lines.push(Node::value("Process ID", "", pid.to_string()));
        let names = [
            "    GPU Utilization",
            "    Memory Utilization",
            "    Max memory usage",
            "    Time",
            "    Is Running",
        ];
        let shown = names.into_iter().zip(values(&account));
        lines.extend(shown.map(|(name, shown)| Node::value(name, "", shown)));
    }
    Node::look("Accounted Processes", "", Look::OrNone, lines)
}

/// The elements: behind the processes of now.
pub(super) fn xml(gpu: &Device<'_>) -> Node {
    if let Err(e) = gpu.accounting_mode() {
        return Node::value("", "accounted_processes", value::missing(&e));
    }
    let process = |(pid, account): (u32, Account)| {
        let names = [
            "gpu_util",
            "memory_util",
            "max_memory_usage",
            "time",
            "is_running",
        ];
        let pid = Node::value("", "pid", pid.to_string());
        let shown = names.into_iter().zip(values(&account));
        let lines = shown.map(|(name, shown)| Node::value("", name, shown));
        let lines = std::iter::once(pid).chain(lines).collect();
        Node::group("", "accounted_process_info", lines)
    };
    let processes = gpu.accounts().into_iter().map(process).collect();
    Node::group("", "accounted_processes", processes)
}

fn values(account: &Account) -> [String; 5] {
    let or = |shown: Option<String>| shown.unwrap_or_else(|| "N/A".into());
    let percent = |share: Option<u32>| or(share.map(|p| format!("{p} %")));
    [
        percent(account.gpu),
        percent(account.memory),
        or(account
            .max_memory
            .map(|bytes| format!("{} MiB", value::mib(bytes)))),
        format!("{} ms", account.milliseconds),
        u8::from(account.running).to_string(),
    ]
}
