//! What a request says of where it came from, and the names of callers in logs.

use crate::config::{CallerConfig, SecretDigest};
use crate::gateway::GatewayContext;
use crate::pseudonym::{Pseudonym, Pseudonyms, SourceAddress};
use http::{Extensions, HeaderMap, HeaderName};
use ledger_core::ids::{Actor, Tenant};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::sync::Arc;

/// The header in which a front end proves that it forwards the request: the secret that only it and the operator have.
pub const FRONT_END_SECRET: HeaderName = HeaderName::from_static("front-end-secret");
/// The header in which CloudFront forwards the address and port of its caller, such as `198.51.100.7:46532`.
pub const VIEWER_ADDRESS: HeaderName = HeaderName::from_static("cloudfront-viewer-address");

/// Finds the source of requests, and names callers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Callers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    front_end: Vec<SecretDigest>,
    pseudonyms: Pseudonyms,
}

impl Callers {
    /// Creates it from the configuration.
    pub(crate) fn new(config: &CallerConfig) -> Self {
        let pseudonyms = config.log_key.as_ref().map_or_else(Pseudonyms::of_process, Pseudonyms::of_key);
        Self(Arc::new(Inner { front_end: config.front_end.clone(), pseudonyms }))
    }

    /// The address that a request came from: the one that a trusted front end forwards, else the gateway's peer.
    ///
    /// `None` if the gateway gave none.
    pub(crate) fn source(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<SourceAddress> {
        let peer = extensions.get::<GatewayContext>().and_then(|context| context.peer.clone());
        if self.is_from_front_end(headers) { forwarded(headers).or(peer) } else { peer }
    }

    /// The name of a caller in logs.
    pub(crate) fn name_actor(&self, tenant: &Tenant, actor: &Actor) -> Option<Pseudonym> {
        self.0.pseudonyms.of_actor(tenant, actor)
    }

    /// The name of a source in logs.
    pub(crate) fn name_source(&self, source: &SourceAddress) -> Option<Pseudonym> {
        self.0.pseudonyms.of_source(source)
    }

    /// Whether the request carries a front end's secret. Digests are compared, so the time says nothing of the secret.
    fn is_from_front_end(&self, headers: &HeaderMap) -> bool {
        if self.0.front_end.is_empty() {
            return false;
        }
        only(headers, &FRONT_END_SECRET)
            .is_some_and(|secret| self.0.front_end.contains(&SecretDigest::from(Sha256::digest(secret))))
    }
}

/// The address in [`VIEWER_ADDRESS`]. CloudFront writes IPv6 addresses without brackets.
fn forwarded(headers: &HeaderMap) -> Option<SourceAddress> {
    let text = std::str::from_utf8(only(headers, &VIEWER_ADDRESS)?).ok()?;
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(SourceAddress::new(address.ip()));
    }
    let (address, port) = text.rsplit_once(':')?;
    let _: u16 = port.parse().ok()?;
    SourceAddress::parse(address)
}

/// The only value of a header. A header that is sent twice has none: one of the two may be the client's.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.as_bytes()),
        (Some(_) | None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a-secret-of-the-front-end";
    const PEER: &str = "192.0.2.1";

    fn found(front_end: Vec<SecretDigest>, sent: &[(HeaderName, &str)]) -> Option<SourceAddress> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name, value.parse().unwrap());
        }
        let mut extensions = Extensions::new();
        extensions.insert(GatewayContext { peer: SourceAddress::parse(PEER), ..GatewayContext::default() });
        Callers::new(&CallerConfig { front_end, ..CallerConfig::default() }).source(&headers, &extensions)
    }

    fn digest_of(secret: &str) -> SecretDigest {
        Sha256::digest(secret).into()
    }

    #[test]
    fn forwarded_address_counts_only_with_the_secret() {
        let digests = || vec![digest_of("another"), digest_of(SECRET)];
        for (address, want) in [
            ("198.51.100.7:46532", "198.51.100.7"),
            ("2001:db8:85a3::8a2e:370:7334:443", "2001:db8:85a3::1"),
            ("[2001:db8::1]:443", "2001:db8::"),
            ("not an address", PEER),
            ("198.51.100.7", PEER),
        ] {
            let sent = [(FRONT_END_SECRET, SECRET), (VIEWER_ADDRESS, address)];
            assert_eq!(found(digests(), &sent), SourceAddress::parse(want), "{address}");
        }
        let viewer = (VIEWER_ADDRESS, "198.51.100.7:46532");
        for untrusted in [
            vec![viewer.clone()],
            vec![(FRONT_END_SECRET, "wrong"), viewer.clone()],
            vec![(FRONT_END_SECRET, ""), viewer.clone()],
            vec![(FRONT_END_SECRET, SECRET), (FRONT_END_SECRET, SECRET), viewer.clone()],
            vec![(FRONT_END_SECRET, SECRET), viewer.clone(), viewer.clone()],
            vec![(HeaderName::from_static("x-forwarded-for"), "198.51.100.7"), (FRONT_END_SECRET, SECRET)],
        ] {
            assert_eq!(found(digests(), &untrusted), SourceAddress::parse(PEER), "{untrusted:?}");
        }
        let sent = [(FRONT_END_SECRET, SECRET), viewer];
        assert_eq!(found(Vec::new(), &sent), SourceAddress::parse(PEER), "no front end is set up");
    }

    #[test]
    fn request_without_a_gateway_has_no_source() {
        let callers = Callers::new(&CallerConfig::default());
        assert_eq!(callers.source(&HeaderMap::new(), &Extensions::new()), None);
    }
}
