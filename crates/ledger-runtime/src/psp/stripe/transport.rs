//! One HTTP exchange with Stripe: headers, limits of time and size, and one log line.
//!
//! INVARIANT: the log line contains no body, no query and no key.

use super::{API_VERSION, StripeError};
use crate::config::StripeConfig;
use ledger_core::psp::PspKey;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest body in bytes. A page of 100 objects stays below, even with the longest metadata that Stripe allows.
pub(super) const BODY_BYTES_MAX: usize = 4 << 20;

const USER_AGENT: &str = concat!("ecopay-ledger/", env!("CARGO_PKG_VERSION"));
const WITHOUT_TLS: &str = "http://";
const FORM: &str = "application/x-www-form-urlencoded";
const VERSION_HEADER: &str = "stripe-version";
const ACCOUNT_HEADER: &str = "stripe-account";
const KEY_HEADER: &str = "idempotency-key";
const REPLAYED_HEADER: &str = "idempotent-replayed";
const RETRY_HEADER: &str = "stripe-should-retry";
const REQUEST_ID_HEADER: &str = "request-id";
/// How long an idle connection is kept.
///
/// Intermediaries drop idle connections later than this, so that a process that was suspended does not send on a dead
/// one.
const IDLE_MAX: Duration = Duration::from_secs(30);
const IDLE_CONNECTIONS_MAX: usize = 8;

/// The time limits of an exchange.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// The limit for the connection, with TLS.
    pub(super) connect: Duration,
    /// The limit for the whole exchange, until the last byte of the response.
    pub(super) whole: Duration,
}

impl Timeouts {
    /// Two exchanges fit into the time of one request.
    pub(super) const DEFAULT: Self = Self { connect: Duration::from_secs(2), whole: Duration::from_secs(8) };
}

/// A request to Stripe.
pub(super) struct Call<'a> {
    /// The path after the base URL.
    pub(super) path: &'a str,
    /// The query without its `?`; empty for none.
    pub(super) query: &'a str,
    /// The connected account.
    pub(super) account: Option<&'a str>,
    /// The idempotency key and the form of a POST; `None` for a GET.
    pub(super) post: Option<(&'a PspKey, &'a str)>,
}

/// A complete response.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Whether it is the stored response to an earlier request under the key.
    pub(super) replayed: bool,
    /// Stripe's advice whether to send the request again.
    pub(super) should_retry: Option<bool>,
    pub(super) body: Vec<u8>,
}

/// The connections, with the headers of every request.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
    base: Arc<str>,
}

impl Http {
    pub(super) fn new(config: &StripeConfig, timeouts: Timeouts) -> Result<Self, StripeError> {
        let base = config.base_url.trim_end_matches('/');
        if !is_safe(base) {
            return Err(StripeError::BaseUrl);
        }
        let key = config.api_key.expose();
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(StripeError::ApiKey);
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| StripeError::ApiKey)?;
        authorization.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization);
        headers.insert(VERSION_HEADER, HeaderValue::from_static(API_VERSION));
        let mut client = Client::builder();
        if base.starts_with(WITHOUT_TLS) {
            // Nothing else needs the system's root certificates, which each start would read.
            client = client.tls_certs_only([]);
        }
        let client = client
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .connect_timeout(timeouts.connect)
            .timeout(timeouts.whole)
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            // A redirect, or a proxy from the environment, could send the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .retry(reqwest::retry::never())
            .build()
            .map_err(|_| StripeError::Client)?;
        Ok(Self { client, base: Arc::from(base) })
    }

    /// Sends a request once and reads the whole response, or returns the cause of failure in one word.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Answer, &'static str> {
        let began = Instant::now();
        let exchange = match self.request(call) {
            Ok(request) => exchange(request).await,
            Err(why) => Err((why, None)),
        };
        let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (method, path) = (call.method().as_str().to_owned(), call.path);
        match exchange {
            Ok((answer, request_id)) => {
                let (status, replayed, should_retry) = (answer.status, answer.replayed, answer.should_retry);
                tracing::info!(method, path, status, request_id, replayed, should_retry, elapsed_ms, "stripe");
                Ok(answer)
            }
            Err((why, status)) => {
                tracing::warn!(method, path, status, why, elapsed_ms, "stripe did not answer");
                Err(why)
            }
        }
    }

    fn request(&self, call: &Call<'_>) -> Result<RequestBuilder, &'static str> {
        let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
        if !call.path.starts_with('/') {
            return Err("bad_path");
        }
        let url = Url::parse(&format!("{}{}{query}", self.base, call.path)).map_err(|_| "bad_path")?;
        let mut request = self.client.request(call.method(), url);
        if let Some(account) = call.account {
            request = request.header(ACCOUNT_HEADER, HeaderValue::from_str(account).map_err(|_| "bad_account")?);
        }
        if let Some((key, form)) = call.post {
            request = request
                .header(KEY_HEADER, HeaderValue::from_str(key.as_str()).map_err(|_| "bad_key")?)
                .header(CONTENT_TYPE, FORM)
                .body(form.to_owned());
        }
        Ok(request)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Call<'_> {
    fn method(&self) -> Method {
        if self.post.is_some() { Method::POST } else { Method::GET }
    }
}

/// Returns the response with Stripe's request id, or the cause of failure with the status if one arrived.
async fn exchange(request: RequestBuilder) -> Result<(Answer, Option<String>), (&'static str, Option<u16>)> {
    let mut response = request.send().await.map_err(|error| (why(&error), None))?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| (why(&error), Some(status)))? {
        if body.len().saturating_add(chunk.len()) > BODY_BYTES_MAX {
            return Err(("too_large", Some(status)));
        }
        body.extend_from_slice(&chunk);
    }
    let should_retry = match header(&response, RETRY_HEADER) {
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) | None => None,
    };
    let replayed = header(&response, REPLAYED_HEADER) == Some("true");
    let request_id = header(&response, REQUEST_ID_HEADER).map(str::to_owned);
    Ok((Answer { status, replayed, should_retry, body }, request_id))
}

fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

/// Returns the cause in one word. The error's text would contain the URL.
fn why(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "connect"
    } else if error.is_body() || error.is_decode() {
        "cut_short"
    } else {
        "connection"
    }
}

/// Whether the API key may be sent to this URL.
fn is_safe(base: &str) -> bool {
    let Ok(url) = Url::parse(base) else {
        return false;
    };
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let host = url.host_str().unwrap_or_default();
    let safe = match url.scheme() {
        "https" => !host.is_empty(),
        "http" => matches!(host, "127.0.0.1" | "localhost" | "[::1]"),
        _ => false,
    };
    plain && url.fragment().is_none() && safe
}
