//! Static types of CEL, as the API server's checker has them, and how they fit together.

use std::collections::BTreeMap;
use std::fmt;

/// A type. What is not known before an expression runs is `Dyn`, or `Any` where it cannot be gone through either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Dyn,
    Any,
    /// A plain type by its name: `bool`, `kubernetes.Quantity`, `device`.
    Plain(&'static str),
    List(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    Optional(Box<Ty>),
    /// A parameter of a signature.
    Var(char),
}

pub(super) const BOOL: Ty = Ty::Plain("bool");
pub(super) const INT: Ty = Ty::Plain("int");
pub(super) const TEXT: Ty = Ty::Plain("string");

/// What the parameters of a signature stand for.
pub(super) type Bound = BTreeMap<char, Ty>;

impl Ty {
    pub(super) fn list(of: Ty) -> Ty {
        Ty::List(Box::new(of))
    }

    pub(super) fn map(key: Ty, value: Ty) -> Ty {
        Ty::Map(Box::new(key), Box::new(value))
    }

    pub(super) fn open(&self) -> bool {
        matches!(self, Ty::Dyn | Ty::Any)
    }

    /// Reads one of a signature: `list(A)`, `map(string,dyn)`, `bool`.
    pub(super) fn parse(text: &'static str) -> Ty {
        let inside = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix(')');
        if let Some(of) = inside("list(") {
            return Ty::list(Ty::parse(of));
        }
        if let Some(of) = inside("optional(") {
            return Ty::Optional(Box::new(Ty::parse(of)));
        }
        if let Some((key, value)) = inside("map(").and_then(|parts| parts.split_once(',')) {
            return Ty::map(Ty::parse(key), Ty::parse(value));
        }
        match (text, text.chars().next()) {
            ("dyn", _) => Ty::Dyn,
            (_, Some(letter)) if text.len() == 1 => Ty::Var(letter),
            _ => Ty::Plain(text),
        }
    }

    /// Whether a value of the given type may stand where this one is wanted; parameters are bound on the way.
    pub(super) fn takes(&self, given: &Ty, bound: &mut Bound) -> bool {
        if let Ty::Var(name) = self {
            return match bound.get(name).cloned() {
                Some(known) if known.open() || given.open() => {
                    bound.insert(*name, Ty::Dyn);
                    true
                }
                Some(known) => known.takes(given, bound),
                None => {
                    bound.insert(*name, given.clone());
                    true
                }
            };
        }
        if self.open() || given.open() {
            return true;
        }
        match (self, given) {
            (Ty::Plain(wanted), Ty::Plain("null_type")) => {
                wanted.contains('.') || *wanted == "null_type"
            }
            (Ty::Plain(wanted), Ty::Plain(given)) => wanted == given,
            (Ty::List(wanted), Ty::List(given)) | (Ty::Optional(wanted), Ty::Optional(given)) => {
                wanted.takes(given, bound)
            }
            (Ty::Map(key, value), Ty::Map(given_key, given_value)) => {
                key.takes(given_key, bound) && value.takes(given_value, bound)
            }
            _ => false,
        }
    }

    /// The type with its parameters put in; one that nothing binds is not known.
    pub(super) fn bound(&self, bound: &Bound) -> Ty {
        match self {
            Ty::Var(name) => bound.get(name).cloned().unwrap_or(Ty::Dyn),
            Ty::List(of) => Ty::list(of.bound(bound)),
            Ty::Optional(of) => Ty::Optional(Box::new(of.bound(bound))),
            Ty::Map(key, value) => Ty::map(key.bound(bound), value.bound(bound)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Dyn => f.write_str("dyn"),
            Ty::Any => f.write_str("any"),
            Ty::Plain(name) => f.write_str(name),
            Ty::List(of) => write!(f, "list({of})"),
            Ty::Map(key, value) => write!(f, "map({key}, {value})"),
            Ty::Optional(of) => write!(f, "optional({of})"),
            Ty::Var(name) => write!(f, "{name}"),
        }
    }
}
