//! The walk on a control plane: the chart, the operator with its rights, and the example's Workspace, handled by `kubectl`
//! alone.
//!
//! The control plane is removed with its folder, and the operator ends, whatever became of the walk.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ashlar_xtask::cluster::Cluster;
use ashlar_xtask::tools::{self, Group, Tools};
use ashlar_xtask::{layout, process, release::Release};

use super::{Approver, EXAMPLE};
use crate::step;

const NAME: &str = "quickstart";
/// Each wait is for one run of the operator, which starts four plugins; this is for a busy machine.
const WITHIN: Duration = Duration::from_secs(180);
const CHANGES: &str = "jsonpath={.status.plan.summary.text}{\"\\n\"}\
                       {range .status.plan.changes[*]}{.action}{\" \"}{.address}{\"\\n\"}{end}";
const OUTPUTS: &str = "jsonpath={range .status.outputs[*]}{.name}{\" = \"}{.value}{\"\\n\"}{end}";
const DIGEST: &str = "jsonpath={.status.plan.digest}";

pub(super) fn walk(ashlar: &Path, folder: &Path, approver: Approver) -> Result<()> {
    let tools = tools::build(&[Group::Kube, Group::Helm, Group::Providers])?;
    let cluster = Cluster::up(&folder.join("control-plane"), &tools)?;
    let outcome = in_cluster(ashlar, &cluster, &tools, folder, approver);
    cluster.destroy()?;
    outcome
}

fn in_cluster(
    ashlar: &Path,
    cluster: &Cluster,
    tools: &Tools,
    folder: &Path,
    approver: Approver,
) -> Result<()> {
    let kubectl = Kubectl { cluster };
    let release = Release {
        helm: tools.path("ASHLAR_HELM")?.to_owned(),
        kubeconfig: cluster.kubeconfig(),
        namespace: "ashlar-system".to_owned(),
    };
    let mirror = tools.path("ASHLAR_PLUGIN_MIRROR")?;
    let helm = release.install(&[format!("providerMirrors={{{}}}", mirror.display())]);
    println!("\n$ {}", process::show(&helm));
    step::text(helm)?;
    kubectl.show(&["wait", "--for=condition=Established", "crd/workspaces.ashlar.dev"])?;
    println!(
        "\nNo node runs here: the operator is started by hand, with the Deployment's flags and ServiceAccount."
    );
    let mut operator = Operator::start(ashlar, &release, folder)?;
    let outcome = by_kubectl(&kubectl, &mut operator, approver);
    let ended = operator.stop();
    if outcome.is_err() {
        eprintln!(
            "the end of the operator's log:\n{}",
            process::tail(&operator.log, 4000)?
        );
    }
    outcome.and(ended)
}

fn by_kubectl(kubectl: &Kubectl<'_>, operator: &mut Operator, approver: Approver) -> Result<()> {
    let manifest = format!("{EXAMPLE}/workspace.yaml");
    kubectl.show(&["apply", "-f", &manifest])?;
    kubectl.wait(operator, "condition=AwaitingApproval")?;
    kubectl.show(&["get", "asw", NAME])?;
    kubectl.show(&["get", "asw", NAME, "-o", CHANGES])?;
    let digest = kubectl.show(&["get", "asw", NAME, "-o", DIGEST])?;
    let digest = digest.trim();
    if let Approver::Person = approver {
        ask()?;
    }
    let patch = format!(r#"{{"spec":{{"approval":{{"approvedPlan":"{digest}"}}}}}}"#);
    kubectl.show(&["patch", "asw", NAME, "--type", "merge", "-p", &patch])?;
    kubectl.wait(operator, "condition=Ready")?;
    kubectl.show(&["get", "asw", NAME, "-o", OUTPUTS])?;
    kubectl.show(&["get", "secret", "quickstart-outputs"])?;
    // The second plan is asked for at once; the interval would bring it in ten minutes.
    kubectl.show(&["annotate", "asw", NAME, "ashlar.dev/requestedAt=again"])?;
    kubectl
        .wait(operator, "jsonpath={.status.plan.standing}=Empty")
        .context("the second plan has changes, or was not made")?;
    kubectl.show(&["get", "asw", NAME]).map(drop)
}

/// Goes on only if the person says yes.
fn ask() -> Result<()> {
    print!("\nApprove this plan? Only 'yes' is accepted: ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("not approved; nothing was changed");
    }
    Ok(())
}

struct Kubectl<'a> {
    cluster: &'a Cluster,
}

impl Kubectl<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.cluster.kubectl();
        command.current_dir(layout::root()).args(words);
        command
    }

    /// Runs a command in sight of the person, as typed in the tree, and returns what it printed.
    fn show(&self, words: &[&str]) -> Result<String> {
        println!("\n$ kubectl {}", quoted(words));
        step::text(self.command(words))
    }

    /// Waits until the Workspace is so, while the operator runs.
    fn wait(&self, operator: &mut Operator, what: &str) -> Result<()> {
        let workspace = format!("asw/{NAME}");
        let condition = format!("--for={what}");
        let words = ["wait", &workspace, &condition, "--timeout=2s"];
        println!("\n$ kubectl {}", quoted(&words[..3]));
        let deadline = Instant::now() + WITHIN;
        loop {
            let done = self.command(&words).output().context("cannot start kubectl")?;
            if done.status.success() {
                print!("{}", String::from_utf8_lossy(&done.stdout));
                return Ok(());
            }
            if let Some(status) = operator.child.try_wait()? {
                bail!("the operator ended with {status}");
            }
            if Instant::now() > deadline {
                self.show(&["get", "asw", NAME, "-o", "yaml"])?;
                bail!(
                    "not within {WITHIN:?}: {}",
                    String::from_utf8_lossy(&done.stderr).trim()
                );
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Words as a shell takes them.
fn quoted(words: &[&str]) -> String {
    let plain = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_=./:".contains(c))
    };
    words
        .iter()
        .map(|word| {
            if plain(word) {
                (*word).to_string()
            } else {
                format!("'{word}'")
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The operator, outside of the cluster, with no rights but those of the chart.
struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    fn start(ashlar: &Path, release: &Release, folder: &Path) -> Result<Self> {
        let log = folder.join("operator.log");
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = release.operator(ashlar, folder)?;
        command
            .args(["--log-format", "text"])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        println!("\n$ {} &", process::show(&command));
        let child = command.spawn().context("cannot start the operator")?;
        Ok(Self { child, log })
    }

    fn stop(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "the operator ended by itself with {status}; see {}",
                self.log.display()
            );
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(
            quoted(&["get", "asw", "-o", "jsonpath={.a b}"]),
            "get asw -o 'jsonpath={.a b}'"
        );
    }
}
