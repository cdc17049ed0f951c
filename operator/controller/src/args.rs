//! The arguments of `ashlar run`.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use ashlar_provider::{Bounds, WarmLimits};
use ashlar_sources::Limits;

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
    /// Fetches of sources at once.
    #[arg(long, env = "ASHLAR_CONCURRENCY_FETCH", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub concurrency_fetch: u16,
    /// What may be fetched.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Providers that run elsewhere, such as in containers beside the operator: an object in JSON with a member for each
    /// provider's address, which has `network` (unix or tcp), `address`, `protocol` (5 or 6), `version`, `namespaces` (whose
    /// workspaces use it; all, if left out), and `remote` (true, if the address is not one of this machine).
    #[arg(long, env = "ASHLAR_SIDECARS", default_value = "{}")]
    pub sidecars: String,
    /// What the processes of providers are held to.
    #[command(flatten)]
    pub processes: ProcessArgs,
    /// Which providers outlive runs.
    #[command(flatten)]
    pub warm: WarmArgs,
    /// Address that metrics are served on, in Prometheus' text form, as 0.0.0.0:8080; none are served by default.
    #[arg(long, env = "ASHLAR_METRICS_ADDRESS")]
    pub metrics_address: Option<SocketAddr>,
    /// How providers are installed.
    #[command(flatten)]
    pub providers: ProviderArgs,
    /// Name of this replica, the Pod's in a Pod; the host's by default.
    #[arg(long, env = "ASHLAR_REPLICA_ID")]
    pub replica_id: Option<String>,
    /// How logs are written.
    #[arg(long, env = "ASHLAR_LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
    /// Start no provider that cannot be fenced in as far as a new kernel can.
    #[arg(long, env = "ASHLAR_REQUIRE_FENCE")]
    pub require_fence: bool,
    /// Let workspaces run programs here by local-exec provisioners, within the fence of providers; where the kernel cannot build
    /// it none runs. Whoever may write a Workspace then runs any program that this image holds, with the network of the operator.
    #[arg(long, env = "ASHLAR_ALLOW_LOCAL_EXEC")]
    pub allow_local_exec: bool,
}

/// What may be fetched.
#[derive(clap::Args, Clone, Debug)]
pub struct SourceArgs {
    /// Let workspaces take a Flux source of another namespace. Whoever may write a Workspace reads all sources then.
    #[arg(long, env = "ASHLAR_ALLOW_CROSS_NAMESPACE_REFS")]
    pub allow_cross_namespace_refs: bool,
    /// Network, such as 10.0.0.0/8, from which sources and modules may be fetched although it is one of this machine's own or
    /// a link-local one (repeat for more). All other networks may be fetched from.
    #[arg(
        long = "permit-network",
        env = "ASHLAR_PERMIT_NETWORKS",
        value_delimiter = ','
    )]
    pub permit_networks: Vec<ipnet::IpNet>,
    /// Folder that keeps what was fetched; `sources` in the cache folder by default. Replicas may share one.
    #[arg(long, env = "ASHLAR_SOURCE_CACHE_DIR")]
    pub source_cache_dir: Option<PathBuf>,
    /// Most that it keeps, in MiB; what is in use stays.
    #[arg(long, env = "ASHLAR_SOURCE_CACHE_MIB", default_value_t = 2048)]
    pub source_cache_mib: u32,
    /// Largest package as it is sent, in MiB.
    #[arg(long, env = "ASHLAR_SOURCE_PACKAGE_MIB", default_value_t = 256)]
    pub source_package_mib: u32,
    /// Most that the files of a package may take, in MiB.
    #[arg(long, env = "ASHLAR_SOURCE_UNPACKED_MIB", default_value_t = 1024)]
    pub source_unpacked_mib: u32,
    /// Most files, folders and links in a package.
    #[arg(long, env = "ASHLAR_SOURCE_FILES", default_value_t = 50_000)]
    pub source_files: u32,
    /// Most that a git server may send, in MiB.
    #[arg(long, env = "ASHLAR_SOURCE_GIT_MIB", default_value_t = 512)]
    pub source_git_mib: u32,
    /// Time for one fetch, in seconds.
    #[arg(long, env = "ASHLAR_SOURCE_TIMEOUT", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    pub source_timeout: u32,
}

/// How providers are installed.
#[derive(clap::Args, Clone, Debug)]
pub struct ProviderArgs {
    /// What `provider_installation` says in Terraform's CLI configuration: the text of such a file, or in JSON a list of methods,
    /// [{"network_mirror": {"url": "https://…"}}, {"direct": {}}]. The folders of --mirror go before them. Without it providers come from
    /// those folders alone, and no network is used for them.
    #[arg(long, env = "ASHLAR_PROVIDER_INSTALLATION")]
    pub provider_installation: Option<String>,
    /// Folder that a Secret is mounted at: with a CLI configuration (terraformrc or terraformrc.json), accounts of OCI registries
    /// (.dockerconfigjson), and certificate authorities to trust (ca.crt); each may be left out.
    #[arg(long, env = "ASHLAR_PROVIDER_SECRET_DIR")]
    pub provider_secret_dir: Option<PathBuf>,
    /// Most that the cache keeps of providers, in MiB, what is being unpacked counted; what is in use stays, and what finds no room
    /// beside it is refused.
    #[arg(long, env = "ASHLAR_PROVIDER_CACHE_MIB", default_value_t = 3072)]
    pub provider_cache_mib: u32,
    /// Largest package of a provider as it is sent, in MiB.
    #[arg(long, env = "ASHLAR_PROVIDER_PACKAGE_MIB", default_value_t = 512)]
    pub provider_package_mib: u32,
    /// Most that the files of a package may take, and all packages together that are being unpacked at once, in MiB; at most what the
    /// cache keeps.
    #[arg(long, env = "ASHLAR_PROVIDER_UNPACKED_MIB", default_value_t = 2048)]
    pub provider_unpacked_mib: u32,
    /// Time for the download of one package, in seconds.
    #[arg(long, env = "ASHLAR_PROVIDER_TIMEOUT", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub provider_timeout: u32,
}

