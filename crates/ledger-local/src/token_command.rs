//! `token`: signs a person in by the authorization code flow with PKCE and a redirect to this machine (RFC 8252), and
//! returns the access token. The same flow serves the local stack and a deployed issuer.

use crate::sign_in::{DISCOVERY, SHELL_CALLBACK, secret};
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Html;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Args, ValueEnum};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// The port of [`SHELL_CALLBACK`].
const CALLBACK_PORT: u16 = 8976;
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How long the command waits for the person.
const SIGN_IN_WITHIN: Duration = Duration::from_secs(5 * 60);
const FORM: &str = "application/x-www-form-urlencoded";

/// The API that a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TokenApi {
    /// The customer API.
    Customer,
    /// The merchant API.
    Merchant,
    /// The operator API.
    Admin,
}

impl TokenApi {
    fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Merchant => "merchant",
            Self::Admin => "admin",
        }
    }
}

/// The arguments of `token`.
#[derive(Debug, Clone, Args)]
pub struct TokenArgs {
    /// API that the token is for.
    #[arg(long)]
    pub api: TokenApi,
    /// URL of the issuer: the stack's own, or the output IssuerUrl of a deployed stack.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3000")]
    pub issuer: String,
    /// Id of the API's client at a deployed issuer, such as the output AdminClientId (default: the name of the API).
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// Sign this person in at the local stack, without a browser.
    #[arg(long = "as", value_name = "ID")]
    pub person: Option<String>,
    /// Tenant of that person.
    #[arg(long, value_name = "SLUG", default_value = "demo", requires = "person")]
    pub tenant: String,
    /// Merchant that the person works for, with --api merchant.
    #[arg(long, value_name = "ID", requires = "person")]
    pub merchant: Option<String>,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenCommandError {
    /// The issuer is no URL, or not one that may be used.
    #[error("{0} is not an issuer's URL: use https://, or http:// on this machine")]
    Issuer(String),
    /// `--as` with an issuer elsewhere.
    #[error("--as works with the local stack only: leave it out, and sign in with a browser")]
    NotLocal,
    /// There was no answer.
    #[error("no answer from {url}: {cause}")]
    NoAnswer {
        /// The URL that was called.
        url: String,
        /// What went wrong.
        cause: String,
    },
    /// The issuer's answer is not what OpenID Connect says.
    #[error("{0}")]
    Unusable(String),
    /// The issuer refused.
    #[error("the sign-in was refused: {0}")]
    Refused(String),
    /// The port of the redirect is taken.
    #[error("port 8976 cannot be used: {0}; another `token` command may be waiting for its sign-in")]
    Port(#[source] std::io::Error),
    /// The person did not sign in.
    #[error("no sign-in within five minutes: run the command again")]
    TimedOut,
    /// The system provides no randomness.
    #[error("the system provides no randomness: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// A discovery document.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
}

/// The endpoints of an issuer.
struct Endpoints {
    authorization: Url,
    token: Url,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
}

#[derive(Deserialize)]
struct Denial {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// Signs a person in, and returns the access token.
///
/// # Errors
/// [`TokenCommandError`], whose text says what to do.
pub async fn run(args: &TokenArgs, tell: impl Fn(&str)) -> Result<String, TokenCommandError> {
    let issuer = args.issuer.trim_end_matches('/');
    let is_local = is_local(&usable(issuer)?);
    if args.person.is_some() && !is_local {
        return Err(TokenCommandError::NotLocal);
    }
    // The redirect of a sign-in is read, not followed.
    let http = Client::builder().timeout(ANSWER_WITHIN).redirect(Policy::none()).build();
    let http = http.map_err(|error| no_answer(issuer, &error))?;
    let endpoints = discover(&http, issuer).await?;
    let client_id = args.client_id.as_deref().unwrap_or_else(|| args.api.name());
    let (verifier, state) = (secret()?, secret()?);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let mut url = endpoints.authorization.clone();
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", SHELL_CALLBACK),
        ("scope", "openid"),
        ("state", &state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    let query = match &args.person {
        Some(person) => sign_in(&http, &endpoints, &url, person, args).await?,
        None => wait_for_browser(&url, tell).await?,
    };
    let code = code_of(&query, &state)?;
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("redirect_uri", SHELL_CALLBACK),
        ("code", &code),
        ("code_verifier", &verifier),
    ];
    let answer = post(&http, &endpoints.token, &form).await?;
    let is_good = answer.status() == StatusCode::OK;
    let text = answer.text().await.map_err(|error| no_answer(&endpoints.token, &error))?;
    if is_good {
        let tokens: Tokens = serde_json::from_str(&text).map_err(|_| unusable("the issuer's answer has no token"))?;
        return Ok(tokens.access_token);
    }
    let denial: Denial = serde_json::from_str(&text).map_err(|_| unusable("the issuer's refusal cannot be read"))?;
    Err(TokenCommandError::Refused(format!("{} {}", denial.error, denial.error_description).trim().to_owned()))
}

/// An issuer's URL: a code must not travel in the clear, except on this machine.
fn usable(issuer: &str) -> Result<Url, TokenCommandError> {
    let url =
        Url::parse(issuer).ok().filter(|url| url.scheme() == "https" || (url.scheme() == "http" && is_local(url)));
    url.ok_or_else(|| TokenCommandError::Issuer(issuer.to_owned()))
}

fn is_local(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}

async fn discover(http: &Client, issuer: &str) -> Result<Endpoints, TokenCommandError> {
    let url = format!("{issuer}{DISCOVERY}");
    let answer = http.get(&url).send().await.map_err(|error| no_answer(&url, &error))?;
    if answer.status() != StatusCode::OK {
        return Err(unusable(&format!("{url} answered {}: is it an issuer's URL?", answer.status())));
    }
    let text = answer.text().await.map_err(|error| no_answer(&url, &error))?;
    let found: Document =
        serde_json::from_str(&text).map_err(|_| unusable(&format!("{url} is no discovery document")))?;
    if found.issuer != issuer {
        return Err(unusable(&format!("{url} names another issuer, {}: use that URL", found.issuer)));
    }
    Ok(Endpoints { authorization: usable(&found.authorization_endpoint)?, token: usable(&found.token_endpoint)? })
}

/// Sends the local stack's form, and returns the query string of the redirect.
async fn sign_in(
    http: &Client,
    endpoints: &Endpoints,
    url: &Url,
    person: &str,
    args: &TokenArgs,
) -> Result<String, TokenCommandError> {
    let request = url.query().unwrap_or_default();
    let mut form = vec![("request", request), ("tenant", &args.tenant), ("sub", person)];
    form.extend(args.merchant.as_deref().map(|merchant| ("merchant_id", merchant)));
    let answer = post(http, &endpoints.authorization, &form).await?;
    let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let query = location.and_then(|location| location.strip_prefix(SHELL_CALLBACK)?.strip_prefix('?'));
    query.map(str::to_owned).ok_or_else(|| {
        let merchant = if args.api == TokenApi::Merchant { ", --merchant" } else { "" };
        unusable(&format!("the local stack did not sign the person in: are --as{merchant} and --tenant right?"))
    })
}

/// Prints the URL, and waits for the redirect to this machine.
async fn wait_for_browser(url: &Url, tell: impl Fn(&str)) -> Result<String, TokenCommandError> {
    let (sender, mut received) = mpsc::channel(1);
    let callback = Router::new().route("/callback", get(redirected)).with_state(sender);
    // A browser takes either address for `localhost`.
    let bound = bind(IpAddr::V4(Ipv4Addr::LOCALHOST)).await.map_err(TokenCommandError::Port)?;
    let mut servers = tokio::task::JoinSet::new();
    servers.spawn(axum::serve(bound, callback.clone()).into_future());
    if let Ok(bound) = bind(IpAddr::V6(Ipv6Addr::LOCALHOST)).await {
        servers.spawn(axum::serve(bound, callback).into_future());
    }
    tell(&format!("open this URL in a browser of this machine, and sign in:\n\n{url}\n"));
    let query = tokio::time::timeout(SIGN_IN_WITHIN, received.recv()).await;
    // The browser still reads its page.
    tokio::time::sleep(Duration::from_millis(200)).await;
    query.ok().flatten().ok_or(TokenCommandError::TimedOut)
}

async fn bind(address: IpAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::new(address, CALLBACK_PORT)).await
}

async fn redirected(State(sender): State<mpsc::Sender<String>>, RawQuery(query): RawQuery) -> Html<&'static str> {
    // A second redirect is not waited for.
    let _ = sender.try_send(query.unwrap_or_default());
    Html(
        "<!doctype html><meta charset=\"utf-8\"><title>EcoPay Ledger</title><p>Return to the shell and close this page.",
    )
}

/// The code of a redirect that answers the request with this state.
fn code_of(query: &str, state: &str) -> Result<String, TokenCommandError> {
    let parameters: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    if parameters.get("state").map(String::as_str) != Some(state) {
        return Err(unusable("the redirect belongs to another sign-in: run the command again"));
    }
    if let Some(error) = parameters.get("error") {
        let why = parameters.get("error_description").map(String::as_str).unwrap_or_default();
        return Err(TokenCommandError::Refused(format!("{error} {why}").trim().to_owned()));
    }
    parameters.get("code").cloned().ok_or_else(|| unusable("the redirect has no code"))
}

async fn post(http: &Client, url: &Url, form: &[(&str, &str)]) -> Result<Response, TokenCommandError> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = http.post(url.clone()).header(CONTENT_TYPE, FORM).body(body);
    request.send().await.map_err(|error| no_answer(url, &error))
}

