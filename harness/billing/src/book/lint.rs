//! What is wrong with a price book, all of it at once, each with its place.

use std::collections::BTreeMap;

use gpu_model::Catalog;
use manifest::tree::{self, Node, Place};

use super::written::{self, Amount};
use super::{
    Confidence, Currency, Discount, Fx, Kind, Per, Price, PriceBook, Rate, Weights, shape,
};
use crate::ratio::{Ratio, Rounding};
use crate::time::{MonthBasis, Seconds};

/// One thing that is wrong with a price book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable name of the rule that is broken.
    pub rule: &'static str,
    /// First byte and length of the place.
    pub span: Place,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

pub(super) fn read(text: &str) -> Result<PriceBook, Vec<Problem>> {
    let mut lint = Lint {
        text,
        problems: Vec::new(),
    };
    let (documents, broken) = tree::read(text);
    for it in broken {
        lint.say(it.place, it.rule, it.message, it.help);
    }
    if documents.len() > 1 {
        let place = documents[1].place;
        lint.say(
            place,
            "yaml",
            "a second price book stands here",
            "write one into a file",
        );
    }
    let Some(root) = documents
        .first()
        .filter(|it| !matches!(it.value, tree::Value::Null))
    else {
        if lint.problems.is_empty() {
            lint.say(
                (0, 1),
                "yaml",
                "nothing stands here",
                "`sliceproof price book` prints one to begin with",
            );
        }
        return Err(lint.problems);
    };
    let schema = PriceBook::schema().to_value();
    for it in shape::check(root, &schema) {
        lint.say(it.place, it.rule, it.message, it.help);
    }
    // What has the right shape is looked at further even if something else has not: all faults at once.
    let book = lint.book(root);
    match lint.problems.is_empty() {
        true => Ok(book),
        false => {
            lint.problems
                .sort_by(|a, b| (a.span, a.rule, &a.message).cmp(&(b.span, b.rule, &b.message)));
            lint.problems.dedup();
            Err(lint.problems)
        }
    }
}

struct Lint<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

/// A part of the file, if it has its shape; what has not was said.
fn part<T: serde::de::DeserializeOwned>(node: Option<&Node>) -> Option<T> {
    serde_json::from_value(shape::json(node?)).ok()
}

