//! Restricts a port of the local stack to programs of this machine and pages that it serves itself.
//!
//! A page of another site can make a browser send requests to 127.0.0.1: across sites, or under a host name that it
//! binds to that address after loading (DNS rebinding), where it can read the answers too.

use crate::problem::problem;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const CROSS_SITE: &str = "cross-site";
/// The port of a URL without one.
const HTTP_PORT: u16 = 80;

/// Refuses a request whose host is not the loopback with the port of the listener.
pub(crate) async fn refuse_other_hosts(State(port): State<u16>, request: Request, next: Next) -> Response {
    if !is_named(request.uri(), request.headers(), port) {
        let detail = format!("this port answers as 127.0.0.1:{port}, localhost:{port} and [::1]:{port} only");
        return problem(StatusCode::MISDIRECTED_REQUEST, "misdirected_request", &detail);
    }
    next.run(request).await
}

/// Whether all host names of a request are this port of the loopback.
fn is_named(uri: &Uri, headers: &HeaderMap, port: u16) -> bool {
    let mut names: Vec<&str> = uri.authority().map(Authority::as_str).into_iter().collect();
    for host in headers.get_all(header::HOST) {
        names.push(host.to_str().unwrap_or_default());
    }
    !names.is_empty() && names.iter().all(|name| is_own(name, port))
}

/// Refuses a request from a page of another site.
pub(crate) async fn refuse_other_sites(request: Request, next: Next) -> Response {
    if is_foreign(request.headers()) { foreign() } else { next.run(request).await }
}

/// Whether the request comes from a page that this machine does not serve.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let across =
        headers.get_all(SEC_FETCH_SITE).iter().any(|site| site.as_bytes().eq_ignore_ascii_case(CROSS_SITE.as_bytes()));
    across || origins.any(|origin| !is_local_origin(origin))
}

/// The refusal of a request from another site's page.
pub(crate) fn foreign() -> Response {
    let detail =
        "a page of another site must not call this port: open it as 127.0.0.1, localhost or [::1] of this machine";
    problem(StatusCode::FORBIDDEN, "foreign_origin", detail)
}

/// Whether an origin is a page that this machine serves, at any port.
pub(crate) fn is_local_origin(origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let authority = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    authority.is_some_and(|authority| is_loopback(split(authority).0))
}

/// Whether an authority is this port of the loopback.
fn is_own(authority: &str, port: u16) -> bool {
    let (name, given) = split(authority);
    is_loopback(name) && given.map_or(port == HTTP_PORT, |given| given == port.to_string())
}

fn is_loopback(name: &str) -> bool {
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Splits an authority into name and port. Colons in brackets belong to an IPv6 address.
fn split(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        Some(_) | None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware;
    use axum::routing::get;
    use tower::ServiceExt;

    #[test]
    fn own_authorities_are_the_three_names_with_the_port() {
        for own in ["127.0.0.1:3000", "localhost:3000", "LOCALHOST:3000", "[::1]:3000"] {
            assert!(is_own(own, 3000), "{own}");
        }
        let others = [
            "evil.example:3000",
            "localhost",
            "localhost:3001",
            "localhost:03000",
            "localhost:+3000",
            "localhost.evil.example:3000",
            "localhost.:3000",
            "127.0.0.1.nip.io:3000",
            "127.0.0.2:3000",
            "0.0.0.0:3000",
            "::1:3000",
            "[::1]",
            "[::1]:3000:3000",
            "user@localhost:3000",
            "",
            ":3000",
        ];
        for other in others {
            assert!(!is_own(other, 3000), "{other}");
        }
        assert!(is_own("localhost", 80) && is_own("[::1]", 80));
    }

    #[tokio::test]
    async fn host_of_another_name_is_misdirected() {
        let app = Router::new()
            .route("/", get(async || "ok"))
            .layer(middleware::from_fn_with_state(3000_u16, refuse_other_hosts));
        let status = async |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status().as_u16()
        };
        assert_eq!(status("/", &["localhost:3000"]).await, 200);
        assert_eq!(status("http://localhost:3000/", &["localhost:3000"]).await, 200);
        assert_eq!(status("/", &["evil.example:3000"]).await, 421);
        assert_eq!(status("/", &[]).await, 421);
        assert_eq!(status("/", &["localhost:3000", "evil.example:3000"]).await, 421);
        assert_eq!(status("http://evil.example:3000/", &["localhost:3000"]).await, 421);
    }

    #[test]
    fn only_requests_from_other_sites_pages_are_foreign() {
        let foreign = |name: &'static str, value: &'static str| {
            is_foreign(&HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]))
        };
        assert!(!is_foreign(&HeaderMap::new()));
        for own in ["http://localhost:3000", "http://127.0.0.1:5173", "https://[::1]:8443", "http://localhost"] {
            assert!(!foreign("origin", own), "{own}");
        }
        for other in ["http://evil.example", "https://localhost.evil.example", "null", "", "file://", "localhost:3000"]
        {
            assert!(foreign("origin", other), "{other}");
        }
        assert!(foreign("sec-fetch-site", "cross-site") && foreign("sec-fetch-site", "Cross-Site"));
        for own in ["same-origin", "same-site", "none"] {
            assert!(!foreign("sec-fetch-site", own), "{own}");
        }
    }
}
