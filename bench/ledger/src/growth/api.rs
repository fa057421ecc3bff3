//! The functions' routers in this process, called as API Gateway calls them.

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Method, Request};
use ledger_local::faces;
use ledger_runtime::app::App;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::gateway::{GatewayContext, TokenClaims};
use ledger_runtime::metrics::Counting;
use ledger_runtime::readback::MetricSource;
use ledger_runtime::routing;
use serde_json::Value;
use std::sync::Arc;
use tower::ServiceExt;

/// Larger than any response.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The caller of a request, as the verified token names it.
#[derive(Clone, Debug)]
pub struct Caller(Vec<(&'static str, String)>);

impl Caller {
    /// A customer.
    #[must_use]
    pub fn customer(tenant: &str, id: &str) -> Self {
        Self::of("customer", tenant, id)
    }

    /// A member of the operator's staff.
    #[must_use]
    pub fn staff(tenant: &str, id: &str) -> Self {
        Self::of("admin", tenant, id)
    }

    /// A member of a merchant's staff.
    #[must_use]
    pub fn merchant(tenant: &str, id: &str, merchant: &str) -> Self {
        let mut this = Self::of("merchant", tenant, id);
        this.0.push(("merchant_id", merchant.to_owned()));
        this
    }

    fn of(face: &str, tenant: &str, sub: &str) -> Self {
        Self(vec![("face", face.to_owned()), ("tenant", tenant.to_owned()), ("sub", sub.to_owned())])
    }

    fn claims(&self) -> TokenClaims {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }
}

/// The functions over a state.
#[derive(Clone)]
pub struct Api {
    router: Router,
}

impl Api {
    /// All functions of the API.
    #[must_use]
    pub fn new(app: &App, counting: Counting) -> Self {
        let metrics: Arc<dyn MetricSource> = Arc::new(counting);
        let (router, _) = faces::routes(app, &metrics).into_parts();
        Self { router: routing::finish(router, app.clone()) }
    }

    /// Sends a GET that must succeed; returns the response's JSON.
    ///
    /// # Errors
    /// The response, if it is no success.
    pub async fn get(&self, caller: &Caller, path: &str) -> Result<Value, String> {
        self.send(Request::builder().method(Method::GET).uri(path), caller, Body::empty()).await
    }

    /// Sends a POST under a fresh key that must succeed; returns the response's JSON.
    ///
    /// # Errors
    /// The response, if it is no success.
    pub async fn post(&self, app: &App, caller: &Caller, path: &str, body: &Value) -> Result<Value, String> {
        let key = Entropy::system().uuid_v7(app.now()).map_err(|_| "no randomness for a key".to_owned())?;
        let request = Request::builder().method(Method::POST).uri(path).header("content-type", "application/json");
        self.send(request.header("idempotency-key", key.to_string()), caller, Body::from(body.to_string())).await
    }

    /// Sends a POST that only reads, and must succeed; returns the response's JSON.
    ///
    /// # Errors
    /// The response, if it is no success.
    pub async fn search(&self, caller: &Caller, path: &str, body: &Value) -> Result<Value, String> {
        let request = Request::builder().method(Method::POST).uri(path).header("content-type", "application/json");
        self.send(request, caller, Body::from(body.to_string())).await
    }

    async fn send(&self, request: http::request::Builder, caller: &Caller, body: Body) -> Result<Value, String> {
        let mut request = request.body(body).map_err(|error| error.to_string())?;
        let path = request.uri().to_string();
        request.extensions_mut().insert(GatewayContext { claims: Some(caller.claims()), ..GatewayContext::default() });
        let response = self.router.clone().oneshot(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let bytes = to_bytes(response.into_body(), BODY_BYTES_MAX).await.map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{path} answered {status}: {}", String::from_utf8_lossy(&bytes)));
        }
        serde_json::from_slice(&bytes).map_err(|error| format!("{path}: {error}"))
    }
}
