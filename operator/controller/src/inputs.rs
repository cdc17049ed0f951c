//! What a workspace's plans are made from: files, values and environment, read from the object and what it refers to.
//!
//! Read anew in each pass, so that a changed Secret shows at once. What was read is told by keyed hashes alone.

mod digest;
mod objects;

use std::{collections::BTreeMap, sync::Arc};

use ashlar_api::{InputKind, ObservedInput, Workspace, WorkspaceSpec, WorkspaceStatus};
use ashlar_store::kube::WorkspaceKeys;
use ashlar_value::Dialect;
use jiff::Timestamp;
use kube::Client;

use self::{digest::digest, objects::read_all};
pub(crate) use self::{
    digest::{canonical, value_parts},
    objects::{Data, Found, references, target, text_of},
};
use crate::{
    beside::beside,
    context::Context,
    decide::{InputFault, SourceSeen},
    index::Reference,
    message::Secrets,
    package::Package,
    source::{self, Order, Values},
    valued::{Missing, Valued, valued},
    values::Given,
};

/// Inputs as they were found.
pub(crate) struct Inputs {
    pub(crate) material: Material,
    /// Values of variables, later ones already having won.
    pub(crate) values: BTreeMap<String, Given>,
    /// The environment of provider processes.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) secrets: Secrets,
    pub(crate) digest: String,
    pub(crate) observed: Vec<ObservedInput>,
}

/// Where the module's files are.
pub(crate) enum Material {
    /// Here.
    Files(Package),
    /// In what was fetched; a run takes them from there.
    Fetched(Box<Order>),
}

/// Is it a file of the root module?
fn is_root_file(name: &str, dialect: Dialect) -> bool {
    !name.contains('/') && ashlar_config::is_config(name, dialect)
}

/// Why inputs could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GatherError {
    /// They are not there or not fit.
    #[error("inputs are missing or unusable")]
    Fault(InputFault),
    /// The API server did not give them.
    #[error("cannot read {what}")]
    Api {
        what: String,
        #[source]
        source: Box<kube::Error>,
    },
}

/// What was gathered of a workspace.
pub(crate) struct Gathered {
    pub(crate) inputs: Result<Inputs, InputFault>,
    /// The source, if it is one that is fetched.
    pub(crate) source: Option<SourceSeen>,
    /// How to fetch it.
    pub(crate) order: Option<Order>,
}

/// Reads the inputs of a workspace.
pub(crate) async fn gather(
    context: &Context,
    namespace: &str,
    workspace: &Workspace,
    status: &WorkspaceStatus,
    keys: &WorkspaceKeys,
    now: Timestamp,
) -> Result<Gathered, GatherError> {
    let spec = &workspace.spec;
    let objects = read_all(&context.client, namespace, spec).await?;
    let found = Found { objects: &objects };
    let sidecars = beside(&context.sidecars, namespace, spec);
    let valued = valued(spec, &found, Missing::Refused);
    let files = match spec.source.is_fetched() {
        true => None,
        false => {
            let files = bundle(spec, &found);
            match files {
                // The modules that they call are fetched.
                Ok(files) if files.may_call_modules() => Some(Arc::new(files)),
                files => {
                    let inputs = sidecars.and(files).and_then(|files| {
                        Ok(assemble(spec, &objects, Material::Files(files), valued?, keys))
                    });
                    return Ok(Gathered {
                        inputs,
                        source: None,
                        order: None,
                    });
                }
            }
        }
    };
    let values = match &valued {
        Ok(valued) => Values::new(valued.values.clone(), keys),
        Err(fault) => Values::Missing(fault.message().to_owned()),
    };
    let sight = source::look(
        context,
        workspace,
        status.source.as_ref(),
        (&found, files, values),
        keys,
        now,
    )
    .await;
    let sight = sight.map_err(|source| GatherError::Api {
        what: "spec.source.sourceRef".to_owned(),
        source,
    })?;
    let inputs = match (&sight.seen.fault, &sight.order) {
        (None, Some(order)) => {
            let material = Material::Fetched(Box::new(order.clone()));
            let valued = sidecars.and(valued);
            valued.map(|valued| assemble(spec, &objects, material, valued, keys))
        }
        (Some(fault), _) => Err(fault.clone()),
        (None, None) => Err(InputFault::Invalid("spec.source names no source.".to_owned())),
    };
    Ok(Gathered {
        inputs,
        source: Some(sight.seen),
        order: sight.order,
    })
}

