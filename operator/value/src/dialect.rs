//! Which product's language is meant, where the two differ.

use std::{error::Error, fmt, str::FromStr};

/// The language as one of its two products has it. It stands here because every crate of the language is built on this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// As Terraform has it.
    #[default]
    Terraform,
    /// As OpenTofu has it.
    OpenTofu,
}

impl Dialect {
    /// Both.
    pub const ALL: [Self; 2] = [Dialect::Terraform, Dialect::OpenTofu];

    /// The product's name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Terraform => "Terraform",
            Dialect::OpenTofu => "OpenTofu",
        }
    }

    /// The release that the engine does as, and presents itself as.
    pub const fn version(self) -> &'static str {
        match self {
            Dialect::Terraform => "1.15.5",
            Dialect::OpenTofu => "1.12.6",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Dialect::Terraform => Dialect::OpenTofu,
            Dialect::OpenTofu => Dialect::Terraform,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names neither dialect.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownDialect;

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the dialects are terraform and opentofu")
    }
}

impl Error for UnknownDialect {}

/// The name, in letters of any case.
impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name().eq_ignore_ascii_case(text))
            .ok_or(UnknownDialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
            assert_eq!(dialect.name().to_lowercase().parse(), Ok(dialect));
            assert_eq!(dialect.other().other(), dialect);
        }
        assert_eq!("tofu".parse::<Dialect>(), Err(UnknownDialect));
    }
}
