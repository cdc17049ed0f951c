//! Where the root module's files come from.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{interval::PATTERN, workspace::SecretRef};

/// The root module: exactly one of inline, configMapRef, sourceRef, git and oci is given.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.inline), has(self.configMapRef), has(self.sourceRef), has(self.git), has(self.oci)].filter(given, given).size() == 1").message("give exactly one of inline, configMapRef, sourceRef, git and oci"))]
#[x_kube(validation = Rule::new("!has(self.path) || has(self.sourceRef) || has(self.git) || has(self.oci)").message("path has a meaning for sourceRef, git and oci only"))]
pub struct Source {
    /// The files themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<Inline>,
    /// A ConfigMap of this namespace that holds the files, one a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapRef>,
    /// An object of Flux that fetches the files: its newest artifact is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<SourceRef>,
    /// A git repository, which the operator fetches itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// An artifact in an OCI registry, which the operator fetches itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
    /// The root module's folder in what is fetched; its root by default. A change of files that neither lie below this
    /// folder nor below that of a local module it calls plans nothing anew, unless a module names a file by a path with
    /// "..", outside of module sources: then every file counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("!self.matches('(^/|(^|/)[.][.](/|$))')").message("path is relative to the root of what is fetched, and leads nowhere out of it"))]
    pub path: Option<String>,
}

impl Source {
    /// Is it fetched, rather than kept in this cluster's own objects?
    pub fn is_fetched(&self) -> bool {
        self.source_ref.is_some() || self.git.is_some() || self.oci.is_some()
    }
}

/// Files in the object itself.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("self.files.all(name, name.matches('^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$'))").message("names of files are relative paths of letters, digits, '.', '_' and '-'; no part begins with a dot"))]
pub struct Inline {
    /// Text by file name. Files ending in .tf or .tf.json beside the root form the root module; others can be read by
    /// functions such as file() and templatefile().
    #[schemars(extend("minProperties" = 1, "maxProperties" = 64))]
    pub files: BTreeMap<String, FileText>,
}

/// The text of one file.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, schemars::JsonSchema)]
#[serde(transparent)]
pub struct FileText(#[schemars(length(max = 262_144))] pub String);

/// Names a ConfigMap in the workspace's namespace.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct ConfigMapRef {
    /// Name of the ConfigMap. Each of its keys is a file name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Names an object of Flux's source-controller.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct SourceRef {
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; the workspace's own by default. Another one is refused unless the operator runs with
    /// --allow-cross-namespace-refs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// Kinds of Flux that hold an artifact.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub enum SourceKind {
    /// A git repository.
    GitRepository,
    /// An artifact in an OCI registry.
    OCIRepository,
    /// A bucket of an object store.
    Bucket,
    /// What another controller made.
    ExternalArtifact,
}

impl SourceKind {
    /// All of them.
    pub const ALL: [SourceKind; 4] = [
        SourceKind::GitRepository,
        SourceKind::OCIRepository,
        SourceKind::Bucket,
        SourceKind::ExternalArtifact,
    ];

    /// As Kubernetes names it.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceKind::GitRepository => "GitRepository",
            SourceKind::OCIRepository => "OCIRepository",
            SourceKind::Bucket => "Bucket",
            SourceKind::ExternalArtifact => "ExternalArtifact",
        }
    }
}

/// A git repository.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Its address: https://, http:// or ssh://, without a password.
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"^(https?|ssh)://[^/]+.*$"))]
    #[x_kube(validation = Rule::new("!self.matches('^https?://[^/]*@')").message("give user and password in the Secret that secretRef names"))]
    pub url: String,
    /// What of it is taken; its default branch when nothing is named.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<GitRef>,
    /// A Secret of this namespace with the keys that Flux has: username and password, or bearerToken; for ssh identity,
    /// known_hosts and, for a key with a passphrase, password; ca.crt for a server with a certificate of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// How often it is looked at. At least 30s.
    #[serde(default = "default_poll")]
    #[schemars(length(max = 32), regex(pattern = PATTERN))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('30s') && duration(self) <= duration('8760h')").message("interval must be from 30s to 8760h"))]
    pub interval: String,
}

/// A point in a repository's history: at most one of its fields is given.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("[has(self.branch), has(self.tag), has(self.semver), has(self.commit)].filter(given, given).size() <= 1").message("give one of branch, tag, semver and commit"))]
pub struct GitRef {
    /// The newest commit of this branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub branch: Option<String>,
    /// The commit of this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub tag: Option<String>,
    /// The tag with the highest version in this range, such as ">=1.2.0 <2.0.0".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub semver: Option<String>,
    /// This commit, by its whole name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 40), regex(pattern = r"^[0-9a-f]{40}$"))]
    pub commit: Option<String>,
}

/// An artifact in an OCI registry, as `flux push artifact`, OpenTofu's module packages and `oras push` make them.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct OciSource {
    /// Its address: oci://HOST/REPOSITORY, without tag and digest.
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"^oci://[^/@?#]+/[^:@?#]+$"))]
    pub url: String,
    /// What of it is taken; the tag latest when nothing is named.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<OciRef>,
    /// A Secret of this namespace: of type kubernetes.io/dockerconfigjson, or with username and password; ca.crt for a
    /// registry with a certificate of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// How often it is looked at. At least 30s.
    #[serde(default = "default_poll")]
    #[schemars(length(max = 32), regex(pattern = PATTERN))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('30s') && duration(self) <= duration('8760h')").message("interval must be from 30s to 8760h"))]
    pub interval: String,
}

/// A version of an artifact: at most one of its fields is given.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("[has(self.tag), has(self.semver), has(self.digest)].filter(given, given).size() <= 1").message("give one of tag, semver and digest"))]
pub struct OciRef {
    /// What this tag names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128), regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"))]
    pub tag: Option<String>,
    /// The tag with the highest version in this range, such as ">=1.2.0 <2.0.0".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub semver: Option<String>,
    /// The manifest with this digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
}

/// What opens a host that called modules come from: a module registry, a git server, an OCI registry.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ModuleCredential {
    /// The host, with its port if it is not the usual one.
    #[schemars(
        length(min = 1, max = 260),
        regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$")
    )]
    pub host: String,
    /// A Secret of this namespace with the keys that Flux has. For a module registry: bearerToken.
    pub secret_ref: SecretRef,
}

fn default_poll() -> String {
    "5m".to_owned()
}
