//! The plan as people read it: a coloured difference per object, then the counts, then the outputs.
//!
//! Stands at the end of planning; the CLI prints it and the Plan object shows it. Sensitive values never appear, and what
//! providers say cannot steer the terminal. It decides nothing: the plan has all the facts.
//! Layout as Terraform's `internal/command/jsonformat`; the prose is our own.

mod action;
mod align;
mod block;
mod changed;
mod compare;
mod diff;
mod draw;
mod heading;
mod ink;
mod layout;
mod place;
mod scalar;
mod side;
mod stored;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

pub use self::stored::{stored_object, stored_state};
pub use ashlar_diag::Style;
use ashlar_eval::{quote, show};
use ashlar_state::State;
use ashlar_syntax::is_identifier;
use ashlar_value::{Marks, Value, schema::Schema};

use self::{
    diff::Diff,
    draw::{draw, draw_with_unchanged},
    heading::{Tense, block_head, heading},
    ink::{Ink, Sign},
    place::Place,
};
use crate::{
    Action, Change, Mode, OutputChange, Plan, Schemas,
    objchange::mark_sensitive,
    show::{Counts, is_of_interest, schema_of},
};

/// The legend, in the order in which Terraform has it.
const LEGEND: [(Action, &str); 8] = [
    (Action::Create, "create"),
    (Action::Update, "update in-place"),
    (Action::Delete, "destroy"),
    (Action::DeleteThenCreate, "destroy and then create replacement"),
    (Action::CreateThenDelete, "create replacement and then destroy"),
    (Action::Read, "read (data resources)"),
    (Action::Forget, "forget"),
    (Action::ForgetThenCreate, "forget and then create replacement"),
];

/// The whole plan; begins and ends with a line feed. `schemas` must be those the plan was made with; of an object whose
/// schema is missing only the heading is shown, since it cannot be told what is sensitive.
pub fn render(plan: &Plan, schemas: &Schemas, style: Style) -> String {
    let ink = Ink(style);
    let mut out = String::new();
    let changes: Vec<&Change> = plan
        .changes
        .iter()
        .filter(|change| is_of_interest(change))
        .collect();
    let outputs = output_changes(&plan.outputs, ink);
    let is_empty = changes.is_empty() && outputs.is_empty() && plan.invocations.is_empty();
    let drift_shown = drift(plan, schemas, is_empty, ink, &mut out);
    if is_empty {
        nothing_to_do(plan, drift_shown, ink, &mut out);
        return out;
    }
    let acting: Vec<Action> = changes
        .iter()
        .map(|change| change.action)
        .filter(|action| *action != Action::NoOp)
        .collect();
    if !acting.is_empty() {
        out.push_str("\nResource actions of this plan are indicated with these symbols:\n");
        for (action, words) in LEGEND.iter().filter(|(action, _)| acting.contains(action)) {
            let _ = writeln!(out, "{} {words}", ink.action(*action));
        }
    }
    if !changes.is_empty() || !plan.invocations.is_empty() {
        out.push_str(if plan.errored {
            "\nAshlar planned the following actions, but then encountered a problem:\n"
        } else {
            "\nAshlar will perform the following actions:\n"
        });
        for change in changes {
            out.push('\n');
            object(change, Tense::Planned, schemas, ink, &mut out);
            action::of_change(plan, change, schemas, ink, &mut out);
        }
        out.push_str(&action::asked(plan, schemas, ink));
        let _ = writeln!(out, "\n{} {}", ink.bold("Plan:"), Counts::of(plan));
    }
    if !outputs.is_empty() {
        let _ = write!(out, "\nChanges to Outputs:\n{outputs}");
        if acting.is_empty() && !plan.errored {
            out.push_str(
                "\nApplying this plan saves the new output values in the state; it changes no real object.\n",
            );
        }
    }
    out
}

/// Final outputs as `name = value`, under a heading; sensitive ones are hidden. Empty if there are none.
pub fn outputs(state: &State, style: Style) -> String {
    if state.outputs.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n\n", Ink(style).bold("Outputs:"));
    for (name, output) in &state.outputs {
        let value = if output.sensitive {
            "<sensitive>".to_owned()
        } else {
            show(&output.value)
        };
        let _ = writeln!(out, "{name} = {value}");
    }
    out
}

/// One object with its heading.
fn object(change: &Change, tense: Tense, schemas: &Schemas, ink: Ink, out: &mut String) {
    out.push_str(&heading(change, tense, ink));
    let _ = write!(out, "{} {} ", ink.action(change.action), block_head(change));
    let Some(schema) = schema_of(change, schemas) else {
        out.push_str("{\n    # (the provider's schema is not at hand, so the content is not shown)\n    }\n");
        return;
    };
    let diff = difference(change, schema);
    // Of what is taken in all is shown: it is seen here for the first time.
    let drawn = if change.importing.is_some() {
        draw_with_unchanged(&diff, ink)
    } else {
        draw(&diff, 0, ink)
    };
    out.push_str(&drawn);
    out.push('\n');
}

