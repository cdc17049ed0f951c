//! One way through our traits to each call, with the model's types.

use ashlar_diag::Severity;
use ashlar_port::{
    ApplyRequest, CallFault, ImportRequest, Imported, ListRequest, MoveRequest, PlanRequest, Provider,
    ProviderDiag, ReadDataRequest, ReadRequest, UpgradeRequest,
};
use ashlar_value::{Type, Value, schema::ProviderSchema};

use crate::setup::values::{config, text};

pub(crate) const THING: &str = "model_thing";
pub(crate) const STORED: &[u8] =
    br#"{"id":"old","name":"a","secret":null,"key_wo":null,"size":1,"tags":{"k":"v"}}"#;

/// A configuration of the model's resource type, which is also a state of it.
pub(crate) fn thing(schema: &ProviderSchema, given: &[(&str, Value)]) -> Value {
    config(&schema.resources.get(THING).unwrap().block, given)
}

/// Makes the call, with arguments that a healthy plugin takes without a remark.
pub(crate) async fn drive(call: &str, provider: &dyn Provider) -> Vec<ProviderDiag> {
    let schema = match provider.schema().await {
        Ok(schema) => schema,
        Err(diags) => {
            let remark = |diag: ashlar_diag::Diag| ProviderDiag {
                severity: diag.severity,
                summary: diag.summary.into_owned(),
                detail: diag.detail,
                path: None,
                fault: Some(CallFault::NotHeard),
            };
            return diags.into_iter().map(remark).collect();
        }
    };
    let named = [("name", text("a"))];
    let settings = config(&schema.provider.block, &[("region", text("north"))]);
    let object = thing(&schema, &[("id", text("made")), ("name", text("a"))]);
    let nothing = Value::null(schema.resources.get(THING).unwrap().block.ty());
    let data = config(&schema.data_sources.get("model_data").unwrap().block, &named);
    let key = config(
        &schema.ephemeral_resources.get("model_key").unwrap().block,
        &named,
    );
    let fire = config(
        schema.actions.get("model_fire").unwrap(),
        &[("target", text("a"))],
    );
    let identity = Value::object(named.clone());
    match call {
        // Asked when the schema was.
        "GetProviderSchema" | "GetResourceIdentitySchemas" => Vec::new(),
        "ValidateProviderConfig" => provider.validate_provider(&settings).await,
        "ConfigureProvider" => provider.configure(&settings).await,
        "ValidateResourceConfig" => provider.validate_resource(THING, &object).await,
        "ValidateDataResourceConfig" => provider.validate_data("model_data", &data).await,
        "ValidateEphemeralResourceConfig" => provider.validate_ephemeral("model_key", &key).await,
        "OpenEphemeralResource" => provider.open_ephemeral("model_key", &key).await.diags,
        "RenewEphemeralResource" => provider.renew_ephemeral("model_key", b"k").await.diags,
        "CloseEphemeralResource" => provider.close_ephemeral("model_key", b"k").await,
        "ValidateActionConfig" => provider.validate_action("model_fire", &fire).await,
        "PlanAction" => provider.plan_action("model_fire", &fire).await.diags,
        "InvokeAction" => provider.invoke_action("model_fire", &fire, &|_| {}).await,
        "ValidateListResourceConfig" => provider.validate_list(THING, &listing(&schema)).await,
        "ListResource" => {
            let config = listing(&schema);
            provider.list(wholly(&config, 10)).await.diags
        }
        "UpgradeResourceState" => {
            let request = UpgradeRequest {
                kind: THING,
                version: 0,
                json: STORED,
            };
            provider.upgrade_state(request).await.diags
        }
        "UpgradeResourceIdentity" => {
            let request = UpgradeRequest {
                kind: THING,
                version: 0,
                json: br#"{"name":"a"}"#,
            };
            provider.upgrade_identity(request).await.diags
        }
        "MoveResourceState" => {
            let request = MoveRequest {
                source_provider: "forge.test/model/elsewhere",
                source_kind: "elsewhere_thing",
                version: 0,
                json: STORED,
                private: b"p",
                identity: Some((0, br#"{"name":"a"}"#)),
                kind: THING,
            };
            provider.move_state(request).await.diags
        }
        "ImportResourceState" => {
            let request = ImportRequest {
                kind: THING,
                of: Imported::Identity(&identity),
                deferral_allowed: false,
            };
            provider.import(request).await.diags
        }
        "GenerateResourceConfig" => provider.generate_config(THING, &object).await.diags,
        "ReadResource" => provider.read(reading(&object)).await.diags,
        "PlanResourceChange" => provider.plan(planning(&nothing, &object)).await.diags,
        "ApplyResourceChange" => {
            let request = ApplyRequest {
                kind: THING,
                prior: &nothing,
                planned: &object,
                config: &object,
                private: b"p",
                identity: Some(&identity),
                meta: None,
            };
            provider.apply(request).await.diags
        }
        "ReadDataSource" => {
            let request = ReadDataRequest {
                kind: "model_data",
                config: &data,
                deferral_allowed: false,
                meta: None,
            };
            provider.read_data(request).await.diags
        }
        "CallFunction" => match provider.call_function("echo", &[text("hello")]).await {
            Ok(result) => {
                assert_eq!(result.ty(), Type::String);
                Vec::new()
            }
            Err(fault) => vec![ProviderDiag {
                severity: Severity::Error,
                summary: String::new(),
                detail: fault.message,
                path: None,
                fault: Some(CallFault::NotHeard),
            }],
        },
        "StopProvider" => {
            provider.stop().await;
            Vec::new()
        }
        other => panic!("nothing here leads to {other}"),
    }
}

/// What is to be listed.
pub(crate) fn listing(schema: &ProviderSchema) -> Value {
    config(&schema.lists.get(THING).unwrap().block, &[("prefix", text("a"))])
}

pub(crate) fn wholly(config: &Value, limit: u64) -> ListRequest<'_> {
    ListRequest {
        kind: THING,
        config,
        with_objects: true,
        limit,
    }
}

pub(crate) fn reading(object: &Value) -> ReadRequest<'_> {
    ReadRequest {
        kind: THING,
        current: object,
        private: b"p",
        identity: None,
        deferral_allowed: false,
        meta: None,
    }
}

pub(crate) fn planning<'a>(prior: &'a Value, config: &'a Value) -> PlanRequest<'a> {
    PlanRequest {
        kind: THING,
        prior,
        proposed: config,
        config,
        private: b"p",
        identity: None,
        deferral_allowed: false,
        meta: None,
    }
}
