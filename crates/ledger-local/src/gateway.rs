//! One port in front of the functions that behaves as API Gateway does: it verifies the JWT and passes the claims on in
//! the request's extensions.
//!
//! INVARIANT: only the gateway sets the claims.

mod path;

use crate::demo::Demo;
use crate::issuer::{Api, Claims, Issuer};
mod cors;

pub use cors::{CORS, Cors};

use crate::problem::{api_gateway, of_api, problem};
use crate::sign_in::{self, Provider};
use crate::{dev, local_only};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request};
use ledger_runtime::endpoint::Declarations;
use ledger_runtime::gateway::{FACE, GatewayContext};
use ledger_runtime::logging::REQUEST_ID;
use ledger_runtime::problem::Code;
use ledger_runtime::pseudonym::SourceAddress;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// API Gateway's largest body, in bytes. The functions' own limit is lower.
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Routes without a JWT: they authenticate callers by signatures.
const UNAUTHORIZED_PREFIXES: [&str; 2] = ["/v1/terminal/", "/v1/webhooks/"];
/// The path prefix of routes that only the local stack has.
const CONTROLS: &str = "/dev/";
const BEARER: &str = "bearer ";
const NO_TOKEN: &str = "Bearer";
const BAD_TOKEN: &str = "Bearer error=\"invalid_token\" error_description=\"the token is not valid\"";

/// The parts that the gateway serves.
pub struct Parts {
    /// The functions' routes.
    pub faces: Router,
    /// The declarations of the functions' endpoints.
    pub declarations: Declarations,
    /// Signs and verifies tokens.
    pub issuer: Arc<Issuer>,
    /// The demo data's ids.
    pub demo: Demo,
    /// Redirect URIs of the issuer's clients, beside the `token` command's.
    pub callbacks: Vec<String>,
}

#[derive(Debug)]
struct Gateway {
    issuer: Arc<Issuer>,
    /// The methods of each declared path.
    methods: BTreeMap<String, BTreeSet<&'static str>>,
}

/// The id that the gateway gave to a request.
#[derive(Clone, Debug)]
struct GivenId(String);

/// The whole application: the functions behind the authorizer, and the local stack's own pages.
pub fn router(parts: Parts) -> Router {
    router_with(parts, Router::new())
}

/// The whole application with other routes of the local stack, such as Stripe's simulator.
pub fn router_with(parts: Parts, beside: Router) -> Router {
    let Parts { faces, declarations, issuer, demo, callbacks } = parts;
    let provider = Arc::new(Provider::new(Arc::clone(&issuer), demo.clone(), callbacks));
    let mut methods = BTreeMap::<String, BTreeSet<&'static str>>::new();
    for (method, path) in declarations.iter() {
        methods.entry(path.to_owned()).or_default().insert(method);
    }
    let gateway = Arc::new(Gateway { issuer: Arc::clone(&issuer), methods });
    let routes = faces
        .merge(dev::router(issuer, &demo, declarations))
        .merge(sign_in::router(provider))
        .merge(beside)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(gateway, pass));
    // Routes are matched by the path in the form in which a function receives it.
    Router::new()
        .fallback_service(routes)
        .layer(middleware::from_fn(path::rewrite_path))
        .layer(middleware::from_fn(named))
}

/// Gives each request an id, and names it in the response.
async fn named(mut request: Request, next: Next) -> Response {
    let id = request_id();
    request.extensions_mut().insert(GivenId(id.clone()));
    let mut response = next.run(request).await;
    if let Ok(id) = HeaderValue::try_from(id) {
        // The functions set the header from the context; Stripe's simulator has its own ids.
        response.headers_mut().entry(REQUEST_ID).or_insert(id);
    }
    response
}

/// Authorizes a request, after it was matched to a path and before its handler.
async fn pass(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Some(answered) = cors::preflight(&parts) {
        return answered;
    }
    let origin = cors::allowed(&parts.headers);
    // INVARIANT: only the gateway sets the claims.
    parts.extensions.remove::<GatewayContext>();
    if let Err(refusal) = only_deliberate(&parts) {
        return cors::share(origin, *refusal);
    }
    cors::share(origin, gateway.passed(parts, body, next).await)
}

