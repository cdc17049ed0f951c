//! What the engine does with a provider, in small: configures it, plans and makes a change.

use ashlar_port::{Answer, Applied, ApplyRequest, PlanRequest, Planned, Provider, ReadRequest};
use ashlar_value::Value;

use super::values::{clean, config, none};

/// Checks and configures a started provider with its defaults.
pub(crate) async fn configure(provider: &dyn Provider) {
    let schema = provider.schema().await.unwrap();
    let settings = config(&schema.provider.block, &[]);
    none(provider.validate_provider(&settings).await);
    none(provider.configure(&settings).await);
}

/// A configuration of a resource type, checked by the provider.
pub(crate) async fn wanted(provider: &dyn Provider, kind: &str, given: &[(&str, Value)]) -> Value {
    let schema = provider.schema().await.unwrap();
    let wanted = config(&schema.resources.get(kind).unwrap().block, given);
    none(provider.validate_resource(kind, &wanted).await);
    wanted
}

/// An object as it is, with what was stored beside it.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) state: Value,
    pub(crate) private: Vec<u8>,
    pub(crate) identity: Option<Value>,
}

impl Object {
    /// None yet.
    pub(crate) fn none(like: &Value) -> Self {
        Self {
            state: Value::null(like.ty()),
            private: Vec::new(),
            identity: None,
        }
    }

    pub(crate) fn attr(&self, name: &str) -> Value {
        self.state.attr(name).unwrap()
    }
}

/// Asks for a plan. What is to be made is proposed as it is configured, with the rest as it was.
pub(crate) async fn plan(
    provider: &dyn Provider,
    kind: &str,
    prior: &Object,
    config: &Value,
) -> Answer<Planned> {
    let proposed = match (prior.state.as_entries(), config.as_entries()) {
        (Some(before), Some(wanted)) => Value::object(wanted.iter().map(|(name, value)| {
            let kept = if value.is_null() { &before[name] } else { value };
            (name.to_string(), kept.clone())
        })),
        _ => config.clone(),
    };
    let request = PlanRequest {
        kind,
        prior: &prior.state,
        proposed: &proposed,
        config,
        private: &prior.private,
        identity: prior.identity.as_ref(),
        deferral_allowed: false,
        meta: None,
    };
    provider.plan(request).await
}

/// A plan that the provider has nothing to say about.
pub(crate) async fn planned(provider: &dyn Provider, kind: &str, prior: &Object, config: &Value) -> Planned {
    clean(plan(provider, kind, prior, config).await)
}

/// Plans a change and asks for it to be made.
pub(crate) async fn apply(
    provider: &dyn Provider,
    kind: &str,
    prior: &Object,
    config: &Value,
) -> Answer<Applied> {
    let planned = planned(provider, kind, prior, config).await;
    let request = ApplyRequest {
        kind,
        prior: &prior.state,
        planned: planned.state.as_ref().unwrap(),
        config,
        private: &planned.private,
        identity: planned.identity.as_ref(),
        meta: None,
    };
    provider.apply(request).await
}

/// Plans a change and makes it.
pub(crate) async fn change(provider: &dyn Provider, kind: &str, prior: &Object, config: &Value) -> Object {
    let applied = clean(apply(provider, kind, prior, config).await);
    Object {
        state: applied.state.unwrap(),
        private: applied.private,
        identity: applied.identity,
    }
}

/// Reads an object anew.
pub(crate) async fn read(provider: &dyn Provider, kind: &str, object: &Object) -> Object {
    let request = ReadRequest {
        kind,
        current: &object.state,
        private: &object.private,
        identity: object.identity.as_ref(),
        deferral_allowed: false,
        meta: None,
    };
    let read = clean(provider.read(request).await);
    Object {
        state: read.state.unwrap(),
        private: read.private,
        identity: read.identity,
    }
}
