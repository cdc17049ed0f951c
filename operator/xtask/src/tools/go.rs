//! Programs written in Go, built from the modules pinned under `tools/` and `tests/providers/`.
//!
//! Versions stand only in each module's go.mod and go.sum. Nothing is fetched by any other means than Go's own, which
//! checks every module against go.sum.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache::{self, Key};
use crate::{layout, process};

/// A Go module and the programs to build from it.
pub(super) struct Module {
    /// Name of the cache entry.
    pub(super) name: &'static str,
    /// Folder of the go.mod, from the root of the tree.
    pub(super) folder: &'static str,
    /// What the module is, besides its go.mod and go.sum.
    pub(super) sources: Sources,
    /// Settings of package variables at link time, as `-X` takes them.
    pub(super) set: &'static [&'static str],
    /// What to build.
    pub(super) programs: &'static [Program],
    /// What to copy beside the programs.
    pub(super) copies: &'static [Copied],
}

/// A folder of a pinned module, copied into the entry.
pub(super) struct Copied {
    /// The module.
    pub(super) module: &'static str,
    /// The folder in it.
    pub(super) folder: &'static str,
    /// What the copy is called.
    pub(super) name: &'static str,
}

/// Where a module's own code is.
#[derive(Clone, Copy)]
pub(super) enum Sources {
    /// It has none: it only pins others.
    Pins,
    /// The Go files in its folder.
    Folder,
}

/// One main package and where its program goes.
pub(super) struct Program {
    /// Import path, or a path from the module's folder.
    pub(super) package: &'static str,
    /// Where it goes within the entry.
    pub(super) place: Place,
}

