//! What the events of a run tell, each a message.

use ashlar_addr::ResourceInstance;
use ashlar_port::{Activity, Event, Invoked, KnownBy, Task};
use serde_json::{Value as Json, json};

use super::{action_address, address, message};
use crate::printer::Message;

/// How an activity is called: the action, that it begins, that it goes on, and that it ended.
struct Words {
    action: &'static str,
    begins: &'static str,
    noun: &'static str,
    /// The first part of the message's type.
    family: &'static str,
}

/// Nothing of what has messages of its own, or none.
fn words(activity: Activity) -> Option<Words> {
    let words = |action, begins, noun, family| Words {
        action,
        begins,
        noun,
        family,
    };
    Some(match activity {
        Activity::Refresh | Activity::Find | Activity::Import => return None,
        Activity::Read => words("read", "Refreshing", "Refresh", "apply"),
        Activity::Create => words("create", "Creating", "Creation", "apply"),
        Activity::Update => words("update", "Modifying", "Modifications", "apply"),
        Activity::Delete => words("delete", "Destroying", "Destruction", "apply"),
        Activity::Open => words("open", "Opening", "Opening", "ephemeral_op"),
        Activity::Renew => words("renew", "Renewing", "Renewal", "ephemeral_op"),
        Activity::Close => words("close", "Closing", "Closing", "ephemeral_op"),
    })
}

fn kind(family: &str, what: &str) -> &'static str {
    match (family, what) {
        ("apply", "start") => "apply_start",
        ("apply", "progress") => "apply_progress",
        ("apply", "complete") => "apply_complete",
        ("apply", _) => "apply_errored",
        (_, "start") => "ephemeral_op_start",
        (_, "progress") => "ephemeral_op_progress",
        (_, "complete") => "ephemeral_op_complete",
        (_, _) => "ephemeral_op_errored",
    }
}

fn by(known_by: Option<&KnownBy>, hook: &mut Json) -> String {
    let Some(by) = known_by else {
        return String::new();
    };
    hook["id_key"] = by.key.into();
    hook["id_value"] = (*by.value).into();
    format!(" [{by}]")
}

