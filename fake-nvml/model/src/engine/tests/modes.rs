//! MIG mode and reset: pending on Ampere, at once on Hopper.
use super::*;

fn modes(bench: &Bench) -> (MigMode, MigMode) {
    (bench.gpu().mig_current, bench.gpu().mig_pending)
}

use MigMode::{Disabled, Enabled};

#[test]
fn ampere_waits_for_a_reset() {
    let mut bench = Bench::with("A100-SXM4-40GB", Options::default());
    assert_eq!(bench.mode(Enabled), Ok(Code::ResetRequired));
    assert_eq!(modes(&bench), (Disabled, Enabled));
    let refusal = bench
        .run(Op::CreateGpuInstance {
            gpu: GPU,
            profile: ProfileId(19),
            placement: None,
        })
        .unwrap_err();
    assert_eq!(refusal.code(), Code::NotSupported);
    assert!(
        refusal
            .to_string()
            .contains("Enabled is pending: reset the GPU"),
        "{refusal}"
    );
    bench.run(Op::Reset { gpu: GPU }).unwrap();
    assert_eq!(modes(&bench), (Enabled, Enabled));
    assert_eq!(bench.cgi(19), Ok(13));
}

#[test]
fn ampere_takes_a_pending_change_back() {
    let mut bench = Bench::with("A100-SXM4-40GB", Options::default());
    bench.mode(Enabled).unwrap();
    assert_eq!(bench.mode(Disabled), Ok(Code::Success));
    assert_eq!(modes(&bench), (Disabled, Disabled));
}

#[test]
fn ampere_on_bare_metal_resets_itself_when_idle() {
    let quirks = Quirks {
        resets_itself: true,
        ..Quirks::default()
    };
    let mut bench = Bench::with(
        "A100-SXM4-40GB",
        Options {
            quirks,
            ..Options::default()
        },
    );
    assert_eq!(bench.mode(Enabled), Ok(Code::Success));
    assert_eq!(modes(&bench), (Enabled, Enabled));
    bench.cgi(19).unwrap();
    assert_eq!(bench.mode(Disabled), Ok(Code::InUse));
    assert_eq!(modes(&bench), (Enabled, Disabled));
}

#[test]
fn ampere_with_instances_keeps_them_until_the_reset() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    bench.cgi(19).unwrap();
    assert_eq!(bench.mode(Disabled), Ok(Code::InUse));
    assert_eq!(bench.gpu().instances.len(), 1);
    bench.run(Op::Reset { gpu: GPU }).unwrap();
    assert_eq!(modes(&bench), (Disabled, Disabled));
    assert!(bench.gpu().instances.is_empty());
}

#[test]
fn hopper_changes_at_once() {
    let mut bench = Bench::with("H100-SXM5-80GB", Options::default());
    assert_eq!(bench.mode(Enabled), Ok(Code::Success));
    assert_eq!(modes(&bench), (Enabled, Enabled));
    assert_eq!(bench.mode(Disabled), Ok(Code::Success));
    assert_eq!(modes(&bench), (Disabled, Disabled));
}

/// The driver asks for Disabled while a sibling still runs, and needs SUCCESS with the truth in activationStatus.
#[test]
fn hopper_with_instances_says_success_and_in_use() {
    let mut bench = Bench::new("H100-SXM5-80GB");
    let gi = bench.cgi(19).unwrap();
    let sequence = bench.machine.events.last_seq();
    assert_eq!(bench.mode(Disabled), Ok(Code::InUse));
    assert_eq!(modes(&bench), (Enabled, Enabled));
    assert_eq!(bench.gpu().instances.len(), 1);
    assert_eq!(
        bench.machine.events.last_seq(),
        sequence,
        "nothing has changed"
    );
    bench.dgi(gi).unwrap();
    assert_eq!(bench.mode(Disabled), Ok(Code::Success));
}

#[test]
fn an_open_client_blocks_the_change() {
    let clients = Clients::new(vec![Client {
        scope: Scope::gpu(GPU),
        pid: Pid(1),
    }]);
    let op = Op::SetMigMode {
        gpu: GPU,
        mode: Enabled,
    };
    let in_use = Ok(Outcome::MigMode {
        activation: Code::InUse,
    });
    let mut hopper = Bench::with("H100-SXM5-80GB", Options::default());
    assert_eq!(hopper.among(op, &clients), in_use);
    assert_eq!(modes(&hopper), (Disabled, Disabled));
    let mut ampere = Bench::with("A100-SXM4-40GB", Options::default());
    assert_eq!(ampere.among(op, &clients), in_use);
    assert_eq!(modes(&ampere), (Disabled, Enabled));
}

#[test]
fn a_reset_clears_what_is_volatile_and_keeps_what_is_not() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(19).unwrap();
    bench.cci(gi, 0).unwrap();
    let inject = |what| Op::Inject { gpu: GPU, what };
    bench
        .run(inject(Injection::Ecc {
            corrected: 3,
            uncorrected: 1,
            gi: None,
            site: EccSite::Memory,
        }))
        .unwrap();
    bench
        .run(inject(Injection::Recovery(RecoveryAction::GpuReset)))
        .unwrap();
    bench
        .run(Op::SetEcc {
            gpu: GPU,
            on: false,
        })
        .unwrap();
    bench
        .run(Op::SetPersistence { gpu: GPU, on: true })
        .unwrap();
    assert!(bench.gpu().ecc_current);
    let uuid = bench.gpu().uuid;
    bench.run(Op::Reset { gpu: GPU }).unwrap();
    let gpu = bench.gpu();
    assert!(gpu.instances.is_empty());
    assert_eq!(gpu.health.ecc_volatile, EccCounts::default());
    assert_eq!(
        gpu.health.ecc_aggregate,
        EccCounts {
            corrected: 3,
            uncorrected: 1,
            ..EccCounts::default()
        }
    );
    assert_eq!(gpu.health.recovery, RecoveryAction::None);
    assert!(!gpu.ecc_current);
    assert!(gpu.persistence);
    assert_eq!((gpu.uuid, gpu.mig_current), (uuid, Enabled));
}

#[test]
fn a_reboot_keeps_mig_mode_on_ampere_alone_and_instances_nowhere() {
    for (model, kept) in [("A100-SXM4-40GB", Enabled), ("H100-SXM5-80GB", Disabled)] {
        let mut bench = Bench::new(model);
        let fresh = bench.gpu().clone();
        bench.cgi(19).unwrap();
        let timeslice = Timeslice::Short;
        bench
            .run(Op::SetTimeslice {
                gpu: GPU,
                timeslice,
            })
            .unwrap();
        bench.machine.gpus[0].health.lost = true;
        bench.machine = bench.machine.rebooted(Now(bench.clock));
        assert_eq!(modes(&bench), (kept, kept), "{model}");
        let gpu = bench.gpu();
        assert!(gpu.instances.is_empty() && !gpu.health.lost, "{model}");
        assert_eq!((gpu.timeslice, &gpu.uuid), (fresh.timeslice, &fresh.uuid));
        // Of an instance that is made anew an old handle must know nothing.
        assert!(bench.machine.next_birth > 0);
    }
}
