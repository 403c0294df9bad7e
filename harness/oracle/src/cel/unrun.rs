//! Functions of Kubernetes that are known here but not run, for what they make of a text is long to say and of no use for
//! devices: an expression that comes to one of them ends with an error that says so.

use cel::common::ast::{CallExpr, Expr};
use cel::common::types::{DYN_TYPE, LIST_TYPE, STRING_TYPE};
use cel::parser::Macro;
use cel::{DeclarationError, Env, ExecutionError};

/// What stands for a loop over two variables, of what it loops over.
pub(super) const LOOP: &str = "@loop_over_two";

/// Loops over two variables, by the number of their arguments.
const LOOPS: [(&str, usize); 10] = [
    ("all", 3),
    ("exists", 3),
    ("existsOne", 3),
    ("exists_one", 3),
    ("transformList", 3),
    ("transformList", 4),
    ("transformMap", 3),
    ("transformMap", 4),
    ("transformMapEntry", 3),
    ("transformMapEntry", 4),
];

/// The named forms of texts.
const FORMS: [&str; 13] = [
    "format.dns1123Label",
    "format.dns1123Subdomain",
    "format.dns1035Label",
    "format.qualifiedName",
    "format.dns1123LabelPrefix",
    "format.dns1123SubdomainPrefix",
    "format.dns1035LabelPrefix",
    "format.labelValue",
    "format.uri",
    "format.uuid",
    "format.byte",
    "format.date",
    "format.datetime",
];

fn loop_over_two(name: &str, arguments: usize) -> Macro {
    Macro::receiver(name, arguments, |helper, target, _| {
        Ok(target.take().map(|over| {
            helper.next_expr(Expr::Call(CallExpr {
                func_name: LOOP.to_owned(),
                target: None,
                args: vec![over],
            }))
        }))
    })
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    for (name, arguments) in LOOPS {
        env.add_macro(loop_over_two(name, arguments))?;
    }
    env.add_overload(LOOP, LOOP, vec![DYN_TYPE], |_| Err(not_run()))?;
    for name in ["first", "last"] {
        env.add_member_overload(name, &format!("list_{name}"), LIST_TYPE, vec![], |_| {
            Err(not_run())
        })?;
    }
    for name in ["url", "isURL", "format.named"] {
        env.add_overload(name, &format!("{name}_string"), vec![STRING_TYPE], |_| {
            Err(not_run())
        })?;
    }
    FORMS
        .iter()
        .try_for_each(|name| env.add_overload(name, name, vec![], |_| Err(not_run())))
}

fn not_run() -> ExecutionError {
    ExecutionError::function_error(
        "url, isURL, format, first, last, loops over two variables",
        "the oracle does not run these functions; say it otherwise, or ask the scheduler itself",
    )
}
