//! The operator as a process: wires the controller, runs it until it is told to end, and ends in order.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use ashlar_api::{InputKind, SourceKind, Workspace};
use ashlar_diag::Diags;
use ashlar_provider::{Bounds, Fence, Launcher, SchemaCache, Sidecar, WarmPool};
use ashlar_provisioner::{LocalPrograms, Rules};
use ashlar_runner::{Patience, Settings};
use ashlar_sources::{Fetcher, Reach};
use ashlar_store::kube::{OperatorKey, Presence};
use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    core::PartialObjectMeta,
    runtime::{
        Controller, WatchStreamExt, controller,
        events::{Recorder, Reporter},
        reflector::ObjectRef,
        watcher,
    },
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{Semaphore, watch},
    task::JoinSet,
};

use crate::{
    args::{OperatorArgs, ProcessArgs},
    context::{Context, Pokes},
    flux::{self, Kinds},
    folders::Folders,
    index::{Index, Reference},
    installing,
    message::{Secrets, errors},
    metrics,
    pass::{on_error, pass},
    polls::Polls,
    registry::{Registry, Sight},
};

/// Passes at once: they are short, but each waits for the API server a few times.
const PASSES: u16 = 32;
/// Looks at states at once.
const LOOKS: usize = 8;
/// How long the API server may be silent in a call.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Runs the operator until SIGTERM or SIGINT. Then nothing new is started; providers at work finish, their results are
/// kept, and locks are given back before it returns.
pub async fn run(args: OperatorArgs) -> anyhow::Result<()> {
    let stopping = stopped()?;
    let mut config = Config::infer().await.context("the cluster is not told")?;
    let watching = Client::try_from(config.clone()).context("the cluster cannot be reached")?;
    // A call that is never answered must not hold up a run; a watch may be silent for long.
    config.read_timeout = Some(CALL_LIMIT);
    let client = Client::try_from(config).context("the cluster cannot be reached")?;
    let name = args.replica_id.clone().unwrap_or_else(host_name);
    let presence = Presence::announce(&client, &args.operator_namespace, &name)
        .await
        .map_err(told)?;
    let key = OperatorKey::load_or_create(&client, &args.operator_namespace, &args.key_secret)
        .await
        .map_err(told)?;
    let mut pokes = BTreeMap::new();
    let mut poked = Vec::new();
    for namespace in namespaces(&args) {
        let (sender, receiver) = mpsc::unbounded();
        pokes.insert(namespace.clone(), sender);
        poked.push((namespace, receiver));
    }
    let (settings, run_folder, _own) = settings(&args)?;
    let context = Arc::new(Context {
        recorder: Recorder::new(
            client.clone(),
            Reporter {
                controller: "ashlar".to_owned(),
                instance: Some(presence.id().to_owned()),
            },
        ),
        settings,
        // A call that is soon at its end is let be; a provider that is asked to stop breaks off in the middle.
        patience: Patience {
            ask_after_ms: u64::from(args.provider_grace) * 500,
            end_after_ms: Some(u64::from(args.provider_grace) * 1000),
        },
        folders: Folders::new(run_folder),
        sidecars: Sidecar::offered(&args.sidecars)
            .map_err(|why| anyhow!("the sidecars that are offered (--sidecars) cannot be used: {why}"))?,
        warm: args.warm.limits().map(WarmPool::new),
        client,
        key,
        presence,
        registry: Arc::new(Registry::default()),
        index: Arc::new(Index::default()),
        fetcher: fetcher(&args)?,
        fetch_permits: Arc::new(Semaphore::new(args.concurrency_fetch.into())),
        polls: Polls::default(),
        kinds: Kinds::default(),
        cross_namespace: args.sources.allow_cross_namespace_refs,
        looks: Semaphore::new(LOOKS),
        plan_permits: Arc::new(Semaphore::new(args.concurrency_plan.into())),
        apply_permits: Arc::new(Semaphore::new(args.concurrency_apply.into())),
        locks: Default::default(),
        pokes: Pokes(Arc::new(pokes)),
        draining: AtomicBool::new(false),
    });
    tracing::info!(replica = context.presence.id(), "the operator starts");
    let mut beside = JoinSet::new();
    if let Some(warm) = &context.warm {
        beside.spawn(warm.clone().tend());
    }
    if let Some(address) = args.metrics_address {
        let listener = metrics::listen(address).await?;
        beside.spawn(metrics::serve(listener, context.warm.clone()));
    }
    let sources = watch_sources(&context, &watching, &namespaces(&args));
    control(&context, &watching, poked, stopping).await;
    drop(sources);
    tracing::info!("the operator waits for its runs");
    context.registry.drain().await;
    if let Some(warm) = &context.warm {
        warm.close().await;
    }
    drop(beside);
    publish_last(&context).await;
    context.presence.clone().leave().await.map_err(told)?;
    tracing::info!("the operator has ended");
    Ok(())
}

