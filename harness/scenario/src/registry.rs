//! The steps that are defined: what they say, what they take, and what they do.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use cucumber_expressions::{Expression, SingleExpression};
use futures::future::LocalBoxFuture;
use gpu_model::PlanFile;
use regex::Regex;
use report::Failure;
use serde_json::Value;

use crate::document::Block;
use crate::parameters::{self, PARAMETERS, Wrong};
use crate::world::World;

/// What a step comes to.
pub type StepResult = Result<(), Failure>;

/// What a step does.
pub type StepFn = for<'a> fn(&'a mut World, &'a Args) -> LocalBoxFuture<'a, StepResult>;

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Brings about a state.
    Given,
    /// Does something.
    When,
    /// Asserts something; the only kind that does.
    Then,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "Given",
            Self::When => "When",
            Self::Then => "Then",
        })
    }
}

/// What must hang below a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockWish {
    /// Nothing.
    None,
    /// A doc string.
    Doc,
    /// A doc string that holds Kubernetes objects as YAML.
    Manifest,
    /// A doc string that holds what a claim asks for: `spec.devices` of a ResourceClaim as YAML.
    Devices,
    /// A doc string that holds a plan of faults, as `fakegpu fault` takes it.
    Faults,
    /// A doc string that holds fields of a program's configuration as YAML.
    Settings,
    /// A table with these columns; each is checked as the parameter named with it.
    Table(&'static [(&'static str, &'static str)]),
}

/// A defined step.
pub struct StepDef {
    /// What it is for.
    pub kind: Kind,
    /// Its Cucumber expression.
    pub expression: &'static str,
    /// What it does, one or two sentences.
    pub doc: &'static str,
    /// A line (with what hangs below it) that uses it.
    pub example: &'static str,
    /// What must hang below it.
    pub block: BlockWish,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it is defined.
    pub file: &'static str,
    /// Line there.
    pub line: u32,
    /// Components that it starts, beyond those that every cluster has.
    pub needs: &'static [&'static str],
    regex: Regex,
    parameters: Vec<&'static str>,
    pub(crate) run: StepFn,
}

impl fmt::Debug for StepDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.expression)
    }
}

impl StepDef {
    /// Says what the step does.
    pub fn doc(&mut self, doc: &'static str) -> &mut Self {
        self.doc = doc;
        self
    }

    /// Shows the step in use.
    pub fn example(&mut self, example: &'static str) -> &mut Self {
        self.example = example;
        self
    }

    /// Asks for something below the step.
    pub fn block(&mut self, block: BlockWish) -> &mut Self {
        self.block = block;
        self
    }

    /// Sets how long the step may take.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Names components that must be there beyond those that every cluster has.
    pub fn needs(&mut self, components: &'static [&'static str]) -> &mut Self {
        self.needs = components;
        self
    }

    /// Names of its parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[&'static str] {
        &self.parameters
    }
}

/// The values of one use of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Args {
    values: Vec<(&'static str, String)>,
    pub(crate) block: Option<Block>,
    /// The plan of faults that the step holds.
    pub(crate) faults: Option<PlanFile>,
    /// Objects of the manifest that the step names or holds, or what its claim asks for.
    pub(crate) objects: Vec<Value>,
}

