//! The API as people call it, inside of the process: each request says who sends it, as the gateway does for a verified
//! token.

use super::{SeedError, failed};
use axum::Router;
use axum::body::Body;
use http::{Method, Request, header};
use ledger_core::ids::Tenant;
use ledger_core::time::Timestamp;
use ledger_runtime::execute::Ledger;
use ledger_runtime::gateway::{GatewayContext, TokenClaims};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tower::ServiceExt;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// The codes that tell that an earlier start did the same: its key has expired, or what it made stands.
const DONE_BEFORE: [&str; 2] = ["idempotency_key_expired", "already_exists"];
/// The code of an approval that came too late. Its command was never executed.
const TOO_LATE: &str = "approval_expired";
/// How often a command is requested: more often than approvals of 7 days fit into the 90 days of its keys.
const REQUESTS_MAX: u32 = 20;

/// A staff member who sends requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person<'a> {
    id: &'a str,
    merchant: Option<&'a str>,
    /// The verified address, which accepting an invitation takes.
    email: Option<&'a str>,
}

/// Sends the requests of a tenant's staff.
pub(super) struct Office<'a> {
    pub(super) faces: &'a Router,
    pub(super) tenant: &'a Tenant,
    /// When the tenant was opened. Keys are of that time: once they have expired, a command is not executed again.
    pub(super) opened_at: Timestamp,
    /// The first requests commands, the second approves them.
    pub(super) founders: [Person<'a>; 2],
}

impl<'a> Person<'a> {
    /// A member of the operator's staff.
    pub(super) fn operator(id: &'a str) -> Self {
        Self { id, merchant: None, email: None }
    }

    /// A member of a merchant's staff.
    pub(super) fn of_merchant(id: &'a str, merchant: &'a str) -> Self {
        Self { id, merchant: Some(merchant), email: None }
    }

    /// The same with the verified address.
    pub(super) fn at(self, email: &'a str) -> Self {
        Self { email: Some(email), ..self }
    }
}

