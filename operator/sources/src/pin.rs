//! What was fetched for a module's source, so that the very same comes again.

use serde::{Deserialize, Serialize};

/// What was fetched for a module's source. It holds no credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// The source as the configuration has it, without the folder in its package and without what may be secret: see
    /// [`crate::package_name`].
    pub source: String,
    /// The version that was chosen, of a registry's module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the place calls it: a commit, the digest of a manifest or of an archive.
    pub revision: String,
    /// `sha256:` and the digest of the package's tree of files.
    pub digest: String,
    /// The module's folder in the package; empty for its root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The part of that folder that the registry named; it may have stars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub package_folder: String,
}