impl Args {
    /// The values with the names of their parameters, as written.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    fn raw(&self, name: &str) -> &str {
        self.values
            .iter()
            .find(|(have, _)| *have == name)
            .map_or("", |(_, value)| value.as_str())
    }

    /// The `{count}` of the step.
    #[must_use]
    pub fn count(&self) -> usize {
        // The lint has let through only numbers from 1 on.
        self.raw("count").parse().unwrap_or(0)
    }

    /// What stands between the commas of a quoted value.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<&str> {
        parameters::list(self.raw(name))
    }

    /// Quoted values of one kind, in order, where the step has more than one.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.values
            .iter()
            .filter(|(have, _)| *have == name)
            .map(|(_, value)| parameters::unquote(value))
            .collect()
    }

    /// A quoted value, without its quotes.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        parameters::unquote(self.raw(name))
    }

    /// The `{duration}` of the step.
    #[must_use]
    pub fn duration(&self) -> Duration {
        parameters::to_duration(self.raw("duration")).unwrap_or_default()
    }

    /// Whole counts of the step, in order, where it has more than one.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        self.values
            .iter()
            .filter(|(name, _)| *name == "count")
            .filter_map(|(_, value)| value.parse().ok())
            .collect()
    }

    /// One column of the table below the step.
    #[must_use]
    pub fn column(&self, name: &str) -> Vec<String> {
        match &self.block {
            Some(Block::Table { header, rows }) => {
                let at = header.iter().position(|column| column == name);
                at.map(|at| rows.iter().filter_map(|row| row.get(at).cloned()).collect())
                    .unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// Every step that is defined.
#[derive(Debug, Default)]
pub struct Registry {
    steps: Vec<StepDef>,
}

/// How long a step may take where its definition says nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Registry {
    /// Defines a step. `expression` is a Cucumber expression over the parameters of this crate.
    ///
    /// # Panics
    /// Where the expression is not one: a mistake in this program, found by its first test.
    #[track_caller]
    pub fn add(&mut self, kind: Kind, expression: &'static str, run: StepFn) -> &mut StepDef {
        let place = Location::caller();
        let (regex, parameters) = match compile(expression) {
            Ok(compiled) => compiled,
            Err(error) => panic!("{}:{}: {expression:?}: {error}", place.file(), place.line()),
        };
        self.steps.push(StepDef {
            kind,
            expression,
            doc: "",
            example: "",
            block: BlockWish::None,
            timeout: TIMEOUT,
            file: place.file(),
            line: place.line(),
            needs: &[],
            regex,
            parameters,
            run,
        });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    /// Every step, in the order of definition.
    #[must_use]
    pub fn steps(&self) -> &[StepDef] {
        &self.steps
    }

    /// Every step that reads like `text`, with the values in it.
    pub(crate) fn find(&self, text: &str) -> Vec<(&StepDef, Args)> {
        let read = |def| -> Option<(&StepDef, Args)> {
            let def: &StepDef = def;
            let captures = def.regex.captures(text)?;
            let values = def
                .parameters
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    (
                        *name,
                        captures
                            .get(at + 1)
                            .map(|value| value.as_str().to_owned())
                            .unwrap_or_default(),
                    )
                })
                .collect();
            Some((
                def,
                Args {
                    values,
                    ..Args::default()
                },
            ))
        };
        self.steps.iter().filter_map(read).collect()
    }

    /// Checks a value as the parameter `name`.
    pub(crate) fn check(&self, name: &str, value: &str) -> Result<(), Wrong> {
        PARAMETERS
            .iter()
            .find(|parameter| parameter.name == name)
            .map_or(Ok(()), |parameter| (parameter.check)(value))
    }

    /// The step that reads most like `text`, if any is near.
    pub(crate) fn nearest(&self, text: &str) -> Option<&StepDef> {
        let asked = skeleton(text);
        self.steps
            .iter()
            .map(|def| {
                (
                    strsim::normalized_damerau_levenshtein(&asked, &skeleton(&spoken(def))),
                    def,
                )
            })
            .filter(|(likeness, _)| *likeness > 0.45)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, def)| def)
    }
}

fn compile(expression: &'static str) -> Result<(Regex, Vec<&'static str>), String> {
    let patterns = parameters::patterns();
    let regex = Expression::regex_with_parameters(expression, &patterns)
        .map_err(|error| error.to_string())?;
    let parsed = Expression::parse(expression).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    for part in parsed.iter() {
        if let SingleExpression::Parameter(parameter) = part {
            let name: &str = &parameter.input;
            let known = PARAMETERS.iter().find(|known| known.name == name);
            names.push(
                known
                    .ok_or_else(|| format!("there is no parameter {{{name}}}"))?
                    .name,
            );
        }
    }
    if regex.captures_len() != names.len() + 1 {
        return Err("a parameter has a group of its own".to_owned());
    }
    Ok((regex, names))
}

/// The first line of the example without its keyword: the form in which a person writes the step.
fn spoken(def: &StepDef) -> String {
    let line = def.example.lines().next().unwrap_or_default();
    let text = line.split_once(' ').map_or(line, |(_, rest)| rest);
    if text.is_empty() {
        def.expression.to_owned()
    } else {
        text.to_owned()
    }
}

/// `8 pods each claim one "1g.5gb"` → `# pods each claim one "…"`: values do not count for likeness.
fn skeleton(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                if !quoted {
                    out.push('~');
                }
            }
            _ if quoted => {}
            c if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Code that defines a step that reads like `text`.
pub(crate) fn snippet(kind: Kind, text: &str, block: Option<&Block>) -> String {
    let mut expression = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '"'
            && let Some(end) = rest[1..].find('"')
        {
            expression.push_str("{text}");
            rest = &rest[end + 2..];
            continue;
        }
        if c.is_ascii_digit() && !expression.ends_with(|c: char| c.is_alphanumeric()) {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            expression.push_str("{count}");
            rest = &rest[digits..];
            continue;
        }
        if matches!(c, '(' | ')' | '{' | '}' | '/' | '\\') {
            expression.push('\\');
        }
        expression.push(c);
        rest = &rest[c.len_utf8()..];
    }
    let name: String = skeleton(text)
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect::<String>()
        .split_whitespace()
        .take(6)
        .collect::<Vec<_>>()
        .join("_");
    let name = if name.is_empty() {
        "my_step".to_owned()
    } else {
        name
    };
    let example = text.replace('\\', "\\\\").replace('"', "\\\"");
    let expression = expression.replace('\\', "\\\\");
    let block = match block {
        None => String::new(),
        Some(Block::Doc(_)) => "\n    .block(BlockWish::Doc)".to_owned(),
        Some(Block::Table { header, .. }) => {
            let columns: Vec<String> = header
                .iter()
                .map(|column| format!("({column:?}, \"text\")"))
                .collect();
            format!("\n    .block(BlockWish::Table(&[{}]))", columns.join(", "))
        }
    };
    format!(
        "steps.add({kind}, \"{expression}\", |world, args| Box::pin({name}(world, args)))\n    .doc(\"…\"){block}\n    .example(\"{kind} {example}\");\n\nasync fn {name}(world: &mut World, args: &Args) -> StepResult {{\n    Err(Failure::new(\"not written yet\"))\n}}"
    )
}
