//! Objects of real providers from their making to their end, over both protocols.

use ashlar_addr::Provider as Address;
use ashlar_port::{Providers, ReadDataRequest, UpgradeRequest};
use ashlar_value::{Value, json};

use crate::{
    KILN,
    setup::{
        change::{Object, change, planned, read, wanted},
        values::{clean, config, text},
    },
    until,
    workspace::{Workspace, configured},
};

/// Creates an object, reads it, upgrades it, plans it again and deletes it.
async fn life(source: &str, kind: &str, given: &[(&str, Value)], computed: &[&str]) {
    let workspace = Workspace::new();
    let plugins = workspace.plugins(&[source]);
    let address: Address = source.parse().unwrap();
    let schema = plugins
        .schema(&address)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    assert_eq!(workspace.running(), 1, "the schema is asked of a process");
    let provider = configured(&plugins, source).await;
    assert_eq!(workspace.running(), 1, "and that process is the first instance");
    let provider = &*provider;

    let resource = schema.resources.get(kind).unwrap();
    let ty = resource.block.ty();
    let settings = wanted(provider, kind, given).await;
    let made = change(provider, kind, &Object::none(&settings), &settings).await;
    assert!(made.state.is_wholly_known());
    for name in computed {
        assert!(!made.attr(name).is_null(), "{kind}.{name}");
    }

    // Providers of the old SDK answer with empty values where there was null.
    let found = read(provider, kind, &made).await;
    for (name, value) in made
        .state
        .as_entries()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
    {
        assert!(
            found.attr(name) == *value,
            "{kind}.{name}: reading gives what was made"
        );
    }

    let stored = json::encode(&found.state, &ty).unwrap();
    let request = UpgradeRequest {
        kind,
        version: resource.version,
        json: &stored,
    };
    let upgraded = clean(provider.upgrade_state(request).await);
    assert!(
        upgraded == Some(found.state.clone()),
        "{kind}: nothing to upgrade"
    );

    let again = planned(provider, kind, &found, &settings).await;
    assert!(
        again.state == Some(found.state.clone()) && again.requires_replace.is_empty(),
        "{kind}: no change"
    );

    let gone = change(provider, kind, &found, &Value::null(ty)).await;
    assert!(gone.state.is_null());
    provider.close().await;
    assert_eq!(workspace.running(), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn random_over_protocol_5() {
    life(
        "hashicorp/random",
        "random_pet",
        &[("length", Value::number(2_i64))],
        &["id"],
    )
    .await;
    let given = [("min", Value::number(1_i64)), ("max", Value::number(9_i64))];
    life("hashicorp/random", "random_integer", &given, &["id", "result"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls() {
    life(
        "hashicorp/tls",
        "tls_private_key",
        &[("algorithm", text("ED25519"))],
        &["private_key_pem"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time() {
    life(
        "hashicorp/time",
        "time_static",
        &[("rfc3339", text("2026-01-02T03:04:05Z"))],
        &["unix"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kiln_over_protocol_6() {
    life(KILN, "kiln_pot", &[("name", text("a"))], &["id"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kilnv5_over_protocol_5() {
    life(
        "forge.test/studio/kilnv5",
        "kilnv5_pot",
        &[("name", text("a"))],
        &["id"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_and_data() {
    let workspace = Workspace::new();
    let plugins = workspace.plugins(&[KILN]);
    let provider = configured(&plugins, KILN).await;
    let schema = provider.schema().await.unwrap();
    let kind = "kiln_brick";
    assert!(schema.resources.get(kind).unwrap().identity.is_some());
    let settings = wanted(&*provider, kind, &[("name", text("b"))]).await;
    let made = change(&*provider, kind, &Object::none(&settings), &settings).await;
    assert!(made.identity.is_some_and(|identity| identity.is_wholly_known()));

    let pot = config(
        &schema.data_sources.get("kiln_pot").unwrap().block,
        &[("name", text("nobody"))],
    );
    let request = ReadDataRequest {
        kind: "kiln_pot",
        config: &pot,
        deferral_allowed: false,
        meta: None,
    };
    let answer = provider.read_data(request).await;
    assert!(answer.has_errors(), "there is no such pot");
    // Nothing ends what is in use but its own close, or its drop.
    drop(provider);
    until(|| workspace.running() == 0).await;
}
