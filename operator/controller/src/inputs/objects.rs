//! The objects that a workspace refers to, and what they hold.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_api::{InputKind, KeyRef, ValueSource, WorkspaceSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};

use super::GatherError;
use crate::{decide::InputFault, index::Reference, source::secrets};

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
    for name in secrets(spec) {
        add(InputKind::Secret, name);
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

pub(crate) fn target(source: &ValueSource) -> Option<(InputKind, &KeyRef)> {
    let secret = source.secret_key_ref.as_ref().map(|key| (InputKind::Secret, key));
    secret.or_else(|| {
        source
            .config_map_key_ref
            .as_ref()
            .map(|key| (InputKind::ConfigMap, key))
    })
}

/// The data of a Secret or ConfigMap.
pub(crate) type Data = BTreeMap<String, Vec<u8>>;

/// Reads all of them; what is not there has no data.
pub(super) async fn read_all(
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

/// Objects that were read.
pub(crate) struct Found<'a> {
    pub(super) objects: &'a BTreeMap<Reference, Option<Data>>,
}

impl<'a> Found<'a> {
    pub(crate) fn object(
        &self,
        kind: InputKind,
        name: &str,
        optional: bool,
    ) -> Result<Option<&'a Data>, InputFault> {
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

    /// The data of a Secret that must be there.
    pub(crate) fn secret(&self, name: &str) -> Result<&'a Data, InputFault> {
        static NONE: Data = Data::new();
        Ok(self.object(InputKind::Secret, name, false)?.unwrap_or(&NONE))
    }

    pub(crate) fn text(&self, kind: InputKind, key: &KeyRef) -> Result<Option<String>, InputFault> {
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

pub(crate) fn text_of(kind: InputKind, name: &str, key: &str, bytes: &[u8]) -> Result<String, InputFault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        InputFault::Invalid(format!(
            "{} {name} holds no UTF-8 text under {key:?}.",
            kind.as_str()
        ))
    })
}
