//! `sliceproof fmt`: feature files in one form.

use std::process::ExitCode;

use scenario::{Exit, format, read_features, registry};

use crate::args::{FmtArgs, SelectArgs};
use crate::{Error, lint};

pub(crate) fn run(args: &FmtArgs) -> Result<ExitCode, Error> {
    let select = SelectArgs::of(&args.paths);
    let files = match read_features(&registry(), &select.paths()?) {
        Ok(files) => files,
        Err(error) => {
            lint::tell_load(&error);
            return Ok(ExitCode::from(Exit::Broken.code()));
        }
    };
    let mut changed = 0;
    for (path, file) in &files {
        let text = format(&file.text);
        // The file itself is compared: a last line without its end is brought in form, too.
        let have = std::fs::read(path).map_err(|source| io("read", path, source))?;
        if have == text.as_bytes() {
            continue;
        }
        changed += 1;
        if args.check {
            println!("{} is not in form", file.shown);
        } else {
            std::fs::write(path, text).map_err(|source| io("write", path, source))?;
            println!("{} is in form now", file.shown);
        }
    }
    match (changed, args.check) {
        (0, _) => println!("{} files, all in form", files.len()),
        (_, true) => eprintln!(
            "{changed} of {} files are not in form; `sliceproof fmt` brings them into it",
            files.len()
        ),
        (_, false) => {}
    }
    let failed = args.check && changed > 0;
    Ok(ExitCode::from(
        if failed { Exit::Failed } else { Exit::Passed }.code(),
    ))
}

fn io(doing: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
    Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
