//! The digest that names a plan, and that an approval names.
//!
//! It covers what would be done and nothing else: configuration, variables, providers, options, the changes with keyed
//! hashes of their values and of what providers hand on, the objects that they are evaluated from, and the steps in their
//! order. Not in it: source revisions, times, serials, objects that nothing planned depends on. It also covers the workspace's
//! identity and the last plan whose apply began, so an approval is spent once. Two plans with one digest do the same; whoever
//! has no key learns nothing of the values.

use std::collections::HashSet;

use ashlar_addr::{ConfigResource, DeposedKey, Mode as ResourceMode, ResourceInstance, Target};
use ashlar_state::Object;
use ashlar_value::Value;
use hmac::{Hmac, Mac};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::{
    model::{Action, Change, Importing, Invocation, Mode, Plan},
    steps::{Line, Op, Step, StepId},
    wire::fingerprint_bytes,
};

/// Raised only when the same inputs would be evaluated or applied differently.
const SEMANTICS: u32 = 1;

/// What the digest depends on beside the plan.
#[derive(Clone, Copy)]
pub struct Seed<'a> {
    /// Identity of the workspace object.
    pub workspace_uid: &'a str,
    /// The digest of the last plan whose apply began.
    pub last_begun: Option<&'a str>,
    /// The workspace's key for hashes of values.
    pub key: &'a [u8],
}

/// `sha256:` and 64 hex digits.
pub fn digest(plan: &Plan, seed: Seed<'_>) -> String {
    let text = canonical(plan, seed).to_string();
    format!("sha256:{}", hex::encode(Sha256::digest(text.as_bytes())))
}

/// The digest of the configuration's files.
pub fn config_digest<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Sha256::new();
    for (name, text) in files {
        for part in [name, text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
    }
    format!("sha256:{}", hex::encode(hash.finalize()))
}

/// A keyed hash of a value: type, content and marks.
pub fn keyed_hash(key: &[u8], value: &Value) -> String {
    keyed_bytes(key, &fingerprint_bytes(value))
}

/// A keyed hash of bytes, 64 hex digits.
pub fn keyed_bytes(key: &[u8], bytes: &[u8]) -> String {
    match <Hmac<Sha256> as Mac>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(bytes);
            hex::encode(mac.finalize().into_bytes())
        }
        // HMAC takes keys of any length; this arm exists for the type alone and never lets two values look alike.
        Err(_) => hex::encode(Sha256::digest([key, bytes].concat())),
    }
}

