//! The first signal asks the run to end in good order; the second ends the program.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A flag that turns true at the first SIGINT, SIGTERM or SIGHUP.
pub(crate) fn watch_signals() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        let listen = || -> std::io::Result<_> {
            Ok((
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ))
        };
        let Ok((mut interrupt, mut terminate, mut hangup)) = listen() else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if *sender.borrow() {
                // Whatever hangs in the tear-down hangs no longer: the nodes die with this process.
                std::process::exit(i32::from(scenario::Exit::Interrupted.code()));
            }
            eprintln!("\ninterrupted: ending the cluster (once more ends at once)");
            let _ = sender.send(true);
        }
    });
    receiver
}

/// Waits for SIGINT or SIGTERM; for ever where signals cannot be heard.
pub(crate) async fn asked_to_end() {
    let heard = || -> std::io::Result<_> {
        Ok((
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ))
    };
    let Ok((mut interrupt, mut terminate)) = heard() else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
