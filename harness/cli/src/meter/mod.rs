//! `sliceproof meter`, `ledger` and `reconcile`: who holds which device since when, watched and kept, and the door to what is kept.
//! Not here: what is kept and how (crate `billing`), and what it costs.
//! Objects come from an API server; facts go to a ledger, words to the terminal.

pub mod args;
mod ledger;
mod reconcile;

use std::io::Write;
use std::process::ExitCode;

use billing::meter::manifests::{Install, manifests};
use billing::meter::{self, Task, Told};

use crate::Error;
use crate::signals::asked_to_end;
use args::MeterArgs;

pub(crate) use ledger::{existing, run as ledger};
pub(crate) use reconcile::run as reconcile;

pub(crate) fn run(args: &MeterArgs) -> Result<ExitCode, Error> {
    if args.manifests {
        return install(args);
    }
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    runtime.block_on(async {
        let client = match (&args.in_cluster, &args.live) {
            (true, _) => in_cluster()?,
            (false, live) => crate::live::client_of(live).await?,
        };
        let task = Task {
            ledger: args.ledger.place()?,
            once: args.once,
        };
        let ledger = task.ledger.clone();
        let metered = meter::run(client, &task, meter::system_clock(), move |told| {
            tell(&ledger.to_string(), &told)
        });
        tokio::select! {
            metered = metered => metered.map_err(Error::Meter).map(|()| ExitCode::SUCCESS),
            () = asked_to_end() => Ok(ExitCode::SUCCESS),
        }
    })
}

fn in_cluster() -> Result<kube::Client, Error> {
    let wrong = |why: String| Error::Kubeconfig {
        path: "of the pod's service account".into(),
        why,
    };
    let config = kube::Config::incluster().map_err(|error| wrong(error.to_string()))?;
    kube::Client::try_from(config).map_err(|error| wrong(error.to_string()))
}

fn tell(ledger: &str, told: &Told) {
    let line = match told {
        Told::Began {
            cluster,
            last: None,
        } => {
            format!("metering cluster {cluster} into {ledger}, for the first time")
        }
        Told::Began {
            cluster,
            last: Some(last),
        } => {
            format!("metering cluster {cluster} into {ledger}, where it was last watched at {last}")
        }
        Told::Kept { new, known: 0 } => format!("{} kept", oracle::counted(*new, "fact")),
        Told::Kept { new, known } => {
            format!("{} kept, {known} were there", oracle::counted(*new, "fact"))
        }
        Told::Trouble { what } => format!("warning: {what}"),
        Told::CaughtUp => "everything of now is kept".to_owned(),
    };
    // A terminal that is gone does not end a meter.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn install(args: &MeterArgs) -> Result<ExitCode, Error> {
    let install = Install {
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        secret: args.secret.clone(),
    };
    let mut text = String::new();
    for object in manifests(&install) {
        text.push_str("---\n");
        text.push_str(
            &serde_yaml_ng::to_string(&object).map_err(|error| Error::Manifest {
                path: "of the meter".into(),
                why: error.to_string(),
            })?,
        );
    }
    crate::say(&text)?;
    Ok(ExitCode::SUCCESS)
}
