//! Which networks may be reached.
//!
//! Asked of the addresses that a name was resolved to, right before they are connected to, so that neither a name server
//! nor a redirect can lead elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Which networks may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    guarded: bool,
    permitted: Vec<IpNet>,
}

/// Addresses at which clouds tell credentials or secrets to whoever asks, and which lie in no special network: Azure's
/// host agent, Alibaba's and Oracle's metadata servers, and by IPv6 AWS's, that of its pods' identities, and Google's.
const CLOUD: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

impl Reach {
    /// Everything that this machine can reach, files on it included: for a person's own commands.
    pub fn everything() -> Self {
        Self {
            guarded: false,
            permitted: Vec::new(),
        }
    }

    /// No loopback, link-local (where clouds tell credentials), unspecified or multicast address but those in `permitted`,
    /// and no file of this machine: for what others ask for.
    pub fn guarded(permitted: Vec<IpNet>) -> Self {
        Self {
            guarded: true,
            permitted,
        }
    }

    /// May files of this machine be fetched?
    pub(crate) fn has_files(&self) -> bool {
        !self.guarded
    }

    /// Why an address may not be connected to.
    pub(crate) fn refusal(&self, address: IpAddr) -> Option<&'static str> {
        let address = plain(address);
        if !self.guarded || self.permitted.iter().any(|network| network.contains(&address)) {
            return None;
        }
        if CLOUD.contains(&address) {
            return Some("a cloud's metadata server");
        }
        match address {
            IpAddr::V4(v4) if v4.octets()[0] == 0 => Some("an unspecified address"),
            IpAddr::V4(v4) if v4.is_loopback() => Some("a loopback address"),
            IpAddr::V4(v4) if v4.is_link_local() => Some("a link-local address"),
            IpAddr::V4(v4) if v4.is_multicast() || v4.is_broadcast() => Some("a multicast address"),
            IpAddr::V6(v6) if v6.is_unspecified() => Some("an unspecified address"),
            IpAddr::V6(v6) if v6.is_loopback() => Some("a loopback address"),
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Some("a link-local address"),
            IpAddr::V6(v6) if v6.segments()[0] & 0xffc0 == 0xfec0 => Some("a site-local address"),
            // Which IPv4 address such a one means, only the network's own translator knows.
            IpAddr::V6(v6) if v6.segments()[..3] == [0x64, 0xff9b, 1] => Some("a translated address"),
            IpAddr::V6(v6) if v6.is_multicast() => Some("a multicast address"),
            _ => None,
        }
    }
}

/// The address that packets go to in the end: IPv4 addresses have several forms in IPv6 (mapped, translated,
/// translated by NAT64, 6to4, compatible).
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return v4.into();
    }
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match [a, b, c, d, e, f] {
        [0x64, 0xff9b, 0, 0, 0, 0] => v4(g, h),
        [0x2002, high, low, ..] => v4(high, low),
        [0, 0, 0, 0, 0xffff, 0] => v4(g, h),
        [0, 0, 0, 0, 0, 0] if g != 0 => v4(g, h),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_this_machines_or_the_clouds_own_is_not_reached() {
        let check = |reach: &Reach, address: &str, want: bool| {
            let refusal = reach.refusal(address.parse().unwrap());
            assert_eq!(refusal.is_none(), want, "{address}: {refusal:?}");
        };
        let guarded = Reach::guarded(vec![]);
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "100.100.100.200",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "fd00:ec2::23",
            "fd20:ce::254",
            "64:ff9b:1::a9fe:a9fe",
            "fec0::1",
        ] {
            check(&guarded, address, false);
            check(&Reach::everything(), address, true);
        }
        for address in [
            "10.0.0.1",
            "192.168.1.1",
            "140.82.121.4",
            "fd00::1",
            "2606:4700::1",
        ] {
            check(&guarded, address, true);
        }
        let permitted = Reach::guarded(vec!["127.0.0.0/8".parse().unwrap()]);
        check(&permitted, "127.0.0.1", true);
        check(&permitted, "::ffff:127.0.0.1", true);
        check(&permitted, "169.254.169.254", false);
    }
}