/// Object keys are sorted by `serde_json::Map`, which is a B-tree here, so the text is canonical.
fn canonical(plan: &Plan, seed: Seed<'_>) -> Json {
    let hash = |value: &Value| keyed_hash(seed.key, value);
    let changes = |changes: &[Change]| -> Vec<Json> {
        changes
            .iter()
            .filter(|change| change.is_effective())
            .map(|change| change_json(change, seed.key))
            .collect()
    };
    let outputs: Vec<Json> = plan
        .outputs
        .iter()
        .filter(|(_, output)| output.action != Action::NoOp)
        .map(|(name, output)| {
            json!({
                "name": &**name,
                "action": output.action.words(),
                "before": hash(&output.before),
                "after": hash(&output.after),
                "sensitive": [output.sensitive.0, output.sensitive.1],
            })
        })
        .collect();
    let variables: Vec<Json> = plan
        .variables
        .iter()
        .map(|(name, value)| json!([&**name, hash(value)]))
        // Of those that are given again only the names are settled.
        .chain(plan.given_again.iter().map(|name| json!([&**name])))
        .collect();
    let modules: Vec<Json> = plan
        .modules
        .iter()
        .map(|(path, folder)| json!([path.to_string(), &**folder]))
        .collect();
    let packages: Vec<Json> = plan
        .packages
        .iter()
        .map(|(path, pin)| {
            json!([
                path.to_string(),
                pin.source,
                pin.version,
                pin.revision,
                pin.digest
            ])
        })
        .collect();
    let providers: Vec<Json> = plan
        .providers
        .iter()
        .map(|pin| json!([pin.provider.to_string(), pin.version, pin.digest]))
        .collect();
    let invocations: Vec<Json> = plan
        .invocations
        .iter()
        .map(|invocation| invocation_json(invocation, seed.key))
        .collect();
    // A refresh-only run takes over what objects are now; otherwise the changes tell all.
    let drift = if plan.options.mode == Mode::RefreshOnly {
        let managed = plan
            .prior_state
            .objects()
            .filter(|(address, ..)| address.resource.resource.mode == ResourceMode::Managed);
        let kept = managed.map(|(address, deposed, object)| {
            let identity = object.identity.as_ref().map(|identity| &identity.json);
            json!([
                object_json(&address, deposed, object, seed.key),
                keyed_bytes(seed.key, &object.private),
                identity.map(|identity| keyed_bytes(seed.key, identity)),
                object.create_before_destroy,
            ])
        });
        changes(&plan.drift).into_iter().chain(kept).collect()
    } else {
        Vec::new()
    };
    // The order depends on what state holds of dependencies, which the changes do not tell.
    let steps: Vec<String> = plan
        .steps
        .iter()
        .zip(0..)
        .map(|(step, id)| {
            let line = Line {
                id: StepId(id),
                step,
                changes: &plan.changes,
                invocations: &plan.invocations,
            };
            line.to_string()
        })
        .collect();
    json!({
        "semantics": SEMANTICS,
        "workspace": seed.workspace_uid,
        "lastBegun": seed.last_begun,
        "config": config_digest(plan.config.iter().map(|(name, text)| (&**name, &**text))),
        "modules": modules,
        "packages": packages,
        "lookedAt": looked_at(plan, seed.key),
        "functions": hex::encode(Sha256::digest(plan.functions.to_bytes())),
        "variables": variables,
        "providers": providers,
        "options": {
            "mode": match plan.options.mode {
                Mode::Normal => "normal",
                Mode::Destroy => "destroy",
                Mode::RefreshOnly => "refresh-only",
            },
            "refresh": plan.options.refresh,
            "replace": plan.options.replace.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "workspace": plan.options.workspace,
            "dialect": plan.options.dialect.name(),
            "invoke": plan.options.invoke.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "targets": addresses(&plan.options.selection.targets),
            "excludes": addresses(&plan.options.selection.excludes),
        },
        "changes": changes(&plan.changes),
        "steps": steps,
        "drift": drift,
        "outputs": outputs,
        "invocations": invocations,
    })
}

fn addresses(named: &[Target]) -> Vec<String> {
    named.iter().map(ToString::to_string).collect()
}

/// What apply evaluates anew, of which the changes do not tell all: the objects, read or kept, that stand behind the
/// configuration of providers, what is made, read, opened or invoked, and outputs. That includes what only the order of such
/// steps shows; an object that nothing planned depends on is left out.
fn looked_at(plan: &Plan, key: &[u8]) -> Vec<Json> {
    let acts = |op: &Op| match op {
        Op::Configure(_)
        | Op::Write(_)
        | Op::Read(_)
        | Op::Delete(_)
        | Op::Invoke(_)
        | Op::Action(_)
        | Op::Open(_) => true,
        Op::Output(module, name) => {
            let change = plan.outputs.get(name).filter(|_| module.is_root());
            change.is_some_and(|change| change.action != Action::NoOp)
        }
        _ => false,
    };
    // These are waited for, and tell nothing.
    let is_silent = |op: &Op| {
        matches!(
            op,
            Op::Delete(_) | Op::Drop(_) | Op::Forget(_) | Op::Join(_) | Op::Close(_) | Op::Release(_)
        )
    };
    let numbered = (0..).map(StepId).zip(&plan.steps);
    let mut open: Vec<(StepId, &Step)> = numbered.filter(|(_, step)| acts(&step.op)).collect();
    let mut seen: HashSet<StepId> = open.iter().map(|(id, _)| *id).collect();
    let mut resources: HashSet<ConfigResource> = HashSet::new();
    while let Some((_, step)) = open.pop() {
        if let Op::Settle(resource) = &step.op {
            resources.insert(resource.clone());
        }
        for id in &step.after {
            let needed = plan.steps.get(id.0 as usize).filter(|step| !is_silent(&step.op));
            // What waits for an instance alone refers to it by its key, perhaps in several instances of the module.
            if let Some(Op::Write(at) | Op::Read(at) | Op::Assert(at)) = needed.map(|step| &step.op) {
                let change = plan.changes.get(*at);
                resources.extend(change.map(|change| change.address.resource.config()));
            }
            if let Some(needed) = needed.filter(|_| seen.insert(*id)) {
                open.push((*id, needed));
            }
        }
    }
    let objects = plan.prior_state.objects();
    let looked_at = objects.filter(|(address, ..)| resources.contains(&address.resource.config()));
    looked_at
        .map(|(address, deposed, object)| object_json(&address, deposed, object, key))
        .collect()
}

