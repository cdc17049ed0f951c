//! What a workspace's plans are made from: files, values and environment, read from the object and what it refers to.
//!
//! Read anew in each pass, so that a changed Secret shows at once. What was read is told by keyed hashes alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ashlar_api::{Format, InputKind, KeyRef, ObservedInput, ValueSource, Workspace, WorkspaceSpec};
use ashlar_config::Origin;
use ashlar_store::kube::WorkspaceKeys;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};

use ashlar_value::Dialect;

use crate::{
    decide::InputFault,
    index::Reference,
    message::Secrets,
    values::{Form, Given},
};

/// Inputs as they were found.
pub(crate) struct Inputs {
    /// All files by path.
    pub(crate) bundle: BTreeMap<String, String>,
    /// Values of variables, later ones already having won.
    pub(crate) values: BTreeMap<String, Given>,
    /// The environment of provider processes.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) secrets: Secrets,
    pub(crate) digest: String,
    pub(crate) observed: Vec<ObservedInput>,
}

impl Inputs {
    /// The files of the root module.
    pub(crate) fn module_files(&self, dialect: Dialect) -> Vec<(Arc<str>, Arc<str>)> {
        let files = self.config_files(dialect).into_iter();
        files.filter(|(name, _)| is_root_file(name, dialect)).collect()
    }

    /// The files of all modules.
    pub(crate) fn config_files(&self, dialect: Dialect) -> Vec<(Arc<str>, Arc<str>)> {
        let is_config = |name: &str| {
            let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
            ashlar_config::is_config(file, dialect)
        };
        let files = self.bundle.iter().filter(|(name, _)| is_config(name));
        files
            .map(|(name, text)| (name.as_str().into(), text.as_str().into()))
            .collect()
    }
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

/// All objects that a workspace refers to, whether they exist or not.
pub(crate) fn references(spec: &WorkspaceSpec) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    let mut add = |kind: InputKind, name: &str| {
        found.insert(Reference {
            kind,
            name: name.to_owned(),
        });
    };
    if let Some(map) = &spec.source.config_map_ref {
        add(InputKind::ConfigMap, &map.name);
    }
    for from in &spec.variables_from {
        add(from.kind, &from.name);
    }
    let sources = spec
        .variables
        .iter()
        .filter_map(|variable| variable.value_from.as_ref());
    for source in sources.chain(
        spec.env
            .iter()
            .filter_map(|variable| variable.value_from.as_ref()),
    ) {
        if let Some((kind, key)) = target(source) {
            add(kind, &key.name);
        }
    }
    found
}

fn target(source: &ValueSource) -> Option<(InputKind, &KeyRef)> {
    let secret = source.secret_key_ref.as_ref().map(|key| (InputKind::Secret, key));
    secret.or_else(|| {
        source
            .config_map_key_ref
            .as_ref()
            .map(|key| (InputKind::ConfigMap, key))
    })
}

type Data = BTreeMap<String, Vec<u8>>;

/// Reads the inputs of a workspace.
pub(crate) async fn gather(
    client: &Client,
    namespace: &str,
    workspace: &Workspace,
    keys: &WorkspaceKeys,
) -> Result<Inputs, GatherError> {
    let objects = read_all(client, namespace, &workspace.spec).await?;
    assemble(&workspace.spec, &objects, keys).map_err(GatherError::Fault)
}

/// Reads the environment alone, and what must not be shown of it.
pub(crate) async fn gather_env(
    client: &Client,
    namespace: &str,
    spec: &WorkspaceSpec,
) -> Result<(Vec<(String, String)>, Secrets), GatherError> {
    let only = WorkspaceSpec {
        env: spec.env.clone(),
        ..WorkspaceSpec::default()
    };
    let objects = read_all(client, namespace, &only).await?;
    let mut secrets = Secrets::default();
    let env = environment(&only, &Found { objects: &objects }, &mut secrets).map_err(GatherError::Fault)?;
    Ok((env, secrets))
}

async fn read_all(
    client: &Client,
    namespace: &str,
    spec: &WorkspaceSpec,
) -> Result<BTreeMap<Reference, Option<Data>>, GatherError> {
    let mut objects = BTreeMap::new();
    for reference in references(spec) {
        let data = read(client, namespace, &reference).await?;
        objects.insert(reference, data);
    }
    Ok(objects)
}

