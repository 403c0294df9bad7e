//! Instances: who may go when, what stays stable, what is refused with which code.
use super::*;

#[test]
fn compute_instances_go_before_their_gpu_instance() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(9).unwrap();
    bench.cci(gi, 2).unwrap();
    assert_eq!(bench.dgi(gi), Err(Code::InUse));
    bench.dci(gi, 0).unwrap();
    bench.dgi(gi).unwrap();
    assert_eq!(bench.dgi(gi), Err(Code::NotFound));
    assert_eq!(bench.dci(gi, 0), Err(Code::NotFound));
}

#[test]
fn an_open_client_keeps_what_it_holds() {
    let mut bench = Bench::new("H100-SXM5-80GB");
    let gi = bench.cgi(19).unwrap();
    bench.cci(gi, 0).unwrap();
    let client = |scope| {
        Clients::new(vec![Client {
            scope,
            pid: Pid(42),
        }])
    };
    let monitor = client(Scope::gi(GPU, GiId(gi)));
    let worker = client(Scope::ci(GPU, GiId(gi), CiId(0)));
    let card = client(Scope::gpu(GPU));
    let dci = Op::DestroyComputeInstance {
        gpu: GPU,
        gi: GiId(gi),
        ci: CiId(0),
    };
    let dgi = Op::DestroyGpuInstance {
        gpu: GPU,
        gi: GiId(gi),
    };
    let reset = Op::Reset { gpu: GPU };
    let code =
        |bench: &mut Bench, op, clients: &Clients| bench.among(op, clients).map_err(|r| r.code());

    assert_eq!(code(&mut bench, dci, &worker), Err(Code::InUse));
    for clients in [&monitor, &worker, &card] {
        assert_eq!(code(&mut bench, reset, clients), Err(Code::InUse));
    }
    // A monitor lets the compute instance go, then keeps the GPU instance: what a driver must expect.
    assert_eq!(code(&mut bench, dci, &monitor), Ok(Outcome::Done));
    let refusal = bench.among(dgi, &monitor).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "GPU 0 GPU instance 13 is open in process 42 (as its own PID namespace counts): end it first"
    );
    assert_eq!(code(&mut bench, dgi, &card), Ok(Outcome::Done));
}

#[test]
fn a_recreated_instance_has_the_same_id_and_another_birth() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(19).unwrap();
    let (_, _, uuid) = bench.cci(gi, 0).unwrap();
    let before = bench.gpu().instances[0].clone();
    bench.dci(gi, 0).unwrap();
    bench.dgi(gi).unwrap();
    assert_eq!(bench.cgi(19), Ok(gi));
    let (_, _, again) = bench.cci(gi, 0).unwrap();
    let after = &bench.gpu().instances[0];
    assert_eq!(uuid, again, "UUIDs are made from the place");
    assert!(after.birth > before.birth);
    assert!(after.compute[0].birth > before.compute[0].birth);
}

#[test]
fn uuids_differ_between_devices_cards_and_nodes() {
    let mut seen = std::collections::BTreeSet::new();
    for node in ["a", "b"] {
        let options = Options {
            node: node.to_owned(),
            mig: true,
            ..Options::default()
        };
        let mut machine = machine(&[("A100-SXM4-40GB", 2)], &options);
        for gpu in [GpuIndex(0), GpuIndex(1)] {
            assert!(seen.insert(machine.gpu(gpu).unwrap().uuid.to_string()));
            for _ in 0..7 {
                let op = Op::CreateGpuInstance {
                    gpu,
                    profile: ProfileId(19),
                    placement: None,
                };
                let (next, outcome) = machine.apply(op, Now(1)).unwrap();
                let Outcome::GpuInstance { id, .. } = outcome else {
                    panic!("{outcome:?}")
                };
                let op = Op::CreateComputeInstance {
                    gpu,
                    gi: id,
                    profile: ProfileId(0),
                    placement: None,
                };
                let (next, outcome) = next.apply(op, Now(1)).unwrap();
                let Outcome::ComputeInstance { uuid, .. } = outcome else {
                    panic!("{outcome:?}")
                };
                assert_eq!(uuid.to_string().parse(), Ok(uuid));
                assert!(seen.insert(uuid.to_string()));
                machine = next;
            }
        }
    }
    assert_eq!(seen.len(), 2 * (2 + 14));
}

