//! Functions on IP networks in CIDR notation.
//!
//! Octets may have leading zeros, which count for nothing. Mapped IPv4 addresses in IPv6 networks behave as oddly as in
//! Terraform. No name is ever looked up.

use std::net::Ipv6Addr;

use ashlar_value::{Dialect, Number, Type, Value};
use dashu_base::UnsignedAbs;
use dashu_int::{IBig, UBig};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, number, text},
};

/// A subnet of `cidrsubnets` may be longer than the network by no more bits than this.
const MOST_NEW_BITS: i64 = 32;

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "cidrcontains",
        doc: "Tells whether a network contains an address, or the whole of another network; both must be of one IP version.",
        only: Some(Dialect::OpenTofu),
        params: &[text("containing_prefix"), text("contained_ip_or_prefix")],
        result: Rule::Is(Ty::Bool),
        not_null: false,
        examples: &[
            r#"cidrcontains("192.168.2.0/20", "192.168.2.1")"#,
            r#"cidrcontains("192.168.2.0/20", "192.168.2.0/22")"#,
            r#"!cidrcontains("192.168.2.0/20", "192.126.2.0/18")"#,
            r#"cidrcontains("fe80::/48", "fe80:0:0:ffff::/64")"#,
            r#"!can(cidrcontains("10.0.0.0/8", "fe80::1"))"#,
        ],
        code: Code::Run(cidr_contains),
        ..PURE
    },
    Builtin {
        name: "cidrhost",
        doc: "The address of a host by its number in a network; a negative number counts from the end.",
        params: &[text("prefix"), number("hostnum")],
        examples: &[
            r#"cidrhost("10.12.112.0/20", 16) == "10.12.112.16""#,
            r#"cidrhost("10.12.112.0/20", -1) == "10.12.127.255""#,
            r#"cidrhost("fd00:fd12:3456:7890:00a2::/72", 34) == "fd00:fd12:3456:7890::22""#,
        ],
        code: Code::Run(cidr_host),
        ..TEXT
    },
    Builtin {
        name: "cidrnetmask",
        doc: "The netmask of an IPv4 network.",
        params: &[text("prefix")],
        examples: &[r#"cidrnetmask("172.16.0.0/12") == "255.240.0.0""#],
        code: Code::Run(cidr_netmask),
        ..TEXT
    },
    Builtin {
        name: "cidrsubnet",
        doc: "A subnet by its number, with a prefix longer than the network's by a number of bits.",
        params: &[text("prefix"), number("newbits"), number("netnum")],
        examples: &[r#"cidrsubnet("172.16.0.0/12", 4, 2) == "172.18.0.0/16""#],
        code: Code::Run(cidr_subnet),
        ..TEXT
    },
    Builtin {
        name: "cidrsubnets",
        doc: "Consecutive subnets of a network, each with a prefix longer than the network's by a number of bits.",
        params: &[text("prefix")],
        variadic: Some(number("newbits")),
        result: Rule::Is(Ty::List(&Ty::String)),
        examples: &[
            r#"cidrsubnets("10.1.0.0/16", 4, 4, 8) == tolist(["10.1.0.0/20", "10.1.16.0/20", "10.1.32.0/24"])"#,
        ],
        code: Code::Run(cidr_subnets),
        ..PURE
    },
];

const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

/// A network: its first address, of 32 or 128 bits, and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Network {
    address: u128,
    bits: u32,
    prefix: u32,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let (address, bits) = parse_address(address)?;
        let prefix = digits(prefix).filter(|prefix| *prefix <= bits)?;
        Some(
            Self {
                address,
                bits,
                prefix,
            }
            .masked(),
        )
    }

    fn masked(self) -> Self {
        Self {
            address: self.address & !self.hosts(),
            ..self
        }
    }

    /// The bits that tell hosts apart, all set.
    fn hosts(self) -> u128 {
        low_bits(self.bits - self.prefix)
    }

    /// An IPv4 address, also one mapped into IPv6?
    fn is_v4(self) -> bool {
        is_v4((self.address, self.bits))
    }

    /// Is the address one of the network's? One mapped into IPv6 counts as IPv4, on either side.
    fn contains(self, address: (u128, u32)) -> bool {
        if !self.is_v4() {
            return !is_v4(address) && address.0 & !self.hosts() == self.address;
        }
        let fixed = (!self.hosts() & low_bits(32)) as u32;
        is_v4(address) && address.0 as u32 & fixed == self.address as u32 & fixed
    }

    /// As Go prints networks: mapped ones as IPv4.
    fn show(self) -> String {
        let prefix = if self.is_v4() && self.bits == 128 {
            self.prefix.saturating_sub(96)
        } else {
            self.prefix
        };
        format!("{}/{prefix}", show_address(self.address, self.bits))
    }
}