impl Lint<'_> {
    fn say(
        &mut self,
        place: Place,
        rule: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (line, column) = oracle::line_and_column(self.text, place.0);
        self.problems.push(Problem {
            rule,
            span: place,
            line,
            column,
            message: message.into(),
            help: help.into(),
        });
    }

    /// The place of a key's value.
    fn place(node: &Node, key: &str) -> Place {
        node.get(key).map_or(node.place, |it| it.place)
    }

    fn book(&mut self, root: &Node) -> PriceBook {
        if root.int("format").is_some_and(|it| it != 1) {
            let message = "this format of price books is not known here";
            self.say(
                Self::place(root, "format"),
                "format",
                message,
                "write `format: 1`",
            );
        }
        let text = |key: &str| root.text(key).unwrap_or_default().to_owned();
        for key in ["name", "issuer"] {
            if root.text(key).is_some_and(|it| it.trim().is_empty()) {
                let message = format!("the {key} is empty, and it stands on each invoice");
                self.say(Self::place(root, key), "empty", message, "write one");
            }
        }
        let currency = self.currency(root, "currency");
        let month = match part(root.get("month")) {
            Some(written::Month::Hours720) => MonthBasis::Hours720,
            Some(written::Month::Calendar) => MonthBasis::Calendar,
            _ => MonthBasis::Hours730,
        };
        let rounding = match part(root.get("rounding")) {
            Some(written::Rounds::HalfUp) => Rounding::HalfUp,
            _ => Rounding::HalfEven,
        };
        let fx = self.fx(root);
        let rates = self.rates(root, currency, &fx);
        PriceBook {
            name: text("name"),
            issuer: text("issuer"),
            currency: currency.unwrap_or(Currency::NONE),
            month,
            weights: self.weights(root),
            rounding,
            unreserved: part(root.get("unreserved")).unwrap_or_default(),
            misallocation: part(root.get("misallocation")).unwrap_or_default(),
            idle: part(root.get("idle")).unwrap_or_default(),
            rates,
            fx,
            discounts: self.discounts(root),
            digest: PriceBook::digest_of(&shape::json(root)),
        }
    }

    fn currency(&mut self, node: &Node, key: &str) -> Option<Currency> {
        let code = node.text(key)?;
        match code.parse() {
            Ok(currency) => Some(currency),
            Err(error) => {
                self.say(
                    Self::place(node, key),
                    "currency",
                    error_text(&error),
                    "ISO 4217 lists them",
                );
                None
            }
        }
    }

    fn amount(
        &mut self,
        node: &Node,
        key: &str,
        range: fn(Ratio) -> Result<(), &'static str>,
    ) -> Option<Ratio> {
        let written = match part(node.get(key))? {
            Amount::Whole(number) => number.to_string(),
            Amount::Written(text) => text,
        };
        let place = Self::place(node, key);
        match written.parse::<Ratio>() {
            Ok(ratio) => {
                if let Err(must) = range(ratio) {
                    self.say(place, "range", format!("{key} is {written}"), must);
                }
                Some(ratio)
            }
            Err(error) => {
                self.say(
                    place,
                    "number",
                    error_text(&error),
                    "no exponent, no separators, a point before decimals",
                );
                None
            }
        }
    }

    fn date(&mut self, node: &Node, key: &str) -> Option<Seconds> {
        let text = node.text(key)?;
        match text.parse() {
            Ok(at) => Some(at),
            Err(error) => {
                self.say(
                    Self::place(node, key),
                    "date",
                    error_text(&error),
                    "or as 2026-11-01, which is its midnight in UTC",
                );
                None
            }
        }
    }

    fn weights(&mut self, root: &Node) -> Weights {
        let by: Option<written::By> = part(root.get("weights"));
        let profiles = root.map("profiles");
        match by {
            Some(written::By::Explicit) if profiles.is_empty() => self.say(
                Self::place(root, "weights"),
                "weights",
                "the weights are explicit, and there are none",
                "name each profile's under `profiles`, as `1g.10gb: 1/7`",
            ),
            Some(written::By::Compute | written::By::Memory | written::By::Max)
                if !profiles.is_empty() =>
            {
                self.say(
                    root.at("profiles"),
                    "weights",
                    "these weights are not used",
                    "write `weights: explicit`, or leave them out",
                )
            }
            _ => {}
        }
        let mut explicit = BTreeMap::new();
        if let Some(node) = root.get("profiles") {
            for (key, _) in profiles {
                let in_card =
                    |it: Ratio| match !it.is_negative() && !it.is_zero() && it <= Ratio::ONE {
                        true => Ok(()),
                        false => Err("a weight is above 0 and at most 1, the whole card"),
                    };
                if let Some(weight) = self.amount(node, &key.name, in_card) {
                    explicit.insert(key.name.clone(), weight);
                }
            }
        }
        match by {
            Some(written::By::Memory) => Weights::Memory,
            Some(written::By::Max) => Weights::Max,
            Some(written::By::Explicit) => Weights::Explicit(explicit),
            _ => Weights::Compute,
        }
    }

    fn fx(&mut self, root: &Node) -> Vec<Fx> {
        let mut known: Vec<(Fx, Place)> = Vec::new();
        for node in root.list("fx") {
            let (from, to) = (self.currency(node, "from"), self.currency(node, "to"));
            let on = self.date(node, "day");
            let above = |it: Ratio| match it.is_negative() || it.is_zero() {
                true => Err("an exchange rate is above 0"),
                false => Ok(()),
            };
            let rate = self.amount(node, "rate", above);
            let (Some(from), Some(to), Some(on), Some(rate)) = (from, to, on, rate) else {
                continue;
            };
            if from == to {
                self.say(
                    Self::place(node, "to"),
                    "fx",
                    format!("{from} is changed into itself"),
                    "name two currencies",
                );
            }
            let fx = Fx { from, to, on, rate };
            if known
                .iter()
                .any(|(it, _)| (it.from, it.to, it.on) == (from, to, on))
            {
                let message = format!("a second rate of {from} to {to} on this day");
                self.say(
                    Self::place(node, "day"),
                    "twice",
                    message,
                    "leave one of them out",
                );
            }
            known.push((fx, node.place));
        }
        known.into_iter().map(|(fx, _)| fx).collect()
    }

    fn rates(&mut self, root: &Node, currency: Option<Currency>, fx: &[Fx]) -> Vec<Rate> {
        let catalog = Catalog::builtin();
        let mut rates: Vec<(Rate, usize)> = Vec::new();
        for node in root.list("rates") {
            let known = self.model(node, &catalog);
            let own = self.currency(node, "currency");
            let not_below = |it: Ratio| match it.is_negative() {
                true => Err("no price is below 0; what is given back is a correction"),
                false => Ok(()),
            };
            let amount = self.amount(node, "amount", not_below);
            let cap = self.amount(node, "cap", not_below);
            let from = self.date(node, "from");
            let (kind, per): (Option<Kind>, Option<written::Each>) =
                (part(node.get("kind")), part(node.get("per")));
            let confidence: Option<Confidence> = part(node.get("confidence"));
            if node.get("amount").is_none()
                && confidence.is_some_and(|it| it != Confidence::Unverified)
            {
                let message = "this price has no amount";
                self.say(
                    node.place,
                    "amount",
                    message,
                    "write one, or `confidence: unverified` if none is known",
                );
            }
            if node.text("source").is_some_and(|it| it.trim().is_empty()) {
                self.say(
                    Self::place(node, "source"),
                    "empty",
                    "the source is empty",
                    "say where the price is from",
                );
            }
            for key in ["minimum", "step", "cap"] {
                if kind == Some(Kind::Cost) && node.get(key).is_some() {
                    let message =
                        format!("what a card costs has no {key}: its parts have to add up to it");
                    self.say(
                        node.at(key),
                        "cost",
                        message,
                        "give it to a price at which it is sold",
                    );
                }
            }
            if kind == Some(Kind::Cost) && node.get("profile").is_some() {
                let message =
                    "what a card costs is not that of a partition: its parts have to add up to it";
                self.say(node.at("profile"), "cost", message, "leave the profile out");
            }
            for (key, least) in [("minimum", 0), ("step", 1)] {
                if node.int(key).is_some_and(|it| it < least) {
                    let message = format!("{key} is {}", node.int(key).unwrap_or_default());
                    self.say(
                        Self::place(node, key),
                        "range",
                        message,
                        format!("seconds, at least {least}"),
                    );
                }
            }
            if let (Some(own), Some(book)) = (own, currency)
                && own != book
                && !fx.iter().any(|it| (it.from, it.to) == (own, book))
            {
                let message = format!(
                    "this price is in {own}, the invoices are in {book}, and there is no exchange rate"
                );
                self.say(
                    Self::place(node, "currency"),
                    "fx",
                    message,
                    format!("add one under `fx` with `from: {own}`"),
                );
            }
            let (Some(model), Some(kind), Some(per)) = (node.text("model"), kind, per) else {
                continue;
            };
            let profile = node.text("profile").map(str::to_owned);
            let same = |it: &&(Rate, usize)| {
                it.0.model == model
                    && it.0.profile == profile
                    && it.0.kind == kind
                    && it.0.from == from
            };
            if let Some((_, first)) = rates.iter().find(same) {
                let message = format!(
                    "the same price stands in line {first}: model, profile, kind and from are equal"
                );
                self.say(
                    node.place,
                    "twice",
                    message,
                    "leave one out, or let one begin on another day with `from`",
                );
            }
            let (line, _) = oracle::line_and_column(self.text, node.place.0);
            let per = match per {
                written::Each::Hour => Per::Hour,
                written::Each::Month => Per::Month,
            };
            rates.push((
                Rate {
                    model: model.to_owned(),
                    product: known,
                    profile,
                    kind,
                    price: amount.map(|amount| Price { amount, per }),
                    currency: own.or(currency).unwrap_or(Currency::NONE),
                    from,
                    minimum: node.int("minimum").unwrap_or(0),
                    step: node.int("step").unwrap_or(1),
                    cap,
                    source: node.text("source").unwrap_or_default().to_owned(),
                    confidence: confidence.unwrap_or(Confidence::Low),
                },
                line,
            ));
        }
        rates.into_iter().map(|(rate, _)| rate).collect()
    }

    /// What the driver calls the product, if the catalogue has the model; its profile is looked up too.
    fn model(&mut self, node: &Node, catalog: &Catalog) -> Option<String> {
        let name = node.text("model")?;
        let Some(model) = catalog
            .models()
            .into_iter()
            .find(|it| it.name() == name || it.spec().name == name)
        else {
            let near = catalog
                .names()
                .map(|it| (strsim::jaro_winkler(it, name), it))
                .filter(|(near, _)| *near > 0.95)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, near)) = near {
                let message = format!("no card is called {name:?}");
                self.say(
                    Self::place(node, "model"),
                    "model",
                    message,
                    format!("is {near} meant?"),
                );
            }
            return None;
        };
        if let Some(profile) = node.text("profile") {
            let profiles = model.spec().mig.iter().flat_map(|it| &it.profiles);
            let names: Vec<&str> = profiles.map(|it| it.name.as_str()).collect();
            if !names.contains(&profile) {
                let message = format!("a {name} has no profile {profile:?}");
                let has = match names.is_empty() {
                    true => "it cannot be partitioned".to_owned(),
                    false => format!("it has {}", names.join(", ")),
                };
                self.say(Self::place(node, "profile"), "profile", message, has);
            }
        }
        Some(model.spec().name.clone())
    }

    fn discounts(&mut self, root: &Node) -> Vec<Discount> {
        let mut all: Vec<Discount> = Vec::new();
        for node in root.list("discounts") {
            let hundredths = |it: Ratio| match it.is_negative() || it > Ratio::whole(100) {
                true => Err("hundredths of the price, from 0 to 100"),
                false => Ok(()),
            };
            let percent = self.amount(node, "percent", hundredths);
            let (from, until) = (self.date(node, "from"), self.date(node, "until"));
            if let (Some(from), Some(until)) = (from, until)
                && until <= from
            {
                let message = format!("this ends at {until}, and begins at {from}");
                self.say(
                    Self::place(node, "until"),
                    "date",
                    message,
                    "an end lies after its beginning",
                );
            }
            let (Some(tenant), Some(percent)) = (node.text("tenant"), percent) else {
                continue;
            };
            let part = percent.over(Ratio::whole(100)).unwrap_or(Ratio::ZERO);
            let one = Discount {
                tenant: tenant.to_owned(),
                part,
                from,
                until,
            };
            if all.iter().any(|it| it.overlaps(&one)) {
                let message = format!("{tenant} has another discount at the same time");
                self.say(
                    node.place,
                    "twice",
                    message,
                    "let one end before the other begins",
                );
            }
            all.push(one);
        }
        all
    }
}

/// The first part of an error's text: what is wrong; the rest is its own help.
fn error_text(error: &impl std::fmt::Display) -> String {
    error.to_string()
}
