//! What the API server's checker says no to before any device is asked: names that are not there, and types that do not fit.
//! Not its cost limits. An expression goes in, with what it may use; its type comes out, or the first mistake and its place.

use cel::Program;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr,
};

use super::Dialect;
use super::signatures::{SIGNATURES, Signature, ordered};
use super::types::{BOOL, Bound, INT, TEXT, Ty};
use crate::lines::line_and_column;

pub(super) struct Problem {
    /// The node of the expression; none: the expression as a whole.
    pub(super) id: Option<u64>,
    pub(super) message: String,
}

impl Problem {
    fn at(id: u64, message: impl Into<String>) -> Self {
        Problem {
            id: Some(id),
            message: message.into(),
        }
    }

    /// Where the node stands: line and column from 1, as the API server counts them, or zeros.
    pub(super) fn place(&self, program: &Program, text: &str) -> (u32, u32) {
        let Some((start, _)) = self.id.and_then(|id| program.source_info().offset_for(id)) else {
            return (0, 0);
        };
        let (line, column) = line_and_column(text, start as usize);
        let number = |n: usize| u32::try_from(n).unwrap_or(0);
        (number(line), number(column))
    }
}

/// Names of types, which are values too.
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
    "optional_type",
];

const DEVICE: Ty = Ty::Plain("kubernetes.DRADevice");

/// The type that an expression gives.
pub(super) fn check(program: &Program, dialect: Dialect) -> Result<Ty, Problem> {
    Checker {
        names: vec![("device".to_owned(), DEVICE)],
        dialect,
        mixed: false,
    }
    .of(program.expression())
}

/// A selector gives true or false, or something that is not known before it runs.
pub(super) fn selects(ty: &Ty) -> Result<(), Problem> {
    if ty.open() || *ty == BOOL {
        return Ok(());
    }
    Err(Problem {
        id: None,
        message: format!("it gives {ty} where true or false is wanted"),
    })
}

struct Checker {
    /// Names and their types, the innermost last.
    names: Vec<(String, Ty)>,
    dialect: Dialect,
    /// What a text is filled with may be of several types.
    mixed: bool,
}

