//! Faults of cards: what they change, what follows, when they happen, what ends them.
use super::*;
use proptest::prelude::*;

fn inject(what: Injection) -> Op {
    Op::Inject { gpu: GPU, what }
}

fn xids(machine: &Machine) -> Vec<u64> {
    let events = machine.events.all().iter();
    let xids = events.filter(|event| matches!(event.kind, EventKind::Xid(_)));
    xids.map(|event| event.kind.data()).collect()
}

#[test]
fn a_card_that_needs_a_reset_answers_so_until_it_has_one() {
    let mut bench = Bench::new("H100-SXM5-80GB");
    bench.run(inject(Injection::ResetRequired(true))).unwrap();
    assert_eq!(bench.cgi(19), Err(Code::ResetRequired));
    assert_eq!(bench.mode(MigMode::Disabled), Err(Code::ResetRequired));
    bench
        .run(inject(Injection::Throttle(Throttle::HW_THERMAL)))
        .unwrap();
    bench
        .run(inject(Injection::NvLink {
            link: 17,
            up: false,
        }))
        .unwrap();
    bench.run(Op::Reset { gpu: GPU }).unwrap();
    assert_eq!(bench.gpu().health.links_down, 0);
    assert!(bench.gpu().health.throttle.is_none());
    assert!(bench.cgi(19).is_ok());
}

#[test]
fn an_absent_card_is_not_found() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    bench.run(inject(Injection::Absent(true))).unwrap();
    assert_eq!(bench.cgi(19), Err(Code::NotFound));
    bench.run(inject(Injection::Absent(false))).unwrap();
    assert!(bench.cgi(19).is_ok());
}

#[test]
fn links_go_down_and_come_up() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    bench
        .run(inject(Injection::NvLink { link: 3, up: false }))
        .unwrap();
    assert_eq!(
        [2, 3, 4].map(|link| bench.gpu().health.link_up(link)),
        [true, false, true]
    );
    bench
        .run(inject(Injection::NvLink { link: 3, up: true }))
        .unwrap();
    assert!(bench.gpu().health.link_up(3));
    let refusal = bench
        .run(inject(Injection::NvLink {
            link: 12,
            up: false,
        }))
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "GPU 0 has no NVLink 12: it has 12, counted from 0"
    );
}

#[test]
fn throttling_shows() {
    let mut bench = Bench::with("A100-SXM4-40GB", Options::default());
    let load = Injection::Load {
        gi: None,
        compute: Percent(80),
        memory: MiB(0),
    };
    bench.run(inject(load)).unwrap();
    let show = |bench: &Bench| {
        Telemetry::of(
            bench.machine.spec(bench.gpu()),
            bench.gpu(),
            Now(bench.clock),
        )
    };
    let before = show(&bench);
    assert!(before.reasons.is_none());
    bench
        .run(inject(Injection::Throttle(Throttle::HW_THERMAL)))
        .unwrap();
    let hot = show(&bench);
    let Some(Thermal::Absolute { slowdown, .. }) = bench.machine.spec(bench.gpu()).thermal else {
        panic!("the A100's thresholds are in degrees")
    };
    assert_eq!(
        (hot.reasons, hot.temperature),
        (Throttle::HW_THERMAL, slowdown)
    );
    assert!(hot.clocks.unwrap().sm < before.clocks.unwrap().sm);
    bench
        .run(inject(Injection::Throttle(Throttle::POWER_CAP)))
        .unwrap();
    assert!(
        show(&bench).temperature < slowdown,
        "a power cap is not hot"
    );
    bench
        .run(inject(Injection::Throttle(Throttle::default())))
        .unwrap();
    bench
        .run(inject(Injection::Load {
            gi: None,
            compute: Percent(0),
            memory: MiB(0),
        }))
        .unwrap();
    assert_eq!(show(&bench).reasons, Throttle::IDLE);
}

/// Time held down adds up by reason, once where reasons overlap; it stands when they end, and a clock that goes back takes none away.
#[test]
fn the_time_held_down_is_counted() {
    let second = |n: u64| Now::from_secs(100 + n);
    let start = machine(&[("A100-SXM4-40GB", 1)], &Options::default());
    let (cap, heat) = (Throttle::POWER_CAP, Throttle::HW_THERMAL);
    let both = cap.with(heat);
    let held = |machine: &Machine, now: Now| {
        [cap, heat, both, Throttle::SW_THERMAL]
            .map(|reasons| machine.gpus[0].held_down(reasons, now).0 / 1_000_000)
    };
    let mut now = start.apply(inject(Injection::Throttle(cap)), second(0));
    for (at, reasons) in [(10, both), (15, heat), (16, heat)] {
        now = now
            .unwrap()
            .0
            .apply(inject(Injection::Throttle(reasons)), second(at));
    }
    let now = now.unwrap().0;
    assert_eq!(held(&start, second(9)), [0; 4]);
    assert_eq!(held(&now, second(20)), [15, 10, 20, 0]);
    let back = now.with_clock(second(20), ClockChange::Step(-7_000_000));
    assert_eq!(held(&back, second(13)), [15, 10, 20, 0]);
    assert_eq!(held(&back, second(14)), [15, 11, 21, 0]);
    let reset = now.apply(Op::Reset { gpu: GPU }, second(20)).unwrap().0;
    assert_eq!(held(&reset, second(90)), [15, 10, 20, 0]);
    let later = reset.with_fault(
        GPU,
        &[Injection::Throttle(heat)],
        second(30),
        Some(5_000_000),
        second(21),
    );
    let later = later.unwrap();
    let seen = later.at(second(99)).into_owned();
    assert_eq!(
        held(&seen, second(99)),
        [15, 15, 25, 0],
        "counted from and to its own moments"
    );
}

