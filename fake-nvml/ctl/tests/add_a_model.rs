//! The page docs/add-a-model.md, followed to the letter: its files are written, its commands run, its outputs compared.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::process::Command;

use common::{blocks, open_folder, program};

#[test]
fn the_page_works_to_the_letter() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/add-a-model.md");
    let page = fs::read_to_string(path).expect("the page");
    assert!(page.lines().count() <= 130, "it is one page");
    let folder = open_folder();
    let here = program().parent().expect("a folder");
    let search = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let mut printed: Option<String> = None;
    let (mut files, mut commands, mut outputs) = (0, 0, 0);
    for (kind, text) in blocks(&page) {
        match kind.split_once(' ') {
            Some(("yaml", file)) => {
                files += 1;
                fs::write(folder.path().join(file), text).expect("a file");
            }
            None if kind == "sh" => {
                commands += 1;
                let output = Command::new("sh")
                    .args(["-e", "-c", &format!("exec 2>&1\n{text}")])
                    .current_dir(folder.path())
                    .env("PATH", &search)
                    .output()
                    .expect("a shell");
                let said = String::from_utf8(output.stdout).expect("text");
                assert!(output.status.success(), "{text}\n{said}");
                printed = Some(said);
            }
            None if kind == "text" => {
                outputs += 1;
                let printed = printed.take().expect("a command before its output");
                assert_eq!(printed, text, "the page shows another output");
            }
            _ => panic!("a block of an unknown kind: {kind}"),
        }
    }
    assert_eq!((files, commands, outputs), (1, 3, 3));
}
