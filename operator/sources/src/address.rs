//! Addresses of what is fetched: read once, and put together again for each use, so that what is checked, what is connected
//! to and what is shown are one and the same. Shown without what may be a secret.

use std::fmt;

use crate::fault::Fault;

/// A URL.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// In lower case.
    pub(crate) scheme: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// In lower case; an IPv6 address without brackets. Empty for files.
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    /// With its first slash; still percent-encoded.
    pub(crate) path: String,
    /// Without the question mark.
    pub(crate) query: Option<String>,
}

/// Scheme, host and port: whom a credential is for.
pub(crate) type Origin = (String, String, u16);

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        // The text may hold a password, so it is not told.
        let malformed = |why: &str| Fault::asked(format!("The address of a source cannot be read: {why}."));
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(malformed("it has a space or a control character in it"));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| malformed("it has no scheme, such as https://"))?;
        if !is_scheme(scheme) {
            return Err(malformed(
                "its scheme has other characters than letters and digits",
            ));
        }
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (account, host) = match authority.rsplit_once('@') {
            Some((account, host)) => (Some(account), host),
            None => (None, authority),
        };
        let (user, password) = match account.map(|account| account.split_once(':').unwrap_or((account, ""))) {
            Some((user, password)) => (
                Some(decode(user)).filter(|user| !user.is_empty()),
                Some(decode(password)).filter(|password| !password.is_empty()),
            ),
            None => (None, None),
        };
        let (host, port) = host_and_port(host).ok_or_else(|| malformed("its host or port is malformed"))?;
        let scheme = scheme.to_ascii_lowercase();
        if host.is_empty() && scheme != "file" {
            return Err(malformed("it has no host"));
        }
        Ok(Self {
            scheme,
            user,
            password,
            host: host.to_ascii_lowercase(),
            port,
            path: path.to_owned(),
            query,
        })
    }

    /// The address that a redirect or a registry names from here.
    pub(crate) fn join(&self, text: &str) -> Result<Self, Fault> {
        if text
            .split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme))
        {
            return Self::parse(text);
        }
        if text.starts_with("//") {
            return Self::parse(&format!("{}:{text}", self.scheme));
        }
        let text = text.split_once('#').map_or(text, |(text, _)| text);
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (text, None),
        };
        let path = if path.is_empty() {
            self.path.clone()
        } else if path.starts_with('/') {
            shorten(path)
        } else {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            shorten(&format!("{folder}/{path}"))
        };
        let query = match (text.is_empty(), query) {
            (true, None) => self.query.clone(),
            (_, query) => query,
        };
        Ok(Self {
            user: None,
            password: None,
            path,
            query,
            ..self.clone()
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(match &*self.scheme {
            "http" => 80,
            "ssh" => 22,
            _ => 443,
        })
    }

    pub(crate) fn origin(&self) -> Origin {
        (self.scheme.clone(), self.host.clone(), self.port())
    }

    /// `HOST[:PORT]`, as in a Host header.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// `HOST`, and the port where it is not the usual one of HTTPS.
    pub(crate) fn host_and_port(&self) -> String {
        match self.port() {
            443 => self.host.clone(),
            port => format!("{}:{port}", self.host),
        }
    }

    /// All of it but the account: what is connected to.
    pub(crate) fn without_account(&self) -> String {
        let query = self
            .query
            .as_ref()
            .map_or(String::new(), |query| format!("?{query}"));
        format!("{}://{}{}{query}", self.scheme, self.authority(), self.path)
    }

    /// All of it, account included: not to be shown.
    pub(crate) fn with_account(&self) -> String {
        let text = self.without_account();
        let Some(user) = &self.user else { return text };
        let account = match &self.password {
            Some(password) => format!("{}:{}", encode(user), encode(password)),
            None => encode(user),
        };
        text.replacen("://", &format!("://{account}@"), 1)
    }

    /// A parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.query.as_deref()?;
        let pairs = query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut found = pairs.filter(|(key, _)| *key == name);
        found.next().map(|(_, value)| decode(&value.replace('+', " ")))
    }

    /// Takes a parameter out of the query.
    pub(crate) fn take_parameter(&mut self, name: &str) -> Option<String> {
        let value = self.parameter(name)?;
        let query = self.query.take().unwrap_or_default();
        let rest: Vec<&str> = query
            .split('&')
            .filter(|pair| pair.split('=').next() != Some(name))
            .collect();
        self.query = Some(rest.join("&")).filter(|query| !query.is_empty());
        Some(value)
    }
}

