//! One run that fetches: from what an object asks for to what is known of it. It takes no lock and touches no state.
//!
//! What is fetched lies in the cache of sources and nowhere in memory; a plan takes it from there, or fetches just this
//! revision again.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ashlar_api::{ModulePin, SourceStatus};
use ashlar_config::{Files, load};
use ashlar_diag::Sources;
use ashlar_runner::{Laid, bounded, read_folder};
use ashlar_sources::{Content, Credentials, Fault, Fetcher};
use ashlar_store::kube::WorkspaceKeys;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::{
    ended::{Ended, Outcome},
    fetchable::{Fetchable, is_outside},
    flux::Artifact,
    inputs::canonical,
    job::{Job, plain, until_stopped},
    package::{Package, folders_that_count, hangs_on_values, read, read_value_files},
    source::{Fetched, Order, Values, Wanted},
    values,
};

/// Fetches, or finds that nothing newer is there.
pub(crate) async fn run(job: Job, order: Order) -> Ended {
    let turn = job.context.fetch_permits.clone().acquire_owned();
    let work = async {
        let _permit = turn.await;
        let mut revision = None;
        let found = attempt(&job, &order, &mut revision).await;
        found.unwrap_or_else(|message| Outcome::NotFetched {
            before: order.seal.clone(),
            message,
            revision,
            attempt: order.attempt.clone(),
        })
    };
    let limited = async { tokio::time::timeout(job.timeout, work).await };
    let outcome = match until_stopped(&job.tracked.stop, limited).await {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) => Outcome::NotFetched {
            before: order.seal.clone(),
            message: "The source was not fetched within spec.timeout.".to_owned(),
            revision: None,
            attempt: order.attempt.clone(),
        },
        // It was stopped; whoever comes next fetches it.
        None => Outcome::Overtaken,
    };
    job.end(None, outcome)
}

/// `newest`: what is known to be there, once it is.
async fn attempt(job: &Job, order: &Order, newest: &mut Option<String>) -> Result<Outcome, String> {
    let known = |status: SourceStatus| Outcome::Fetched {
        source: Box::new(status),
        before: order.seal.clone(),
    };
    let fetcher = &job.context.fetcher;
    let keys = job.context.key.workspace(&job.place.uid);
    let wanted = match newest_revision(fetcher, &order.wanted, &order.credentials)
        .await
        .map_err(told)?
    {
        Some(revision) => {
            *newest = Some(revision.clone());
            if let Some(fetched) = order
                .fetched
                .as_ref()
                .filter(|fetched| fetched.revision == revision)
            {
                return Ok(known(order.status(fetched, order.pins.clone(), &keys)));
            }
            order.wanted.at(&revision)
        }
        None => order.wanted.clone(),
    };
    let (base, revision, digest) = base(fetcher, &wanted, order).await?;
    let Taken {
        package,
        pins,
        by_values,
    } = take(job, base, order).await?;
    let fetched = Fetched {
        revision,
        digest,
        config_digest: config_digest(&package, &keys),
        by_values,
    };
    Ok(known(order.status(&fetched, pins, &keys)))
}

/// The files of what was fetched, for a run; the error says why they cannot be had.
pub(crate) async fn package(job: &Job, order: &Order) -> Result<Package, String> {
    let fetched = order.fetched.as_ref().ok_or("The source is not fetched yet.")?;
    let fetcher = &job.context.fetcher;
    let wanted = order.wanted.at(&fetched.revision);
    let kept = match wanted {
        Wanted::Git(_) | Wanted::Oci(_) => fetcher
            .kept(&fetched.digest, &fetched.revision)
            .await
            .map_err(told)?,
        Wanted::Files(_) | Wanted::Artifact(_) => None,
    };
    let (base, digest) = match kept {
        Some(content) => (Base::Content(content), fetched.digest.clone()),
        None => {
            let (base, _, digest) = base(fetcher, &wanted, order).await?;
            (base, digest)
        }
    };
    let Taken { package, .. } = take(job, base, order).await?;
    let keys = job.context.key.workspace(&job.place.uid);
    if digest != fetched.digest || config_digest(&package, &keys) != fetched.config_digest {
        return Err(format!(
            "Revision {} of the source, or a module that it calls, has other files now than when it was fetched first.",
            fetched.revision
        ));
    }
    Ok(package)
}

/// Where the root module's files come from.
pub(crate) enum Base {
    /// An object of the cluster.
    Files(Arc<Package>),
    Content(Content),
}

