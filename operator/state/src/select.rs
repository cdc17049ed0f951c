//! Which objects of a state a person means by an address.
//!
//! Source: Terraform `internal/command/state_meta.go`.

use std::sync::Arc;

use ashlar_addr::{ResourceInstance, Target};
use ashlar_diag::{Diag, Diags};

use crate::{Object, State};

/// All instances that the addresses name, each address's in their order; an address without any is an error.
pub fn select(state: &State, targets: &[Target]) -> Result<Vec<ResourceInstance>, Diags> {
    let mut found = Vec::new();
    let mut diags = Diags::new();
    for target in targets {
        let those = matching(state, target);
        if those.is_empty() {
            diags.push(unknown(target));
        }
        found.extend(those);
    }
    if diags.has_errors() { Err(diags) } else { Ok(found) }
}

/// All instances that an address names.
pub(crate) fn matching(state: &State, target: &Target) -> Vec<ResourceInstance> {
    instances(state)
        .filter(|instance| target.contains(instance))
        .collect()
}

/// Every instance that holds an object.
pub fn instances(state: &State) -> impl Iterator<Item = ResourceInstance> {
    state.resources.iter().flat_map(|(resource, held)| {
        let keys = held.instances.keys();
        keys.map(|key| resource.instance(key.clone()))
    })
}

fn unknown(target: &Target) -> Diag {
    let (summary, what) = match target {
        Target::Module(_) => ("Unknown module", "module"),
        Target::Resource(_) => ("Unknown resource", "resource"),
        Target::Instance(_) => ("Unknown resource instance", "resource instance"),
    };
    let detail = format!(
        "The state holds no {what} {target}. What is new in the configuration comes into the state when it is applied; \
         `ashlar state list` tells what is there."
    );
    Diag::error(summary, detail)
}

/// The id of an object, if it has one that is a text.
/// Source: Terraform `internal/states/instance_object.go` (`LegacyInstanceObjectID`).
pub fn object_id(object: &Arc<Object>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct WithId {
        id: Option<String>,
    }
    serde_json::from_slice::<WithId>(&object.attributes).ok()?.id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::fixture::{state, target};

    #[test]
    fn an_address_names_what_is_in_it_and_one_without_anything_is_an_error() {
        let state = state(&[
            "a.b",
            "a.c[0]",
            "a.c[1]",
            "module.m[0].a.b",
            "module.m[1].module.n.a.b",
        ]);
        let check = |targets: &[&str], want: &str| {
            let targets: Vec<Target> = targets.iter().map(|text| target(text)).collect();
            let got = match select(&state, &targets) {
                Ok(found) => found
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" "),
                Err(diags) => diags
                    .iter()
                    .map(|diag| diag.summary.to_string())
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            assert_eq!(got, want);
        };
        check(&["a.c"], "a.c[0] a.c[1]");
        check(&["a.c[1]", "a.b"], "a.c[1] a.b");
        check(&["module.m"], "module.m[0].a.b module.m[1].module.n.a.b");
        check(
            &["a.x", "module.x", "a.c[7]"],
            "Unknown resource, Unknown module, Unknown resource instance",
        );
    }
}
