//! `sliceproof up`, `down` and `status`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use cluster::supervisor::{self, Until};
use cluster::{ClusterSpec, NodeShape, Programs};
use gpu_model::NodeSpec;
use report::{Emitter, Event, Sink, What};
use scenario::Asks;

use crate::args::{DownArgs, UpArgs};
use crate::{Error, session};

/// Prints what happens on standard error, a line each: standard output is for what a script wants.
struct Lines;

impl Sink for Lines {
    fn on(&mut self, event: &Event) {
        match &event.what {
            What::PhaseProgress { detail, .. } => eprintln!("  {detail}"),
            What::PhaseFinished {
                phase,
                detail,
                millis,
                ..
            } => eprintln!("{phase}: {detail} ({})", report::human(*millis)),
            _ => {}
        }
    }
}

pub(crate) fn up(args: &UpArgs) -> Result<ExitCode, Error> {
    let wrong = |reason: String| Error::Gpu {
        asked: args.gpu.clone(),
        reason,
    };
    let gpus: NodeSpec = args
        .gpu
        .parse()
        .map_err(|error: gpu_model::NodeSpecError| wrong(error.to_string()))?;
    gpus.resolve(&gpu_model::Catalog::builtin())
        .map_err(|error| wrong(error.to_string()))?;
    let dir = supervisor::run_folder(&args.name)?;
    let nodes = (1..=args.nodes)
        .map(|at| NodeShape {
            name: format!("node-{at}"),
            gpus: gpus.clone(),
            mig: args.mig,
            cut: Vec::new(),
            offer: cluster::Offer::default(),
            driver_gates: Default::default(),
        })
        .collect();
    let emitter = Emitter::new(vec![Box::new(Lines)]);
    let installed = session::ensure(&args.catalog, &BTreeSet::new(), &emitter, false)?;
    let spec = ClusterSpec {
        name: args.name.clone(),
        dir,
        nodes,
        programs: Programs::from_installed(&installed)?,
        features: args
            .gates
            .gates
            .features(session::version(&args.catalog)?, &Asks::default()),
        exe: None,
        image_cache: None,
    };
    sweep()?;
    let listener = |progress: cluster::Progress| eprintln!("  {progress}");
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let stop = {
        let _inside = runtime.enter();
        crate::signals::watch_signals()
    };
    let dir = runtime.block_on(async {
        let mut stop = stop;
        tokio::select! {
            dir = supervisor::spawn(spec, Until::Signal, &listener) => Some(dir),
            // The supervisor ends with us until it has been told to stay.
            _ = stop.wait_for(|stop| *stop) => None,
        }
    });
    let Some(dir) = dir else {
        return Ok(ExitCode::from(scenario::Exit::Interrupted.code()));
    };
    let kubeconfig = dir?.join("kubeconfig");
    eprintln!(
        "cluster {} is up; `sliceproof down{}` ends it",
        args.name,
        named(&args.name)
    );
    println!("export KUBECONFIG={}", kubeconfig.display());
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn down(args: &DownArgs) -> Result<ExitCode, Error> {
    let name = args.named.as_ref().unwrap_or(&args.name);
    match supervisor::down(name)? {
        Some(cleaned) => println!("cleaned {cleaned}"),
        None => println!("cluster {name} has ended"),
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn status() -> Result<ExitCode, Error> {
    sweep()?;
    let clusters = supervisor::list()?;
    if clusters.is_empty() {
        println!("no cluster is running; `sliceproof up` starts one");
        return Ok(ExitCode::SUCCESS);
    }
    for cluster in clusters {
        match &cluster.kubeconfig {
            Some(kubeconfig) => println!(
                "{}  (supervisor {})  KUBECONFIG={}",
                cluster.name,
                cluster.pid,
                kubeconfig.display()
            ),
            None => println!("{}  (supervisor {})  starting", cluster.name, cluster.pid),
        }
        for node in cluster.nodes {
            println!(
                "  {}  {}{}",
                node.name,
                node.gpus,
                if node.mig { "  MIG mode on" } else { "" }
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what killed clusters left behind, and says so.
fn sweep() -> Result<(), Error> {
    for cleaned in supervisor::sweep()? {
        eprintln!("cleaned {cleaned}");
    }
    Ok(())
}

fn named(name: &str) -> String {
    if name == "default" {
        String::new()
    } else {
        format!(" {name}")
    }
}
