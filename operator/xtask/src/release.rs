//! The chart, installed by helm, and the process that its Deployment would start: the same flags, as the same
//! ServiceAccount. No node runs here, so whoever wants that process starts it; it has no rights beyond the chart's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{layout, process};

const NAME: &str = "ashlar";

/// A release named `ashlar`, in one namespace of one control plane.
#[derive(Clone, Debug)]
pub struct Release {
    /// The program `helm`.
    pub helm: PathBuf,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Where the release and its operator are.
    pub namespace: String,
}

impl Release {
    /// The helm command that installs the chart with these values (`name=value`), without a Pod.
    pub fn install(&self, values: &[String]) -> Command {
        let mut helm = Command::new(&self.helm);
        helm.args(["install", NAME, "charts/ashlar", "--namespace", &self.namespace])
            .args(["--create-namespace", "--set", "replicaCount=0"])
            .current_dir(layout::root())
            .env("KUBECONFIG", &self.kubeconfig);
        for value in values {
            helm.args(["--set", value]);
        }
        helm
    }

    /// The operator as the Deployment starts it, but with its files in `folder`, which also gets the token.
    pub fn operator(&self, ashlar: &Path, folder: &Path) -> Result<Command> {
        self.write_kubeconfig(folder)?;
        let deployment = self.kubectl(&["get", "deployment", NAME, "-o", "json"])?;
        let deployment: Value = serde_json::from_str(&deployment)?;
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let mut command = Command::new(ashlar);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        for argument in container["args"].as_array().into_iter().flatten() {
            command.arg(argument.as_str().context("an argument is no text")?);
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().context("a variable has no name")?;
            let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
            match (variable["value"].as_str(), field) {
                (Some(value), None) => command.env(name, value),
                (None, Some("metadata.namespace")) => command.env(name, &self.namespace),
                (None, Some("metadata.name")) => command.env(name, format!("{NAME}-pod")),
                _ => bail!("the Deployment's variable {name} is not understood here"),
            };
        }
        command
            .env("ASHLAR_CACHE_DIR", folder.join("c"))
            .env("ASHLAR_SOURCE_CACHE_DIR", folder.join("s"))
            .env("ASHLAR_WORK_DIR", folder.join("w"))
            .env("KUBECONFIG", folder.join("kubeconfig"));
        Ok(command)
    }

    /// A kubeconfig of the chart's ServiceAccount, whose token lies in a file of its own as it does in a Pod.
    fn write_kubeconfig(&self, folder: &Path) -> Result<()> {
        let token = self.kubectl(&["create", "token", NAME, "--duration=1h"])?;
        fs::write(folder.join("token"), token.trim())?;
        let view = |template: &str| self.kubectl(&["config", "view", "--raw", "-o", template]);
        let server = view("jsonpath={.clusters[0].cluster.server}")?;
        let authority = view("jsonpath={.clusters[0].cluster.certificate-authority-data}")?;
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {"tokenFile": folder.join("token")}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": self.namespace}}],
            "current-context": "x",
        });
        let file = folder.join("kubeconfig");
        fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut kubectl = Command::new("kubectl");
        kubectl
            .args(["--namespace", &self.namespace])
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig);
        process::output(&mut kubectl)
    }
}
