//! A source that is fetched, as a pass sees it: what the object asks for, beside what was fetched last.
//!
//! Nothing is fetched here; what a fetch needs is put together. What was fetched is known by the status, under a seal
//! that only the operator's key makes.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_api::{ModulePin, OciRef, SourceStatus, Workspace, WorkspaceSpec};
use ashlar_sources::{Credentials, GitPlace, Keyring, OciPlace, OciReference, Reference as GitReference};
use ashlar_store::kube::WorkspaceKeys;
use ashlar_value::Dialect;
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

use crate::{
    context::Context,
    decide::{InputFault, SourceSeen, Wants},
    ended::SOURCE_FAILED,
    flux::{self, Artifact},
    inputs::{Data, Found, canonical, dialect, value_parts},
    observe::limited,
    package::Package,
    seal::{fetched, pins, seal},
    values::Given,
};

/// What is to be fetched.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Files in the cluster's own objects, which call modules; those are what is fetched.
    Files(Arc<Package>),
    Artifact(Artifact),
    Git(GitPlace),
    Oci(OciPlace),
}

impl Wanted {
    /// Does it name the same content for ever?
    fn is_fixed(&self) -> bool {
        match self {
            Wanted::Files(_) | Wanted::Artifact(_) => true,
            Wanted::Git(place) => matches!(place.reference, GitReference::Commit(_)),
            Wanted::Oci(place) => matches!(place.reference, OciReference::Digest(_)),
        }
    }

    /// The same, but of just this revision.
    pub(crate) fn at(&self, revision: &str) -> Self {
        match self {
            Wanted::Files(_) | Wanted::Artifact(_) => self.clone(),
            Wanted::Git(place) => Wanted::Git(GitPlace {
                reference: GitReference::Commit(revision.to_owned()),
                ..place.clone()
            }),
            Wanted::Oci(place) => Wanted::Oci(OciPlace {
                reference: OciReference::Digest(revision.to_owned()),
                ..place.clone()
            }),
        }
    }
}

/// What was fetched last.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) revision: String,
    pub(crate) digest: String,
    pub(crate) config_digest: String,
    /// Did it hang on values of variables which modules that was? Then others make it another source.
    pub(crate) by_values: bool,
}

/// The values of variables, which may tell where modules are.
#[derive(Clone)]
pub(crate) enum Values {
    /// With a keyed hash of all of them.
    Known(Arc<BTreeMap<String, Given>>, String),
    /// Why they cannot be had.
    Missing(String),
}

impl Values {
    pub(crate) fn new(values: BTreeMap<String, Given>, keys: &WorkspaceKeys) -> Self {
        let hash = keys.keyed_hash(&canonical(value_parts(&values)));
        Self::Known(Arc::new(values), hash)
    }

    /// What tells them from others.
    fn hash(&self) -> &str {
        match self {
            Values::Known(_, hash) => hash,
            Values::Missing(_) => "",
        }
    }
}

/// All that a fetch needs.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) wanted: Wanted,
    /// The root module's folder.
    pub(crate) path: String,
    pub(crate) dialect: Dialect,
    pub(crate) credentials: Credentials,
    pub(crate) keyring: Keyring,
    /// Packages of called modules that are known.
    pub(crate) pins: Vec<ModulePin>,
    pub(crate) fetched: Option<Fetched>,
    /// The seal of what the status tells, whether it stands or not.
    pub(crate) seal: Option<String>,
    /// The part of the object that it follows from.
    pub(crate) part: Vec<u8>,
    pub(crate) values: Values,
    /// A keyed hash of what is tried.
    pub(crate) attempt: String,
    /// By which the pins of modules were asked to be forgotten, if ever.
    pub(crate) upgrade: Option<String>,
}

impl Order {
    #[cfg(test)]
    pub(crate) fn of(wanted: Wanted) -> Self {
        Self {
            wanted,
            path: ".".to_owned(),
            dialect: Dialect::Terraform,
            credentials: Credentials::default(),
            keyring: Keyring::default(),
            pins: Vec::new(),
            fetched: None,
            seal: None,
            part: Vec::new(),
            values: Values::Known(Arc::default(), String::new()),
            attempt: String::new(),
            upgrade: None,
        }
    }

