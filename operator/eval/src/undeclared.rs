//! Faults of references, as Terraform words and places them. Scopes use these in `check` and `lookup`.
//!
//! Source: Terraform `terraform/evaluate.go`, `terraform/evaluate_valid.go`, `configschema/validate_traversal.go`.

use ashlar_addr::{InstanceKey, Mode, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{Expr, Literal, Step, is_identifier};
use ashlar_value::{
    Value,
    schema::{self, NestedBlock, Nesting},
};

use crate::{Reference, Subject, access, references, suggest::hint, suggest::suggest};

fn blame(
    summary: impl Into<std::borrow::Cow<'static, str>>,
    detail: String,
    reference: &Reference<'_>,
) -> Diag {
    Diag::error(summary, detail).at(reference.span)
}

/// No such input variable.
pub fn variable<'n>(reference: &Reference<'_>, name: &str, known: impl IntoIterator<Item = &'n str>) -> Diag {
    let near = match suggest(name, known) {
        Some(near) => format!(" Did you mean {near:?}?"),
        None => format!(" It can be declared with a variable {name:?} block."),
    };
    blame(
        "Reference to undeclared input variable",
        format!("No variable {name:?} is declared here.{near}"),
        reference,
    )
}

/// No such local value.
pub fn local<'n>(reference: &Reference<'_>, name: &str, known: impl IntoIterator<Item = &'n str>) -> Diag {
    let detail = format!("No local value {name:?} is declared here.{}", hint(name, known));
    blame("Reference to undeclared local value", detail, reference)
}

/// A local value whose expression refers to itself: one fault for each such reference.
pub fn own_local(name: &str, expr: &Expr) -> Diags {
    let own =
        |reference: &Reference<'_>| matches!(&reference.subject, Subject::Local(named) if &**named == name);
    let (found, _) = references(expr);
    found
        .iter()
        .filter(|reference| own(reference))
        .map(|reference| {
            let detail = format!("The value of local.{name} may not be made from itself.");
            blame("Self-referencing local value", detail, reference).within(expr.span)
        })
        .collect()
}

/// No such module call.
pub fn module<'n>(reference: &Reference<'_>, name: &str, known: impl IntoIterator<Item = &'n str>) -> Diag {
    let detail = format!("No module call {name:?} is declared here.{}", hint(name, known));
    blame("Reference to undeclared module", detail, reference)
}

/// No such resource. `is_data`: is there a data source of this type and name?
pub fn resource(reference: &Reference<'_>, resource: &Resource, is_data: bool) -> Diag {
    let what = match resource.mode {
        Mode::Managed => "managed resource",
        Mode::Data => "data resource",
        Mode::Ephemeral => "ephemeral resource",
    };
    let near = if is_data && resource.mode == Mode::Managed {
        format!(" Did you mean data.{}.{}?", resource.kind, resource.name)
    } else {
        String::new()
    };
    let detail = format!(
        "No {what} {:?} {:?} is declared here.{near}",
        &*resource.kind, &*resource.name
    );
    blame("Reference to undeclared resource", detail, reference)
}

/// No such list resource.
pub fn list_resource(reference: &Reference<'_>, kind: &str, name: &str) -> Diag {
    let detail = format!("No list resource {kind:?} {name:?} is declared here.");
    blame("Reference to undeclared resource", detail, reference)
}

/// How a resource is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Not at all.
    Single,
    /// By `count`.
    Count,
    /// By `for_each`.
    ForEach,
}

/// An instance key where there must be none, or none where attributes are taken of repeated instances.
pub fn instance_key(reference: &Reference<'_>, resource: &Resource, repetition: Repetition) -> Option<Diag> {
    let keyed = reference.key != InstanceKey::None;
    let (word, example) = match repetition {
        Repetition::Single if keyed => {
            let detail = format!(
                "{resource} has neither count nor for_each, so it is one object and takes no key in brackets. Remove the key."
            );
            return Some(blame("Unexpected resource instance key", detail, reference));
        }
        Repetition::Single => return None,
        Repetition::Count => ("count", "count.index"),
        Repetition::ForEach => ("for_each", "each.key"),
    };
    (!keyed && !reference.remaining.is_empty()).then(|| {
        let detail = format!(
            "{resource} has {word}, so attributes are taken of one instance, as in {resource}[{example}]."
        );
        blame("Missing resource instance key", detail, reference)
    })
}

