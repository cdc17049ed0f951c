//! How much a fetch may take.

use std::time::Duration;

/// How much a fetch may take, and how much is kept. No module comes near the defaults; what crosses one is refused with an
/// error that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a package as it is sent.
    pub package_bytes: u64,
    /// Bytes of all its files together.
    pub unpacked_bytes: u64,
    /// Its files, folders and links.
    pub files: usize,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Folders inside each other.
    pub path_depth: usize,
    /// Bytes that a git server may send.
    pub git_bytes: u64,
    /// Objects that a git server may send.
    pub git_objects: u64,
    /// Time for one fetch, all its requests together.
    pub time: Duration,
    /// Redirects, those of `X-Terraform-Get` included.
    pub redirects: usize,
    /// Bytes of the cache. What is in use stays, even if it is more.
    pub cache_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            package_bytes: 256 << 20,
            unpacked_bytes: 1 << 30,
            files: 50_000,
            file_bytes: 256 << 20,
            path_depth: 64,
            git_bytes: 512 << 20,
            git_objects: 1_000_000,
            time: Duration::from_secs(300),
            redirects: 10,
            cache_bytes: 8 << 30,
        }
    }
}

/// A number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    for (size, unit) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if count >= size && count.is_multiple_of(size) {
            return format!("{} {unit}", count / size);
        }
    }
    format!("{count} bytes")
}
