//! Kubernetes manifests beside features: read as files, and their findings in the form of all others.
//! Not here: what is wrong with a manifest (crate `manifest`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use oracle::Gates;

use crate::finding::Finding;
use crate::source::{self, SourceError, SourceFile};

/// What manifests came to.
#[derive(Debug, Default)]
pub struct LintedManifests {
    /// What is wrong with them.
    pub findings: Vec<Finding>,
    /// Files that were read.
    pub files: usize,
    /// Objects that were looked at.
    pub objects: usize,
    /// Kinds that have nothing to do with devices, with how many there were.
    pub passed_over: BTreeMap<String, usize>,
}

impl LintedManifests {
    /// Adds what others came to; a file that was looked at twice is told of once.
    pub fn add(&mut self, other: LintedManifests) {
        for finding in other.findings {
            let key = |it: &Finding| (it.file.shown.clone(), it.span, it.rule, it.message.clone());
            if !self.findings.iter().any(|it| key(it) == key(&finding)) {
                self.findings.push(finding);
            }
        }
        self.files += other.files;
        self.objects += other.objects;
        for (kind, count) in other.passed_over {
            *self.passed_over.entry(kind).or_default() += count;
        }
    }
}

/// Reads the manifests at `paths`, each a file, and looks at them together.
///
/// # Errors
/// Each path that cannot be read.
pub fn lint_manifests(
    paths: &[PathBuf],
    gates: &Gates,
) -> Result<LintedManifests, Vec<SourceError>> {
    let files = source::read_manifests(paths)?;
    let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    let linted = ::manifest::lint(&texts, gates);
    let finding = |it: &::manifest::Problem| -> Option<Finding> {
        let file: &Arc<SourceFile> = files.get(it.file)?;
        let length = it
            .span
            .1
            .min(file.text.len().saturating_sub(it.span.0))
            .max(1);
        let finding = Finding::new(it.rule, file, (it.span.0, length), it.message.clone());
        Some(finding.help(it.help.clone()))
    };
    Ok(LintedManifests {
        findings: linted.problems.iter().filter_map(finding).collect(),
        files: files.len(),
        objects: linted.objects,
        passed_over: linted.passed_over,
    })
}
