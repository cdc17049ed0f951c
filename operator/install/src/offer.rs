//! What a source tells: which versions there are, and how the package of one is to be had and checked.

use std::collections::BTreeMap;

use ashlar_addr::Version;

use crate::{
    hash::{self, Hashes},
    remote::Parcel,
};

/// The versions that a source has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    /// With the plugin protocols of each, where the source tells them.
    pub(crate) versions: BTreeMap<Version, Vec<String>>,
    /// What the source wants people to know.
    pub(crate) warnings: Vec<String>,
}

/// A package that a source has.
#[derive(Debug)]
pub(crate) struct Offer {
    /// Where it is.
    pub(crate) package: Parcel,
    /// What it must be.
    pub(crate) proof: Proof,
}

/// What a package must be, and who says so.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// Whoever made it signed it.
    Signed {
        /// With which key.
        key: String,
        /// `zh:` of this package.
        archive: String,
        /// `zh:` of the packages for all platforms.
        all: Hashes,
    },
    /// A mirror tells hashes, of which it must have one; or none at all.
    Told(Hashes),
}

impl Proof {
    /// What can be said of a package by the `zh:` of its archive alone, before it is unpacked: is it right, or may its files be? The
    /// fault is what it should have.
    pub(crate) fn judge_archive(&self, archive: &str) -> Result<(), String> {
        match self {
            Self::Signed {
                archive: promised, ..
            } if promised == archive => Ok(()),
            Self::Signed {
                archive: promised, ..
            } => Err(promised.clone()),
            Self::Told(told)
                if told
                    .iter()
                    .any(|hash| hash::is_known(hash) && hash.starts_with("h1:")) =>
            {
                Ok(())
            }
            Self::Told(_) => self.judge(&Hashes::from([archive.to_owned()])),
        }
    }

    /// Is it the package with these hashes, which are all that it has? The fault is what it should have.
    pub(crate) fn judge(&self, hashes: &Hashes) -> Result<(), String> {
        let told = match self {
            Self::Signed { archive, .. } if hashes.contains(archive) => return Ok(()),
            Self::Signed { archive, .. } => return Err(archive.clone()),
            Self::Told(told) => told,
        };
        let known: Vec<&str> = told
            .iter()
            .map(String::as_str)
            .filter(|hash| hash::is_known(hash))
            .collect();
        match known.is_empty() {
            true if told.is_empty() => Ok(()),
            true => Err("one of a scheme that is known here".to_owned()),
            false if known.iter().any(|hash| hashes.contains(*hash)) => Ok(()),
            false => Err(known.join(" or ")),
        }
    }

    /// Hashes that are as good as the package's own, for other platforms.
    pub(crate) fn vouched(&self) -> Hashes {
        match self {
            Self::Signed { all, .. } => all.clone(),
            // A mirror's word is taken for what it hands out, not for what others do.
            Self::Told(_) => Hashes::new(),
        }
    }
}
