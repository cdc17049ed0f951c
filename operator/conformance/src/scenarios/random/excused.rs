//! What is no difference: what one and the same program tells now so, now so, and faults of Terraform's own that are known.
//! Puts it in one form on both sides before they are compared. Pure.

use serde_json::{Value as Json, json};

/// Puts what differs from run to run in one form. What a plan tells of several instances in the same words Terraform tells of
/// one of them, now of this and now of that.
pub(super) fn without_chance(steps: &mut [Json]) {
    for step in steps {
        let changes = step
            .get_mut("plan")
            .and_then(|plan| plan.get_mut("resource_changes"));
        for change in changes.and_then(Json::as_array_mut).into_iter().flatten() {
            // Terraform tells them in no order of their own.
            let paths = change["change"].get_mut("replace_paths");
            if let Some(paths) = paths.and_then(Json::as_array_mut) {
                paths.sort_by_cached_key(Json::to_string);
            }
        }
        let plan = step.get_mut("plan");
        let diags = plan.and_then(|plan| plan.get_mut("diagnostics"));
        for diag in diags.and_then(Json::as_array_mut).into_iter().flatten() {
            // Of several that are missing Terraform tells one.
            const MISSING: &str = "missing provider ";
            if diag["summary"]
                .as_str()
                .is_some_and(|summary| summary.starts_with(MISSING))
            {
                diag["summary"] = MISSING.into();
            }
            if let Some(address) = diag["address"].as_str() {
                // Modules of one source say the same at the same place.
                let address = own_part(address);
                let mut depth = 0;
                let is_outside = |c: &char| {
                    depth += i32::from(*c == '[');
                    let outside = depth == 0;
                    depth -= i32::from(*c == ']');
                    outside
                };
                diag["address"] = address.chars().filter(is_outside).collect::<String>().into();
            }
        }
    }
}

/// An address without its modules.
fn own_part(address: &str) -> &str {
    let mut own = address;
    while let Some((_, rest)) = own
        .strip_prefix("module.")
        .and_then(|inner| inner.split_once('.'))
    {
        own = rest;
    }
    own
}

/// Where a change fails and the provider tells no identity, Terraform forgets the one it has. It stays here.
pub(super) fn without_lost_identities(expected: &mut [Json], got: &[Json]) {
    for (expected, got) in expected.iter_mut().zip(got) {
        let failed = expected["apply"]["exit"].as_i64().is_some_and(|exit| exit != 0);
        let theirs = expected
            .pointer_mut("/state/resources")
            .filter(|_| failed)
            .and_then(Json::as_array_mut)
            .into_iter()
            .flatten();
        let ours = got["state"]["resources"].as_array().into_iter().flatten();
        for (theirs, ours) in theirs.zip(ours) {
            let theirs = theirs.get_mut("instances").and_then(Json::as_array_mut);
            let theirs = theirs.into_iter().flatten();
            let ours = ours["instances"].as_array().into_iter().flatten();
            for (theirs, ours) in theirs.zip(ours) {
                if theirs["identity"].is_null() && !ours["identity"].is_null() {
                    for field in ["identity", "identity_schema_version"] {
                        theirs[field] = ours[field].clone();
                    }
                }
            }
        }
    }
}

/// Where Terraform plans to replace an object, it forgets in that plan what the object's schema calls sensitive, and shows it
/// where it flows to. That is a fault of its own; ours stays hidden, and the more sensitive counts.
pub(super) fn without_lost_marks(expected: &mut [Json], got: &[Json]) {
    for (expected, got) in expected.iter_mut().zip(got) {
        let plan = expected.get_mut("plan");
        let changes = plan.and_then(|plan| plan.get_mut("resource_changes"));
        let Some(changes) = changes.and_then(Json::as_array_mut) else {
            continue;
        };
        let replaces = |change: &Json| {
            change["change"]["actions"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
        };
        if !changes.iter().any(replaces) {
            continue;
        }
        for change in changes {
            let same = got["plan"]["resource_changes"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|other| other["address"] == change["address"] && other["deposed"] == change["deposed"]);
            if let Some(other) = same
                && hides_more(
                    &other["change"]["after_sensitive"],
                    &change["change"]["after_sensitive"],
                )
            {
                change["change"]["after_sensitive"] = other["change"]["after_sensitive"].clone();
            }
        }
    }
}

/// A refresh-only plan that changes nothing is worth applying to Terraform if state holds a data source: it compares what the
/// file holds with what it would write, letter by letter.
pub(super) fn without_spellings(expected: &mut [Json], got: &[Json]) {
    let mut has_data = false;
    for (expected, got) in expected.iter_mut().zip(got) {
        let applyable = (&expected["plan"]["applyable"], &got["plan"]["applyable"]);
        if has_data && expected["action"] == "refresh-only" && applyable == (&json!(true), &json!(false)) {
            expected["plan"]["applyable"] = false.into();
        }
        let resources = expected["state"]["resources"].as_array().into_iter().flatten();
        has_data = resources.into_iter().any(|resource| resource["mode"] == "data");
    }
}

/// Does one hide all that the other does, and something more?
fn hides_more(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Bool(true), Json::Bool(true)) => false,
        (Json::Bool(true), _) => true,
        (Json::Object(a), Json::Object(b)) => {
            b.iter().all(|(name, other)| {
                a.get(name)
                    .is_some_and(|one| one == other || hides_more(one, other))
            }) && one != other
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .all(|(one, other)| one == other || hides_more(one, other))
                && one != other
        }
        _ => false,
    }
}
