//! The end of a workspace: its state is put in order under the lock, and removed if nothing is in it.
//!
//! Nothing is made in order to be removed: in a namespace that is going nothing new can be.

use std::sync::Arc;

use ashlar_store::kube::lock_exists;
use tokio::sync::Semaphore;

use crate::{
    decide::StateSeen,
    ended::{Ended, Outcome},
    job::{Job, give_back, plain},
    observe::state_seen,
};

/// Puts the state in order, and with `forget` removes it if it is empty. `Err` says what keeps the workspace for now.
pub(crate) async fn release(job: &Job, forget: bool, seen: &StateSeen) -> Result<(), String> {
    if seen.foreign {
        return Ok(());
    }
    if *seen == StateSeen::default() {
        match lock_exists(&job.context.client, &job.place.slot).await {
            // Nobody has ever run here, or all of it is gone already.
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(diags) => return Err(plain(&diags)),
        }
    }
    // It is short, and must not wait for other runs.
    let held = match job
        .begin(&Arc::new(Semaphore::new(1)), "OperationTypeDelete")
        .await
    {
        Ok(held) => held,
        Err(Ended { outcome, .. }) => {
            return match outcome {
                // A person's lock is on the state, which stays; it says nothing about the workspace.
                Outcome::Busy { replica: false, .. } => Ok(()),
                Outcome::Busy { told, .. } => Err(told),
                Outcome::Failed(fault) => Err(fault.message),
                _ => Err("The state could not be locked.".to_owned()),
            };
        }
    };
    if !forget {
        return held.leave().await.map_err(|diags| plain(&diags));
    }
    let now = state_seen(&held.recovered);
    if now.things > 0 || !now.uncertain.is_empty() {
        held.finish().await;
        // Not empty after all: it is decided anew.
        return Err("The state is not empty any more.".to_owned());
    }
    if let Err(diags) = held.store.delete().await {
        give_back(held.lock).await;
        return Err(plain(&diags));
    }
    held.lock.delete().await.map_err(|diags| plain(&diags))
}