/// The root module's files, with their revision and digest.
async fn base(fetcher: &Fetcher, wanted: &Wanted, order: &Order) -> Result<(Base, String, String), String> {
    let credentials = &order.credentials;
    let content = match wanted {
        Wanted::Files(files) => {
            let digest = format!("sha256:{}", hex::encode(Sha256::digest(canonical(files.parts()))));
            return Ok((Base::Files(files.clone()), digest.clone(), digest));
        }
        Wanted::Artifact(artifact) => {
            let Artifact {
                url,
                digest,
                revision,
            } = artifact;
            let content = fetcher.artifact(url, digest, revision).await.map_err(told)?;
            return Ok((Base::Content(content), revision.clone(), digest.clone()));
        }
        Wanted::Git(place) => fetcher.git(place, credentials).await,
        Wanted::Oci(place) => fetcher.oci(place, credentials).await,
    };
    let content = content.map_err(told)?;
    let (revision, digest) = (content.revision.clone(), content.digest.clone());
    Ok((Base::Content(content), revision, digest))
}

/// The newest revision, where a server tells it without sending all.
async fn newest_revision(
    fetcher: &Fetcher,
    wanted: &Wanted,
    credentials: &Credentials,
) -> Result<Option<String>, Fault> {
    match wanted {
        Wanted::Files(_) | Wanted::Artifact(_) => Ok(None),
        Wanted::Git(place) => fetcher.git_revision(place, credentials).await.map(Some),
        Wanted::Oci(place) => fetcher.oci_revision(place, credentials).await.map(Some),
    }
}

fn told(fault: Fault) -> String {
    fault.text
}

/// What was taken of a source.
struct Taken {
    package: Package,
    /// Those of the called modules' packages.
    pins: Vec<ModulePin>,
    /// Does it hang on values which modules these are?
    by_values: bool,
}

/// Loads the tree of modules, fetching those that lie elsewhere, and picks the files that count.
async fn take(job: &Job, base: Base, order: &Order) -> Result<Taken, String> {
    let (fetcher, order) = (job.context.fetcher.clone(), order.clone());
    let deadline = Instant::now() + job.timeout;
    // Files are read, and modules waited for, on a thread of their own.
    let taken = tokio::task::spawn_blocking(move || bounded(|| pick(&base, &order, fetcher, deadline)));
    taken.await.unwrap_or_else(|error| {
        Err(format!(
            "The source could not be read, because of a fault of Ashlar: {error}."
        ))
    })
}

fn pick(base: &Base, order: &Order, fetcher: Fetcher, deadline: Instant) -> Result<Taken, String> {
    let files = root_files(base, order)?;
    let given = match &order.values {
        Values::Known(values, _) => {
            let values = BTreeMap::clone(values);
            let given = values::of_root(&files, order.dialect, values, value_files(base, order)?);
            given.map_err(|diags| plain(&diags))
        }
        Values::Missing(why) => Err(why.clone()),
    };
    let nothing = BTreeMap::new();
    let early = given.as_ref().unwrap_or(&nothing);
    let mut library = Fetchable::new(base, order, fetcher, deadline);
    let mut sources = Sources::new();
    let (tree, diags) = load(files, order.dialect, early, &mut library, &mut sources);
    let by_values = hangs_on_values(&tree);
    if by_values && let Err(why) = given {
        return Err(format!(
            "The values of variables tell which modules are called, and cannot be had. {why}"
        ));
    }
    let Fetchable {
        places,
        pins,
        by_call,
        failure,
        ..
    } = library;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut folders = folders_that_count(&tree, &order.path, &sources, !diags.has_errors());
    let mut held = folders.clone();
    let mut files = BTreeMap::new();
    if let Base::Files(package) = base {
        files.clone_from(&package.files);
        folders = places.iter().map(|place| place.folder.clone()).collect();
        held.clear();
    }
    if held.contains(".") {
        held.clear();
    }
    files.extend(read(&places, &folders)?);
    let called = tree.members.into_iter().filter(|(path, _)| !path.is_root());
    let package = Package {
        root: order.path.clone(),
        files,
        held,
        modules: Some(Laid {
            folders: called.map(|(path, member)| (path, member.folder)).collect(),
            packages: by_call,
        }),
    };
    Ok(Taken {
        package,
        pins,
        by_values,
    })
}