/// `count` outside a block with count (`known` false), or another attribute than `index`.
pub fn count(reference: &Reference<'_>, name: &str, known: bool) -> Option<Diag> {
    if name != "index" {
        let detail = format!("count has no attribute {name:?}, only index.");
        Some(blame("Invalid \"count\" attribute", detail, reference))
    } else if !known {
        let detail = "count can be used only in blocks that set count.".to_owned();
        Some(blame(
            "Reference to \"count\" in non-counted context",
            detail,
            reference,
        ))
    } else {
        None
    }
}

/// `each` outside a block with for_each (`known` false), or another attribute than `key` and `value`.
pub fn each(reference: &Reference<'_>, name: &str, known: bool) -> Option<Diag> {
    match name {
        "key" | "value" if known => None,
        "key" => {
            let detail = "each can be used only in blocks that set for_each.".to_owned();
            Some(blame(
                "Reference to \"each\" in context without for_each",
                detail,
                reference,
            ))
        }
        "value" => {
            let detail =
                "each.value can be used only in blocks that set for_each, and not in the for_each itself."
                    .to_owned();
            Some(blame(
                "each.value cannot be used in this context",
                detail,
                reference,
            ))
        }
        _ => {
            let detail = format!("each has no attribute {name:?}, only key and value.");
            Some(blame("Invalid \"each\" attribute", detail, reference))
        }
    }
}

/// `path` with an attribute it has not.
pub fn path(reference: &Reference<'_>, name: &str) -> Diag {
    let near = hint(name, ["cwd", "module", "root"]);
    let detail = format!("path has no attribute {name:?}, only cwd, module and root.{near}");
    blame("Invalid \"path\" attribute", detail, reference)
}

/// `terraform` with an attribute it has not.
pub fn terraform(reference: &Reference<'_>, name: &str) -> Diag {
    let why = if name == "env" {
        " The former terraform.env is terraform.workspace."
    } else {
        ""
    };
    let detail = format!("terraform has no attribute {name:?}, only workspace and applying.{why}");
    blame("Invalid \"terraform\" attribute", detail, reference)
}

/// `self` or `caller` where no object is meant by it.
pub fn no_self(reference: &Reference<'_>) -> Diag {
    let word = &*reference.traversal.root.name;
    let detail = match word {
        "caller" => "caller can be used only in the configuration of an action.",
        _ => "self can be used only in provisioners, connections and postconditions.",
    };
    blame(
        format!("Invalid {word:?} reference"),
        detail.to_owned(),
        reference,
    )
}

/// An action outside the lists of actions.
pub fn action(reference: &Reference<'_>) -> Diag {
    let detail = "Actions are named only in the actions list of a resource's action_trigger.".to_owned();
    blame("Invalid reference", detail, reference)
}

/// Steps taken into an instance whose schema has not what they name.
pub fn steps(steps: &[Step], schema: &schema::Block) -> Diags {
    let Some((step, rest)) = steps.split_first() else {
        return Diags::new();
    };
    let name = match step {
        Step::Attr { name, .. } => name,
        Step::Index { key, span } => {
            let near = match key {
                Literal::String(name) if is_identifier(name) => format!(" Write .{name} for the attribute."),
                _ => String::new(),
            };
            let detail = format!("An object has attributes, which are taken with a dot.{near}");
            return Diag::error("Invalid index operation", detail).at(*span).into();
        }
    };
    if let Some(attribute) = schema.attributes.get(name) {
        let mut value = Value::unknown(attribute.ty());
        for step in rest {
            match access::step(&value, step) {
                Ok(next) => value = next,
                Err(diag) => return diag.into(),
            }
        }
        return Diags::new();
    }
    if let Some(nested) = schema.blocks.get(name) {
        return nested_steps(name, nested, rest);
    }
    let known = schema
        .attributes
        .keys()
        .chain(schema.blocks.keys())
        .map(|known| &**known);
    let detail = format!(
        "This object has no argument, block or attribute {:?}.{}",
        &**name,
        hint(name, known)
    );
    Diag::error("Unsupported attribute", detail)
        .at(step.span())
        .into()
}

