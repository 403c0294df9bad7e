//! What is wrong with a plan, all of it at once.
mod calls;
mod cards;
mod devices;
mod places;

use super::{PlanFile, Problem, written};
use crate::{fault::FaultPlan, machine::Machine, span::Micros};
use serde_saphyr::Spanned;

pub(super) fn read(yaml: &str, machine: Option<&Machine>) -> Result<PlanFile, Vec<Problem>> {
    let mut lint = Lint {
        yaml,
        machine,
        problems: Vec::new(),
    };
    let file: written::File = match serde_saphyr::from_str(yaml) {
        Ok(file) => file,
        Err(error) => {
            lint.unread(&error);
            return Err(lint.problems);
        }
    };
    if file.format.value != 1 {
        lint.at(
            &file.format,
            "format",
            format!("format {} is not known here", file.format.value),
            "write `format: 1`",
        );
    }
    if file.calls.len() > FaultPlan::MAX_RULES {
        let (found, max) = (file.calls.len(), FaultPlan::MAX_RULES);
        if let Some(first_too_many) = file.calls.get(max) {
            lint.at(
                first_too_many,
                "too-many",
                format!("{found} rules about calls, at most {max} can be armed"),
                "leave out some, or use `*` in the function's name",
            );
        }
    }
    let rules = file.calls.iter().map(|rule| lint.call(rule)).collect();
    let cards = file.cards.iter().filter_map(|it| lint.card(it)).collect();
    if lint.problems.is_empty() {
        return Ok(PlanFile {
            seed: file.seed,
            rules,
            cards,
        });
    }
    lint.problems.sort_by_key(|problem| problem.offset);
    Err(lint.problems)
}

struct Lint<'a> {
    yaml: &'a str,
    machine: Option<&'a Machine>,
    problems: Vec<Problem>,
}

impl Lint<'_> {
    fn span(&mut self, written: Option<&Spanned<String>>) -> Option<Micros> {
        let written = written?;
        match written.value.parse() {
            Ok(micros) => Some(micros),
            Err(error) => {
                self.at(
                    written,
                    "time",
                    format!("`{}` is no length of time", error.given),
                    "write a number and a unit of us, ms, s, m, h: 50ms, 1.5s",
                );
                None
            }
        }
    }
}
