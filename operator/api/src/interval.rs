//! Durations as Kubernetes' users write them: `90s`, `1h30m`.

use std::time::Duration;

/// The pattern of a duration that is not negative; the one Flux uses.
pub(crate) const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Reads a duration; `None` if it is none, negative or larger than can be told. The text is a tenant's: kube's own parser
/// panics on large numbers.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = None;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        rest = &rest[letters..];
        let part = Duration::try_from_secs_f64(number * unit).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("1h30m", Some(5400)),
            ("1.5m", Some(90)),
            ("2000ms", Some(2)),
            ("99999999999999999999h", None),
            ("9999999999999999999s9999999999999999999s", None),
            ("1.2.3s", None),
            ("1d", None),
            ("-1s", None),
            ("", None),
            ("5", None),
        ] {
            assert_eq!(parse_duration(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
