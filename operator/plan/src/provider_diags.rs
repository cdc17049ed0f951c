//! A provider's remarks to diagnostics with a place in source.

use std::fmt;

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_port::ProviderDiag;
use ashlar_syntax::Body;
use ashlar_value::Path;

/// Gives each remark the place of the argument it is about, or the place of the block.
pub fn place_all(remarks: Vec<ProviderDiag>, body: &Body, address: &dyn fmt::Display) -> Diags {
    remarks
        .into_iter()
        .map(|remark| place(remark, Some(body), Some(address)))
        .collect()
}

/// As [`place_all`], for calls that are about no configuration: neither place nor address, as in Terraform.
pub fn unplaced(remarks: Vec<ProviderDiag>) -> Diags {
    remarks
        .into_iter()
        .map(|remark| place(remark, None, None))
        .collect()
}

/// As [`place_all`] where there is a configuration, else as [`unplaced`].
pub fn place_in(remarks: Vec<ProviderDiag>, body: Option<&Body>, address: &dyn fmt::Display) -> Diags {
    match body {
        Some(body) => place_all(remarks, body, address),
        None => unplaced(remarks),
    }
}

fn place(remark: ProviderDiag, body: Option<&Body>, address: Option<&dyn fmt::Display>) -> Diag {
    let mut diag = match remark.severity {
        Severity::Error => Diag::error(remark.summary, remark.detail),
        Severity::Warning => Diag::warning(remark.summary, remark.detail),
    };
    if remark.fault.is_some() {
        return diag;
    }
    if let Some(body) = body {
        let path = remark.path.as_ref().cloned().unwrap_or_default();
        let found = if path.is_root() {
            None
        } else {
            ashlar_eval::locate(body, &path)
        };
        diag.subject = found.or_else(|| body.missing_item());
    }
    if diag.subject.is_none() {
        diag.attribute = remark
            .path
            .as_ref()
            .filter(|path| !path.is_root())
            .map(Path::to_string);
    }
    match address {
        Some(address) => diag.about(address),
        None => diag,
    }
}
