//! The OpenAPI document: the operations that the functions declare, and the parts that they share.

mod components;
mod examples;
mod formats;
mod schemas;

use ledger_runtime::endpoint::Declarations;
use serde_json::{Value, json};
use utoipa::openapi::{Info, OpenApi, Paths};

const TITLE: &str = "EcoPay Ledger";
const ABOUT: &str = "\
Amounts are decimal strings, times RFC 3339 in UTC, ids UUIDs. A response omits absent fields; a field is never `null`.

**Keys.** A request that changes something carries an `Idempotency-Key`. A retry with the same key gets the stored \
response, with the header `Idempotent-Replayed: true`. Keys are honoured for 90 days, or 24 hours where the payment \
provider is called.

**Errors** are RFC 9457 problem documents with a stable `code`; each operation states its closed list for each status. \
A path that does not exist is answered 404 `not_found`, a method that the path does not have 405 `method_not_allowed` \
with `Allow`, both as problem documents. A client reads `code`, and `status` if the code is unknown to it.

**Responses of API Gateway.** In a deployment, an HTTP API of Amazon API Gateway is in front of the functions. The \
format of its own refusals is fixed: they are `application/json` with `{\"message\": ...}` and no `code`. These are \
401 for a missing or invalid token, 400 for a path that cannot be read, 404 for a path or method that does not exist, \
413 above 10 MB, 429 above the API's own throttle, and 500 and 503 if no function responded. They carry their request \
id in `Apigw-Requestid`. The local stack answers 401 and 404 with problem documents.

**Request ids.** Every response of a function has `Request-Id`: the id under which the request is logged.

**Terminals** sign their requests (RFC 9421, ECDSA P-256) instead of sending a token: see `docs/terminals.md`.";
/// The URL at which `cargo run` serves the API.
const LOCAL_URL: &str = "http://127.0.0.1:3000";

/// The complete document of the declared endpoints. Its members are sorted by name, so that equal documents are equal texts.
#[must_use]
pub fn complete(declarations: &Declarations) -> Value {
    let base = OpenApi::new(Info::new(TITLE, env!("CARGO_PKG_VERSION")), Paths::new());
    // Plain structs and maps always serialize.
    let mut document = serde_json::to_value(declarations.document(base)).unwrap_or_default();
    let mut schemas = document.pointer_mut("/components/schemas").map(Value::take).unwrap_or_default();
    schemas::replace_inline_items(&mut schemas);
    formats::apply(&mut schemas);
    components::merge(&mut schemas, components::schemas());
    let shared = json!({
        "info": info(),
        "servers": servers(),
        "tags": tags(),
        "security": [{"bearer": []}],
        "components": {
            "schemas": schemas,
            "headers": components::headers(),
            "responses": components::responses(),
            "securitySchemes": components::security_schemes(),
        },
    });
    components::merge(&mut document, shared.as_object().cloned().unwrap_or_default());
    schemas::drop_null_of_answers(&mut document);
    examples::add(&mut document);
    document
}

fn info() -> Value {
    json!({
        "title": TITLE,
        "version": env!("CARGO_PKG_VERSION"),
        "description": ABOUT,
        "contact": {"name": TITLE, "url": "https://ecopay.example"},
        "license": {"name": "Apache License 2.0", "identifier": env!("CARGO_PKG_LICENSE")},
    })
}

fn servers() -> Value {
    json!([
        {"url": LOCAL_URL, "description": "The local stack: `cargo run`."},
        {
            "url": "https://{api}.execute-api.{region}.amazonaws.com",
            "description": "A deployed stack.",
            "variables": {
                "api": {"default": "api-id", "description": "The id of the stack's HTTP API."},
                "region": {"default": "ap-northeast-1", "description": "The stack's Region."},
            },
        },
    ])
}

fn tags() -> Value {
    json!([
        {"name": "customer", "description": "The customer API: wallet, payments, transfers, top-ups, own cards."},
        {"name": "merchant", "description": "The merchant API: charges, captures, refunds, balances, settlements."},
        {"name": "admin", "description": "The operator API: every change is on the audit trail."},
        {"name": "terminal", "description": "The terminal API: card operations, signed by the terminal."},
        {"name": "stripe", "description": "The webhook that Stripe calls."},
    ])
}

#[cfg(test)]
mod tests;
