//! Which addresses a name may resolve to: public unicast, by the IANA special-purpose registries
//! (RFC 6890, the registries of 2025-10-09), or a network that the operator excepted. Pure.
//!
//! IPv4 is a list of what is refused. IPv6 is a list of what is allowed, because only one eighth of it is
//! in use: this covers mapped, compatible, translated and NAT64 forms of IPv4 without naming them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT; some clouds keep metadata here
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // looks public; Azure answers it inside every machine
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; cloud metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarking
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, broadcast
];

const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments: Teredo, ORCHID
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4: any IPv4 address inside
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether `address` is a public unicast address.
#[must_use]
pub fn public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|network| contains_v4(*network, address)),
        IpAddr::V6(address) => {
            contains_v6(GLOBAL_V6, address) && !NOT_PUBLIC_V6.iter().any(|network| contains_v6(*network, address))
        }
    }
}

fn contains_v4((network, prefix): (Ipv4Addr, u32), address: Ipv4Addr) -> bool {
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    network.to_bits() & mask == address.to_bits() & mask
}

fn contains_v6((network, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
    network.to_bits() & mask == address.to_bits() & mask
}

/// A network in CIDR notation: `10.1.0.0/16`, `fd00::/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

/// The text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a network such as `10.1.0.0/16` or `fd00:1::/32`, with no bits after the prefix")]
pub struct InvalidNetwork;

impl Network {
    /// Whether `address` is in it. IPv4 in an IPv6 spelling is not.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => contains_v4((network, self.prefix), address),
            (IpAddr::V6(network), IpAddr::V6(address)) => contains_v6((network, self.prefix), address),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| InvalidNetwork)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| InvalidNetwork)?,
            None => longest,
        };
        let host_bits = match address {
            _ if prefix > longest => return Err(InvalidNetwork),
            IpAddr::V4(address) => address.to_bits().checked_shl(prefix).unwrap_or(0) != 0,
            IpAddr::V6(address) => address.to_bits().checked_shl(prefix).unwrap_or(0) != 0,
        };
        if host_bits { Err(InvalidNetwork) } else { Ok(Self { address, prefix }) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn public_addresses_are_told_from_all_others_at_every_edge() {
        for (address, expected) in [
            ("0.0.0.0", false),
            ("0.255.255.255", false),
            ("1.0.0.0", true),
            ("9.255.255.255", true),
            ("10.0.0.0", false),
            ("10.255.255.255", false),
            ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("126.255.255.255", true),
            ("127.0.0.1", false),
            ("128.0.0.0", true),
            ("168.63.129.15", true),
            ("168.63.129.16", false),
            ("168.63.129.17", true),
            ("169.253.255.255", true),
            ("169.254.169.254", false),
            ("169.255.0.0", true),
            ("172.15.255.255", true),
            ("172.16.0.0", false),
            ("172.31.255.255", false),
            ("172.32.0.0", true),
            ("192.0.0.9", false),
            ("192.0.1.0", true),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.167.255.255", true),
            ("192.168.0.0", false),
            ("192.169.0.0", true),
            ("198.17.255.255", true),
            ("198.18.0.0", false),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("223.255.255.255", true),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::127.0.0.1", false),
            ("::ffff:8.8.8.8", false),
            ("::ffff:0:8.8.8.8", false),
            ("64:ff9b::808:808", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("1fff::1", false),
            ("2000::1", true),
            ("2001::1", false),
            ("2001:1ff::1", false),
            ("2001:200::1", true),
            ("2001:db8::1", false),
            ("2001:4860:4860::8888", true),
            ("2002:808:808::1", false),
            ("2003::1", true),
            ("2606:4700:4700::1111", true),
            ("3ffe::1", true),
            ("3fff::1", false),
            ("3fff:fff::1", false),
            ("3fff:1000::1", true),
            ("4000::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn networks_are_read_in_their_normal_form() {
        for (text, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.255", "10.2.0.0"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("fd00::/8", "fdff::1", "fc00::1"),
            ("::1/128", "::1", "::2"),
            ("10.0.0.0/8", "10.0.0.1", "::ffff:10.0.0.1"),
        ] {
            let network: Network = text.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{text} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{text} {outside}");
        }
        for text in
            ["", "10.1.0.0/33", "10.1.0.1/16", "10.1/16", "fd00::1/8", "10.1.0.0/", "/8", "a/8", "10.0.0.0/-1"]
        {
            assert_eq!(text.parse::<Network>(), Err(InvalidNetwork), "{text}");
        }
    }

    /// Bit by bit, as the registries print it, and with IPv6 as a list of what is refused.
    fn slow_model(address: IpAddr) -> bool {
        let bits = |address: IpAddr| -> Vec<bool> {
            match address {
                IpAddr::V4(v4) => (0..32).rev().map(|bit| v4.to_bits() >> bit & 1 == 1).collect(),
                IpAddr::V6(v6) => (0..128).rev().map(|bit| v6.to_bits() >> bit & 1 == 1).collect(),
            }
        };
        let within = |network: &str| {
            let (prefix, length) = network.split_once('/').unwrap();
            let prefix: IpAddr = prefix.parse().unwrap();
            let length: usize = length.parse().unwrap();
            prefix.is_ipv4() == address.is_ipv4() && bits(prefix)[..length] == bits(address)[..length]
        };
        ![
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/3",
            "4000::/2",
            "8000::/1",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ]
        .into_iter()
        .any(within)
    }

    /// Addresses at and beside the edges of special networks, and any others.
    fn addresses() -> impl Strategy<Value = IpAddr> {
        let edges: Vec<u32> = NOT_PUBLIC_V4
            .iter()
            .flat_map(|(network, prefix)| {
                let last = u32::MAX.checked_shr(*prefix).unwrap_or(0) | network.to_bits();
                [network.to_bits().wrapping_sub(1), network.to_bits(), last, last.wrapping_add(1)]
            })
            .collect();
        let near_v6 =
            (prop::sample::select(vec![0x2000_u16, 0x2001, 0x2002, 0x3ffe, 0x3fff, 0x64, 0]), any::<u128>());
        prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
            prop::sample::select(edges).prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
            any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
            near_v6.prop_map(|(first, bits)| {
                IpAddr::V6(Ipv6Addr::from_bits(u128::from(first) << 112 | bits >> 16))
            }),
        ]
    }

    proptest! {
        #[test]
        fn the_fast_rule_equals_the_slow_model(address in addresses()) {
            prop_assert_eq!(public(address), slow_model(address));
        }

        #[test]
        fn no_spelling_of_ipv4_in_ipv6_is_public(v4 in any::<u32>(), rest in any::<u64>()) {
            let v4 = u128::from(v4);
            let rest = u128::from(rest);
            for bits in [
                v4,                                                  // compatible
                0xffff << 32 | v4,                                   // mapped
                0xffff << 48 | v4,                                   // translated
                0x64_ff9b << 96 | v4,                                // NAT64
                0x64_ff9b_0001 << 80 | v4,                           // local NAT64
                0x2002 << 112 | v4 << 80 | rest,                     // 6to4
                0x2001 << 112 | rest << 32 | v4 ^ 0xffff_ffff,       // Teredo
                0xfe80 << 112 | 0x5efe << 32 | v4,                   // ISATAP
            ] {
                prop_assert!(!public(IpAddr::V6(Ipv6Addr::from_bits(bits))), "{:x}", bits);
            }
        }
    }
}
