//! Platforms in Go's words: `linux_amd64`.

use std::{fmt, str::FromStr};

/// An operating system and an architecture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// As in `linux`.
    pub os: String,
    /// As in `amd64`.
    pub arch: String,
}

impl Platform {
    /// This machine.
    pub fn here() -> Self {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            os => os,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            arch => arch,
        };
        Self {
            os: os.to_owned(),
            arch: arch.to_owned(),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

/// A text that is no platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no platform: an operating system, an underscore and an architecture, such as linux_amd64")]
pub struct PlatformError(String);

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let sound = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        text.split_once('_')
            .filter(|(os, arch)| sound(os) && sound(arch))
            .map(|(os, arch)| Self {
                os: os.to_owned(),
                arch: arch.to_owned(),
            })
            .ok_or_else(|| PlatformError(text.chars().take(100).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_read_and_shown() {
        let linux: Platform = "linux_amd64".parse().unwrap();
        assert_eq!((&*linux.os, &*linux.arch), ("linux", "amd64"));
        assert_eq!(linux.to_string(), "linux_amd64");
        for text in ["", "linux", "_", "linux_", "a_b_c", "Linux_amd64", "../x_y"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
        let here = Platform::here();
        assert_eq!(here.to_string().parse(), Ok(here));
    }
}
