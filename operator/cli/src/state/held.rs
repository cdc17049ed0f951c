//! A state that a command holds the lock of: a folder's, or one in a cluster.

use anyhow::Context;
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_port::{RunStore, StopFlag};
use ashlar_state::{State, same_content};
use ashlar_store::{
    LockInfo, Recovered,
    file::{FileStore, StateFile},
    kube::{Asked, KubeStore, Lock, Slot, acquire_by_hand, peek},
};

use super::{VERSION, new_lineage};
use crate::{args::StatePlace, local::workspace, printer::Printer};

/// Where a state is.
pub(crate) enum Found {
    /// A state file.
    Folder(StateFile),
    /// A Secret.
    Cluster(kube::Client, Slot),
}

impl Found {
    /// Follows the arguments: of a folder it is the state of the workspace that is selected.
    pub(crate) async fn at(place: &StatePlace, printer: &Printer) -> anyhow::Result<Self> {
        let (Some(namespace), Some(suffix)) = (&place.namespace, &place.suffix) else {
            return Ok(Self::Folder(
                workspace::selected(&place.dir, place.backends.elsewhere(), printer)?.1,
            ));
        };
        let slot = Slot::new(namespace, &place.workspace, suffix, Default::default())
            .map_err(|diags| printer.told(&diags, &Sources::new()))?;
        let client = kube::Client::try_default()
            .await
            .context("The cluster cannot be reached; does KUBECONFIG name one?")?;
        Ok(Self::Cluster(client, slot))
    }
}

/// Held until it is closed.
pub(crate) enum Held {
    Folder(FileStore),
    Cluster(Box<KubeStore>, Lock),
}

impl Held {
    /// Takes the lock for an operation and reads the state. A lock that someone else holds is not waited for.
    pub(crate) async fn open(
        place: &StatePlace,
        operation: &str,
        printer: &Printer,
    ) -> anyhow::Result<(Self, Recovered)> {
        let opened = match Found::at(place, printer).await? {
            Found::Folder(folder) => FileStore::open(folder, operation)
                .await
                .map(|(store, recovered)| (Self::Folder(store), recovered)),
            Found::Cluster(client, slot) => {
                end_in_order(*printer);
                in_cluster(&client, &slot, operation).await
            }
        };
        let (held, recovered) = opened.map_err(|diags| printer.told(&diags, &Sources::new()))?;
        printer.diags(&recovered.warnings, &Sources::new());
        Ok((held, recovered))
    }

    fn store(&self) -> &dyn RunStore {
        match self {
            Self::Folder(store) => store,
            Self::Cluster(store, _) => &**store,
        }
    }

    /// Saves a state that followed from `before`, as the next one of its line; what says the same is not saved.
    pub(crate) async fn save(&self, before: &State, mut after: State) -> Result<(), Diags> {
        if same_content(before, &after) {
            return Ok(());
        }
        if after.lineage.is_empty() {
            after.lineage = new_lineage();
        }
        after.serial = before.serial + 1;
        self.save_as_is(&after).await
    }

    /// Saves a state with its own lineage and serial.
    pub(crate) async fn save_as_is(&self, state: &State) -> Result<(), Diags> {
        if let Self::Folder(store) = self {
            store.keep_backup().await?;
        }
        self.store().save(ashlar_state::write(state, VERSION)?, 0).await
    }

    /// Gives the lock back.
    pub(crate) async fn close(self) -> Result<(), Diags> {
        match self {
            Self::Folder(store) => {
                drop(store);
                Ok(())
            }
            Self::Cluster(store, lock) => {
                let closed = store.close().await;
                closed.and(lock.release().await)
            }
        }
    }
}

/// From now on an interrupt does not end the command: a lock of a cluster that is left behind never runs out, and what is done
/// while it is held takes no longer than a few calls.
fn end_in_order(printer: Printer) {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            printer.note("Interrupted: the command ends as soon as the lock of the state is given back.");
        }
    });
}

/// Reads a state without its lock, for a question that nobody should be kept waiting by.
pub(crate) async fn glance(place: &StatePlace, printer: &Printer) -> anyhow::Result<State> {
    let peeked = match Found::at(place, printer).await? {
        Found::Folder(folder) => FileStore::peek(folder).await,
        Found::Cluster(client, slot) => peek(&client, &slot).await,
    };
    let recovered = peeked.map_err(|diags| printer.told(&diags, &Sources::new()))?;
    Ok(recovered.state)
}

async fn in_cluster(client: &kube::Client, slot: &Slot, operation: &str) -> Result<(Held, Recovered), Diags> {
    let asked = acquire_by_hand(client, slot, LockInfo::here(operation), StopFlag::new()).await?;
    let lock = match asked {
        Asked::Held(lock) => lock,
        Asked::Busy(holder) => {
            return Err(Diag::error("Error acquiring the state lock", holder.to_string()).into());
        }
    };
    match KubeStore::open(client, &lock, None).await {
        Ok((store, recovered)) => Ok((Held::Cluster(Box::new(store), lock), recovered)),
        Err(diags) => {
            let released = lock.release().await;
            Err(released.err().into_iter().fold(diags, |mut all, more| {
                all.extend(more);
                all
            }))
        }
    }
}

/// Changes a state under its lock, and saves what came of it.
pub(crate) async fn change<T>(
    place: &StatePlace,
    operation: &str,
    printer: &Printer,
    edit: impl FnOnce(&mut State) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (held, recovered) = Held::open(place, operation, printer).await?;
    let mut state = recovered.state.clone();
    let told = |diags: Diags| printer.told(&diags, &Sources::new());
    let done = match edit(&mut state) {
        Ok(done) => held
            .save(&recovered.state, state)
            .await
            .map(|()| done)
            .map_err(told),
        Err(error) => Err(error),
    };
    held.close().await.map_err(told)?;
    done
}
