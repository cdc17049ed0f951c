//! The one line a plugin prints when it is ready, and what it is told in its environment before.
//!
//! Pure: reading the line from the process is `process`'s business. Facts: go-plugin 1.7 `server.go`, `client.go`.

use std::{net::SocketAddr, path::PathBuf};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Without it a plugin refuses to run.
pub(crate) const COOKIE: (&str, &str) = (
    "TF_PLUGIN_MAGIC_COOKIE",
    "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
);
/// The protocol generations spoken here; a plugin answers with its own best of them.
pub(crate) const VERSIONS: (&str, &str) = ("PLUGIN_PROTOCOL_VERSIONS", "5,6");
/// Where a plugin without unix sockets may listen.
pub(crate) const PORTS: [(&str, &str); 2] = [("PLUGIN_MIN_PORT", "10000"), ("PLUGIN_MAX_PORT", "25000")];
/// Our certificate, as PEM.
pub(crate) const CLIENT_CERTIFICATE: &str = "PLUGIN_CLIENT_CERT";
/// Longest line taken; a P-521 certificate needs about 1,000 bytes.
pub(crate) const LIMIT: u64 = 64 << 10;

/// Protocol generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    Five,
    Six,
}

/// Where a plugin listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// What a plugin says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) generation: Generation,
    pub(crate) address: Address,
    /// Its certificate, as DER.
    pub(crate) certificate: Vec<u8>,
}

/// Reads `1|GENERATION|NETWORK|ADDRESS|grpc|CERTIFICATE`. The error says what is wrong, without the line itself.
pub(crate) fn parse(line: &str) -> Result<Handshake, String> {
    let fields: Vec<&str> = line.trim().split('|').collect();
    let [core, generation, network, address, kind, rest @ ..] = fields.as_slice() else {
        return Err("it printed something else than the handshake line of a plugin".to_owned());
    };
    if *core != "1" {
        // Told as it is only where it can be a version.
        let theirs = number(core).ok_or("it printed something else than the handshake line of a plugin")?;
        return Err(format!(
            "its handshake has version {theirs}, and here version 1 is spoken; another release of the provider is needed"
        ));
    }
    if *kind != "grpc" {
        return Err(
            "it speaks a protocol from before gRPC; a newer release of the provider is needed".to_owned(),
        );
    }
    let generation = match *generation {
        "5" => Generation::Five,
        "6" => Generation::Six,
        other => {
            let theirs = number(other).map_or_else(
                || "none of Terraform's protocols".to_owned(),
                |version| format!("protocol {version} of Terraform"),
            );
            return Err(format!(
                "it speaks {theirs}, and here protocols 5 and 6 are spoken; another release of the provider is needed"
            ));
        }
    };
    let address = match *network {
        "unix" => Address::Unix(PathBuf::from(address)),
        "tcp" => Address::Tcp(
            address
                .parse()
                .ok()
                .filter(|address: &SocketAddr| address.ip().is_loopback())
                .ok_or("it listens on an address that is not of this machine")?,
        ),
        _ => return Err("it listens on a kind of network that is not known here".to_owned()),
    };
    // go-plugin writes no padding; others may.
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let certificate = rest
        .first()
        .filter(|text| !text.is_empty())
        .ok_or("it gave no certificate for the connection (AutoMTLS)")?;
    let certificate = GeneralPurpose::new(&alphabet::STANDARD, lenient)
        .decode(certificate)
        .map_err(|_| "its certificate cannot be read")?;
    Ok(Handshake {
        generation,
        address,
        certificate,
    })
}

/// A version, which is a small number.
fn number(text: &str) -> Option<u16> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Handshake, &str>) {
        assert_eq!(parse(line), expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn lines() {
        let unix = Handshake {
            generation: Generation::Five,
            address: Address::Unix("/tmp/plugin1".into()),
            certificate: b"abc".to_vec(),
        };
        check("1|5|unix|/tmp/plugin1|grpc|YWJj\n", Ok(unix.clone()));
        check("1|5|unix|/tmp/plugin1|grpc|YWJj|true", Ok(unix.clone()));
        let tcp = Address::Tcp("127.0.0.1:1234".parse().unwrap());
        let tcp = Handshake {
            generation: Generation::Six,
            address: tcp,
            ..unix
        };
        check("1|6|tcp|127.0.0.1:1234|grpc|YWJj", Ok(tcp));
    }

    #[test]
    fn nonsense() {
        check(
            "hello",
            Err("it printed something else than the handshake line of a plugin"),
        );
        check(
            "",
            Err("it printed something else than the handshake line of a plugin"),
        );
        check(
            "2|5|unix|/x|grpc|YWJj",
            Err(
                "its handshake has version 2, and here version 1 is spoken; another release of the provider is needed",
            ),
        );
        check(
            "one|5|unix|/x|grpc|YWJj",
            Err("it printed something else than the handshake line of a plugin"),
        );
        check(
            "1|4|unix|/x|netrpc|",
            Err("it speaks a protocol from before gRPC; a newer release of the provider is needed"),
        );
        check(
            "1|7|unix|/x|grpc|YWJj",
            Err(
                "it speaks protocol 7 of Terraform, and here protocols 5 and 6 are spoken; another release of the provider is needed",
            ),
        );
        check(
            "1|a secret|unix|/x|grpc|YWJj",
            Err(
                "it speaks none of Terraform's protocols, and here protocols 5 and 6 are spoken; another release of the provider is needed",
            ),
        );
        check(
            "1|5|tcp|10.0.0.1:1|grpc|YWJj",
            Err("it listens on an address that is not of this machine"),
        );
        check(
            "1|5|pipe|x|grpc|YWJj",
            Err("it listens on a kind of network that is not known here"),
        );
        check(
            "1|5|unix|/x|grpc|",
            Err("it gave no certificate for the connection (AutoMTLS)"),
        );
        check("1|5|unix|/x|grpc|!!", Err("its certificate cannot be read"));
    }
}
