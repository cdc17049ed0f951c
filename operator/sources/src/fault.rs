//! Why something was not fetched.

use std::{error::Error, fmt};

/// Why something was not fetched. Its text names what was asked for, never a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing went wrong.
    pub kind: FaultKind,
    /// For people: what, where, and how to mend it.
    pub text: String,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// What was asked for cannot be meant, or is not supported.
    Asked,
    /// There is no such repository, reference, version or package.
    Absent,
    /// The server wants other credentials, or does not prove who it is.
    Denied,
    /// The server could not be reached, broke off or failed; the same may go well later.
    Unreachable,
    /// A limit or the network policy forbids it, or the package is hostile.
    Refused,
    /// It is another content than the one that was pinned or promised.
    Changed,
    /// This machine could not keep it.
    Local,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    pub(crate) fn asked(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Asked, text)
    }

    pub(crate) fn absent(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Absent, text)
    }

    pub(crate) fn denied(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, text)
    }

    pub(crate) fn unreachable(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Unreachable, text)
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Refused, text)
    }

    pub(crate) fn changed(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Changed, text)
    }

    pub(crate) fn local(what: &str, error: &std::io::Error) -> Self {
        Self::new(FaultKind::Local, format!("{what}: {error}"))
    }

    /// May the same go well later, with nothing changed but the server?
    pub fn is_passing(&self) -> bool {
        matches!(self.kind, FaultKind::Unreachable | FaultKind::Local)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Fault {}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let cause = source.to_string();
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        next = source.source();
    }
    text
}
