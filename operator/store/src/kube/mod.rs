//! The store of the operator: state, journal and plans in Secrets, locks in Leases.
//!
//! A run takes the lock ([`acquire`]), opens the store ([`KubeStore::open`]), journals and saves, closes the store and
//! releases the lock. Each process announces its [`Presence`] once. All of it stays right when the process dies between
//! any two requests, and when it is cut off from the API server while another takes over.

mod call;
mod chunks;
mod guarded;
mod journal;
mod key;
mod lease;
mod names;
mod plans;
mod presence;
mod run;
mod sealed;
mod state;
mod states;
mod time;

pub use key::{OperatorKey, WorkspaceKeys};
pub use lease::{Asked, Holder, Lock, acquire, acquire_by_hand, lock_exists};
pub use names::Slot;
pub use plans::PlanStore;
pub use presence::Presence;
pub use run::{KubeStore, peek, pull};
pub use states::SecretStates;
