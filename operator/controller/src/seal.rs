//! What the status keeps of a source, sealed: nobody without the operator's key can say what was fetched.

use std::collections::BTreeMap;

use ashlar_api::{ModulePin, SourceStatus};
use ashlar_store::kube::WorkspaceKeys;
use serde_json::json;

use crate::{inputs::canonical, source::Fetched};

/// What the status says was fetched by just this part of the spec.
pub(crate) fn fetched(known: &SourceStatus, part: &[u8], keys: &WorkspaceKeys) -> Option<Fetched> {
    let fetched = Fetched {
        revision: known.revision.clone()?,
        digest: known.digest.clone()?,
        config_digest: known.config_digest.clone()?,
        by_values: false,
    };
    let sealed = seal(part, &fetched, &known.modules, keys);
    (known.seal.as_ref() == Some(&sealed)).then_some(fetched)
}

/// The pins that the status has, if it was the operator that wrote them: they stand whatever became of the spec.
pub(crate) fn pins(known: &SourceStatus, keys: &WorkspaceKeys) -> Vec<ModulePin> {
    let own = known.seal.as_ref().and_then(|seal| seal.split_once('.'));
    match own {
        Some((_, own)) if own == seal_of_pins(&known.modules, keys) => known.modules.clone(),
        _ => Vec::new(),
    }
}

/// Nobody without the operator's key can say what was fetched. The pins have a part of it to themselves.
pub(crate) fn seal(part: &[u8], fetched: &Fetched, modules: &[ModulePin], keys: &WorkspaceKeys) -> String {
    let pins = seal_of_pins(modules, keys);
    let pairs: BTreeMap<&[u8], &[u8]> = BTreeMap::from([
        (&b"part"[..], part),
        (b"revision", fetched.revision.as_bytes()),
        (b"digest", fetched.digest.as_bytes()),
        (b"config", fetched.config_digest.as_bytes()),
        (b"modules", pins.as_bytes()),
    ]);
    format!("{}.{pins}", keys.keyed_hash(&canonical(pairs.into_iter())))
}

fn seal_of_pins(modules: &[ModulePin], keys: &WorkspaceKeys) -> String {
    let modules = json!(modules).to_string();
    let parts = [(&b"pins"[..], modules.as_bytes())];
    keys.keyed_hash(&canonical(parts.into_iter()))
}

#[cfg(test)]
mod tests {
    use ashlar_api::WorkspaceSpec;
    use ashlar_sources::{GitPlace, Reference};
    use ashlar_store::kube::OperatorKey;
    use serde_json::json;

    use super::*;
    use crate::source::{Order, Wanted, part};

    fn spec(source: serde_json::Value) -> WorkspaceSpec {
        serde_json::from_value(json!({ "source": source })).unwrap()
    }

    fn of(spec: &WorkspaceSpec) -> Vec<u8> {
        part(
            spec,
            &Wanted::Git(GitPlace::new("https://h.test/r", Reference::Head)),
        )
    }

    fn order(spec: &WorkspaceSpec) -> Order {
        Order {
            part: of(spec),
            ..Order::of(Wanted::Git(GitPlace::new("https://h.test/r", Reference::Head)))
        }
    }

    #[test]
    fn what_was_fetched_stands_as_long_as_the_spec_asks_for_it() {
        let git = |extra: serde_json::Value| {
            let mut git = json!({"url": "https://h.test/r"});
            git.as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            spec(json!({ "git": git, "path": "a" }))
        };
        let keys = OperatorKey::new([1; 32]).workspace("uid");
        let plain = git(json!({}));
        let done = Fetched {
            by_values: false,
            revision: "r".to_owned(),
            digest: "d".to_owned(),
            config_digest: "c".to_owned(),
        };
        let pin = ModulePin {
            source: "h.test/a/b/c".to_owned(),
            ..ModulePin::default()
        };
        let status = order(&plain).status(&done, vec![pin.clone()], &keys);
        let stands =
            |spec: &WorkspaceSpec, status: &SourceStatus| fetched(status, &of(spec), &keys).is_some();
        for same in [
            json!({}),
            json!({"interval": "1h"}),
            json!({"secretRef": {"name": "s"}}),
        ] {
            assert!(stands(&git(same.clone()), &status), "{same}");
        }
        assert!(!stands(&git(json!({"ref": {"branch": "b"}})), &status));
        let mut elsewhere = plain.clone();
        elsewhere.source.path = Some("b".to_owned());
        assert!(!stands(&elsewhere, &status));
        // Pins stand longer than that.
        assert_eq!(pins(&status, &keys), std::slice::from_ref(&pin));
        // Nobody else can say what was fetched.
        for change in [
            |status: &mut SourceStatus| status.config_digest = Some("x".to_owned()),
            |status: &mut SourceStatus| status.revision = Some("x".to_owned()),
            |status: &mut SourceStatus| status.modules = vec![ModulePin::default()],
            |status: &mut SourceStatus| status.seal = None,
        ] {
            let mut forged = status.clone();
            change(&mut forged);
            assert!(!stands(&plain, &forged));
            assert!(forged.modules == [pin.clone()] || pins(&forged, &keys).is_empty());
        }
        let other = OperatorKey::new([1; 32]).workspace("other");
        assert!(fetched(&status, &of(&plain), &other).is_none());
    }
}
