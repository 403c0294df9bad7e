//! Selectors, asked of the devices that there can be: those of the catalogue's cards and those of the slices at hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s::facts_of;
use oracle::{Dialect, Expression, Facts, Gates, counted};

use crate::catalogue::{self, CLASSES, DRIVER, OF_THE_MACHINE};
use crate::expression::{self, mentions};
use crate::limits::at_most;
use crate::names::{listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::tree::{Node, Place};

/// A device that there can be.
pub(crate) struct Candidate {
    pub(crate) what: String,
    pub(crate) facts: Arc<Facts>,
    rare: bool,
}

/// A selector at its place.
#[derive(Clone)]
pub(crate) struct Written<'t> {
    file: usize,
    /// None where it comes from a class that is known without a manifest.
    node: Option<&'t Node>,
    text: String,
    compiled: Option<Arc<Expression>>,
}

/// What selectors can be held against.
pub(crate) struct World<'t> {
    candidates: Vec<Candidate>,
    classes: BTreeMap<String, Vec<Written<'t>>>,
    dialect: Dialect,
}

impl<'t> World<'t> {
    pub(crate) fn of(objects: &[Object<'t>], gates: &Gates) -> Self {
        let dialect = oracle::World::dialect_of_new(gates);
        let mut candidates: Vec<Candidate> = catalogue::published()
            .iter()
            .map(|it| Candidate {
                what: it.what.clone(),
                facts: Arc::clone(&it.facts),
                rare: it.rare,
            })
            .collect();
        for slice in objects.iter().filter(|it| it.kind == "ResourceSlice") {
            let Some(spec) = slice.spec() else { continue };
            let driver = spec.text("driver").unwrap_or_default();
            for device in spec.list("devices") {
                let body = device.get("basic").unwrap_or(device);
                candidates.push(Candidate {
                    what: format!("device {}", device.text("name").unwrap_or("without name")),
                    facts: Arc::new(facts_of(driver, body)),
                    rare: false,
                });
            }
        }
        let known = CLASSES.iter().map(|(name, text)| {
            let written = Written {
                file: 0,
                node: None,
                text: (*text).to_owned(),
                compiled: Expression::compile(text, dialect).ok().map(Arc::new),
            };
            ((*name).to_owned(), vec![written])
        });
        let mut world = Self {
            candidates,
            classes: known.collect(),
            dialect,
        };
        for class in objects.iter().filter(|it| it.kind == "DeviceClass") {
            if let Some(spec) = class.spec() {
                let selectors = world.written(class.file, spec);
                world.classes.insert(class.name().to_owned(), selectors);
            }
        }
        world
    }

    /// The selectors of a class or request.
    pub(crate) fn written(&self, file: usize, of: &'t Node) -> Vec<Written<'t>> {
        let found = of
            .list("selectors")
            .iter()
            .filter_map(|it| it.path(&["cel", "expression"]));
        found
            .filter_map(|node| {
                let text = node.as_text()?.to_owned();
                let compiled = Expression::compile(&text, self.dialect).ok().map(Arc::new);
                Some(Written {
                    file,
                    node: Some(node),
                    text,
                    compiled,
                })
            })
            .collect()
    }

    /// The selectors of a class by name, where it is known.
    pub(crate) fn class(&self, name: &str) -> Option<&[Written<'t>]> {
        self.classes.get(name).map(Vec::as_slice)
    }

    /// The class that was meant by a name that nobody knows.
    pub(crate) fn meant_class(&self, name: &str) -> Option<&str> {
        nearest(name, self.classes.keys().map(String::as_str)).filter(|near| *near != name)
    }

    /// The devices that these selectors speak of; none where they speak of a driver whose devices nobody here knows.
    fn spoken_of(&self, all: &[&Written<'t>]) -> Vec<&Candidate> {
        let mentioned = |driver: &str| all.iter().any(|it| it.text.contains(driver));
        self.candidates
            .iter()
            .filter(|it| mentioned(&it.facts.driver))
            .collect()
    }

    /// The devices that all these selectors admit; `None` where nothing can be said.
    pub(crate) fn admitted(&self, all: &[&Written<'t>]) -> Option<Vec<&Candidate>> {
        if all.is_empty()
            || all
                .iter()
                .any(|it| it.compiled.is_none() || asks_the_machine(&it.text))
        {
            return None;
        }
        let spoken_of = self.spoken_of(all);
        if spoken_of.is_empty() {
            return None;
        }
        let holds = |candidate: &&Candidate| {
            all.iter().all(|it| {
                it.compiled
                    .as_ref()
                    .is_some_and(|expression| expression.holds(&candidate.facts) == Ok(true))
            })
        };
        Some(spoken_of.into_iter().filter(holds).collect())
    }

    /// Syntax, names and limits of the selectors of a class or request.
    pub(crate) fn check(&self, file: usize, of: &'t Node, report: &mut Report<'_>) {
        at_most(
            report,
            file,
            of,
            "selectors",
            oracle::limits::SELECTORS,
            "join selectors by && in one expression",
        );
        for selector in of.list("selectors") {
            let Some(node) = selector.path(&["cel", "expression"]) else {
                continue;
            };
            self.expression(file, node, report);
        }
    }

    /// Syntax and names of one expression.
    pub(crate) fn expression(&self, file: usize, node: &Node, report: &mut Report<'_>) {
        let Some(text) = node.as_text() else { return };
        if let Err(bad) = Expression::compile(text, self.dialect) {
            let place = expression::place_at(report.text(file), node, text, bad.line, bad.column);
            let message = bad
                .message
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("Syntax error: ");
            // What could stand there instead is a list of everything.
            let message = message.split(" expecting ").next().unwrap_or(message);
            report
                .say(file, "cel", place, format!("this is not an expression that selectors can have: {message}"))
                .help("a selector is CEL over `device.driver`, `device.attributes[\"DOMAIN\"].NAME` and `device.capacity[\"DOMAIN\"].NAME`");
        }
    }

    /// Whether these selectors together can ever admit a device, and whether they fail on one that the scheduler looks at.
    /// `class` come first, as the scheduler asks them; only `own` are blamed.
    pub(crate) fn reach(
        &self,
        class: &[Written<'t>],
        own: &[Written<'t>],
        place: (usize, Place),
        report: &mut Report<'_>,
    ) {
        let all: Vec<&Written<'t>> = class.iter().chain(own).collect();
        if own.is_empty() || all.iter().any(|it| it.compiled.is_none()) {
            return;
        }
        let spoken_of = self.spoken_of(&all);
        if spoken_of.is_empty() {
            return;
        }
        let mut admitted = 0;
        let mut failed: Option<(&Written<'t>, &Candidate, String)> = None;
        'candidates: for candidate in &spoken_of {
            for it in &all {
                let Some(expression) = &it.compiled else {
                    continue;
                };
                match expression.holds(&candidate.facts) {
                    Ok(true) => {}
                    Ok(false) => continue 'candidates,
                    Err(error) => {
                        if failed.is_none() && !candidate.rare && it.node.is_some() {
                            failed = Some((it, candidate, error));
                        }
                        continue 'candidates;
                    }
                }
            }
            admitted += 1;
        }
        if admitted == 0 {
            // Reasons in the text itself say more than that nothing matches.
            let before = own.iter().any(|it| self.reasons(it, &spoken_of, report));
            if before || all.iter().any(|it| asks_the_machine(&it.text)) {
                return;
            }
            let blamed = own
                .last()
                .and_then(|it| Some((it.file, it.node?.place)))
                .unwrap_or(place);
            let why = match failed {
                Some((_, device, error)) => format!("it fails, as on {}: {error}", device.what),
                None if class.is_empty() => "look at the names, values and brackets".to_owned(),
                None => "together with the class it asks for what no device has; `sliceproof explain` shows it on a live cluster".to_owned(),
            };
            report
                .say(blamed.0, "never-matches", blamed.1, format!("no device can match: none of {} that are published for the cards of the catalogue and in the slices here", counted(spoken_of.len(), "device")))
                .help(why);
        } else if let Some((it, device, error)) = failed
            && let Some(node) = it.node
        {
            let missing = mentions(&it.text)
                .into_iter()
                .find(|mention| !has(&device.facts, mention));
            let place = missing.as_ref().map_or(node.place, |mention| {
                expression::place_of(report.text(it.file), node, mention.whole)
            });
            let help = match &missing {
                Some(mention) => format!(
                    "the scheduler gives up on the whole claim when it comes to such a device; ask first: `{:?} in device.{}[{:?}] && …`, or choose a class that admits only devices that have it",
                    mention.name,
                    if mention.is_attribute {
                        "attributes"
                    } else {
                        "capacity"
                    },
                    mention.domain
                ),
                None => "the scheduler gives up on the whole claim when it comes to such a device"
                    .to_owned(),
            };
            report
                .say(
                    it.file,
                    "cel-fails",
                    place,
                    format!("this fails on {}: {error}", device.what),
                )
                .help(help);
        }
    }

    /// Names and values in an expression that no device has.
    fn reasons(&self, it: &Written<'t>, spoken_of: &[&Candidate], report: &mut Report<'_>) -> bool {
        let Some(node) = it.node else { return false };
        let mut found = false;
        for mention in mentions(&it.text) {
            let place = expression::place_of(report.text(it.file), node, mention.whole);
            let kind = if mention.is_attribute {
                "attribute"
            } else {
                "capacity"
            };
            if spoken_of
                .iter()
                .any(|candidate| has(&candidate.facts, &mention))
            {
                let Some(wanted) = mention.wanted else {
                    continue;
                };
                if OF_THE_MACHINE.contains(&mention.name) {
                    continue;
                }
                let values = texts(spoken_of, &mention);
                if values.is_empty() || values.iter().any(|value| value == wanted) {
                    continue;
                }
                found = true;
                let near = nearest(wanted, values.iter().map(String::as_str));
                let help = near.map_or_else(
                    || {
                        format!(
                            "published are {}",
                            listed(values.iter().take(12).map(String::as_str))
                        )
                    },
                    |near| format!("did you mean {near:?}?"),
                );
                let place = expression::place_of(report.text(it.file), node, wanted);
                report
                    .say(
                        it.file,
                        "never-matches",
                        place,
                        format!("no device has {wanted:?} as its {}", mention.name),
                    )
                    .help(help);
                continue;
            }
            found = true;
            let other = expression::Mention {
                is_attribute: !mention.is_attribute,
                ..mention.clone()
            };
            if spoken_of
                .iter()
                .any(|candidate| has(&candidate.facts, &other))
            {
                let (rule, help) = if mention.is_attribute {
                    (
                        "capacity-as-attribute",
                        format!(
                            "it is a capacity: `device.capacity[{:?}].{}.compareTo(quantity(\"…\")) >= 0`",
                            mention.domain, mention.name
                        ),
                    )
                } else {
                    (
                        "attribute-as-capacity",
                        format!(
                            "it is an attribute: `device.attributes[{:?}].{} == …`",
                            mention.domain, mention.name
                        ),
                    )
                };
                report
                    .say(
                        it.file,
                        rule,
                        place,
                        format!(
                            "no device has a{} {kind} {:?}",
                            if mention.is_attribute { "n" } else { "" },
                            mention.name
                        ),
                    )
                    .help(help);
                continue;
            }
            let names = known_names(spoken_of, mention.is_attribute);
            let here = || {
                names
                    .iter()
                    .filter(|(domain, _)| domain == mention.domain)
                    .map(|(_, name)| name.as_str())
            };
            let help = if here().next().is_none() {
                let domains: Vec<&str> = names.iter().map(|(domain, _)| domain.as_str()).collect();
                nearest(mention.domain, domains.iter().copied()).map_or_else(
                    || "its domain is the driver's name, or resource.kubernetes.io".to_owned(),
                    |near| format!("did you mean the domain {near:?}?"),
                )
            } else {
                nearest(mention.name, here()).map_or_else(
                    || format!("published are {}", listed(here())),
                    |near| format!("did you mean `{near}`?"),
                )
            };
            let whole = format!("{}/{}", mention.domain, mention.name);
            report
                .say(
                    it.file,
                    "never-matches",
                    place,
                    format!("no device has the {kind} {whole}"),
                )
                .help(help);
        }
        found
    }
}

fn asks_the_machine(text: &str) -> bool {
    OF_THE_MACHINE
        .iter()
        .any(|name| expression::names(text, name))
}

fn key_of(facts: &Facts, name: &str) -> (String, String) {
    match name.split_once('/') {
        Some((domain, id)) => (domain.to_owned(), id.to_owned()),
        None => (facts.driver.to_string(), name.to_owned()),
    }
}

fn has(facts: &Facts, mention: &expression::Mention<'_>) -> bool {
    let wanted = (mention.domain.to_owned(), mention.name.to_owned());
    if mention.is_attribute {
        facts
            .attributes
            .keys()
            .any(|name| key_of(facts, name) == wanted)
    } else {
        facts
            .capacity
            .keys()
            .any(|name| key_of(facts, name) == wanted)
    }
}

/// Domain and id of everything that is published.
fn known_names(
    candidates: &[&Candidate],
    attributes: bool,
) -> std::collections::BTreeSet<(String, String)> {
    let names = candidates.iter().flat_map(|candidate| {
        let facts = &candidate.facts;
        let names: Vec<(String, String)> = if attributes {
            facts
                .attributes
                .keys()
                .map(|name| key_of(facts, name))
                .collect()
        } else {
            facts
                .capacity
                .keys()
                .map(|name| key_of(facts, name))
                .collect()
        };
        names
    });
    names.collect()
}

/// The texts that an attribute has on the devices.
fn texts(
    candidates: &[&Candidate],
    mention: &expression::Mention<'_>,
) -> std::collections::BTreeSet<String> {
    let values = candidates.iter().flat_map(|candidate| {
        let facts = &candidate.facts;
        let of_name = facts.attributes.iter().filter(|(name, _)| {
            key_of(facts, name) == (mention.domain.to_owned(), mention.name.to_owned())
        });
        of_name
            .flat_map(|(_, attribute)| attribute.values())
            .filter_map(|value| match value {
                oracle::objects::Scalar::Text(text) => Some(text.to_string()),
                _ => None,
            })
    });
    values.collect()
}

/// Whether devices of the NVIDIA driver are among them.
pub(crate) fn of_nvidia(candidates: &[&Candidate]) -> bool {
    candidates.iter().any(|it| &*it.facts.driver == DRIVER)
}

/// A DeviceClass.
pub(crate) fn class(object: &Object<'_>, world: &World<'_>, report: &mut Report<'_>) {
    let Some(spec) = object.spec() else { return };
    world.check(object.file, spec, report);
    let written = world.written(object.file, spec);
    world.reach(&[], &written, (object.file, object.root.at("spec")), report);
    if let Some(node) = spec.get("extendedResourceName")
        && let Some(name) = node.as_text()
    {
        let fine = name.split_once('/').is_some_and(|(domain, id)| {
            domain.contains('.') && !id.is_empty() && !domain.ends_with("kubernetes.io")
        });
        if !fine {
            report
                .say(object.file, "extended-resource", node.place, format!("{name:?} cannot be an extended resource"))
                .help("write a domain and a name, as nvidia.com/gpu; `requests.` and domains of kubernetes.io are not free");
        }
    }
    crate::claim::configs(object.file, spec, None, report);
}

mod k8s {
    //! Devices of slices as selectors see them.

    use oracle::objects::{Attribute, Capacity, Scalar};
    use oracle::{Facts, Name, Quantity};

    use crate::tree::{Node, Value};

    pub(super) fn facts_of(driver: &str, body: &Node) -> Facts {
        let attributes = body.map("attributes").iter().filter_map(|(key, node)| {
            let (kind, value) = node.entries().first()?;
            Some((Name::from(key.name.as_str()), attribute(&kind.name, value)?))
        });
        let capacity = body.map("capacity").iter().filter_map(|(key, node)| {
            let value: Quantity = node.get("value")?.written()?.parse().ok()?;
            Some((
                Name::from(key.name.as_str()),
                Capacity {
                    value,
                    policy: None,
                },
            ))
        });
        Facts {
            driver: driver.into(),
            multiple: body.is_true("allowMultipleAllocations"),
            attributes: attributes.collect(),
            capacity: capacity.collect(),
        }
    }

    fn scalar(kind: &str, node: &Node) -> Option<Scalar> {
        Some(match (kind, &node.value) {
            ("bool" | "bools", Value::Bool(yes)) => Scalar::Bool(*yes),
            ("int" | "ints", Value::Int(number)) => Scalar::Int(*number),
            ("string" | "strings", Value::Text(text)) => Scalar::Text(text.as_str().into()),
            ("version" | "versions", Value::Text(text)) => Scalar::Version(text.as_str().into()),
            _ => return None,
        })
    }

    fn attribute(kind: &str, node: &Node) -> Option<Attribute> {
        if kind.ends_with('s') {
            let values: Option<Vec<Scalar>> =
                node.items().iter().map(|item| scalar(kind, item)).collect();
            return values.map(Attribute::list);
        }
        scalar(kind, node).map(Attribute::scalar)
    }
}
