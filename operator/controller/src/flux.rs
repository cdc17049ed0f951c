//! Objects of Flux's source-controller: looked for only where their kinds are installed, and read for their artifact.
//!
//! Flux need not be there when the operator starts: its kinds are asked for now and then, and watched once they appear.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use ashlar_api::{SourceKind, SourceRef, Workspace};
use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    core::{ApiResource, DynamicObject, PartialObjectMeta},
    discovery,
    error::DiscoveryError,
    runtime::{WatchStreamExt, reflector::ObjectRef, watcher},
};

use crate::{context::Context, decide::InputFault, ended::SOURCE_NOT_READY, index::Object};

const GROUP: &str = "source.toolkit.fluxcd.io";
/// How often kinds that are not there are asked for again.
const ASKED_EVERY: Duration = Duration::from_secs(30);

/// What an object of Flux has to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// Where it is: a tar.gz.
    pub(crate) url: String,
    pub(crate) revision: String,
    /// `sha256:…` of the file.
    pub(crate) digest: String,
}

/// The kinds that this cluster has, as far as it was asked.
#[derive(Default)]
pub(crate) struct Kinds(Mutex<Known>);

#[derive(Default)]
struct Known {
    kinds: BTreeMap<SourceKind, ApiResource>,
    asked: Option<Instant>,
}

impl Kinds {
    /// The kind in the version that the cluster prefers, if it is installed.
    pub(crate) async fn find(
        &self,
        client: &Client,
        kind: SourceKind,
    ) -> Result<Option<ApiResource>, kube::Error> {
        {
            let known = self.known();
            let recent = known.asked.is_some_and(|asked| asked.elapsed() < ASKED_EVERY);
            match known.kinds.get(&kind) {
                Some(found) => return Ok(Some(found.clone())),
                None if recent => return Ok(None),
                None => {}
            }
        }
        let found = match discovery::group(client, GROUP).await {
            Ok(group) => Some(group),
            Err(kube::Error::Discovery(DiscoveryError::MissingApiGroup(_))) => None,
            Err(error) => return Err(error),
        };
        let mut known = self.known();
        known.asked = Some(Instant::now());
        known.kinds = SourceKind::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, found.as_ref()?.recommended_kind(kind.as_str())?.0)))
            .collect();
        Ok(known.kinds.get(&kind).cloned())
    }

    /// It is not there any more.
    fn forget(&self, kind: SourceKind) {
        self.known().kinds.remove(&kind);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest artifact of an object, or why there is none.
pub(crate) async fn artifact(
    context: &Context,
    source: &SourceRef,
    namespace: &str,
) -> Result<Result<Artifact, InputFault>, kube::Error> {
    let kind = source.kind.as_str();
    let missing = |message: String| {
        Ok(Err(InputFault::Source {
            reason: SOURCE_NOT_READY,
            message,
        }))
    };
    let Some(resource) = context.kinds.find(&context.client, source.kind).await? else {
        return missing(format!(
            "This cluster has no kind {kind} of {GROUP}: install Flux's source-controller, or give the source by spec.source.git \
             or spec.source.oci. It is gone on with once the kind is there."
        ));
    };
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), namespace, &resource);
    match api.get_opt(&source.name).await {
        Ok(Some(object)) => Ok(read(&object.data).map_err(|why| InputFault::Source {
            reason: SOURCE_NOT_READY,
            message: format!("{kind} {namespace}/{} {why}.", source.name),
        })),
        Ok(None) => missing(format!(
            "{kind} {namespace}/{} does not exist. It is gone on with as soon as it is there.",
            source.name
        )),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            context.kinds.forget(source.kind);
            missing(format!("This cluster has no kind {kind} any more."))
        }
        Err(error) => Err(error),
    }
}

/// The artifact in an object, or why there is none, as the rest of a sentence.
fn read(object: &serde_json::Value) -> Result<Artifact, String> {
    let status = &object["status"];
    let artifact = &status["artifact"];
    if !artifact.is_object() {
        let ready = status["conditions"].as_array().into_iter().flatten();
        let told = ready
            .filter(|condition| condition["type"] == "Ready")
            .find_map(|condition| condition["message"].as_str());
        let told = told.map(|told| format!("; it says: {told}")).unwrap_or_default();
        return Err(format!("has no artifact yet{told}"));
    }
    let field = |name: &str| {
        let text = artifact[name].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
            .ok_or_else(|| format!("has an artifact without {name}"))
    };
    Ok(Artifact {
        url: field("url")?,
        revision: field("revision")?,
        digest: field("digest")?,
    })
}

/// Wakes workspaces whose sources of this kind change, for as long as it is polled. `watching`: the client of watches.
pub(crate) async fn watch(
    context: Arc<Context>,
    watching: Client,
    namespace: Option<String>,
    kind: SourceKind,
) {
    loop {
        match context.kinds.find(&watching, kind).await {
            Ok(Some(resource)) => {
                watch_kind(&context, &watching, namespace.as_deref(), kind, &resource).await
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the kinds of Flux cannot be asked for"),
        }
        tokio::time::sleep(ASKED_EVERY).await;
    }
}

/// Returns when the kind is gone.
async fn watch_kind(
    context: &Context,
    watching: &Client,
    namespace: Option<&str>,
    kind: SourceKind,
    resource: &ApiResource,
) {
    type Meta = PartialObjectMeta<DynamicObject>;
    let api: Api<Meta> = match namespace {
        Some(namespace) => Api::namespaced_with(watching.clone(), namespace, resource),
        None => Api::all_with(watching.clone(), resource),
    };
    let events = watcher(api, watcher::Config::default())
        .default_backoff()
        .touched_objects();
    tokio::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(object) => {
                let object = Object {
                    kind: kind.as_str(),
                    namespace: object.namespace().unwrap_or_default(),
                    name: object.name_any(),
                };
                for (namespace, name) in context.index.readers(&object) {
                    context
                        .pokes
                        .send(ObjectRef::<Workspace>::new(&name).within(&namespace));
                }
            }
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 404 => {
                context.kinds.forget(kind);
                return;
            }
            Err(error) => {
                tracing::warn!(%error, kind = kind.as_str(), "a watch failed; it is taken up again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_artifact_is_read_or_it_is_said_what_is_missing() {
        let whole = json!({"status": {"artifact": {"url": "http://s/a.tar.gz", "revision": "main@sha1:1", "digest": "sha256:2"}}});
        let artifact = read(&whole).unwrap();
        assert_eq!(
            (&*artifact.url, &*artifact.revision),
            ("http://s/a.tar.gz", "main@sha1:1")
        );
        for (object, want) in [
            (json!({}), "has no artifact yet"),
            (
                json!({"status": {"conditions": [{"type": "Ready", "message": "cannot clone"}]}}),
                "has no artifact yet; it says: cannot clone",
            ),
            (
                json!({"status": {"artifact": {"url": "u", "revision": "r", "digest": ""}}}),
                "has an artifact without digest",
            ),
        ] {
            assert_eq!(read(&object), Err(want.to_owned()), "{object}");
        }
    }
}
