//! A plan as the workspace's status shows it: the counts, and the first of its changes without their values. Pure but for the time
//! of its making.

use ashlar_api::{Basis, ChangeStatus, PlanKind, PlanStatus, PlanSummary, Standing};
use ashlar_plan::{Action, Plan, Schemas, Summary, show::redacted_changes};
use jiff::Timestamp;

use crate::conditions::seconds;

/// How many changes the status shows, and how much of each.
const SHOWN: usize = 50;
const PATHS_SHOWN: usize = 8;
const LONGEST_NAME: usize = 250;

/// What the status says of a plan, which has no place for all of a large one.
pub(super) fn plan_status(
    plan: &Plan,
    schemas: &Schemas,
    kind: PlanKind,
    digest: String,
    basis: Basis,
    invoke: &[String],
    warnings: Vec<String>,
) -> PlanStatus {
    let changes = redacted_changes(plan, schemas);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let summary = plan.summary();
    PlanStatus {
        digest,
        kind,
        standing: if plan.wants_apply() {
            Standing::Pending
        } else {
            Standing::Empty
        },
        created_at: seconds(Timestamp::now()),
        summary: PlanSummary {
            creates: count(summary.creates),
            updates: count(summary.updates),
            deletes: count(summary.deletes),
            replaces: count(summary.replaces),
            moves: count(summary.moves),
            imports: count(summary.imports),
            forgets: count(summary.forgets),
            actions: count(summary.actions),
            outputs: count(summary.outputs),
            drift: count(summary.drift),
            text: short(&summary, kind),
        },
        truncated: changes.len() > SHOWN,
        changes: changes
            .into_iter()
            .take(SHOWN)
            .map(|change| ChangeStatus {
                address: clip(change.address),
                action: action(change.action, change.moved_from.is_some(), change.imports).to_owned(),
                reason: change.reason.map(|reason| reason.as_str().to_owned()),
                moved_from: change.moved_from.map(clip),
                imports: change.imports,
                paths: change.paths.into_iter().take(PATHS_SHOWN).map(clip).collect(),
            })
            .collect(),
        warnings,
        basis,
        partial: !plan.options.selection.is_whole(),
        // As they are written there: by that it is told later whether they were invoked.
        invokes: if plan.options.invoke.is_empty() {
            Vec::new()
        } else {
            invoke.to_vec()
        },
    }
}

/// The counts in short.
fn short(summary: &Summary, kind: PlanKind) -> String {
    if kind == PlanKind::Refresh {
        return format!("{} drifted, {} outputs", summary.drift, summary.outputs);
    }
    let creates = summary.creates + summary.replaces;
    let deletes = summary.deletes + summary.replaces;
    let more = [
        (summary.imports, "imported"),
        (summary.forgets, "forgotten"),
        (summary.actions, "invoked"),
    ];
    let more = more
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"));
    format!(
        "+{creates} ~{} -{deletes}{}",
        summary.updates,
        more.collect::<String>()
    )
}

fn action(action: Action, moved: bool, imports: bool) -> &'static str {
    match action {
        Action::NoOp if imports => "import",
        Action::NoOp if moved => "move",
        Action::NoOp => "none",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate => "replace",
        Action::Delete => "delete",
        Action::Forget => "forget",
    }
}

fn clip(name: String) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name,
    }
}
