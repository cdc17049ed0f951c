//! What was fetched for a module's source, so that the very same comes again.

use serde::{Deserialize, Serialize};

/// What was fetched for a module's source. It holds no credential: an address in it is without account and query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// The source as the configuration has it, without the folder in its package.
    pub source: String,
    /// The version that was chosen, of a registry's module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the place calls it: a commit, the digest of a manifest, a version.
    pub revision: String,
    /// `sha256:` and the digest of the package's tree of files.
    pub digest: String,
}
