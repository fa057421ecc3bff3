//! Parts that operations share: headers, problem documents, responses, and security schemes.

use ledger_runtime::endpoint::{GATEWAY_MESSAGE, Group, problem_schema};
use ledger_runtime::problem::Code;
use serde_json::{Map, Value, json};

/// Adds members to an object; existing ones of the same name are replaced.
pub(super) fn merge(to: &mut Value, members: Map<String, Value>) {
    if let Some(to) = to.as_object_mut() {
        to.extend(members);
    }
}

pub(super) fn headers() -> Value {
    let seconds = json!({"type": "integer", "minimum": 0, "examples": [1]});
    json!({
        "RequestId": {
            "description": "The id under which the request is logged: include it when you report a problem.",
            "required": true,
            "schema": {"type": "string", "minLength": 1, "examples": ["JKJaXmPLvHcESHA="]},
        },
        "RetryAfter": {
            "description": "Whole seconds until the request can be retried, with the same key if it has one.",
            "required": true,
            "schema": seconds,
        },
        "RetryAfterIfSoon": {
            "description": "Whole seconds until the request can be retried, if a retry can succeed.",
            "schema": seconds,
        },
        "IdempotentReplayed": {
            "description": "`true` for the stored response of an earlier request with the same key; absent otherwise.",
            "schema": {"type": "string", "enum": ["true"]},
        },
        "Location": {
            "description": "The path of the created resource, or of the work's progress.",
            "required": true,
            "schema": {"type": "string", "format": "uri-reference"},
        },
        "WwwAuthenticate": {
            "description": "How to authenticate: `Bearer`.",
            "required": true,
            "schema": {"type": "string", "examples": ["Bearer"]},
        },
    })
}

pub(super) fn security_schemes() -> Value {
    json!({
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A token of the tenant's customers, merchants' staff or the operator's staff.",
        },
        "terminal": {
            "type": "apiKey",
            "in": "header",
            "name": "Signature",
            "description": "An HTTP message signature (RFC 9421, ECDSA P-256) of the terminal's enrolled key, with \
                the headers `Signature-Input` and, for a body, `Content-Digest` (RFC 9530). It covers the method, \
                the target URI, the body's digest and the `Idempotency-Key`, and is good for 300 seconds. \
                `docs/terminals.md` shows it step by step.",
        },
        "stripe": {
            "type": "apiKey",
            "in": "header",
            "name": "Stripe-Signature",
            "description": "Stripe's signature of the raw body, `t=..,v1=..`, by the secret of the webhook endpoint.",
        },
    })
}

/// The responses of the groups of refusals.
pub(super) fn responses() -> Map<String, Value> {
    let response = |group: &Group| serde_json::to_value(group.response()).unwrap_or_default();
    Group::ALL.iter().map(|group| (group.name().to_owned(), response(group))).collect()
}

/// The schemas of problem documents, of API Gateway's errors, and of each group's problem documents.
pub(super) fn schemas() -> Map<String, Value> {
    let narrowed = |group: &Group| serde_json::to_value(problem_schema(group.codes())).unwrap_or_default();
    let mut schemas: Map<_, _> = Group::ALL.iter().map(|group| (group.schema_name(), narrowed(group))).collect();
    schemas.insert("Problem".to_owned(), problem());
    schemas.insert("ProblemCode".to_owned(), codes());
    let message = json!({
        "type": "object",
        "description": "A response of API Gateway itself: no function received the request.",
        "required": ["message"],
        "properties": {"message": {"type": "string", "examples": ["Unauthorized"]}},
    });
    schemas.insert(GATEWAY_MESSAGE.to_owned(), message);
    schemas
}

fn codes() -> Value {
    let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    json!({
        "type": "string",
        "description": "The error code, for programs. Each operation lists the codes that it returns.",
        "enum": names,
    })
}

fn problem() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let time = |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    json!({
        "type": "object",
        "description": "A problem document (RFC 9457).",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": {"type": "string", "format": "uri", "description": "The code as a URI."},
            "title": text("What the code means."),
            "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
            "detail": text("What is wrong with this request, and what to do. For people; the text may change."),
            "code": {"$ref": "#/components/schemas/ProblemCode"},
            "field": text("`invalid_request`: the invalid field or parameter."),
            "errors": {
                "type": "array",
                "description": "`invalid_request`: each invalid field, where an operation checks all of them.",
                "items": {
                    "type": "object",
                    "required": ["field", "detail"],
                    "properties": {
                        "field": text("The invalid field."),
                        "detail": text("What is wrong with it. For people; the text may change."),
                    },
                },
            },
            "retry_after_ms": {
                "type": "integer",
                "minimum": 0,
                "description": "When to repeat the request, in milliseconds from now.",
            },
            "server_time": time("`idempotency_key_invalid`, `signature_expired`: the server's time."),
            "original_request_at": time("`idempotency_key_expired`: when the key was first used, if that is known."),
            "balance_short": text("`insufficient_balance`: the missing amount, if it is known."),
            "asset": text("`insufficient_balance`: the asset of the missing amount. `limit_exceeded`: that of the limit."),
            "attempts_left": {
                "type": "integer",
                "minimum": 0,
                "maximum": 4,
                "description": "`pin_wrong`: how many attempts at the PIN are left.",
            },
            "limit_kind": text("`limit_exceeded`: the kind of operation that is limited, to the account's own holder."),
            "limit_period": text("`limit_exceeded`: `operation`, `day` or `month`, to the account's own holder."),
            "resets_at": time("`limit_exceeded`: when the day or month of the limit ends."),
            "payment_status": text("`wrong_state`: the state of the payment."),
            "open": {
                "type": "array",
                "description": "`wrong_state`: what stops the close of an account: `cards`, or a sum and its asset.",
                "items": text("For example `balance:ECOPAY` or `held:POINT`."),
            },
            "expired_at": time("`wrong_state`: the time at which the hold expired."),
            "attribute": text("`legacy_record_unreadable`: the attribute, for the operator's staff."),
            "permission": text("`permission_missing`: the permission."),
            "psp_code": text("`psp_refused`: the payment provider's own code."),
        },
    })
}