/// Reads the environment, and those values that can still be read: what is left where the source or other inputs are gone.
pub(crate) async fn gather_rest(
    client: &Client,
    namespace: &str,
    spec: &WorkspaceSpec,
) -> Result<Valued, GatherError> {
    let only = WorkspaceSpec {
        env: spec.env.clone(),
        variables: spec.variables.clone(),
        variables_from: spec.variables_from.clone(),
        ..WorkspaceSpec::default()
    };
    let objects = read_all(client, namespace, &only).await?;
    valued(&only, &Found { objects: &objects }, Missing::PassedOver).map_err(GatherError::Fault)
}

/// Puts the inputs together from what was read.
fn assemble(
    spec: &WorkspaceSpec,
    objects: &BTreeMap<Reference, Option<Data>>,
    material: Material,
    valued: Valued,
    keys: &WorkspaceKeys,
) -> Inputs {
    let Valued { values, env, secrets } = valued;
    let digest = digest(spec, &material, &values, &env, keys);
    let observed = objects.iter().filter_map(|(reference, data)| {
        Some(ObservedInput {
            kind: reference.kind.as_str().to_owned(),
            name: reference.name.clone(),
            hash: keys.keyed_hash(&canonical(
                data.as_ref()?
                    .iter()
                    .map(|(key, value)| (key.as_bytes(), value.as_slice())),
            )),
        })
    });
    let observed = observed.take(100).collect();
    Inputs {
        material,
        values,
        env,
        secrets,
        digest,
        observed,
    }
}

fn bundle(spec: &WorkspaceSpec, found: &Found<'_>) -> Result<Package, InputFault> {
    let mut bundle = BTreeMap::new();
    if let Some(inline) = &spec.source.inline {
        bundle.extend(
            inline
                .files
                .iter()
                .map(|(name, text)| (name.clone(), text.0.clone())),
        );
    }
    if let Some(map) = &spec.source.config_map_ref {
        for (key, bytes) in found
            .object(InputKind::ConfigMap, &map.name, false)?
            .into_iter()
            .flatten()
        {
            bundle.insert(key.clone(), text_of(InputKind::ConfigMap, &map.name, key, bytes)?);
        }
    }
    if !bundle.keys().any(|name| is_root_file(name, Dialect::OpenTofu)) {
        return Err(InputFault::Invalid(
            "The source holds no configuration: no file beside the root ends in .tf or .tf.json.".to_owned(),
        ));
    }
    if let Some(name) = bundle.keys().find(|name| !is_inside(name)) {
        return Err(InputFault::Invalid(format!(
            "The source holds a file {name:?}, whose name leads out of it."
        )));
    }
    Ok(Package::of_texts(bundle))
}

/// Is it a path that stays below where it begins?
fn is_inside(path: &str) -> bool {
    path.split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.contains('\0')
}

/// The dialect that the object asks for.
pub(crate) fn dialect(asked: ashlar_api::Dialect) -> Dialect {
    match asked {
        ashlar_api::Dialect::Terraform => Dialect::Terraform,
        ashlar_api::Dialect::OpenTofu => Dialect::OpenTofu,
    }
}

#[cfg(test)]
mod tests {
    use ashlar_store::kube::OperatorKey;
    use serde_json::json;

    use super::*;

