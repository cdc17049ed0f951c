//! Why a provider is not installed.
//!
//! Source of the summaries: Terraform `internal/command/init.go`. No text here holds a credential.

use std::{fmt, path::PathBuf};

use ashlar_addr::{Provider, Version};
use ashlar_diag::Diag;
use ashlar_sources::Fault;

use crate::{
    lay::LayError, mirror::MirrorError, platform::Platform, signature::SignatureError, sums::SumsError,
    unpack::UnpackError,
};

/// Why a provider is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The host in its address could not be asked for its services.
    #[error("could not connect to {host}: {}", Text(.fault))]
    Host {
        /// Which.
        host: String,
        /// Why.
        fault: Fault,
    },
    /// The host in its address has no providers.
    #[error("the host {host}, which the source address {provider} names, offers no registry of providers")]
    NoRegistry {
        /// Which.
        host: String,
        /// For which.
        provider: Provider,
    },
    /// The registry has no such provider.
    #[error("the registry {} has no provider {provider}, or does not show it to these credentials", .provider.host)]
    Unknown {
        /// Which.
        provider: Provider,
    },
    /// No method of installation has it.
    #[error("provider {provider} was found in none of the places that are searched: {}", Places(.places))]
    NotFound {
        /// Which.
        provider: Provider,
        /// Where it was sought.
        places: Vec<String>,
    },
    /// None of its versions is what is asked for.
    #[error("no version of provider {provider} meets {constraints}; there are: {}{}", Newest(.versions), Askers(.asks))]
    NoVersion {
        /// Which.
        provider: Provider,
        /// All that is asked for.
        constraints: String,
        /// Who asks for what.
        asks: Vec<String>,
        /// What there is, the oldest first.
        versions: Vec<Version>,
    },
    /// The settled version is there no more.
    #[error(
        "version {version} of provider {provider}, which .terraform.lock.hcl settles, is no longer available; there are: {}. \
         `--upgrade` settles another version", Newest(.versions)
    )]
    Gone {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// What there is, the oldest first.
        versions: Vec<Version>,
    },
    /// A source could not be asked.
    #[error("{place} could not be asked for {provider}: {}", Text(.fault))]
    Query {
        /// For which.
        provider: Provider,
        /// Where.
        place: String,
        /// Why.
        fault: Fault,
    },
    /// A source's answer makes no sense.
    #[error("{place} answers what cannot be understood, when asked for {provider}: {why}")]
    Answer {
        /// For which.
        provider: Provider,
        /// Where.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no package for this platform.
    #[error("{place} has no package of provider {provider} {version} for {platform}")]
    Platform {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// For which.
        platform: Platform,
        /// Where it was sought.
        place: String,
    },
    /// It speaks no protocol that is spoken here.
    #[error(
        "provider {provider} {version} speaks only the plugin protocols {}, and 5 and 6 are spoken here. {}",
        Joined(.protocols), Nearest { version, closest: closest.as_ref(), constraints }
    )]
    Protocol {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// What it speaks.
        protocols: Vec<String>,
        /// The newest one that can be spoken to.
        closest: Option<Version>,
        /// What was asked for.
        constraints: String,
    },
    /// A package could not be fetched.
    #[error("the package of provider {provider} {version} could not be fetched: {}", Text(.fault))]
    Fetch {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// Why.
        fault: Fault,
    },
    /// The list of checksums does not vouch for the package.
    #[error("the package of provider {provider} {version} is not to be trusted: {error}")]
    Sums {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// Why.
        error: SumsError,
    },
    /// Nobody vouches for the list of checksums.
    #[error("the package of provider {provider} {version} is not to be trusted: {error}")]
    Signature {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// Why.
        error: SignatureError,
    },
    /// What came is not what was promised.
    #[error(
        "the package of provider {provider} {version} from {place} has the checksum {found}, not {wanted} as was promised; \
         it is not used"
    )]
    Checksum {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// Where it is from.
        place: String,
        /// What came.
        found: String,
        /// What was promised.
        wanted: String,
    },
    /// What came is not what was settled.
    #[error(
        "the package of provider {provider} {version} has none of the checksums that .terraform.lock.hcl settles for it. Either \
         it was tampered with, or the file was made for other platforms: `ashlar providers lock` adds this one"
    )]
    Locked {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
    },
    /// A package could not be unpacked or kept.
    #[error("the package of provider {provider} {version} could not be kept")]
    Keep {
        /// Which.
        provider: Provider,
        /// In which version.
        version: Version,
        /// Why.
        #[source]
        error: UnpackError,
    },
    /// A fault in this program.
    #[error("a provider could not be installed, because of a fault in this program: {0}")]
    Broken(String),
    /// It cannot be laid into a mirror's folder.
    #[error(transparent)]
    Lay(#[from] LayError),
    /// A folder of packages.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The folder of a development override.
    #[error("the development override of provider {provider}, {}, cannot be used", .folder.display())]
    Override {
        /// Which.
        provider: Provider,
        /// Where it should be.
        folder: PathBuf,
        /// Why.
        #[source]
        error: Box<MirrorError>,
    },
}

