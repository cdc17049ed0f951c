//! Keys, certificates and kubeconfigs of a control plane, made by openssl (P-256, one authority).
//!
//! They guard a throw-away server on loopback; nothing else may ever trust them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::process;

/// Own settings, so that a machine's openssl.cnf has no say. The address 10.96.0.1 is the first of the Service range.
const OPENSSL_SETTINGS: &str = "\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, IP:10.96.0.1, DNS:localhost, DNS:kubernetes, DNS:kubernetes.default, DNS:kubernetes.default.svc
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
";

/// Makes all keys and certificates in `folder`, which is whole or absent. Existing ones are kept.
pub(super) fn lay_out(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if folder.exists() {
        return Ok(());
    }
    let draft = folder.with_extension("draft");
    process::remove_folder(&draft)?;
    fs::create_dir(&draft)?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o700))?;
    fs::write(draft.join("openssl.cnf"), OPENSSL_SETTINGS)?;
    certificate(&draft, "ca", "authority", "/CN=ashlar test authority")?;
    certificate(&draft, "api-server", "server", "/CN=kube-apiserver")?;
    certificate(&draft, "admin", "client", "/O=system:masters/CN=ashlar-admin")?;
    certificate(
        &draft,
        "controller-manager",
        "client",
        "/CN=system:kube-controller-manager",
    )?;
    openssl(
        &draft,
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out service-accounts.key",
        &[],
    )?;
    openssl(
        &draft,
        "pkey -in service-accounts.key -pubout -out service-accounts.pub",
        &[],
    )?;
    fs::rename(&draft, folder).with_context(|| format!("cannot move {} into place", draft.display()))
}

/// Makes `name.key` and `name.crt`. All but the authority's own are signed by `ca`.
fn certificate(folder: &Path, name: &str, extensions: &str, subject: &str) -> Result<()> {
    let signer = if name == "ca" {
        ""
    } else {
        " -CA ca.crt -CAkey ca.key"
    };
    let line = format!(
        "req -x509 -config openssl.cnf -extensions {extensions} -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc \
         -days 365 -keyout {name}.key -out {name}.crt{signer}"
    );
    openssl(folder, &line, &["-subj", subject])
}

fn openssl(folder: &Path, line: &str, more: &[&str]) -> Result<()> {
    let program = process::need("openssl", "make the certificates of the control plane")?;
    process::output(
        Command::new(program)
            .current_dir(folder)
            .args(line.split_whitespace())
            .args(more),
    )
    .map(drop)
}

/// Writes a kubeconfig for the client certificate `client`, complete in itself, readable by the owner alone.
pub(super) fn kubeconfig(folder: &Path, client: &str, server: &str, file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let data = |name: &str| -> Result<String> { Ok(STANDARD.encode(fs::read(folder.join(name))?)) };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "ashlar",
        "clusters": [{"name": "ashlar", "cluster": {"server": server, "certificate-authority-data": data("ca.crt")?}}],
        "users": [{"name": client, "user": {
            "client-certificate-data": data(&format!("{client}.crt"))?,
            "client-key-data": data(&format!("{client}.key"))?,
        }}],
        "contexts": [{"name": "ashlar", "context": {"cluster": "ashlar", "user": client}}],
    });
    // JSON is YAML.
    fs::write(file, serde_json::to_vec_pretty(&config)?)
        .and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("cannot write {}", file.display()))
}
