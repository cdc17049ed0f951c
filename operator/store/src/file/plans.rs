//! Plans in a folder, by digest. They may hold secrets, so only their owner can read them.

use std::{fs, path::PathBuf};

use ashlar_diag::{Diag, Diags};

use super::disk::{self, DiskError};

const SUMMARY: &str = "Failed to keep the plan";

/// Where the plans of a folder are.
#[derive(Clone, Debug)]
pub struct PlanFiles {
    folder: PathBuf,
}

impl PlanFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps a plan.
    pub async fn save(&self, digest: &str, plan: Vec<u8>) -> Result<(), Diags> {
        let path = self.path(digest)?;
        super::blocking(move || {
            let folder = path.parent().unwrap_or(&path);
            fs::create_dir_all(folder)
                .map_err(|error| DiskError::new("make", folder, error).diags(SUMMARY))?;
            disk::write(&path, &plan, |_| Ok(()))
                .map(drop)
                .map_err(|error| error.diags(SUMMARY))
        })
        .await
    }

    /// The plan with this digest, if there is one.
    pub async fn load(&self, digest: &str) -> Result<Option<Vec<u8>>, Diags> {
        let path = self.path(digest)?;
        super::blocking(move || disk::read(&path).map_err(|error| error.diags("Failed to read plan"))).await
    }

    /// Forgets a plan.
    pub async fn remove(&self, digest: &str) -> Result<(), Diags> {
        let path = self.path(digest)?;
        super::blocking(move || disk::remove(&path).map_err(|error| error.diags(SUMMARY))).await
    }

    fn path(&self, digest: &str) -> Result<PathBuf, Diags> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':');
        if digest.is_empty() || digest.len() > 200 || !digest.chars().all(plain) {
            return Err(Diag::error(
                "Invalid plan digest",
                "A digest is made of letters, digits, dashes and colons.",
            )
            .into());
        }
        Ok(self.folder.join(digest.replace(':', "-")))
    }
}