/// A fault without its full stop.
struct Text<'a>(&'a Fault);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text.trim_end_matches('.'))
    }
}

struct Places<'a>(&'a [String]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(
                "none is for it (provider_installation in the CLI configuration, --mirror; providers.installation and \
                 providerMirrors in the chart's values)",
            );
        }
        f.write_str(&self.0.join(", "))
    }
}

/// The newest of many.
struct Newest<'a>(&'a [Version]);

impl fmt::Display for Newest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 10;
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (at, version) in self.0.iter().rev().take(MOST).enumerate() {
            write!(f, "{}{version}", if at > 0 { ", " } else { "" })?;
        }
        match self.0.len().checked_sub(MOST) {
            Some(more) if more > 0 => write!(f, " and {more} older ones"),
            _ => Ok(()),
        }
    }
}

struct Askers<'a>(&'a [String]);

impl fmt::Display for Askers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ask in self.0 {
            write!(f, "\n  - {ask}")?;
        }
        Ok(())
    }
}

struct Joined<'a>(&'a [String]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

struct Nearest<'a> {
    version: &'a Version,
    closest: Option<&'a Version>,
    constraints: &'a str,
}

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(closest) = self.closest else {
            return f.write_str("No version of it can be used");
        };
        let which = if closest < self.version {
            "The nearest compatible version is the older"
        } else {
            "The nearest compatible version is the newer"
        };
        write!(f, "{which} {closest}; select it with version = \"{closest}\"")?;
        if self.constraints.is_empty() {
            return Ok(());
        }
        write!(f, " (asked for: {})", self.constraints)
    }
}

impl InstallError {
    /// Does it only mean that a source does not have it, so that the next one may?
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. }
                | Self::NotFound { .. }
                | Self::Platform { .. }
                | Self::Mirror(MirrorError::Absent { .. })
        )
    }

    /// The same, saying what was asked for, where that helps.
    #[must_use]
    pub fn asked(mut self, asked: &str) -> Self {
        if let Self::Protocol { constraints, .. } = &mut self {
            asked.clone_into(constraints);
        }
        self
    }

    /// May the same go well later, with nothing changed but a server?
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Host { fault, .. } | Self::Query { fault, .. } | Self::Fetch { fault, .. } => {
                fault.is_passing()
            }
            // Others use the room now.
            Self::Keep { error, .. } => matches!(error, UnpackError::Full { .. }),
            _ => false,
        }
    }
}

impl From<InstallError> for Diag {
    fn from(error: InstallError) -> Self {
        let summary = match &error {
            InstallError::NoRegistry { .. } => "Invalid provider registry host",
            InstallError::Platform { .. } | InstallError::Protocol { .. } => "Incompatible provider version",
            InstallError::Host { .. }
            | InstallError::Unknown { .. }
            | InstallError::NotFound { .. }
            | InstallError::NoVersion { .. }
            | InstallError::Gone { .. }
            | InstallError::Query { .. }
            | InstallError::Answer { .. } => "Failed to query available provider packages",
            InstallError::Mirror(error) => return error.diag(),
            InstallError::Fetch { .. }
            | InstallError::Sums { .. }
            | InstallError::Signature { .. }
            | InstallError::Checksum { .. }
            | InstallError::Locked { .. }
            | InstallError::Keep { .. }
            | InstallError::Broken(_)
            | InstallError::Lay(_)
            | InstallError::Override { .. } => "Failed to install provider",
        };
        let mut detail = chain(&error);
        if let Some(first) = detail.get(..1) {
            let first = first.to_uppercase();
            detail.replace_range(..1, &first);
        }
        Diag::error(summary, format!("{detail}."))
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}
