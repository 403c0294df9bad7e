//! Loads: whose share is how big, what memory is left, and energy that is exactly the sum of power.
use super::*;
use proptest::prelude::*;

fn process(pid: u32, real: bool) -> Option<Process> {
    Some(Process {
        pid: Pid(pid),
        name: format!("job{pid}"),
        kind: ProcessKind::Compute,
        real,
    })
}

fn load(scope: Scope, memory: u64, shape: Shape) -> NewLoad {
    NewLoad {
        scope,
        process: None,
        memory: MiB(memory),
        shape,
        traffic: Traffic::default(),
        since: None,
        until: None,
    }
}

fn moving(pcie: (u64, u64), nvlink: (u64, u64)) -> Traffic {
    let flow = |(sent, received)| Flow {
        sent: Rate(sent),
        received: Rate(received),
    };
    Traffic {
        pcie: flow(pcie),
        nvlink: flow(nvlink),
    }
}

fn put(bench: &mut Bench, load: NewLoad) -> Result<LoadId, Code> {
    let (next, id) = bench
        .machine
        .with_load(load, Now(bench.clock))
        .map_err(|it| it.code())?;
    bench.machine = next;
    Ok(id)
}

fn whole() -> Scope {
    Scope::gpu(GPU)
}

#[test]
fn shares_of_instances_add_up_to_the_card() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(9).unwrap(); // 3g of 7
    let small = bench.cgi(19).unwrap(); // 1g of 7
    bench.cci(gi, 0).unwrap(); // 1c of 3
    let in_ci = Scope::ci(GPU, GiId(gi), CiId(0));
    put(&mut bench, load(in_ci, 100, Shape::constant(9_000))).unwrap();
    put(
        &mut bench,
        load(Scope::gi(GPU, GiId(small)), 200, Shape::constant(7_000)),
    )
    .unwrap();
    let (gpu, spec, now) = (
        bench.gpu(),
        bench.machine.spec(bench.gpu()),
        Now(bench.clock),
    );
    let busy = |gi: Option<u32>, ci: Option<u32>| gpu.busy(spec, gi.map(GiId), ci.map(CiId), now).0;
    assert_eq!(busy(Some(gi), Some(0)), 90);
    assert_eq!(busy(Some(gi), None), 30);
    assert_eq!(busy(Some(small), None), 70);
    assert_eq!(busy(None, None), 23, "90 * 1/7 + 70 * 1/7");
    assert_eq!(Telemetry::of(spec, gpu, now).gpu, Percent(23));
    assert_eq!(
        (gpu.memory_used(now), gpu.memory_used_in(GiId(gi), now)),
        (MiB(300), MiB(100))
    );
    let uses = gpu.uses(spec, now);
    assert_eq!(
        uses.iter()
            .map(|it| (it.of_scope.0, it.of_card.0))
            .collect::<Vec<_>>(),
        [(90, 13), (70, 10)]
    );
}

#[test]
fn those_who_ask_for_too_much_take_turns() {
    let mut bench = Bench::with("L4", Options::default());
    for level in [10_000, 10_000, 5_000] {
        put(&mut bench, load(whole(), 1, Shape::constant(level))).unwrap();
    }
    let (gpu, spec) = (bench.gpu(), bench.machine.spec(bench.gpu()));
    let uses = gpu.uses(spec, Now(bench.clock));
    assert_eq!(
        uses.iter().map(|it| it.of_card.0).collect::<Vec<_>>(),
        [40, 40, 20]
    );
    assert_eq!(gpu.busy(spec, None, None, Now(bench.clock)), Percent(100));
}

#[test]
fn memory_is_that_of_the_instance() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(19).unwrap();
    let scope = Scope::gi(GPU, GiId(gi));
    assert_eq!(
        put(&mut bench, load(whole(), 1, Shape::constant(0))),
        Err(Code::NotSupported),
        "no work on the whole card in MIG mode"
    );
    put(&mut bench, load(scope, 4_000, Shape::constant(0))).unwrap();
    let refusal = bench
        .machine
        .with_load(load(scope, 1_000, Shape::constant(0)), Now(bench.clock))
        .unwrap_err();
    assert!(
        matches!(
            refusal,
            Refusal::NoMemory {
                asked: MiB(1_000),
                free: MiB(864),
                total: MiB(4_864),
                ..
            }
        ),
        "{refusal:?}"
    );
    assert_eq!(
        put(
            &mut bench,
            load(Scope::gi(GPU, GiId(0)), 1, Shape::constant(0))
        ),
        Err(Code::NotFound)
    );
    let mut plain = Bench::with("A100-SXM4-40GB", Options::default());
    let total = plain.machine.spec(plain.gpu()).memory_total.0;
    assert_eq!(
        put(&mut plain, load(whole(), total + 1, Shape::constant(0))),
        Err(Code::Memory)
    );
}