async fn read(client: &Client, namespace: &str, reference: &Reference) -> Result<Option<Data>, GatherError> {
    let name = &reference.name;
    let found = match reference.kind {
        InputKind::Secret => Api::<Secret>::namespaced(client.clone(), namespace)
            .get_opt(name)
            .await
            .map(|secret| {
                let data = secret.map(|secret| secret.data.unwrap_or_default());
                data.map(|data| data.into_iter().map(|(key, value)| (key, value.0)).collect())
            }),
        InputKind::ConfigMap => Api::<ConfigMap>::namespaced(client.clone(), namespace)
            .get_opt(name)
            .await
            .map(|map| {
                map.map(|map| {
                    let texts = map
                        .data
                        .unwrap_or_default()
                        .into_iter()
                        .map(|(key, text)| (key, text.into_bytes()));
                    let bytes = map
                        .binary_data
                        .unwrap_or_default()
                        .into_iter()
                        .map(|(key, bytes)| (key, bytes.0));
                    texts.chain(bytes).collect()
                })
            }),
    };
    found.map_err(|error| GatherError::Api {
        what: format!("{} {namespace}/{name}", reference.kind.as_str()),
        source: Box::new(error),
    })
}

/// Puts the inputs together from what was read.
fn assemble(
    spec: &WorkspaceSpec,
    objects: &BTreeMap<Reference, Option<Data>>,
    keys: &WorkspaceKeys,
) -> Result<Inputs, InputFault> {
    let found = Found { objects };
    let bundle = bundle(spec, &found)?;
    let mut secrets = Secrets::default();
    let mut values = BTreeMap::new();
    for (at, from) in spec.variables_from.iter().enumerate() {
        let sensitive = from.kind == InputKind::Secret;
        let mut texts: Vec<(&str, String)> = Vec::new();
        match &from.key {
            Some(key) => {
                let key_ref = KeyRef {
                    name: from.name.clone(),
                    key: key.clone(),
                    optional: from.optional,
                };
                texts.extend(found.text(from.kind, &key_ref)?.map(|text| (key.as_str(), text)));
            }
            None => {
                for (key, bytes) in found
                    .object(from.kind, &from.name, from.optional)?
                    .into_iter()
                    .flatten()
                {
                    texts.push((key, text_of(from.kind, &from.name, key, bytes)?));
                }
            }
        }
        for (key, text) in texts {
            if sensitive {
                secrets.add(&text);
            }
            // A file of values gives many; its place in the order is kept by a name no variable can have.
            let (name, form) = match from.format {
                Format::Keys => (key.to_owned(), Form::Text(text)),
                Format::TFVars => (format!("\0{at:02}"), Form::Tfvars(text)),
                Format::JSON => (format!("\0{at:02}"), Form::JsonObject(text)),
            };
            let origin = Origin::Shared;
            let place = format!("{} {}", from.kind.as_str(), from.name);
            values.insert(
                name,
                Given {
                    form,
                    sensitive,
                    origin,
                    place,
                    rank: at,
                },
            );
        }
    }
    for variable in &spec.variables {
        let mut sensitive = variable.sensitive;
        let mut place = format!("spec.variables[{}]", variable.name);
        let form = match (&variable.value, &variable.hcl, &variable.value_from) {
            (Some(json), _, _) => Form::Json(json.to_string()),
            (None, Some(hcl), _) => Form::Expression(hcl.clone()),
            (None, None, Some(source)) => {
                let Some((kind, key)) = target(source) else {
                    continue;
                };
                let Some(text) = found.text(kind, key)? else {
                    continue;
                };
                sensitive |= kind == InputKind::Secret;
                place = format!("{} {}, key {}", kind.as_str(), key.name, key.key);
                Form::Text(text)
            }
            (None, None, None) => continue,
        };
        if sensitive {
            match &variable.value {
                Some(serde_json::Value::String(text)) => secrets.add(text),
                _ => secrets.add(form.text()),
            }
        }
        let given = Given {
            form,
            sensitive,
            origin: Origin::Direct,
            place,
            rank: usize::MAX,
        };
        values.insert(variable.name.clone(), given);
    }
    let env = environment(spec, &found, &mut secrets)?;
    let digest = digest(spec, &bundle, &values, &env, keys);
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
    Ok(Inputs {
        bundle,
        values,
        env,
        secrets,
        digest,
        observed,
    })
}

