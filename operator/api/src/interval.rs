//! Durations as Kubernetes' users write them: `90s`, `1h30m`.

use std::time::Duration;

/// The pattern of a duration that is not negative; the one Flux uses.
pub(crate) const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Reads a duration; `None` if it is none, negative or larger than can be told.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let duration: kube::core::Duration = text.parse().ok()?;
    // Nothing is read as no time at all.
    if text.is_empty() || duration.is_negative() {
        None
    } else {
        Some(duration.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("1h30m", Some(5400)),
            ("-1s", None),
            ("", None),
            ("5", None),
        ] {
            assert_eq!(parse_duration(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
