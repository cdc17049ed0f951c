//! A `connection` block's arguments.
//!
//! Source: Terraform `communicator/ssh/provisioner.go`.

use std::{fmt, time::Duration};

use ashlar_value::{Data, Value};

use crate::argument::text;

/// How long a machine is waited for if nothing is said.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How an object is reached.
pub(crate) struct Connection {
    pub(crate) target: Place,
    /// A machine on the way.
    pub(crate) bastion: Option<Place>,
    /// Is the user's agent asked? `None` if nothing is said.
    pub(crate) agent: Option<bool>,
    /// The key of the agent that is tried first.
    pub(crate) agent_identity: Option<String>,
    /// Where scripts are put, with `%RAND%` in it.
    pub(crate) script_path: String,
    /// How long the machine may take to let the user in.
    pub(crate) timeout: Duration,
}

/// A machine, and who logs in to it.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) private_key: Option<String>,
    pub(crate) certificate: Option<String>,
    /// The only key that the machine may show.
    pub(crate) host_key: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}, port {}", self.user, self.host, self.port)
    }
}

impl Connection {
    /// Reads a block that was brought to its type.
    pub(crate) fn read(block: &Value) -> Result<Self, String> {
        if block.is_null() {
            return Err("A connection block is needed that says how the object is reached.".to_owned());
        }
        let get = |name| text(block, name).filter(|text| !text.is_empty());
        match get("type").as_deref() {
            None | Some("ssh") => {}
            Some("winrm") => {
                let why = "A connection of type winrm is not supported here. Reach the machine by ssh: Windows has OpenSSH's \
                           server as an optional feature.";
                return Err(why.to_owned());
            }
            Some(other) => return Err(format!("There is no connection of type {other:?}; there is ssh.")),
        }
        if get("proxy_host").is_some() {
            let why = "A connection through a proxy (proxy_host) is not supported here. Use a bastion_host.";
            return Err(why.to_owned());
        }
        match get("target_platform").as_deref() {
            None | Some("unix") => {}
            Some("windows") => {
                return Err("The target_platform windows is not supported here, only unix.".to_owned());
            }
            Some(other) => return Err(format!("There is no target_platform {other:?}; there is unix.")),
        }
        let host = get("host").ok_or("The host of a connection must not be empty.")?;
        let target = Place {
            host: plain(&host),
            port: port(block, "port")?.unwrap_or(22),
            user: get("user").unwrap_or_else(|| "root".to_owned()),
            password: get("password"),
            private_key: get("private_key"),
            certificate: get("certificate"),
            host_key: get("host_key"),
        };
        let bastion = match get("bastion_host") {
            None => None,
            Some(host) => Some(Place {
                host: plain(&host),
                port: port(block, "bastion_port")?.unwrap_or(target.port),
                user: get("bastion_user").unwrap_or_else(|| target.user.clone()),
                password: get("bastion_password").or_else(|| target.password.clone()),
                private_key: get("bastion_private_key").or_else(|| target.private_key.clone()),
                certificate: get("bastion_certificate").or_else(|| target.certificate.clone()),
                host_key: get("bastion_host_key"),
            }),
        };
        Ok(Self {
            target,
            bastion,
            agent: block.attr("agent").and_then(|agent| agent.as_bool()),
            agent_identity: get("agent_identity"),
            script_path: get("script_path").unwrap_or_else(|| "/tmp/terraform_%RAND%.sh".to_owned()),
            timeout: get("timeout").and_then(|text| duration(&text)).unwrap_or(TIMEOUT),
        })
    }
}

/// A host without the brackets that an IPv6 address may stand in.
fn plain(host: &str) -> String {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).to_owned()
}

fn port(block: &Value, name: &str) -> Result<Option<u16>, String> {
    let Some(value) = block.attr(name) else {
        return Ok(None);
    };
    let Data::Number(number) = value.data() else {
        return Ok(None);
    };
    match number.to_string().parse() {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(format!(
            "The {name} of a connection is a whole number up to 65535."
        )),
    }
}

/// Go's durations: `1h30m`, `1.5s`, `300ms`; none if the text is no such.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    while !rest.is_empty() || seconds == 0.0 {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(digits);
        let units = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ];
        let (unit, worth) = units.into_iter().find(|(unit, _)| tail.starts_with(unit))?;
        seconds += number.parse::<f64>().ok()? * worth;
        rest = tail.get(unit.len()..)?;
        if rest.is_empty() {
            break;
        }
    }
    // What Go counts nanoseconds in holds 292 years.
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (time.as_nanos() <= i64::MAX.unsigned_abs().into()).then_some(time)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ashlar_value::Number;

    use super::*;

    fn check(arguments: &[(&str, Value)], expected: Result<&str, &str>) {
        let attrs = arguments
            .iter()
            .map(|(name, value)| (Arc::from(*name), value.clone()));
        let block = Value::object(attrs.collect::<Vec<_>>());
        let got = Connection::read(&block).map(|found| {
            let bastion = found.bastion.map(|bastion| format!(" by {bastion}"));
            format!("{}{}", found.target, bastion.unwrap_or_default())
        });
        match expected {
            Ok(expected) => assert_eq!(got.as_deref(), Ok(expected)),
            Err(word) => assert!(got.as_ref().is_err_and(|why| why.contains(word)), "{got:?}"),
        }
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let text = |text: &str| Value::string(text);
        check(&[("host", text("h"))], Ok("root@h, port 22"));
        check(
            &[
                ("host", text("[::1]")),
                ("type", text("ssh")),
                ("user", text("u")),
            ],
            Ok("u@::1, port 22"),
        );
        let number = |text| Value::number(Number::parse(text).unwrap());
        check(
            &[
                ("host", text("h")),
                ("port", number("2222")),
                ("bastion_host", text("b")),
            ],
            Ok("root@h, port 2222 by root@b, port 2222"),
        );
        check(
            &[("host", text("h")), ("port", number("1.5"))],
            Err("whole number"),
        );
        check(&[("host", text(""))], Err("empty"));
        check(&[("host", text("h")), ("type", text("winrm"))], Err("winrm"));
        check(
            &[("host", text("h")), ("proxy_host", text("p"))],
            Err("proxy_host"),
        );
        check(
            &[("host", text("h")), ("target_platform", text("windows"))],
            Err("windows"),
        );
    }

    #[test]
    fn durations() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("1h30m"), Some(5400.0));
        assert_eq!(seconds("1.5s"), Some(1.5));
        assert_eq!(seconds("300ms"), Some(0.3));
        assert_eq!(seconds("0"), Some(0.0));
        assert_eq!(seconds("2562047h"), Some(2_562_047.0 * 3600.0));
        for none in [
            "",
            "5",
            "m",
            "-5s",
            "5 s",
            "1e3s",
            "3000000000000000h",
            "2562048h",
        ] {
            assert_eq!(seconds(none), None, "{none}");
        }
    }
}
