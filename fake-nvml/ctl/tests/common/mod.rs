//! What the tests of the fakegpu program share: running it, as each kind of user, and one redactor.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::OnceLock;

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Me,
    /// A user without any right; only root can become one.
    Nobody,
}

/// Both kinds of user where the tests run as root, else the one there is.
pub(crate) fn users() -> Vec<User> {
    let root = is_root();
    if root {
        vec![User::Me, User::Nobody]
    } else {
        vec![User::Me]
    }
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

/// A folder that every user can enter and write, gone at the end.
pub(crate) fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its mode");
    folder
}

/// The program, where every user can run it. A target folder may lie in somebody's home: then one copy stands beside the
/// temporary files, and every run of the tests brings it up to date.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_fakegpu"));
        let open_to_all =
            |p: &Path| fs::metadata(p).is_ok_and(|m| m.permissions().mode() & 0o001 != 0);
        if built.ancestors().all(open_to_all) {
            return built;
        }
        let copy = std::env::temp_dir().join("fakegpu-of-the-tests");
        let new = copy.with_extension(std::process::id().to_string());
        fs::copy(&built, &new).expect("a copy of fakegpu");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("its mode");
        fs::rename(&new, &copy).expect("its place");
        copy
    })
}

/// The program with these arguments, as this user, in a folder that is everyone's.
pub(crate) fn fakegpu(user: User, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(args)
        .current_dir("/")
        .env_remove("FAKEGPU_STATE");
    if user == User::Nobody {
        // The caller's PATH may lead through folders that this user cannot enter.
        command
            .uid(65534)
            .gid(65534)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    command
}

/// Runs a shell line among these GPUs.
pub(crate) fn shell(user: User, options: &[&str], line: &str) -> Output {
    let mut args = vec!["run"];
    args.extend(options);
    args.extend(["--", "sh", "-c", line]);
    fakegpu(user, &args).output().expect("fakegpu starts")
}

/// Standard output of a call that must have gone well.
pub(crate) fn good(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The one redactor: the date, and the values that vary with time. UUIDs are made from the machine's name and stay.
pub(crate) fn redact(text: &str) -> String {
    let date = |line: &str| {
        let mut words = line.split(' ');
        ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
            .contains(&words.next().unwrap_or_default())
            && words.next().is_some_and(|month| month.len() == 3)
    };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        if date(line) {
            *line = "DATE".to_owned();
        }
        if line.starts_with("| N/A ") {
            line.replace_range(2..42, &format!("{:<40}", "FAN TEMP PERF POWER"));
        }
    }
    lines.join("\n")
}

/// Ends a program that a failed test would leave.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The fenced blocks of a page: what stands behind each fence, and the lines in it.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some((kind.to_owned(), String::new())),
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some((_, text)), _) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}