/// Refuses requests to the stack's own controls that a page can make a browser send without the user's knowledge:
/// forms, and requests without a preflight.
fn only_deliberate(parts: &request::Parts) -> Result<(), Box<Response>> {
    if !parts.uri.path().starts_with(CONTROLS) || parts.method.is_safe() {
        return Ok(());
    }
    if local_only::is_foreign(&parts.headers) {
        return Err(Box::new(local_only::foreign()));
    }
    if parts.method == Method::POST && !is_json(&parts.headers) {
        let detail = "send Content-Type: application/json, also where there is no body";
        return Err(Box::new(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)));
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().map(|value| value.to_str().unwrap_or_default());
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    only.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

impl Gateway {
    /// The answer to a request that is not a CORS preflight.
    async fn passed(&self, mut parts: request::Parts, body: Body, next: Next) -> Response {
        let matched = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned());
        if let Some(route) = matched.filter(|route| route.starts_with("/v1/")) {
            if let Some(allowed) = self.other_methods(&route, &parts.method) {
                return with_header(method_not_allowed().await, header::ALLOW, &allowed);
            }
            let claims = if UNAUTHORIZED_PREFIXES.iter().any(|prefix| route.starts_with(prefix)) {
                None
            } else {
                match self.authorize(Api::of_route(&route), &parts.headers) {
                    Ok(claims) => Some(claims),
                    Err(challenge) => return unauthorized(challenge),
                }
            };
            let request_id = parts.extensions.get::<GivenId>().map(|GivenId(id)| id.clone());
            let connection = parts.extensions.get::<ConnectInfo<SocketAddr>>();
            let peer = connection.map(|ConnectInfo(address)| SourceAddress::new(address.ip()));
            parts.extensions.insert(GatewayContext { request_id, peer, claims });
        }

        // API Gateway calls a function with the complete body, or not at all.
        match axum::body::to_bytes(body, BODY_BYTES_MAX).await {
            Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
            Err(_) => api_gateway(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
        }
    }

    /// The `Allow` header, if a documented path does not have the method.
    ///
    /// Checked before the token: API Gateway runs no authorizer where it has no route.
    fn other_methods(&self, route: &str, method: &Method) -> Option<String> {
        let methods = self.methods.get(route)?;
        let known = methods.contains(method.as_str()) || (method == Method::HEAD && methods.contains("GET"));
        (!known).then(|| methods.iter().copied().collect::<Vec<_>>().join(","))
    }

    /// The claims of a token that was issued to the client of this API, with the API, or the challenge of a 401.
    fn authorize(&self, api: Api, headers: &HeaderMap) -> Result<Claims, &'static str> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let token = match (values.next().map(HeaderValue::to_str), values.next()) {
            (Some(Ok(value)), None) => bearer_token(value),
            (Some(Ok(_) | Err(_)) | None, _) => None,
        };
        let verified = self.issuer.verify_for(api, token.ok_or(NO_TOKEN)?);
        let mut claims = verified.map_err(|error| {
            tracing::debug!(%error, "request refused");
            BAD_TOKEN
        })?;
        claims.insert(FACE.to_owned(), api.name().to_owned());
        Ok(claims)
    }
}

fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_at_checked(BEARER.len())?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case(BEARER) && !token.is_empty())
}

/// A 401 as a problem document. API Gateway's own form differs and cannot be changed.
fn unauthorized(challenge: &str) -> Response {
    let detail = "Send a valid token of this service in the Authorization header.";
    with_header(of_api(Code::Unauthenticated, detail), header::WWW_AUTHENTICATE, challenge)
}

fn with_header(mut response: Response, name: header::HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// A random id in the form of API Gateway's, such as `JKJaXmPLvHcESHA=`.
fn request_id() -> String {
    let mut random = [0; 11];
    // The id only names the request in logs, so a failure is ignored: all ids are then equal.
    let _ = getrandom::fill(&mut random);
    STANDARD.encode(random)
}

async fn not_found() -> Response {
    of_api(Code::NotFound, "There is no such path: see /docs.")
}

async fn method_not_allowed() -> Response {
    of_api(Code::MethodNotAllowed, "The path does not have this method: see the Allow header.")
}

#[cfg(test)]
mod tests;
