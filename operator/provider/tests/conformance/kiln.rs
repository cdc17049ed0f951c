//! Protocol 6 as the plugin framework speaks it.

use std::sync::Mutex;

use ashlar_port::{
    Deferred, ImportRequest, Imported, ListRequest, MoveRequest, PlanRequest, Provider, ReadDataRequest,
    UpgradeRequest,
};
use ashlar_value::{Value, json};

use crate::{
    bench::Bench,
    harness::cases,
    rpcs,
    setup::{
        change::{Object, change, configure, planned, read, wanted},
        values::{clean, config, none, text},
    },
};

cases![every_call];

const SOURCE: &str = "forge.test/studio/kiln";

/// One process is asked everything; at the end its own record must hold all that the table says.
async fn every_call() {
    let bench = Bench::real(SOURCE);
    let provider = bench.started().await;
    let provider = &*provider;
    configure(provider).await;
    life(provider).await;
    identities(provider).await;
    older_and_other_types(provider).await;
    write_only(provider).await;
    deferral(provider).await;
    data(provider).await;
    ephemeral(provider).await;
    actions(provider).await;
    lists(provider).await;
    functions(provider).await;
    let schema = provider.schema().await.unwrap();
    assert!(
        !schema.generate_resource_config,
        "or the table of calls is not true any more"
    );
    provider.stop().await;
    rpcs::check_operations(&bench, |rpc| rpc.kiln);
    provider.close().await;
}

async fn life(provider: &dyn Provider) {
    let kind = "kiln_pot";
    let first = wanted(provider, kind, &[("name", text("a")), ("secret", text("hush"))]).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    assert_eq!(made.attr("id"), text("pot-a-1"));
    assert!(made.state.is_wholly_known());
    let same = read(provider, kind, &made).await;
    assert!(same.state == made.state);
    let again = planned(provider, kind, &same, &first).await;
    assert!(again.state == Some(made.state.clone()) && again.requires_replace.is_empty());
    let clay = wanted(provider, kind, &[("name", text("a")), ("clay", text("red"))]).await;
    let other = planned(provider, kind, &made, &clay).await;
    assert_eq!(other.requires_replace[0].to_string(), ".clay");
    let glazed = wanted(provider, kind, &[("name", text("a")), ("glaze", text("blue"))]).await;
    let made = change(provider, kind, &made, &glazed).await;
    assert_eq!(made.attr("glaze"), text("blue"));
    let leaded = config(
        &provider
            .schema()
            .await
            .unwrap()
            .resources
            .get(kind)
            .unwrap()
            .block,
        &[("name", text("a")), ("glaze", text("lead"))],
    );
    let refused = provider.validate_resource(kind, &leaded).await;
    assert_eq!(refused[0].path.as_ref().unwrap().to_string(), ".glaze");
    let gone = change(provider, kind, &made, &Value::null(first.ty())).await;
    assert!(gone.state.is_null());
}

async fn identities(provider: &dyn Provider) {
    let kind = "kiln_brick";
    let schema = provider.schema().await.unwrap();
    let identity = schema.resources.get(kind).unwrap().identity.clone().unwrap();
    assert!(
        identity.attributes["name"].1 && !identity.attributes["site"].1,
        "which are needed for an import"
    );
    let first = wanted(provider, kind, &[("name", text("b"))]).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    let named = made.identity.clone().unwrap();
    assert_eq!(
        (named.attr("name"), named.attr("site")),
        (Some(text("b")), Some(text("main")))
    );
    let id = made.attr("id").as_str().unwrap().to_string();
    for of in [Imported::Id(&id), Imported::Identity(&named)] {
        let request = ImportRequest {
            kind,
            of,
            deferral_allowed: false,
        };
        let (found, deferred) = clean(provider.import(request).await);
        assert_eq!((found.len(), deferred), (1, None));
        assert_eq!(found[0].state.as_ref().unwrap().attr("id"), Some(text(&id)));
        let object = Object {
            state: found[0].state.clone().unwrap(),
            private: found[0].private.clone(),
            identity: found[0].identity.clone(),
        };
        let read = read(provider, kind, &object).await;
        assert!(read.identity == Some(named.clone()));
    }
    let json = json::encode(&named, &identity.ty()).unwrap();
    let request = UpgradeRequest {
        kind,
        version: identity.version,
        json: &json,
    };
    // There is no older version: the framework has an opinion on being asked.
    let refused = provider.upgrade_identity(request).await;
    assert_eq!(refused.diags[0].summary, "Unexpected Identity Upgrade Request");
    assert!(refused.diags[0].fault.is_none());
}

async fn older_and_other_types(provider: &dyn Provider) {
    let request = UpgradeRequest {
        kind: "kiln_tile",
        version: 0,
        json: br#"{"id":"tile-t-1","name":"t","dims":"3x4"}"#,
    };
    let upgraded = clean(provider.upgrade_state(request).await).unwrap();
    let width = upgraded.attr("geometry").unwrap().attr("width");
    assert_eq!(width, Some(Value::number(3_i64)));
    let jar = |source_provider| MoveRequest {
        source_provider,
        source_kind: "kiln_jar",
        version: 0,
        json: br#"{"id":"jar-j-1","name":"j","volume":5}"#,
        private: &[],
        identity: None,
        kind: "kiln_urn",
    };
    let moved = clean(provider.move_state(jar("forge.test/studio/kiln")).await);
    assert_eq!(moved.state.unwrap().attr("volume"), Some(Value::number(5_i64)));
    let refused = provider.move_state(jar("forge.test/studio/stranger")).await;
    assert!(refused.has_errors() && refused.diags[0].fault.is_none());
}