/// An object of the state.
fn object_json(address: &ResourceInstance, deposed: Option<DeposedKey>, object: &Object, key: &[u8]) -> Json {
    let deposed = deposed.map(|key| key.to_string());
    // However it is laid out, which depends on who wrote the state.
    let attributes = match serde_json::from_slice::<Json>(&object.attributes) {
        Ok(read) => keyed_bytes(key, read.to_string().as_bytes()),
        Err(_) => keyed_bytes(key, &object.attributes),
    };
    json!([address.to_string(), deposed, attributes])
}

fn invocation_json(invocation: &Invocation, key: &[u8]) -> Json {
    let trigger = invocation.trigger.as_ref().map(|trigger| {
        json!([
            trigger.resource.to_string(),
            trigger.block,
            trigger.at,
            trigger.event.word()
        ])
    });
    json!({
        "action": invocation.action.to_string(),
        "trigger": trigger,
        "provider": invocation.provider.to_string(),
        "config": keyed_hash(key, &invocation.config),
    })
}

fn change_json(change: &Change, key: &[u8]) -> Json {
    let hash = |value: &Value| keyed_hash(key, value);
    let dependencies: Vec<String> = change.dependencies.iter().map(ToString::to_string).collect();
    json!({
        "address": change.address.to_string(),
        "deposed": change.deposed.map(|key| key.to_string()),
        "previous": change.previous_address.as_ref().map(ToString::to_string),
        "importing": change.importing.as_ref().map(|importing| match importing {
            Importing::Id(of) | Importing::Identity(of) => hash(of),
        }),
        "provider": change.provider.to_string(),
        "action": change.action.words(),
        "reason": change.reason.map(crate::model::Reason::as_str),
        "before": hash(&change.before),
        "after": hash(&change.after),
        "beforeIdentity": change.before_identity.as_ref().map(&hash),
        "afterIdentity": change.after_identity.as_ref().map(&hash),
        "private": keyed_bytes(key, &change.private),
        "dependencies": dependencies,
        "createBeforeDestroy": change.create_before_destroy,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ashlar_config::TriggerEvent;
    use ashlar_value::{Marks, Value};

    use super::{Seed, digest};
    use crate::{
        Action, Invocation, Op, Plan, Step, StepId, Trigger,
        text::sample::{change, plan},
    };

    fn of(plan: &Plan) -> String {
        let seed = Seed {
            workspace_uid: "u",
            last_begun: None,
            key: b"k",
        };
        digest(plan, seed)
    }

    fn sample() -> Plan {
        plan(vec![
            change("kiln_pot.a", Action::Create, "", r#"{"name": "a"}"#),
            change("kiln_pot.b", Action::Delete, r#"{"name": "b"}"#, ""),
        ])
    }

    #[test]
    fn whatever_changes_what_apply_does_changes_the_digest() {
        let edits: [fn(&mut Plan); 13] = [
            |plan| plan.options.selection.targets.push("kiln_pot.a".parse().unwrap()),
            |plan| {
                plan.options
                    .selection
                    .excludes
                    .push("kiln_pot.a".parse().unwrap())
            },
            |plan| plan.options.dialect = ashlar_value::Dialect::OpenTofu,
            |plan| plan.changes[0].private = Arc::from(*b"p"),
            |plan| plan.changes[0].dependencies = [plan.changes[1].address.resource.config()].into(),
            |plan| plan.changes[0].create_before_destroy = true,
            |plan| plan.steps.push(step(&[])),
            |plan| plan.steps.extend([step(&[]), step(&[0])]),
            |plan| plan.options.invoke.push("action.kiln_fire.f".parse().unwrap()),
            |plan| plan.invocations.push(invocation()),
            |plan| plan.invocations.extend([invocation(), invocation()]),
            |plan| {
                let config = Value::bool(true);
                plan.invocations.push(Invocation {
                    config,
                    ..invocation()
                });
            },
            |plan| {
                let trigger = None;
                plan.invocations.push(Invocation {
                    trigger,
                    ..invocation()
                });
            },
        ];
        let mut seen = vec![of(&sample())];
        for edit in edits {
            let mut plan = sample();
            edit(&mut plan);
            seen.push(of(&plan));
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len());
    }

    fn invocation() -> Invocation {
        Invocation {
            action: "action.kiln_fire.f".parse().unwrap(),
            trigger: Some(Trigger {
                resource: "kiln_pot.a".parse().unwrap(),
                block: 0,
                at: 1,
                event: TriggerEvent::AfterCreate,
            }),
            provider: "provider[\"h.example/n/t\"]".parse().unwrap(),
            config: Value::bool(false).with_marks(Marks::SENSITIVE),
        }
    }

    #[test]
    fn a_stored_plan_keeps_what_is_to_be_invoked() {
        let mut plan = sample();
        plan.options
            .invoke
            .push("module.m.action.a.b[0]".parse().unwrap());
        plan.invocations.push(invocation());
        plan.steps.push(Step {
            op: Op::Action(plan.invocations[0].action.config()),
            after: Vec::new(),
        });
        plan.steps.push(Step {
            op: Op::Invoke(0),
            after: vec![StepId(0)],
        });
        let bytes = crate::wire::encode(&plan, "1.15.5").unwrap();
        let kept = crate::wire::decode(&bytes).unwrap();
        assert_eq!(kept.options, plan.options);
        assert_eq!(kept.invocations, plan.invocations);
        assert_eq!(kept.steps, plan.steps);
    }

    #[test]
    fn what_planned_things_are_evaluated_from_is_in_it_and_nothing_else() {
        let told = |name: &str, content: &str| {
            let state = format!(
                r#"{{"version":4,"terraform_version":"1.15.5","serial":1,"lineage":"l","outputs":{{}},"resources":[
                {{"mode":"data","type":"kiln_glaze","name":"{name}","provider":"provider[\"h.example/n/kiln\"]",
                "instances":[{{"schema_version":0,"attributes":{{ "id": "{content}" }},"sensitive_attributes":[]}}]}}]}}"#
            );
            let mut plan = sample();
            plan.prior_state = ashlar_state::read(state.as_bytes()).unwrap();
            let settle = |name: &str| Op::Settle(format!("data.kiln_glaze.{name}").parse().unwrap());
            let op = |op, after: &[u32]| Step {
                op,
                after: after.iter().copied().map(StepId).collect(),
            };
            let local = Op::Local(ashlar_addr::Module::default(), "l".into());
            // A provider's configuration comes from one; the other only goes before something.
            plan.steps = vec![
                op(settle("near"), &[]),
                op(local, &[0]),
                op(
                    Op::Configure("provider[\"h.example/n/kiln\"]".parse().unwrap()),
                    &[1],
                ),
                op(settle("far"), &[]),
                op(Op::Join(0), &[3]),
                op(Op::Delete(1), &[2, 4]),
            ];
            let stored = crate::wire::encode(&plan, "1.15.5").unwrap();
            assert_eq!(of(&crate::wire::decode(&stored).unwrap()), of(&plan));
            of(&plan)
        };
        assert_ne!(told("near", "1"), told("near", "2"));
        assert_eq!(told("far", "1"), told("far", "2"));
        assert_eq!(told("far", "1"), told("elsewhere", "1"));
    }

    fn step(after: &[u32]) -> Step {
        Step {
            op: Op::Write(0),
            after: after.iter().copied().map(StepId).collect(),
        }
    }

    #[test]
    fn what_chance_chose_is_not_in_it() {
        let mut other = sample();
        other.changes[0].depose_as = Some(ashlar_addr::DeposedKey(7));
        assert_eq!(of(&other), of(&sample()));
    }
}
