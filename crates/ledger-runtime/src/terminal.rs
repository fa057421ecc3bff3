//! Authenticates storefront terminals: the signature over the whole request is verified with the terminal's enrolled
//! key. Nothing in the request is trusted before that.

use crate::app::App;
use crate::identity::Caller;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::rate::note_caller;
use crate::request::read_body;
use crate::signature::{self, KeyId, SignatureError};
use axum::body::Body;
use axum::extract::{FromRequestParts, OriginalUri, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use ledger_core::idempotency::{Admission, IdempotencyKey, KeyError, TerminalKey, Window};
use ledger_core::ids::{Actor, MerchantId, Principal, ShopId, Tenant, TerminalId, TerminalOwner};
use ledger_core::terminal_state::TerminalState;
use ledger_core::terminals::TerminalRecord;
use ledger_core::time::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// The shortest time between a read of a terminal's record and a reread after a failed check. Without it, wrong
/// signatures in a terminal's name would cause as many reads.
const REREAD_PAUSE: Duration = Duration::from_secs(1);

/// A terminal whose signature of the request has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    tenant: Tenant,
    id: TerminalId,
    owner: TerminalOwner,
    shop: Option<ShopId>,
    epoch: u32,
}

impl Terminal {
    /// The terminal's id.
    #[must_use]
    pub fn id(&self) -> TerminalId {
        self.id
    }

    /// Whose terminal it is.
    #[must_use]
    pub fn owner(&self) -> TerminalOwner {
        self.owner
    }

    /// The merchant whose till it is. Payments and refunds are for tills alone. A terminal never changes its owner, so the
    /// refusal needs no stored response.
    ///
    /// # Errors
    /// 403 `not_at_counter` for a counter.
    pub fn merchant_id(&self) -> Result<MerchantId, Problem> {
        self.owner.merchant().ok_or_else(Problem::not_at_counter)
    }

    /// The shop that it is assigned to.
    #[must_use]
    pub fn shop(&self) -> Option<ShopId> {
        self.shop
    }

    /// The epoch of the key that signed.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }
}

impl Caller for Terminal {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn principal(&self) -> Principal {
        Principal::Terminal(self.id)
    }

    fn actor(&self) -> Actor {
        Actor::Terminal(self.id)
    }

    fn admit(&self, key: &IdempotencyKey, _: Timestamp, _: &Window) -> Result<Admission, KeyError> {
        TerminalKey::admit(key, self.id, self.epoch)
    }
}

/// Verifies the signature over the raw body and adds the [`Terminal`] to the request: the middleware of signed routes.
///
/// On a route without it, the extractor [`Terminal`] answers 401.
///
/// # Errors
/// 401 `signature_invalid` or `signature_expired`, 413 for a body above the limit, 429 `rate_limited`, 503 if the store
/// cannot be read.
pub async fn verify_terminal(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let bytes = read_body(&parts.headers, body).await?;
    let terminal = authenticate(&app, &parts, &bytes).await.inspect_err(|problem| {
        if problem.status() == http::StatusCode::UNAUTHORIZED {
            app.metrics().count_of(Metric::SignatureRefused, None, None);
        }
    })?;
    let actor = terminal.actor();
    note_caller(app.callers(), &parts.extensions, &terminal.tenant, Some(&actor));
    app.limiter().check(&terminal.tenant, Some(actor)).await?;
    parts.extensions.insert(terminal);
    Ok(next.run(Request::from_parts(parts, Body::from(bytes))).await)
}

impl<S: Sync> FromRequestParts<S> for Terminal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(refused)
    }
}

async fn authenticate(app: &App, parts: &Parts, body: &[u8]) -> Result<Terminal, Problem> {
    let now = app.now();
    let claimed = signature::key_id(&parts.headers).map_err(|error| problem(&error, now))?;
    let (Ok(tenant), Ok(id)) = (Tenant::parse(&claimed.tenant), TerminalId::parse(&claimed.terminal_id)) else {
        return Err(refused());
    };
    let records = app.records();
    let Some((cached, read_at)) = records.terminal(app.dynamo(), &tenant, id, now).await? else {
        // Without the tenant: it is only claimed, and each would be a metric of its own.
        app.metrics().count_of(Metric::UnknownTerminal, None, None);
        return Err(refused());
    };
    let first = check(&cached, &claimed, parts, body, now);
    // The terminal may have been enrolled again or unfrozen since the record was cached.
    let record = match first {
        Ok(()) => cached,
        Err(_) if now >= read_at.plus(REREAD_PAUSE) => {
            let fresh = records.reread_terminal(app.dynamo(), &tenant, id, now).await?.ok_or_else(refused)?;
            check(&fresh, &claimed, parts, body, now)?;
            fresh
        }
        Err(problem) => return Err(problem),
    };
    Ok(Terminal { tenant, id, owner: record.owner, shop: record.shop, epoch: record.epoch })
}

/// Checks that this record's key signed the request.
///
/// A missing, frozen, closed or wrong terminal and a wrong signature give the same answer, so that a caller cannot find out
/// which terminals exist.
fn check(
    record: &Arc<TerminalRecord>,
    claimed: &KeyId,
    parts: &Parts,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Problem> {
    let (Some(public_key), TerminalState::Active) = (&record.public_key, record.state) else {
        return Err(refused());
    };
    if record.epoch.to_string() != claimed.epoch {
        return Err(refused());
    }
    let uri = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
    signature::verify(&parts.method, uri, &parts.headers, body, public_key, now.seconds())
        .map_err(|error| problem(&error, now))
}

fn problem(error: &SignatureError, now: Timestamp) -> Problem {
    match error {
        SignatureError::Created { .. } | SignatureError::Expired { .. } => Problem::signature_expired(now),
        SignatureError::PublicKey => {
            tracing::error!("a terminal's stored public key cannot be read: enrol it again");
            refused()
        }
        SignatureError::Mismatch => refused(),
        // These depend only on the form of the request, and on nothing that is stored.
        SignatureError::HeaderMissing(_)
        | SignatureError::HeaderDuplicated(_)
        | SignatureError::HeaderMalformed(..)
        | SignatureError::OneSignature
        | SignatureError::Parameter(_)
        | SignatureError::KeyId
        | SignatureError::NotCovered(_)
        | SignatureError::UnexpectedComponent
        | SignatureError::Algorithm
        | SignatureError::DigestMismatch => Problem::signature_invalid(error.to_string()),
    }
}

fn refused() -> Problem {
    Problem::signature_invalid("The signature does not match the request, or its terminal is not enrolled.")
}

#[cfg(test)]
mod tests;