    /// What the status keeps of what was fetched.
    pub(crate) fn status(
        &self,
        fetched: &Fetched,
        modules: Vec<ModulePin>,
        keys: &WorkspaceKeys,
    ) -> SourceStatus {
        let part = match fetched.by_values {
            true => with_values(&self.part, &self.values),
            false => self.part.clone(),
        };
        SourceStatus {
            revision: Some(fetched.revision.clone()),
            digest: Some(fetched.digest.clone()),
            config_digest: Some(fetched.config_digest.clone()),
            seal: Some(seal(&part, fetched, &modules, keys)),
            modules,
            failure: None,
            last_handled_reconcile_at: None,
            last_handled_upgrade: self.upgrade.clone(),
        }
    }
}

/// A source as a pass sees it.
pub(crate) struct Sight {
    pub(crate) seen: SourceSeen,
    /// How to fetch it, or what was fetched.
    pub(crate) order: Option<Order>,
}

/// The names of the Secrets that open a source and its modules.
pub(crate) fn secrets(spec: &WorkspaceSpec) -> impl Iterator<Item = &str> {
    let git = spec.source.git.as_ref().and_then(|git| git.secret_ref.as_ref());
    let oci = spec.source.oci.as_ref().and_then(|oci| oci.secret_ref.as_ref());
    let modules = spec.module_credentials.iter().map(|given| &given.secret_ref);
    git.into_iter()
        .chain(oci)
        .chain(modules)
        .map(|secret| &*secret.name)
}

