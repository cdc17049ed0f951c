//! Plans one configuration over and over as the operator does, for tenants by turns, with providers that outlive the plans, and
//! prints what each part of them took. `cargo xtask bench warm` runs it beside Terraform.
//!
//! Arguments: the program `ashlar`, the plugin mirror, a folder with `main.tf` and its `terraform.tfstate`, a folder for
//! scratch with a short name, how many plans, how many tenants.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for measuring ends where something is not as it should be"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ashlar_diag::Sources;
use ashlar_install::{Cache, Installer};
use ashlar_plan::Options;
use ashlar_port::Unwatched;
use ashlar_provider::{Fence, Launcher, SchemaCache, WarmLimits, WarmPool};
use ashlar_provisioner::{LocalPrograms, Rules};
use ashlar_runner::{Modules, PlanRequest, Settings, Warm, plan};
use ashlar_sources::Reach;

struct Bench {
    settings: Settings,
    pool: Arc<WarmPool>,
    text: Arc<str>,
    state: Vec<u8>,
    scratch: PathBuf,
}

impl Bench {
    /// One plan of a tenant; how long it took.
    async fn plan(&self, tenant: usize) -> Duration {
        let folder = self.scratch.join(format!("t{tenant}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("main.tf"), &*self.text).unwrap();
        let settings = Settings {
            warm: Some(Warm {
                pool: self.pool.clone(),
                tenant: format!("t{tenant}").into(),
                anchor: Arc::new(()),
            }),
            ..self.settings.clone()
        };
        let request = PlanRequest {
            files: vec![("main.tf".into(), self.text.clone())],
            modules: Modules::Beside,
            inputs: BTreeMap::new(),
            sources: Sources::new(),
            env: Vec::new(),
            options: Options::default(),
            state: ashlar_state::read(&self.state).unwrap(),
            folder: folder.clone(),
            confines: Some(folder),
            held: Vec::new(),
            upgrade: false,
            generate: None,
        };
        let start = Instant::now();
        let outcome = plan(&settings, request, &Unwatched).await;
        let took = start.elapsed();
        assert!(!outcome.diags.has_errors(), "{}", outcome.diags);
        let (plan, _) = outcome.plan.expect("there is a plan");
        assert!(!plan.wants_apply(), "there are changes");
        took
    }
}

/// Resident memory in bytes, open descriptors, and processes that were started and have not ended.
fn own() -> (u64, usize, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kilobytes: u64 = line.trim().strip_suffix("kB").unwrap().trim().parse().unwrap();
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().count();
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let children = tasks.map(|task| {
        let children = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        children.split_whitespace().count()
    });
    (kilobytes * 1024, descriptors, children.sum())
}

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).map_or_else(|_| Vec::new(), |entries| entries.flatten().collect());
    let below = entries
        .iter()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    entries.len() + below.map(|entry| files(&entry.path())).sum::<usize>()
}

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ashlar, mirror, folder, scratch, plans, tenants] = &arguments[..] else {
        panic!("arguments: ASHLAR MIRROR FOLDER SCRATCH PLANS TENANTS");
    };
    let (folder, scratch) = (PathBuf::from(folder), PathBuf::from(scratch));
    let (plans, tenants): (usize, usize) = (plans.parse().unwrap(), tenants.parse().unwrap());
    let pool = WarmPool::new(WarmLimits::default());
    let bench = Bench {
        settings: Settings {
            installer: Installer::of_folders(
                vec![mirror.into()],
                Cache::new(scratch.join("cache"), Cache::USUAL_BYTES),
            ),
            scratch: scratch.join("p"),
            writable: Vec::new(),
            launcher: Launcher {
                program: ashlar.into(),
                arguments: vec!["launch".into()],
            },
            fence: Fence::Required,
            bounds: Default::default(),
            inherit_environment: false,
            provisioners: Rules {
                programs: LocalPrograms::Refused("They are not needed."),
                reach: Reach::guarded(Vec::new()),
                agent: None,
            },
            states: None,
            warm: None,
            sidecars: Arc::default(),
            turns: Arc::default(),
            schemas: Arc::new(SchemaCache::kept_in(scratch.join("cache/schemas"))),
        },
        pool: pool.clone(),
        text: fs::read_to_string(folder.join("main.tf")).unwrap().into(),
        state: fs::read(folder.join("terraform.tfstate")).unwrap(),
        scratch: scratch.clone(),
    };
    let tending = tokio::spawn(pool.clone().tend());
    println!("first {:.3}", bench.plan(0).await.as_secs_f64() * 1e3);
    let before = pool.counts().all_started();
    for _ in 0..9 {
        println!("warm {:.3}", bench.plan(0).await.as_secs_f64() * 1e3);
    }
    println!("started {}", pool.counts().all_started() - before);
    for at in 0..plans {
        let took = bench.plan(at % tenants).await;
        if (at + 1) % 50 == 0 || at + 1 == tenants {
            let (resident, descriptors, children) = own();
            println!(
                "row {} {:.1} {} {descriptors} {children} {}",
                at + 1,
                took.as_secs_f64() * 1e3,
                resident,
                files(&scratch.join("p"))
            );
        }
    }
    tending.abort();
    pool.close().await;
    drop(bench);
    let (resident, descriptors, children) = own();
    println!(
        "end 0 0 {resident} {descriptors} {children} {}",
        files(&scratch.join("p"))
    );
}
