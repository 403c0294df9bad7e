//! `sliceproof lint`, and how `test` says what the lint found.

use std::io::IsTerminal;
use std::process::ExitCode;

use oracle::{Gates, Version, counted};
use scenario::{
    Exit, Filter, Finding, LintedManifests, LoadError, Plan, Registry, SourceError, is_manifest,
    lint_manifests, registry, render,
};

use crate::Error;
use crate::args::{LintArgs, SelectArgs};

pub(crate) fn run(args: &LintArgs) -> Result<ExitCode, Error> {
    let (manifests, features): (Vec<_>, Vec<_>) = args
        .select
        .paths
        .iter()
        .cloned()
        .partition(|path| is_manifest(path));
    let only_manifests = features.is_empty() && !manifests.is_empty();
    let select = SelectArgs {
        paths: features,
        ..args.select.clone()
    };
    let registry = registry();
    let plan = match only_manifests {
        true => None,
        false => Some(Plan::load(&registry, &select.paths()?, &filter(&select)?)),
    };
    let mut findings = Vec::new();
    let mut errors = Vec::new();
    let plan = match plan.transpose() {
        Ok(plan) => plan,
        Err(LoadError::Source(wrong)) => {
            errors.extend(wrong);
            None
        }
        Err(LoadError::Findings(wrong)) => {
            findings.extend(wrong);
            None
        }
    };
    let version = args.kubernetes.unwrap_or(Version::NEWEST);
    let gates = args.gates.gates.gates(version);
    let named = plan.iter().flat_map(|plan| plan.manifests(&registry));
    let named =
        named.map(|(paths, needs)| (paths, needs.into_iter().fold(gates.clone(), Gates::with)));
    let mut linted = LintedManifests::default();
    for (paths, gates) in std::iter::once((manifests, gates.clone())).chain(named) {
        match lint_manifests(&paths, &gates) {
            Ok(more) => linted.add(more),
            Err(wrong) => errors.extend(wrong),
        }
    }
    findings.append(&mut linted.findings);
    if !errors.is_empty() || !findings.is_empty() {
        tell(&errors, &findings);
        return Ok(ExitCode::from(Exit::Broken.code()));
    }
    if let Some(plan) = plan.as_ref().filter(|plan| plan.scenarios.is_empty()) {
        return Ok(nothing(plan));
    }
    let mut looked_at: Vec<String> = plan
        .iter()
        .map(|plan| counted(plan.scenarios.len(), "scenario"))
        .collect();
    if linted.files > 0 {
        looked_at.push(format!(
            "{} with {} for Kubernetes {version}",
            counted(linted.files, "manifest"),
            counted(linted.objects, "object")
        ));
    }
    println!("{}, nothing wrong", looked_at.join(" and "));
    if !linted.passed_over.is_empty() {
        let kinds: Vec<String> = linted
            .passed_over
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        println!(
            "not looked at, as they have nothing to do with devices: {}",
            kinds.join(", ")
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(select: &SelectArgs) -> Result<Filter, Error> {
    let filter = Filter::parse(select.tags.as_deref(), select.name.as_deref())?;
    Ok(filter.only_expected_failures(select.expected_fail))
}

/// Everything that is wrong, on standard error.
fn tell(errors: &[SourceError], findings: &[Finding]) {
    errors.iter().for_each(|error| eprintln!("error: {error}"));
    if !findings.is_empty() {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        eprint!("{}", render(findings, colour));
    }
}

/// The plan; or, after everything that is wrong has been said, the exit code.
pub(crate) fn load(
    registry: &Registry,
    select: &SelectArgs,
) -> Result<Result<Plan, ExitCode>, Error> {
    let filter = filter(select)?;
    Ok(
        Plan::load(registry, &select.paths()?, &filter).map_err(|error| {
            tell_load(&error);
            ExitCode::from(Exit::Broken.code())
        }),
    )
}

/// Why there is no plan, on standard error.
pub(crate) fn tell_load(error: &LoadError) {
    match error {
        LoadError::Source(errors) => tell(errors, &[]),
        LoadError::Findings(findings) => tell(&[], findings),
    }
}

/// Says that the selection is empty.
pub(crate) fn nothing(plan: &Plan) -> ExitCode {
    eprintln!(
        "nothing to run: none of {} scenarios is selected; `sliceproof test --list` without --tags and --name shows them",
        plan.unselected
    );
    ExitCode::from(Exit::NothingRan.code())
}
