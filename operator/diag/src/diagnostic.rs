//! The one diagnostic type.
//!
//! The summary is fixed per fault and equals Terraform's (users and tools match on it); it holds no user data. The
//! detail is ours: what happened, why it matters, how to mend it. Never put a sensitive value into either.

use std::{borrow::Cow, fmt};

use crate::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The operation cannot give a result to rely on.
    Error,
    /// Worth telling, but the result stands.
    Warning,
}

/// One fault or remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diag {
    /// Error or warning.
    pub severity: Severity,
    /// Terraform's words for this kind of fault; no user data, no full stop.
    pub summary: Cow<'static, str>,
    /// What, why, how to mend it; may be empty.
    pub detail: String,
    /// The blamed place.
    pub subject: Option<Span>,
    /// A wider place that helps to understand the subject (the block around it).
    pub context: Option<Span>,
    /// The resource instance (or other object) it concerns, printed.
    pub address: Option<String>,
    /// An attribute path inside the object, printed (`.tags["a"]`), where the place could not be found in source.
    pub attribute: Option<String>,
    /// What names in the expression at fault stand for, where somebody who may judge it has told; for the person at the command
    /// line alone. `None` where nobody was asked.
    pub values: Option<Box<[Named]>>,
}

/// What a name stands for, in words that whoever evaluated it found fit to be shown: `var.x` and `is 3`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The name, as it is written.
    pub name: String,
    /// What is said of it.
    pub is: String,
}

/// Without what is said of it: that is for one place alone.
impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (…)", self.name)
    }
}

impl Diag {
    /// An error.
    pub fn error(summary: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            subject: None,
            context: None,
            address: None,
            attribute: None,
            values: None,
        }
    }

    /// A warning.
    pub fn warning(summary: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(summary, detail)
        }
    }

    /// Sets the blamed place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.subject = Some(span);
        self
    }

    /// Sets the blamed place unless there is one already.
    #[must_use]
    pub fn or_at(mut self, span: Span) -> Self {
        self.subject = self.subject.or(Some(span));
        self
    }

    /// Says what names in the expression at fault stand for.
    #[must_use]
    pub fn naming(mut self, values: Vec<Named>) -> Self {
        self.values = Some(values.into());
        self
    }

    /// Sets the wider place.
    #[must_use]
    pub fn within(mut self, span: Span) -> Self {
        self.context = Some(span);
        self
    }

    /// The place that is shown: the blamed one, or where none is blamed the one that helps to understand.
    pub fn place(&self) -> Option<Span> {
        self.subject.or(self.context)
    }

    /// Says which object it concerns, unless that was said already.
    #[must_use]
    pub fn about(mut self, address: impl fmt::Display) -> Self {
        if self.address.is_none() {
            self.address = Some(address.to_string());
        }
        self
    }

    /// Is it an error?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// Diagnostics in the order they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diags(Vec<Diag>);

impl Diags {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diag: Diag) {
        self.0.push(diag);
    }

    /// Adds all of `other`, in order.
    pub fn extend(&mut self, other: impl IntoIterator<Item = Diag>) {
        self.0.extend(other);
    }

    /// Is there an error among them?
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diag::is_error)
    }

    /// Are there none at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that were found since there were so many.
    pub fn since(&mut self, count: usize) -> impl Iterator<Item = &mut Diag> {
        self.0.iter_mut().skip(count)
    }

    /// In the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diag> {
        self.0.iter()
    }

    /// Splits a `Result` whose error is diagnostics: the value if there is one, its diagnostics kept here.
    pub fn take<T>(&mut self, result: Result<T, Diags>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(diags) => {
                self.extend(diags);
                None
            }
        }
    }

    /// Changes each of them.
    #[must_use]
    pub fn map(self, change: impl FnMut(Diag) -> Diag) -> Self {
        Self(self.0.into_iter().map(change).collect())
    }
}

impl From<Diag> for Diags {
    fn from(diag: Diag) -> Self {
        Self(vec![diag])
    }
}

impl FromIterator<Diag> for Diags {
    fn from_iter<I: IntoIterator<Item = Diag>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl IntoIterator for Diags {
    type Item = Diag;
    type IntoIter = std::vec::IntoIter<Diag>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diags {
    type Item = &'a Diag;
    type IntoIter = std::slice::Iter<'a, Diag>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Diags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diag) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diag}")?;
        }
        Ok(())
    }
}
