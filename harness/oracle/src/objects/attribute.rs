//! A device's attribute: one value, or a list of values of one type.

use std::fmt;

use crate::names::Name;

/// One value. Values of different types are never equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text.
    Text(Name),
    /// A semantic version, compared as text where constraints look at it.
    Version(Name),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => write!(f, "{value}"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Text(value) => write!(f, "{value:?}"),
            Scalar::Version(value) => write!(f, "version {value}"),
        }
    }
}

/// The value or values of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    list: bool,
    values: Vec<Scalar>,
}

impl Attribute {
    /// One value.
    pub fn scalar(value: Scalar) -> Self {
        Self {
            list: false,
            values: vec![value],
        }
    }

    /// A list of values.
    pub fn list(values: Vec<Scalar>) -> Self {
        Self { list: true, values }
    }

    /// Whether it was published as a list.
    pub fn is_list(&self) -> bool {
        self.list
    }

    /// The values; a scalar is a list of one.
    pub fn values(&self) -> &[Scalar] {
        &self.values
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.values.iter().map(ToString::to_string).collect();
        if self.list {
            write!(f, "[{}]", texts.join(", "))
        } else {
            f.write_str(&texts.join(", "))
        }
    }
}
