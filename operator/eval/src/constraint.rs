//! Type constraints: the expressions of `type = …` and of `convert`.
//!
//! Rules, summaries and blamed places: hcl `ext/typeexpr`. The words are read, not evaluated, so they are no references.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Call, Expr, ExprKind};
use ashlar_value::{ObjectAttr, ObjectType, Type, Value, convert};

use crate::{Defaults, evaluate_constant};

const INVALID: &str = "Invalid type specification";

/// Types may be nested this deep, so that no text can overflow the stack.
const MAX_DEPTH: u32 = 100;

/// A type with the defaults of its optional attributes.
pub fn type_constraint(expr: &Expr) -> Result<(Type, Option<Defaults>), Diags> {
    let mut diags = Diags::new();
    let inner = in_json(expr);
    let (ty, defaults) = read(inner.as_ref().unwrap_or(expr), 0, &mut diags);
    if diags.has_errors() {
        Err(diags)
    } else {
        Ok((ty, defaults))
    }
}

/// The constructor that a string in JSON holds, as if it stood there without quotes.
fn in_json(expr: &Expr) -> Option<Expr> {
    let (inner, faults) = expr.in_json_string()?;
    let is_call = faults.is_empty() && as_call(&inner).is_some();
    is_call.then_some(Expr {
        span: expr.span,
        ..inner
    })
}

fn wrong(detail: impl Into<String>, at: Span) -> Diag {
    Diag::error(INVALID, detail).at(at)
}

fn needs(word: &str) -> String {
    let what = match word {
        "object" => "one argument: the attributes with their types, in braces",
        "tuple" => "one argument: the types of the elements, in brackets",
        _ => "one argument: the type of the elements",
    };
    format!("{word} takes {what}.")
}

type Constraint = (Type, Option<Defaults>);

fn fault(diags: &mut Diags, diag: Diag) -> Constraint {
    diags.push(diag);
    (Type::Dynamic, None)
}

/// A call that stands there without parentheses around it.
fn as_call(expr: &Expr) -> Option<&Call> {
    match &expr.kind {
        ExprKind::Call(call) => Some(call),
        _ => None,
    }
}

fn read(expr: &Expr, depth: u32, diags: &mut Diags) -> Constraint {
    if depth >= MAX_DEPTH {
        return fault(
            diags,
            wrong(format!("Types can be nested {MAX_DEPTH} deep."), expr.span),
        );
    }
    if let Some(word) = expr.keyword() {
        return match word {
            "bool" => (Type::Bool, None),
            "string" => (Type::String, None),
            "number" => (Type::Number, None),
            "any" => (Type::Dynamic, None),
            "list" | "map" | "set" | "object" | "tuple" => fault(diags, wrong(needs(word), expr.span)),
            _ => fault(diags, wrong(format!("{word:?} is no type."), expr.span)),
        };
    }
    let Some(call) = as_call(expr) else {
        let detail =
            "A type is bool, number, string, any, or a constructor with its argument, as in list(string).";
        return fault(diags, wrong(detail, expr.span));
    };
    let word = &*call.name.name;
    let arguments = call.open.to(call.close);
    if matches!(word, "bool" | "string" | "number" | "any") {
        return fault(
            diags,
            wrong(format!("The type {word} takes no arguments."), arguments),
        );
    }
    if !matches!(word, "list" | "set" | "map" | "object" | "tuple") {
        return if word == "optional" {
            fault(
                diags,
                wrong(
                    "optional stands only around the type of an object's attribute.",
                    call.name.span,
                ),
            )
        } else {
            fault(
                diags,
                wrong(format!("{word:?} is no type constructor."), expr.span),
            )
        };
    }
    let [argument] = &*call.args else {
        let extra = call.args.get(1).zip(call.args.last());
        let place = extra.map_or(arguments, |(first, last)| first.span.to(last.span));
        return fault(diags, wrong(needs(word), place).within(arguments));
    };
    match word {
        "object" => object(expr, argument, depth, diags),
        "tuple" => tuple(argument, depth, diags),
        _ => {
            let (element, defaults) = read(argument, depth + 1, diags);
            let ty = match word {
                "list" => Type::list(element),
                "set" => Type::set(element),
                _ => Type::map(element),
            };
            (ty, defaults.map(Defaults::of_elements))
        }
    }
}

fn tuple(argument: &Expr, depth: u32, diags: &mut Diags) -> Constraint {
    let ExprKind::Tuple { items, .. } = &argument.kind else {
        return fault(diags, wrong(needs("tuple"), argument.span));
    };
    let mut children = BTreeMap::new();
    let mut types = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let (ty, defaults) = read(item, depth + 1, diags);
        types.push(ty);
        children.extend(defaults.map(|defaults| (at, defaults)));
    }
    (Type::tuple(types), Defaults::of_tuple(children))
}

