//! A provider's remarks to diagnostics with a place in source.

use ashlar_addr::ResourceInstance;
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_port::ProviderDiag;
use ashlar_syntax::Body;
use ashlar_value::Path;

/// Gives each remark the place of the argument it is about, or the place of the block.
pub fn place_all(remarks: Vec<ProviderDiag>, body: &Body, address: Option<&ResourceInstance>) -> Diags {
    remarks
        .into_iter()
        .map(|remark| place(remark, Some(body), address))
        .collect()
}

/// As [`place_all`], for calls that are about no configuration.
pub fn unplaced(remarks: Vec<ProviderDiag>, address: &ResourceInstance) -> Diags {
    remarks
        .into_iter()
        .map(|remark| place(remark, None, Some(address)))
        .collect()
}

fn place(remark: ProviderDiag, body: Option<&Body>, address: Option<&ResourceInstance>) -> Diag {
    let mut diag = match remark.severity {
        Severity::Error => Diag::error(remark.summary, remark.detail),
        Severity::Warning => Diag::warning(remark.summary, remark.detail),
    };
    if let Some(body) = body {
        let path = remark.path.as_ref().cloned().unwrap_or_default();
        diag.subject = ashlar_eval::locate(body, &path);
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