/// Is an address of so many bits an IPv4 one, also if it is mapped into IPv6?
fn is_v4((address, bits): (u128, u32)) -> bool {
    bits == 32 || address >> 32 == 0xffff
}

fn low_bits(count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// A number without sign; leading zeros count for nothing.
fn digits(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn parse_v4(text: &str) -> Option<u32> {
    let mut octets = text
        .split('.')
        .map(|octet| digits(octet).filter(|octet| *octet <= 255));
    let mut address = 0;
    for _ in 0..4 {
        address = address << 8 | octets.next()??;
    }
    octets.next().is_none().then_some(address)
}

/// As Go prints addresses: mapped ones as IPv4, the longest run of two or more zero groups as `::`.
fn show_address(address: u128, bits: u32) -> String {
    if bits == 32 || address >> 32 == 0xffff {
        let [a, b, c, d] = (address as u32).to_be_bytes();
        return format!("{a}.{b}.{c}.{d}");
    }
    let groups = Ipv6Addr::from(address).segments();
    let (mut start, mut length) = (0, 0);
    let mut at = 0;
    for run in groups.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if run[0] == 0 && run.len() > length {
            (start, length) = (at, run.len());
        }
        at += run.len();
    }
    let join = |groups: &[u16]| {
        groups
            .iter()
            .map(|group| format!("{group:x}"))
            .collect::<Vec<_>>()
            .join(":")
    };
    if length < 2 {
        return join(&groups);
    }
    format!("{}::{}", join(&groups[..start]), join(&groups[start + length..]))
}

/// An address of either version, with the number of its bits.
fn parse_address(text: &str) -> Option<(u128, u32)> {
    match parse_v4(text) {
        Some(address) => Some((address.into(), 32)),
        None => Some((text.parse::<Ipv6Addr>().ok()?.into(), 128)),
    }
}

fn network(args: &Args<'_>) -> Result<Network, FuncError> {
    let text = args.text(0)?;
    Network::parse(text).ok_or_else(|| {
        FuncError::call(format!(
            "{} is not an address and prefix length in CIDR notation",
            args.quote(0, text)
        ))
    })
}

fn whole(args: &Args<'_>, index: usize) -> Result<IBig, FuncError> {
    let number = Some(args.number(index)?).filter(|number| number.is_integer());
    number
        .and_then(Number::to_big)
        .ok_or_else(|| FuncError::call("a whole number is required"))
}

/// The address with a number put into its bits, counted from the least one; more bits than the address has are refused.
/// A negative number sets all bits before it, and the magnitude counts: Terraform's arithmetic, odd as it is.
fn insert(network: Network, number: IBig, shift: u32) -> Result<u128, FuncError> {
    let inserted = (number << shift as usize) | IBig::from(network.address);
    u128::try_from(inserted.unsigned_abs())
        .ok()
        .filter(|address| *address <= low_bits(network.bits))
        .ok_or_else(|| FuncError::call("the number does not fit into the address"))
}

fn cidr_contains(args: &Args<'_>) -> Result<Value, FuncError> {
    let network = network(args)?;
    let text = args.text(1)?;
    let (first, last) = match (parse_address(text), Network::parse(text)) {
        (Some(address), _) => (address, address),
        (None, Some(inner)) => (
            (inner.address, inner.bits),
            (inner.address | inner.hosts(), inner.bits),
        ),
        (None, None) => {
            return Err(FuncError::call(format!(
                "{} is neither an address nor a network in CIDR notation",
                args.quote(1, text)
            )));
        }
    };
    if is_v4(first) != network.is_v4() {
        return Err(FuncError::call(
            "an IPv4 address cannot be compared with an IPv6 network, nor the other way round",
        ));
    }
    Ok(Value::bool(network.contains(first) && network.contains(last)))
}

fn cidr_host(args: &Args<'_>) -> Result<Value, FuncError> {
    let number = whole(args, 1)?;
    let network = network(args)?;
    let last = IBig::from(network.hosts());
    // Terraform judges the lowest 64 bits with a sign, so that there are greater numbers that it takes.
    let (number, judged) = if number < IBig::ZERO {
        let judged = -&number - 1;
        (&last + number + 1, judged)
    } else {
        let low = u64::try_from(&number & IBig::from(u64::MAX)).unwrap_or(u64::MAX);
        (number, IBig::from(low.cast_signed()))
    };
    if judged > last {
        let message = format!(
            "the network, with a prefix of {} bits, has no host of this number",
            network.prefix
        );
        return Err(FuncError::call(message));
    }
    // A mapped address counts as one of 32 bits, so that the number goes before the last 96.
    let shift = if network.is_v4() { network.bits - 32 } else { 0 };
    Ok(Value::string(show_address(
        insert(network, number, shift)?,
        network.bits,
    )))
}

fn cidr_netmask(args: &Args<'_>) -> Result<Value, FuncError> {
    let network = network(args)?;
    if !network.is_v4() {
        return Err(FuncError::call("IPv6 networks have no netmask"));
    }
    Ok(Value::string(show_address(
        low_bits(network.bits) & !network.hosts(),
        network.bits,
    )))
}

fn cidr_subnet(args: &Args<'_>) -> Result<Value, FuncError> {
    let new_bits = args.int(1)?;
    let number = whole(args, 2)?;
    let network = network(args)?;
    let prefix = i64::from(network.prefix).saturating_add(new_bits);
    let prefix = u32::try_from(prefix)
        .ok()
        .filter(|prefix| *prefix <= network.bits)
        .ok_or_else(|| {
            let old = network.prefix;
            FuncError::call(format!(
                "a prefix of {old} bits cannot be extended by {new_bits} bits"
            ))
        })?;
    // Only the last 64 bits of the magnitude are looked at, as in Terraform.
    let low = number.clone().unsigned_abs() & UBig::from(u64::MAX);
    let most = u32::try_from(new_bits).map_or(u128::MAX, low_bits);
    if low > UBig::from(most) {
        return Err(FuncError::call(format!(
            "a prefix extended by {new_bits} bits has no subnet of this number"
        )));
    }
    let address = insert(network, number, network.bits - prefix)?;
    Ok(Value::string(
        Network {
            address,
            prefix,
            ..network
        }
        .show(),
    ))
}

fn cidr_subnets(args: &Args<'_>) -> Result<Value, FuncError> {
    let network = network(args).map_err(|error| error.at(0))?;
    let mut subnets = Vec::with_capacity(args.len() - 1);
    // The first address after the last subnet; `None` past the end of all addresses.
    // Neither networks that begin at address zero nor mapped ones have subnets here, as in Terraform.
    let usable = network.address > 0 && !(network.is_v4() && network.bits == 128);
    let mut free = usable.then_some(network.address);
    for index in 1..args.len() {
        let new_bits = args.int(index).map_err(|error| error.at(index))?;
        if new_bits < 1 {
            return Err(FuncError::argument(
                index,
                "the prefix must be extended by at least one bit",
            ));
        }
        if new_bits > MOST_NEW_BITS {
            let message = format!("the prefix may not be extended by more than {MOST_NEW_BITS} bits");
            return Err(FuncError::argument(index, message));
        }
        let prefix = network.prefix + new_bits as u32;
        if prefix > network.bits {
            let bits = network.bits;
            return Err(FuncError::argument(
                index,
                format!("a prefix of {prefix} bits exceeds the address, of {bits}"),
            ));
        }
        let next = free.and_then(|free| {
            let subnet = Network {
                address: free,
                prefix,
                ..network
            };
            let rounded = free.checked_add(subnet.hosts())?;
            Some(
                Network {
                    address: rounded,
                    ..subnet
                }
                .masked(),
            )
        });
        let next = next.filter(|next| {
            next.address <= low_bits(network.bits) && next.address & !network.hosts() == network.address
        });
        let Some(next) = next else {
            return Err(FuncError::argument(
                index,
                format!("no room is left for a subnet with a prefix of {prefix} bits"),
            ));
        };
        free = next
            .address
            .checked_add(next.hosts())
            .and_then(|last| last.checked_add(1));
        subnets.push(Value::string(next.show()));
    }
    Ok(Value::list(Type::String, subnets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_come_back() {
        let check = |text: &str, shown: &str| {
            assert_eq!(
                Network::parse(text).map(Network::show).as_deref(),
                Some(shown),
                "{text}"
            );
        };
        check("010.1.2.3/16", "10.1.0.0/16");
        check("10.0.0.0/024", "10.0.0.0/24");
        check("fd00::a2:0:0:1/64", "fd00::/64");
        check("2001:db8:0:1:0:0:0:1/128", "2001:db8:0:1::1/128");
        check("::ffff:10.1.0.0/112", "10.1.0.0/16");
        check("::/0", "::/0");
        for text in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0/24",
            "x/1",
            "10.0.0.0/-1",
            "10.0.0.256/8",
            "1.2.3.4.5/8",
            "::/129",
            "/8",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
