//! Traits and data for every effect of the engine: providers, provisioners, durable storage of a run, clock and chance.
//!
//! The engine (`plan`, `apply`) decides and calls these; the shell (`provider`, `store`, `cli`, `controller`) implements
//! them. No implementation stands here, and nothing here names tokio, tonic or kube.

mod outside;
mod progress;
mod provider;
mod provisioner;
mod run;
mod states;

pub use outside::Outside;
pub use progress::{Activity, Event, Invoked, KnownBy, Progress, Task, Unwatched};
pub use provider::{
    Answer, Applied, ApplyRequest, CallFault, Deferred, FunctionFault, ImportRequest, Imported,
    ImportedObject, ListRequest, Listed, MoveRequest, MovedObject, Opened, PlanRequest, Planned, Provider,
    ProviderDiag, Providers, Read, ReadDataRequest, ReadRequest, Renewed, Told, UpgradeRequest, was_heard,
};
pub use provisioner::{Hearer, ProvisionRequest, Provisioners};
pub use run::{Intent, Moved, Outcome, Record, RunStore, StopFlag, Subject};
pub use states::{ClusterAccess, StatePlace, States};
