//! Actions that are to be invoked, with what they are configured with.

use std::fmt::Write as _;

use super::{draw::draw_whole, ink::Ink, place::Place};
use crate::{Change, Invocation, Plan, Schemas, objchange::mark_sensitive, show::action_schema_of};

/// What a change triggers, under a line that says when; each part begins with an empty line.
pub(super) fn of_change(plan: &Plan, change: &Change, schemas: &Schemas, ink: Ink, out: &mut String) {
    if change.deposed.is_some() {
        return;
    }
    for (before, when) in [(true, "before"), (false, "after")] {
        let triggered = |invocation: &&Invocation| {
            let trigger = invocation.trigger.as_ref();
            trigger.is_some_and(|trigger| trigger.resource == change.address)
                && invocation.is_before() == before
        };
        let mut invocations = plan.invocations.iter().filter(triggered).peekable();
        if invocations.peek().is_some() {
            let words = format!("# Actions to be invoked {when} this change, in this order:");
            let _ = writeln!(out, "\n    {}", ink.bold(&words));
        }
        for invocation in invocations {
            block(invocation, schemas, ink, out);
        }
    }
}

/// What a person asked for; empty if nothing was.
pub(super) fn asked(plan: &Plan, schemas: &Schemas, ink: Ink) -> String {
    let mut out = String::new();
    for invocation in plan
        .invocations
        .iter()
        .filter(|invocation| invocation.trigger.is_none())
    {
        let _ = writeln!(
            out,
            "\n  # {} will be invoked",
            ink.bold(&invocation.action.to_string())
        );
        block(invocation, schemas, ink, &mut out);
    }
    out
}

fn block(invocation: &Invocation, schemas: &Schemas, ink: Ink, out: &mut String) {
    let Invocation { action, config, .. } = invocation;
    let _ = writeln!(out, "    action \"{}\" \"{}\" {{", action.kind, action.name);
    match action_schema_of(invocation, schemas) {
        None => {
            out.push_str("        # (the provider's schema is not at hand, so the content is not shown)\n")
        }
        Some(_) if config.is_null() => {}
        Some(schema) => {
            let config = mark_sensitive(schema, config.clone());
            let diff = Place::object(schema, Vec::new()).block(schema, None, Some(&config));
            let _ = writeln!(out, "        config {}", draw_whole(&diff, 2, ink));
        }
    }
    out.push_str("    }\n");
}
