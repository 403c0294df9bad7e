//! `fakegpu compare`: where the fake says something else than a recorded machine.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use gpu_host::HostTree;
use gpu_model::Catalog;
use nvml_record::{Fake, OriginKind, Recording, Report, Varies, compare};

use crate::error::Error;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The recording (`fakegpu record`).
    recording: PathBuf,
    /// Imitate by this model instead of the one most like the recorded GPU.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Further model files (YAML, as `fakegpu model check` takes them).
    #[arg(long, value_name = "FILE")]
    model_file: Vec<PathBuf>,
    /// Further rules for what may differ, one a line: time|machine|allowed FUNCTION FIELD why (`*` for anything).
    #[arg(long, value_name = "FILE")]
    allow: Vec<PathBuf>,
    /// Ask this library instead of the one that is carried along.
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
    /// Each difference, also those of one kind.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let recording = Recording::read(&self.recording)?;
        let mut varies = Varies::builtin()?;
        for file in &self.allow {
            varies.add(file)?;
        }
        let mut catalog = Catalog::builtin();
        for file in &self.model_file {
            catalog.add(crate::model::read(file)?);
        }
        let fake = Fake::of(&recording, &catalog, self.model.as_deref())?;
        let folder = tempfile::Builder::new()
            .prefix("fakegpu-compare-")
            .tempdir()
            .map_err(|source| Error::File {
                what: "make a folder in",
                path: std::env::temp_dir(),
                source,
            })?;
        let tree = HostTree::lay(folder.path(), &fake.machine)?;
        let library = self.library.clone().unwrap_or_else(|| tree.library());
        let mut asking = crate::record::asking(&library, Duration::from_secs(20))?
            .env(gpu_store::STATE_ENV, tree.state_path())
            .env(gpu_store::VISIBLE_ENV, "all");
        let report = compare(&recording, &mut asking, &varies);
        drop(asking);
        if self.json {
            let text = serde_json::to_string_pretty(&report).unwrap_or_default();
            println!("{text}");
        } else {
            self.print(&recording, &fake, &report);
        }
        match report.differences.len() {
            0 => Ok(()),
            count => Err(Error::Differs { count }),
        }
    }

    fn print(&self, recording: &Recording, fake: &Fake, report: &Report) {
        let origin = &recording.origin;
        let kind = match origin.kind {
            OriginKind::Machine => "of a machine",
            OriginKind::Capture => "made from a capture",
        };
        println!(
            "recording  {} {kind}, {}, driver {}",
            self.recording.display(),
            origin.taken,
            origin.driver_version.as_deref().unwrap_or("unknown")
        );
        origin
            .sources
            .iter()
            .for_each(|source| println!("source     {source}"));
        println!("fake       {}", fake.models.join(", "));
        fake.notes
            .iter()
            .for_each(|note| println!("note       {note}"));
        if self.all {
            report
                .differences
                .iter()
                .for_each(|d| println!("differs    {d}"));
        } else {
            for (difference, more) in report.grouped() {
                let more = match more {
                    0 => String::new(),
                    more => format!(" (and {more} more of this kind: --all)"),
                };
                println!("differs    {difference}{more}");
            }
        }
        for (function, count) in &report.not_compared {
            println!(
                "skipped    {function}: {count} calls that failed when recorded, or that this program does not know"
            );
        }
        println!(
            "fields     {} equal, {} differ; {} vary by themselves, {} belong to the machine, {} allowed to differ",
            report.equal,
            report.differences.len(),
            report.varies,
            report.machine,
            report.allowed
        );
    }
}
