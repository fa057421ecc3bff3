//! A request's path in the form in which an HTTP API and `lambda_http` pass it to a function: decoded twice and cut in
//! between, so that several paths of a client become the same.
//!
//! | sent | `rawPath` of the event |
//! |---|---|
//! | `/a%20b`, `/a%23b` | `/a b`, `/a#b` |
//! | `/a%2Fb`, `/a%252Fb` | `/a/b`: decoded twice |
//! | `/a%3Fb` | `/a`: cut at what the first decoding shows as `?` |
//! | `/a%253Fb` | `/a?b` |
//! | `/a%25b` | 400: the second decoding meets a malformed escape |
//!
//! From captures of live events that were published with `hotsock/voker`, `vokerhttp/testdata/ingress-paths.json`. The
//! query string is passed on as sent.

use crate::problem::api_gateway;
use axum::extract::{OriginalUri, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{StatusCode, Uri};
use percent_encoding::percent_decode_str;
use reqwest::Url;

const OF_FUNCTIONS: &str = "/v1/";
/// `lambda_http` parses the path as the path of a URL.
const ANY_ORIGIN: &str = "http://localhost";

/// Rewrites the path of a request to a function, before it is matched to a route.
pub(super) async fn rewrite_path(mut request: Request, next: Next) -> Response {
    let sent = request.uri();
    if sent.path().starts_with(OF_FUNCTIONS) {
        let Some(uri) = raw_path(sent.path()).and_then(|raw| function_uri(&raw, sent.query())) else {
            return api_gateway(StatusCode::BAD_REQUEST, "Bad Request");
        };
        request.extensions_mut().insert(OriginalUri(uri.clone()));
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

/// The event's `rawPath`; `None` if API Gateway refuses the path.
fn raw_path(sent: &str) -> Option<String> {
    let once = decoded(sent)?;
    let cut = once.split_once('?').map_or(once.as_str(), |(path, _)| path);
    decoded(cut)
}

/// The URI that `lambda_http` makes of `rawPath` and the query string.
fn function_uri(raw: &str, query: Option<&str>) -> Option<Uri> {
    let url = Url::parse(&format!("{ANY_ORIGIN}{raw}")).ok()?;
    let mut text = url.as_str().strip_prefix(ANY_ORIGIN)?.to_owned();
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        text.push('?');
        text.push_str(query);
    }
    text.parse().ok()
}

/// Decoded once; `None` for a malformed escape.
fn decoded(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let is_well_formed = text.split('%').skip(1).all(is_escape);
    is_well_formed.then(|| percent_decode_str(text).decode_utf8().ok().map(String::from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_becomes_what_was_captured_of_live_events() {
        for (sent, raw) in [
            ("/capture/plain", Some("/capture/plain")),
            ("/capture/space%20value", Some("/capture/space value")),
            ("/capture/question%3Fvalue", Some("/capture/question")),
            ("/capture/percent%25done", None),
            ("/capture/hash%23value", Some("/capture/hash#value")),
            ("/capture/slash%2Fvalue", Some("/capture/slash/value")),
            ("/capture/literal%252Fvalue", Some("/capture/literal/value")),
            ("/capture/literal%253Fvalue", Some("/capture/literal?value")),
            ("/capture/literal%2525value", Some("/capture/literal%value")),
        ] {
            assert_eq!(raw_path(sent).as_deref(), raw, "{sent}");
        }
    }

    #[test]
    fn function_sees_the_path_as_lambda_http_parses_it() {
        for (raw, query, uri) in [
            ("/v1/x/a b", None, "/v1/x/a%20b"),
            ("/v1/x/a#b", Some("c=%2F"), "/v1/x/a"),
            ("/v1/x/a?b", Some("c=d"), "/v1/x/a?b?c=d"),
            ("/v1/x/a%2Fb", None, "/v1/x/a%2Fb"),
            ("/v1/x/../y", Some("c=%2F"), "/v1/y?c=%2F"),
        ] {
            assert_eq!(function_uri(raw, query).map(|uri| uri.to_string()).as_deref(), Some(uri), "{raw}");
        }
    }
}