/// A time span as Go has it, in whole seconds.
fn span(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// That something still goes on.
pub(crate) fn still(task: &Task, seconds: u64) -> Option<Message> {
    let words = words(task.activity)?;
    let hook = json!({
        "resource": address(&task.address), "action": words.action, "elapsed_seconds": seconds,
    });
    let doing = words.begins.to_lowercase();
    let text = format!("{}: Still {doing}... [{} elapsed]", task.address, span(seconds));
    Some(message(
        text,
        kind(words.family, "progress"),
        json!({ "hook": hook }),
    ))
}

/// What is told of an event, if anything is.
pub(crate) fn of_event(event: &Event) -> Option<Message> {
    let hooked = |text: String, kind, hook: Json| Some(message(text, kind, json!({ "hook": hook })));
    let provisioner =
        |at: &ResourceInstance, name: &str| json!({ "resource": address(at), "provisioner": name });
    match event {
        Event::Started { task, known_by } => {
            let mut hook = json!({ "resource": address(&task.address) });
            if task.activity == Activity::Refresh {
                let by = by(known_by.as_ref(), &mut hook);
                return hooked(
                    format!("{}: Refreshing state...{by}", task.address),
                    "refresh_start",
                    hook,
                );
            }
            let words = words(task.activity)?;
            hook["action"] = words.action.into();
            let by = by(known_by.as_ref(), &mut hook);
            let text = format!("{}: {}...{by}", task.address, words.begins);
            hooked(text, kind(words.family, "start"), hook)
        }
        Event::Completed {
            task,
            known_by,
            elapsed_ms,
        } => {
            let mut hook = json!({ "resource": address(&task.address) });
            let by = by(known_by.as_ref(), &mut hook);
            if task.activity == Activity::Refresh {
                return hooked(
                    format!("{}: Refresh complete{by}", task.address),
                    "refresh_complete",
                    hook,
                );
            }
            let (words, seconds) = (words(task.activity)?, elapsed_ms / 1000);
            hook["action"] = words.action.into();
            hook["elapsed_seconds"] = seconds.into();
            let text = format!(
                "{}: {} complete after {}{by}",
                task.address,
                words.noun,
                span(seconds)
            );
            hooked(text, kind(words.family, "complete"), hook)
        }
        Event::Failed { task, elapsed_ms } => {
            let (words, seconds) = (words(task.activity)?, elapsed_ms / 1000);
            let hook = json!({
                "resource": address(&task.address), "action": words.action, "elapsed_seconds": seconds,
            });
            let text = format!("{}: {} errored after {}", task.address, words.noun, span(seconds));
            hooked(text, kind(words.family, "errored"), hook)
        }
        Event::Provisioning {
            address,
            provisioner: name,
        } => hooked(
            format!("{address}: Provisioning with '{name}'..."),
            "provision_start",
            provisioner(address, name),
        ),
        Event::ProvisionerSays {
            address,
            provisioner: name,
            line,
        } => {
            let mut hook = provisioner(address, name);
            hook["output"] = line.trim_end().into();
            hooked(
                format!("{address}: ({name}): {}", line.trim_end()),
                "provision_progress",
                hook,
            )
        }
        Event::Provisioned {
            address,
            provisioner: name,
            failed,
        } => {
            let (word, kind) = match failed {
                true => ("errored", "provision_errored"),
                false => ("complete", "provision_complete"),
            };
            hooked(
                format!("{address}: ({name}) Provisioning {word}"),
                kind,
                provisioner(address, name),
            )
        }
        Event::ActionStarted(invoked) => hooked(
            format!("Action started: {}", invoked.action),
            "action_start",
            invoking(invoked),
        ),
        Event::ActionSays(invoked, said) => {
            let mut hook = invoking(invoked);
            hook["message"] = said.as_str().into();
            hooked(format!("{} - {said}", invoked.action), "action_progress", hook)
        }
        Event::ActionEnded {
            invoked,
            failed: true,
            ..
        } => {
            let mut hook = invoking(invoked);
            hook["error"] = "The diagnostics tell what went wrong.".into();
            hooked(
                format!("Action errored: {}", invoked.action),
                "action_errored",
                hook,
            )
        }
        Event::ActionEnded { invoked, .. } => hooked(
            format!("Action complete: {}", invoked.action),
            "action_complete",
            invoking(invoked),
        ),
    }
}

fn invoking(Invoked { action, by }: &Invoked) -> Json {
    let mut hook = json!({ "action": action_address(action) });
    match by {
        None => hook["invoke"] = json!({}),
        Some(by) => hook["lifecycle"] = json!({ "resource": address(by) }),
    }
    hook
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_are_as_go_has_them() {
        let check = |seconds: u64, want: &str| assert_eq!(span(seconds), want);
        check(0, "0s");
        check(64, "1m4s");
        check(3600, "1h0m0s");
    }

    #[test]
    fn an_event_is_one_message() {
        let task = |activity: Activity| Task {
            address: "module.m[\"k\"].null_resource.a[1]".parse().unwrap(),
            deposed: None,
            activity,
        };
        let known_by = Some(KnownBy {
            key: "id",
            value: "x".into(),
        });
        let told = of_event(&Event::Completed {
            task: task(Activity::Create),
            known_by,
            elapsed_ms: 1500,
        })
        .unwrap();
        assert_eq!(told.kind, "apply_complete");
        assert_eq!(
            told.text,
            "module.m[\"k\"].null_resource.a[1]: Creation complete after 1s [id=x]"
        );
        assert_eq!(
            told.fields["hook"],
            json!({
                "action": "create", "elapsed_seconds": 1, "id_key": "id", "id_value": "x",
                "resource": {
                    "addr": "module.m[\"k\"].null_resource.a[1]", "module": "module.m[\"k\"]", "resource": "null_resource.a[1]",
                    "implied_provider": "null", "resource_type": "null_resource", "resource_name": "a", "resource_key": 1,
                },
            })
        );
        let import = Event::Started {
            task: task(Activity::Import),
            known_by: None,
        };
        assert!(of_event(&import).is_none());
    }
}
