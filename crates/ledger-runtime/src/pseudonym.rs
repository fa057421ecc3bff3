//! Names for people and addresses in logs: equal for the same one, and of no use to find out which one it is.
//!
//! A log line can hold a [`Pseudonym`] only, and only a [`Pseudonyms`] makes one, so no id or address is logged.

use crate::entropy::Entropy;
use hmac::{Hmac, KeyInit, Mac};
use ledger_core::ids::{Actor, Tenant};
use ledger_core::personal::Masked;
use serde::{Serialize, Serializer};
use sha2::Sha256;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The bytes of a pseudonym: 16 hexadecimal digits. Two of a million callers are equal with a chance of 1 in 37 million.
const BYTES: usize = 8;
/// The bits of an IPv6 address that name a customer of a network: the rest, a device chooses by itself.
const V6_NETWORK: u128 = !(u64::MAX as u128);

/// The address that a request came from. Of IPv6 it keeps the /64, because a single device has all the others in it.
///
/// It does not print the address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceAddress(Masked<IpAddr>);

impl SourceAddress {
    /// Takes an address. An IPv4 address in IPv6 form is the IPv4 address.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        let kept = match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & V6_NETWORK)),
            v4 @ IpAddr::V4(_) => v4,
        };
        Self(Masked::new(kept))
    }

    /// Reads an address without a port.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self::new)
    }
}

/// A name of a person, terminal or address that does not say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudonym([u8; BYTES]);

impl fmt::Display for Pseudonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl Serialize for Pseudonym {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Makes pseudonyms with a key: HMAC-SHA256, cut to 8 bytes. Processes with the same key make the same ones.
#[derive(Clone)]
pub struct Pseudonyms(Option<Hmac<Sha256>>);

impl Pseudonyms {
    /// Those of a key.
    #[must_use]
    pub fn of_key(key: &Masked<String>) -> Self {
        Self::of_bytes(key.expose().as_bytes())
    }

    /// Those of a random key: they are the same within this process only.
    #[must_use]
    pub fn of_process() -> Self {
        Entropy::system().bytes::<32>().map_or(Self(None), |key| Self::of_bytes(&key))
    }

    fn of_bytes(key: &[u8]) -> Self {
        // HMAC takes keys of every length.
        Self(Hmac::new_from_slice(key).ok())
    }

    /// The pseudonym of a tenant's caller; `None` without a key, since no name is better than a true one.
    #[must_use]
    pub fn of_actor(&self, tenant: &Tenant, actor: &Actor) -> Option<Pseudonym> {
        self.of(&format!("actor\n{tenant}\n{actor}"))
    }

    /// The pseudonym of an address.
    #[must_use]
    pub fn of_source(&self, source: &SourceAddress) -> Option<Pseudonym> {
        self.of(&format!("source\n{}", source.0.expose()))
    }

    fn of(&self, text: &str) -> Option<Pseudonym> {
        let mut mac = self.0.clone()?;
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().first_chunk().copied().map(Pseudonym)
    }
}

impl fmt::Debug for Pseudonyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pseudonyms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger_core::ids::CustomerId;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    fn source(text: &str) -> SourceAddress {
        SourceAddress::parse(text).unwrap()
    }

    fn keyed(key: &str) -> Pseudonyms {
        Pseudonyms::of_key(&Masked::new(key.to_owned()))
    }

    #[test]
    fn pseudonym_is_the_hmac_of_the_keyed_text() {
        // printf 'source\n192.0.2.1' | openssl dgst -sha256 -hmac key
        assert_eq!(keyed("key").of_source(&source("192.0.2.1")).unwrap().to_string(), "90a78543ad73296a");
    }

    #[test]
    fn pseudonym_is_the_same_with_the_same_key_only() {
        let (demo, other) = (Tenant::parse("demo").unwrap(), Tenant::parse("other").unwrap());
        let actor = Actor::Customer(CustomerId::parse(ID).unwrap());
        let of = |key: &str, tenant| keyed(key).of_actor(tenant, &actor);
        assert_eq!(of("a", &demo), of("a", &demo));
        assert_ne!(of("a", &demo), of("b", &demo));
        assert_ne!(of("a", &demo), of("a", &other));
        let (one, another) = (Pseudonyms::of_process(), Pseudonyms::of_process());
        assert_ne!(one.of_actor(&demo, &actor), another.of_actor(&demo, &actor));
        assert!(one.of_actor(&demo, &actor).is_some());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert!(SourceAddress::parse("192.0.2.1:443").is_none());
    }

    #[test]
    fn no_form_of_a_source_prints_the_address() {
        let printed = format!("{:?} {:?}", source("192.0.2.1"), keyed("secret"));
        assert!(!printed.contains("192") && !printed.contains("secret"), "{printed}");
    }
}
