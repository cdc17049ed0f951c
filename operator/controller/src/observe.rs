//! First stage of a pass: reads all that a decision depends on, and changes nothing.

mod status;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use ashlar_api::{
    ApprovalPolicy, FINALIZER, FLUX_REQUESTED_AT, REQUESTED_AT, SETTLED, STATE_LOST, Workspace,
    WorkspaceSpec, WorkspaceStatus, parse_duration,
};
use ashlar_store::{
    Recovered,
    kube::{Slot, peek},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Api, Resource, ResourceExt};
use sha2::{Digest, Sha256};

pub(crate) use self::status::{address_of, state_seen, state_status, uncertain};
use self::status::{failure_seen, note_settled, note_spent, plan_seen, show_state};
use crate::{
    absorb::{Times, absorb},
    context::Context,
    decide::{Gate, InputFault, Seen, Stage, StateSeen},
    ended::{Answers, Ended, Outcome},
    index::Object,
    inputs::{GatherError, Inputs, gather, references},
    message::{Secrets, errors},
    outputs::reason,
    registry::{Sight, Tracked},
    source::Order,
};

/// Who a workspace is, and where its things are kept.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) owner: OwnerReference,
    pub(crate) slot: Slot,
}

/// All that a pass saw.
pub(crate) struct Observed {
    pub(crate) workspace: Workspace,
    pub(crate) place: Option<Place>,
    /// The status with the result of a run that ended taken over.
    pub(crate) status: WorkspaceStatus,
    pub(crate) seen: Seen,
    pub(crate) inputs: Option<Inputs>,
    /// How to fetch the source, if it is one that is fetched.
    pub(crate) order: Option<Order>,
    pub(crate) going: Option<Arc<Tracked>>,
    pub(crate) ended: Option<Arc<Ended>>,
    /// The annotations that a run started now answers.
    pub(crate) answers: Answers,
}

impl Observed {
    /// The object's uid.
    pub(crate) fn uid(&self) -> String {
        self.workspace.uid().unwrap_or_default()
    }
}

/// Looks at one workspace.
pub(crate) async fn observe(context: &Context, workspace: Workspace) -> Observed {
    let sight = context.registry.look(&workspace.uid().unwrap_or_default());
    look(context, workspace, sight).await
}

/// Looks at a workspace from within its run, which holds the lock: as if there were neither.
pub(crate) async fn observe_afresh(context: &Context, workspace: Workspace) -> Observed {
    let mut observed = look(context, workspace, Sight::None).await;
    observed.seen.lock = None;
    observed
}

