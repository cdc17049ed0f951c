//! Outputs of the root module: in the status without sensitive values, in a Secret in full.

use std::collections::BTreeMap;

use ashlar_api::OutputStatus;
use ashlar_diag::{Diag, Diags};
use ashlar_state::State;
use ashlar_value::{Data, Value, json};
use k8s_openapi::{
    ByteString,
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{Api, Client, api::PostParams};

/// Longest value in a status, in bytes.
const LONGEST: usize = 1000;
/// How much all values in a status may take together, in bytes.
const TOGETHER: usize = 8000;
const MOST: usize = 200;

/// What the status shows.
pub(crate) fn shown(state: &State) -> Vec<OutputStatus> {
    let mut room = TOGETHER;
    let outputs = state.outputs.iter().take(MOST).map(|(name, output)| {
        let value = (!output.sensitive)
            .then(|| text(&output.value))
            .flatten()
            .filter(|value| value.len() <= LONGEST.min(room));
        room -= value.as_ref().map_or(0, String::len);
        let mut ty = output.value.ty().to_string();
        if ty.len() > LONGEST {
            "object".clone_into(&mut ty);
        }
        OutputStatus {
            name: name.to_string(),
            ty,
            sensitive: output.sensitive,
            value,
        }
    });
    outputs.collect()
}

fn text(value: &Value) -> Option<String> {
    String::from_utf8(json::encode(value, &value.ty()).ok()?).ok()
}

/// What the Secret holds: text as it is, all else as JSON.
fn data(state: &State) -> BTreeMap<String, ByteString> {
    let entries = state.outputs.iter().filter_map(|(name, output)| {
        let bytes = match output.value.data() {
            Data::String(text) => text.as_bytes().to_vec(),
            _ => json::encode(&output.value, &output.value.ty()).ok()?,
        };
        Some((name.to_string(), ByteString(bytes)))
    });
    entries.collect()
}

const SUMMARY: &str = "Failed to write outputs";

/// Writes the Secret, unless it holds just that. One that is not this workspace's is left alone.
pub(crate) async fn write(
    client: &Client,
    namespace: &str,
    name: &str,
    owner: &OwnerReference,
    state: &State,
) -> Result<(), Diags> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let failed = |error: kube::Error| {
        Diags::from(Diag::error(
            SUMMARY,
            format!(
                "Secret {namespace}/{name} could not be written: {}.",
                reason(&error)
            ),
        ))
    };
    let wanted = data(state);
    let params = PostParams::default();
    match api.get_opt(name).await.map_err(failed)? {
        None => {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(name.to_owned()),
                    owner_references: Some(vec![owner.clone()]),
                    ..ObjectMeta::default()
                },
                data: Some(wanted),
                ..Secret::default()
            };
            api.create(&params, &secret).await.map_err(failed)?;
        }
        Some(found)
            if !found
                .metadata
                .owner_references
                .iter()
                .flatten()
                .any(|other| other.uid == owner.uid) =>
        {
            let detail = format!(
                "Secret {namespace}/{name} exists and does not belong to this workspace, so it is not overwritten. Remove it, or \
                 name another in spec.outputs.secretRef."
            );
            return Err(Diag::error(SUMMARY, detail).into());
        }
        Some(found) if found.data.as_ref().unwrap_or(&BTreeMap::new()) == &wanted => {}
        Some(mut found) => {
            found.data = Some(wanted);
            api.replace(name, &params, &found).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// Serde's errors quote what they stumble over, which may be a secret.
pub(crate) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.trim_end_matches('.').to_owned(),
        kube::Error::SerdeError(_) => "the answer could not be read".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use ashlar_state::OutputState;

    use super::*;

    fn state() -> State {
        let output = |value: Value, sensitive: bool| OutputState { value, sensitive };
        let outputs = [
            ("list".into(), output(Value::tuple(vec![Value::number(1)]), false)),
            ("long".into(), output(Value::string("x".repeat(2000)), false)),
            ("secret".into(), output(Value::string("hunter22"), true)),
            ("text".into(), output(Value::string("plain"), false)),
        ];
        State {
            outputs: outputs.into(),
            ..State::default()
        }
    }

    #[test]
    fn the_status_shows_no_sensitive_and_no_long_value() {
        let shown: Vec<(String, Option<String>)> = shown(&state())
            .into_iter()
            .map(|output| (output.name, output.value))
            .collect();
        let want = [
            ("list", Some("[1]")),
            ("long", None),
            ("secret", None),
            ("text", Some("\"plain\"")),
        ];
        assert_eq!(
            shown,
            want.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
        );
    }

    #[test]
    fn the_secret_holds_text_as_it_is() {
        let data = data(&state());
        assert_eq!(data["text"].0, b"plain");
        assert_eq!(data["list"].0, b"[1]");
        assert_eq!(data["secret"].0, b"hunter22");
    }
}
