//! Values, paths and remarks between their wire form and ours.
//!
//! What arrives may be hostile; the value decoders bound it. Nothing here shows what a value holds.

use ashlar_diag::Severity;
use ashlar_port::{Deferred, ProviderDiag};
use ashlar_value::{Path, PathStep, Type, Value, json, json::WireError, msgpack};

use crate::proto::tfplugin::{
    AttributePath, Deferred as WireDeferred, Diagnostic, DynamicValue, ResourceIdentityData, Timestamp,
    attribute_path::step::Selector, deferred::Reason, diagnostic,
};

/// A value as MessagePack of the schema's type.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<Option<DynamicValue>, WireError> {
    let msgpack = msgpack::encode(value, ty)?;
    Ok(Some(DynamicValue {
        msgpack,
        json: Vec::new(),
    }))
}

/// The value sent; null of the type where nothing was sent, as in Terraform.
pub(crate) fn decode(sent: Option<DynamicValue>, ty: &Type) -> Result<Value, WireError> {
    match sent {
        Some(sent) if !sent.msgpack.is_empty() => msgpack::decode(&sent.msgpack, ty),
        Some(sent) if !sent.json.is_empty() => json::decode(&sent.json, ty),
        _ => Ok(Value::null(ty.clone())),
    }
}

/// An identity to send; none where there is none or it is null.
pub(crate) fn encode_identity(
    identity: Option<&Value>,
    ty: Option<&Type>,
) -> Result<Option<ResourceIdentityData>, WireError> {
    match (identity, ty) {
        (Some(identity), Some(ty)) if !identity.is_null() => Ok(Some(ResourceIdentityData {
            identity_data: encode(identity, ty)?,
        })),
        (Some(identity), None) if !identity.is_null() => Err(no_identity()),
        _ => Ok(None),
    }
}

/// The identity sent, if one was.
pub(crate) fn decode_identity(
    sent: Option<ResourceIdentityData>,
    ty: Option<&Type>,
) -> Result<Option<Value>, WireError> {
    match (sent.and_then(|sent| sent.identity_data), ty) {
        (None, _) => Ok(None),
        (sent @ Some(_), Some(ty)) => decode(sent, ty).map(Some),
        (Some(_), None) => Err(no_identity()),
    }
}

fn no_identity() -> WireError {
    WireError {
        path: Path::root(),
        message: "the resource type has no identity schema".to_owned(),
    }
}

/// A path into a value; a step that says nothing is left out, as in Terraform.
pub(crate) fn path(sent: AttributePath) -> Path {
    sent.steps
        .into_iter()
        .filter_map(|step| {
            Some(match step.selector? {
                Selector::AttributeName(name) => PathStep::Attr(name.into()),
                Selector::ElementKeyString(key) => PathStep::Index(Value::string(key)),
                Selector::ElementKeyInt(index) => PathStep::from(index),
            })
        })
        .collect()
}

/// A time in milliseconds since 1970; what lies before is 1970.
pub(crate) fn unix_ms(sent: Timestamp) -> u64 {
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    let seconds = part(sent.seconds).saturating_mul(1000);
    seconds.saturating_add(part(i64::from(sent.nanos)) / 1_000_000)
}

/// Remarks in the order sent. A remark without a valid severity counts as an error.
pub(crate) fn diags(sent: Vec<Diagnostic>) -> Vec<ProviderDiag> {
    sent.into_iter()
        .map(|diag| ProviderDiag {
            is_call_fault: false,
            severity: if diag.severity() == diagnostic::Severity::Warning {
                Severity::Warning
            } else {
                Severity::Error
            },
            summary: diag.summary,
            detail: diag.detail,
            path: diag.attribute.map(path),
        })
        .collect()
}

/// Why something was put off, if it was.
pub(crate) fn deferred(sent: Option<WireDeferred>) -> Option<Deferred> {
    Some(match sent?.reason() {
        Reason::Unknown => Deferred::Unknown,
        Reason::ResourceConfigUnknown => Deferred::ResourceConfigUnknown,
        Reason::ProviderConfigUnknown => Deferred::ProviderConfigUnknown,
        Reason::AbsentPrereq => Deferred::AbsentPrereq,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::tfplugin::attribute_path::Step;

    #[test]
    fn paths_and_remarks() {
        let step = |selector| Step {
            selector: Some(selector),
        };
        let attribute = AttributePath {
            steps: vec![
                step(Selector::AttributeName("tags".into())),
                step(Selector::ElementKeyString("a".into())),
                Step { selector: None },
                step(Selector::ElementKeyInt(3)),
            ],
        };
        let sent = |severity| Diagnostic {
            severity,
            summary: "s".into(),
            detail: "d".into(),
            attribute: Some(attribute.clone()),
        };
        let got = diags(vec![sent(2), sent(1), sent(0), sent(77)]);
        let severities: Vec<_> = got.iter().map(|diag| diag.severity).collect();
        assert_eq!(
            severities,
            [
                Severity::Warning,
                Severity::Error,
                Severity::Error,
                Severity::Error
            ]
        );
        assert_eq!(got[0].path.as_ref().unwrap().to_string(), r#".tags["a"][3]"#);
    }

    #[test]
    fn nothing_sent_is_null() {
        for sent in [None, Some(DynamicValue::default())] {
            assert_eq!(decode(sent, &Type::String).unwrap(), Value::null(Type::String));
        }
        assert_eq!(decode_identity(None, None).unwrap(), None);
        let sent = ResourceIdentityData {
            identity_data: Some(DynamicValue::default()),
        };
        assert!(decode_identity(Some(sent), None).is_err());
    }
}
