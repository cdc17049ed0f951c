//! Values, paths and remarks between their wire form and ours.
//!
//! What arrives may be hostile; the value decoders bound it. Nothing here shows what a value holds.

use ashlar_diag::Severity;
use ashlar_port::{CallFault, Deferred, ProviderDiag};
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

/// So many remarks of one answer are kept, and so much of the texts of each. No sane provider has more to say.
const MOST_REMARKS: usize = 1000;
pub(crate) const LONGEST_SUMMARY: usize = 4 << 10;
pub(crate) const LONGEST_DETAIL: usize = 64 << 10;
const DEEPEST_PATH: usize = 100;

/// Remarks in the order sent. A remark without a valid severity counts as an error. Of too many the first are kept, and
/// one that says so, which is an error if one of those left out is.
pub(crate) fn diags(mut sent: Vec<Diagnostic>) -> Vec<ProviderDiag> {
    let rest = sent.split_off(sent.len().min(MOST_REMARKS));
    let mut diags: Vec<ProviderDiag> = sent.into_iter().map(remark).collect();
    if !rest.is_empty() {
        diags.push(ProviderDiag {
            fault: Some(CallFault::NotHeard),
            severity: rest.iter().map(severity).min().unwrap_or(Severity::Error),
            summary: "Too many remarks".to_owned(),
            detail: format!(
                "The provider made {} more remarks, which are left out here.",
                rest.len()
            ),
            path: None,
        });
    }
    diags
}

fn severity(sent: &Diagnostic) -> Severity {
    match sent.severity() {
        diagnostic::Severity::Warning => Severity::Warning,
        diagnostic::Severity::Error | diagnostic::Severity::Invalid => Severity::Error,
    }
}

fn remark(sent: Diagnostic) -> ProviderDiag {
    ProviderDiag {
        fault: None,
        severity: severity(&sent),
        summary: cut(sent.summary, LONGEST_SUMMARY),
        detail: cut(sent.detail, LONGEST_DETAIL),
        path: sent.attribute.map(|mut sent| {
            sent.steps.truncate(DEEPEST_PATH);
            path(sent)
        }),
    }
}

/// A text, or its beginning.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.shrink_to_fit();
        text.push_str("… (cut)");
    }
    text
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
    fn of_too_many_and_too_long_remarks_the_beginning_is_kept() {
        let sent = |count: usize, last: diagnostic::Severity| {
            let of = |severity: diagnostic::Severity| Diagnostic {
                severity: severity.into(),
                ..Diagnostic::default()
            };
            let mut all = vec![of(diagnostic::Severity::Warning); count - 1];
            all[0].detail = "ä".repeat(LONGEST_DETAIL);
            all.push(of(last));
            diags(all)
        };
        let all = sent(MOST_REMARKS, diagnostic::Severity::Error);
        assert_eq!(all.len(), MOST_REMARKS);
        assert_eq!(
            all[0].detail.chars().count(),
            LONGEST_DETAIL / 2 + "… (cut)".chars().count()
        );
        for (last, told) in [
            (diagnostic::Severity::Warning, Severity::Warning),
            (diagnostic::Severity::Error, Severity::Error),
        ] {
            let some = sent(MOST_REMARKS + 2, last);
            assert_eq!(some.len(), MOST_REMARKS + 1);
            assert_eq!(some[MOST_REMARKS].severity, told);
            assert!(some[MOST_REMARKS].detail.contains("2 more remarks"));
        }
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