impl Office<'_> {
    /// Sends a command of the first founder, which the second one approves if two people are needed. Repeating it changes
    /// nothing.
    pub(super) async fn operate(&self, path: &str, body: &Value) -> Result<(), SeedError> {
        self.operate_by(Method::POST, path, body).await
    }

    /// The same with another method.
    pub(super) async fn operate_by(&self, method: Method, path: &str, body: &Value) -> Result<(), SeedError> {
        let [first, second] = &self.founders;
        for request in 0..REQUESTS_MAX {
            let Some(asked) = self.command(method.clone(), first, path, body, request).await? else { return Ok(()) };
            let Some(approve) = approval(&asked) else { return Ok(()) };
            match self.attempt(Method::POST, second, &approve, &json!({}), 0).await? {
                Err(problem) if text(&problem, "code") == Some(TOO_LATE) => {}
                answer => return done(&approve, answer).map(|_| ()),
            }
        }
        Err(failed(format!("{path}: none of {REQUESTS_MAX} requests was approved in time")))
    }

    /// Sends a command and returns its answer; `None` if an earlier start did the same and the answer is not stored.
    pub(super) async fn send(&self, by: &Person<'_>, path: &str, body: &Value) -> Result<Option<Value>, SeedError> {
        self.command(Method::POST, by, path, body, 0).await
    }

    async fn command(
        &self,
        method: Method,
        by: &Person<'_>,
        path: &str,
        body: &Value,
        request: u32,
    ) -> Result<Option<Value>, SeedError> {
        done(path, self.attempt(method, by, path, body, request).await?)
    }

    /// Sends a command under the key of its request of this number. `Err` if the answer is a problem.
    async fn attempt(
        &self,
        method: Method,
        by: &Person<'_>,
        path: &str,
        body: &Value,
        request: u32,
    ) -> Result<Result<Value, Value>, SeedError> {
        let key = self.key(&format!("{}\n{path}\n{body}\n{request}", by.id))?;
        self.call(method, Some(by), path, Some((Some(key), body))).await
    }

    /// A one-time enrolment code, which only the answer to its request shows. The approval lets it be asked for.
    pub(super) async fn code(&self, ledger: &Ledger, path: &str) -> Result<String, SeedError> {
        let [first, second] = &self.founders;
        for _ in 0..2 {
            let key = ledger.context(ledger.clock().now()).map_err(failed)?.resource_id.to_string();
            let asked = self.call(Method::POST, Some(first), path, Some((Some(key), &json!({})))).await?;
            let asked = asked.map_err(|problem| refused(path, &problem))?;
            if let Some(code) = text(&asked, "code") {
                return Ok(code.to_owned());
            }
            let approval = approval(&asked).ok_or_else(|| failed("neither a code nor a request for approval"))?;
            self.send(second, &approval, &json!({})).await?;
        }
        Err(failed("the approved request gives no code"))
    }

    /// Sends a request that needs no token.
    pub(super) async fn anyone(&self, path: &str, body: &Value) -> Result<Value, SeedError> {
        self.call(Method::POST, None, path, Some((None, body))).await?.map_err(|problem| refused(path, &problem))
    }

    /// Reads.
    pub(super) async fn get(&self, by: &Person<'_>, path: &str) -> Result<Value, SeedError> {
        self.call(Method::GET, Some(by), path, None).await?.map_err(|problem| refused(path, &problem))
    }

    /// The answer's body: `Err` if it is a problem.
    async fn call(
        &self,
        method: Method,
        by: Option<&Person<'_>>,
        path: &str,
        command: Option<(Option<String>, &Value)>,
    ) -> Result<Result<Value, Value>, SeedError> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some((key, _)) = &command {
            request = request.header(header::CONTENT_TYPE, "application/json");
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
        }
        let body = command.map_or_else(Body::empty, |(_, body)| Body::from(body.to_string()));
        let mut request = request.body(body).map_err(failed)?;
        let claims = by.map(|by| self.claims(by));
        request.extensions_mut().insert(GatewayContext { claims, ..GatewayContext::default() });
        let Ok(response) = self.faces.clone().oneshot(request).await;
        let is_success = response.status().is_success();
        let body = axum::body::to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.map_err(failed)?;
        let body = serde_json::from_slice(&body).map_err(failed)?;
        Ok(if is_success { Ok(body) } else { Err(body) })
    }

    fn claims(&self, by: &Person<'_>) -> TokenClaims {
        let face = if by.merchant.is_some() { "merchant" } else { "admin" };
        let named = [("tenant", self.tenant.as_str()), ("sub", by.id), ("face", face)];
        let merchant = by.merchant.map(|merchant| ("merchant_id", merchant));
        let email = by.email.into_iter().flat_map(|email| [("email", email), ("email_verified", "true")]);
        named
            .into_iter()
            .chain(merchant)
            .chain(email)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The idempotency key of a command: a UUIDv7 of the tenant's opening, the same in each start.
    fn key(&self, command: &str) -> Result<String, SeedError> {
        let [a, b, c, d, e, f, g, h, i, j, ..]: [u8; 32] = Sha256::digest(command).into();
        let millis = u64::try_from(self.opened_at.millis()).map_err(failed)?;
        let bytes = [a, b, c, d, e, f, g, h, i, j];
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().to_string())
    }
}

/// The answer of a command; `None` if an earlier start did the same and the answer is not stored.
fn done(path: &str, answer: Result<Value, Value>) -> Result<Option<Value>, SeedError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(problem) if text(&problem, "code").is_some_and(|code| DONE_BEFORE.contains(&code)) => Ok(None),
        Err(problem) => Err(refused(path, &problem)),
    }
}

/// The path that approves a stored command; `None` if the command was executed.
fn approval(answer: &Value) -> Option<String> {
    text(answer, "approval_id").map(|id| format!("/v1/admin/approvals/{id}/approve"))
}

fn text<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer.get(name).and_then(Value::as_str)
}

fn refused(path: &str, problem: &Value) -> SeedError {
    failed(format!("{path} was refused: {problem}"))
}
