//! `sliceproof test`.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use futures::FutureExt;
use oracle::Version;
use report::{Emitter, FileSinks, Plain, RunEnd, RunStarted, Sink, Terminal, What};
use scenario::{Exit, GateSet, Options, Plan, PlannedScenario, Runner, TestbedError, registry};

use crate::args::TestArgs;
use crate::run_folder::RunFolder;
use crate::session::{self, Life, Wanted};
use crate::{Error, lint};

pub(crate) fn run(args: &TestArgs) -> Result<ExitCode, Error> {
    let registry = registry();
    let version = session::version(&args.catalog)?;
    let plan = match lint::load(&registry, &args.select)? {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    if plan.scenarios.is_empty() {
        return Ok(lint::nothing(&plan));
    }
    if args.list {
        list(&plan);
        return Ok(ExitCode::SUCCESS);
    }
    let folder = RunFolder::make(args.out.as_deref())?;
    let live = crate::is_live();
    let screen: Box<dyn Sink> = if live {
        Box::new(Terminal::new(folder.shown.clone(), crate::in_colour()))
    } else {
        Box::new(Plain::new(std::io::stdout(), folder.shown.clone()))
    };
    let emitter = Emitter::new(vec![screen, Box::new(FileSinks::open(&folder.path)?)]);
    let started = Instant::now();
    emitter.emit(What::RunStarted(RunStarted {
        run: folder.run.clone(),
        command: command(args),
        environment: session::environment(None),
        scenarios: plan
            .scenarios
            .iter()
            .map(PlannedScenario::for_report)
            .collect(),
        unselected: plan.unselected,
        unplayed: plan.unplayed.clone(),
    }));
    let options = Options {
        fail_fast: args.fail_fast,
        keep_on_failure: args.keep_on_failure,
        gates: args.gates.gates,
        version,
        tries: args.tries,
        ..Options::default()
    };
    let runner = Runner::new(
        Rc::new(registry),
        emitter.clone(),
        folder.path.clone(),
        options,
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let end = runtime.block_on(go(args, version, &folder, &plan, &runner, &emitter, live));
    let exit = exit_of(&end);
    emitter.emit(What::RunFinished {
        end,
        exit_code: exit.code(),
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    for error in emitter.finish() {
        eprintln!("error: {error}");
    }
    // A build of a component cannot be waited for when somebody has interrupted.
    runtime.shutdown_background();
    Ok(ExitCode::from(exit.code()))
}

async fn go(
    args: &TestArgs,
    version: Version,
    folder: &RunFolder,
    plan: &Plan,
    runner: &Runner,
    emitter: &Emitter,
    live: bool,
) -> RunEnd {
    let stop = crate::signals::watch_signals();
    let ensured = {
        let (catalog, emitter) = (args.catalog.clone(), emitter.clone());
        let needs = runner.needs(plan);
        tokio::task::spawn_blocking(move || session::ensure(&catalog, &needs, &emitter, live))
    };
    let mut interrupted = stop.clone();
    let installed = tokio::select! {
        ensured = ensured => match ensured {
            Ok(Ok(installed)) => installed,
            Ok(Err(error)) => return RunEnd::Broken { message: error.to_string() },
            Err(error) => return RunEnd::Broken { message: format!("the work on components ended: {error}") },
        },
        _ = interrupted.wait_for(|stop| *stop) => return RunEnd::Interrupted,
    };
    sweep(emitter).await;
    let life = if args.keep_on_failure {
        Life::Detached
    } else {
        Life::Mine
    };
    let launch = |nodes: Vec<scenario::NodeWish>, asks: scenario::Asks| {
        let wanted = Wanted {
            name: format!("test-{}", folder.run),
            installed: installed.clone(),
            features: args.gates.gates.features(version, &asks),
            exe: None,
        };
        async move {
            session::start(&wanted, &nodes, life, emitter)
                .await
                .map_err(|error| TestbedError::fatal(error.to_string()))
        }
        .boxed_local()
    };
    runner.run(plan, Box::new(launch), stop).await
}

/// What a run left behind that was killed is removed, and said.
async fn sweep(emitter: &Emitter) {
    let swept = tokio::task::spawn_blocking(cluster::supervisor::sweep).await;
    match swept {
        Ok(Ok(cleaned)) => cleaned.into_iter().for_each(|what| {
            emitter.emit(What::Notice {
                text: format!("cleaned {what}"),
            })
        }),
        Ok(Err(error)) => emitter.emit(What::Notice {
            text: format!("remains of earlier runs could not be removed: {error}"),
        }),
        Err(_) => {}
    }
}

fn exit_of(end: &RunEnd) -> Exit {
    match end {
        RunEnd::Passed => Exit::Passed,
        RunEnd::Failed => Exit::Failed,
        RunEnd::Interrupted => Exit::Interrupted,
        RunEnd::NothingRan => Exit::NothingRan,
        RunEnd::Broken { .. } => Exit::Broken,
    }
}

fn list(plan: &Plan) {
    for planned in &plan.scenarios {
        let scenario = &planned.scenario;
        println!(
            "{}  ({}:{})  {}",
            scenario.id,
            scenario.file.shown,
            scenario.line,
            scenario.tags.join(" ")
        );
    }
    println!("{} selected, {} not", plan.scenarios.len(), plan.unselected);
}

/// What was asked for, as a person would type it; paths of programs are left out, they are nobody's business.
fn command(args: &TestArgs) -> String {
    let mut words = vec!["sliceproof".to_owned(), "test".to_owned()];
    words.extend(
        args.select
            .paths
            .iter()
            .map(|path| path.display().to_string()),
    );
    for (flag, value) in [("--tags", &args.select.tags), ("--name", &args.select.name)] {
        if let Some(value) = value {
            words.push(format!("{flag} {value:?}"));
        }
    }
    if let Some(minor) = &args.catalog.kubernetes {
        words.push(format!("--kubernetes {minor}"));
    }
    let gates = args.gates.gates;
    if gates != GateSet::Default {
        words.push(format!("--gates {gates}"));
    }
    for (flag, on) in [
        ("--expected-fail", args.select.expected_fail),
        ("--fail-fast", args.fail_fast),
        ("--keep-on-failure", args.keep_on_failure),
    ] {
        if on {
            words.push(flag.to_owned());
        }
    }
    words.join(" ")
}
