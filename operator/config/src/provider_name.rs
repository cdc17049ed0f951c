//! Names and source addresses of providers.
//!
//! Rules: terraform-registry-address `ParseProviderPart`, `ParseProviderSource`; Terraform `configs/provider.go`.

use ashlar_addr::Provider;
use ashlar_diag::{Diag, Span};

/// One part of a source address, in its normal form.
fn part(given: &str) -> Result<String, &'static str> {
    if given.is_empty() {
        return Err("it must have at least one character");
    }
    if given.contains('.') {
        return Err("dots are not allowed");
    }
    if given.contains("--") {
        return Err("it cannot have several dashes in a row");
    }
    if given.starts_with('-')
        || given.ends_with('-')
        || !given.chars().all(|c| c.is_alphanumeric() || c == '-')
    {
        return Err("it can have only letters, digits and dashes, and neither begin nor end with a dash");
    }
    Ok(given.to_lowercase())
}

/// The fault of a local name that is not in its normal form.
pub(crate) fn local_name_fault(name: &str, span: Span) -> Option<Diag> {
    let detail = match part(name) {
        Ok(normal) if normal == name => return None,
        Ok(normal) => {
            format!("Local names of providers are written in their normal form: {normal:?}, not {name:?}.")
        }
        Err(why) => format!("{name:?} is no local name for a provider: {why}."),
    };
    Some(Diag::error("Invalid provider local name", detail).at(span))
}

/// The fault of a name that cannot be the type of a provider.
pub(crate) fn type_fault(name: &str) -> Option<&'static str> {
    part(name).err()
}

/// A source address as `required_providers` has it.
pub(crate) fn source(text: &str, span: Span) -> Result<Provider, Diag> {
    let fail = |summary: &'static str, detail: String| Err(Diag::error(summary, detail).at(span));
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        let detail = "A provider source is [HOST/][NAMESPACE/]TYPE.".to_owned();
        return fail("Invalid provider source string", detail);
    }
    let kind = parts.last().copied().unwrap_or_default();
    if let Err(why) = part(kind) {
        return fail(
            "Invalid provider type",
            format!("The type {kind:?} is invalid: {why}."),
        );
    }
    if let [.., namespace, _] = &*parts
        && let Err(why) = part(namespace)
    {
        return fail(
            "Invalid provider namespace",
            format!("The namespace {namespace:?} is invalid: {why}."),
        );
    }
    if kind.starts_with("terraform-") {
        let detail = format!(
            "The type is written without the prefix of its package: {:?}, not {kind:?}.",
            kind.trim_start_matches("terraform-provider-")
        );
        return fail("Invalid provider type", detail);
    }
    text.parse().or_else(|_| {
        let host = parts.first().copied().unwrap_or_default();
        fail(
            "Invalid provider source hostname",
            format!("{host:?} is no host name."),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ashlar_diag::FileId;

    fn check(text: &str, want: Result<&str, &str>) {
        let got = source(text, Span::new(FileId(0), 0, 1)).map(|provider| provider.to_string());
        assert_eq!(got.as_deref().map_err(|diag| &*diag.summary), want, "{text}");
    }

    #[test]
    fn sources_are_read_and_faults_told_apart() {
        check("null", Ok("registry.terraform.io/hashicorp/null"));
        check("Forge.test/Studio/kiln", Ok("forge.test/studio/kiln"));
        check("a/b/c/d", Err("Invalid provider source string"));
        check("a//c", Err("Invalid provider source string"));
        check("not a source", Err("Invalid provider type"));
        check("a_b/c", Err("Invalid provider namespace"));
        check("x/terraform-provider-y", Err("Invalid provider type"));
        check("a b/c/d", Err("Invalid provider source hostname"));
    }
}