#[test]
fn a_process_keeps_its_instance() {
    let mut bench = Bench::new("H100-SXM5-80GB");
    let gi = bench.cgi(19).unwrap();
    bench.cci(gi, 0).unwrap();
    let scope = Scope::ci(GPU, GiId(gi), CiId(0));
    let id = put(
        &mut bench,
        NewLoad {
            process: process(5, false),
            ..load(scope, 1, Shape::constant(0))
        },
    )
    .unwrap();
    assert_eq!(bench.dci(gi, 0), Err(Code::InUse));
    assert_eq!(
        bench.run(Op::Reset { gpu: GPU }).map_err(|it| it.code()),
        Err(Code::InUse)
    );
    bench.machine = bench.machine.without_load(id, Now(bench.clock)).unwrap();
    let gone = bench
        .machine
        .without_load(id, Now(bench.clock))
        .unwrap_err();
    assert_eq!(
        gone.to_string(),
        format!("there is no load {id}: there is none")
    );
    bench.dci(gi, 0).unwrap();
    bench.dgi(gi).unwrap();
}

#[test]
fn work_without_a_process_goes_with_its_instance() {
    let mut bench = Bench::new("H100-SXM5-80GB");
    let gi = bench.cgi(19).unwrap();
    bench.cci(gi, 0).unwrap();
    put(
        &mut bench,
        load(Scope::ci(GPU, GiId(gi), CiId(0)), 1, Shape::constant(0)),
    )
    .unwrap();
    put(
        &mut bench,
        load(Scope::gi(GPU, GiId(gi)), 1, Shape::constant(0)),
    )
    .unwrap();
    bench.dci(gi, 0).unwrap();
    assert_eq!(bench.gpu().loads.len(), 1);
    bench.dgi(gi).unwrap();
    assert!(bench.gpu().loads.is_empty());
}

#[test]
fn a_real_process_that_ends_frees_its_load() {
    let mut bench = Bench::with("L4", Options::default());
    let scope = whole();
    put(
        &mut bench,
        NewLoad {
            process: process(5, true),
            ..load(scope, 1, Shape::constant(100))
        },
    )
    .unwrap();
    let alive = Clients::new(vec![Client { scope, pid: Pid(5) }]);
    let other = Clients::new(vec![Client { scope, pid: Pid(6) }]);
    assert!(bench.machine.has_real_loads());
    assert_eq!(
        (
            bench.machine.ended(&alive).count(),
            bench.machine.ended(&other).count()
        ),
        (0, 1)
    );
    let set = Op::SetPersistence { gpu: GPU, on: true };
    bench.among(set, &alive).unwrap();
    assert_eq!(bench.gpu().loads.len(), 1);
    bench.among(set, &other).unwrap();
    assert!(
        bench.gpu().loads.is_empty(),
        "the next change writes it down"
    );
}

#[test]
fn loads_come_and_go_by_themselves() {
    let mut bench = Bench::with("L4", Options::default());
    let now = bench.clock;
    let times = NewLoad {
        since: Some(Now(now + 100)),
        until: Some(Now(now + 200)),
        ..load(whole(), 7, Shape::constant(5_000))
    };
    put(&mut bench, times).unwrap();
    let (gpu, spec) = (bench.gpu(), bench.machine.spec(bench.gpu()));
    let at = |t| {
        (
            gpu.memory_used(Now(now + t)).0,
            gpu.busy(spec, None, None, Now(now + t)).0,
        )
    };
    assert_eq!(
        [99, 100, 199, 200].map(at),
        [(0, 0), (7, 50), (7, 50), (0, 0)]
    );
}

