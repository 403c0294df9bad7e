//! nvidia-smi's texts and exit codes, as snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::{User, good, redact, shell};
use insta::assert_snapshot;

const MIG: &[&str] = &["--node", "1xA100-SXM4-40GB", "--mig"];

fn smi(options: &[&str], line: &str) -> String {
    redact(&good(&shell(User::Me, options, line)))
}

#[test]
fn the_table() {
    assert_snapshot!(smi(&["--node", "1xA100-SXM4-40GB,1xL4"], "nvidia-smi"));
}

#[test]
fn the_table_with_partitions() {
    assert_snapshot!(smi(
        MIG,
        "nvidia-smi mig -cgi 9,14:2 -C >/dev/null; nvidia-smi"
    ));
}

#[test]
fn profiles_and_placements() {
    assert_snapshot!(smi(MIG, "nvidia-smi mig -lgip; nvidia-smi mig -lgipp"));
}

#[test]
fn seven_partitions_and_no_eighth() {
    assert_snapshot!(smi(
        MIG,
        "nvidia-smi mig -cgi 19,19,19,19,19,19,19 -C; nvidia-smi -L; nvidia-smi mig -cgi 19; echo rc $?"
    ));
}

#[test]
fn a_life_of_instances() {
    assert_snapshot!(smi(
        MIG,
        "nvidia-smi mig -cgi 3g.20gb,MIG\\ 1g.5gb+me:0; nvidia-smi mig -lgi; nvidia-smi mig -lci; echo rc $?
         nvidia-smi mig -cci 1c.3g.20gb,0 -gi 2; nvidia-smi mig -lcip -gi 2; nvidia-smi mig -cci -gi 7; nvidia-smi mig -lci; nvidia-smi -L
         nvidia-smi mig -dgi -gi 2; echo rc $?
         nvidia-smi mig -dci -ci 1 -gi 2; nvidia-smi mig -dci; nvidia-smi mig -dgi; nvidia-smi mig -dgi; echo rc $?"
    ));
}

#[test]
fn compute_instances_where_they_are_asked_for() {
    assert_snapshot!(smi(
        MIG,
        "nvidia-smi mig -cgi 9:4; nvidia-smi mig -lcipp; nvidia-smi mig -cci 0:2,0; nvidia-smi mig -lci; nvidia-smi | grep -A12 'MIG devices'; nvidia-smi mig -cci 0:2; echo rc $?
         nvidia-smi mig -lcipp -gi 7; echo rc $?"
    ));
}

#[test]
fn mig_mode_waits_for_a_reset_on_ampere_and_not_on_hopper() {
    assert_snapshot!(smi(
        &["--node", "1xA100-SXM4-40GB,1xH100-SXM5-80GB,1xL4"],
        "query='nvidia-smi --query-gpu=index,mig.mode.current,mig.mode.pending --format=csv,noheader'
         nvidia-smi -mig 1; $query; nvidia-smi -i 0 -r; $query; nvidia-smi -i 1 -mig 0; $query"
    ));
}

#[test]
fn queries() {
    assert_snapshot!(smi(
        &["--node", "2xA100-SXM4-40GB"],
        "nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,memory.total,memory.used,driver_version,mig.mode.current,compute_mode,ecc.mode.current,fan.speed,serial --format=csv
         nvidia-smi -i 1 --query-gpu=index,memory.total --format=csv,noheader,nounits
         nvidia-smi -i 00000000:07:00.0 --query-gpu=index --format=csv,noheader
         nvidia-smi --query-gpu=index,nonsense --format=csv; echo rc $?
         nvidia-smi -i 7 -L; echo rc $?
         nvidia-smi --version"
    ));
}

#[test]
fn settings() {
    assert_snapshot!(smi(
        &["--node", "1xA100-SXM4-40GB"],
        "nvidia-smi -pm 1; nvidia-smi -pm 1; nvidia-smi -c EXCLUSIVE_PROCESS; nvidia-smi -c 3
         nvidia-smi compute-policy -l; nvidia-smi compute-policy -i $(nvidia-smi --query-gpu=uuid --format=csv,noheader) --set-timeslice 3; nvidia-smi compute-policy
         nvidia-smi mig -lgip; echo rc $?; nvidia-smi -x; echo rc $?; nvidia-smi mig -cgi; echo rc $?"
    ));
}

#[test]
fn wrong_profiles_and_placements() {
    assert_snapshot!(smi(
        MIG,
        "nvidia-smi mig -cgi 99; echo rc $?; nvidia-smi mig -cgi 2g.5gb; echo rc $?; nvidia-smi mig -cgi 9:1; echo rc $?
         nvidia-smi mig -cgi 19,19,14,9; echo rc $?"
    ));
}

/// Loops come to their end with their count, and when nobody reads on.
#[test]
fn loops_end() {
    let text = smi(
        &["--node", "2xL4"],
        "nvidia-smi dmon -c 2 -d 0 -s um | wc -l; nvidia-smi pmon -c 1; nvidia-smi -lms 10 --query-gpu=index --format=csv | head -5
         nvidia-smi -L -f /tmp/list.$$; cat /tmp/list.$$; rm /tmp/list.$$",
    );
    assert_snapshot!(text);
}

/// Every line of a table is as wide as its border, whatever stands in it.
#[test]
fn tables_are_straight() {
    for model in ["A100-SXM4-40GB", "A100-SXM4-80GB", "H100-SXM5-80GB"] {
        let node = format!("12x{model}");
        let text = smi(
            &["--node", &node, "--mig"],
            "nvidia-smi mig -cgi 9,19 -C >/dev/null; nvidia-smi; nvidia-smi mig -lgip; nvidia-smi mig -lgi; nvidia-smi mig -lci; nvidia-smi mig -lcip; nvidia-smi compute-policy",
        );
        let mut width = 0;
        for line in text.lines().filter(|l| l.starts_with(['|', '+'])) {
            if line.starts_with("+-") && !line.trim_matches(['+', '-']).contains(' ') {
                width = if width == 0 || line.len() != width {
                    line.len()
                } else {
                    width
                };
            }
            assert_eq!(line.len(), width, "{model}: {line}");
        }
    }
}