/// Watches and passes, until it is time to end. `watching` is the client of the watches.
async fn control(
    context: &Arc<Context>,
    watching: &Client,
    poked: Vec<(Option<String>, mpsc::UnboundedReceiver<ObjectRef<Workspace>>)>,
    stopping: watch::Receiver<bool>,
) {
    let mut controllers = Vec::new();
    for (namespace, poked) in poked {
        let woken = futures::stream::select(
            wake::<Secret>(context, watching, namespace.as_deref(), InputKind::Secret),
            wake::<ConfigMap>(context, watching, namespace.as_deref(), InputKind::ConfigMap),
        );
        controllers.push((namespace, futures::stream::select(woken, poked)));
    }
    let runs = controllers.into_iter().map(|(namespace, own)| {
        let (mut stopping, flag) = (stopping.clone(), context.clone());
        let end = async move {
            // An error means that the sender is gone: then it is time to end, too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            flag.draining.store(true, Ordering::SeqCst);
        };
        Controller::new(
            api::<Workspace>(watching, namespace.as_deref()),
            watcher::Config::default(),
        )
        .with_config(controller::Config::default().concurrency(PASSES))
        .reconcile_on(own)
        .graceful_shutdown_on(end)
        .run(pass, on_error, context.clone())
        .for_each(|result| async move {
            match result {
                Ok(_)
                | Err(controller::Error::ObjectNotFound(_) | controller::Error::ReconcilerFailed(..)) => {}
                Err(error) => tracing::warn!(%error, "a watch failed; it is taken up again"),
            }
        })
    });
    futures::future::join_all(runs).await;
}

/// Watches Flux's sources until it is dropped.
fn watch_sources(context: &Arc<Context>, watching: &Client, namespaces: &[Option<String>]) -> JoinSet<()> {
    let mut watches = JoinSet::new();
    for namespace in namespaces {
        for kind in SourceKind::ALL {
            watches.spawn(flux::watch(
                context.clone(),
                watching.clone(),
                namespace.clone(),
                kind,
            ));
        }
    }
    watches
}

/// Workspaces to look at because of what became of objects of this kind.
fn wake<K>(
    context: &Arc<Context>,
    watching: &Client,
    namespace: Option<&str>,
    kind: InputKind,
) -> impl futures::Stream<Item = ObjectRef<Workspace>> + Send + 'static
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
{
    let index = context.index.clone();
    // Names and versions are enough: contents are read by whoever needs them.
    watcher(
        api::<PartialObjectMeta<K>>(watching, namespace),
        watcher::Config::default(),
    )
    .default_backoff()
    .touched_objects()
    .filter_map(move |event| {
        let woken = match event {
            Ok(object) => {
                let namespace = object.namespace().unwrap_or_default();
                let reference = Reference {
                    kind,
                    name: object.name_any(),
                };
                let readers = index.readers(&reference.object(&namespace)).into_iter();
                Some(
                    readers
                        .map(|(namespace, name)| ObjectRef::new(&name).within(&namespace))
                        .collect::<Vec<_>>(),
                )
            }
            Err(error) => {
                tracing::warn!(%error, kind = kind.as_str(), "a watch failed; it is taken up again");
                None
            }
        };
        async move { woken }
    })
    .flat_map(futures::stream::iter)
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// `None` stands for all.
fn namespaces(args: &OperatorArgs) -> Vec<Option<String>> {
    if args.namespaces.is_empty() {
        vec![None]
    } else {
        let mut named: Vec<_> = args.namespaces.iter().cloned().map(Some).collect();
        named.sort();
        named.dedup();
        named
    }
}

/// Results of the last runs still go into statuses.
async fn publish_last(context: &Arc<Context>) {
    for (uid, reference) in context.registry.left() {
        let Sight::Ended(_) = context.registry.look(&uid) else {
            continue;
        };
        let mut workspace = Workspace::new(&reference.name, Default::default());
        workspace.metadata.namespace.clone_from(&reference.namespace);
        for _ in 0..3 {
            match pass(Arc::new(workspace.clone()), context.clone()).await {
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, name = reference.name, "the result of a run is not shown yet")
                }
            }
        }
    }
}