#[test]
fn traffic_goes_over_the_links_that_there_are() {
    let traffic = moving((1_000, 500), (12_000, 0));
    // Half of the time at its busiest, which is not all that the card can do.
    let with = |scope| NewLoad {
        traffic,
        ..load(scope, 0, Shape::square(0, 5_000, 2_000_000, 1_000_000))
    };
    let mut bench = Bench::with("A100-SXM4-40GB", Options::default());
    put(&mut bench, with(whole())).unwrap();
    let start = Now(bench.clock);
    let after = |seconds: u64| Now(start.0 + seconds * 1_000_000);
    let (gpu, spec) = (bench.gpu(), bench.machine.spec(bench.gpu()).clone());
    let links = u64::from(spec.nvlink.as_ref().unwrap().links);
    assert_eq!(Traffic::of(&spec, gpu, None, start), traffic);
    assert!(Traffic::of(&spec, gpu, None, after(1)).is_none());
    let moved = gpu.moved(&spec, after(2 * links));
    assert_eq!(
        (moved.pcie.sent, moved.pcie.received),
        (1_000 * links, 500 * links)
    );
    assert_eq!(moved.links.len() as u64, links);
    let same = Flow {
        sent: 12_000,
        received: 0,
    };
    assert!(moved.links.iter().all(|link| *link == same), "{moved:?}");

    // One that only moves data moves it all the time.
    let mut idle = Bench::with("A100-SXM4-40GB", Options::default());
    let only = NewLoad {
        traffic,
        ..load(whole(), 0, Shape::constant(0))
    };
    put(&mut idle, only).unwrap();
    assert_eq!(
        idle.gpu()
            .moved(&spec, Now(idle.clock + 3_000_000))
            .pcie
            .sent,
        3_000
    );

    // Over links that are down nothing goes; the others take it, and no counter falls.
    bench.clock = after(2 * links).0;
    for link in 1..links {
        let link = u32::try_from(link).unwrap();
        let down = Op::Inject {
            gpu: GPU,
            what: Injection::NvLink { link, up: false },
        };
        let next = bench
            .machine
            .apply_among(down, Now(bench.clock), &Clients::none());
        bench.machine = next.unwrap().0;
    }
    let moved = bench.gpu().moved(&spec, after(4 * links));
    assert_eq!(moved.links[0].sent, 12_000 + 12_000 * links);
    assert!(moved.links[1..].iter().all(|link| *link == same));

    // Where a card has no such links, or only as a whole, that is said.
    let mut flat = Bench::with("L4", Options::default());
    assert_eq!(put(&mut flat, with(whole())), Err(Code::NotSupported));
    let mut cut = Bench::new("A100-SXM4-40GB");
    let gi = cut.cgi(9).unwrap();
    let scope = Scope::gi(GPU, GiId(gi));
    assert_eq!(put(&mut cut, with(scope)), Err(Code::NotSupported));
    let only_pcie = NewLoad {
        traffic: moving((1_000, 500), (0, 0)),
        ..with(scope)
    };
    put(&mut cut, only_pcie).unwrap();
}

#[test]
fn loads_share_a_link_that_is_too_narrow() {
    let mut bench = Bench::with("A100-SXM4-40GB", Options::default());
    let spec = bench.machine.spec(bench.gpu()).clone();
    let carries = spec.pcie.unwrap().carries().unwrap().0;
    // Fourth generation, sixteen lanes: the 31.5 GB/s that its data sheets round to.
    assert_eq!(carries / 10_000_000, 3_150);
    for (sent, received) in [(carries, carries / 4), (carries, carries / 4)] {
        let traffic = moving((sent, received), (0, 0));
        let load = NewLoad {
            traffic,
            ..load(whole(), 0, Shape::constant(Shape::FULL))
        };
        put(&mut bench, load).unwrap();
    }
    let shown = Traffic::of(&spec, bench.gpu(), None, Now(bench.clock)).pcie;
    assert!(shown.sent.0.abs_diff(carries) <= 2, "{shown:?}");
    assert!(shown.received.0.abs_diff(carries / 2) <= 2, "{shown:?}");
}

/// Something that happens to a card, and how long after what was before.
#[derive(Clone, Debug)]
enum Step {
    Put {
        on: u32,
        shape: Shape,
        later: u64,
        lasts: Option<u64>,
    },
    End,
    Limit(u32),
    ClockBack(u64),
    Destroy,
}

/// All moments are multiples of this, so that between two of them every curve is a straight line.
const TICK: u64 = 1_000;

