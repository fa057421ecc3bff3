//! Stripe over HTTPS: sends each request once and classifies the response as done, refused or unknown.
//!
//! Nothing here retries; the caller decides whether to send again.

mod classify;
mod find;
#[cfg(test)]
mod tests;
mod transport;

use super::port::{Listed, Listing, ListingKind, LookupResult, Psp, PspLookup, PspObject, PspSearch, Sent, Unknown};
use crate::config::StripeConfig;
use futures::future::BoxFuture;
use ledger_core::psp::{PspKey, PspRequest, Step};
use std::fmt;
use std::sync::Arc;
use transport::{Answer, Call, Http, Timeouts};

/// The version of Stripe's API that [`wire`](super::wire) reads: that of stripe-python 16.1.
///
/// It is sent with each request, so the account's default version never applies.
const API_VERSION: &str = "2026-10-28.endive";

/// Stripe's API. Cheap to clone: clones share their connections.
#[derive(Clone)]
pub struct Stripe {
    http: Http,
    ledger: Arc<str>,
}

/// Why Stripe cannot be called with its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// The base URL is invalid, or would send a secret key unencrypted.
    #[error("the base URL must be https:// and a host, or http:// on the loopback, without user, query or fragment")]
    BaseUrl,
    /// The API key cannot be sent in a header.
    #[error("the API key must be visible ASCII and not empty")]
    ApiKey,
    /// TLS cannot be set up, for example because the machine has no root certificates.
    #[error("the HTTP client cannot be set up: check the root certificates of the system")]
    Client,
}

impl Stripe {
    /// Creates the client of a deployment, whose name marks its objects at Stripe.
    ///
    /// # Errors
    /// [`StripeError`] says what to change.
    pub fn new(config: &StripeConfig, ledger: &str) -> Result<Self, StripeError> {
        Self::with_timeouts(config, ledger, Timeouts::DEFAULT)
    }

    fn with_timeouts(config: &StripeConfig, ledger: &str, timeouts: Timeouts) -> Result<Self, StripeError> {
        Ok(Self { http: Http::new(config, timeouts)?, ledger: Arc::from(ledger) })
    }

    async fn get(&self, path: &str, query: &str, account: Option<&str>) -> Result<Answer, &'static str> {
        self.http.call(&Call { path, query, account, post: None }).await
    }
}

impl fmt::Debug for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripe").field("http", &self.http).field("ledger", &self.ledger).finish()
    }
}

impl Psp for Stripe {
    fn send<'a>(&'a self, request: &'a PspRequest, key: &'a PspKey) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let post = Some((key, request.body.as_str()));
            let call = Call { path: &request.path, query: "", account: request.account.as_deref(), post };
            match self.http.call(&call).await {
                Ok(answer) => classify::sent(request.step, &answer, &self.ledger),
                // The key makes it safe to send the request again, whatever failed.
                Err(why) => Sent::Unknown(Unknown { resend: true, why }),
            }
        })
    }

    fn look<'a>(&'a self, at: PspLookup<'a>, account: Option<&'a str>) -> BoxFuture<'a, LookupResult> {
        Box::pin(async move {
            let path = match at {
                PspLookup::Intent(id) => format!("/v1/payment_intents/{id}"),
                PspLookup::Refund(id) => format!("/v1/refunds/{id}"),
                PspLookup::Payout(id) => format!("/v1/payouts/{id}"),
            };
            match self.get(&path, "", account).await {
                Ok(answer) => classify::seen(at, &answer, &self.ledger),
                Err(_) => LookupResult::Unknown,
            }
        })
    }

    fn find<'a>(&'a self, search: &'a PspSearch, account: Option<&'a str>) -> BoxFuture<'a, LookupResult> {
        Box::pin(async move {
            match (search.step, &search.intent) {
                (Step::CreateIntent, _) => self.search_list(search, &find::intents(search), account).await,
                (Step::CreatePayout, _) => self.search_list(search, &find::payouts(search), account).await,
                (Step::CreateRefund, Some(intent)) => self.search_list(search, &find::refunds(intent), account).await,
                (Step::CancelIntent, Some(intent)) => self.look(PspLookup::Intent(intent), account).await,
                (Step::CancelIntent | Step::CreateRefund, None) => {
                    tracing::error!(step = search.step.name(), resource = %search.resource, "no intent to look at");
                    LookupResult::Unknown
                }
            }
        })
    }

    fn list<'a>(&'a self, what: &'a Listing, account: Option<&'a str>) -> BoxFuture<'a, Option<Listed>> {
        Box::pin(self.list_page(what, account))
    }
}
