//! What happens between two steps and in them behind the configuration's back: objects change, calls fail, options are given.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::{
    exprs::WORDS,
    kinds::{Ty, kind},
};
use crate::{
    chance::Chance,
    scenarios::{instance_addresses, world},
};

/// A value that an object may have; none for what has a shape of its own.
pub(super) fn value(ty: Ty, chance: &mut Chance) -> Option<Json> {
    let word = |chance: &mut Chance| Json::from(chance.pick(&WORDS).unwrap_or_default());
    Some(match ty {
        Ty::Text => word(chance),
        Ty::Number => chance.below(40).into(),
        Ty::Bool => chance.odds(50).into(),
        Ty::List => (0..chance.below(3)).map(|_| word(chance)).collect(),
        Ty::Map => json!({ "k": word(chance) }),
        _ => return None,
    })
}

/// Changes of objects that are there.
pub(super) fn drift(folder: &Path, chance: &mut Chance) -> anyhow::Result<Vec<Json>> {
    let mut objects = world::objects(folder)?;
    let mut edits = Vec::new();
    for _ in 0..chance.below(3) {
        if objects.is_empty() {
            break;
        }
        let object = objects.remove(chance.below(objects.len()));
        let Some((stored, id)) = object.as_str().and_then(|text| text.split_once('/')) else {
            continue;
        };
        if chance.odds(30) {
            edits.push(json!({ "delete": { "type": stored, "id": id } }));
            continue;
        }
        let Some(kind) = kind(stored, false) else { continue };
        let mut attributes = Map::new();
        for attribute in kind.attributes.iter().filter(|attribute| attribute.name != "id") {
            if chance.odds(15)
                && let Some(value) = value(attribute.ty, chance)
            {
                let value = if chance.odds(15) { Json::Null } else { value };
                attributes.insert(attribute.name.to_owned(), value);
            }
        }
        if !attributes.is_empty() {
            edits.push(json!({ "set": { "type": stored, "id": id, "attributes": attributes } }));
        }
    }
    Ok(edits)
}

/// Calls that fail, by the operation and the type or the name of the object.
pub(super) fn faults(folder: &Path, chance: &mut Chance) -> anyhow::Result<Json> {
    let operations = [
        "create",
        "create",
        "update",
        "update",
        "delete",
        "delete",
        "read",
        "plan_create",
        "plan_update",
        "plan_delete",
        "read_data",
        "import",
    ];
    let objects = world::objects(folder)?;
    let mut faults = Vec::new();
    for number in 0..1 + chance.below(2) {
        let operation = chance.pick(&operations).unwrap_or("create");
        let kinds = ["kiln_pot", "kiln_pot", "kiln_rack", "kilnv5_pot", "kiln_shelf"];
        let mut of = chance.pick(&kinds).unwrap_or("").to_owned();
        let mut key = String::new();
        // An object's id holds its name, between its type and its number.
        if chance.odds(70)
            && let Some(object) = objects.get(chance.below(objects.len()))
            && let Some((stored, id)) = object.as_str().and_then(|text| text.split_once('/'))
        {
            let name = id.split_once('-').and_then(|(_, rest)| rest.rsplit_once('-'));
            key = name.map_or("", |(name, _)| name).to_owned();
            of = stored.to_owned();
        }
        faults.push(json!({
            "op": operation, "type": of, "key": key, "warning": chance.odds(25),
            "summary": "Injected", "detail": format!("Because of fault {number}."),
        }));
    }
    Ok(json!({ "faults": faults }))
}

/// The addresses of all managed instances in a recorded state.
pub(super) fn addresses(state: &Json) -> Vec<String> {
    let resources = state["resources"].as_array().into_iter().flatten();
    resources
        .filter(|resource| resource["mode"] == "managed")
        .flat_map(instance_addresses)
        .collect()
}