async fn look(context: &Context, workspace: Workspace, sight: Sight) -> Observed {
    let namespace = workspace.namespace().unwrap_or_default();
    let name = workspace.name_any();
    let uid = workspace.uid().unwrap_or_default();
    let now = Timestamp::now();
    let spec = &workspace.spec;
    let annotation = |key: &str| workspace.annotations().get(key).cloned();
    let mut status = workspace.status.clone().unwrap_or_default();
    let (going, ended) = match sight {
        Sight::None => (None, None),
        Sight::Going(tracked) => (Some(tracked), None),
        Sight::Ended(ended) => (None, Some(ended)),
    };
    if let Some(ended) = &ended {
        absorb(
            &mut status,
            ended,
            spec.mode,
            &spec.plan.invoke,
            times(&workspace),
            now,
        );
        note_lock(context, &uid, ended, now);
        if ended.run.stage == Stage::Fetch {
            context.polls.done(&uid, now);
        }
    }
    context.index.set(&namespace, &name, looked_at(&namespace, spec));
    let slot = Slot::new(
        &namespace,
        &spec.terraform_workspace,
        &suffix(&workspace),
        Default::default(),
    );
    let place = slot.as_ref().ok().map(|slot| Place {
        namespace: namespace.clone(),
        name: name.clone(),
        uid: uid.clone(),
        owner: workspace.owner_ref(&()).unwrap_or_default(),
        slot: slot.clone(),
    });
    let finalizer = workspace
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == FINALIZER);
    let deleting = workspace.meta().deletion_timestamp.is_some();
    // While a run holds the lock, what is stored says little.
    let look = going.is_none() && (finalizer || !deleting);
    let mut inputs = None;
    let (mut source, mut order) = (None, None);
    let mut state = StateSeen::default();
    let mut obstacle = None;
    let mut looked = false;
    let input_result = match (&place, look) {
        (None, _) => {
            let why = slot
                .err()
                .map(|diags| errors(&diags, &Default::default(), &Secrets::default()));
            Err(InputFault::Invalid(why.unwrap_or_default()))
        }
        (Some(_), false) => Ok(String::new()),
        (Some(place), true) => {
            let turn = context.looks.acquire().await;
            let peeked = peek(&context.client, &place.slot).await;
            drop(turn);
            match peeked {
                Ok(recovered) => {
                    looked = true;
                    obstacle = other_owner(context, place, &recovered)
                        .await
                        .or_else(|| lost(&status, &recovered, annotation(STATE_LOST)));
                    state = StateSeen {
                        foreign: is_foreign(&recovered, &uid),
                        ..state_seen(&recovered)
                    };
                    note_spent(&mut status, recovered.begun.as_ref());
                    // What is known of a state that is gone is kept until a person lets it go.
                    if obstacle.is_none() {
                        show_state(&mut status, &place.slot, &recovered);
                    }
                }
                Err(diags) => obstacle = Some(errors(&diags, &Default::default(), &Secrets::default())),
            }
            let keys = context.key.workspace(&uid);
            match gather(context, &namespace, &workspace, &status, &keys, now).await {
                Ok(found) => {
                    (source, order) = (found.source, found.order);
                    found.inputs.map(|found| {
                        let digest = found.digest.clone();
                        inputs = Some(found);
                        digest
                    })
                }
                Err(GatherError::Fault(fault)) => Err(fault),
                Err(GatherError::Api { what, source }) => {
                    obstacle.get_or_insert(format!("{what} cannot be read: {}.", reason(&source)));
                    Ok(String::new())
                }
            }
        }
    };
    let requested_at = annotation(REQUESTED_AT).or_else(|| annotation(FLUX_REQUESTED_AT));
    // What a person could have read when the annotation was set.
    let told: Vec<String> = workspace
        .status
        .iter()
        .filter_map(|status| status.run.as_ref())
        .flat_map(|run| run.uncertain.iter().map(|change| change.address.clone()))
        .collect();
    let settled = note_settled(&mut status, annotation(SETTLED), &told, looked);
    let seen = Seen {
        now,
        deleting,
        finalizer,
        deletion: spec.deletion_policy,
        suspended: spec.suspend,
        mode: spec.mode,
        gate: match spec.approval.policy {
            ApprovalPolicy::Manual => Gate::Manual(spec.approval.approved_plan.clone()),
            ApprovalPolicy::Auto => Gate::Auto,
        },
        run: going.as_ref().map(|going| going.run),
        draining: context.draining.load(Ordering::SeqCst),
        inputs: input_result,
        source,
        state,
        obstacle,
        plan: plan_seen(&status),
        last_applied: status.last_applied_plan.clone(),
        failure: failure_seen(&status),
        due: status.next_run_at.as_ref().map(|time| time.0),
        requested: requested_at.is_some() && requested_at != status.last_handled_reconcile_at,
        lock: context.lock_of(&uid).map(|(lock, _)| lock),
        spent: status.spent_plans.clone(),
        settled: settled
            .as_ref()
            .map(|list| list.split(',').map(|address| address.trim().to_owned()).collect())
            .unwrap_or_default(),
    };
    Observed {
        workspace,
        place,
        status,
        seen,
        inputs,
        order,
        going,
        ended,
        answers: Answers {
            requested_at,
            settled,
        },
    }
}

/// The objects whose change may matter.
fn looked_at(namespace: &str, spec: &WorkspaceSpec) -> BTreeSet<Object> {
    let source = spec.source.source_ref.as_ref().map(|source| Object {
        kind: source.kind.as_str(),
        namespace: source.namespace.clone().unwrap_or_else(|| namespace.to_owned()),
        name: source.name.clone(),
    });
    let own = references(spec);
    let own = own.iter().map(|reference| reference.object(namespace));
    own.chain(source).collect()
}

/// A state that is gone: nobody wants all its objects made a second time, least of all without being asked.
fn lost(status: &WorkspaceStatus, recovered: &Recovered, accepted: Option<String>) -> Option<String> {
    let known = status.state.as_ref().filter(|state| state.resource_count > 0)?;
    let gone = recovered.state.lineage.is_empty() && accepted.as_ref() != Some(&known.lineage);
    gone.then(|| {
        format!(
            "The state in Secret {} is gone; it held {} objects. Restore the Secret. If the objects are gone too, set the \
             annotation {STATE_LOST} to {} to begin anew.",
            known.secret, known.resource_count, known.lineage
        )
    })
}

