//! Addresses written as references in `moved`, `removed` and `import` blocks.
//!
//! Rules: Terraform `addrs/module_instance.go`, `parse_target.go`, `move_endpoint.go`, `remove_target.go`.

use std::sync::Arc;

use ashlar_addr::{InstanceKey, Mode, Module as ModuleAddr, Resource};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Literal, Step, Traversal};
use ashlar_value::Number;

use crate::model::Endpoint;

const INVALID: &str = "Invalid address";
const OPERATOR: &str = "Invalid address operator";

/// Words that cannot begin a resource's address.
const RESERVED: &[&str] = &[
    "count",
    "each",
    "local",
    "module",
    "path",
    "self",
    "terraform",
    "var",
    "template",
    "lazy",
    "arg",
];

/// One name or key of an address.
struct Part<'t> {
    name: Option<&'t Arc<str>>,
    key: Option<&'t Literal>,
    span: Span,
}

fn parts(traversal: &Traversal) -> Vec<Part<'_>> {
    let root = Part {
        name: Some(&traversal.root.name),
        key: None,
        span: traversal.root.span,
    };
    let steps = traversal.steps.iter().map(|step| match step {
        Step::Attr { name, span } => Part {
            name: Some(name),
            key: None,
            span: *span,
        },
        Step::Index { key, span } => Part {
            name: None,
            key: Some(key),
            span: *span,
        },
    });
    std::iter::once(root).chain(steps).collect()
}

fn fail(summary: &'static str, detail: &str, at: Span) -> Diag {
    Diag::error(summary, detail).at(at)
}

/// The place of what is left of an address.
fn place(rest: &[Part<'_>], all: Span) -> Span {
    match (rest.first(), rest.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => all,
    }
}

fn key(literal: &Literal) -> Option<InstanceKey> {
    match literal {
        Literal::String(text) => Some(InstanceKey::String(text.clone())),
        Literal::Number(text) => Number::parse(text)?.to_i64().map(InstanceKey::Int),
        Literal::Bool(_) | Literal::Null => None,
    }
}

/// Calls of modules, with the instance of each.
pub type Calls = Vec<(Arc<str>, InstanceKey)>;

/// Takes the calls off the front: `module.NAME`, `module.NAME[KEY]`, any number of them.
fn calls<'p, 't>(mut rest: &'p [Part<'t>]) -> Result<(Calls, &'p [Part<'t>]), Diag> {
    const NAME: &str = "After module must follow a dot and the name of a call.";
    let mut found = Calls::new();
    while let Some((first, behind)) = rest.split_first() {
        let Some(word) = first.name else {
            let detail = "After a module's address must follow a dot and a name.";
            return Err(fail(OPERATOR, detail, first.span));
        };
        if &**word != "module" {
            break;
        }
        let Some((call, behind)) = behind.split_first() else {
            return Err(fail(OPERATOR, NAME, first.span));
        };
        let name = call.name.ok_or_else(|| fail(OPERATOR, NAME, call.span))?;
        rest = behind;
        let mut instance = InstanceKey::None;
        if let Some((next, behind)) = rest.split_first()
            && let Some(literal) = next.key
        {
            let detail = "The key of a module instance is a string or a whole number.";
            instance = key(literal).ok_or_else(|| fail(OPERATOR, detail, next.span))?;
            rest = behind;
        }
        found.push((name.clone(), instance));
    }
    Ok((found, rest))
}

/// Type and name of a resource.
fn names<'p, 't>(rest: &'p [Part<'t>], mode: Mode, all: Span) -> Result<(Resource, &'p [Part<'t>]), Diag> {
    let [kind, name, behind @ ..] = rest else {
        let detail = "A resource is named by its type and its name: TYPE.NAME.";
        return Err(fail(INVALID, detail, place(rest, all)));
    };
    let kind = kind
        .name
        .ok_or_else(|| fail(INVALID, "A resource type is expected here.", kind.span))?;
    let name = name
        .name
        .ok_or_else(|| fail(INVALID, "The name of a resource is expected here.", name.span))?;
    Ok((Resource::new(mode, kind.clone(), name.clone()), behind))
}

