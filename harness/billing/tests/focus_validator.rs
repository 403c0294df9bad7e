//! The FinOps Foundation's own validator over our file of version 1.2, where it can run. It needs Python 3.12 or newer and the
//! package `focus-validator`; elsewhere this says loudly that it was not run. Our own rules (`src/focus/tests.rs`) always run.

use std::process::{Command, ExitCode};

use billing::focus::{Version, focus};
use billing::{Bucket, Card, Entry, Invoice, Lines, PriceBook, Ratio, Span};

fn main() -> ExitCode {
    let Some(validator) = validator() else {
        println!(
            "NOT RUN: focus-validator over the FOCUS 1.2 file; it needs Python 3.12 or newer with `pip install focus-validator`"
        );
        return ExitCode::SUCCESS;
    };
    let folder = std::env::temp_dir().join(format!("focus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("focus-1.2.csv");
    std::fs::write(&file, focus(&invoice(), Version::V1_2).expect("written")).expect("written");
    let output = Command::new(validator)
        .arg("--data-file")
        .arg(&file)
        .args(["--validate-version", "1.2"])
        .output()
        .expect("it was there a moment ago");
    std::fs::remove_dir_all(&folder).expect("ours");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    ExitCode::from(u8::from(!output.status.success()))
}

/// The validator's name, if it starts.
fn validator() -> Option<&'static str> {
    let name = "focus-validator";
    let answer = Command::new(name).arg("--help").output().ok()?;
    answer.status.success().then_some(name)
}

fn invoice() -> Invoice {
    let book = PriceBook::read(PriceBook::DEFAULT).expect("the built-in book is good");
    let month = Span::of_month("2026-11").expect("a month");
    let entry = Entry {
        card: Card {
            pool: "node-1".to_owned(),
            name: "gpu-0".to_owned(),
            uuid: None,
            model: "A100-SXM4-80GB".to_owned(),
        },
        bucket: Bucket::Idle,
        share: Ratio::ONE,
        span: month,
        device: None,
        profile: None,
        needed: None,
        estimated: None,
        overlay: false,
    };
    let charges = billing::price([entry], &book, month, Lines::Claim).expect("charged");
    Invoice::new(charges, Vec::new(), &book, month, Lines::Claim, None).expect("fits")
}