impl SourceArgs {
    /// As the fetcher takes them.
    pub(crate) fn limits(&self) -> Limits {
        let bytes = |mib: u32| u64::from(mib) << 20;
        Limits {
            package_bytes: bytes(self.source_package_mib),
            unpacked_bytes: bytes(self.source_unpacked_mib),
            file_bytes: bytes(self.source_unpacked_mib).min(Limits::default().file_bytes),
            files: usize::try_from(self.source_files).unwrap_or(usize::MAX),
            git_bytes: bytes(self.source_git_mib),
            time: Duration::from_secs(self.source_timeout.into()),
            cache_bytes: bytes(self.source_cache_mib),
            ..Limits::default()
        }
    }
}

/// What the processes of providers are held to, and those of local-exec provisioners. 0 is no bound.
#[derive(clap::Args, Clone, Debug)]
pub struct ProcessArgs {
    /// User and group that they run as, where the operator runs as root, so that they can do nothing to its processes and files. What is to be
    /// read by them must be readable by all, and the folders of --writable writable by that user. 0: they run as the operator does.
    #[arg(long, env = "ASHLAR_PROVIDER_UID", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..4_294_967_295))]
    pub provider_uid: u32,
    /// Most memory that one process may have as its own, in MiB; one that needs more fails. Not to be set near what providers usually take.
    #[arg(long, env = "ASHLAR_PROVIDER_MEMORY_MIB", default_value_t = 0)]
    pub provider_memory_mib: u32,
    /// Most open files and connections of one process.
    #[arg(long, env = "ASHLAR_PROVIDER_OPEN_FILES", default_value_t = 0)]
    pub provider_open_files: u32,
    /// Largest file that they may write, in MiB.
    #[arg(long, env = "ASHLAR_PROVIDER_FILE_MIB", default_value_t = 0)]
    pub provider_file_mib: u32,
    /// Most processes and threads of all of them together; it bounds them only if they have a user of their own.
    #[arg(long, env = "ASHLAR_PROVIDER_PROCESSES", default_value_t = 0)]
    pub provider_processes: u32,
}

impl ProcessArgs {
    /// As a launch takes them.
    pub(crate) fn bounds(&self) -> Bounds {
        let most = |number: u32| (number > 0).then(|| u64::from(number));
        let bytes = |mib: u32| most(mib).map(|mib| mib << 20);
        Bounds {
            user: NonZeroU32::new(self.provider_uid),
            memory: bytes(self.provider_memory_mib),
            open_files: most(self.provider_open_files),
            file_size: bytes(self.provider_file_mib),
            processes: most(self.provider_processes),
        }
    }
}

/// Which providers outlive runs, so that the next run of the same workspace, with the same files and variables, starts none.
#[derive(clap::Args, Clone, Debug)]
pub struct WarmArgs {
    /// How long a provider may serve nobody before it is ended, in seconds. 0: each run starts its own, and ends them.
    #[arg(long, env = "ASHLAR_WARM_IDLE", default_value_t = 600)]
    pub warm_idle: u32,
    /// How old a provider may get, in seconds.
    #[arg(long, env = "ASHLAR_WARM_AGE", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub warm_age: u32,
    /// Most memory that providers may take which serve nobody, in MiB.
    #[arg(long, env = "ASHLAR_WARM_MIB", default_value_t = 1024)]
    pub warm_mib: u32,
    /// Most memory that one of them may take, in MiB.
    #[arg(long, env = "ASHLAR_WARM_PROVIDER_MIB", default_value_t = 512)]
    pub warm_provider_mib: u32,
    /// Most of them that one workspace has.
    #[arg(long, env = "ASHLAR_WARM_PER_WORKSPACE", default_value_t = 8)]
    pub warm_per_workspace: u16,
    /// Most of them.
    #[arg(long, env = "ASHLAR_WARM_COUNT", default_value_t = 64)]
    pub warm_count: u16,
}

impl WarmArgs {
    /// As the pool takes them; nothing if there is to be none.
    pub(crate) fn limits(&self) -> Option<WarmLimits> {
        let bytes = |mib: u32| u64::from(mib) << 20;
        (self.warm_idle > 0).then(|| WarmLimits {
            idle: Duration::from_secs(self.warm_idle.into()),
            age: Duration::from_secs(self.warm_age.into()),
            resident: bytes(self.warm_provider_mib),
            memory: bytes(self.warm_mib),
            per_tenant: self.warm_per_workspace.into(),
            all: self.warm_count.into(),
        })
    }
}