/// The files of values beside the root module.
fn value_files(base: &Base, order: &Order) -> Result<Files, String> {
    match base {
        Base::Files(package) => Ok(package.value_files()),
        Base::Content(content) => read_value_files(&content.folder.join(&order.path)).map_err(|error| {
            format!(
                "The files of values in {} of the source cannot be read: {error}.",
                order.path
            )
        }),
    }
}

/// The configuration files of the root module.
fn root_files(base: &Base, order: &Order) -> Result<Files, String> {
    let Order { path, dialect, .. } = order;
    // The API server was to refuse it, but a path decides what is read here.
    if Path::new(path).is_absolute() || is_outside(path) {
        return Err(format!(
            "spec.source.path names {path}, which leads out of the source. Give a folder inside of it, as deploy/prod."
        ));
    }
    let content = match base {
        Base::Files(package) => return Ok(package.module_files(*dialect)),
        Base::Content(content) => content,
    };
    let folder = content.folder.join(path);
    if !folder.is_dir() {
        return Err(format!(
            "The source has no folder {path}, which spec.source.path names, in revision {}.",
            content.revision
        ));
    }
    let files = read_folder(&folder, "", *dialect)
        .map_err(|error| format!("The folder {path} of the source cannot be read: {error}."))?;
    if files.is_empty() {
        return Err(format!(
            "The folder {path} of the source holds no configuration in revision {}: no file in it ends in .tf or .tf.json. \
             spec.source.path names another one.",
            content.revision
        ));
    }
    Ok(files)
}

fn config_digest(package: &Package, keys: &WorkspaceKeys) -> String {
    keys.keyed_hash(&canonical(package.parts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_root_module_stays_in_the_source() {
        let package = Arc::new(Package::of_texts([("main.tf".to_owned(), String::new())].into()));
        let base = Base::Files(package.clone());
        let check = |path: &str| {
            let order = Order {
                path: path.to_owned(),
                ..Order::of(Wanted::Files(package.clone()))
            };
            root_files(&base, &order)
        };
        assert_eq!(check(".").unwrap().len(), 1);
        for path in ["..", "../x", "/etc"] {
            let told = check(path).unwrap_err();
            assert!(told.contains("leads out of the source"), "{path}: {told}");
        }
    }
    #[test]
    fn values_and_files_tell_which_modules_are_called() {
        let texts = [
            (
                "main.tf",
                "variable \"env\" {\n  type = string\n  const = true\n  default = \"a\"\n}\n\
                 module \"m\" {\n  source = \"./${var.env}\"\n}\n\
                 module \"f\" {\n  source = \"./${trimspace(file(\"env\"))}\"\n}\n",
            ),
            ("a/a.tf", ""),
            ("b/b.tf", ""),
            ("c/c.tf", ""),
            ("env", "c\n"),
        ];
        let cache = tempfile::tempdir().unwrap();
        let check = |values: Values, more: &[(&str, &str)]| {
            let texts = texts.iter().chain(more);
            let texts = texts.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            let package = Arc::new(Package::of_texts(texts.collect()));
            let order = Order {
                values,
                ..Order::of(Wanted::Files(package.clone()))
            };
            let fetcher = Fetcher::new(
                cache.path().to_owned(),
                ashlar_sources::Limits::default(),
                ashlar_sources::Reach::guarded(Vec::new()),
            );
            let deadline = Instant::now();
            let taken = pick(&Base::Files(package), &order, fetcher.unwrap(), deadline)?;
            assert!(taken.by_values);
            let folders = taken.package.modules.unwrap().folders;
            Ok::<_, String>(
                folders
                    .into_values()
                    .map(|folder| folder.to_string())
                    .collect::<Vec<_>>(),
            )
        };
        let keys = ashlar_store::kube::OperatorKey::new([1; 32]).workspace("uid");
        let given = values::Given {
            form: values::Form::Text("b".to_owned()),
            sensitive: false,
            origin: ashlar_config::Origin::Direct,
            place: "here".to_owned(),
            rank: values::rank::DIRECT,
        };
        let none = || Values::new(BTreeMap::new(), &keys);
        assert_eq!(check(none(), &[]).unwrap(), ["c", "a"]);
        let direct = Values::new([("env".to_owned(), given)].into(), &keys);
        assert_eq!(check(direct, &[]).unwrap(), ["c", "b"]);
        let file = [("x.auto.tfvars", "env = \"b\"\n")];
        assert_eq!(check(none(), &file).unwrap(), ["c", "b"]);
        let told = check(Values::Missing("Secret s is gone.".to_owned()), &[]).unwrap_err();
        assert!(told.contains("Secret s is gone"), "{told}");
    }
}
