//! One run of a workspace, from files to plan and from plan to state; the same in a cluster and locally.
//!
//! It chooses provider binaries, gives the engine its clock, files and plugins, and calls `plan` and `apply`. Where state
//! and plans are kept, who may approve, and what is shown are the caller's business.

mod apply;
mod files;
mod functions;
mod inspect;
mod lock_file;
mod lock_providers;
mod look;
mod modules;
mod outside;
mod packages;
mod plan;
mod providers;
mod provisioners;
mod redact;
mod settings;
mod states;
mod validate;

pub use apply::{ApplyOutcome, ApplyRequest, apply, check_given, planned_inputs};
pub use ashlar_apply::{Counts, Kept, Patience};
pub use files::Files;
pub use functions::ProviderFunctions;
pub use inspect::{schemas_of_plan, schemas_of_state};
pub use lock_file::locked_versions;
pub use lock_providers::{LockNews, LockedPackage, lock_providers, versions_of};
pub use look::{LookRequest, Looked, look};
pub use modules::{Folders, Given, Laid, Modules, read_folder};
pub use outside::SystemOutside;
pub use packages::{Packages, Pins};
pub use plan::{PlanOutcome, PlanRequest, bounded, load_module, plan};
pub use settings::{Settings, Warm};
pub use validate::{Validated, validate};