#[test]
fn wrong_arguments_get_the_code_that_nvml_gives() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    assert_eq!(bench.cgi(99), Err(Code::InvalidArgument), "no such profile");
    assert_eq!(
        bench.cgi_at(14, Some((1, 2))),
        Err(Code::InvalidArgument),
        "2g can not start at 1"
    );
    assert_eq!(
        bench.cgi_at(14, Some((0, 4))),
        Err(Code::InvalidArgument),
        "nor be four long"
    );
    assert_eq!(bench.cgi_at(14, Some((0, 2))), Ok(3));
    assert_eq!(
        bench.cgi_at(14, Some((0, 2))),
        Err(Code::InsufficientResources),
        "taken"
    );
    assert_eq!(
        bench.cci(3, 2).map(|_| ()),
        Err(Code::InvalidArgument),
        "no 3c in a 2g"
    );
    assert_eq!(
        bench.cci(9, 0).map(|_| ()),
        Err(Code::NotFound),
        "no such GPU instance"
    );
    let elsewhere = Op::SetPersistence {
        gpu: GpuIndex(7),
        on: true,
    };
    let refusal = bench.run(elsewhere).unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument);
    assert_eq!(
        refusal.to_string(),
        "there is no GPU 7: this machine has 1, counted from 0"
    );
    let limit = Op::SetPowerLimit {
        gpu: GPU,
        limit: Some(MilliWatts(900_000)),
    };
    assert_eq!(bench.run(limit).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_compute_instance_goes_where_it_is_told_or_nowhere() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = GiId(bench.cgi(5).unwrap());
    let mut at = |profile, start, size| {
        let placement = Some(Placement { start, size });
        let profile = ProfileId(profile);
        bench
            .run(Op::CreateComputeInstance { gpu: GPU, gi, profile, placement })
            .map_err(|refusal| refusal.code())
            .map(|outcome| matches!(outcome, Outcome::ComputeInstance { placement: p, .. } if Some(p) == placement))
    };
    assert_eq!(at(1, 2, 2), Ok(true));
    assert_eq!(
        at(1, 1, 2),
        Err(Code::InvalidArgument),
        "2c does not start at 1"
    );
    assert_eq!(at(0, 3, 1), Err(Code::InsufficientResources), "taken");
    assert_eq!(at(1, 2, 2), Err(Code::InsufficientResources), "taken");
    assert_eq!(at(0, 1, 1), Ok(true));
    assert_eq!(bench.gpu().instances[0].compute[1].id, CiId(1));
}

#[test]
fn a_card_without_mig_says_not_supported() {
    let mut bench = Bench::new("L4");
    assert_eq!(bench.gpu().mig_current, MigMode::Disabled);
    assert_eq!(bench.mode(MigMode::Enabled), Err(Code::NotSupported));
    assert_eq!(bench.cgi(19), Err(Code::NotSupported));
    assert_eq!(bench.machine.max_mig_devices(bench.gpu()), 0);
}

#[test]
fn profiles_are_found_by_enumerator_with_holes() {
    let machine = Bench::with("A100-SXM4-40GB", Options::default()).machine;
    let gpu = machine.gpu(GPU).unwrap();
    let mig = machine.mig_spec(gpu).unwrap();
    let seen: Vec<Option<u32>> = (0..18)
        .map(|raw| mig.at(raw).ok().map(|p| p.id.0))
        .collect();
    let mut expected = [None; 18];
    for (raw, id) in [(0, 19), (1, 14), (2, 9), (3, 5), (4, 0), (7, 20), (9, 15)] {
        expected[raw] = Some(id);
    }
    assert_eq!(seen, expected);
    assert_eq!(mig.at(5).unwrap_err().code(), Code::NotSupported);
    assert_eq!(mig.at(18).unwrap_err().code(), Code::InvalidArgument);
    let small = mig.at(0).unwrap();
    assert_eq!(small.compute_at(0).unwrap().id, ProfileId(0));
    assert_eq!(small.compute_at(1).unwrap_err().code(), Code::NotSupported);
    assert_eq!(
        small.compute_at(9).unwrap_err().code(),
        Code::InvalidArgument
    );
    assert_eq!(
        machine.remaining(gpu, small).unwrap_err().code(),
        Code::NotSupported,
        "MIG mode is off"
    );
}

