//! The page on which a developer types who signs in.

use super::error::uncached;
use crate::demo::Demo;
use crate::issuer::Api;
use crate::problem::answer;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

/// The page may not be framed, loads nothing, and names itself as the origin of its form.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

/// What the page shows.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The client that asks.
    pub(super) client: Api,
    /// The query string of the request, which the form sends back.
    pub(super) request: &'a str,
    /// The person's id that is filled in.
    pub(super) sub: Option<&'a str>,
    /// What was wrong with the form that was sent.
    pub(super) complaint: Option<&'static str>,
}

/// The form.
pub(super) fn form(page: &Page<'_>, demo: &Demo) -> Response {
    let first = |ids: &'_ [String]| ids.first().cloned().unwrap_or_default();
    let (known, merchant) = match page.client {
        Api::Customer => (first(&demo.customers), None),
        Api::Merchant => (demo.shop_owner().to_owned(), Some(first(&demo.merchants))),
        Api::Admin => (first(&demo.staff), None),
    };
    let merchant = merchant.map(|id| field("merchant_id", "Merchant's id", &id, "required")).unwrap_or_default();
    let complaint = page.complaint.map(|text| format!("<p role=\"alert\">{}</p>", escaped(text))).unwrap_or_default();
    let body = format!(
        "{complaint}<form method=\"post\"><input type=\"hidden\" name=\"request\" value=\"{}\">{}{}{merchant}{}\
         <button>Sign in</button> <button name=\"decision\" value=\"cancel\" formnovalidate>Cancel</button></form>\
         <p>The local stack asks for no password. <a href=\"/dev/demo\">/dev/demo</a> lists the demo's people.</p>",
        escaped(page.request),
        field("tenant", "Tenant", &demo.tenant, "required"),
        field("sub", "Person's id", page.sub.unwrap_or(&known), "required"),
        field("email", "E-mail address (optional)", "", ""),
    );
    let title = format!("Sign in to the {} API", page.client.name());
    let status = if page.complaint.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    html(status, &title, &body)
}

/// A page with a title and one sentence.
pub(super) fn message(status: StatusCode, title: &str, text: &str) -> Response {
    html(status, title, &format!("<p>{}</p>", escaped(text)))
}

fn field(name: &str, label: &str, value: &str, attribute: &str) -> String {
    format!(
        "<p><label>{label}<br><input name=\"{name}\" value=\"{}\" size=\"40\" {attribute}></label></p>",
        escaped(value)
    )
}

fn html(status: StatusCode, title: &str, body: &str) -> Response {
    let title = escaped(title);
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font-family:sans-serif;max-width:32rem;margin:3rem auto}}</style><h1>{title}</h1>{body}</html>"
    );
    let mut response = uncached(answer(status, "text/html; charset=utf-8", text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_of_a_request_cannot_become_markup() {
        let page =
            Page { client: Api::Merchant, request: "state=\"><script>'&", sub: Some("\"><b>"), complaint: Some("<i>") };
        let response = form(&page, &Demo::fixed());
        assert_eq!(response.status(), 400);
        assert!(response.headers()["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("state=&quot;&gt;&lt;script&gt;&#39;&amp;") && body.contains("merchant_id"), "{body}");
        assert!(!body.contains("<script>") && !body.contains("<b>") && !body.contains("<i>"), "{body}");
    }
}