async fn write_only(provider: &dyn Provider) {
    let kind = "kiln_vault";
    let given = [
        ("name", text("v")),
        ("secret_wo", text("hush")),
        ("secret_wo_version", Value::number(1_i64)),
    ];
    let first = wanted(provider, kind, &given).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    assert!(made.attr("secret_wo").is_null() && !made.attr("secret_digest").is_null());
}

async fn deferral(provider: &dyn Provider) {
    let kind = "kiln_gate";
    let waiting = wanted(
        provider,
        kind,
        &[("name", text("g")), ("wait", Value::bool(true))],
    )
    .await;
    let nothing = Value::null(waiting.ty());
    for (deferral_allowed, deferred) in [(false, None), (true, Some(Deferred::AbsentPrereq))] {
        let request = PlanRequest {
            kind,
            prior: &nothing,
            proposed: &waiting,
            config: &waiting,
            private: &[],
            identity: None,
            deferral_allowed,
            meta: None,
        };
        assert_eq!(clean(provider.plan(request).await).deferred, deferred);
    }
}

async fn data(provider: &dyn Provider) {
    let schema = provider.schema().await.unwrap();
    let echo = config(
        &schema.data_sources.get("kiln_echo").unwrap().block,
        &[("input", text("x"))],
    );
    none(provider.validate_data("kiln_echo", &echo).await);
    let request = ReadDataRequest {
        kind: "kiln_echo",
        config: &echo,
        deferral_allowed: false,
        meta: None,
    };
    let (state, _) = clean(provider.read_data(request).await);
    assert_eq!(state.unwrap().attr("output"), Some(text("X")));
}

async fn ephemeral(provider: &dyn Provider) {
    let schema = provider.schema().await.unwrap();
    let given = [("name", text("k")), ("renew_ms", Value::number(60_000_i64))];
    let key = config(&schema.ephemeral_resources.get("kiln_key").unwrap().block, &given);
    none(provider.validate_ephemeral("kiln_key", &key).await);
    let opened = clean(provider.open_ephemeral("kiln_key", &key).await);
    assert_eq!(opened.result.unwrap().attr("token"), Some(text("token-k")));
    let renewed = clean(provider.renew_ephemeral("kiln_key", &opened.private).await);
    assert!(renewed.renew_at >= opened.renew_at);
    none(provider.close_ephemeral("kiln_key", &renewed.private).await);
}

async fn actions(provider: &dyn Provider) {
    fires(provider, "kiln_fire").await;
}

/// Shared with the other provider, which has the same action.
pub(crate) async fn fires(provider: &dyn Provider, kind: &str) {
    let schema = provider.schema().await.unwrap();
    let fire = |fail: &str| {
        let fail = if fail.is_empty() {
            Value::null(ashlar_value::Type::String)
        } else {
            text(fail)
        };
        let given = [
            ("target", text("a")),
            ("stages", Value::number(2_i64)),
            ("fail", fail),
        ];
        config(schema.actions.get(kind).unwrap(), &given)
    };
    none(provider.validate_action(kind, &fire("")).await);
    assert_eq!(clean(provider.plan_action(kind, &fire("")).await), None);
    let refused = provider.plan_action(kind, &fire("plan")).await;
    assert_eq!(refused.diags[0].summary, "Cannot plan the firing");
    let told = Mutex::new(Vec::new());
    let keep = |text: &str| told.lock().unwrap().push(text.to_owned());
    none(provider.invoke_action(kind, &fire(""), &keep).await);
    assert_eq!(*told.lock().unwrap(), ["firing a: stage 1", "firing a: stage 2"]);
    let failed = provider.invoke_action(kind, &fire("invoke"), &keep).await;
    assert_eq!(failed[0].summary, "The firing failed");
}

fn bricks(config: &Value) -> ListRequest<'_> {
    ListRequest {
        kind: "kiln_brick",
        config,
        with_objects: true,
        limit: 10,
    }
}

/// What `identities` made is there.
async fn lists(provider: &dyn Provider) {
    let kind = "kiln_brick";
    let schema = provider.schema().await.unwrap();
    let of = |given: &[(&str, Value)]| config(&schema.lists.get(kind).unwrap().block, given);
    let refused = provider
        .validate_list(kind, &of(&[("site", text("nowhere"))]))
        .await;
    assert_eq!(refused[0].path.as_ref().unwrap().to_string(), ".site");
    let all = of(&[]);
    none(provider.validate_list(kind, &all).await);
    let found = clean(provider.list(bricks(&all)).await);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].display_name.as_str(), found[0].identity.attr("site")),
        ("Brick b", Some(text("main")))
    );
    assert_eq!(found[0].object.as_ref().unwrap().attr("name"), Some(text("b")));
    // What came before an error is given with it; a warning alone belongs to no object.
    let broken = provider.list(bricks(&of(&[("fail", text("late"))]))).await;
    assert_eq!(
        (broken.value.len(), &*broken.diags[0].summary),
        (1, "The list broke off")
    );
    let warned = provider.list(bricks(&of(&[("fail", text("warn"))]))).await;
    assert_eq!(
        (warned.value.len(), &*warned.diags[0].summary),
        (1, "Bricks are old")
    );
    assert!(!warned.has_errors());
}

async fn functions(provider: &dyn Provider) {
    let joined = provider
        .call_function("fuse", &[text("-"), text("a"), text("b")])
        .await;
    assert_eq!(joined, Ok(text("a-b")));
    assert_eq!(
        provider.call_function("describe", &[Value::dynamic()]).await,
        Ok(text("unknown"))
    );
    let refused = provider.call_function("refuse", &[text("x")]).await.unwrap_err();
    assert_eq!(refused.argument, Some(0));
}
