//! Tells before anything is planned what provisioners may not do here.

use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags};
use ashlar_provisioner::LocalPrograms;

use crate::settings::Settings;

/// The faults of provisioners that would run programs on this machine, where they may not.
pub(crate) fn refused(tree: &Tree, settings: &Settings) -> Diags {
    let LocalPrograms::Refused(why) = settings.provisioners.programs else {
        return Diags::new();
    };
    let all = tree
        .members
        .values()
        .flat_map(|member| member.module.provisioners());
    let local = all.filter(|provisioner| &*provisioner.kind == "local-exec");
    local
        .map(|provisioner| Diag::error("Provisioner not allowed", why).at(provisioner.header))
        .collect()
}