fn difference(change: &Change, schema: &Schema) -> Diff {
    let before = mark_sensitive(&schema.block, change.before.clone());
    // What is forgotten stays as it is.
    let stays = change.action == Action::Forget;
    let after = if stays { &change.before } else { &change.after };
    let after = mark_sensitive(&schema.block, after.clone());
    let forcing = change
        .replace_paths
        .iter()
        .map(|path| path.0.as_slice())
        .collect();
    Place::object(&schema.block, forcing).block(&schema.block, Some(&before), Some(&after))
}

/// The names of attributes that change, joined by dots from the outermost one; no values, indexes or keys.
pub(crate) fn changed_attributes(change: &Change, schema: &Schema) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    changed::collect(&difference(change, schema), "", &mut found);
    found
}

/// What changed outside. Told only where it may explain the plan, or is the plan.
fn drift(plan: &Plan, schemas: &Schemas, plan_is_empty: bool, ink: Ink, out: &mut String) -> bool {
    let refresh_only = plan.options.mode == Mode::RefreshOnly;
    let drift: Vec<&Change> = plan
        .drift
        .iter()
        .filter(|change| change.action != Action::NoOp || (refresh_only && change.previous_address.is_some()))
        .collect();
    if drift.is_empty() || (plan_is_empty && !refresh_only) {
        return false;
    }
    let _ = writeln!(
        out,
        "\n{} {}",
        ink.bold_cyan("Note:"),
        ink.bold("Objects have changed outside of Ashlar")
    );
    out.push_str("\nSince the last apply these objects were changed by something else, which may have affected this plan:\n");
    for change in drift {
        out.push('\n');
        object(change, Tense::Found, schemas, ink, out);
    }
    out.push_str(if refresh_only {
        "\nThis is a refresh-only plan: it undoes none of this. If these changes are as expected, apply it to record them in the \
         state.\n"
    } else {
        "\nUnless the configuration asks for the same, or ignores these attributes with ignore_changes, the plan below may undo \
         these changes or respond to them.\n"
    });
    if !plan_is_empty {
        let _ = writeln!(out, "\n{}", "─".repeat(77));
    }
    true
}

fn nothing_to_do(plan: &Plan, drift_shown: bool, ink: Ink, out: &mut String) {
    let refresh_only = plan.options.mode == Mode::RefreshOnly;
    if plan.errored {
        let _ = writeln!(
            out,
            "\n{} {}",
            ink.bold_red("Planning failed."),
            ink.bold("Ashlar encountered an error while generating this plan.")
        );
        return;
    }
    if refresh_only && drift_shown {
        return;
    }
    let (what, more) = match plan.options.mode {
        Mode::Normal => (
            "Your infrastructure matches the configuration.",
            "The real objects were compared with the configuration, and nothing needs to change.",
        ),
        Mode::RefreshOnly => (
            "Your infrastructure still matches the configuration.",
            "The real objects are as the last apply left them.",
        ),
        Mode::Destroy => (
            "No objects need to be destroyed.",
            "Either none was created yet, or all are gone already.",
        ),
    };
    let _ = writeln!(
        out,
        "\n{} {}\n\n{more}",
        ink.bold_green("No changes."),
        ink.bold(what)
    );
}

fn output_changes(outputs: &BTreeMap<Arc<str>, OutputChange>, ink: Ink) -> String {
    let shown = |name: &str| {
        if is_identifier(name) {
            name.to_owned()
        } else {
            quote(name)
        }
    };
    let width = outputs
        .keys()
        .map(|name| shown(name).chars().count())
        .max()
        .unwrap_or(0)
        // More is no width for a format string.
        .min(usize::from(u16::MAX));
    let mut out = String::new();
    for (name, change) in outputs.iter().filter(|(_, change)| change.action != Action::NoOp) {
        let hide = |value: &Value, hidden: bool| {
            let marks = if hidden { Marks::SENSITIVE } else { Marks::NONE };
            value.clone().with_marks(marks)
        };
        let before = hide(&change.before, change.sensitive.0);
        let after = hide(&change.after, change.sensitive.1);
        let before = (change.action != Action::Create).then_some(&before);
        let after = (change.action != Action::Delete).then_some(&after);
        let diff = Place::free(0).plain(before, after);
        if diff.sign == Sign::Same {
            continue;
        }
        let _ = writeln!(
            out,
            "{} {:width$} = {}",
            ink.sign(diff.sign),
            shown(name),
            draw(&diff, 0, ink)
        );
    }
    out
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests;
