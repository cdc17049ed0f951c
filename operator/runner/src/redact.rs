//! Keeps secrets of a run out of what its plugins log.

use std::{ffi::OsString, sync::Arc};

use ashlar_provider::Redactor;
use ashlar_value::{Data, Mark, Value};

/// Shorter texts are not looked for: they would blank out half of every line.
const SHORTEST: usize = 4;

/// A redactor that replaces every sensitive text among the values, and every value of the run's environment.
pub(crate) fn redactor<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    env: &[(OsString, OsString)],
) -> Redactor {
    let mut secrets: Vec<String> = Vec::new();
    for value in values {
        collect(value, false, &mut secrets);
    }
    secrets.extend(
        env.iter()
            .filter_map(|(_, value)| value.to_str().map(str::to_owned)),
    );
    secrets.retain(|secret| secret.len() >= SHORTEST);
    // Longer ones first, so that a secret that holds another is replaced whole.
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    Arc::new(move |line: &str| {
        secrets.iter().fold(line.to_owned(), |line, secret| {
            if line.contains(secret.as_str()) {
                line.replace(secret.as_str(), "(sensitive value)")
            } else {
                line
            }
        })
    })
}

fn collect(value: &Value, sensitive: bool, secrets: &mut Vec<String>) {
    let sensitive =
        sensitive || value.marks().contains(Mark::Sensitive) || value.marks().contains(Mark::Ephemeral);
    match value.data() {
        Data::String(text) if sensitive => secrets.push(text.to_string()),
        Data::Number(number) if sensitive => secrets.push(number.to_string()),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => {
            items.iter().for_each(|item| collect(item, sensitive, secrets));
        }
        Data::Map(_, entries) | Data::Object(entries) => {
            entries
                .values()
                .for_each(|entry| collect(entry, sensitive, secrets));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use ashlar_value::{Marks, Type};

    use super::*;

    #[test]
    fn sensitive_texts_and_environment_are_replaced() {
        let secret = Value::list(Type::String, vec![Value::string("hunter22")]).with_marks(Marks::SENSITIVE);
        let redact = redactor(
            [&secret, &Value::string("public")],
            &[("TOKEN".into(), "abcdef".into())],
        );
        assert_eq!(
            redact("hunter22 public abcdef"),
            "(sensitive value) public (sensitive value)"
        );
    }
}
