//! The arguments of `ashlar run`.

use std::path::PathBuf;

/// How logs are written.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Run the operator of a cluster.
#[derive(clap::Args, Clone, Debug)]
pub struct OperatorArgs {
    /// Look after workspaces of this namespace only (repeat for more); of all by default.
    #[arg(long = "namespace", env = "ASHLAR_NAMESPACES", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    /// Namespace of the operator's own key Secret and of the Leases by which replicas know of each other.
    #[arg(long, env = "ASHLAR_OPERATOR_NAMESPACE", default_value = "ashlar-system")]
    pub operator_namespace: String,
    /// Name of the Secret with the operator's key; it is made when it is absent.
    #[arg(long, env = "ASHLAR_KEY_SECRET", default_value = "ashlar-key")]
    pub key_secret: String,
    /// Folder with provider packages (repeat for more); tried in order.
    #[arg(long = "mirror", env = "ASHLAR_PLUGIN_MIRROR", value_delimiter = ':')]
    pub mirrors: Vec<PathBuf>,
    /// Where packed providers are unpacked. Programs are started from here.
    #[arg(long, env = "ASHLAR_CACHE_DIR", default_value = "/tmp/ashlar/cache")]
    pub cache_dir: PathBuf,
    /// Holds the files of runs and the private folders of providers. Keep its name short: sockets lie below it.
    #[arg(long, env = "ASHLAR_WORK_DIR", default_value = "/tmp/ashlar/work")]
    pub work_dir: PathBuf,
    /// Folder that providers may write to beside their private one (repeat for more), such as a mounted volume. The
    /// providers of all workspaces share it.
    #[arg(long = "writable", env = "ASHLAR_WRITABLE", value_delimiter = ':')]
    pub writable: Vec<PathBuf>,
    /// Plans at once.
    #[arg(long, env = "ASHLAR_CONCURRENCY_PLAN", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub concurrency_plan: u16,
    /// Applies at once.
    #[arg(long, env = "ASHLAR_CONCURRENCY_APPLY", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub concurrency_apply: u16,
    /// How long providers have to end what they do once a run is stopped, in seconds. After half of it they are asked to
    /// break off; at its end they are killed, and what their calls did is told to be uncertain.
    #[arg(long, env = "ASHLAR_PROVIDER_GRACE", default_value_t = 300)]
    pub provider_grace: u32,
    /// Name of this replica, the Pod's in a Pod; the host's by default.
    #[arg(long, env = "ASHLAR_REPLICA_ID")]
    pub replica_id: Option<String>,
    /// How logs are written.
    #[arg(long, env = "ASHLAR_LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
    /// Start no provider that cannot be fenced in as far as a new kernel can.
    #[arg(long, env = "ASHLAR_REQUIRE_FENCE")]
    pub require_fence: bool,
}
