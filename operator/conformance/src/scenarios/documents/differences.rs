//! Every place where two documents differ.

use std::fmt;

use serde_json::Value as Json;

use crate::report::Miss;

/// The most that are told of a case.
const TOLD: usize = 8;

/// One place, with what stands there on both sides; none where it is missing.
pub(super) struct Difference {
    path: String,
    wanted: Option<Json>,
    got: Option<Json>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, wanted, got } = self;
        write!(f, "{path}: {} | {}", side(wanted.as_ref()), side(got.as_ref()))
    }
}

fn side(value: Option<&Json>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Json::to_string)
}

/// Compares all steps' documents. What Terraform could not show is nothing to hold ours against.
pub(super) fn between(wanted: &Json, got: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    let [ours, theirs] = [got, wanted].map(|side| side.as_array().map_or(&[][..], Vec::as_slice));
    for (want, have) in theirs.iter().zip(ours) {
        let step = want["step"].as_str().unwrap_or_default();
        for name in ["plan", "state"] {
            let (want, have) = (want.get(name), have.get(name));
            if want.is_some_and(Json::is_null) {
                continue;
            }
            descend(format!("[{step}] {name}"), want, have, &mut found);
        }
    }
    if theirs.len() != ours.len() {
        let count = |side: &[Json]| Some(side.len().into());
        found.push(Difference {
            path: "steps".to_owned(),
            wanted: count(theirs),
            got: count(ours),
        });
    }
    found
}

fn descend(path: String, wanted: Option<&Json>, got: Option<&Json>, found: &mut Vec<Difference>) {
    match (wanted, got) {
        (Some(a), Some(b)) if a == b => {}
        (Some(Json::Object(a)), Some(Json::Object(b))) => {
            let more = b.keys().filter(|name| !a.contains_key(*name));
            for name in a.keys().chain(more) {
                descend(format!("{path}.{name}"), a.get(name), b.get(name), found);
            }
        }
        (Some(Json::Array(a)), Some(Json::Array(b))) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                descend(format!("{path}[{at}]"), Some(a), Some(b), found);
            }
        }
        _ => {
            if wanted != got {
                found.push(Difference {
                    path,
                    wanted: wanted.cloned(),
                    got: got.cloned(),
                });
            }
        }
    }
}

/// The first few, as the outcome of a case.
pub(super) fn verdict(found: &[Difference]) -> Result<(), Miss> {
    if found.is_empty() {
        return Ok(());
    }
    let told = |side: fn(&Difference) -> Option<&Json>| {
        let lines = found.iter().take(TOLD);
        let lines: Vec<String> = lines
            .map(|one| format!("{} = {}", one.path, self::side(side(one))))
            .collect();
        lines.join("\n           ")
    };
    Err(Miss::new(
        told(|one| one.wanted.as_ref()),
        told(|one| one.got.as_ref()),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(wanted: Json, got: Json, expected: &[&str]) {
        let documents = |plan: Json| json!([{ "step": "s", "plan": plan }]);
        let found = between(&documents(wanted), &documents(got));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_place_is_told_once() {
        check(json!({"a": 1}), json!({"a": 1}), &[]);
        check(
            json!({"a": [1, {"b": 2}], "c": null}),
            json!({"a": [1, {"b": 3}], "d": []}),
            &[
                "[s] plan.a[1].b: 2 | 3",
                "[s] plan.c: null | nothing",
                "[s] plan.d: nothing | []",
            ],
        );
        check(json!([1]), json!([]), &["[s] plan: [1] | []"]);
        // Terraform could not show it.
        check(Json::Null, json!({}), &[]);
    }

    #[test]
    fn a_step_that_is_missing_is_a_difference() {
        let one = json!([{ "step": "s" }]);
        assert_eq!(between(&one, &json!([])).len(), 1);
        assert!(verdict(&between(&one, &json!([]))).is_err());
        assert!(verdict(&between(&one, &one)).is_ok());
    }
}