    fn spec(extra: serde_json::Value) -> WorkspaceSpec {
        let mut json = json!({"source": {"inline": {"files": {"main.tf": "", "t/x.tpl": "x"}}}});
        json.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        serde_json::from_value(json).unwrap()
    }

    fn objects(secret: Option<&str>) -> BTreeMap<Reference, Option<Data>> {
        let reference = Reference {
            kind: InputKind::Secret,
            name: "s".to_owned(),
        };
        [(
            reference,
            secret.map(|text| BTreeMap::from([("k".to_owned(), text.into())])),
        )]
        .into()
    }

    fn assembled(extra: serde_json::Value, secret: Option<&str>) -> Result<Inputs, InputFault> {
        let keys = OperatorKey::new([1; 32]).workspace("uid");
        let (spec, objects) = (spec(extra), objects(secret));
        let files = bundle(&spec, &Found { objects: &objects })?;
        let valued = valued(&spec, &Found { objects: &objects }, Missing::Refused)?;
        Ok(assemble(&spec, &objects, Material::Files(files), valued, &keys))
    }

    fn from_secret() -> serde_json::Value {
        json!({"variables": [{"name": "v", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})
    }

    #[test]
    fn a_value_of_a_secret_is_sensitive_and_changes_the_digest() {
        let one = assembled(from_secret(), Some("hunter22")).unwrap();
        assert!(one.values["v"].sensitive);
        assert_eq!(one.secrets.redact("is hunter22"), "is (sensitive value)");
        assert_eq!(
            one.digest,
            assembled(from_secret(), Some("hunter22")).unwrap().digest
        );
        assert_ne!(
            one.digest,
            assembled(from_secret(), Some("hunter23")).unwrap().digest
        );
    }

    #[test]
    fn another_dialect_changes_the_digest() {
        let digest = |spec| assembled(spec, None).unwrap().digest;
        assert_eq!(digest(json!({})), digest(json!({"dialect": "Terraform"})));
        assert_ne!(digest(json!({})), digest(json!({"dialect": "OpenTofu"})));
    }

    #[test]
    fn the_choice_of_sidecars_changes_the_digest_and_its_spelling_does_not() {
        let digest = |spec| assembled(spec, None).unwrap().digest;
        let named = |sidecars: serde_json::Value| digest(json!({"providers": {"sidecars": sidecars}}));
        let all = digest(json!({}));
        assert_eq!(all, digest(json!({"providers": {}})));
        let (none, one) = (named(json!([])), named(json!(["hashicorp/random"])));
        assert!(all != none && none != one && one != all);
        assert_eq!(one, named(json!(["registry.terraform.io/hashicorp/random"])));
        let both = named(json!(["hashicorp/random", "a.test/b/c"]));
        assert!(both != one);
        assert_eq!(both, named(json!(["a.test/b/c", "hashicorp/random"])));
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |result: Result<Inputs, InputFault>| result.err().unwrap();
        assert_eq!(
            missing(assembled(from_secret(), None)),
            InputFault::Missing("Secret s does not exist in this namespace".to_owned())
        );
        let key =
            json!({"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "other"}}}]});
        assert_eq!(
            missing(assembled(key, Some("x"))),
            InputFault::Missing("Secret s has no key \"other\"".to_owned())
        );
        let optional = json!({"variablesFrom": [{"kind": "Secret", "name": "s", "optional": true}]});
        assert!(assembled(optional, None).unwrap().values.is_empty());
    }

    #[test]
    fn the_gate_and_times_are_no_inputs() {
        let plain = assembled(json!({}), None).unwrap().digest;
        let other = json!({"interval": "1h", "suspend": true, "approval": {"policy": "Auto"}});
        assert_eq!(plain, assembled(other, None).unwrap().digest);
        for change in [
            json!({"plan": {"refresh": false}}),
            json!({"env": [{"name": "A", "value": "b"}]}),
        ] {
            assert_ne!(plain, assembled(change, None).unwrap().digest);
        }
    }
}
