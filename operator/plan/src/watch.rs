//! What who watches is told of something that takes a while: that it begins, and how it ended.
//!
//! Of an object's values only what it is known by is told, and never what is sensitive.

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_port::{Activity, Event, KnownBy, Outside, Progress, Task};
use ashlar_value::{Mark, Type, Value, convert, schema::Block};

use crate::engine::Engine;

/// Begun when it is made. Where it is dropped without [`Watch::completed`], it failed.
pub struct Watch<'e> {
    progress: &'e dyn Progress,
    outside: &'e dyn Outside,
    task: Option<Task>,
    start: u64,
}

impl<'a> Engine<'a> {
    /// Tells that something begins, of an object that is known by this so far.
    pub fn watch(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        activity: Activity,
        known_by: Option<KnownBy>,
    ) -> Watch<'a> {
        let task = Task {
            address: address.clone(),
            deposed,
            activity,
        };
        self.progress.tell(Event::Started {
            task: task.clone(),
            known_by,
        });
        Watch {
            progress: self.progress,
            outside: self.outside,
            task: Some(task),
            start: self.outside.monotonic_ms(),
        }
    }
}

impl Watch<'_> {
    /// Tells that it ended well, and what the object is known by now.
    pub fn completed(mut self, known_by: Option<KnownBy>) {
        let elapsed_ms = self.elapsed_ms();
        if let Some(task) = self.task.take() {
            self.progress.tell(Event::Completed {
                task,
                known_by,
                elapsed_ms,
            });
        }
    }

    fn elapsed_ms(&self) -> u64 {
        self.outside.monotonic_ms().saturating_sub(self.start)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let elapsed_ms = self.elapsed_ms();
        if let Some(task) = self.task.take() {
            self.progress.tell(Event::Failed { task, elapsed_ms });
        }
    }
}

/// The id of an object, else its name, if that is a known string and nothing sensitive. Source: Terraform
/// `internal/command/format/object_id.go`.
pub fn known_by(schema: &Block, object: &Value) -> Option<KnownBy> {
    let entries = object.as_entries()?;
    let is_text = |key: &&&str| {
        schema
            .attributes
            .get(**key)
            .is_some_and(|one| one.ty() == Type::String)
    };
    let key = *["id", "name"].iter().find(is_text)?;
    let value = entries.get(key)?;
    let hidden = schema.attributes.get(key).is_some_and(|one| one.sensitive)
        || [object, value]
            .iter()
            .any(|value| value.marks().contains(Mark::Sensitive) || value.marks().contains(Mark::Ephemeral));
    if hidden {
        return None;
    }
    let value = value.clone().unmark().0;
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Some(KnownBy {
        key,
        value: text.clone(),
    })
}

/// An identity in one line, as `key=value` separated by commas. Source: Terraform `internal/tfdiags/object.go`.
pub fn identity_text(identity: &Value) -> String {
    let Some(entries) = identity.as_entries() else {
        return "<null>".to_owned();
    };
    if entries.is_empty() {
        return "<empty>".to_owned();
    }
    let parts = entries
        .iter()
        .map(|(key, value)| format!("{key}={}", part_text(value)));
    parts.collect::<Vec<_>>().join(",")
}

fn part_text(value: &Value) -> String {
    if value.is_null() {
        return "<null>".to_owned();
    }
    if let Some(items) = value.as_items() {
        let items: Vec<String> = items.iter().map(part_text).collect();
        return format!("[{}]", items.join(","));
    }
    let text = convert(value, &Type::String).ok();
    let text = text.as_ref().and_then(Value::as_str);
    text.map_or_else(|| "<unknown>".to_owned(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use ashlar_value::{
        Marks,
        schema::{Attribute, AttributeType},
    };

    use super::*;

    #[test]
    fn an_identity_is_told_in_one_line() {
        let check = |value: Value, want: &str| assert_eq!(identity_text(&value), want);
        let list = Value::list(Type::Bool, vec![Value::bool(true), Value::bool(false)]);
        let parts = [
            ("b", Value::string("x")),
            ("a", Value::number(1)),
            ("c", Value::null(Type::String)),
            ("d", list),
        ];
        check(Value::object(parts), "a=1,b=x,c=<null>,d=[true,false]");
        let nothing: [(&str, Value); 0] = [];
        check(Value::object(nothing), "<empty>");
    }

    #[test]
    fn an_object_is_known_by_what_is_no_secret() {
        let attribute = |sensitive: bool, ty: Type| Attribute {
            ty: AttributeType::Plain(ty),
            required: false,
            optional: false,
            computed: true,
            sensitive,
            write_only: false,
            deprecated: None,
        };
        let schema = |key: &str, sensitive: bool, ty: Type| Block {
            attributes: [(key.into(), attribute(sensitive, ty))].into(),
            ..Block::default()
        };
        let check = |schema: &Block, key: &str, value: Value, want: Option<&str>| {
            let object = Value::object([(key, value)]);
            let found = known_by(schema, &object).map(|by| by.to_string());
            assert_eq!(found.as_deref(), want);
        };
        let text = Value::string("x");
        check(
            &schema("id", false, Type::String),
            "id",
            text.clone(),
            Some("id=x"),
        );
        check(
            &schema("name", false, Type::String),
            "name",
            text.clone(),
            Some("name=x"),
        );
        check(&schema("id", true, Type::String), "id", text.clone(), None);
        let marked = text.clone().with_marks(Marks::SENSITIVE);
        check(&schema("id", false, Type::String), "id", marked, None);
        check(
            &schema("id", false, Type::String),
            "id",
            Value::unknown(Type::String),
            None,
        );
        check(
            &schema("id", false, Type::String),
            "id",
            Value::null(Type::String),
            None,
        );
        check(&schema("id", false, Type::Number), "id", Value::number(1), None);
        check(&schema("arn", false, Type::String), "arn", text, None);
    }
}
