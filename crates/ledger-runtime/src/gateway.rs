//! What the gateway in front of a function has verified of a request: the only source of a caller's identity.
//!
//! The part that receives the gateway's event puts it into the request's extensions: `ledger-aws` from the event of API
//! Gateway, the local stack's gateway from the token that it has verified itself. No header, path or body reaches it.

use std::collections::HashMap;

/// The claims of a verified token, by name.
pub type TokenClaims = HashMap<String, String>;

/// The gateway's part of a request. It does not print: claims identify people.
#[derive(Clone, Default)]
pub struct GatewayContext {
    /// The gateway's name for the request, for the log.
    pub request_id: Option<String>,
    /// The claims of the verified token; `None` on a route without an authorizer.
    pub claims: Option<TokenClaims>,
}
