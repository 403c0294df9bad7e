//! What an expression reads of a device, where that can be seen without running it: two devices that agree in it get the
//! same answer, so that an expression is run once for all partitions of a profile and not once for each.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::Dialect;
use super::device::Facts;

/// One thing that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Read {
    /// `device.attributes["domain"].id`
    Attribute(String, String),
    /// `device.capacity["domain"].id`
    Capacity(String, String),
    /// `device.allowMultipleAllocations`
    Multiple,
}

/// All that is read, beside the driver, which decides what names without domain mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reads(Vec<Read>);

impl Reads {
    /// `None` where the expression looks at more of a device than single values.
    pub(super) fn of(expression: &IdedExpr) -> Option<Reads> {
        let mut reads = Vec::new();
        walk(expression, &mut reads).then_some(Reads(reads))
    }

    /// Whether both devices have the same of all that is read.
    pub(super) fn agree(&self, a: &Facts, b: &Facts, dialect: Dialect) -> bool {
        a.driver == b.driver
            && self.0.iter().all(|read| match read {
                Read::Attribute(domain, id) => {
                    a.attribute_in(domain, id) == b.attribute_in(domain, id)
                }
                Read::Capacity(domain, id) => {
                    let value = |facts: &Facts| facts.capacity_in(domain, id).map(|it| it.value);
                    value(a) == value(b)
                }
                Read::Multiple => !dialect.multiple_allocations || a.multiple == b.multiple,
            })
    }
}

/// Whether everything that is read of `device` is understood.
fn walk(expression: &IdedExpr, reads: &mut Vec<Read>) -> bool {
    if let Some(read) = value(expression) {
        reads.extend(read);
        return true;
    }
    let parts: Vec<&IdedExpr> = match &expression.expr {
        Expr::Ident(name) => return name != "device",
        Expr::Unspecified | Expr::Literal(_) => vec![],
        Expr::Struct(_) => return false,
        Expr::Select(select) => vec![&select.operand],
        Expr::Call(call) => {
            let target = call.target.iter().map(|target| &**target);
            target.chain(&call.args).collect()
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| of_entry(&entry.expr))
            .collect(),
        Expr::Comprehension(it) => vec![
            &it.iter_range,
            &it.accu_init,
            &it.loop_cond,
            &it.loop_step,
            &it.result,
        ],
    };
    parts.into_iter().all(|part| walk(part, reads))
}

fn of_entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The value of a device that this expression is; none inside for the driver.
fn value(expression: &IdedExpr) -> Option<Option<Read>> {
    if let Expr::Select(select) = &expression.expr
        && is_device(&select.operand)
    {
        return match select.field.as_str() {
            "driver" => Some(None),
            "allowMultipleAllocations" => Some(Some(Read::Multiple)),
            _ => None,
        };
    }
    let (inside, id) = step(expression)?;
    let (domains, domain) = step(inside)?;
    match &domains.expr {
        Expr::Select(select) if is_device(&select.operand) && !select.test => {
            match select.field.as_str() {
                "attributes" => Some(Some(Read::Attribute(domain, id))),
                "capacity" => Some(Some(Read::Capacity(domain, id))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `x.name` or `x["name"]`: what is before, and the name.
fn step(expression: &IdedExpr) -> Option<(&IdedExpr, String)> {
    match &expression.expr {
        Expr::Select(select) => Some((&select.operand, select.field.clone())),
        Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
            [inside, name] => match &name.expr {
                Expr::Literal(LiteralValue::String(name)) => {
                    Some((inside, name.inner().to_owned()))
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn is_device(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == "device")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Dialect, Expression};
    use crate::cel::Facts;
    use crate::objects::{Attribute, Scalar};

    fn facts(driver: &str, attributes: &[(&str, &str)]) -> Arc<Facts> {
        let attribute = |(name, value): &(&str, &str)| {
            (
                (*name).into(),
                Attribute::scalar(Scalar::Text((*value).into())),
            )
        };
        Arc::new(Facts {
            driver: driver.into(),
            multiple: false,
            attributes: attributes.iter().map(attribute).collect(),
            capacity: Default::default(),
        })
    }

    fn agree(text: &str, a: &Arc<Facts>, b: &Arc<Facts>) -> bool {
        let expression = Expression::compile(text, Dialect::default()).expect("it compiles");
        expression.answers_alike(a, b)
    }

    #[test]
    fn devices_agree_in_what_is_read_and_may_differ_elsewhere() {
        let one = facts("d", &[("profile", "1g"), ("uuid", "a")]);
        let two = facts("d", &[("profile", "1g"), ("uuid", "b")]);
        let three = facts("d", &[("profile", "2g"), ("uuid", "a")]);
        for text in [
            "device.attributes['d'].profile == '1g'",
            "device.attributes['d']['profile'] == '1g'",
            "device.driver == 'd' && has(device.attributes['d'].profile)",
            "['1g', '2g'].exists(it, it == device.attributes['d'].profile)",
            "device.driver == 'd'",
        ] {
            assert!(agree(text, &one, &two), "{text}");
        }
        assert!(!agree(
            "device.attributes['d'].profile == '1g'",
            &one,
            &three
        ));
        assert!(!agree(
            "device.driver == 'd'",
            &one,
            &facts("e", &[("profile", "1g")])
        ));
        // A qualified name is the same as one without domain.
        let qualified = facts("d", &[("d/profile", "1g")]);
        assert!(agree(
            "device.attributes['d'].profile == '1g'",
            &one,
            &qualified
        ));
    }

    #[test]
    fn who_looks_at_more_than_single_values_agrees_with_itself_only() {
        let one = facts("d", &[("profile", "1g"), ("uuid", "a")]);
        let two = facts("d", &[("profile", "1g"), ("uuid", "b")]);
        for text in [
            "'d' in device.attributes",
            "size(device.attributes['d']) == 2",
            "device.attributes['d'].exists(it, it == 'uuid')",
            "device.attributes[device.driver].uuid == 'a'",
            "cel.bind(it, device.attributes['d'], it.uuid == 'a')",
        ] {
            assert!(!agree(text, &one, &two), "{text}");
            assert!(agree(text, &one, &one), "{text}");
        }
    }
}
