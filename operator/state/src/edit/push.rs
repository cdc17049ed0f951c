//! May one state take the place of another?
//!
//! Source: Terraform `internal/states/statemgr/migrate.go` (`CheckValidImport`).

use ashlar_diag::{Diag, Diags};

use crate::{State, same_content};

/// Fails where the new state is none that follows the present one.
pub fn may_replace(present: &State, new: &State) -> Result<(), Diags> {
    if present.is_empty() {
        return Ok(());
    }
    let refused = |why: String| {
        let detail = format!("{why} Look at both, and force it if the new one is the right one.");
        Err(Diag::error("Failed to write state", detail).into())
    };
    // One without a lineage is older than lineages are.
    if new.lineage.is_empty() || present.lineage.is_empty() {
        return Ok(());
    }
    if new.lineage != present.lineage {
        return refused(format!(
            "The state with lineage {:?} cannot take the place of an unrelated one with lineage {:?}.",
            new.lineage, present.lineage
        ));
    }
    if new.serial < present.serial {
        return refused(format!(
            "The state with serial {} cannot take the place of a newer one with serial {}.",
            new.serial, present.serial
        ));
    }
    if new.serial == present.serial && !same_content(new, present) {
        return refused(format!(
            "The state that is there has serial {}, too, and holds something else.",
            new.serial
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::fixture::state;

    #[test]
    fn only_what_follows_a_state_may_replace_it() {
        let of = |lineage: &str, serial: u64, addresses: &[&str]| State {
            lineage: lineage.to_owned(),
            serial,
            ..state(addresses)
        };
        let present = of("l", 3, &["a.b"]);
        let check = |present: &State, new: &State, want: bool| {
            assert_eq!(may_replace(present, new).is_ok(), want, "{present:?} {new:?}");
        };
        check(&present, &of("l", 4, &["a.c"]), true);
        check(&present, &of("l", 3, &["a.b"]), true);
        check(&present, &of("l", 3, &["a.c"]), false);
        check(&present, &of("l", 2, &["a.b"]), false);
        check(&present, &of("m", 9, &["a.b"]), false);
        check(&present, &of("", 0, &["a.c"]), true);
        check(&of("l", 3, &[]), &of("m", 0, &["a.c"]), true);
    }
}