#[test]
fn what_follows_from_what() {
    let bench = Bench::new("A100-SXM4-40GB");
    let (spec, health) = (bench.machine.spec(bench.gpu()), bench.gpu().health);
    let all = |what: Injection, now: &Machine| {
        let gpu = now.gpu(GPU).unwrap();
        let all = what.with_consequences(spec, &gpu.health);
        now.with_fault(GPU, &all, Now(7), None, Now(7)).unwrap()
    };
    let gi = Some(GiId(3));
    let ecc = all(
        Injection::Ecc {
            corrected: 0,
            uncorrected: 1,
            gi,
            site: EccSite::Memory,
        },
        &bench.machine,
    );
    assert_eq!(xids(&ecc), [48, 63, 154]);
    assert_eq!(
        ecc.events
            .all()
            .iter()
            .filter(|it| it.kind == EventKind::DoubleBitEcc && it.gi == gi)
            .count(),
        1
    );
    let now = ecc.gpu(GPU).unwrap().health;
    assert_eq!(
        (now.remaps.uncorrected, now.remaps.pending, now.recovery),
        (1, true, RecoveryAction::DrainAndReset)
    );
    // In the chip there is nothing to remap.
    let sram = Injection::Ecc {
        corrected: 0,
        uncorrected: 1,
        gi,
        site: EccSite::Sram {
            source: SramSource::L2,
            check: SramCheck::Parity,
        },
    };
    let sram = all(sram, &bench.machine);
    assert_eq!(
        (xids(&sram), sram.gpu(GPU).unwrap().health.remaps),
        (vec![48], RowRemaps::default())
    );
    // Again: one row more, and nothing new is asked for.
    let again = all(
        Injection::Ecc {
            corrected: 0,
            uncorrected: 1,
            gi,
            site: EccSite::Memory,
        },
        &ecc,
    );
    assert_eq!(xids(&again), [48, 63, 154, 48, 63]);
    // Corrected ones alone bring nothing.
    assert!(
        xids(&all(
            Injection::Ecc {
                corrected: 5,
                uncorrected: 0,
                gi: None,
                site: EccSite::Memory
            },
            &bench.machine
        ))
        .is_empty()
    );
    let failed = RowRemaps {
        failed: true,
        ..RowRemaps::default()
    };
    let failed = all(Injection::Remaps(failed), &bench.machine);
    assert_eq!(xids(&failed), [64, 154]);
    assert_eq!(
        failed.gpu(GPU).unwrap().health.recovery,
        RecoveryAction::GpuReset
    );
    let lost = all(Injection::Lost(true), &bench.machine);
    assert_eq!(
        (xids(&lost), lost.gpu(GPU).unwrap().health.lost),
        (vec![79, 154], true)
    );
    assert_eq!(
        xids(&all(
            Injection::NvLink { link: 0, up: false },
            &bench.machine
        )),
        [74]
    );
    assert_eq!(
        xids(&all(
            Injection::Xid {
                xid: 95,
                gi,
                ci: None
            },
            &bench.machine
        )),
        [95, 154]
    );
    assert_eq!(
        xids(&all(
            Injection::Xid {
                xid: 13,
                gi,
                ci: None
            },
            &bench.machine
        )),
        [13]
    );
    // A card without a row remapper only reports the error.
    let plain = Spec {
        remap_max_banks: None,
        ..spec.clone()
    };
    let what = Injection::Ecc {
        corrected: 0,
        uncorrected: 1,
        gi: None,
        site: EccSite::Memory,
    };
    assert_eq!(what.with_consequences(&plain, &health).len(), 2);
}