impl Checker {
    fn of(&mut self, expression: &IdedExpr) -> Result<Ty, Problem> {
        let id = expression.id;
        match &expression.expr {
            Expr::Unspecified => Ok(Ty::Dyn),
            Expr::Literal(value) => Ok(literal(value)),
            Expr::Ident(name) => self.name(id, name),
            Expr::Select(select) => self.select(id, select),
            Expr::Call(call) => self.call(id, call),
            Expr::List(list) => {
                let elements = list.elements.iter();
                let of = self.alike(elements.map(|element| (element.id, element)))?;
                Ok(Ty::list(of))
            }
            Expr::Map(map) => {
                let mut keys = Vec::new();
                let mut values = Vec::new();
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        keys.push((entry.key.id, &entry.key));
                        values.push((entry.value.id, &entry.value));
                    }
                }
                let key = self.alike(keys.into_iter())?;
                Ok(Ty::map(key, self.alike(values.into_iter())?))
            }
            Expr::Struct(made) => Err(undeclared(id, &made.type_name)),
            Expr::Comprehension(loops) => self.loops(loops),
        }
    }

    fn name(&self, id: u64, name: &str) -> Result<Ty, Problem> {
        let known = self.names.iter().rev().find(|(known, _)| known == name);
        match known {
            Some((_, ty)) => Ok(ty.clone()),
            None if TYPES.contains(&name) => Ok(Ty::Plain("type")),
            None => Err(undeclared(id, name)),
        }
    }

    /// Elements of one literal have one type.
    fn alike<'e>(
        &mut self,
        elements: impl Iterator<Item = (u64, &'e IdedExpr)>,
    ) -> Result<Ty, Problem> {
        let mut first: Option<Ty> = None;
        for (id, element) in elements {
            let ty = self.of(element)?;
            match &first {
                None => first = Some(ty),
                Some(_) if self.mixed => first = Some(Ty::Dyn),
                Some(known) if known.open() => {}
                Some(_) if ty.open() => first = Some(Ty::Dyn),
                Some(known) if known.takes(&ty, &mut Bound::new()) => {}
                Some(known) => {
                    return Err(Problem::at(id, format!("expected {known}, found {ty}")));
                }
            }
        }
        Ok(first.unwrap_or(Ty::Dyn))
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Result<Ty, Problem> {
        let of = self.of(&select.operand)?;
        let field = self.field(id, &of, &select.field)?;
        Ok(if select.test { BOOL } else { field })
    }

    fn field(&self, id: u64, of: &Ty, field: &str) -> Result<Ty, Problem> {
        match of {
            ty if ty.open() => Ok(Ty::Dyn),
            Ty::Map(key, value) if key.takes(&TEXT, &mut Bound::new()) => Ok((**value).clone()),
            Ty::Optional(inner) => Ok(Ty::Optional(Box::new(self.field(id, inner, field)?))),
            ty if *ty == DEVICE => self.of_device(id, field),
            other => Err(Problem::at(id, format!("{other} has no fields"))),
        }
    }

    fn of_device(&self, id: u64, field: &str) -> Result<Ty, Problem> {
        // Whether an attribute may be a list decides whether it can be gone through.
        let attribute = if self.dialect.includes {
            Ty::Dyn
        } else {
            Ty::Any
        };
        let by_domain = |of: Ty| Ty::map(TEXT, Ty::map(TEXT, of));
        match field {
            "driver" => Ok(TEXT),
            "attributes" => Ok(by_domain(attribute)),
            "capacity" => Ok(by_domain(Ty::Plain("kubernetes.Quantity"))),
            "allowMultipleAllocations" if self.dialect.multiple_allocations => Ok(BOOL),
            "allowMultipleAllocations" => Err(Problem::at(
                id,
                "undefined field allowMultipleAllocations (DRAConsumableCapacity is off)",
            )),
            other => Err(Problem::at(
                id,
                format!("undefined field {other:?} of device"),
            )),
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Result<Ty, Problem> {
        match call.func_name.as_str() {
            "_&&_" | "_||_" => return self.logic(call),
            "_<_" | "_<=_" | "_>_" | "_>=_" => return self.order(id, call),
            "_?._" => return self.optional_field(id, call),
            _ => {}
        }
        // `optional.of(x)` is a function whose name has a point, not one of a variable.
        let family = call
            .target
            .as_deref()
            .and_then(|target| match &target.expr {
                Expr::Ident(name) => Some(format!("{name}.{}", call.func_name)),
                _ => None,
            });
        let family = family.filter(|name| SIGNATURES.contains_key(name.as_str()));
        let alone = family.is_some() || call.target.is_none();
        let name = family.as_deref().unwrap_or(&call.func_name);
        let target = match &call.target {
            Some(target) if !alone => Some(self.of(target)?),
            _ => None,
        };
        let outside = std::mem::replace(&mut self.mixed, name == "format");
        let args: Result<Vec<_>, _> = call.args.iter().map(|arg| self.of(arg)).collect();
        self.mixed = outside;
        let args = args?;
        let off = match name {
            "includes" if !self.dialect.includes => " (DRAListTypeAttributes is off)",
            _ if self.dialect.without_list_functions && LIST_FUNCTIONS.contains(&name) => {
                " (this Kubernetes takes it only from objects that are stored already)"
            }
            _ => "",
        };
        let known = SIGNATURES.get(name).filter(|_| off.is_empty());
        let Some(known) = known else {
            return Err(Problem::at(
                id,
                format!("undeclared function {name:?}{off}"),
            ));
        };
        let results: Vec<Ty> = known
            .iter()
            .filter_map(|way| fits(way, target.as_ref(), &args))
            .collect();
        let Some(first) = results.first() else {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            let target = target
                .map(|target| format!("{target}."))
                .unwrap_or_default();
            return Err(Problem::at(
                id,
                format!(
                    "{name:?} cannot be applied to {target}({})",
                    args.join(", ")
                ),
            ));
        };
        pattern(call)?;
        moment(call)?;
        Ok(if results.iter().all(|result| result == first) {
            first.clone()
        } else {
            Ty::Dyn
        })
    }

    fn logic(&mut self, call: &CallExpr) -> Result<Ty, Problem> {
        for arg in &call.args {
            let ty = self.of(arg)?;
            if !BOOL.takes(&ty, &mut Bound::new()) {
                return Err(Problem::at(arg.id, format!("expected bool, found {ty}")));
            }
        }
        Ok(BOOL)
    }

    fn order(&mut self, id: u64, call: &CallExpr) -> Result<Ty, Problem> {
        let types = call
            .args
            .iter()
            .map(|arg| self.of(arg))
            .collect::<Result<Vec<_>, _>>()?;
        match types.as_slice() {
            [left, right] if !ordered(left, right) => {
                Err(Problem::at(id, format!("{left} and {right} have no order")))
            }
            _ => Ok(BOOL),
        }
    }

    fn optional_field(&mut self, id: u64, call: &CallExpr) -> Result<Ty, Problem> {
        let [of, field] = call.args.as_slice() else {
            return Ok(Ty::Dyn);
        };
        let of = self.of(of)?;
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
            return Ok(Ty::Dyn);
        };
        Ok(match self.field(id, &of, name.inner())? {
            Ty::Optional(inner) => Ty::Optional(inner),
            other => Ty::Optional(Box::new(other)),
        })
    }

    fn loops(&mut self, loops: &ComprehensionExpr) -> Result<Ty, Problem> {
        let range = self.of(&loops.iter_range)?;
        let (first, second) = match &range {
            Ty::List(of) if loops.iter_var2.is_some() => (INT, (**of).clone()),
            Ty::List(of) => ((**of).clone(), Ty::Dyn),
            Ty::Map(key, value) => ((**key).clone(), (**value).clone()),
            Ty::Dyn => (Ty::Dyn, Ty::Dyn),
            other => {
                return Err(Problem::at(
                    loops.iter_range.id,
                    format!("{other} cannot be gone through"),
                ));
            }
        };
        let start = self.of(&loops.accu_init)?;
        let before = self.names.len();
        self.names.push((loops.accu_var.clone(), start));
        self.names.push((loops.iter_var.clone(), first));
        self.names
            .extend(loops.iter_var2.clone().map(|name| (name, second)));
        let step = self
            .of(&loops.loop_cond)
            .and_then(|_| self.of(&loops.loop_step));
        self.names.truncate(before + 1);
        // A list that begins empty is one of what is put into it.
        if let Ok(step) = &step {
            self.names[before].1 = step.clone();
        }
        let result = step.and_then(|_| self.of(&loops.result));
        self.names.truncate(before);
        result
    }
}

fn literal(value: &LiteralValue) -> Ty {
    Ty::Plain(match value {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "null_type",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    })
}

fn undeclared(id: u64, name: &str) -> Problem {
    Problem::at(id, format!("undeclared reference to {name:?}"))
}

/// They came in 1.34, and what is new is taken from objects that are written one minor later.
const LIST_FUNCTIONS: [&str; 7] = [
    "slice",
    "flatten",
    "distinct",
    "reverse",
    "sort",
    "@sortByAssociatedKeys",
    "lists.range",
];

/// What a call gives by one signature, if it fits.
fn fits(way: &Signature, target: Option<&Ty>, args: &[Ty]) -> Option<Ty> {
    let mut bound = Bound::new();
    let target_fits = match (&way.target, target) {
        (Some(wanted), Some(given)) => wanted.takes(given, &mut bound),
        (None, None) => true,
        _ => false,
    };
    let fits = target_fits
        && way.args.len() == args.len()
        && way
            .args
            .iter()
            .zip(args)
            .all(|(wanted, given)| wanted.takes(given, &mut bound));
    fits.then(|| way.result.bound(&bound))
}

/// A duration or timestamp that is written out must be one.
fn moment(call: &CallExpr) -> Result<(), Problem> {
    let name @ ("duration" | "timestamp") = call.func_name.as_str() else {
        return Ok(());
    };
    match call.args.as_slice() {
        [arg] => match &arg.expr {
            Expr::Literal(LiteralValue::String(text))
                if !super::runs(&format!("{name}({:?})", text.inner())) =>
            {
                Err(Problem::at(
                    arg.id,
                    format!("{:?} is no {name}", text.inner()),
                ))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A pattern that is written out must be one.
fn pattern(call: &CallExpr) -> Result<(), Problem> {
    let place = match (call.func_name.as_str(), call.target.is_some()) {
        ("matches" | "find" | "findAll", true) => 0,
        ("matches", false) => 1,
        _ => return Ok(()),
    };
    let Some(arg) = call.args.get(place) else {
        return Ok(());
    };
    match &arg.expr {
        Expr::Literal(LiteralValue::String(text)) if regex::Regex::new(text.inner()).is_err() => {
            Err(Problem::at(
                arg.id,
                format!("{:?} is no regular expression", text.inner()),
            ))
        }
        _ => Ok(()),
    }
}
