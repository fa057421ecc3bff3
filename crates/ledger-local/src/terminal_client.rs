//! A storefront terminal as a client: signs requests with its credential (RFC 9421), as a vendor's firmware does. The
//! tests and the `terminal` command use it.

use crate::clock;
use crate::credential::Credential;
use crate::terminal_error::TerminalError;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use httpsig::prelude::message_component::{HttpMessageComponent, HttpMessageComponentId};
use httpsig::prelude::{AlgorithmName, HttpSignatureBase, HttpSignatureParams, SecretKey};
use reqwest::{Method, Url};
use sha2::{Digest, Sha256};
use std::time::Duration;

const LABEL: &str = "terminal";
/// Longer than API Gateway's timeout.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

/// A request of a terminal, before it is signed.
#[derive(Debug, Clone)]
pub struct TerminalRequest {
    /// Its method.
    pub method: Method,
    /// The URL, with query.
    pub url: Url,
    /// The JSON body, if any.
    pub body: Option<String>,
    /// The idempotency key of an operation.
    pub idempotency_key: Option<String>,
}

impl TerminalRequest {
    /// The headers that sign this request, in the order in which they are printed.
    ///
    /// # Errors
    /// If the credential's key is not a P-256 key.
    pub fn sign(
        &self,
        credential: &Credential,
        created_epoch_s: u64,
        nonce: Option<&str>,
    ) -> Result<Vec<(&'static str, String)>, TerminalError> {
        let mut headers = Vec::new();
        let mut covered = vec![
            ("@method", self.method.to_string()),
            ("@path", self.url.path().to_owned()),
            ("@query", format!("?{}", self.url.query().unwrap_or_default())),
        ];
        if self.body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let body = self.body.as_deref().unwrap_or_default();
        let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(body.as_bytes())));
        let key = self.idempotency_key.clone().map(|key| ("idempotency-key", key));
        for header in [Some(("content-digest", digest)), key].into_iter().flatten() {
            headers.push(header.clone());
            covered.push(header);
        }

        let mut ids = Vec::with_capacity(covered.len());
        let mut lines = Vec::with_capacity(covered.len());
        for (name, value) in covered {
            let id = HttpMessageComponentId::try_from(name)?;
            lines.push(HttpMessageComponent::try_from((&id, [value].as_slice()))?);
            ids.push(id);
        }
        let mut params = HttpSignatureParams::try_new(&ids)?;
        params.set_created(created_epoch_s).set_alg(&AlgorithmName::EcdsaP256Sha256).set_keyid(&credential.key_id());
        if let Some(nonce) = nonce {
            params.set_nonce(nonce);
        }
        let key = SecretKey::from_pem(&AlgorithmName::EcdsaP256Sha256, &credential.private_key)?;
        let signature = HttpSignatureBase::try_new(&lines, &params)?.build_signature_headers(&key, Some(LABEL))?;
        headers.push(("signature-input", signature.signature_input_header_value()));
        headers.push(("signature", signature.signature_header_value()));
        Ok(headers)
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// All headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

/// Signs and sends requests.
#[derive(Debug, Clone)]
pub struct TerminalClient {
    base: String,
    credential: Credential,
    http: reqwest::Client,
}

impl TerminalClient {
    /// Creates the client of a terminal with this credential, for the API at `base_url`.
    ///
    /// # Errors
    /// If the HTTP client cannot be created.
    pub fn new(base_url: &str, credential: Credential) -> Result<Self, TerminalError> {
        let base = base_url.trim_end_matches('/').to_owned();
        Ok(Self { http: http_client(&base)?, base, credential })
    }

    /// A request for `path`, which may have a query.
    ///
    /// # Errors
    /// If `path` does not begin with `/`, or base and path are not a URL.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<TerminalRequest, TerminalError> {
        let text = format!("{}{path}", self.base);
        let url = Url::parse(&text).ok().filter(|_| path.starts_with('/')).ok_or(TerminalError::Url(text))?;
        Ok(TerminalRequest { method, url, body, idempotency_key })
    }

    /// Signs `request` with the present time and a fresh nonce.
    ///
    /// # Errors
    /// If it cannot be signed.
    pub fn sign(&self, request: &TerminalRequest) -> Result<Vec<(&'static str, String)>, TerminalError> {
        let mut nonce = [0; 12];
        getrandom::fill(&mut nonce).map_err(|error| TerminalError::Key(error.to_string()))?;
        let nonce = URL_SAFE_NO_PAD.encode(nonce);
        request.sign(&self.credential, clock::since_epoch().as_secs(), Some(&nonce))
    }

    /// Signs and sends `request`. A response of any status is a success.
    ///
    /// # Errors
    /// If it cannot be signed, or there is no response.
    pub async fn send(&self, request: &TerminalRequest) -> Result<Answer, TerminalError> {
        let headers = self.sign(request)?;
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
        exchange(&self.http, request.method.clone(), request.url.clone(), headers, request.body.clone()).await
    }
}

/// An HTTP client with this module's timeout.
pub(crate) fn http_client(url: &str) -> Result<reqwest::Client, TerminalError> {
    let built = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).build();
    built.map_err(|error| TerminalError::NoAnswer { url: url.to_owned(), cause: error.to_string() })
}

/// Sends one request and reads the whole response.
pub(crate) async fn exchange(
    http: &reqwest::Client,
    method: Method,
    url: Url,
    headers: impl Iterator<Item = (&str, &str)>,
    body: Option<String>,
) -> Result<Answer, TerminalError> {
    let failed = |error: reqwest::Error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        TerminalError::NoAnswer { url: url.to_string(), cause: cause.to_string() }
    };
    let mut request = http.request(method, url.clone());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(body) = body {
        request = request.body(body);
    }
    let response = request.send().await.map_err(failed)?;
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = response.text().await.map_err(failed)?;
    Ok(Answer { status, headers, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential() -> Credential {
        let (private_key, _) = Credential::key_pair().unwrap();
        Credential { tenant: "demo".to_owned(), terminal_id: "t1".to_owned(), epoch: 3, private_key }
    }

    #[test]
    fn signed_headers_cover_all_required_components() {
        let client = TerminalClient::new("http://127.0.0.1:1/", credential()).unwrap();
        let request = client.request(Method::POST, "/v1/x?b=1", Some("{}".to_owned()), Some("k".to_owned())).unwrap();
        let headers = request.sign(&client.credential, 1_800_000_000, Some("n")).unwrap();
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["content-type", "content-digest", "idempotency-key", "signature-input", "signature"]);
        assert_eq!(
            headers[3].1,
            "terminal=(\"@method\" \"@path\" \"@query\" \"content-digest\" \"idempotency-key\")\
             ;created=1800000000;nonce=\"n\";alg=\"ecdsa-p256-sha256\";keyid=\"demo/t1/3\""
        );
        assert!(client.request(Method::GET, "v1/x", None, None).is_err());
    }
}