/// For people: without password and query, in which signatures and tokens are sent.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let (Some(user), "ssh") = (&self.user, &*self.scheme) {
            write!(f, "{user}@")?;
        }
        write!(f, "{}{}", self.authority(), self.path)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address from a configuration or an object, fit to be shown: without account and query.
pub fn redacted(text: &str) -> String {
    let (getter, rest) = match text.split_once("::") {
        Some((getter, rest)) if rest.contains("://") => (format!("{getter}::"), rest),
        _ => (String::new(), text),
    };
    match Address::parse(rest) {
        Ok(address) => format!("{getter}{address}"),
        Err(_) => "an address that cannot be read".to_owned(),
    }
}

fn is_scheme(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(sound)
}

fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
    } else {
        let (host, port) = text.split_once(':').unwrap_or((text, ""));
        let sound = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c);
        if !host.chars().all(sound) {
            return None;
        }
        (host, port)
    };
    match port {
        "" => Some((host, None)),
        port => Some((host, Some(port.parse().ok()?))),
    }
}

/// Resolves `.` and `..` of an absolute path.
fn shorten(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Resolves percent-encoding; what is none stays.
pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Percent-encodes all but letters, digits and `-._~`.
pub(crate) fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            all.push(char::from(byte));
        } else {
            all.push_str(&format!("%{byte:02X}"));
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_shown_without_secrets() {
        let check = |text: &str, shown: &str, sent: &str| {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(address.without_account(), sent, "{text}");
        };
        check("HTTPS://Host.test", "https://host.test/", "https://host.test/");
        check(
            "https://me:s3cret@host.test:8443/a/b?token=x#y",
            "https://host.test:8443/a/b",
            "https://host.test:8443/a/b?token=x",
        );
        check(
            "ssh://git@host.test/a",
            "ssh://git@host.test/a",
            "ssh://host.test/a",
        );
        check("http://[::1]:80/", "http://[::1]:80/", "http://[::1]:80/");
        check("file:///a", "file:///a", "file:///a");
        let address = Address::parse("https://a%40b:p%3Aq@host.test/").unwrap();
        assert_eq!(
            (address.user.as_deref(), address.password.as_deref()),
            (Some("a@b"), Some("p:q"))
        );
        for text in [
            "host.test/a",
            "https://",
            "https://a b/",
            "https://h:x/",
            "https://h\n/",
            "https://a\\b/",
        ] {
            let fault = Address::parse(text).unwrap_err();
            assert!(!fault.text.contains(text), "{fault}");
        }
    }

    #[test]
    fn addresses_are_followed() {
        let base = Address::parse("https://me:pw@host.test/a/b?x=1").unwrap();
        for (to, want) in [
            ("c", "https://host.test/a/c"),
            ("./../c?y", "https://host.test/c?y"),
            ("/c", "https://host.test/c"),
            ("//other.test/c", "https://other.test/c"),
            ("http://other.test", "http://other.test/"),
            ("../../../c", "https://host.test/c"),
            (
                "c?to=http://other.test",
                "https://host.test/a/c?to=http://other.test",
            ),
        ] {
            let joined = base.join(to).unwrap();
            assert_eq!(joined.without_account(), want, "{to}");
            assert_eq!(joined.user, None);
        }
    }

    #[test]
    fn parameters_are_taken_out() {
        let mut address = Address::parse("https://h.test/a?ref=v1%2B2&x=1&depth=1").unwrap();
        assert_eq!(address.take_parameter("ref").as_deref(), Some("v1+2"));
        assert_eq!(address.take_parameter("depth").as_deref(), Some("1"));
        assert_eq!(address.take_parameter("nothing"), None);
        assert_eq!(address.without_account(), "https://h.test/a?x=1");
        assert_eq!(
            redacted("git::https://u:p@h.test/a?ref=x"),
            "git::https://h.test/a"
        );
    }
}
