//! The operator as a process: wires the controller, runs it until it is told to end, and ends in order.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context as _, anyhow};
use ashlar_api::{InputKind, Workspace};
use ashlar_diag::Diags;
use ashlar_provider::{Fence, Launcher};
use ashlar_runner::Settings;
use ashlar_store::kube::{OperatorKey, Presence};
use futures::{StreamExt, channel::mpsc, stream::BoxStream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Resource, ResourceExt,
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
};

use crate::{
    args::OperatorArgs,
    context::Context,
    index::{Index, Reference},
    message::{Secrets, errors},
    pass::{on_error, pass},
    registry::{Registry, Sight},
};

/// Passes at once: they are short, but each waits for the API server a few times.
const PASSES: u16 = 32;

/// Runs the operator until SIGTERM or SIGINT. Then nothing new is started; providers at work finish, their results are
/// kept, and locks are given back before it returns.
pub async fn run(args: OperatorArgs) -> anyhow::Result<()> {
    let stopping = stopped()?;
    let client = Client::try_default()
        .await
        .context("the cluster cannot be reached")?;
    let name = args.replica_id.clone().unwrap_or_else(host_name);
    let presence = Presence::announce(&client, &args.operator_namespace, &name)
        .await
        .map_err(told)?;
    let key = OperatorKey::load_or_create(&client, &args.operator_namespace, &args.key_secret)
        .await
        .map_err(told)?;
    let (pokes, poked) = mpsc::unbounded();
    let context = Arc::new(Context {
        recorder: Recorder::new(
            client.clone(),
            Reporter {
                controller: "ashlar".to_owned(),
                instance: Some(presence.id().to_owned()),
            },
        ),
        settings: settings(&args)?,
        work: args.work_dir.join("run"),
        client,
        key,
        presence,
        registry: Arc::new(Registry::default()),
        index: Arc::new(Index::default()),
        plan_permits: Arc::new(Semaphore::new(args.concurrency_plan.into())),
        apply_permits: Arc::new(Semaphore::new(args.concurrency_apply.into())),
        locks: Default::default(),
        pokes,
        draining: AtomicBool::new(false),
    });
    tracing::info!(replica = context.presence.id(), "the operator starts");
    control(&args, &context, poked, stopping).await;
    tracing::info!("the operator waits for its runs");
    context.registry.drain().await;
    publish_last(&context).await;
    context.presence.clone().leave().await.map_err(told)?;
    tracing::info!("the operator has ended");
    Ok(())
}

/// Watches and passes, until it is time to end.
async fn control(
    args: &OperatorArgs,
    context: &Arc<Context>,
    poked: mpsc::UnboundedReceiver<ObjectRef<Workspace>>,
    stopping: watch::Receiver<bool>,
) {
    let mut pokes = vec![poked.boxed()];
    let mut controllers = Vec::new();
    for namespace in namespaces(args) {
        let woken = futures::stream::select(
            wake::<Secret>(context, namespace.as_deref(), InputKind::Secret),
            wake::<ConfigMap>(context, namespace.as_deref(), InputKind::ConfigMap),
        );
        // Pokes name workspaces of any namespace, so all go to the first controller's queue of its own watch.
        let own: BoxStream<'static, ObjectRef<Workspace>> = match pokes.pop() {
            Some(poked) => futures::stream::select(woken, poked).boxed(),
            None => woken.boxed(),
        };
        controllers.push((namespace, own));
    }
    let runs = controllers.into_iter().map(|(namespace, own)| {
        let (mut stopping, flag) = (stopping.clone(), context.clone());
        let end = async move {
            // An error means that the sender is gone: then it is time to end, too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            flag.draining.store(true, Ordering::SeqCst);
        };
        Controller::new(
            api::<Workspace>(&context.client, namespace.as_deref()),
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

/// Workspaces to look at because of what became of objects of this kind.
fn wake<K>(
    context: &Arc<Context>,
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
        api::<PartialObjectMeta<K>>(&context.client, namespace),
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
                let readers = index.readers(&namespace, reference).into_iter();
                Some(
                    readers
                        .map(|name| ObjectRef::new(&name).within(&namespace))
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

fn settings(args: &OperatorArgs) -> anyhow::Result<Settings> {
    let make = |path: &Path| {
        std::fs::create_dir_all(path)
            .with_context(|| format!("the folder {} cannot be made", path.display()))?;
        path.canonicalize()
            .with_context(|| format!("the folder {} cannot be found", path.display()))
    };
    let work = make(&args.work_dir)?;
    make(&work.join("run"))?;
    Ok(Settings {
        mirrors: args.mirrors.clone(),
        cache: make(&args.cache_dir)?,
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
        inherit_environment: false,
        schemas: Default::default(),
        digests: Default::default(),
    })
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
