//! Rules about single steps: each must be one that is defined, with values that exist, under the right keyword.

use std::sync::Arc;

use gherkin::StepType;
use gpu_model::PlanFile;

use crate::document::{Block, Step};
use crate::finding::Finding;
use crate::manifest;
use crate::registry::{Args, BlockWish, Kind, Registry, StepDef};
use crate::source::SourceFile;

/// Finds the definition of `step` and its arguments, or says what is wrong with it.
pub(crate) fn bind<'r>(
    file: &Arc<SourceFile>,
    step: &Step,
    registry: &'r Registry,
) -> Result<(&'r StepDef, Args), Vec<Finding>> {
    let found = registry.find(&step.text);
    let (def, mut args) = match found.len() {
        0 => return Err(vec![undefined(file, step, registry)]),
        1 => found.into_iter().next().ok_or_else(Vec::new)?,
        _ => {
            let all: Vec<String> = found
                .iter()
                .map(|(def, _)| {
                    format!(
                        "  {} {}   ({}:{})",
                        def.kind, def.expression, def.file, def.line
                    )
                })
                .collect();
            return Err(vec![
                Finding::new(
                    "ambiguous-step",
                    file,
                    step.span,
                    "more than one step fits this line",
                )
                .help(all.join("\n")),
            ]);
        }
    };
    args.block.clone_from(&step.block);
    let mut findings = Vec::new();
    findings.extend(keyword(file, step, def));
    findings.extend(block(file, step, def));
    for (name, value) in args.named() {
        if let Err(wrong) = registry.check(name, value) {
            findings.push(wrong_value(file, step, value, &wrong));
        }
    }
    match faults(file, step, def) {
        Ok(plan) => args.faults = plan,
        Err(finding) => findings.push(*finding),
    }
    match manifests(file, step, def, &args) {
        Ok(objects) => args.objects = objects,
        Err(finding) => findings.push(*finding),
    }
    if let (Some(Block::Table { header, rows }), BlockWish::Table(columns)) =
        (&step.block, &def.block)
    {
        for (at, column) in header.iter().enumerate() {
            let Some((_, parameter)) = columns.iter().find(|(name, _)| name == column) else {
                continue;
            };
            for row in rows {
                let Some(value) = row.get(at) else { continue };
                let quoted = if *parameter == "count" {
                    value.clone()
                } else {
                    format!("\"{value}\"")
                };
                if let Err(wrong) = registry.check(parameter, &quoted) {
                    findings.push(wrong_value(file, step, value, &wrong));
                }
            }
        }
    }
    if findings.is_empty() {
        Ok((def, args))
    } else {
        Err(findings)
    }
}

/// The plan of faults that the step holds.
fn faults(
    file: &Arc<SourceFile>,
    step: &Step,
    def: &StepDef,
) -> Result<Option<PlanFile>, Box<Finding>> {
    let (BlockWish::Faults, Some(Block::Doc(text))) = (&def.block, &step.block) else {
        return Ok(None);
    };
    PlanFile::read(text, None).map(Some).map_err(|problems| {
        // The doc string begins below its fence, which stands below the step.
        let (line, message) = problems.first().map_or((0, "no plan of faults"), |it| {
            (it.line, it.message.as_str())
        });
        let span = file.line_span(step.line + 1 + line);
        Box::new(Finding::new("bad-faults", file, span, message))
    })
}

/// The objects that the step names or holds.
fn manifests(
    file: &Arc<SourceFile>,
    step: &Step,
    def: &StepDef,
    args: &Args,
) -> Result<Vec<serde_json::Value>, Box<Finding>> {
    let mut objects = Vec::new();
    for (_, value) in args.named().filter(|(name, _)| *name == "manifest") {
        let name = crate::parameters::unquote(value);
        let path = file.folder.join(name);
        match manifest::file(&path) {
            Ok(found) => objects.extend(found),
            Err(wrong) => {
                let place = match wrong.line {
                    0 => name.to_owned(),
                    line => format!("{name}:{line}"),
                };
                let span = value_span(file, step, name);
                let finding = Finding::new(
                    "bad-manifest",
                    file,
                    span,
                    format!("{place}: {}", wrong.message),
                );
                return Err(Box::new(finding.label("named here").help(format!(
                    "the path is taken from the folder of the feature file: {}",
                    path.display()
                ))));
            }
        }
    }
    let Some(Block::Doc(text)) = &step.block else {
        return Ok(objects);
    };
    let found = match def.block {
        BlockWish::Manifest => manifest::objects(text),
        BlockWish::Devices => manifest::devices(text).map(|devices| vec![devices]),
        BlockWish::Settings => manifest::settings(text).map(|settings| vec![settings]),
        _ => return Ok(objects),
    };
    match found {
        Ok(found) => objects.extend(found),
        Err(wrong) => {
            // The doc string begins below its fence, which stands below the step.
            let span = match wrong.line {
                0 => step.span,
                line => file.line_span(step.line + 1 + line),
            };
            return Err(Box::new(Finding::new(
                "bad-manifest",
                file,
                span,
                wrong.message,
            )));
        }
    }
    Ok(objects)
}