fn nested_steps(kind: &str, nested: &NestedBlock, rest: &[Step]) -> Diags {
    let Some((step, after)) = rest.split_first() else {
        return Diags::new();
    };
    match (nested.nesting, step) {
        (Nesting::Single | Nesting::Group, _) => steps(rest, &nested.block),
        (Nesting::Map, _) | (Nesting::List, Step::Index { .. }) => steps(after, &nested.block),
        (Nesting::List, Step::Attr { span, .. }) => {
            let detail =
                format!("The blocks of type {kind:?} are a list; take one of them first, as in {kind}[0].");
            Diag::error("Invalid operation", detail).at(*span).into()
        }
        (Nesting::Set, step) => {
            let detail = format!(
                "The blocks of type {kind:?} are a set, whose elements have no key. Find one with a for expression and if."
            );
            Diag::error("Cannot index a set value", detail)
                .at(step.span())
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Repetition, instance_key, steps};
    use crate::{
        Reference,
        finder::traversals,
        fixture::{blamed, expr},
    };
    use ashlar_diag::Diags;
    use ashlar_value::{
        Type,
        schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
    };

    fn check(text: &str, repetition: Repetition, expected: &[&str]) {
        let attribute = Attribute {
            ty: AttributeType::Plain(Type::list(Type::String)),
            required: false,
            optional: true,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        let inner = Block {
            attributes: [("a".into(), attribute)].into(),
            ..Block::default()
        };
        let nested = |nesting| NestedBlock {
            nesting,
            block: inner.clone(),
            min_items: 0,
            max_items: 0,
        };
        let blocks = [
            ("list".into(), nested(Nesting::List)),
            ("set".into(), nested(Nesting::Set)),
        ]
        .into();
        let schema = Block {
            blocks,
            ..inner.clone()
        };
        let expr = expr(text);
        let reference = Reference::parse(traversals(&expr)[0]).unwrap().unwrap();
        let crate::Subject::Resource(resource) = &reference.subject else {
            panic!("{text}")
        };
        let key = instance_key(&reference, resource, repetition);
        let diags: Diags = key
            .into_iter()
            .chain(steps(reference.remaining, &schema))
            .collect();
        assert_eq!(blamed(&diags, text), expected, "{text}");
    }

    #[test]
    fn instance_keys_fit_the_repetition() {
        check("t.n.a", Repetition::Single, &[]);
        check(
            "t.n[0].a",
            Repetition::Single,
            &["Unexpected resource instance key @ t.n[0]"],
        );
        check(
            "t.n.a",
            Repetition::Count,
            &["Missing resource instance key @ t.n"],
        );
        check("t.n", Repetition::ForEach, &[]);
    }

    #[test]
    fn steps_follow_the_schema() {
        check("t.n.a[0]", Repetition::Single, &[]);
        check("t.n.a.x", Repetition::Single, &["Unsupported attribute @ .x"]);
        check("t.n.b", Repetition::Single, &["Unsupported attribute @ .b"]);
        check("t.n.list[0].a", Repetition::Single, &[]);
        check("t.n.list.a", Repetition::Single, &["Invalid operation @ .a"]);
        check(
            "t.n.set[0]",
            Repetition::Single,
            &["Cannot index a set value @ [0]"],
        );
    }
}
