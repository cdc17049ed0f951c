//! What goes out and what comes back, for what the real test providers do not show in both generations.

use std::sync::Mutex;

use ashlar_port::{
    ApplyRequest, Deferred, ImportRequest, Imported, ListRequest, MoveRequest, UpgradeRequest,
};
use ashlar_value::{Type, Value};

use crate::{
    bench::Bench,
    drive::{STORED, THING, listing, planning, reading, thing, wholly},
    harness::cases,
    model::Script,
    setup::values::{clean, config, none, text},
};

cases![
    values_go_both_ways,
    whatever_a_value_is_written_in_it_is_read,
    objects_come_by_id_by_identity_and_from_elsewhere,
    ephemeral_resources_are_opened_renewed_and_closed,
    actions_tell_on_the_way,
    objects_are_listed,
    what_is_write_only_is_sent_and_never_kept,
    a_provider_may_put_off_what_it_is_allowed_to,
    a_schema_that_is_optional_is_asked_once,
];

const GENERATIONS: [u8; 2] = [5, 6];

async fn values_go_both_ways() {
    for generation in GENERATIONS {
        both_ways(Script::healthy(generation)).await;
    }
}

/// As JSON, and with fields of protocols to come.
async fn whatever_a_value_is_written_in_it_is_read() {
    for generation in GENERATIONS {
        for fault in ["json", "odd"] {
            both_ways(Script {
                fault: fault.to_owned(),
                ..Script::healthy(generation)
            })
            .await;
        }
    }
}

async fn both_ways(script: Script) {
    let bench = Bench::model(script);
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    let settings = config(&schema.provider.block, &[("token", text("t"))]);
    none(provider.configure(&settings).await);
    let ty = schema.resources.get(THING).unwrap().block.ty();
    let given = [
        ("name", text("a\u{e9}")),
        ("secret", text("hush")),
        ("size", Value::number(7_i64)),
        ("tags", Value::map(Type::String, [("k", text("v"))])),
    ];
    let wanted = thing(&schema, &given);
    let nothing = Value::null(ty.clone());
    let planned = clean(provider.plan(planning(&nothing, &wanted)).await);
    assert!(planned.state.as_ref() == Some(&wanted));
    assert_eq!(planned.private, b"p-planned");
    assert_eq!(planned.requires_replace[0].to_string(), ".size");
    assert!(planned.legacy_type_system);
    let identity = Value::object([("name", text("a\u{e9}"))]);
    assert!(planned.identity.as_ref() == Some(&identity));
    let request = ApplyRequest {
        kind: THING,
        prior: &nothing,
        planned: planned.state.as_ref().unwrap(),
        config: &wanted,
        private: &planned.private,
        identity: planned.identity.as_ref(),
        meta: None,
    };
    let applied = clean(provider.apply(request).await);
    let made = applied.state.unwrap();
    assert_eq!(made.attr("id"), Some(text("made")));
    assert_eq!(made.attr("tags"), wanted.attr("tags"));
    assert_eq!(applied.private, b"p-planned-made");
    // What the schema calls sensitive was told to who redacts.
    assert!(bench.heard.lock().unwrap().contains(&text("hush")));
    let read = clean(provider.read(reading(&made)).await);
    assert!(read.state == Some(made.clone()) && read.identity == Some(identity));
    assert_eq!(read.private, b"p-read");
    // A deletion is planned too, as this provider says it wants.
    let planned = clean(provider.plan(planning(&made, &nothing)).await);
    assert!(planned.state == Some(nothing) && planned.identity.is_none());
    assert_eq!(planned.private, b"p-planned");
    assert_eq!(provider.call_function("echo", &[text("x")]).await, Ok(text("x")));
    let generated = clean(provider.generate_config(THING, &made).await).unwrap();
    assert!(generated.attr("id").unwrap().is_null() && generated.attr("size") == made.attr("size"));
    provider.close().await;
}

async fn objects_come_by_id_by_identity_and_from_elsewhere() {
    for generation in GENERATIONS {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        let identity = Value::object([("name", text("b"))]);
        for (of, name) in [(Imported::Id("a"), "a"), (Imported::Identity(&identity), "b")] {
            let request = ImportRequest {
                kind: THING,
                of,
                deferral_allowed: false,
            };
            let (found, deferred) = clean(provider.import(request).await);
            let [object] = found.as_slice() else {
                panic!("{} objects", found.len())
            };
            assert_eq!((object.kind.as_str(), deferred), (THING, None));
            assert_eq!(object.private, b"found");
            assert_eq!(object.state.as_ref().unwrap().attr("name"), Some(text(name)));
            assert_eq!(object.identity.as_ref().unwrap().attr("name"), Some(text(name)));
        }
        let request = MoveRequest {
            source_provider: "forge.test/model/elsewhere",
            source_kind: "elsewhere_thing",
            version: 3,
            json: STORED,
            private: b"p",
            identity: None,
            kind: THING,
        };
        let moved = clean(provider.move_state(request).await);
        assert_eq!(moved.private, b"p-moved");
        assert_eq!(moved.identity.unwrap().attr("name"), Some(text("a")));
        let request = UpgradeRequest {
            kind: THING,
            version: 0,
            json: STORED,
        };
        let upgraded = clean(provider.upgrade_state(request).await).unwrap();
        assert!(moved.state == Some(upgraded.clone()));
        assert_eq!(upgraded.attr("id"), Some(text("old")));
        let request = UpgradeRequest {
            kind: THING,
            version: 0,
            json: br#"{"name":"a"}"#,
        };
        let identity = clean(provider.upgrade_identity(request).await).unwrap();
        assert_eq!(identity.attr("name"), Some(text("a")));
        provider.close().await;
    }
}