/// The value itself, in the line or in the table below it; a value out of Examples is not there literally.
fn value_span(file: &Arc<SourceFile>, step: &Step, value: &str) -> (usize, usize) {
    let from = step.span.0;
    file.text[from..]
        .find(value)
        .map_or(step.span, |at| (from + at, value.len().max(1)))
}

fn wrong_value(
    file: &Arc<SourceFile>,
    step: &Step,
    value: &str,
    wrong: &crate::parameters::Wrong,
) -> Finding {
    let span = value_span(file, step, value);
    Finding::new("bad-value", file, span, wrong.message.clone())
        .label(wrong.label.clone())
        .help(wrong.help.clone())
}

fn keyword(file: &Arc<SourceFile>, step: &Step, def: &StepDef) -> Option<Finding> {
    let asserts = def.kind == Kind::Then;
    let under_then = step.ty == StepType::Then;
    if asserts == under_then {
        return None;
    }
    let message = if asserts {
        "this step asserts something and belongs under Then"
    } else {
        "this step does something and asserts nothing: it belongs under Given or When"
    };
    Some(
        Finding::new("wrong-keyword", file, step.span, message)
            .help(format!("it is defined as: {} {}", def.kind, def.expression)),
    )
}

fn block(file: &Arc<SourceFile>, step: &Step, def: &StepDef) -> Option<Finding> {
    let finding = |message: String| {
        Finding::new("wrong-block", file, step.span, message)
            .help(format!("example:\n{}", def.example))
    };
    match (&def.block, &step.block) {
        (BlockWish::None, None)
        | (
            BlockWish::Doc
            | BlockWish::Manifest
            | BlockWish::Devices
            | BlockWish::Faults
            | BlockWish::Settings,
            Some(Block::Doc(_)),
        ) => None,
        (BlockWish::None, Some(_)) => Some(finding(
            "this step takes neither table nor doc string".to_owned(),
        )),
        (
            BlockWish::Doc
            | BlockWish::Manifest
            | BlockWish::Devices
            | BlockWish::Faults
            | BlockWish::Settings,
            _,
        ) => Some(finding("this step wants a doc string below it".to_owned())),
        (BlockWish::Table(columns), Some(Block::Table { header, rows })) => {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            if rows.is_empty() {
                return Some(finding("the table below this step has no row".to_owned()));
            }
            (*header != names).then(|| {
                finding(format!(
                    "the table below this step must have the columns: {}",
                    names.join(", ")
                ))
            })
        }
        (BlockWish::Table(columns), _) => {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            Some(finding(format!(
                "this step wants a table below it, with the columns: {}",
                names.join(", ")
            )))
        }
    }
}

fn undefined(file: &Arc<SourceFile>, step: &Step, registry: &Registry) -> Finding {
    let kind = match step.ty {
        StepType::Given => Kind::Given,
        StepType::When => Kind::When,
        StepType::Then => Kind::Then,
    };
    let nearest = registry
        .nearest(&step.text)
        .map(|def| {
            format!(
                "the nearest known step is\n  {} {}\n  example: {}\n",
                def.kind,
                def.expression,
                def.example.lines().next().unwrap_or_default()
            )
        })
        .unwrap_or_default();
    let snippet = crate::registry::snippet(kind, &step.text, step.block.as_ref());
    Finding::new(
        "undefined-step",
        file,
        step.span,
        "no step is defined that reads like this",
    )
    .label("undefined")
    .help(format!(
        "{nearest}to define it, in harness/scenario/src/steps/<topic>.rs:\n{snippet}"
    ))
}