/// Where a program goes within its cache entry.
pub(super) enum Place {
    /// A file of this name.
    Plain(&'static str),
    /// Where a plugin mirror has a provider of this address (`HOST/NAMESPACE/TYPE`), once per version.
    Mirror(&'static str, &'static [&'static str]),
}

const KUBE_VERSION: &[&str] = &[
    // Kubernetes' own build sets these; left alone the server calls itself v0.0.0-master, which clients cannot parse.
    "k8s.io/component-base/version.gitVersion=v1.35.0",
    "k8s.io/component-base/version.gitCommit=local",
    "k8s.io/component-base/version.gitTreeState=clean",
    "k8s.io/client-go/pkg/version.gitVersion=v1.35.0",
    "k8s.io/client-go/pkg/version.gitCommit=local",
    "k8s.io/client-go/pkg/version.gitTreeState=clean",
];

/// The control plane.
pub(super) const KUBE: Module = Module {
    name: "kube",
    folder: "tools/kube",
    sources: Sources::Pins,
    set: KUBE_VERSION,
    programs: &[
        plain("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        plain(
            "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
        ),
        plain("etcd", "go.etcd.io/etcd/server/v3"),
    ],
    copies: &[],
};

/// What a node runs besides a container runtime.
pub(super) const NODE: Module = Module {
    name: "node",
    programs: &[
        plain("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
        plain("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
        plain("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
    ],
    ..KUBE
};

/// The client of the Helm chart.
pub(super) const HELM: Module = Module {
    name: "helm",
    folder: "tools/helm",
    sources: Sources::Pins,
    set: &["helm.sh/helm/v3/internal/version.version=v3.22.0"],
    programs: &[plain("helm", "helm.sh/helm/v3/cmd/helm")],
    copies: &[],
};

/// The source-controller of Flux. Its module names one version of a library that the proxy does not serve: its go.mod
/// replaces that by the nearest one served.
pub(super) const FLUX: Module = Module {
    name: "flux",
    folder: "tools/flux",
    sources: Sources::Pins,
    set: &[],
    programs: &[plain("source-controller", "github.com/fluxcd/source-controller")],
    copies: &[Copied {
        module: "github.com/fluxcd/source-controller",
        folder: "config/crd/bases",
        name: "definitions",
    }],
};

/// Servers of sources.
pub(super) const HOSTS: Module = Module {
    name: "hosts",
    folder: "tools/hosts",
    sources: Sources::Folder,
    set: &[],
    programs: &[plain("hosts", ".")],
    copies: &[],
};

/// Published providers. Versions here only name files: the code is what go.mod pins, and each provider's change log
/// says which version that is.
pub(super) const PROVIDERS: Module = Module {
    name: "providers",
    folder: "tools/providers",
    sources: Sources::Pins,
    set: &[],
    programs: &[
        mirror(
            "github.com/terraform-providers/terraform-provider-random",
            "registry.terraform.io/hashicorp/random",
            &["3.9.0"],
        ),
        mirror(
            "github.com/hashicorp/terraform-provider-tls",
            "registry.terraform.io/hashicorp/tls",
            &["4.3.0"],
        ),
        mirror(
            "github.com/hashicorp/terraform-provider-time",
            "registry.terraform.io/hashicorp/time",
            &["0.14.2"],
        ),
        mirror(
            "github.com/terraform-providers/terraform-provider-local",
            "registry.terraform.io/hashicorp/local",
            &["2.9.0"],
        ),
    ],
    copies: &[],
};

/// Published providers that need a server to talk to.
pub(super) const CLOUDS: Module = Module {
    name: "clouds",
    folder: "tools/clouds",
    sources: Sources::Pins,
    set: &[],
    programs: &[mirror(
        "github.com/hashicorp/terraform-provider-kubernetes",
        "registry.terraform.io/hashicorp/kubernetes",
        &["3.2.1"],
    )],
    copies: &[],
};

/// Providers of our own, for what no published one shows.
pub(super) const TEST_PROVIDERS: Module = Module {
    name: "testproviders",
    folder: "tests/providers",
    sources: Sources::Folder,
    set: &[],
    programs: &[
        mirror(
            "./cmd/terraform-provider-kiln",
            "forge.test/studio/kiln",
            &["0.9.0", "1.0.0"],
        ),
        mirror(
            "./cmd/terraform-provider-kilnv5",
            "forge.test/studio/kilnv5",
            &["0.9.0", "1.0.0"],
        ),
        mirror(
            "./cmd/terraform-provider-snoop",
            "forge.test/studio/snoop",
            &["1.0.0"],
        ),
    ],
    copies: &[],
};

const fn plain(file: &'static str, package: &'static str) -> Program {
    Program {
        package,
        place: Place::Plain(file),
    }
}

const fn mirror(package: &'static str, address: &'static str, versions: &'static [&'static str]) -> Program {
    Program {
        package,
        place: Place::Mirror(address, versions),
    }
}

impl Place {
    /// The files, from the entry's folder; all of them are the same program.
    fn files(&self) -> Vec<PathBuf> {
        match self {
            Place::Plain(file) => vec![PathBuf::from(file)],
            Place::Mirror(address, versions) => {
                let kind = address.rsplit('/').next().unwrap_or(address);
                let file = |version| {
                    format!(
                        "{address}/{version}/{}/terraform-provider-{kind}_v{version}",
                        platform()
                    )
                };
                versions
                    .iter()
                    .map(|version| PathBuf::from(file(version)))
                    .collect()
            }
        }
    }
}

/// This machine as plugin mirrors name it: operating system and architecture in Go's words.
pub(super) fn platform() -> String {
    let system = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        std::env::consts::OS
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}_{machine}")
}

/// The cache entry of a module, built when it is not there yet.
pub(super) fn build(module: &Module) -> Result<PathBuf> {
    let folder = layout::root().join(module.folder);
    let link = module
        .set
        .iter()
        .fold("-s -w".to_string(), |flags, set| format!("{flags} -X {set}"));
    let mut recipe = format!("{} {link}", platform());
    for program in module.programs {
        for file in program.place.files() {
            recipe += &format!("\n{} {}", program.package, file.display());
        }
    }
    for Copied { module, folder, name } in module.copies {
        recipe += &format!("\n{module} {folder} {name}");
    }
    let mut key = Key::new(&recipe);
    match module.sources {
        Sources::Pins => {
            key.file(&folder.join("go.mod"))?;
            key.file(&folder.join("go.sum"))?;
        }
        Sources::Folder => key.go_tree(&folder)?,
    }
    cache::entry(module.name, &key.finish(), |draft| {
        module
            .programs
            .iter()
            .try_for_each(|program| compile(module, program, &folder, &link, draft))?;
        module
            .copies
            .iter()
            .try_for_each(|copied| copy(copied, &folder, draft))
    })
}

/// Copies files that Go unpacked beside the code it compiled.
fn copy(copied: &Copied, folder: &Path, draft: &Path) -> Result<()> {
    let go = process::need("go", &format!("find {}", copied.module))?;
    let mut command = Command::new(go);
    command
        .current_dir(folder)
        .args(["list", "-m", "-f", "{{.Dir}}", copied.module]);
    let unpacked = process::output(&mut command)?;
    let target = draft.join(copied.name);
    fs::create_dir(&target)?;
    for file in cache::sorted(&Path::new(unpacked.trim()).join(copied.folder))? {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, target.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

fn compile(module: &Module, program: &Program, folder: &Path, link: &str, draft: &Path) -> Result<()> {
    let files = program.place.files();
    let [first, rest @ ..] = files.as_slice() else {
        return Ok(());
    };
    let label = format!(
        "{}: {}",
        module.name,
        first.file_name().unwrap_or_default().display()
    );
    let go = process::need("go", &format!("build {}", first.display()))?;
    let target = draft.join(first);
    // Neither the commit nor the folder of the build may change the program: it is kept by the hash of its sources.
    let mut command = Command::new(go);
    command
        .current_dir(folder)
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o"]);
    command.arg(&target).arg(program.package);
    process::logged(
        &label,
        &mut command,
        &cache::folder()?.join(format!("{}.log", module.name)),
    )?;
    rest.iter()
        .try_for_each(|file| link_file(&target, &draft.join(file)))
}

/// Gives `file` a second name, making the folders on the way.
pub(super) fn link_file(file: &Path, name: &Path) -> Result<()> {
    if let Some(folder) = name.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::hard_link(file, name).with_context(|| format!("cannot link {} to {}", file.display(), name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_lies_where_mirrors_have_it_once_per_version() {
        let files = Place::Mirror("forge.test/studio/kiln", &["0.9.0", "1.0.0"]).files();
        let expected = ["0.9.0", "1.0.0"].map(|version| {
            PathBuf::from(format!(
                "forge.test/studio/kiln/{version}/{}/terraform-provider-kiln_v{version}",
                platform()
            ))
        });
        assert_eq!(files, expected);
    }
}