fn environment(
    spec: &WorkspaceSpec,
    found: &Found<'_>,
    secrets: &mut Secrets,
) -> Result<Vec<(String, String)>, InputFault> {
    let mut env = Vec::new();
    for variable in &spec.env {
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(source)) => match target(source) {
                Some((kind, key)) => found.text(kind, key)?,
                None => None,
            },
            (None, None) => None,
        };
        if let Some(value) = value {
            secrets.add(&value);
            env.push((variable.name.clone(), value));
        }
    }
    Ok(env)
}

fn bundle(spec: &WorkspaceSpec, found: &Found<'_>) -> Result<BTreeMap<String, String>, InputFault> {
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
    Ok(bundle)
}

/// Is it a path that stays below where it begins?
fn is_inside(path: &str) -> bool {
    path.split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.contains('\0')
}

struct Found<'a> {
    objects: &'a BTreeMap<Reference, Option<Data>>,
}

impl<'a> Found<'a> {
    fn object(&self, kind: InputKind, name: &str, optional: bool) -> Result<Option<&'a Data>, InputFault> {
        let reference = Reference {
            kind,
            name: name.to_owned(),
        };
        match self.objects.get(&reference).and_then(Option::as_ref) {
            Some(data) => Ok(Some(data)),
            None if optional => Ok(None),
            None => Err(InputFault::Missing(format!(
                "{} {name} does not exist in this namespace",
                kind.as_str()
            ))),
        }
    }

    fn text(&self, kind: InputKind, key: &KeyRef) -> Result<Option<String>, InputFault> {
        let Some(data) = self.object(kind, &key.name, key.optional)? else {
            return Ok(None);
        };
        match data.get(&key.key) {
            Some(bytes) => text_of(kind, &key.name, &key.key, bytes).map(Some),
            None if key.optional => Ok(None),
            None => Err(InputFault::Missing(format!(
                "{} {} has no key {:?}",
                kind.as_str(),
                key.name,
                key.key
            ))),
        }
    }
}

fn text_of(kind: InputKind, name: &str, key: &str, bytes: &[u8]) -> Result<String, InputFault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        InputFault::Invalid(format!(
            "{} {name} holds no UTF-8 text under {key:?}.",
            kind.as_str()
        ))
    })
}

/// All that makes a difference to a plan. Not the gate, nor times, nor where outputs go.
fn digest(
    spec: &WorkspaceSpec,
    bundle: &BTreeMap<String, String>,
    values: &BTreeMap<String, Given>,
    env: &[(String, String)],
    keys: &WorkspaceKeys,
) -> String {
    let settings = format!("{} {:?}", spec.plan.refresh, spec.plan.replace);
    let mut parts: Vec<(&[u8], &[u8])> = Vec::new();
    parts.push((b"workspace", spec.terraform_workspace.as_bytes()));
    let dialect = format!("{:?}", spec.dialect);
    parts.push((b"dialect", dialect.as_bytes()));
    parts.push((b"plan", settings.as_bytes()));
    parts.push((b"files", b""));
    parts.extend(
        bundle
            .iter()
            .map(|(name, text)| (name.as_bytes(), text.as_bytes())),
    );
    parts.push((b"values", b""));
    for (name, given) in values {
        parts.push((name.as_bytes(), given.form.kind().as_bytes()));
        let sensitive: &[u8] = if given.sensitive { b"sensitive" } else { b"" };
        parts.push((sensitive, given.form.text().as_bytes()));
    }
    parts.push((b"env", b""));
    parts.extend(
        env.iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes())),
    );
    keys.keyed_hash(&canonical(parts.into_iter()))
}

/// Pairs as bytes that no other pairs give.
fn canonical<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in pairs.flat_map(|(name, value)| [name, value]) {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
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
        assemble(&spec(extra), &objects(secret), &keys)
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
        assert_eq!(one.module_files(Dialect::Terraform).len(), 1);
    }

    #[test]
    fn another_dialect_changes_the_digest() {
        let digest = |spec| assembled(spec, None).unwrap().digest;
        assert_eq!(digest(json!({})), digest(json!({"dialect": "Terraform"})));
        assert_ne!(digest(json!({})), digest(json!({"dialect": "OpenTofu"})));
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
