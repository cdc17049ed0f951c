//! Objects get other addresses: instances, whole resources, whole modules.
//!
//! Source: Terraform `internal/command/state_mv.go`.

use std::sync::Arc;

use ashlar_addr::{AbsResource, InstanceKey, Mode, ModuleInstance, ResourceInstance, Target};
use ashlar_diag::{Diag, Diags};

use crate::{Object, State};

const SOURCE: &str = "Invalid source address";
const TARGET: &str = "Invalid target address";
const REQUEST: &str = "Invalid state move request";

/// One thing that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocated {
    /// Where it was.
    pub from: Target,
    /// Where it is now.
    pub to: Target,
}

/// Moves what is at one address to another, and tells what that was. Nothing is changed where it fails.
pub fn relocate(state: &mut State, from: &Target, to: &Target) -> Result<Vec<Relocated>, Diags> {
    let moves = judge(state, from, to)?;
    for Relocated { from, to } in &moves {
        match (from, to) {
            (Target::Module(from), Target::Module(to)) => move_module(state, from, to),
            (Target::Resource(from), Target::Resource(to)) => state.move_resource(from, to.clone()),
            (Target::Instance(from), Target::Instance(to)) => state.move_instance(from, to),
            _ => {}
        }
        forget_dependencies(state, from);
    }
    Ok(moves)
}

/// What is to move, each with an address of the same kind.
fn judge(state: &State, from: &Target, to: &Target) -> Result<Vec<Relocated>, Diags> {
    let nothing = || {
        refuse(
            SOURCE,
            format!("Nothing in the state is at {from}, so nothing can be moved."),
        )
    };
    match from {
        Target::Module(from) => {
            let Target::Module(to) = to else {
                return refuse(
                    TARGET,
                    format!("{from} is a module, so it can only become one, and {to} is none."),
                );
            };
            let mut moves = Vec::new();
            for module in state.modules() {
                let Some(inner) = module.0.strip_prefix(&*from.0) else {
                    continue;
                };
                let target = ModuleInstance(to.0.iter().chain(inner).cloned().collect());
                if state.modules().contains(&target) {
                    return refuse(
                        TARGET,
                        format!("There is something in {target} already, so {module} cannot become it."),
                    );
                }
                moves.push(Relocated {
                    from: Target::Module(module),
                    to: Target::Module(target),
                });
            }
            if moves.is_empty() { nothing() } else { Ok(moves) }
        }
        Target::Resource(resource) => {
            let Some(held) = state.resources.get(resource) else {
                return nothing();
            };
            // A resource with one instance without key is that instance.
            if held.instances.contains_key(&InstanceKey::None) {
                return judge_instance(state, &resource.instance(InstanceKey::None), to);
            }
            let Target::Resource(target) = to else {
                return refuse(
                    TARGET,
                    format!(
                        "{from} is a whole resource with all its instances, so it can only become a whole one, and {to} is none."
                    ),
                );
            };
            alike(resource, target)?;
            if state.resources.contains_key(target) {
                return refuse(
                    TARGET,
                    format!("There is a resource {target} in the state already."),
                );
            }
            Ok(vec![Relocated {
                from: from.clone(),
                to: to.clone(),
            }])
        }
        Target::Instance(instance) => judge_instance(state, instance, to),
    }
}

fn judge_instance(state: &State, from: &ResourceInstance, to: &Target) -> Result<Vec<Relocated>, Diags> {
    let to = match to {
        Target::Instance(to) => to.clone(),
        Target::Resource(to) => to.instance(InstanceKey::None),
        Target::Module(_) => {
            return refuse(
                TARGET,
                format!("{from} is an instance of a resource, so it can only become one, and {to} is none."),
            );
        }
    };
    if state.instance(from).is_none() {
        return refuse(SOURCE, format!("The state holds no {from}."));
    }
    alike(&from.resource, &to.resource)?;
    if state.instance(&to).is_some() {
        return refuse(TARGET, format!("There is an instance {to} in the state already."));
    }
    Ok(vec![Relocated {
        from: Target::Instance(from.clone()),
        to: Target::Instance(to),
    }])
}

/// Does an object of the one fit the other?
fn alike(from: &AbsResource, to: &AbsResource) -> Result<(), Diags> {
    let (from_mode, to_mode) = (from.resource.mode, to.resource.mode);
    if from_mode != to_mode {
        let word = if from_mode == Mode::Managed {
            "managed"
        } else {
            from_mode.as_str()
        };
        return refuse(REQUEST, format!("{from} is a {word} resource, and {to} is none."));
    }
    if from.resource.kind != to.resource.kind {
        return refuse(REQUEST, format!("{from} and {to} are of different types."));
    }
    Ok(())
}

