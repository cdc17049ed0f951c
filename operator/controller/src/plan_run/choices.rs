//! What a person chose for a plan, from `spec.plan`, as the engine takes it. Pure.

use std::str::FromStr;

use ashlar_api::{PlanKind, PlanSettings};
use ashlar_diag::Diag;
use ashlar_plan::{Mode, Options, Selection};
use ashlar_value::Dialect;

/// What a plan is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) kind: PlanKind,
    /// Is it not limited? An object that goes takes everything along.
    pub(super) whole: bool,
    /// Are the actions of the list that is set now still to be invoked?
    pub(super) invokes: bool,
}

/// The person's choices. Where actions are invoked, nothing else is done.
pub(super) fn options(
    settings: &PlanSettings,
    Asked { kind, whole, invokes }: Asked,
    workspace: &str,
    dialect: Dialect,
) -> Result<Options, Diag> {
    let replace = addresses("replace", "resource instance", &settings.replace)?;
    let selection = Selection {
        targets: addresses("targets", "module, resource or instance", &settings.targets)?,
        excludes: addresses("exclude", "module, resource or instance", &settings.exclude)?,
    };
    let invoke = addresses("invoke", "instance of an action", &settings.invoke)?;
    if invokes && kind == PlanKind::Apply && !invoke.is_empty() {
        return Ok(Options {
            mode: Mode::RefreshOnly,
            refresh: settings.refresh,
            replace: Vec::new(),
            parallelism: usize::try_from(settings.parallelism).unwrap_or(1).max(1),
            workspace: workspace.to_owned(),
            dialect,
            invoke,
            selection: Selection::whole(),
        });
    }
    Ok(Options {
        mode: match kind {
            PlanKind::Apply => Mode::Normal,
            PlanKind::Destroy => Mode::Destroy,
            PlanKind::Refresh => Mode::RefreshOnly,
        },
        refresh: settings.refresh || kind == PlanKind::Refresh,
        replace: match kind {
            PlanKind::Apply => replace,
            PlanKind::Destroy | PlanKind::Refresh => Vec::new(),
        },
        parallelism: usize::try_from(settings.parallelism).unwrap_or(1).max(1),
        workspace: workspace.to_owned(),
        dialect,
        invoke: Vec::new(),
        selection: if whole { Selection::whole() } else { selection },
    })
}

/// Reads the addresses of a list of `spec.plan`.
fn addresses<T: FromStr>(field: &str, what: &str, texts: &[String]) -> Result<Vec<T>, Diag> {
    let fault = |text: &String| {
        let detail = format!("spec.plan.{field} names {text:?}, which is no {what}.");
        Diag::error("Invalid address", detail)
    };
    let read = texts.iter().map(|text| text.parse().map_err(|_| fault(text)));
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(settings: &PlanSettings, kind: PlanKind, whole: bool) -> Result<Options, Diag> {
        let asked = Asked {
            kind,
            whole,
            invokes: !whole,
        };
        options(settings, asked, "default", Dialect::Terraform)
    }

    #[test]
    fn actions_are_invoked_alone_and_once() {
        let settings = PlanSettings {
            replace: vec!["a.b".to_owned()],
            targets: vec!["a.b".to_owned()],
            invoke: vec!["action.a.b[0]".to_owned()],
            ..PlanSettings::default()
        };
        let invoking = chosen(&settings, PlanKind::Apply, false).unwrap();
        assert_eq!((invoking.mode, invoking.invoke.len()), (Mode::RefreshOnly, 1));
        assert!(invoking.replace.is_empty() && invoking.selection.is_whole());
        let after = Asked {
            kind: PlanKind::Apply,
            whole: false,
            invokes: false,
        };
        let after = options(&settings, after, "default", Dialect::Terraform).unwrap();
        assert_eq!((after.mode, after.replace.len()), (Mode::Normal, 1));
        assert!(after.invoke.is_empty());
        for kind in [PlanKind::Destroy, PlanKind::Refresh] {
            assert!(chosen(&settings, kind, false).unwrap().invoke.is_empty());
        }
    }

    #[test]
    fn settings_become_the_choices_of_a_plan() {
        let settings = PlanSettings {
            refresh: false,
            replace: vec!["a.b".to_owned()],
            targets: vec!["module.m[0]".to_owned(), "a.b".to_owned()],
            ..PlanSettings::default()
        };
        let of = |kind, whole| chosen(&settings, kind, whole).unwrap();
        let apply = of(PlanKind::Apply, false);
        assert_eq!((apply.refresh, apply.replace.len()), (false, 1));
        assert_eq!(apply.selection.targets.len(), 2);
        let observe = of(PlanKind::Refresh, false);
        assert_eq!((observe.mode, observe.refresh), (Mode::RefreshOnly, true));
        assert!(observe.replace.is_empty());
        assert!(!of(PlanKind::Destroy, false).selection.is_whole());
        assert!(of(PlanKind::Destroy, true).selection.is_whole());
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_the_field_that_names_it() {
        let refused = |settings: PlanSettings| chosen(&settings, PlanKind::Apply, false).unwrap_err().detail;
        let list = || vec!["a".to_owned()];
        let replace = PlanSettings {
            replace: list(),
            ..PlanSettings::default()
        };
        let targets = PlanSettings {
            targets: list(),
            ..PlanSettings::default()
        };
        let exclude = PlanSettings {
            exclude: list(),
            ..PlanSettings::default()
        };
        let invoke = PlanSettings {
            invoke: list(),
            ..PlanSettings::default()
        };
        assert!(refused(invoke).contains("spec.plan.invoke"));
        assert!(refused(replace).contains("spec.plan.replace"));
        assert!(refused(targets).contains("spec.plan.targets"));
        assert!(refused(exclude).contains("spec.plan.exclude"));
    }
}