fn shape() -> impl Strategy<Value = Shape> {
    let level = 0u32..=Shape::FULL;
    let times = |most: u64| (1..most).prop_map(|ticks| ticks * TICK);
    prop_oneof![
        level.clone().prop_map(Shape::constant),
        (level.clone(), level.clone(), times(5_000)).prop_map(|(a, b, t)| Shape::ramp(a, b, t)),
        (level.clone(), level.clone(), times(3_000), times(3_000))
            .prop_map(|(a, b, p, h)| Shape::square(a, b, p, h)),
        prop::collection::vec((times(1_000), level), 2..6).prop_map(|steps| {
            let mut at = 0;
            let points = steps.into_iter().enumerate().map(|(i, (step, level))| {
                at += if i == 0 { 0 } else { step };
                Point { at, level }
            });
            Shape::new(points.collect(), true).expect("a curve")
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let times = |most: u64| (0..most).prop_map(|ticks| ticks * TICK);
    prop_oneof![
        4 => (0u32..3, shape(), times(500), prop::option::of(times(2_000)))
            .prop_map(|(on, shape, later, lasts)| Step::Put { on, shape, later, lasts }),
        1 => Just(Step::End),
        1 => (100_000u32..400_000).prop_map(Step::Limit),
        1 => times(3_000).prop_map(Step::ClockBack),
        1 => Just(Step::Destroy),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    /// Between any two moments the counters rise by the area under the power and the rates that are shown, whatever happens in
    /// between, and they never fall, also when the clock goes back.
    #[test]
    fn counters_are_sums_of_what_is_shown(steps in prop::collection::vec((step(), 1u64..3_000), 1..10)) {
        let mut bench = Bench::new("A100-SXM4-40GB");
        let gis = [bench.cgi(9).unwrap(), bench.cgi(14).unwrap(), bench.cgi(19).unwrap()];
        let mut now = bench.clock;
        let start = nanojoules(&bench.machine, now);
        let (mut sum, mut ticks, mut sent) = (0, 0, 0);
        for (step, wait) in steps {
            bench.machine = act(&bench.machine, &gis, step, &mut now);
            let (gpu, spec) = (bench.gpu(), bench.machine.spec(bench.gpu()));
            let before = Telemetry::of(spec, gpu, Now(now)).energy;
            let gone = gpu.moved(spec, Now(now)).pcie;
            for _ in 0..wait {
                // The middle of a straight line is its mean.
                let shown = Telemetry::of(spec, gpu, Now(now + TICK / 2));
                prop_assert!(shown.gpu.0 <= 100);
                sum += u128::from(shown.power.unwrap().0) * u128::from(TICK);
                let rate = Traffic::of(spec, gpu, None, Now(now + TICK / 2)).pcie.sent;
                sent += u128::from(rate.0) * u128::from(TICK);
                now += TICK;
            }
            ticks += wait;
            prop_assert!(Telemetry::of(spec, gpu, Now(now)).energy >= before);
            let after = gpu.moved(spec, Now(now)).pcie;
            prop_assert!(after.sent >= gone.sent && after.received >= gone.received);
        }
        let counted = nanojoules(&bench.machine, now) - start;
        // The power that is shown is cut to whole milliwatts, the counter to whole millijoules.
        let cut = u128::from(ticks * TICK) + 2_000_000;
        prop_assert!(counted.abs_diff(sum) <= cut, "{counted} nJ counted, {sum} nJ shown");
        // The rate that is shown is cut to a hundred-thousandth of the most and to whole bytes.
        let counted = bench.gpu().moved(bench.machine.spec(bench.gpu()), Now(now)).pcie.sent;
        let sent = sent / 1_000_000;
        let cut = 10_000 + sent / 10_000;
        prop_assert!(u128::from(counted).abs_diff(sent) <= cut, "{counted} B counted, {sent} B shown");
    }
}

/// Energy in nanojoules, cut to whole millijoules.
fn nanojoules(machine: &Machine, now: u64) -> u128 {
    u128::from(
        Telemetry::of(machine.spec(&machine.gpus[0]), &machine.gpus[0], Now(now))
            .energy
            .0,
    ) * 1_000_000
}

fn act(machine: &Machine, gis: &[u32], step: Step, now: &mut u64) -> Machine {
    let at = Now(*now);
    match step {
        Step::Put {
            on,
            shape,
            later,
            lasts,
        } => {
            let since = Now(at.0 + later);
            let scope = Scope::gi(GPU, GiId(gis[on as usize]));
            let new = NewLoad {
                traffic: moving((u64::from(on + 1) * 1_000_000_007, 3), (0, 0)),
                since: Some(since),
                until: lasts.map(|it| Now(since.0 + it)),
                ..load(scope, 0, shape)
            };
            machine
                .with_load(new, at)
                .map_or_else(|_| machine.clone(), |it| it.0)
        }
        Step::End => {
            let first = machine.gpus[0].loads.first().map(|it| it.id);
            first.map_or_else(
                || machine.clone(),
                |id| machine.without_load(id, at).unwrap(),
            )
        }
        Step::Limit(limit) => {
            let op = Op::SetPowerLimit {
                gpu: GPU,
                limit: Some(MilliWatts(limit)),
            };
            machine
                .apply(op, at)
                .map_or_else(|_| machine.clone(), |it| it.0)
        }
        Step::ClockBack(by) => {
            let stopped = machine
                .with_clock(at, ClockChange::Stop)
                .with_clock(at, ClockChange::Set(at));
            let back = stopped.with_clock(at, ClockChange::Step(-i64::try_from(by).unwrap()));
            let before = nanojoules(&stopped, at.0);
            *now -= by.min(*now);
            assert_eq!(back.now(at), Now(*now));
            assert_eq!(
                nanojoules(&back, *now),
                before,
                "set back, the counter stays"
            );
            back
        }
        Step::Destroy => {
            let op = Op::DestroyGpuInstance {
                gpu: GPU,
                gi: GiId(gis[2]),
            };
            machine
                .apply(op, at)
                .map_or_else(|_| machine.clone(), |it| it.0)
        }
    }
}

#[test]
fn a_stepped_clock_moves_all_that_is_timed() {
    let mut bench = Bench::with("L4", Options::default());
    let real = Now::from_secs(1_000);
    bench.machine = bench
        .machine
        .with_clock(real, ClockChange::Set(Now::from_secs(50)));
    assert_eq!(
        bench.machine.now(Now::from_secs(1_001)),
        Now::from_secs(51),
        "it runs on"
    );
    bench.machine = bench.machine.with_clock(real, ClockChange::Stop);
    assert_eq!(bench.machine.now(Now::from_secs(9_999)), Now::from_secs(50));
    bench.clock = 50_000_000;
    put(
        &mut bench,
        load(whole(), 0, Shape::ramp(0, 10_000, 10_000_000)),
    )
    .unwrap();
    let at = Now::from_secs(55);
    let what = Injection::Xid {
        xid: 43,
        gi: None,
        ci: None,
    };
    bench.machine = bench
        .machine
        .apply(Op::Schedule { gpu: GPU, at, what }, Now::from_secs(50))
        .unwrap()
        .0;
    let before = nanojoules(&bench.machine, 50_000_000);
    bench.machine = bench.machine.with_clock(real, ClockChange::Step(5_000_000));
    let (gpu, spec) = (bench.gpu(), bench.machine.spec(bench.gpu()));
    assert_eq!(
        gpu.busy(spec, None, None, bench.machine.now(real)),
        Percent(50)
    );
    assert_eq!(
        bench.machine.events.all().len(),
        1,
        "what was to happen in between has happened"
    );
    assert!(nanojoules(&bench.machine, 55_000_000) > before);
    // Set back, a load that runs goes on where it is.
    let back = bench
        .machine
        .with_clock(real, ClockChange::Set(Now::from_secs(20)));
    let gpu = &back.gpus[0];
    assert_eq!(gpu.busy(spec, None, None, back.now(real)), Percent(50));
    let on = back.with_clock(real, ClockChange::Run);
    assert_eq!(on.now(Now::from_secs(1_001)), Now::from_secs(21));
    assert_eq!(
        on.with_clock(real, ClockChange::Real)
            .now(Now::from_secs(1_001)),
        Now::from_secs(1_001)
    );
}

/// The system's clock goes back behind a change that was written down: the machine's does not.
#[test]
fn a_systems_clock_that_goes_back_waits_for_itself() {
    let bench = Bench::with("L4", Options::default());
    let machine = bench.machine.stamped(Now::from_secs(100));
    assert_eq!(machine.now(Now::from_secs(40)), Now::from_secs(100));
    assert_eq!(machine.now(Now::from_secs(101)), Now::from_secs(101));
}
