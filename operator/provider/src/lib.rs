//! Launches and speaks to provider plugins (gRPC 5 and 6).
//!
//! The way of a provider: `install` finds its binary, [`Plugins`] starts it through [`launch`] when it is needed,
//! a handshake on its standard output and mutual TLS make the connection, and then it is a `port::Provider` like the
//! [`Builtin`] one. A plugin's death, silence or nonsense becomes an error that names it. What the answers *mean* is the
//! engine's business, never this crate's.

mod bounds;
mod builtin;
mod calls;
mod client;
mod codec;
mod connect;
mod descent;
mod fault;
mod filter;
mod handshake;
mod known;
pub mod launch;
mod lease;
mod log;
mod memory;
mod packed;
mod plugin;
mod pool;
mod process;
mod program;
mod proto;
mod relay;
mod running;
mod schema;
mod schema_cache;
mod secrets;
mod sidecar;
mod supervise;
mod tls;
mod warm;
mod warm_counts;
mod warm_rules;
mod wire;

pub use bounds::Bounds;
pub use builtin::{Builtin, Uuids};
pub use client::Timeouts;
pub use filter::FilterError;
pub use launch::{Fence, LaunchError};
pub use log::Redactor;
pub use plugin::{Listener, PluginOptions};
pub use pool::Plugins;
pub use process::{Environment, LaunchOptions, Launcher};
pub use program::{Ending, Program};
pub use relay::{Listen, Served, relay};
pub use schema_cache::{Binary, SchemaCache};
pub use sidecar::{REATTACH, Sidecar, Taken, Turns};
pub use warm::{Anchor, WarmPool};
pub use warm_counts::WarmCounts;
pub use warm_rules::{Ended, WarmLimits};
