//! Which addresses a name may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is to somebody who only declared a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// On the public internet: any declared name may lead there.
    Public,
    /// On a network of ours: only a rule that names the address itself leads there.
    Private,
    /// This machine, everybody, nobody, or another address in disguise: no rule for the outside leads there.
    Never,
}

pub(crate) fn standing(address: IpAddr) -> Standing {
    match address.to_canonical() {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Standing {
    match address.octets() {
        // "This network", loopback, multicast, reserved and broadcast.
        [0 | 127 | 224..=255, ..] => Standing::Never,
        // Private networks, carriers' networks, link-local: with the metadata services of clouds.
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] | [169, 254, ..] => Standing::Private,
        // Protocol assignments, documentation, 6to4 relays, benchmarks.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => {
            Standing::Private
        }
        _ => Standing::Public,
    }
}

fn v6(address: Ipv6Addr) -> Standing {
    match address.segments() {
        // Where a network speaks only IPv6, public IPv4 hosts have such addresses; what is inside has to be public.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            if v4(Ipv4Addr::new(a, b, c, d)) == Standing::Public { Standing::Public } else { Standing::Never }
        }
        // Unique local and the site-local that it replaced; documentation.
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, ..] => Standing::Private,
        // Teredo and other protocol assignments, 6to4: each can hold an address of another network.
        [0x2001, 0..=0x1ff, ..] | [0x2002, ..] => Standing::Never,
        [0x2000..=0x3fff, ..] => Standing::Public,
        // Loopback, unspecified, link-local (which needs a zone), multicast, local NAT64, and all that nobody assigned.
        _ => Standing::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_by_where_they_lead() {
        use Standing::{Never, Private, Public};
        for (text, expected) in [
            ("93.184.215.14", Public),
            ("1.1.1.1", Public),
            ("172.15.255.255", Public),
            ("172.32.0.0", Public),
            ("100.63.0.1", Public),
            ("100.128.0.1", Public),
            ("223.255.255.255", Public),
            ("2606:4700::1111", Public),
            ("64:ff9b::101:101", Public),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("169.254.169.254", Private),
            ("198.18.0.1", Private),
            ("192.0.2.1", Private),
            ("fd00:ec2::254", Private),
            ("fec0::1", Private),
            ("2001:db8::1", Private),
            ("::ffff:10.0.0.1", Private),
            ("0.0.0.0", Never),
            ("0.1.2.3", Never),
            ("127.0.0.1", Never),
            ("127.255.255.255", Never),
            ("224.0.0.1", Never),
            ("240.0.0.1", Never),
            ("255.255.255.255", Never),
            ("::", Never),
            ("::1", Never),
            ("::127.0.0.1", Never),
            ("::ffff:127.0.0.1", Never),
            ("::ffff:0:127.0.0.1", Never),
            ("64:ff9b::7f00:1", Never),
            ("64:ff9b::a00:1", Never),
            ("64:ff9b::a9fe:a9fe", Never),
            ("64:ff9b:1::101:101", Never),
            ("2001::1", Never),
            ("2002:7f00:1::", Never),
            ("fe80::1", Never),
            ("ff02::1", Never),
            ("4000::1", Never),
        ] {
            assert_eq!(standing(text.parse().unwrap()), expected, "{text}");
        }
    }
}