fn object(expr: &Expr, argument: &Expr, depth: u32, diags: &mut Diags) -> Constraint {
    let ExprKind::Object { items, .. } = &argument.kind else {
        return fault(diags, wrong(needs("object"), argument.span).within(expr.span));
    };
    let mut attrs: BTreeMap<Arc<str>, ObjectAttr> = BTreeMap::new();
    let mut values = BTreeMap::new();
    let mut children = BTreeMap::new();
    for item in items {
        let place = item.key.expr.span;
        let Some(name) = item.key.keyword() else {
            diags.push(wrong("The keys of an object type are names of attributes.", place).within(expr.span));
            continue;
        };
        if attrs.contains_key(name) {
            diags.push(wrong("An object type names each attribute once.", place).within(expr.span));
            continue;
        }
        let name: Arc<str> = name.into();
        let Some(attribute) = Attribute::read(&item.value, diags) else {
            continue;
        };
        let (ty, defaults) = read(attribute.ty, depth + 1, diags);
        if let Some((value, place)) = attribute.default {
            match convert(&value, &ty) {
                Ok(value) => {
                    values.insert(name.clone(), value);
                }
                Err(error) => {
                    let detail = format!(
                        "The default does not fit the attribute's type: {}.",
                        error.message
                    );
                    diags.push(Diag::error("Invalid default value for optional attribute", detail).at(place));
                }
            }
        }
        children.extend(defaults.map(|defaults| (name.clone(), defaults)));
        attrs.insert(
            name.clone(),
            ObjectAttr {
                name,
                ty,
                optional: attribute.optional,
            },
        );
    }
    let ty = Type::Object(Arc::new(ObjectType::new(attrs.into_values())));
    (ty, Defaults::of_object(values, children))
}

/// An attribute's type, the `optional` around it taken off.
struct Attribute<'e> {
    ty: &'e Expr,
    optional: bool,
    default: Option<(Value, Span)>,
}

impl<'e> Attribute<'e> {
    fn read(expr: &'e Expr, diags: &mut Diags) -> Option<Self> {
        let Some(call) = as_call(expr).filter(|call| &*call.name.name == "optional") else {
            return Some(Attribute {
                ty: expr,
                optional: false,
                default: None,
            });
        };
        let arguments = call.open.to(call.close);
        let (ty, rest) = match call.args.split_first() {
            Some(split) => split,
            None => {
                diags.push(wrong("optional takes the attribute's type.", arguments).within(expr.span));
                return None;
            }
        };
        let mut attribute = Attribute {
            ty,
            optional: true,
            default: None,
        };
        match rest {
            [] => {}
            [default] => {
                let (value, faults) = evaluate_constant(default);
                if faults.has_errors() {
                    attribute.optional = false;
                } else {
                    attribute.default = Some((value, default.span));
                }
                diags.extend(faults);
            }
            _ => {
                let detail = "optional takes at most two arguments: the attribute's type and a default.";
                diags.push(wrong(detail, arguments).within(expr.span));
                attribute.optional = false;
            }
        }
        Some(attribute)
    }
}

#[cfg(test)]
mod tests {
    use super::type_constraint;
    use crate::fixture::{blamed, expr};
    use ashlar_value::{Value, convert};

    fn check(text: &str, expected: Result<&str, &str>) {
        match (type_constraint(&expr(text)), expected) {
            (Ok((ty, _)), Ok(expected)) => assert_eq!(ty.to_string(), expected, "{text}"),
            (Err(diags), Err(expected)) => assert_eq!(blamed(&diags, text)[0], expected, "{text}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn constraints() {
        check("list(map(any))", Ok("list(map(any))"));
        check(
            "object({ a = string, b = optional(number, 1) })",
            Ok("object({a = string, b = optional(number)})"),
        );
        check("tuple([string, bool])", Ok("tuple([string, bool])"));
        check("list", Err("Invalid type specification @ list"));
        check("list(string, number)", Err("Invalid type specification @ number"));
        check("strng", Err("Invalid type specification @ strng"));
        check("string(1)", Err("Invalid type specification @ (1)"));
        check(
            "object({ \"a\" = string })",
            Err("Invalid type specification @ \"a\""),
        );
        check(
            "object({ a = optional(number, \"x\") })",
            Err("Invalid default value for optional attribute @ \"x\""),
        );
        check("optional(string)", Err("Invalid type specification @ optional"));
    }

    #[test]
    fn defaults_fill_what_is_missing_or_null() {
        let text = "list(object({ a = optional(string, \"d\"), b = optional(object({ c = optional(number, 1) }), {}) }))";
        let (ty, defaults) = type_constraint(&expr(text)).unwrap();
        let given = Value::tuple(vec![
            Value::object([("a", Value::null(ashlar_value::Type::Dynamic))]),
            Value::object([
                ("a", Value::string("x")),
                ("b", Value::null(ashlar_value::Type::Dynamic)),
            ]),
        ]);
        let filled = convert(&defaults.unwrap().apply(&given), &ty).unwrap();
        let inner = || Value::object([("c", Value::number(1i64))]);
        let expected = vec![
            Value::object([("a", Value::string("d")), ("b", inner())]),
            Value::object([("a", Value::string("x")), ("b", inner())]),
        ];
        assert_eq!(filled.as_items().unwrap(), expected);
    }
}
