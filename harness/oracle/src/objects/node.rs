//! Nodes and the selectors that match them.

use std::collections::BTreeMap;

use crate::names::Name;

/// What the oracle knows of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Name,
    /// Its labels.
    pub labels: BTreeMap<Name, Name>,
    /// The features that its kubelet declares.
    pub declared_features: Vec<Name>,
    /// The extended resources that its kubelet publishes, those of device plugins: how much there is in all.
    pub resources: BTreeMap<Name, u64>,
}

/// Terms, one of which must hold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeSelector {
    /// The terms.
    pub terms: Vec<NodeTerm>,
}

/// Requirements, all of which must hold. Without any the term matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeTerm {
    /// On labels.
    pub expressions: Vec<NodeRequirement>,
    /// On fields; `metadata.name` is the only one there is.
    pub fields: Vec<NodeRequirement>,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRequirement {
    /// The label or field.
    pub key: Name,
    /// How it is compared.
    pub operator: Operator,
    /// With what.
    pub values: Vec<Name>,
}

/// How a node's label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; a missing label fulfils it.
    NotIn,
    /// There is such a label.
    Exists,
    /// There is none.
    DoesNotExist,
    /// A number above the value.
    Gt,
    /// A number below the value.
    Lt,
}

impl NodeSelector {
    /// Whether one of the terms holds for the node.
    pub fn matches(&self, node: &Node) -> bool {
        self.terms.iter().any(|term| term.matches(node))
    }
}

impl NodeTerm {
    fn matches(&self, node: &Node) -> bool {
        if self.expressions.is_empty() && self.fields.is_empty() {
            return false;
        }
        let labels = self
            .expressions
            .iter()
            .all(|wanted| wanted.holds(node.labels.get(&wanted.key)));
        let fields = self
            .fields
            .iter()
            .all(|wanted| &*wanted.key == "metadata.name" && wanted.holds(Some(&node.name)));
        labels && fields
    }
}

impl NodeRequirement {
    fn holds(&self, value: Option<&Name>) -> bool {
        let number = |text: &Name| text.parse::<i64>().ok();
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt | Operator::Lt => {
                match (value.and_then(number), self.values.first().and_then(number)) {
                    (Some(value), Some(bound)) if self.operator == Operator::Gt => value > bound,
                    (Some(value), Some(bound)) => value < bound,
                    _ => false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node {
            name: "n1".into(),
            labels: [("zone".into(), "a".into()), ("gpus".into(), "8".into())].into(),
            declared_features: vec![],
            resources: BTreeMap::new(),
        }
    }

    fn holds(key: &str, operator: Operator, values: &[&str]) -> bool {
        let requirement = NodeRequirement {
            key: key.into(),
            operator,
            values: values.iter().map(|v| (*v).into()).collect(),
        };
        NodeSelector {
            terms: vec![NodeTerm {
                expressions: vec![requirement],
                fields: vec![],
            }],
        }
        .matches(&node())
    }

    #[test]
    fn operators() {
        assert!(holds("zone", Operator::In, &["a", "b"]) && !holds("zone", Operator::In, &["b"]));
        assert!(holds("zone", Operator::NotIn, &["b"]) && !holds("zone", Operator::NotIn, &["a"]));
        assert!(holds("rack", Operator::NotIn, &["a"]) && !holds("rack", Operator::In, &["a"]));
        assert!(holds("zone", Operator::Exists, &[]) && !holds("rack", Operator::Exists, &[]));
        assert!(
            holds("rack", Operator::DoesNotExist, &[])
                && !holds("zone", Operator::DoesNotExist, &[])
        );
        assert!(holds("gpus", Operator::Gt, &["7"]) && !holds("gpus", Operator::Gt, &["8"]));
        assert!(holds("gpus", Operator::Lt, &["9"]) && !holds("zone", Operator::Lt, &["9"]));
    }

    #[test]
    fn terms_are_alternatives_and_an_empty_term_matches_nothing() {
        let named = |name: &str| NodeTerm {
            expressions: vec![],
            fields: vec![NodeRequirement {
                key: "metadata.name".into(),
                operator: Operator::In,
                values: vec![name.into()],
            }],
        };
        assert!(
            NodeSelector {
                terms: vec![named("other"), named("n1")]
            }
            .matches(&node())
        );
        assert!(
            !NodeSelector {
                terms: vec![NodeTerm::default()]
            }
            .matches(&node())
        );
        assert!(!NodeSelector::default().matches(&node()));
    }
}