#[test]
fn events_are_numbered_and_the_ring_is_bounded() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let xid = |xid, gi| Op::Inject {
        gpu: GPU,
        what: Injection::Xid {
            xid,
            gi,
            ci: gi.map(|_| CiId(0)),
        },
    };
    bench.run(xid(48, None)).unwrap();
    let seen = bench.machine.events.last_seq();
    bench.run(xid(94, Some(GiId(13)))).unwrap();
    let new = bench.machine.events.after(seen);
    assert_eq!(new.len(), 1);
    assert_eq!((new[0].kind.type_bit(), new[0].kind.data()), (8, 94));
    assert_eq!((new[0].gi, new[0].ci), (Some(GiId(13)), Some(CiId(0))));
    assert_eq!(bench.gpu().health.last_xid, Some(94));
    for n in 0..300 {
        bench.run(xid(n, None)).unwrap();
    }
    let all = bench.machine.events.all();
    assert_eq!(all.len(), Events::CAPACITY);
    assert!(all.windows(2).all(|w| w[1].seq == w[0].seq + 1));
    assert_eq!(
        bench.machine.events.after(0).len(),
        Events::CAPACITY,
        "a late reader gets what is left"
    );
    assert_eq!(
        bench.machine.events.after(bench.machine.events.last_seq()),
        []
    );
}

#[test]
fn a_lost_gpu_refuses_everything_but_injection() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let lost = |lost| Op::Inject {
        gpu: GPU,
        what: Injection::Lost(lost),
    };
    bench.run(lost(true)).unwrap();
    assert_eq!(bench.cgi(19), Err(Code::GpuIsLost));
    assert_eq!(
        bench.run(Op::Reset { gpu: GPU }).unwrap_err().code(),
        Code::GpuIsLost
    );
    bench.run(lost(false)).unwrap();
    assert_eq!(bench.cgi(19), Ok(13));
}

#[test]
fn load_shows_and_energy_never_falls() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let show = |bench: &Bench, later: u64| {
        let gpu = bench.gpu();
        Telemetry::of(bench.machine.spec(gpu), gpu, Now(bench.clock + later))
    };
    let idle = show(&bench, 0);
    assert_eq!((idle.gpu, idle.memory_used), (Percent(0), MiB(0)));
    let load = |gi, compute| Op::Inject {
        gpu: GPU,
        what: Injection::Load {
            gi,
            compute: Percent(compute),
            memory: MiB(1000),
        },
    };
    let mut last = idle.energy;
    let gi = bench.cgi(9).unwrap();
    for step in [
        load(None, 50),
        load(Some(GiId(gi)), 100),
        Op::DestroyGpuInstance {
            gpu: GPU,
            gi: GiId(gi),
        },
        Op::Reset { gpu: GPU },
    ] {
        let before = show(&bench, 900_000);
        bench.run(step).unwrap();
        let after = show(&bench, 0);
        assert!(
            before.energy >= last && after.energy >= before.energy,
            "{step:?}"
        );
        last = after.energy;
    }
    bench.run(load(None, 100)).unwrap();
    let busy = show(&bench, 0);
    assert!(busy.gpu.0 >= 95 && busy.power > idle.power && busy.temperature > idle.temperature);
    assert_eq!(busy.memory_used, MiB(1000));
    assert_eq!(
        show(&bench, 0),
        show(&bench, 0),
        "a function of state and time"
    );
}
