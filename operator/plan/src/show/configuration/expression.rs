//! Expressions, without their text: the value of a constant one, and what others refer to.
//!
//! Source: Terraform `internal/command/jsonconfig/expression.go`.

use std::fmt::Write as _;

use ashlar_addr::InstanceKey;
use ashlar_eval::{Reference, Subject, block_attributes, evaluate_constant, quote, references, written};
use ashlar_syntax::{Body, Expr, Literal, Step};
use ashlar_value::{
    Value,
    schema::{Block, Nesting},
};
use serde_json::{Map, Value as Json};

use super::super::tree;

/// One expression.
pub(super) fn expression(expr: &Expr) -> Json {
    // What is at fault is unknown; the part that decides may be known all the same.
    let (value, _) = evaluate_constant(expr);
    told(&value, &references(expr).0)
}

/// An expression by its value, as far as that is constant, and what it refers to.
fn told(value: &Value, references: &[Reference<'_>]) -> Json {
    let mut out = Map::new();
    if value.is_wholly_known() {
        out.insert(
            "constant_value".to_owned(),
            tree::known(value).unwrap_or(Json::Null),
        );
    }
    let named: Vec<Json> = references.iter().flat_map(steps).map(Json::from).collect();
    if !named.is_empty() {
        out.insert("references".to_owned(), named.into());
    }
    Json::Object(out)
}

/// The expressions of a body, as its schema takes them. `dynamic` blocks are left out.
pub(super) fn arguments(body: &Body, schema: &Block) -> Json {
    let (attributes, blocks) = written(body, schema);
    let mut out = Map::new();
    for attribute in attributes {
        out.insert(attribute.name.name.to_string(), expression(&attribute.expr));
    }
    for attribute in block_attributes(body, schema) {
        let name = attribute.name.to_string();
        out.insert(name, told(&attribute.value, &attribute.references));
    }
    for block in blocks {
        let name = block.kind.name.to_string();
        let Some(nested) = schema.blocks.get(&*block.kind.name) else {
            continue;
        };
        let inner = arguments(&block.body, &nested.block);
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                out.insert(name, inner);
            }
            Nesting::List | Nesting::Set => {
                let all = out.entry(name).or_insert_with(|| Json::Array(Vec::new()));
                if let Json::Array(all) = all {
                    all.push(inner);
                }
            }
            Nesting::Map => {
                let all = out.entry(name).or_insert_with(|| Json::Object(Map::new()));
                if let (Json::Object(all), Some(label)) = (all, block.labels.first()) {
                    all.insert(label.name.to_string(), inner);
                }
            }
        }
    }
    Json::Object(out)
}

/// A reference with ever fewer of its steps, down to what it names, and that without its key.
fn steps(reference: &Reference<'_>) -> Vec<String> {
    let subject = subject(reference);
    let mut texts = Vec::new();
    for end in (1..=reference.remaining.len()).rev() {
        let mut text = subject.clone();
        for step in reference.remaining.iter().take(end) {
            push(step, &mut text);
        }
        texts.push(text);
    }
    texts.push(subject);
    texts.extend(whole(reference));
    texts
}

/// What it names, as an address.
pub(super) fn subject(reference: &Reference<'_>) -> String {
    let key = &reference.key;
    match &reference.subject {
        Subject::Var(name) => format!("var.{name}"),
        Subject::Local(name) => format!("local.{name}"),
        Subject::Resource(resource) => format!("{resource}{key}"),
        Subject::List { kind, name } => format!("list.{kind}.{name}{key}"),
        Subject::Module { call, output } => match output {
            Some(output) => format!("module.{call}{key}.{output}"),
            None => format!("module.{call}{key}"),
        },
        Subject::Path(name) => format!("path.{name}"),
        Subject::Terraform(name) => format!("terraform.{name}"),
        Subject::Each(name) => format!("each.{name}"),
        Subject::Count(name) => format!("count.{name}"),
        Subject::SelfRef => "self".to_owned(),
        Subject::Caller => "caller".to_owned(),
        Subject::Action { kind, name } => format!("action.{kind}.{name}{key}"),
    }
}

/// What it is a part of, without key or output.
fn whole(reference: &Reference<'_>) -> Option<String> {
    let keyed = reference.key != InstanceKey::None;
    match &reference.subject {
        Subject::Resource(resource) => keyed.then(|| resource.to_string()),
        Subject::Module {
            call,
            output: Some(_),
        } => Some(format!("module.{call}{}", reference.key)),
        Subject::Module { call, output: None } => keyed.then(|| format!("module.{call}")),
        Subject::Action { kind, name } => keyed.then(|| format!("action.{kind}.{name}")),
        _ => None,
    }
}

fn push(step: &Step, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match step {
        Step::Attr { name, .. } => write!(text, ".{name}"),
        Step::Index {
            key: Literal::String(key),
            ..
        } => write!(text, "[{}]", quote(key)),
        Step::Index {
            key: Literal::Number(key),
            ..
        } => write!(text, "[{key}]"),
        Step::Index { .. } => write!(text, "[]"),
    };
}
