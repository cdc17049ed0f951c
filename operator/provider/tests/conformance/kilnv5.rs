//! Protocol 5 as the old SDK speaks it.

use ashlar_port::{ImportRequest, Imported, MoveRequest, Provider, ReadDataRequest, UpgradeRequest};
use ashlar_value::{Value, json};

use crate::{
    bench::Bench,
    harness::cases,
    kiln, rpcs,
    setup::{
        change::{Object, change, configure, planned, read, wanted},
        values::{clean, config, none, text},
    },
};

cases![every_call];

const SOURCE: &str = "forge.test/studio/kilnv5";

/// One process is asked everything; at the end its own record must hold all that the table says.
async fn every_call() {
    let bench = Bench::real(SOURCE);
    let provider = bench.started().await;
    let provider = &*provider;
    configure(provider).await;
    life(provider).await;
    identities(provider).await;
    older_and_other_types(provider).await;
    generated(provider).await;
    write_only(provider).await;
    data(provider).await;
    kiln::fires(provider, "kilnv5_fire").await;
    let schema = provider.schema().await.unwrap();
    assert!(
        schema.ephemeral_resources.is_empty() && schema.functions.is_empty() && schema.lists.is_empty(),
        "or the table of calls is not true any more"
    );
    provider.stop().await;
    rpcs::check_operations(&bench, |rpc| rpc.kilnv5);
    provider.close().await;
}

async fn life(provider: &dyn Provider) {
    let kind = "kilnv5_pot";
    let given = [
        ("name", text("a")),
        ("secret", text("hush")),
        ("size", Value::number(10_i64)),
    ];
    let first = wanted(provider, kind, &given).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    assert_eq!(made.attr("id"), text("pot-a-1"));
    let same = read(provider, kind, &made).await;
    assert_eq!(same.attr("secret"), text("hush"));
    let again = planned(provider, kind, &same, &first).await;
    assert!(again.legacy_type_system && again.requires_replace.is_empty());
    let small = wanted(
        provider,
        kind,
        &[("name", text("a")), ("size", Value::number(3_i64))],
    )
    .await;
    let other = planned(provider, kind, &made, &small).await;
    let replacing: Vec<String> = other.requires_replace.iter().map(ToString::to_string).collect();
    assert_eq!(replacing, [".size", ".id"]);
    let glazed = wanted(
        provider,
        kind,
        &[
            ("name", text("a")),
            ("glaze", text("blue")),
            ("size", Value::number(10_i64)),
        ],
    )
    .await;
    let made = change(provider, kind, &made, &glazed).await;
    assert_eq!(made.attr("glaze"), text("blue"));
    let bad = config(
        &provider
            .schema()
            .await
            .unwrap()
            .resources
            .get(kind)
            .unwrap()
            .block,
        &[("name", text("a")), ("grade", Value::number(11_i64))],
    );
    let refused = provider.validate_resource(kind, &bad).await;
    assert_eq!(refused[0].path.as_ref().unwrap().to_string(), ".grade");
    let gone = change(provider, kind, &made, &Value::null(first.ty())).await;
    assert!(gone.state.is_null());
}

async fn identities(provider: &dyn Provider) {
    let kind = "kilnv5_brick";
    let schema = provider.schema().await.unwrap();
    let identity = schema.resources.get(kind).unwrap().identity.clone().unwrap();
    let first = wanted(provider, kind, &[("name", text("b")), ("site", text("main"))]).await;
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
        let (found, _) = clean(provider.import(request).await);
        assert_eq!(found[0].state.as_ref().unwrap().attr("id"), Some(text(&id)));
    }
    let json = json::encode(&named, &identity.ty()).unwrap();
    let request = UpgradeRequest {
        kind,
        version: identity.version,
        json: &json,
    };
    assert!(clean(provider.upgrade_identity(request).await) == Some(named));
}

async fn older_and_other_types(provider: &dyn Provider) {
    let request = UpgradeRequest {
        kind: "kilnv5_tile",
        version: 0,
        json: br#"{"id":"tile-t-1","name":"t","dims":"3x4"}"#,
    };
    let upgraded = clean(provider.upgrade_state(request).await).unwrap();
    assert_eq!(upgraded.attr("width"), Some(Value::number(3_i64)));
    // The old SDK takes nothing from elsewhere, and says so.
    let request = MoveRequest {
        source_provider: "forge.test/studio/kiln",
        source_kind: "kiln_jar",
        version: 0,
        json: br#"{"id":"jar-j-1","name":"j","volume":5}"#,
        private: &[],
        identity: None,
        kind: "kilnv5_jar",
    };
    let refused = provider.move_state(request).await;
    assert!(
        refused.has_errors() && refused.diags[0].fault.is_none(),
        "{:?}",
        refused.diags
    );
}

/// From a state what a person would have written.
async fn generated(provider: &dyn Provider) {
    let kind = "kilnv5_pot";
    assert!(provider.schema().await.unwrap().generate_resource_config);
    let given = [
        ("name", text("g")),
        ("glaze", text("blue")),
        ("size", Value::number(10_i64)),
    ];
    let first = wanted(provider, kind, &given).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    let config = clean(provider.generate_config(kind, &made.state).await).unwrap();
    assert_eq!(config.attr("glaze"), Some(text("blue")));
    // What the provider alone sets is not written.
    assert!(config.attr("revision").unwrap().is_null());
}

async fn write_only(provider: &dyn Provider) {
    let kind = "kilnv5_vault";
    let given = [
        ("name", text("v")),
        ("secret_wo", text("hush")),
        ("secret_wo_version", Value::number(1_i64)),
    ];
    let first = wanted(provider, kind, &given).await;
    let made = change(provider, kind, &Object::none(&first), &first).await;
    assert!(made.attr("secret_wo").is_null() && !made.attr("secret_digest").is_null());
}

async fn data(provider: &dyn Provider) {
    let schema = provider.schema().await.unwrap();
    let pot = config(
        &schema.data_sources.get("kilnv5_pot").unwrap().block,
        &[("name", text("nobody"))],
    );
    none(provider.validate_data("kilnv5_pot", &pot).await);
    let request = ReadDataRequest {
        kind: "kilnv5_pot",
        config: &pot,
        deferral_allowed: false,
        meta: None,
    };
    let answer = provider.read_data(request).await;
    assert!(
        answer.has_errors() && answer.diags[0].fault.is_none(),
        "there is no such pot"
    );
}