#[test]
fn a_fault_comes_at_its_time_in_the_eyes_of_all() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let at = Now(bench.clock + 10_000_000);
    bench
        .run(Op::Schedule {
            gpu: GPU,
            at,
            what: Injection::Xid {
                xid: 45,
                gi: None,
                ci: None,
            },
        })
        .unwrap();
    bench
        .run(Op::Schedule {
            gpu: GPU,
            at: Now(at.0 - 1),
            what: Injection::Xid {
                xid: 43,
                gi: None,
                ci: None,
            },
        })
        .unwrap();
    let state = bench.machine.clone();
    assert_eq!(state.next_due(), Some(Now(at.0 - 1)));
    assert!(
        matches!(state.at(Now(at.0 - 2)), std::borrow::Cow::Borrowed(_)),
        "nothing is copied before its time"
    );
    assert_eq!(xids(&state.at(Now(at.0 - 1))), [43]);
    let seen = state.at(Now(at.0 + 5));
    assert_eq!(xids(&seen), [43, 45]);
    assert_eq!(
        seen.events.all().last().unwrap().at,
        at,
        "it carries the moment at which it was to happen"
    );
    // A writer later writes down the same.
    let written = state
        .apply(Op::SetPersistence { gpu: GPU, on: true }, Now(at.0 + 77))
        .unwrap()
        .0;
    assert_eq!(written.events, seen.events);
    assert_eq!(written.next_due(), None);
    // One whose moment is past happens at once, one that cannot happen is refused at once.
    let refused = state.apply(
        Op::Schedule {
            gpu: GPU,
            at,
            what: Injection::NvLink {
                link: 99,
                up: false,
            },
        },
        Now(1),
    );
    assert!(matches!(refused, Err(Refusal::NoSuchLink { .. })));
}