/// A state that another workspace, or a command line, applied to, and this workspace never planned on.
fn is_foreign(recovered: &Recovered, uid: &str) -> bool {
    match &recovered.owner {
        Some(owner) => owner.uid != uid,
        None => !recovered.state.lineage.is_empty(),
    }
}

/// Another workspace of this namespace, if one of that name exists still, whose state this is: two that apply to one state
/// would destroy each other's objects.
async fn other_owner(context: &Context, place: &Place, recovered: &Recovered) -> Option<String> {
    let owner = recovered
        .owner
        .as_ref()
        .filter(|owner| owner.name != place.name)?;
    let api: Api<Workspace> = Api::namespaced(context.client.clone(), &place.namespace);
    match api.get_metadata_opt(&owner.name).await {
        Ok(None) => None,
        Ok(Some(_)) => Some(format!(
            "The state in Secret {} is that of Workspace {}. Delete this Workspace, which leaves the state alone, and make it \
             anew with another state.secretSuffix.",
            place.slot.secret(),
            owner.name
        )),
        Err(error) => Some(format!(
            "Workspace {} cannot be read: {}.",
            owner.name,
            reason(&error)
        )),
    }
}

/// The workspace's own times.
pub(crate) fn times(workspace: &Workspace) -> Times {
    let seconds = std::time::Duration::from_secs;
    let hash = Sha256::digest(workspace.uid().unwrap_or_default());
    Times {
        // The limits are those of the schema, which an older definition may lack.
        interval: limited(&workspace.spec.interval, seconds(600)).max(seconds(30)),
        retry: limited(&workspace.spec.retry_interval, seconds(60)).max(seconds(1)),
        timeout: limited(&workspace.spec.timeout, seconds(3600)).max(seconds(10)),
        jitter: f64::from(hash[0]) / 255.0,
    }
}

pub(crate) fn limited(text: &str, default: std::time::Duration) -> std::time::Duration {
    const YEAR: std::time::Duration = std::time::Duration::from_secs(8760 * 3600);
    parse_duration(text).unwrap_or(default).min(YEAR)
}

/// The suffix of the state's name. One that Terraform could not find again, since it ends in a number or is too long, is
/// made to fit by a hash of the name.
fn suffix(workspace: &Workspace) -> String {
    if let Some(given) = workspace
        .spec
        .state
        .as_ref()
        .and_then(|state| state.secret_suffix.clone())
    {
        return given;
    }
    let name = workspace.name_any();
    let last = name.rsplit('-').next().unwrap_or_default();
    if name.len() <= 63 && !last.bytes().all(|byte| byte.is_ascii_digit()) {
        return name;
    }
    let hash = hex::encode(&Sha256::digest(&name)[..4]);
    let head: String = name.chars().take(50).collect();
    format!("{}-h{hash}", head.trim_end_matches(['-', '.']))
}

fn note_lock(context: &Context, uid: &str, ended: &Ended, now: Timestamp) {
    let lock = match &ended.outcome {
        Outcome::Busy {
            told,
            holder,
            replica,
            id,
            operation,
            since,
        } => {
            let until = now.checked_add(jiff::SignedDuration::from_secs(5)).unwrap_or(now);
            let seen = crate::decide::LockSeen {
                told: told.clone(),
                replica: *replica,
                until,
            };
            let status = ashlar_api::LockStatus {
                id: id.clone(),
                holder: holder.clone(),
                operation: operation.clone(),
                acquired_at: since.clone(),
            };
            Some((seen, status))
        }
        _ => None,
    };
    context.note_lock(uid, lock);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_name_can_be_found_again() {
        let named = |name: &str| suffix(&Workspace::new(name, Default::default()));
        assert_eq!(named("orders"), "orders");
        assert_eq!(named("orders-1x"), "orders-1x");
        let long = "a".repeat(200);
        for name in ["orders-1", "7", &long] {
            let suffix = named(name);
            assert!(
                Slot::new("ns", "default", &suffix, Default::default()).is_ok(),
                "{suffix}"
            );
            assert_eq!(suffix, named(name));
        }
        assert_ne!(named("orders-1"), named("orders-2"));
    }
}
