//! `SHA256SUMS`: the checksums of all packages of a version, which are signed as one.
//!
//! Source: Terraform `internal/getproviders/package_authentication.go`. Whether the list is to be trusted is not decided here.

use crate::hash::{self, Hashes};

/// Why a list does not vouch for a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumsError {
    /// It says nothing of the file.
    #[error("the list of checksums has none for {0:?}")]
    Missing(String),
    /// What it says is no checksum.
    #[error("the list of checksums has a checksum for {0:?} that is none of SHA-256")]
    Malformed(String),
    /// The registry itself says otherwise.
    #[error("the list of checksums has {listed} for the package, and the registry's answer has {told}")]
    Contradiction {
        /// In the list.
        listed: String,
        /// In the answer.
        told: String,
    },
}

/// Checks that a list has the checksum that a registry tells of a file.
pub(crate) fn check(list: &[u8], file: &str, told: &str) -> Result<(), SumsError> {
    let listed = lines(list).find_map(|(sum, name)| (name == Some(file.as_bytes())).then_some(sum));
    let listed = listed.ok_or_else(|| SumsError::Missing(file.to_owned()))?;
    let listed = std::str::from_utf8(listed)
        .ok()
        .filter(|sum| hash::is_sum(sum))
        .ok_or_else(|| SumsError::Malformed(file.to_owned()))?;
    if listed.eq_ignore_ascii_case(told) {
        Ok(())
    } else {
        Err(SumsError::Contradiction {
            listed: listed.to_owned(),
            told: told.to_owned(),
        })
    }
}

/// `zh:` of all packages in a list; of none if it is not such a list.
pub(crate) fn hashes(list: &[u8]) -> Hashes {
    let mut all = Hashes::new();
    for (sum, name) in lines(list) {
        let sum = std::str::from_utf8(sum).ok().filter(|sum| hash::is_sum(sum));
        match (sum, name) {
            (Some(sum), Some(_)) => all.insert(hash::of_sum(sum)),
            _ => return Hashes::new(),
        };
    }
    all
}

/// First and second word of each line that is not empty.
fn lines(list: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    list.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        Some((words.next()?, words.next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_vouches_for_its_files_alone() {
        let (a, b) = ("0a".repeat(32), "0b".repeat(32));
        let list = format!("{a}  a.zip\n{b}  b.zip\r\n\nshort c.zip\n");
        let check = |file: &str, told: &str| super::check(list.as_bytes(), file, told);
        assert_eq!(check("a.zip", &a.to_uppercase()), Ok(()));
        assert_eq!(check("b.zip", &b), Ok(()));
        assert!(matches!(check("a.zip", &b), Err(SumsError::Contradiction { .. })));
        assert_eq!(check("c.zip", &a), Err(SumsError::Malformed("c.zip".to_owned())));
        assert_eq!(check("d.zip", &a), Err(SumsError::Missing("d.zip".to_owned())));
    }

    #[test]
    fn all_of_a_list_or_nothing_of_something_else() {
        let (a, b) = ("0A".repeat(32), "0b".repeat(32));
        let all = hashes(format!("{a}  a.zip\n\n{b}  b.zip\n").as_bytes());
        assert_eq!(
            all.into_iter().collect::<Vec<_>>(),
            [hash::of_sum(&a), hash::of_sum(&b)]
        );
        for text in [
            format!("{a} a.zip\nhello world\n"),
            format!("{a}\n"),
            "\u{fffd}".to_owned(),
        ] {
            assert!(hashes(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