/// Looks at the source of a workspace, of which this is `known`; `files`: those that the cluster's own objects hold; `values`:
/// those of variables. `Err` is why an object could not be read.
pub(crate) async fn look(
    context: &Context,
    workspace: &Workspace,
    known: Option<&SourceStatus>,
    (found, files, values): (&Found<'_>, Option<Arc<Package>>, Values),
    keys: &WorkspaceKeys,
    now: Timestamp,
) -> Result<Sight, Box<kube::Error>> {
    let spec = &workspace.spec;
    let target = match (credentials(spec, found), files) {
        (Ok(opened), Some(files)) => Ok(((Wanted::Files(files), USUAL), opened)),
        (Ok(opened), None) => target(context, workspace).await?.map(|target| (target, opened)),
        (Err(fault), _) => Err(fault),
    };
    let ((wanted, interval), (credentials, keyring, opened)) = match target {
        Ok(target) => target,
        Err(fault) => {
            let seen = SourceSeen {
                wants: Wants::Nothing,
                retry_at: None,
                requested: false,
                fault: Some(fault),
                failing: None,
            };
            return Ok(Sight { seen, order: None });
        }
    };
    let part = part(spec, &wanted);
    let upgrade = workspace.annotations().get(ashlar_api::UPGRADE_MODULES);
    let upgrading = wants_upgrade(upgrade, known);
    let fetched = known
        .filter(|_| !upgrading)
        .and_then(|known| fetched_for(known, &part, &values, keys));
    let artifact = match &wanted {
        Wanted::Artifact(artifact) => artifact.digest.as_str(),
        Wanted::Files(_) | Wanted::Git(_) | Wanted::Oci(_) => "",
    };
    let attempt = keys.keyed_hash(&canonical(
        [
            (&b"part"[..], &*part),
            (b"artifact", artifact.as_bytes()),
            (b"secrets", &opened),
            (b"values", values.hash().as_bytes()),
            (
                b"upgrade",
                upgrade
                    .filter(|_| upgrading)
                    .map_or(&b""[..], |value| value.as_bytes()),
            ),
        ]
        .into_iter(),
    ));
    let failure = known
        .and_then(|known| known.failure.as_ref())
        .filter(|failure| failure.attempt == attempt);
    let newer = failure.and_then(|failure| failure.revision.as_ref());
    let wants = match (&fetched, &wanted) {
        (None, _) => Wants::Fetching,
        (Some(fetched), Wanted::Artifact(artifact)) => {
            if (&fetched.revision, &fetched.digest) == (&artifact.revision, &artifact.digest) {
                Wants::Nothing
            } else {
                Wants::Fetching
            }
        }
        (Some(_), wanted) if wanted.is_fixed() => Wants::Nothing,
        (Some(fetched), _) if newer.is_some_and(|newer| *newer != fetched.revision) => Wants::Fetching,
        (Some(_), _) => Wants::Asking(context.polls.next(
            &workspace.uid().unwrap_or_default(),
            interval,
            now,
        )),
    };
    let requested = workspace.annotations().get(ashlar_api::REQUESTED_AT);
    let requested = requested.or_else(|| workspace.annotations().get(ashlar_api::FLUX_REQUESTED_AT));
    let handled = known.and_then(|known| known.last_handled_reconcile_at.as_ref());
    let fault = (wants == Wants::Fetching).then(|| InputFault::Source {
        reason: SOURCE_FAILED,
        message: match failure {
            Some(failure) => failure.message.clone(),
            None => "The source is not fetched yet.".to_owned(),
        },
    });
    let seen = SourceSeen {
        wants,
        retry_at: failure.map(|failure| failure.retry_at.0),
        requested: requested.is_some() && requested != handled,
        fault,
        failing: failure.map(|failure| failure.message.clone()),
    };
    let order = Order {
        wanted,
        path: ashlar_config::source::clean(spec.source.path.as_deref().unwrap_or(".")),
        dialect: dialect(spec.dialect),
        credentials,
        keyring,
        pins: known
            .filter(|_| !upgrading)
            .map(|known| pins(known, keys))
            .unwrap_or_default(),
        fetched,
        seal: known.and_then(|known| known.seal.clone()),
        part,
        values,
        attempt,
        upgrade: upgrade.cloned(),
    };
    Ok(Sight {
        seen,
        order: Some(order),
    })
}

/// Are the pins of modules to be forgotten? One value is obeyed once: with what is fetched then, it stands in the status.
fn wants_upgrade(asked: Option<&String>, known: Option<&SourceStatus>) -> bool {
    let obeyed = known.and_then(|known| known.last_handled_upgrade.as_ref());
    asked.is_some() && asked != obeyed
}

/// How often sources are asked by default; no less often than a tenth of it.
const USUAL: std::time::Duration = std::time::Duration::from_secs(300);

/// What the object asks for, and how often to ask for anything newer.
async fn target(
    context: &Context,
    workspace: &Workspace,
) -> Result<Result<(Wanted, std::time::Duration), InputFault>, Box<kube::Error>> {
    let source = &workspace.spec.source;
    let polled = |wanted, interval: &str| Ok(Ok((wanted, limited(interval, USUAL).max(USUAL / 10))));
    if let Some(reference) = &source.source_ref {
        let own = workspace.namespace().unwrap_or_default();
        let namespace = reference.namespace.clone().unwrap_or_else(|| own.clone());
        if namespace != own && !context.cross_namespace {
            return Ok(Err(InputFault::Invalid(format!(
                "spec.source.sourceRef names an object in namespace {namespace}, and this operator was started without \
                 --allow-cross-namespace-refs. Name one in namespace {own}."
            ))));
        }
        let found = flux::artifact(context, reference, &namespace)
            .await
            .map_err(Box::new)?;
        return Ok(found.map(|artifact| (Wanted::Artifact(artifact), USUAL)));
    }
    if let Some(git) = &source.git {
        let reference = git.reference.clone().unwrap_or_default();
        let reference = match (
            reference.commit,
            reference.semver,
            reference.tag,
            reference.branch,
        ) {
            (Some(commit), ..) => GitReference::Commit(commit),
            (None, Some(range), ..) => GitReference::Semver(range),
            (None, None, Some(tag), _) => GitReference::Tag(tag),
            (None, None, None, Some(branch)) => GitReference::Branch(branch),
            (None, None, None, None) => GitReference::Head,
        };
        return polled(
            Wanted::Git(GitPlace::new(git.url.clone(), reference)),
            &git.interval,
        );
    }
    if let Some(oci) = &source.oci {
        let reference = match oci.reference.clone().unwrap_or_default() {
            OciRef {
                digest: Some(digest), ..
            } => OciReference::Digest(digest),
            OciRef {
                semver: Some(range), ..
            } => OciReference::Semver(range),
            OciRef { tag, .. } => OciReference::Tag(tag.unwrap_or_else(|| "latest".to_owned())),
        };
        let place = OciPlace {
            url: oci.url.clone(),
            reference,
        };
        return polled(Wanted::Oci(place), &oci.interval);
    }
    Ok(Err(InputFault::Invalid(
        "spec.source names no source.".to_owned(),
    )))
}

type Opened = (Credentials, Keyring, Vec<u8>);

/// What opens the source and its modules, and all of that as bytes to tell it from others.
fn credentials(spec: &WorkspaceSpec, found: &Found<'_>) -> Result<Opened, InputFault> {
    let mut bytes = Vec::new();
    let mut read = |name: &str| -> Result<Credentials, InputFault> {
        let data: &Data = found.secret(name)?;
        bytes.extend(canonical(
            data.iter().map(|(key, value)| (key.as_bytes(), value.as_slice())),
        ));
        Credentials::from_secret(data)
            .map_err(|fault| InputFault::Invalid(format!("Secret {name} does not open a source. {fault}")))
    };
    let git = spec.source.git.as_ref().and_then(|git| git.secret_ref.as_ref());
    let oci = spec.source.oci.as_ref().and_then(|oci| oci.secret_ref.as_ref());
    let own = match git.or(oci) {
        Some(secret) => read(&secret.name)?,
        None => Credentials::default(),
    };
    let mut keyring = Keyring::default();
    for given in &spec.module_credentials {
        keyring.add(&given.host, read(&given.secret_ref.name)?);
    }
    Ok((own, keyring, bytes))
}

/// The part of a spec by which its source is fetched: not how often, and not with what credentials.
pub(crate) fn part(spec: &WorkspaceSpec, wanted: &Wanted) -> Vec<u8> {
    if let Wanted::Files(package) = wanted {
        return canonical(
            package
                .parts()
                .chain([(&b"\0dialect"[..], format!("{:?}", spec.dialect).as_bytes())]),
        );
    }
    let source = &spec.source;
    let parts = json!([
        source.source_ref,
        source.git.as_ref().map(|git| (&git.url, &git.reference)),
        source.oci.as_ref().map(|oci| (&oci.url, &oci.reference)),
        source.path,
        spec.dialect,
    ]);
    parts.to_string().into_bytes()
}

/// What was fetched by just this part of the object: with whatever values, or with just these if it hangs on them.
fn fetched_for(known: &SourceStatus, part: &[u8], values: &Values, keys: &WorkspaceKeys) -> Option<Fetched> {
    let by_values = || {
        let found = fetched(known, &with_values(part, values), keys)?;
        Some(Fetched {
            by_values: true,
            ..found
        })
    };
    fetched(known, part, keys).or_else(by_values)
}

/// The part of an object, with the values that its modules' sources hang on.
fn with_values(part: &[u8], values: &Values) -> Vec<u8> {
    canonical([(&b"part"[..], part), (b"values", values.hash().as_bytes())].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_forgotten_once_for_each_value() {
        let order = |upgrade: Option<&str>| Order {
            upgrade: upgrade.map(str::to_owned),
            ..Order::of(Wanted::Files(Arc::new(Package::default())))
        };
        let keys = ashlar_store::kube::OperatorKey::new([1; 32]).workspace("uid");
        let done = Fetched {
            revision: "r".to_owned(),
            digest: "d".to_owned(),
            config_digest: "c".to_owned(),
            by_values: false,
        };
        let (one, two) = (Some("1".to_owned()), Some("2".to_owned()));
        let never = order(None).status(&done, Vec::new(), &keys);
        let once = order(Some("1")).status(&done, Vec::new(), &keys);
        assert!(!wants_upgrade(None, Some(&never)));
        assert!(wants_upgrade(one.as_ref(), Some(&never)));
        assert!(!wants_upgrade(one.as_ref(), Some(&once)));
        assert!(!wants_upgrade(None, Some(&once)));
        assert!(wants_upgrade(two.as_ref(), Some(&once)));
    }
    #[test]
    fn what_hangs_on_values_is_fetched_anew_with_others() {
        let keys = ashlar_store::kube::OperatorKey::new([1; 32]).workspace("uid");
        let values = |text: &str| {
            let given = Given {
                form: crate::values::Form::Text(text.to_owned()),
                sensitive: false,
                origin: ashlar_config::Origin::Direct,
                place: String::new(),
                rank: 0,
            };
            Values::new([("env".to_owned(), given)].into(), &keys)
        };
        let found = |by_values: bool, with: &Values, now: &Values| {
            let order = Order {
                values: with.clone(),
                ..Order::of(Wanted::Files(Arc::new(Package::default())))
            };
            let done = Fetched {
                revision: "r".to_owned(),
                digest: "d".to_owned(),
                config_digest: "c".to_owned(),
                by_values,
            };
            let status = order.status(&done, Vec::new(), &keys);
            fetched_for(&status, &order.part, now, &keys).map(|fetched| fetched.by_values)
        };
        let (one, two) = (values("a"), values("b"));
        assert_eq!(found(false, &one, &two), Some(false));
        assert_eq!(found(true, &one, &one), Some(true));
        assert_eq!(found(true, &one, &two), None);
        assert_eq!(found(true, &one, &Values::Missing("gone".to_owned())), None);
    }
}
