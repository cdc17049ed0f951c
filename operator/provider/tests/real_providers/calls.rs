//! Calls beside the changes of objects: ephemeral resources, functions, and refusals.

use std::sync::{Arc, Mutex};

use ashlar_port::Providers;
use ashlar_value::Value;

use crate::{
    KILN,
    setup::values::{clean, config, none, text},
    workspace::{Workspace, configured},
};

#[tokio::test(flavor = "multi_thread")]
async fn ephemeral_resources_over_both_protocols() {
    let mut workspace = Workspace::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let secrets = heard.clone();
    workspace.secrets = Arc::new(move |_, result| secrets.lock().unwrap().extend(result.attr("token")));
    let plugins = workspace.plugins(&["hashicorp/random", KILN]);
    let five = configured(&plugins, "hashicorp/random").await;
    let kind = "random_password";
    let schema = five.schema().await.unwrap();
    let wanted = config(
        &schema.ephemeral_resources.get(kind).unwrap().block,
        &[("length", Value::number(12_i64))],
    );
    none(five.validate_ephemeral(kind, &wanted).await);
    let opened = clean(five.open_ephemeral(kind, &wanted).await);
    let result = opened.result.unwrap().attr("result").unwrap();
    assert_eq!(result.as_str().unwrap().len(), 12);
    assert_eq!(opened.renew_at, None);
    none(five.close_ephemeral(kind, &opened.private).await);

    let six = configured(&plugins, KILN).await;
    let kind = "kiln_key";
    let schema = six.schema().await.unwrap();
    let block = &schema.ephemeral_resources.get(kind).unwrap().block;
    let of = |fail: &str| {
        let given = [
            ("name", text("k")),
            ("renew_ms", Value::number(60_000_i64)),
            ("fail", text(fail)),
        ];
        config(block, &given)
    };
    let opened = clean(six.open_ephemeral(kind, &of("close")).await);
    assert_eq!(*heard.lock().unwrap(), [text("token-k")]);
    // In this century, in milliseconds.
    assert!((1_700_000_000_000..4_100_000_000_000).contains(&opened.renew_at.unwrap()));
    let renewed = clean(six.renew_ephemeral(kind, &opened.private).await);
    assert!(renewed.renew_at >= opened.renew_at);
    assert_eq!(renewed.private, opened.private, "what is not given anew stays");
    let told = six.close_ephemeral(kind, &renewed.private).await;
    assert_eq!(told[0].summary, "Cannot close the key");
    let refused = six.open_ephemeral(kind, &of("open")).await;
    assert_eq!(refused.diags[0].summary, "Cannot open the key");
    for provider in [five, six] {
        provider.close().await;
    }
}

/// Providers of both generations that were not configured.
#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called() {
    let workspace = Workspace::new();
    let plugins = workspace.plugins(&["hashicorp/time", KILN]);
    let call = async |source: &str, name: &str, args: &[Value]| {
        let provider = plugins.start(&source.parse().unwrap()).await.unwrap();
        let answer = provider.call_function(name, args).await;
        provider.close().await;
        answer
    };
    let parsed = call("hashicorp/time", "rfc3339_parse", &[text("2026-01-02T03:04:05Z")]).await;
    let parsed = parsed.unwrap();
    assert_eq!(parsed.attr("month"), Some(Value::number(1_i64)));
    assert_eq!(
        call(KILN, "fuse", &[text("-"), text("a"), text("b")]).await,
        Ok(text("a-b"))
    );
    // Unknown and null where the signature lets them through.
    assert_eq!(
        call(KILN, "describe", &[Value::dynamic()]).await,
        Ok(text("unknown"))
    );
    let refused = call(KILN, "refuse", &[text("x")]).await.unwrap_err();
    assert_eq!(refused.argument, Some(0));
    let failed = call(KILN, "parse_tag", &[text("x")]).await.unwrap_err();
    assert_eq!(failed.argument, None);
    let unknown = call(KILN, "nope", &[]).await.unwrap_err();
    assert!(
        unknown.message.contains("unknown function \"nope\""),
        "{}",
        unknown.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_carry_their_path() {
    let workspace = Workspace::new();
    let plugins = workspace.plugins(&["hashicorp/random"]);
    let provider = configured(&plugins, "hashicorp/random").await;
    let schema = provider.schema().await.unwrap();
    let settings = config(
        &schema.resources.get("random_string").unwrap().block,
        &[("length", Value::number(0_i64))],
    );
    let diags = provider.validate_resource("random_string", &settings).await;
    assert_eq!(
        diags[0].path.as_ref().unwrap().to_string(),
        ".length",
        "{diags:?}"
    );
    let diags = provider.validate_resource("random_nonsense", &settings).await;
    assert_eq!(diags[0].summary, "unknown resource type \"random_nonsense\"");
}