async fn ephemeral_resources_are_opened_renewed_and_closed() {
    for generation in GENERATIONS {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        let schema = provider.schema().await.unwrap();
        let key = config(
            &schema.ephemeral_resources.get("model_key").unwrap().block,
            &[("name", text("a"))],
        );
        let opened = clean(provider.open_ephemeral("model_key", &key).await);
        assert_eq!(opened.result.unwrap().attr("token"), Some(text("opened")));
        assert_eq!(opened.renew_at, Some(4_000_000_000_000));
        assert_eq!(bench.heard.lock().unwrap().len(), 1, "it is told to who redacts");
        let renewed = clean(provider.renew_ephemeral("model_key", &opened.private).await);
        assert_eq!(
            (renewed.private.as_slice(), renewed.renew_at),
            (&b"open-renewed"[..], None)
        );
        none(provider.close_ephemeral("model_key", &renewed.private).await);
        provider.close().await;
    }
}

async fn actions_tell_on_the_way() {
    for generation in GENERATIONS {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        let schema = provider.schema().await.unwrap();
        let fire = config(
            schema.actions.get("model_fire").unwrap(),
            &[("target", text("a"))],
        );
        let told = Mutex::new(Vec::new());
        let keep = |text: &str| told.lock().unwrap().push(text.to_owned());
        none(provider.invoke_action("model_fire", &fire, &keep).await);
        assert_eq!(*told.lock().unwrap(), ["stage 1 with ***", "stage 2 with ***"]);
        provider.close().await;
    }
}

async fn objects_are_listed() {
    for generation in GENERATIONS {
        for fault in ["", "json", "odd"] {
            let bench = Bench::model(Script {
                fault: fault.to_owned(),
                ..Script::healthy(generation)
            });
            let provider = bench.started().await;
            let config = listing(&provider.schema().await.unwrap());
            none(provider.validate_list(THING, &config).await);
            let found = clean(provider.list(wholly(&config, 10)).await);
            assert_eq!(found.len(), 3);
            assert_eq!(found[1].identity.attr("name"), Some(text("a2")));
            // What is said is told with no secret in it.
            assert_eq!(found[1].display_name, "thing 2 with ***");
            assert_eq!(found[1].object.as_ref().unwrap().attr("name"), Some(text("a2")));
            assert!(bench.heard.lock().unwrap().contains(&text("hush")));
            for (limit, count) in [(0, 0), (2, 2), (3, 3), (4, 3)] {
                let request = ListRequest {
                    with_objects: false,
                    ..wholly(&config, limit)
                };
                let found = clean(provider.list(request).await);
                assert_eq!(found.len(), count);
                assert!(found.iter().all(|one| one.object.is_none()));
            }
            provider.close().await;
        }
    }
}

async fn what_is_write_only_is_sent_and_never_kept() {
    for generation in GENERATIONS {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        let schema = provider.schema().await.unwrap();
        assert!(schema.resources.get(THING).unwrap().block.attributes["key_wo"].write_only);
        let wanted = thing(&schema, &[("key_wo", text("k"))]);
        let nothing = Value::null(wanted.ty());
        // The model itself checks that we say we know of such attributes.
        none(provider.validate_resource(THING, &wanted).await);
        let planned = clean(provider.plan(planning(&nothing, &wanted)).await);
        assert!(planned.state.unwrap().attr("key_wo").unwrap().is_null());
        provider.close().await;
    }
}

async fn a_provider_may_put_off_what_it_is_allowed_to() {
    for generation in GENERATIONS {
        let bench = Bench::model(Script::healthy(generation));
        let provider = bench.started().await;
        let schema = provider.schema().await.unwrap();
        let wanted = thing(&schema, &[]);
        let nothing = Value::null(wanted.ty());
        for (allowed, deferred) in [(false, None), (true, Some(Deferred::AbsentPrereq))] {
            let mut request = planning(&nothing, &wanted);
            request.deferral_allowed = allowed;
            assert_eq!(clean(provider.plan(request).await).deferred, deferred);
        }
        provider.close().await;
    }
}

async fn a_schema_that_is_optional_is_asked_once() {
    for (optional, times) in [(true, 1), (false, 2)] {
        let bench = Bench::model(Script {
            schema_is_optional: optional,
            ..Script::healthy(6)
        });
        for _ in 0..2 {
            let provider = bench.started().await;
            assert!(provider.schema().await.unwrap().resources.contains_key(THING));
            provider.close().await;
        }
        let asked = bench
            .calls()
            .iter()
            .filter(|call| *call == "GetProviderSchema")
            .count();
        // Plugins of the old SDK must be asked before anything else, though the answer is known.
        assert_eq!(asked, times, "optional: {optional}");
    }
}