/// What fetches sources. Whoever writes a Workspace chooses where from: not from this machine and the cloud's own places.
fn fetcher(args: &OperatorArgs) -> anyhow::Result<Fetcher> {
    let folder = &args.sources.source_cache_dir;
    let folder = folder.clone().unwrap_or_else(|| args.cache_dir.join("sources"));
    let reach = Reach::guarded(args.sources.permit_networks.clone());
    Fetcher::new(folder, args.sources.limits(), reach).context("sources cannot be fetched")
}

/// Makes the folders. The work folder is this process's own as long as it keeps the file.
fn settings(args: &OperatorArgs) -> anyhow::Result<(Settings, PathBuf, File)> {
    let make = |path: &Path| {
        std::fs::create_dir_all(path)
            .with_context(|| format!("the folder {} cannot be made", path.display()))?;
        path.canonicalize()
            .with_context(|| format!("the folder {} cannot be found", path.display()))
    };
    let work = make(&args.work_dir)?;
    let own = File::create(work.join("lock")).context("the work folder cannot be written to")?;
    own.try_lock().with_context(|| {
        format!(
            "another operator works in {}: give each its own --work-dir",
            work.display()
        )
    })?;
    // What a process that was killed left there, which nobody else removes.
    for left in ["run", "p"] {
        let left = work.join(left);
        if left.exists() {
            std::fs::remove_dir_all(&left)
                .with_context(|| format!("the folder {} cannot be emptied", left.display()))?;
        }
    }
    let run_folder = make(&work.join("run"))?;
    let settings = Settings {
        installer: installing::installer(args, make(&args.cache_dir)?)?,
        scratch: make(&work.join("p"))?,
        writable: args.writable.clone(),
        launcher: Launcher {
            program: std::env::current_exe().context("this program's own file cannot be found")?,
            arguments: vec!["launch".into()],
        },
        fence: if args.require_fence {
            Fence::Required
        } else {
            Fence::BestEffort
        },
        bounds: bounds(&args.processes)?,
        inherit_environment: false,
        provisioners: Rules {
            programs: if args.allow_local_exec {
                LocalPrograms::Fenced
            } else {
                LocalPrograms::Refused(
                    "A local-exec provisioner would run a program inside the operator. Whoever runs the operator can allow \
                     that with --allow-local-exec (the chart's allowLocalExec).",
                )
            },
            reach: Reach::guarded(args.sources.permit_networks.clone()),
            agent: None,
        },
        // Each namespace has its own: see `Context::settings_in`.
        states: None,
        warm: None,
        // Each namespace has its own of them: see `Context::settings_for`.
        sidecars: Default::default(),
        turns: Default::default(),
        schemas: Arc::new(SchemaCache::kept_in(args.cache_dir.join("schemas"))),
    };
    Ok((settings, run_folder, own))
}

/// What providers are held to. The kernel lets nobody but root start them as another user.
fn bounds(args: &ProcessArgs) -> anyhow::Result<Bounds> {
    let bounds = args.bounds();
    if bounds.user.is_some() && !rustix::process::geteuid().is_root() {
        return Err(anyhow!(
            "providers can have a user of their own only where the operator runs as root: run it so, or leave --provider-uid out \
             (the chart's providers.uid does both)"
        ));
    }
    Ok(bounds)
}

/// Becomes true on the first signal to end.
fn stopped() -> anyhow::Result<watch::Receiver<bool>> {
    let mut terminate = signal(SignalKind::terminate()).context("signals cannot be received")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be received")?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Nobody listens once the operator has ended.
        let _ = sender.send(true);
    });
    Ok(receiver)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn told(diags: Diags) -> anyhow::Error {
    anyhow!(errors(&diags, &Default::default(), &Secrets::default()))
}
