//! The part of a request that the gateway has verified: the only source of a caller's identity.
//!
//! The receiver of the gateway's event puts it into the request's extensions: `ledger-aws` for API Gateway, and the
//! local stack's gateway for tokens that it has verified. No header, path or body can set it.

use crate::pseudonym::SourceAddress;
use std::collections::HashMap;

/// The claims of a verified token, by name.
pub type TokenClaims = HashMap<String, String>;

/// The claim with the API that the caller uses. No issuer writes it: the receiver of the request sets it to the API whose
/// client the token was issued to.
pub const FACE: &str = "face";

/// The gateway's part of a request. It has no `Debug`, because claims identify people.
#[derive(Clone, Default)]
pub struct GatewayContext {
    /// The gateway's id of the request, for the log.
    pub request_id: Option<String>,
    /// The address that called the gateway; `None` if the gateway does not say.
    pub peer: Option<SourceAddress>,
    /// The claims of the verified token, with [`FACE`]; `None` on a route without an authorizer.
    pub claims: Option<TokenClaims>,
}
