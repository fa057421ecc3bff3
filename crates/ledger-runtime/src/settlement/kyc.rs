//! Asks a KYC service over HTTPS whether a merchant may be paid. The answer is passed, refused or unknown; every other
//! answer counts as unknown.

use super::SettlementRef;
use crate::config::KycConfig;
use crate::execute::Ledger;
use crate::secrets::{KeptSecret, SecretSource};
use futures::future::BoxFuture;
use http::StatusCode;
use ledger_core::personal::Masked;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(8);
const REFERENCE_MAX: usize = 255;

/// A KYC service. Checks of one settlement must be idempotent.
pub trait Kyc: Send + Sync {
    /// Checks the merchant of a settlement.
    fn check<'a>(&'a self, at: &'a SettlementRef) -> BoxFuture<'a, KycAnswer>;
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KycAnswer {
    /// The merchant may be paid.
    Passed {
        /// The service's reference of the check, at most 255 bytes of visible ASCII. No personal data.
        reference: String,
    },
    /// The merchant may not be paid.
    Refused,
    /// There is no answer yet, or the answer cannot be read.
    Unknown,
}

/// Why a client of the KYC service cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KycError {
    /// The URL is malformed, or a token would be sent unencrypted.
    #[error("KYC_URL must begin with https:// and a host, or http:// on the loopback")]
    Url,
    /// TLS cannot be set up.
    #[error("the HTTP client cannot be set up: check the root certificates of the system")]
    Client,
}

/// A KYC service over HTTPS: `POST <url>/checks`.
pub struct HttpKyc {
    client: reqwest::Client,
    url: String,
    token: KeptSecret,
}

#[derive(Serialize)]
struct Question<'a> {
    tenant: &'a str,
    merchant_id: String,
    settlement_id: String,
}

#[derive(Deserialize)]
struct Reply {
    result: String,
    #[serde(default)]
    reference: String,
}

impl HttpKyc {
    /// Creates a client. Its token is read when it is first needed, and again every five minutes.
    ///
    /// # Errors
    /// [`KycError`], whose text says what to change.
    pub fn new(config: &KycConfig, secret: impl SecretSource + 'static, ledger: &Ledger) -> Result<Self, KycError> {
        let url: reqwest::Url = config.url.parse().map_err(|_| KycError::Url)?;
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
            return Err(KycError::Url);
        }
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .retry(reqwest::retry::never())
            .build()
            .map_err(|_| KycError::Client)?;
        let url = format!("{}/checks", config.url.trim_end_matches('/'));
        Ok(Self { client, url, token: KeptSecret::new(secret, ledger.clock(), ledger.metrics()) })
    }

    async fn ask(&self, at: &SettlementRef) -> Result<KycAnswer, &'static str> {
        let token = self.token.read().await.map_err(|_| "the token cannot be read")?;
        let mut answer = self.post(at, &token).await?;
        if matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            // The token may have been rotated since it was read.
            let fresh = self.token.read_anew().await.map_err(|_| "the token cannot be read")?;
            if fresh != token {
                answer = self.post(at, &fresh).await?;
            }
        }
        if answer.status() != StatusCode::OK {
            return Err("the status is not 200");
        }
        let body = answer.bytes().await.map_err(|_| "the response is incomplete")?;
        let reply: Reply = serde_json::from_slice(&body).map_err(|_| "the response cannot be parsed")?;
        let graphic = reply.reference.bytes().all(|byte| byte.is_ascii_graphic());
        match reply.result.as_str() {
            "passed" if graphic && reply.reference.len() <= REFERENCE_MAX => {
                Ok(KycAnswer::Passed { reference: reply.reference })
            }
            "refused" => Ok(KycAnswer::Refused),
            "pending" => Ok(KycAnswer::Unknown),
            _ => Err("the response has no valid result"),
        }
    }

    async fn post(&self, at: &SettlementRef, token: &Masked<String>) -> Result<reqwest::Response, &'static str> {
        let bearer = format!("Bearer {}", token.expose().trim());
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| "the token is malformed")?;
        bearer.set_sensitive(true);
        let question = Question {
            tenant: at.tenant.as_str(),
            merchant_id: at.merchant.to_string(),
            settlement_id: at.id.to_string(),
        };
        let body = serde_json::to_vec(&question).map_err(|_| "the request cannot be serialized")?;
        let request = self
            .client
            .post(&self.url)
            .header(AUTHORIZATION, bearer)
            .header("content-type", "application/json")
            // One check per settlement, however often the request is repeated.
            .header("idempotency-key", format!("settlement:{}:kyc", at.id))
            .body(body);
        request.send().await.map_err(|_| "no answer")
    }
}

impl Kyc for HttpKyc {
    fn check<'a>(&'a self, at: &'a SettlementRef) -> BoxFuture<'a, KycAnswer> {
        Box::pin(async move {
            self.ask(at).await.unwrap_or_else(|why| {
                tracing::warn!(settlement = %at.id, why, "the result of the merchant's KYC check is unknown");
                KycAnswer::Unknown
            })
        })
    }
}

impl fmt::Debug for HttpKyc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpKyc").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
