//! `checksum=` of a package: `TYPE:HEX`, `HEX`, or `file:ADDRESS` of a list as `sha256sum` and BSD's `md5` write it.

use std::{
    fs::File,
    io::{self, Seek},
};

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::{fault::Fault, fetcher::unkept, tree::shown};

/// What a package must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksum {
    kind: Algorithm,
    /// In small letters.
    hex: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Checksum {
    /// `TYPE:HEX` or `HEX`.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let (kind, hex) = match text.split_once(':') {
            Some((kind, hex)) => (Some(kind), hex),
            None => (None, text),
        };
        Self::of(kind, hex).ok_or_else(|| {
            Fault::asked(format!(
                "{} is not a checksum: md5, sha1, sha256 or sha512, a colon, and its hex digits.",
                shown(text)
            ))
        })
    }

    fn of(kind: Option<&str>, hex: &str) -> Option<Self> {
        let hex = hex.to_ascii_lowercase();
        let by_length = match hex.len() {
            32 => Algorithm::Md5,
            40 => Algorithm::Sha1,
            64 => Algorithm::Sha256,
            128 => Algorithm::Sha512,
            _ => return None,
        };
        let named = match kind.map(str::to_ascii_lowercase).as_deref() {
            None => by_length,
            Some("md5") => Algorithm::Md5,
            Some("sha1") => Algorithm::Sha1,
            Some("sha256") => Algorithm::Sha256,
            Some("sha512") => Algorithm::Sha512,
            Some(_) => return None,
        };
        let sound = named == by_length && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        sound.then_some(Self { kind: named, hex })
    }

    /// The one for a file in a list.
    pub(crate) fn in_list(list: &str, file: &str) -> Option<Self> {
        list.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (kind, hex, name) = match &*words {
                [hex] => (None, *hex, file),
                [hex, name] => (None, *hex, name.trim_start_matches(['*', '?'])),
                [kind, name, "=", hex] => (Some(*kind), *hex, name.strip_prefix('(')?.strip_suffix(')')?),
                _ => return None,
            };
            let name = name.rsplit('/').next().unwrap_or(name);
            (name == file).then(|| Self::of(kind, hex)).flatten()
        })
    }

    /// Is it the checksum of a file, which is at its beginning after that?
    pub(crate) fn check(&self, file: &mut File, place: &dyn std::fmt::Display) -> Result<(), Fault> {
        file.rewind().map_err(|error| unkept(&error))?;
        let found = match self.kind {
            Algorithm::Md5 => hash::<Md5>(file),
            Algorithm::Sha1 => hash::<Sha1>(file),
            Algorithm::Sha256 => hash::<Sha256>(file),
            Algorithm::Sha512 => hash::<Sha512>(file),
        };
        let found = found
            .and_then(|found| file.rewind().map(|()| found))
            .map_err(|error| unkept(&error))?;
        if found == self.hex {
            return Ok(());
        }
        Err(Fault::changed(format!(
            "The package at {place} has the checksum {found}, not {} as its source says. It is not used.",
            self.hex
        )))
    }
}

fn hash<D: Digest + io::Write>(file: &mut File) -> io::Result<String> {
    let mut digest = D::new();
    io::copy(file, &mut digest)?;
    Ok(hex::encode(digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_read() {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e";
        for text in [
            md5.to_owned(),
            format!("md5:{md5}"),
            format!("MD5:{}", md5.to_uppercase()),
        ] {
            assert_eq!(Checksum::parse(&text).unwrap().hex, md5, "{text}");
        }
        for text in [
            "",
            "sha256:d41d",
            "crc32:00000000",
            &format!("sha1:{md5}"),
            &"g".repeat(40),
        ] {
            assert!(Checksum::parse(text).is_err(), "{text}");
        }
        let list = format!(
            "{} *other.zip\n{md5}  ./dir/m.zip\nMD5 (n.zip) = {md5}\n",
            "0".repeat(64)
        );
        assert_eq!(Checksum::in_list(&list, "m.zip").unwrap().hex, md5);
        assert_eq!(Checksum::in_list(&list, "n.zip").unwrap().kind, Algorithm::Md5);
        assert_eq!(
            Checksum::in_list(&list, "other.zip").unwrap().kind,
            Algorithm::Sha256
        );
        assert_eq!(Checksum::in_list(&list, "x.zip"), None);
        assert_eq!(Checksum::in_list(md5, "x.zip").unwrap().hex, md5);
    }

    #[test]
    fn files_are_checked() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"abc").unwrap();
        for text in [
            "900150983cd24fb0d6963f7d28e17f72",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ] {
            Checksum::parse(text).unwrap().check(&mut file, &"x").unwrap();
        }
        let other = Checksum::parse(&"0".repeat(128)).unwrap();
        let fault = other.check(&mut file, &"x").unwrap_err();
        assert_eq!(fault.kind, crate::FaultKind::Changed);
    }
}