fn refuse<T>(summary: &'static str, detail: String) -> Result<T, Diags> {
    Err(Diag::error(summary, detail).into())
}

fn move_module(state: &mut State, from: &ModuleInstance, to: &ModuleInstance) {
    let inside: Vec<AbsResource> = state
        .resources
        .keys()
        .filter(|resource| resource.module == *from)
        .cloned()
        .collect();
    for resource in inside {
        state.move_resource(&resource, resource.resource.within(to.clone()));
    }
}

/// Objects that depended on what moved forget all their dependencies: the next apply records them anew.
fn forget_dependencies(state: &mut State, moved: &Target) {
    let instances = state
        .resources
        .values_mut()
        .flat_map(|resource| resource.instances.values_mut());
    for instance in instances {
        let Some(object) = &instance.current else { continue };
        if object.dependencies.iter().any(|on| moved.meets(on)) {
            let object = Object {
                dependencies: Arc::default(),
                ..(**object).clone()
            };
            instance.current = Some(object.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::fixture::{shown, state, target};

    fn check(before: &[&str], from: &str, to: &str, want: &str) {
        let mut state = state(before);
        let got = match relocate(&mut state, &target(from), &target(to)) {
            Ok(_) => shown(&state),
            Err(diags) => {
                assert_eq!(shown(&state), before.join(" "));
                diags.iter().next().unwrap().summary.to_string()
            }
        };
        assert_eq!(got, want);
    }

    #[test]
    fn instances_resources_and_modules_move() {
        check(&["a.b"], "a.b", "a.c", "a.c");
        check(&["a.b"], "a.b", "a.c[0]", "a.c[0]");
        check(&["a.b"], "a.b", "module.m[\"k\"].a.b", "module.m[\"k\"].a.b");
        check(&["a.b[0]", "a.b[1]"], "a.b", "a.c", "a.c[0] a.c[1]");
        check(&["a.b[0]", "a.b[1]"], "a.b[1]", "a.b[2]", "a.b[0] a.b[2]");
        check(&["a.b[0]"], "a.b[0]", "a.b", "a.b");
        check(
            &["a.b", "module.m.a.b", "module.m.module.n.a.b"],
            "module.m",
            "module.x[0]",
            "a.b module.x[0].a.b module.x[0].module.n.a.b",
        );
    }

    #[test]
    fn what_cannot_move_stays() {
        check(&["a.b"], "a.x", "a.c", SOURCE);
        check(&["a.b"], "a.b[0]", "a.c", SOURCE);
        check(&["a.b"], "module.m", "module.n", SOURCE);
        check(&["a.b", "a.c"], "a.b", "a.c", TARGET);
        check(&["a.b[0]", "a.b[1]"], "a.b", "a.c[0]", TARGET);
        check(&["a.b[0]", "a.b[1]", "a.c[0]"], "a.b", "a.c", TARGET);
        check(&["a.b"], "a.b", "module.m", TARGET);
        check(&["module.m.a.b"], "module.m", "a.b", TARGET);
        check(&["module.m.a.b", "module.n.a.b"], "module.m", "module.n", TARGET);
        check(&["a.b"], "a.b", "c.b", REQUEST);
        check(&["a.b"], "a.b", "data.a.b", REQUEST);
    }

    #[test]
    fn dependents_forget_what_they_depended_on() {
        let mut state = state(&["a.b", "a.c", "a.d"]);
        let depends = |state: &mut State, address: &str, on: &str| {
            let address: ResourceInstance = address.parse().unwrap();
            let provider = state.resources[&address.resource].provider.clone();
            let object = Object {
                dependencies: vec![on.parse().unwrap(), "a.x".parse().unwrap()].into(),
                ..(**state.current(&address).unwrap()).clone()
            };
            state.set(&address, None, &provider, Some(object.into()));
        };
        depends(&mut state, "a.c", "a.b");
        depends(&mut state, "a.d", "a.c");
        relocate(&mut state, &target("a.b"), &target("a.z")).unwrap();
        let count = |address: &str| {
            state
                .current(&address.parse().unwrap())
                .unwrap()
                .dependencies
                .len()
        };
        assert_eq!((count("a.c"), count("a.d")), (0, 2));
    }
}
