//! The lines above an object's difference: what happens to it, and why.

use std::fmt::Write as _;

use ashlar_addr::{InstanceKey, Mode as ResourceMode, ResourceInstance};

use super::ink::Ink;
use ashlar_value::Mark;

use crate::{Action, Change, Importing, Reason};

/// Whether a change is to come or has happened outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    /// It is planned.
    Planned,
    /// It was found.
    Found,
}

/// Comment lines, each with its line feed.
pub(super) fn heading(change: &Change, tense: Tense, ink: Ink) -> String {
    let address = match change.deposed {
        Some(key) => format!("{} (deposed object {key})", change.address),
        None => change.address.to_string(),
    };
    let address = ink.bold(&address);
    let moved = change.previous_address.as_ref();
    let replaced = ink.bold_red("replaced");
    let mut out = match (change.action, tense, change.reason, moved) {
        (Action::NoOp, _, _, Some(from)) => {
            return format!("  # {} has moved to {address}\n", ink.bold(&from.to_string()));
        }
        (Action::NoOp, ..) if change.importing.is_some() => {
            format!("  # {address} will be {}\n", ink.bold("imported"))
        }
        (Action::NoOp, ..) => format!("  # {address} stays as it is\n"),
        (Action::Create, ..) => format!("  # {address} will be created\n"),
        (Action::Read, ..) => format!("  # {address} will be read during apply\n"),
        (Action::Update, Tense::Planned, ..) => format!("  # {address} will be updated in-place\n"),
        (Action::Update, Tense::Found, ..) => format!("  # {address} has changed\n"),
        (Action::Delete, Tense::Planned, ..) => {
            format!("  # {address} will be {}\n", ink.bold_red("destroyed"))
        }
        (Action::Forget, ..) => {
            let not = ink.bold("not");
            return format!(
                "  # {address} will no longer be managed, but will {not} be destroyed\n  # {}\n",
                where_kept(change)
            );
        }
        (Action::ForgetThenCreate, ..) => {
            let not = ink.bold("not");
            format!(
                "  # {address} must be {replaced}; the object that is there will no longer be managed, but will {not} be \
                 destroyed\n  # {}\n",
                where_kept(change)
            )
        }
        (Action::Delete, Tense::Found, ..) => format!("  # {address} has been deleted\n"),
        (Action::DeleteThenCreate | Action::CreateThenDelete, _, reason, _) => match reason {
            Some(Reason::ReplaceBecauseTainted) => {
                format!("  # {address} is tainted, so must be {replaced}\n")
            }
            Some(Reason::ReplaceByRequest) => format!("  # {address} will be {replaced}, as requested\n"),
            Some(Reason::ReplaceByTriggers) => {
                format!("  # {address} will be {replaced} due to changes in replace_triggered_by\n")
            }
            _ => format!("  # {address} must be {replaced}\n"),
        },
    };
    if let Some(why) = change.reason.and_then(|reason| why(change, reason)) {
        let _ = writeln!(out, "  # ({why})");
    }
    if change.deposed.is_some() && change.action == Action::Delete {
        out.push_str("  # (left over from a replacement of this instance that did not complete)\n");
    }
    match &change.importing {
        Some(Importing::Id(id)) if !id.marks().contains(Mark::Sensitive) => {
            let id = id.as_str().map_or("", |id| &**id);
            let _ = writeln!(out, "  # (imported from {id:?})");
        }
        Some(_) => out.push_str("  # (imported)\n"),
        None => {}
    }
    if change.importing.is_some() && change.action.is_replace() {
        let _ = writeln!(
            out,
            "  # {}",
            ink.bold_red("Warning: the imported object will be destroyed")
        );
    }
    if let Some(from) = moved {
        let _ = writeln!(out, "  # (moved from {from})");
    }
    out
}

/// The reason in words, where the first line does not tell it.
fn why(change: &Change, reason: Reason) -> Option<String> {
    let key = &change.address.key;
    let key_text = key.to_string();
    Some(match reason {
        Reason::ReplaceBecauseTainted
        | Reason::ReplaceBecauseCannotUpdate
        | Reason::ReplaceByRequest
        | Reason::ReplaceByTriggers
        | Reason::ForgotBecauseLifecycleDestroyInConfig
        | Reason::ForgotBecauseLifecycleDestroyInState => return None,
        Reason::DeleteBecauseNoResourceConfig => {
            format!(
                "because {} is not in configuration",
                change.address.resource.resource
            )
        }
        Reason::DeleteBecauseNoMoveTarget => format!(
            "because {} was moved to {}, which is not in configuration",
            change.previous_address.as_ref().unwrap_or(&change.address),
            change.address
        ),
        Reason::DeleteBecauseEnabledFalse => "because enabled is false".to_owned(),
        Reason::DeleteBecauseWrongRepetition => match key {
            InstanceKey::None => "because resource uses count or for_each".to_owned(),
            InstanceKey::Int(_) => "because resource does not use count".to_owned(),
            InstanceKey::String(_) => "because resource does not use for_each".to_owned(),
        },
        Reason::DeleteBecauseCountIndex => format!("because index {key_text} is out of range for count"),
        Reason::DeleteBecauseEachKey => format!("because key {key_text} is not in for_each map"),
        Reason::DeleteBecauseNoModule => {
            format!(
                "because {} is not in configuration",
                change.address.resource.module
            )
        }
        Reason::ReadBecauseConfigUnknown => "config refers to values not yet known".to_owned(),
        Reason::ReadBecauseCheckNested => "config will be reloaded to verify a check block".to_owned(),
        Reason::ReadBecauseDependencyPending => {
            "depends on a resource or a module with changes pending".to_owned()
        }
    })
}

/// The head of the block, without its brace: `resource "type" "name"`.
pub(super) fn block_head(change: &Change) -> String {
    head(&change.address)
}

/// The head of an instance's block.
pub(super) fn head(address: &ResourceInstance) -> String {
    let resource = &address.resource.resource;
    let word = match resource.mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    };
    format!("{word} \"{}\" \"{}\"", resource.kind, resource.name)
}

/// What keeps an object from being destroyed.
fn where_kept(change: &Change) -> &'static str {
    match change.reason {
        Some(Reason::ForgotBecauseLifecycleDestroyInState) => {
            "(destroy = false was set in the configuration when it was applied last)"
        }
        _ => "(destroy = false is set in the configuration)",
    }
}