#[test]
fn a_fault_of_an_instance_that_has_gone_does_nothing() {
    let mut bench = Bench::new("A100-SXM4-40GB");
    let gi = bench.cgi(19).unwrap();
    let load = Injection::Load {
        gi: Some(GiId(gi)),
        compute: Percent(10),
        memory: MiB(1),
    };
    let at = Now(bench.clock + 60_000_000);
    bench
        .run(Op::Schedule {
            gpu: GPU,
            at,
            what: load,
        })
        .unwrap();
    bench.dgi(gi).unwrap();
    let later = bench.machine.at(at);
    assert!(later.gpus[0].loads.is_empty() && later.next_due().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    /// Looking at many moments on the way gives the same as looking once.
    #[test]
    fn the_state_as_of_now_does_not_depend_on_who_looked(
        faults in prop::collection::vec((0u64..100, 0u32..4), 0..20),
        mut looks in prop::collection::vec(0u64..120, 0..6),
    ) {
        let mut machine = machine(&[("A100-SXM4-40GB", 1)], &Options::default());
        for (at, kind) in faults {
            let what = match kind {
                0 => Injection::Xid { xid: 43, gi: None, ci: None },
                1 => Injection::Lost(at % 2 == 0),
                2 => Injection::Ecc { corrected: 1, uncorrected: at % 3, gi: None, site: EccSite::Memory },
                _ => Injection::Load { gi: None, compute: Percent(50), memory: MiB(at) },
            };
            machine = machine.apply(Op::Schedule { gpu: GPU, at: Now(at + 1), what }, Now(0)).unwrap().0;
        }
        looks.sort_unstable();
        let once = machine.at(Now(120)).into_owned();
        for look in looks {
            machine = machine.at(Now(look)).into_owned();
        }
        prop_assert_eq!(machine.at(Now(120)).into_owned(), once);
    }
}

mod calls {
    use super::*;

    fn rule(function: &str, when: When) -> Rule {
        Rule {
            function: Glob(function.to_owned()),
            device: None,
            process: None,
            window: Window::default(),
            when,
            action: Action {
                wait: 0,
                then: Then::Return(Code::Timeout),
            },
        }
    }

    fn plan(rules: Vec<Rule>) -> FaultPlan {
        FaultPlan {
            id: 1,
            seed: 42,
            armed: Now(1_000),
            rules,
        }
    }

    fn call<'a>(function: &'a str, device: Option<Scope>) -> Call<'a> {
        Call {
            function,
            device,
            process: "nvidia-smi",
            pid: Pid(9),
        }
    }

    /// Which of the first twenty calls fail.
    fn failing(when: When) -> Vec<u64> {
        let plan = plan(vec![rule("nvmlInit*", when)]);
        let hit = |n: &u64| {
            plan.decide(&call("nvmlInit_v2", None), Now(1_000), |_| *n)
                .is_some()
        };
        (1..=20).filter(hit).collect()
    }

    #[test]
    fn which_of_the_calls() {
        assert_eq!(failing(When::Nth(3)), [3]);
        assert_eq!(failing(When::First(2)), [1, 2]);
        assert_eq!(failing(When::Every(7)), [7, 14]);
        assert_eq!(failing(When::Every(0)), [0u64; 0]);
        assert_eq!(failing(When::Always).len(), 20);
        assert_eq!(failing(When::Chance(0)), [0u64; 0]);
        assert_eq!(failing(When::Chance(1_000_000)).len(), 20);
        assert_eq!(
            failing(When::Chance(300_000)),
            failing(When::Chance(300_000))
        );
    }

    #[test]
    fn chance_is_as_often_as_said_and_the_seed_matters() {
        let hits = |seed, rule| {
            (1..=100_000)
                .filter(|&n| When::Chance(100_000).fires(seed, rule, n))
                .collect::<Vec<u64>>()
        };
        let (a, b, c) = (hits(1, 0), hits(2, 0), hits(1, 1));
        for hits in [&a, &b, &c] {
            assert!((9_600..10_400).contains(&hits.len()), "{}", hits.len());
        }
        assert!(a != b && a != c);
    }

    #[test]
    fn which_device_process_and_time() {
        let now = Now(2_000);
        let decide =
            |rule: Rule, call: Call<'_>, now| plan(vec![rule]).decide(&call, now, |_| 1).is_some();
        let on = |device| Rule {
            device: Some(device),
            ..rule("*", When::Always)
        };
        let gi = Scope::gi(GPU, GiId(1));
        assert!(
            decide(on(Scope::gpu(GPU)), call("f", Some(gi)), now),
            "a part of it"
        );
        assert!(
            !decide(on(gi), call("f", Some(Scope::gpu(GPU))), now),
            "the whole is not the part"
        );
        assert!(
            !decide(on(Scope::gpu(GPU)), call("f", None), now),
            "a call without a device"
        );
        assert!(!decide(
            on(Scope::gpu(GPU)),
            call("f", Some(Scope::gpu(GpuIndex(1)))),
            now
        ));
        let by = |process| Rule {
            process: Some(process),
            ..rule("*", When::Always)
        };
        assert!(decide(
            by(ProcessIs::Named(Glob("nvidia-*".into()))),
            call("f", None),
            now
        ));
        assert!(!decide(
            by(ProcessIs::Named(Glob("nvtop".into()))),
            call("f", None),
            now
        ));
        assert!(decide(by(ProcessIs::Pid(Pid(9))), call("f", None), now));
        assert!(!decide(by(ProcessIs::Pid(Pid(8))), call("f", None), now));
        let window = Window {
            from: 500,
            until: Some(1_000),
        };
        let within = |at| {
            decide(
                Rule {
                    window,
                    ..rule("*", When::Always)
                },
                call("f", None),
                Now(at),
            )
        };
        assert_eq!(
            [1_499, 1_500, 1_999, 2_000].map(within),
            [false, true, true, false]
        );
    }

    #[test]
    fn the_first_rule_that_fires_decides_and_only_rules_that_fit_count() {
        let latency = Rule {
            action: Action {
                wait: 5,
                then: Then::Proceed,
            },
            ..rule("nvmlShutdown", When::Always)
        };
        let plan = plan(vec![
            rule("nvmlInit_v2", When::Always),
            rule("nvmlShutdown", When::Nth(2)),
            latency,
        ]);
        let mut counts = [0u64; 3];
        let mut decide = |function| {
            plan.decide(&call(function, None), Now(1_000), |rule| {
                counts[rule] += 1;
                counts[rule]
            })
        };
        assert_eq!(decide("nvmlShutdown").unwrap().wait, 5);
        assert_eq!(
            decide("nvmlShutdown").unwrap().then,
            Then::Return(Code::Timeout)
        );
        assert_eq!(decide("nvmlDeviceGetName"), None);
        assert_eq!(counts, [0, 2, 1]);
    }

    #[test]
    fn arming_counts_up_and_a_rule_more_keeps_the_counts() {
        let bench = Bench::new("L4");
        assert!(!bench.machine.watches_calls());
        let armed = bench
            .machine
            .armed(5, vec![rule("*", When::Always)], Now(1_000));
        assert!(armed.watches_calls());
        let window = Window {
            from: 10,
            until: Some(20),
        };
        let more = armed.also_armed(
            Rule {
                window,
                ..rule("*", When::Always)
            },
            Now(3_000),
        );
        assert_eq!(
            (more.faults.id, more.faults.rules.len()),
            (armed.faults.id, 2)
        );
        assert_eq!(
            more.faults.rules[1].window,
            Window {
                from: 2_010,
                until: Some(2_020)
            }
        );
        let window = Window {
            from: 0,
            until: Some(u64::MAX),
        };
        let ever = armed.also_armed(
            Rule {
                window,
                ..rule("*", When::Always)
            },
            Now(3_000),
        );
        assert_eq!(ever.faults.rules[1].window.until, Some(u64::MAX));
        let off = more.disarmed(Now(4_000));
        assert!(off.faults.id > armed.faults.id && !off.watches_calls());
        assert!(off.with_log(true).watches_calls());
    }
}
