//! What a full-screen program shows: it runs in a terminal of a fixed size, and the screen is read.
//! Not an interactive session: it gets one key, to end, when its screen holds what the test waits for.
//! Bytes come from a pseudo terminal; `vt100` makes a screen of them.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::node::Node;
use crate::run::{Error, LIMIT, command};

const ROWS: u16 = 60;
const COLUMNS: u16 = 120;

/// The screen of a program as soon as `ready` says yes to it; then the program gets `q`.
///
/// # Errors
/// It cannot be started, or never shows what `ready` waits for: the error has the last screen.
pub fn of(
    enter: &Path,
    node: &Node,
    program: &Path,
    args: &[&str],
    ready: impl Fn(&str) -> bool,
) -> Result<String, Error> {
    let name = program.display().to_string();
    let start = |source: std::io::Error| Error::Start {
        program: name.clone(),
        source,
    };
    let size = Winsize {
        ws_row: ROWS,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(Some(&size), None).map_err(|errno| start(errno.into()))?;
    let slave = File::from(terminal.slave);
    let mut keyboard = File::from(terminal.master);
    let mut screen_side = keyboard.try_clone().map_err(start)?;
    let mut run = command(enter, node, program, args);
    run.env_remove("COLUMNS")
        .env_remove("LINES")
        .stdin(Stdio::from(slave.try_clone().map_err(start)?))
        .stdout(Stdio::from(slave.try_clone().map_err(start)?))
        .stderr(Stdio::from(slave))
        .process_group(0);
    let mut child = run.spawn().map_err(start)?;
    // The command holds the terminal's other side too; without this the reader would never see its end.
    drop(run);
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));

    let (sender, bytes) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // The read fails when the last program has closed the terminal.
        while let Ok(read @ 1..) = screen_side.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
    let began = Instant::now();
    let seen = loop {
        match bytes.recv_timeout(Duration::from_millis(50)) {
            Ok(part) => parser.process(&part),
            Err(RecvTimeoutError::Disconnected) => break None,
            // A pause: what is there is a whole screen.
            Err(RecvTimeoutError::Timeout) => {
                let screen = parser.screen().contents();
                if ready(&screen) {
                    break Some(screen);
                }
            }
        }
        if began.elapsed() > LIMIT {
            break None;
        }
    };
    // A program that has ended already takes no key.
    let _ = keyboard.write_all(b"q");
    let _ = killpg(group, Signal::SIGTERM);
    let ended = Instant::now();
    while child.try_wait().map_err(start)?.is_none() && ended.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    seen.ok_or_else(|| Error::Hangs {
        program: name,
        said: parser.screen().contents(),
    })
}
