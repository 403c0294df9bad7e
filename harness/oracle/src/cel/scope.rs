//! Everything that an expression names must exist: variables, functions and the fields of `device`.
//! The API server's type checker says no to these before any device is asked; so does this.

use cel::Program;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::Dialect;

pub(super) struct Problem {
    /// The node of the expression.
    pub(super) id: u64,
    pub(super) message: String,
}

impl Problem {
    /// Where the node stands: line and column from 1, as the API server counts them, or zeros.
    pub(super) fn place(&self, program: &Program, text: &str) -> (u32, u32) {
        let Some((start, _)) = program.source_info().offset_for(self.id) else {
            return (0, 0);
        };
        let before = text.get(..start as usize).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        let number = |n: usize| u32::try_from(n).unwrap_or(0);
        (number(line), number(column))
    }
}

/// Functions that expressions may call by name; operators have names that no one can write.
const FUNCTIONS: &[&str] = &[
    // the standard library
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "bool",
    "type",
    "dyn",
    // optional values
    "optional",
    "of",
    "none",
    "ofNonZeroValue",
    "hasValue",
    "value",
    "or",
    "orValue",
    "optMap",
    "optFlatMap",
    // strings
    "charAt",
    "indexOf",
    "lastIndexOf",
    "join",
    "lowerAscii",
    "upperAscii",
    "replace",
    "split",
    "substring",
    "trim",
    "format",
    "quote",
    "reverse",
    // Kubernetes
    "quantity",
    "isQuantity",
    "isLessThan",
    "isGreaterThan",
    "compareTo",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "sign",
    "add",
    "sub",
    "semver",
    "isSemver",
    "major",
    "minor",
    "patch",
    "includes",
];

const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "optional",
];

pub(super) fn check(program: &Program, dialect: Dialect) -> Result<(), Problem> {
    walk(program.expression(), &mut vec![], dialect)
}

fn undeclared(id: u64, name: &str, what: &str) -> Problem {
    Problem {
        id,
        message: format!("undeclared {what} {name:?}"),
    }
}

fn walk<'e>(
    expression: &'e IdedExpr,
    names: &mut Vec<&'e str>,
    dialect: Dialect,
) -> Result<(), Problem> {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => Ok(()),
        Expr::Ident(name) => {
            let known = name == "device"
                || names.contains(&name.as_str())
                || name.starts_with('@')
                || TYPES.contains(&name.as_str());
            if known {
                Ok(())
            } else {
                Err(undeclared(expression.id, name, "reference to"))
            }
        }
        Expr::Select(select) => {
            let of_device = matches!(&select.operand.expr, Expr::Ident(name) if name == "device" && !names.contains(&"device"));
            if of_device {
                field(expression.id, &select.field, dialect)?;
            }
            walk(&select.operand, names, dialect)
        }
        Expr::Call(call) => {
            let writable = call
                .func_name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '.');
            let last = call.func_name.rsplit('.').next().unwrap_or_default();
            if writable && !FUNCTIONS.contains(&last) {
                return Err(undeclared(expression.id, &call.func_name, "function"));
            }
            if last == "includes" && !dialect.includes {
                return Err(undeclared(
                    expression.id,
                    "includes",
                    "function (DRAListTypeAttributes is off)",
                ));
            }
            call.target
                .iter()
                .map(|target| &**target)
                .chain(&call.args)
                .try_for_each(|part| walk(part, names, dialect))
        }
        Expr::List(list) => list
            .elements
            .iter()
            .try_for_each(|element| walk(element, names, dialect)),
        Expr::Map(map) => map
            .entries
            .iter()
            .try_for_each(|entry| walk_entry(&entry.expr, names, dialect)),
        Expr::Struct(strct) => Err(undeclared(expression.id, &strct.type_name, "type")),
        Expr::Comprehension(loops) => {
            walk(&loops.iter_range, names, dialect)?;
            walk(&loops.accu_init, names, dialect)?;
            let before = names.len();
            names.push(&loops.iter_var);
            names.extend(loops.iter_var2.as_deref());
            names.push(&loops.accu_var);
            let inside = [&loops.loop_cond, &loops.loop_step, &loops.result];
            let result = inside
                .into_iter()
                .try_for_each(|part| walk(part, names, dialect));
            names.truncate(before);
            result
        }
    }
}

fn walk_entry<'e>(
    entry: &'e EntryExpr,
    names: &mut Vec<&'e str>,
    dialect: Dialect,
) -> Result<(), Problem> {
    match entry {
        EntryExpr::StructField(field) => walk(&field.value, names, dialect),
        EntryExpr::MapEntry(entry) => {
            walk(&entry.key, names, dialect)?;
            walk(&entry.value, names, dialect)
        }
    }
}

fn field(id: u64, name: &str, dialect: Dialect) -> Result<(), Problem> {
    match name {
        "driver" | "attributes" | "capacity" => Ok(()),
        "allowMultipleAllocations" if dialect.multiple_allocations => Ok(()),
        "allowMultipleAllocations" => {
            Err(undeclared(id, name, "field (DRAConsumableCapacity is off)"))
        }
        _ => Err(Problem {
            id,
            message: format!("undefined field {name:?} of device"),
        }),
    }
}
