//! `cel.bind(name, value, expression)`: a name for a value within an expression.

use cel::common::ast::{ComprehensionExpr, Expr, ListExpr, LiteralValue};
use cel::parser::Macro;

/// The macro. It becomes a loop over nothing, whose accumulator is the name.
pub(super) fn bind() -> Macro {
    Macro::receiver("bind", 3, |helper, target, args| {
        let is_cel =
            matches!(target.as_ref().map(|t| &t.expr), Some(Expr::Ident(name)) if name == "cel");
        if !is_cel {
            return Ok(None);
        }
        let name = match args.first().map(|name| (&name.expr, name.id)) {
            Some((Expr::Ident(name), _)) => name.clone(),
            Some((_, id)) => {
                return Err(
                    helper.new_error(id, "cel.bind() variable names must be simple identifiers")
                );
            }
            None => return Ok(None),
        };
        let (Some(result), Some(accu_init)) = (args.pop(), args.pop()) else {
            return Ok(None);
        };
        let iter_range = helper.next_expr(Expr::List(ListExpr::default()));
        let loop_cond = helper.next_expr(Expr::Literal(LiteralValue::Boolean(false.into())));
        let loop_step = helper.next_expr(Expr::Ident(name.clone()));
        Ok(Some(helper.next_expr(Expr::Comprehension(Box::new(
            ComprehensionExpr {
                iter_range,
                iter_var: "#unused".to_owned(),
                iter_var2: None,
                accu_var: name,
                accu_init,
                loop_cond,
                loop_step,
                result,
            },
        )))))
    })
}
