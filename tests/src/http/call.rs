//! A request to an API that can be sent repeatedly, and the client that sends it. A terminal's request is signed anew
//! each time, as its firmware does.

use super::{Answer, contract};
use ledger_local::clock;
use ledger_local::credential::Credential;
use ledger_local::terminal_client::TerminalRequest;
use reqwest::{Method, Url};
use serde_json::Value;
use std::time::Duration;

const KEY_HEADER: &str = "idempotency-key";
/// How often a client repeats a request answered with 503 before it gives up.
const REPEATS: u32 = 60;
const REPEAT_PAUSE: Duration = Duration::from_millis(20);
/// Longer than API Gateway waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

/// The caller of a request.
#[derive(Clone, Debug)]
pub enum Who {
    /// A caller without credentials.
    Anonymous,
    /// The caller that the token names.
    Bearer(String),
    /// A terminal, which signs its requests.
    Terminal(Credential),
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Its path, with query.
    pub path: String,
    /// The caller.
    pub who: Who,
    /// The body as sent; it need not be JSON.
    pub body: Option<String>,
    /// Headers added to those that every client sends.
    pub headers: Vec<(String, String)>,
    /// The idempotency key; a terminal's signature covers it.
    pub key: Option<String>,
}

/// The API of a running stack.
#[derive(Clone, Debug)]
pub struct Api {
    base: String,
    http: reqwest::Client,
    keys_have_time: bool,
}

impl Call {
    /// A request without a body.
    #[must_use]
    pub fn new(method: Method, path: &str, who: &Who) -> Self {
        Self { method, path: path.to_owned(), who: who.clone(), body: None, headers: Vec::new(), key: None }
    }

    /// A POST with a JSON body.
    #[must_use]
    pub fn post(path: &str, who: &Who, body: &Value) -> Self {
        Self::new(Method::POST, path, who).json(body)
    }

    /// A PATCH with a JSON body.
    #[must_use]
    pub fn patch(path: &str, who: &Who, body: &Value) -> Self {
        Self::new(Method::PATCH, path, who).json(body)
    }

    /// A GET.
    #[must_use]
    pub fn get(path: &str, who: &Who) -> Self {
        Self::new(Method::GET, path, who)
    }

    /// Sets the body to this JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.raw(body.to_string())
    }

    /// Sets the body to this text.
    #[must_use]
    pub fn raw(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the idempotency key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Removes the idempotency key.
    #[must_use]
    pub fn keyless(mut self) -> Self {
        self.key = None;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets a field of the JSON body.
    ///
    /// # Panics
    /// When the body is no JSON object.
    #[must_use]
    pub fn field(self, name: &str, value: impl Into<Value>) -> Self {
        let mut body: Value = serde_json::from_str(self.body.as_deref().unwrap_or("{}")).expect("a JSON body");
        body[name] = value.into();
        self.json(&body)
    }

    /// Sets the caller.
    #[must_use]
    pub fn by(mut self, who: &Who) -> Self {
        self.who = who.clone();
        self
    }

    /// Sets the path.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }
}

impl Api {
    /// The API at `base`.
    #[must_use]
    pub fn new(base: &str) -> Self {
        let http = reqwest::Client::builder().timeout(REQUEST_TIMEOUT);
        // The stack has no TLS: parsing the root certificates takes longer than most tests.
        let http = http.tls_certs_only([]).build().expect("an HTTP client");
        Self { base: base.to_owned(), http, keys_have_time: true }
    }

    /// The same, but the keys of people do not show the system's time, for functions whose clock the test has set.
    #[must_use]
    pub fn with_untimed_keys(self) -> Self {
        Self { keys_have_time: false, ..self }
    }

    /// The base URL.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request once.
    pub async fn send(&self, call: &Call) -> Answer {
        self.try_send(call).await.unwrap_or_else(|error| panic!("no answer to {call:?}: {error:?}"))
    }

    /// Sends a request once, and returns the error if there is no whole response.
    ///
    /// # Errors
    /// When there is no whole response.
    pub async fn try_send(&self, call: &Call) -> Result<Answer, reqwest::Error> {
        self.exchange(call, &self.headers(call)).await
    }

    /// The headers that a call is sent with; a terminal's signature is dated now.
    #[must_use]
    pub fn headers(&self, call: &Call) -> Vec<(String, String)> {
        match &call.who {
            Who::Terminal(credential) => self.signed(call, credential, clock::epoch_s()),
            Who::Bearer(_) | Who::Anonymous => {
                let sent = |key: &String| if self.keys_have_time { key.clone() } else { untimed(key) };
                Call { key: call.key.as_ref().map(sent), ..call.clone() }.plain_headers()
            }
        }
    }

    /// Sends a request with these headers instead of the call's own.
    ///
    /// # Errors
    /// When there is no whole response.
    pub async fn exchange(&self, call: &Call, headers: &[(String, String)]) -> Result<Answer, reqwest::Error> {
        let mut request = self.http.request(call.method.clone(), self.url(&call.path));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        let answer = Answer { status, headers, body: text(&response.bytes().await?) };
        contract::check_exchange(&call.method, &call.path, call.body.as_deref(), &answer);
        Ok(answer)
    }

    /// Sends until the outcome is known: a 503 or a lost response is repeated with the same key.
    pub async fn settle(&self, call: &Call) -> Answer {
        for _ in 0..REPEATS {
            match self.try_send(call).await {
                Ok(answer) if answer.status != 503 => return answer,
                Ok(_) | Err(_) => tokio::time::sleep(REPEAT_PAUSE).await,
            }
        }
        panic!("no definite answer to {call:?}")
    }

    /// The headers of a terminal's request, signed at `created_s` (Unix seconds).
    #[must_use]
    pub fn signed(&self, call: &Call, credential: &Credential, created_s: i64) -> Vec<(String, String)> {
        let request = TerminalRequest {
            method: call.method.clone(),
            url: self.url(&call.path),
            body: call.body.clone(),
            idempotency_key: call.key.clone(),
        };
        let created_s = u64::try_from(created_s).expect("a time after 1970");
        let signed = request.sign(credential, created_s, None).expect("a P-256 key signs");
        let own = call.headers.iter().cloned();
        signed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(own).collect()
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.base)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

impl Call {
    fn plain_headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if let Who::Bearer(token) = &self.who {
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        let typed = self.headers.iter().any(|(name, _)| name == "content-type");
        if self.body.is_some() && !typed {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        headers.extend(self.key.iter().map(|key| (KEY_HEADER.to_owned(), key.clone())));
        headers.extend(self.headers.iter().cloned());
        headers
    }
}

/// A key that is no UUID, and so has no time: with a letter for each digit, of which many can be a card's number.
fn untimed(key: &str) -> String {
    let letter = |c: char| c.to_digit(10).and_then(|digit| char::from_digit(digit + 16, 36)).unwrap_or(c);
    key.chars().map(letter).collect()
}
