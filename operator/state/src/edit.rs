//! Changes of a state that a person asks for, no provider being told of them.
//!
//! Each works on the model alone and says what it did. Whoever calls holds the lock, and stores what came of it.
//! Source: Terraform `internal/command/taint.go`, `untaint.go`, `state_rm.go`, `state_replace_provider.go`.

#[cfg(test)]
pub(crate) mod fixture;
mod push;
mod relocate;

use std::sync::Arc;

use ashlar_addr::{AbsResource, Mode, Provider, ResourceInstance, Target};
use ashlar_diag::{Diag, Diags};

pub use self::{
    push::may_replace,
    relocate::{Relocated, relocate},
};
use crate::{Object, State, Status, select::matching};

/// Marks an instance's object as one to be replaced.
pub fn taint(state: &mut State, address: &ResourceInstance) -> Result<(), Diags> {
    if address.resource.resource.mode != Mode::Managed {
        let detail = format!("{address} is only read, never made, so it cannot be replaced.");
        return Err(Diag::error("Resource instance cannot be tainted", detail).into());
    }
    let object = current(state, address, "tainted")?;
    set_status(state, address, &object, Status::Tainted);
    Ok(())
}

/// Takes such a mark back.
pub fn untaint(state: &mut State, address: &ResourceInstance) -> Result<(), Diags> {
    let object = current(state, address, "untainted")?;
    if object.status != Status::Tainted {
        let detail = format!("{address} is not tainted, so there is nothing to take back.");
        return Err(Diag::error("Resource instance is not tainted", detail).into());
    }
    set_status(state, address, &object, Status::Ready);
    Ok(())
}

fn set_status(state: &mut State, address: &ResourceInstance, object: &Object, status: Status) {
    let object = Object {
        status,
        ..object.clone()
    };
    let held = state
        .resources
        .get_mut(&address.resource)
        .and_then(|resource| resource.instances.get_mut(&address.key));
    if let Some(held) = held {
        held.current = Some(object.into());
    }
}

fn current(state: &State, address: &ResourceInstance, what: &str) -> Result<Arc<Object>, Diags> {
    let none = |detail: String| Diags::from(Diag::error("No such resource instance", detail));
    if state.resources.is_empty() {
        return Err(none(
            "The state holds no resource instances at all: nothing was applied yet, or all is destroyed."
                .to_owned(),
        ));
    }
    let Some(instance) = state.instance(address) else {
        return Err(none(format!(
            "The state holds no {address}. What is new in the configuration must be applied before it can be {what}."
        )));
    };
    let object = instance.current.clone();
    object.ok_or_else(|| {
        none(format!(
            "The replacement of {address} was begun and not finished. Apply, so that it is, before it can be {what}."
        ))
    })
}

/// Forgets all that the addresses name, deposed objects as well; tells what.
pub fn remove(state: &mut State, targets: &[Target]) -> Vec<ResourceInstance> {
    let mut removed = Vec::new();
    for target in targets {
        for instance in matching(state, target) {
            if let Some(resource) = state.resources.get_mut(&instance.resource) {
                resource.instances.remove(&instance.key);
                if resource.instances.is_empty() {
                    state.resources.remove(&instance.resource);
                }
                removed.push(instance);
            }
        }
    }
    removed
}

/// Has resources of one provider managed by another; tells which.
pub fn replace_provider(state: &mut State, from: &Provider, to: &Provider) -> Vec<AbsResource> {
    let mut changed = Vec::new();
    for (address, resource) in &mut state.resources {
        if resource.provider.provider == *from {
            resource.provider.provider = to.clone();
            changed.push(address.clone());
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{
        fixture::{shown, state, target},
        *,
    };

    fn address(text: &str) -> ResourceInstance {
        text.parse().unwrap()
    }

    #[test]
    fn a_taint_is_set_and_taken_back() {
        let mut state = state(&["a.b", "data.a.b"]);
        let summary =
            |result: Result<(), Diags>| result.unwrap_err().iter().next().unwrap().summary.to_string();
        assert_eq!(
            summary(untaint(&mut state, &address("a.b"))),
            "Resource instance is not tainted"
        );
        taint(&mut state, &address("a.b")).unwrap();
        taint(&mut state, &address("a.b")).unwrap();
        assert_eq!(state.current(&address("a.b")).unwrap().status, Status::Tainted);
        untaint(&mut state, &address("a.b")).unwrap();
        assert_eq!(state.current(&address("a.b")).unwrap().status, Status::Ready);
        assert_eq!(
            summary(taint(&mut state, &address("a.x"))),
            "No such resource instance"
        );
        assert_eq!(
            summary(taint(&mut state, &address("data.a.b"))),
            "Resource instance cannot be tainted"
        );
        assert_eq!(
            summary(taint(&mut State::default(), &address("a.b"))),
            "No such resource instance"
        );
        let key = ashlar_addr::DeposedKey(1);
        state.relocate(&address("a.b"), None, Some(key));
        assert_eq!(
            summary(taint(&mut state, &address("a.b"))),
            "No such resource instance"
        );
    }

    #[test]
    fn what_is_removed_is_told_and_leaves_nothing_behind() {
        let mut state = state(&["a.b", "a.c[0]", "a.c[1]", "module.m.a.b"]);
        let removed = remove(&mut state, &[target("a.c[0]"), target("module.m"), target("a.x")]);
        let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
        assert_eq!(removed, ["a.c[0]", "module.m.a.b"]);
        assert_eq!(shown(&state), "a.b a.c[1]");
        remove(&mut state, &[target("a.b")]);
        assert_eq!(state.resources.len(), 1);
    }

    #[test]
    fn only_resources_of_the_provider_change_it() {
        let mut state = state(&["a.b", "c.b"]);
        let (from, to): (Provider, Provider) = ("x/a".parse().unwrap(), "y/a".parse().unwrap());
        assert!(replace_provider(&mut state, &from, &to).is_empty());
        let from = Provider::implied("a");
        let changed = replace_provider(&mut state, &from, &to);
        assert_eq!(changed.len(), 1);
        let providers: Vec<String> = state
            .resources
            .values()
            .map(|held| held.provider.to_string())
            .collect();
        assert_eq!(
            providers,
            [
                "provider[\"registry.terraform.io/y/a\"]",
                "provider[\"registry.terraform.io/hashicorp/c\"]"
            ]
        );
    }
}
