//! What a source tells: which versions there are, and how the package of one is to be had and checked.

use std::collections::BTreeMap;

use ashlar_addr::Version;

use crate::{hash::Hashes, remote::Parcel};

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
    /// Hashes that are as good as the package's own, for other platforms.
    pub(crate) fn vouched(&self) -> Hashes {
        match self {
            Self::Signed { all, .. } => all.clone(),
            // A mirror's word is taken for what it hands out, not for what others do.
            Self::Told(_) => Hashes::new(),
        }
    }
}
