//! The next step of a case, by chance.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::{case::Step, drift, estate::Estate};
use crate::chance::Chance;

/// The next step of a case: the configuration edited, the world changed.
pub(super) fn next_step(
    at: usize,
    estate: &mut Estate,
    world: &Path,
    state: &Json,
    chance: &mut Chance,
) -> anyhow::Result<Step> {
    let mut edits = Vec::new();
    let mut options = Map::new();
    let mut action = "apply";
    if at > 0 {
        if chance.odds(35) {
            edits.extend(drift::drift(world, chance)?);
        }
        if chance.odds(85) {
            for _ in 0..1 + chance.below(3) {
                edits.extend(estate.edit(chance));
            }
        }
        action = match chance.below(20) {
            0 | 1 => "refresh-only",
            2 => "plan",
            3 if at == 1 => "destroy",
            3..=5 if at > 1 => "destroy",
            _ => "apply",
        };
        let addresses = drift::addresses(state);
        if action == "apply" && chance.odds(12) && !addresses.is_empty() {
            let address = &addresses[chance.below(addresses.len())];
            options.insert("replace".to_owned(), json!([address]));
        }
        if action != "refresh-only" && chance.odds(8) {
            options.insert("refresh".to_owned(), false.into());
        }
    }
    let may_fail = if at == 0 { 8 } else { 16 };
    if chance.odds(may_fail) {
        edits.push(drift::faults(world, chance)?);
    } else if at > 0 {
        edits.push(json!({ "faults": [] }));
    }
    Ok(Step {
        name: ["first", "second", "third"]
            .get(at)
            .copied()
            .unwrap_or("more")
            .to_owned(),
        action: action.to_owned(),
        files: estate.files(),
        world: edits,
        vars: estate.given(chance),
        options,
    })
}
