//! What nvidia-smi changes on a card, in the words of public captures (smi/tests/data/README.md).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{User, good, shell};
use insta::assert_snapshot;

fn smi(node: &str, line: &str) -> String {
    good(&shell(User::Me, &["--node", node], line))
}

#[test]
fn power_limits() {
    let line = "nvidia-smi -pl 250; nvidia-smi -pm 1 >/dev/null; nvidia-smi --power-limit=300.5; nvidia-smi -pl 90; echo rc $?
         nvidia-smi --query-gpu=power.limit,enforced.power.limit --format=csv,noheader; nvidia-smi -pl much; echo rc $?";
    assert_snapshot!(smi("1xA100-SXM4-40GB", line));
}

#[test]
fn clocks() {
    let line = "nvidia-smi -pm 1 >/dev/null; now='nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader'
         nvidia-smi -lgc 1095,1410; $now; nvidia-smi -rgc; $now; nvidia-smi --lock-gpu-clocks=1200; $now; nvidia-smi -rgc
         nvidia-smi -lgc 1410,210; echo rc $?; nvidia-smi -lmc 1215; nvidia-smi -rmc
         app='nvidia-smi --query-gpu=clocks.applications.graphics,clocks.applications.memory --format=csv,noheader'
         nvidia-smi -ac 1215,1410; $app; nvidia-smi -ac 1215,1411; echo rc $?; nvidia-smi -rac; $app";
    assert_snapshot!(smi("1xA100-SXM4-40GB", line));
}

#[test]
fn ecc_waits_for_a_reset() {
    let line =
        "ecc='nvidia-smi --query-gpu=ecc.mode.current,ecc.mode.pending --format=csv,noheader'
         nvidia-smi -e 0; $ecc; nvidia-smi -r; $ecc; nvidia-smi -i 0 -e 1";
    assert_snapshot!(smi("1xA100-SXM4-40GB", line));
}

/// Where the state cannot be written, as for a user who is not root, the first card ends the command with NVML's code.
#[test]
fn changes_are_refused_to_users() {
    let folder = common::open_folder();
    let dir = folder.path().join("machine");
    let at = dir.to_str().unwrap();
    let create = ["create", "--node", "2xA100-SXM4-40GB", at];
    good(&common::fakegpu(User::Me, &create).output().unwrap());
    let state = gpu_host::HostTree::open(&dir).unwrap().state_path();
    fs::set_permissions(state, fs::Permissions::from_mode(0o444)).unwrap();
    let user = *common::users().last().unwrap();
    let line = "for change in '-pl 250' '-lgc 1410' -rgc '-ac 1215,1410' '-pm 1' '-e 0' '-am 1' '-mig 1'; do nvidia-smi $change; echo rc $?; done";
    assert_snapshot!(good(&shell(user, &["--state", at], line)));
}

/// A MIG device is no GPU that an option can name: reports of A100s say the same of the real tool.
#[test]
fn cards_are_named_by_index_serial_uuid_and_address() {
    let line = "nvidia-smi mig -i 0 -cgi 19 -C >/dev/null; mig=$(nvidia-smi -L | grep -o 'MIG-[0-9a-f-]*')
         ask() { nvidia-smi -i $1 --query-gpu=index --format=csv,noheader; echo rc $?; }
         ask $mig; for by in serial uuid pci.bus_id index; do ask $(nvidia-smi -i 1 --query-gpu=$by --format=csv,noheader); done
         ask 0f:00.0; ask 12345; ask 0000:0f:00.0,0";
    let options = ["--node", "2xA100-SXM4-40GB", "--mig"];
    assert_eq!(
        good(&shell(User::Me, &options, line)),
        "No devices were found\nrc 6\n1\nrc 0\n1\nrc 0\n1\nrc 0\n1\nrc 0\n1\nrc 0\nNo devices were found\nrc 6\n1\n0\nrc 0\n"
    );
}