/// A resource or one of its instances.
fn instance(rest: &[Part<'_>], all: Span) -> Result<(Resource, InstanceKey), Diag> {
    let word = rest.first().and_then(|part| part.name).map_or("", |word| &**word);
    let (mode, prefixed) = match word {
        "data" => (Mode::Data, true),
        "ephemeral" => (Mode::Ephemeral, true),
        "resource" => (Mode::Managed, true),
        reserved if RESERVED.contains(&reserved) => {
            let detail = format!(
                "{reserved:?} cannot begin a resource's address. If it is a resource type, write \"resource.\" in front of it."
            );
            return Err(fail(INVALID, &detail, place(rest, all)));
        }
        _ => (Mode::Managed, false),
    };
    let (resource, behind) = names(if prefixed { &rest[1..] } else { rest }, mode, all)?;
    match behind {
        [] => Ok((resource, InstanceKey::None)),
        [part] => match part.key.map(key) {
            Some(Some(key)) => Ok((resource, key)),
            Some(None) => Err(fail(
                INVALID,
                "The key of an instance is a string or a whole number.",
                part.span,
            )),
            None => Err(fail(
                INVALID,
                "After a resource's name can follow only an instance key in brackets.",
                part.span,
            )),
        },
        [_, extra, ..] => Err(fail(INVALID, "The address goes on behind its end.", extra.span)),
    }
}

/// The instance that an import is into: the calls on the way, the resource and the key in there.
pub fn import_address(traversal: &Traversal) -> Result<(Calls, Resource, InstanceKey), Diags> {
    let endpoint = endpoint(traversal)?;
    let Some((resource, key)) = endpoint.resource else {
        let detail = "This names a module. An object is imported into one instance of a resource.";
        return Err(fail("Invalid import 'to' expression", detail, endpoint.span).into());
    };
    Ok((endpoint.module, resource, key))
}

/// An end of a move.
pub(crate) fn endpoint(traversal: &Traversal) -> Result<Endpoint, Diag> {
    let parts = parts(traversal);
    let span = traversal.span();
    let (module, rest) = calls(&parts)?;
    let resource = if rest.is_empty() {
        None
    } else {
        Some(instance(rest, span)?)
    };
    Ok(Endpoint {
        module,
        resource,
        span,
    })
}

/// What is removed: a resource, or a module if there is none.
pub(crate) fn removed(traversal: &Traversal) -> Result<(ModuleAddr, Option<Resource>), Diag> {
    let parts = parts(traversal);
    let span = traversal.span();
    let (calls, rest) = calls(&parts)?;
    let before = parts.len() - rest.len();
    let keyed = parts.iter().take(before).find(|part| part.key.is_some());
    if let Some(part) = keyed {
        let detail = "All instances are removed together. Name the module without a key.";
        return Err(fail("Module instance keys not allowed", detail, part.span));
    }
    let module = ModuleAddr(calls.into_iter().map(|(name, _)| name).collect());
    if rest.is_empty() {
        return Ok((module, None));
    }
    let is_data = rest
        .first()
        .and_then(|part| part.name)
        .is_some_and(|word| &**word == "data");
    let mode = if is_data { Mode::Data } else { Mode::Managed };
    let (resource, behind) = names(if is_data { &rest[1..] } else { rest }, mode, span)?;
    if let Some(extra) = behind.first() {
        let detail = "All instances are removed together. Name the resource without a key.";
        return Err(fail("Resource instance keys not allowed", detail, extra.span));
    }
    if is_data {
        let detail =
            "A data source holds nothing that could be removed. Take its block out of the configuration.";
        return Err(fail("Data source address not allowed", detail, span));
    }
    Ok((module, Some(resource)))
}

/// The resource that an import's target belongs to.
pub(crate) fn target(traversal: &Traversal) -> Result<(ModuleAddr, Resource), Diag> {
    let end = endpoint(traversal)?;
    let module = ModuleAddr(end.module.iter().map(|(name, _)| name.clone()).collect());
    match end.resource {
        Some((resource, _)) => Ok((module, resource)),
        None => {
            let detail = "A resource instance is expected here, in the module or the one that is named.";
            Err(fail(INVALID, detail, end.span))
        }
    }
}
