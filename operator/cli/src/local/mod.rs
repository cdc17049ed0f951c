//! Local mode: the same pipeline with a folder in place of the cluster.

pub(crate) mod apply;
pub(crate) mod asking;
pub(crate) mod backend;
mod cli_config;
pub(crate) mod console;
pub(crate) mod credentials;
pub(crate) mod gate;
pub(crate) mod graph;
pub(crate) mod graph_text;
pub(crate) mod identity;
pub(crate) mod import;
pub(crate) mod inputs;
pub(crate) mod installing;
pub(crate) mod messages;
pub(crate) mod output;
pub(crate) mod packages;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod providers;
pub(crate) mod providers_lock;
pub(crate) mod providers_mirror;
pub(crate) mod saved;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod validate;
pub(crate) mod workspace;
