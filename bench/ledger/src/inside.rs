//! The customer function's own code in this process: its routes, called without a socket, over a store whose calls are
//! timed. What remains of a request without its calls is the time in our code, the AWS SDK included.
//!
//! It has what the function runs for each request: routing, the rate limit, the verified claims, the operation, a log
//! line (formatted, and written nowhere) and metrics. It lacks Lambda's event and response around the request, which
//! the measurement of the deployed functions includes.

mod store;

pub use store::{Call, Canned, TimedStore};

use crate::prepared::Party;
use axum::Router;
use axum::body::{Body, to_bytes};
use http::Request;
use ledger_core::ids::Tenant;
use ledger_local::faces::FACES;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::gateway::GatewayContext;
use ledger_runtime::readback::MetricSource;
use ledger_runtime::routing;
use ledger_tests::http::host;
use ledger_tests::http::world::new_key;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower::ServiceExt;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// The part of a marker's sort key that every request with a key has in its transaction.
pub const MARKER: &str = "card_op_idem#";

/// The function over a store.
pub struct Inside {
    /// Its state.
    pub app: App,
    /// The store's calls.
    pub store: TimedStore,
    /// The tenant of its requests.
    pub tenant: Tenant,
    router: Router,
}

/// A payment to be sent.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The payer's id.
    pub payer: String,
    /// The merchant's id.
    pub merchant: String,
    /// Yen.
    pub amount: String,
    /// The idempotency key.
    pub key: String,
}

/// An answer with its times.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
    /// Where the journal entry is.
    pub location: String,
    /// Whether it is a replay.
    pub replayed: bool,
    /// From the request to the whole body.
    pub took: Duration,
    /// Its calls of the store.
    pub calls: Vec<Call>,
}

impl Inside {
    /// The function over the table of a DynamoDB.
    pub async fn over(dynamodb_url: &str, table: &str, tenant: &str) -> Self {
        let store = TimedStore::default();
        let (app, counting) = host::bare((store.client(dynamodb_url).await, table), Clock::system());
        let metrics: Arc<dyn MetricSource> = Arc::new(counting);
        let (_, routes) = FACES[0];
        let (router, _) = routes(&app, &metrics).into_parts();
        let router = routing::finish(router, app.clone());
        let tenant = Tenant::parse(tenant).expect("a tenant's slug");
        Self { app, store, tenant, router }
    }

    /// Sends a payment.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn pay(&self, payment: &Payment) -> Answered {
        let claims = [("tenant", self.tenant.as_str()), ("face", "customer"), ("sub", payment.payer.as_str())];
        let claims = claims.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut request = Request::post("/v1/me/payments")
            .header("content-type", "application/json")
            .header("idempotency-key", &payment.key)
            .body(Body::from(payment.body()))
            .expect("a request");
        let request_id = Some("bench".to_owned());
        let context = GatewayContext { request_id, claims: Some(claims), ..GatewayContext::default() };
        request.extensions_mut().insert(context);
        let router = self.router.clone();
        let _ = self.store.take();
        let began = Instant::now();
        let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, ANSWER_BYTES_MAX).await.expect("a body");
        let took = began.elapsed();
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Answered {
            status: parts.status.as_u16(),
            body: String::from_utf8_lossy(&body).into_owned(),
            location: header("location").to_owned(),
            replayed: header("idempotent-replayed") == "true",
            took,
            calls: self.store.take(),
        }
    }
}

impl Payment {
    /// A payment of 100 to 199 yen between random parties, under a fresh key. It earns points.
    #[must_use]
    pub fn random(payers: &[Party], merchants: &[Party]) -> Self {
        Self {
            payer: payers[fastrand::usize(..payers.len())].id.clone(),
            merchant: merchants[fastrand::usize(..merchants.len())].id.clone(),
            amount: fastrand::u32(100..200).to_string(),
            key: new_key(),
        }
    }

    /// The request's body.
    #[must_use]
    pub fn body(&self) -> String {
        format!(r#"{{"merchant_id":"{}","amount":"{}"}}"#, self.merchant, self.amount)
    }
}

impl Answered {
    /// The time in the store's calls.
    #[must_use]
    pub fn in_store(&self) -> Duration {
        self.calls.iter().map(|call| call.took).sum()
    }

    /// The time in our code.
    #[must_use]
    pub fn in_our_code(&self) -> Duration {
        self.took.saturating_sub(self.in_store())
    }

    /// The calls that are part of the request itself: those with its marker. Others read what is cached for a minute,
    /// or lease a part of the tenant's rate.
    #[must_use]
    pub fn keyed_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.body.contains(MARKER)).count()
    }

    /// Checks that it is the first answer to a payment.
    ///
    /// # Errors
    /// The answer in words, if it is not.
    pub fn paid(&self) -> Result<(), String> {
        if self.status == 201 && !self.replayed { Ok(()) } else { Err(format!("not a fresh payment: {self:?}")) }
    }
}

/// Formats log lines as the functions do, and writes them nowhere.
///
/// # Panics
/// If logging was set up before.
pub fn log_nowhere() {
    tracing_subscriber::fmt().json().flatten_event(true).with_writer(std::io::sink).init();
}
