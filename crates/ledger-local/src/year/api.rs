//! The requests of a year.

use super::Stage;
use crate::clock;
use crate::credential::Credential;
use crate::issuer::{Grant, Issuer};
use crate::stack::StackError;
use crate::terminal_client::TerminalRequest;
use crate::workers::FinishError;
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::problem::Problem;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use std::time::Duration;

/// How often a request is sent that is answered with 503, with the same key.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// Longer than a year takes to play. Tokens are verified by the system's clock.
const TOKEN_LIFETIME_S: i64 = 24 * 60 * 60;

/// Why a year could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum YearError {
    /// A request was refused that should succeed.
    #[error("{at}: {method} {path} was refused with {status}: {body}")]
    Refused {
        /// The clock's time.
        at: Timestamp,
        /// The request's method.
        method: Method,
        /// The request's path.
        path: String,
        /// The response's status.
        status: StatusCode,
        /// The response's body.
        body: String,
    },
    /// A response lacks this member.
    #[error("a response has no {0}")]
    Missing(&'static str),
    /// There was no response.
    #[error("no response: {0}")]
    Http(#[from] reqwest::Error),
    /// The stack could not start.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The workers of a day did not end.
    #[error("{at}: {cause}")]
    Workers {
        /// The clock's time.
        at: Timestamp,
        /// Why.
        cause: FinishError,
    },
    /// Something failed that is not a request.
    #[error("{0}")]
    Failed(String),
}

impl YearError {
    pub(super) fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    pub(super) fn problem(problem: &Problem) -> Self {
        Self::Failed(format!("{}: {}", problem.code(), problem.detail()))
    }
}

/// A bearer token.
#[derive(Debug, Clone)]
pub(super) struct Token(String);

/// A terminal's credential, with the sequence of its last key.
#[derive(Debug)]
pub(super) struct Till {
    pub(super) credential: Credential,
    pub(super) sequence: u64,
}

impl Till {
    /// The idempotency key of its last request.
    pub(super) fn last_key(&self) -> String {
        let Credential { terminal_id, epoch, .. } = &self.credential;
        format!("{terminal_id}-{epoch}-{}", self.sequence)
    }
}

/// A client of the stack's API.
#[derive(Debug)]
pub(super) struct Api {
    base: String,
    tenant: String,
    http: reqwest::Client,
    clock: Clock,
    entropy: Entropy,
    requests: u64,
}

/// A request before it is signed or sent.
struct Request<'a> {
    method: Method,
    path: &'a str,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Api {
    /// A client for a tenant.
    pub(super) fn new(stage: &Stage, tenant: &str) -> Result<Self, YearError> {
        Ok(Self {
            base: stage.stack.url(),
            tenant: tenant.to_owned(),
            http: reqwest::Client::builder().build()?,
            clock: stage.clock.clock(),
            entropy: Entropy::system(),
            requests: 0,
        })
    }

    /// The number of requests that were sent.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// The clock's time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A new id: a UUIDv7 with the clock's time.
    pub(super) fn id(&self) -> Result<String, YearError> {
        self.entropy.uuid_v7(self.clock.now()).map(|id| id.to_string()).map_err(YearError::failed)
    }

    /// A token for one of the APIs: `customer`, `merchant` or `admin`.
    pub(super) fn token(
        &self,
        issuer: &Issuer,
        (face, sub): (&str, &str),
        merchant: Option<&str>,
    ) -> Result<Token, YearError> {
        let grant = Grant {
            tenant: self.tenant.clone(),
            sub: sub.to_owned(),
            face: face.to_owned(),
            merchant_id: merchant.map(str::to_owned),
            roles: None,
            email: None,
            email_verified: false,
        };
        issuer.issue(&grant, clock::epoch_s(), TOKEN_LIFETIME_S).map(Token).map_err(YearError::failed)
    }

    /// Reads.
    pub(super) async fn get(&mut self, token: &Token, path: &str) -> Result<Value, YearError> {
        let headers = vec![bearer(token)];
        self.send(&Request { method: Method::GET, path, headers, body: None }).await
    }

    /// Sends a command under a new key.
    pub(super) async fn post(&mut self, token: &Token, path: &str, body: &Value) -> Result<Value, YearError> {
        self.command(Method::POST, token, path, body).await
    }

    /// Sends a change under a new key.
    pub(super) async fn patch(&mut self, token: &Token, path: &str, body: &Value) -> Result<Value, YearError> {
        self.command(Method::PATCH, token, path, body).await
    }

    async fn command(&mut self, method: Method, token: &Token, path: &str, body: &Value) -> Result<Value, YearError> {
        let headers = vec![bearer(token), ("idempotency-key", self.id()?), json_type()];
        self.send(&Request { method, path, headers, body: Some(body.to_string()) }).await
    }

    /// Sends a command of a terminal, signed at the clock's time.
    pub(super) async fn terminal(&mut self, till: &mut Till, path: &str, body: &Value) -> Result<Value, YearError> {
        till.sequence = till.sequence.saturating_add(1);
        let key = till.last_key();
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(YearError::failed)?;
        let body = Some(body.to_string());
        let unsigned = TerminalRequest { method: Method::POST, url, body: body.clone(), idempotency_key: Some(key) };
        let now_s = u64::try_from(self.clock.now().seconds()).unwrap_or(0);
        let headers = unsigned.sign(&till.credential, now_s, None).map_err(YearError::failed)?;
        self.send(&Request { method: Method::POST, path, headers, body }).await
    }

    /// Enrols a terminal with a code.
    pub(super) async fn enrol(&mut self, terminal: &str, code: &str) -> Result<Till, YearError> {
        let (private_key, public_key) = Credential::key_pair().map_err(YearError::failed)?;
        let body = Some(json!({"code": code, "public_key": public_key}).to_string());
        let path = "/v1/terminal/enrolments";
        let enrolled = self.send(&Request { method: Method::POST, path, headers: vec![json_type()], body }).await?;
        let epoch = enrolled.get("epoch").and_then(Value::as_u64).ok_or(YearError::Missing("epoch"))?;
        let (tenant, terminal_id) = (self.tenant.clone(), terminal.to_owned());
        Ok(Till { credential: Credential { tenant, terminal_id, epoch, private_key }, sequence: 0 })
    }

    async fn send(&mut self, request: &Request<'_>) -> Result<Value, YearError> {
        let mut attempt = 0_u32;
        loop {
            self.requests = self.requests.saturating_add(1);
            attempt = attempt.saturating_add(1);
            let url = format!("{}{}", self.base, request.path);
            let mut sent = self.http.request(request.method.clone(), url);
            for (name, value) in &request.headers {
                sent = sent.header(*name, value);
            }
            if let Some(body) = &request.body {
                sent = sent.body(body.clone());
            }
            let response = sent.send().await?;
            let status = response.status();
            let body = response.text().await?;
            if status == StatusCode::SERVICE_UNAVAILABLE && attempt < ATTEMPTS {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            if !status.is_success() {
                let (at, method, path) = (self.clock.now(), request.method.clone(), request.path.to_owned());
                return Err(YearError::Refused { at, method, path, status, body });
            }
            return serde_json::from_str(&body).map_err(YearError::failed);
        }
    }
}

fn bearer(Token(token): &Token) -> (&'static str, String) {
    ("authorization", format!("Bearer {token}"))
}

fn json_type() -> (&'static str, String) {
    ("content-type", "application/json".to_owned())
}

/// A text of a response; `None` if it has none.
pub(super) fn opt_text<'a>(of: &'a Value, member: &str) -> Option<&'a str> {
    of.get(member).and_then(Value::as_str)
}

/// A text of a response.
pub(super) fn text(of: &Value, member: &'static str) -> Result<String, YearError> {
    opt_text(of, member).map(str::to_owned).ok_or(YearError::Missing(member))
}