/// The innermost cause. The text of the error itself repeats the URL.
fn no_answer(url: impl Display, error: &dyn std::error::Error) -> TokenCommandError {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    TokenCommandError::NoAnswer { url: url.to_string(), cause: cause.to_string() }
}

fn unusable(why: &str) -> TokenCommandError {
    TokenCommandError::Unusable(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issuer::Api;
    use crate::stack::{Stack, StackConfig};

    fn args(stack: &Stack, api: TokenApi) -> TokenArgs {
        let merchant = (api == TokenApi::Merchant).then(|| stack.demo().merchants[0].clone());
        let person = match api {
            TokenApi::Customer => stack.demo().customers[0].as_str(),
            TokenApi::Merchant => stack.demo().shop_owner(),
            TokenApi::Admin => stack.demo().staff[0].as_str(),
        };
        let person = Some(person.to_owned());
        TokenArgs { api, issuer: stack.url(), client_id: None, person, tenant: "demo".to_owned(), merchant }
    }

    #[tokio::test]
    async fn token_of_each_api_is_accepted_by_it_alone() {
        let stack = Stack::start(StackConfig::in_memory()).await.unwrap();
        let http = Client::new();
        let paths = ["/v1/me/balances", "/v1/merchant", "/v1/admin/attention"];
        for (at, api) in [TokenApi::Customer, TokenApi::Merchant, TokenApi::Admin].into_iter().enumerate() {
            let token = run(&args(&stack, api), |line| panic!("{line}")).await.unwrap();
            assert_eq!(stack.issuer().verify_for(Api::ALL[at], &token).unwrap()["client_id"], api.name());
            for (of, path) in paths.iter().enumerate() {
                let answer = http.get(format!("{}{path}", stack.url())).bearer_auth(&token).send().await.unwrap();
                assert_eq!(answer.status(), if of == at { 200 } else { 401 }, "{api:?} at {path}");
            }
        }
        for (wrong, named) in [
            (TokenArgs { person: Some("me".to_owned()), ..args(&stack, TokenApi::Admin) }, "--as"),
            (TokenArgs { merchant: None, ..args(&stack, TokenApi::Merchant) }, "--merchant"),
            (TokenArgs { client_id: Some("other".to_owned()), ..args(&stack, TokenApi::Admin) }, "--as"),
            (TokenArgs { issuer: format!("{}/else", stack.url()), ..args(&stack, TokenApi::Admin) }, "404"),
            (
                TokenArgs { issuer: stack.url().replace("127.0.0.1", "localhost"), ..args(&stack, TokenApi::Admin) },
                "another issuer",
            ),
            (TokenArgs { issuer: "http://issuer.example".to_owned(), ..args(&stack, TokenApi::Admin) }, "https"),
            (TokenArgs { issuer: "https://issuer.example".to_owned(), ..args(&stack, TokenApi::Admin) }, "browser"),
        ] {
            let error = run(&wrong, |_| {}).await.unwrap_err().to_string();
            assert!(error.contains(named), "{named}: {error}");
        }
        stack.stop().await;
    }

    #[test]
    fn redirect_of_another_sign_in_or_with_an_error_gives_no_code() {
        assert_eq!(code_of("code=c&state=s", "s").unwrap(), "c");
        for (query, named) in [
            ("code=c&state=t", "another sign-in"),
            ("code=c", "another sign-in"),
            ("state=s", "no code"),
            ("error=access_denied&error_description=cancelled&state=s", "access_denied cancelled"),
        ] {
            let error = code_of(query, "s").unwrap_err().to_string();
            assert!(error.contains(named), "{query}: {error}");
        }
    }
}
