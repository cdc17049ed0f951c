//! What tells inputs from others. Pure.

use std::collections::BTreeMap;

use ashlar_api::WorkspaceSpec;
use ashlar_store::kube::WorkspaceKeys;

use super::Material;
use crate::{beside::named, values::Given};

/// All that makes a difference to a plan. Not the gate, nor times, nor where outputs go.
pub(super) fn digest(
    spec: &WorkspaceSpec,
    material: &Material,
    values: &BTreeMap<String, Given>,
    env: &[(String, String)],
    keys: &WorkspaceKeys,
) -> String {
    let plan = &spec.plan;
    // What cannot be read has been refused before.
    let named = named(spec).ok().flatten();
    let named: Option<Vec<String>> = named.map(|named| named.iter().map(ToString::to_string).collect());
    let mut settings = format!("{} {:?}", plan.refresh, plan.replace);
    // Without limits the digest is as it was before there were any, so that no plan is made anew for that.
    if !(plan.targets.is_empty() && plan.exclude.is_empty()) {
        settings = format!("{settings} {:?} {:?}", plan.targets, plan.exclude);
    }
    if !plan.invoke.is_empty() {
        settings = format!("{settings} invoke {:?}", plan.invoke);
    }
    let mut parts: Vec<(&[u8], &[u8])> = Vec::new();
    parts.push((b"workspace", spec.terraform_workspace.as_bytes()));
    let dialect = format!("{:?}", spec.dialect);
    parts.push((b"dialect", dialect.as_bytes()));
    parts.push((b"plan", settings.as_bytes()));
    // Left out, it is as it was before there was a choice. What is offered is no input: plans pin what they were made with.
    if let Some(named) = &named {
        parts.push((b"sidecars", b""));
        parts.extend(named.iter().map(|provider| (provider.as_bytes(), &b""[..])));
    }
    parts.push((b"files", b""));
    match material {
        Material::Files(package) => {
            let files = package.files.iter();
            parts.extend(files.map(|(name, bytes)| (name.as_bytes(), &**bytes)));
        }
        Material::Fetched(order) => {
            let known = order.fetched.as_ref();
            let known = known.map_or("", |fetched| &fetched.config_digest);
            parts.push((b"\0fetched", known.as_bytes()));
        }
    }
    parts.push((b"values", b""));
    parts.extend(value_parts(values));
    parts.push((b"env", b""));
    parts.extend(
        env.iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes())),
    );
    keys.keyed_hash(&canonical(parts.into_iter()))
}

/// What tells values from others, as pairs.
pub(crate) fn value_parts(values: &BTreeMap<String, Given>) -> impl Iterator<Item = (&[u8], &[u8])> {
    values.iter().flat_map(|(name, given)| {
        let sensitive: &[u8] = if given.sensitive { b"sensitive" } else { b"" };
        [
            (name.as_bytes(), given.form.kind().as_bytes()),
            (sensitive, given.form.text().as_bytes()),
        ]
    })
}

/// Pairs as bytes that no other pairs give.
pub(crate) fn canonical<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in pairs.flat_map(|(name, value)| [name, value]) {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}
