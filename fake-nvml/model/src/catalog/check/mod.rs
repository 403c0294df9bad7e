//! Whether the values of a model file fit together; makes the compact form of them.
//! Not here: how the file is written (`file`).
//! In: a parsed file and the known sources. Out: a [`Spec`], or the first problem with its line and what to mend.
mod convert;
mod identity;
mod mig;

use super::{
    error::CatalogError,
    file::{Confidence, Fact, File},
};
use crate::spec::{Spec, StandIn};
use serde_saphyr::Location;
use std::{cell::RefCell, collections::BTreeMap};

pub(super) struct Checker<'a> {
    file: &'a str,
    sources: &'a BTreeMap<String, String>,
    /// The stand-ins met so far.
    stand_ins: RefCell<Vec<StandIn>>,
}

/// The format of model files that this program reads.
const FORMAT: u32 = 1;

impl<'a> Checker<'a> {
    pub(super) fn new(file: &'a str, sources: &'a BTreeMap<String, String>) -> Self {
        Self {
            file,
            sources,
            stand_ins: RefCell::default(),
        }
    }

    pub(super) fn spec(&self, parsed: &File) -> Result<Spec, CatalogError> {
        let format = parsed.format.value;
        self.must(format == FORMAT, parsed.format.referenced, || {
            (
                format!("format {format} is not known"),
                format!("write `format: {FORMAT}`"),
            )
        })?;
        let model = &parsed.model.value;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        self.must(!model.is_empty() && model.chars().all(plain), parsed.model.referenced, || {
            (format!("`{model}` is no model name"), "use letters, digits, `-`, `_` and `.` only, so that 2xNAME and NAME*2 can be told apart".to_owned())
        })?;
        let mut spec = self.identity(model, parsed)?;
        if let Some(mig) = &parsed.mig {
            spec.mig = Some(self.mig(mig, &spec)?);
        }
        let mut stand_ins = self.stand_ins.take();
        stand_ins.sort_unstable();
        stand_ins.dedup();
        spec.stand_ins = stand_ins;
        Ok(spec)
    }

    /// Notes a value that is there without anybody having shown it.
    fn mark<T>(&self, fact: &Fact<T>, what: StandIn) {
        let raw = &fact.value;
        if raw.confidence == Confidence::Unknown && raw.value.is_some() {
            self.stand_ins.borrow_mut().push(what);
        }
    }

    /// The value, after a look at its provenance.
    fn fact<'f, T>(&self, fact: &'f Fact<T>) -> Result<Option<&'f T>, CatalogError> {
        let raw = &fact.value;
        self.must(
            raw.confidence == Confidence::Unknown || !raw.source.is_empty(),
            fact.referenced,
            || {
                (
                    format!("a value that is `{}` names no source", raw.confidence),
                    "name one, or say `confidence: unknown`".to_owned(),
                )
            },
        )?;
        if let Some(id) = raw.source.iter().find(|id| !self.sources.contains_key(*id)) {
            return Err(self.error(
                fact.referenced,
                format!("there is no source {id}"),
                "describe it under `sources:` in this file".to_owned(),
            ));
        }
        Ok(raw.value.as_ref())
    }

    fn needed<'f, T>(&self, what: &str, fact: &'f Fact<T>) -> Result<&'f T, CatalogError> {
        self.fact(fact)?.ok_or_else(|| {
            self.error(
                fact.referenced,
                format!("{what} is null"),
                "a card can not be shown without it: give a placeholder with `confidence: unknown`"
                    .to_owned(),
            )
        })
    }

    fn must(
        &self,
        holds: bool,
        at: Location,
        say: impl FnOnce() -> (String, String),
    ) -> Result<(), CatalogError> {
        if holds {
            return Ok(());
        }
        let (problem, remedy) = say();
        Err(self.error(at, problem, remedy))
    }

    fn error(&self, at: Location, problem: String, remedy: String) -> CatalogError {
        CatalogError {
            file: self.file.to_owned(),
            line: at.line(),
            column: at.column(),
            problem,
            remedy,
        }
    }
}
