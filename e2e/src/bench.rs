//! The control plane and the programs under test, as `cargo xtask e2e` hands them over.

use std::{
    env,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use ashlar_xtask::process;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) kubeconfig: PathBuf,
    /// The built `ashlar`.
    pub ashlar: PathBuf,
    /// Folder with provider packages.
    pub mirror: PathBuf,
    terraform: PathBuf,
    terraform_settings: PathBuf,
    pub(crate) helm: PathBuf,
    pub(crate) hosts: PathBuf,
    pub(crate) flux_source_controller: PathBuf,
    pub(crate) flux_definitions: PathBuf,
    kubectl: PathBuf,
}

impl Bench {
    /// Reads the environment, and installs the kinds once per process.
    pub fn open() -> Result<Self> {
        let path = |name: &str| {
            env::var_os(name)
                .map(PathBuf::from)
                .with_context(|| format!("{name} is not set: run `cargo xtask e2e`"))
        };
        let bench = Self {
            kubeconfig: path("KUBECONFIG")?,
            ashlar: path("ASHLAR_BIN")?,
            mirror: path("ASHLAR_PLUGIN_MIRROR")?,
            terraform: path("ASHLAR_TERRAFORM")?,
            terraform_settings: path("ASHLAR_TERRAFORM_CONFIG")?,
            helm: path("ASHLAR_HELM")?,
            hosts: path("ASHLAR_HOSTS")?,
            flux_source_controller: path("ASHLAR_FLUX_SOURCE_CONTROLLER")?,
            flux_definitions: path("ASHLAR_FLUX_DEFINITIONS")?,
            kubectl: process::need("kubectl", "it is how the scenarios look at the cluster")?,
        };
        static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
        let installed = INSTALLED.get_or_init(|| bench.install().map_err(|error| format!("{error:#}")));
        match installed {
            Ok(()) => Ok(bench),
            Err(error) => bail!("the kinds could not be installed: {error}"),
        }
    }

    fn install(&self) -> Result<()> {
        let definitions = process::output(Command::new(&self.ashlar).arg("crd"))?;
        self.kubectl_with(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            &definitions,
        )?;
        self.kubectl(&[
            "wait",
            "--for=condition=Established",
            "crd/workspaces.ashlar.dev",
            "--timeout=60s",
        ])?;
        Ok(())
    }

    /// Terraform itself, as the administrator, with the same provider packages and no others.
    pub fn terraform(&self) -> Command {
        let mut command = Command::new(&self.terraform);
        command
            .env("TF_CLI_CONFIG_FILE", &self.terraform_settings)
            .env("KUBE_CONFIG_PATH", &self.kubeconfig);
        command
    }

    /// Runs kubectl and gives what it prints; an error tells what it said.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with(arguments, "")
    }

    /// The same, with this on its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = Command::new(&self.kubectl)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("kubectl cannot be started")?;
        if let Some(mut stdin) = child.stdin.take() {
            // kubectl may end before it has read all; then it says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!(
                "kubectl {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
