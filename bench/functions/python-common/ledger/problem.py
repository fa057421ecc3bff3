"""The problems that a client can receive, as RFC 9457 documents."""

import json

BODY_BYTES_MAX = 64 * 1024

PROBLEMS = {
    "account_frozen": (400, "The account is frozen", "The account is frozen: debits are refused."),
    "idempotency_key_invalid": (400, "The idempotency key is not valid", ""),
    "idempotency_key_missing": (
        400,
        "An idempotency key is required",
        "send an Idempotency-Key header, for example a UUID made for this one request",
    ),
    "insufficient_balance": (400, "Insufficient balance", "The account's balance is too low."),
    "invalid_request": (400, "The request is not valid", ""),
    "wrong_state": (
        400,
        "The state does not allow the request",
        "The state of the resource does not allow the request.",
    ),
    "unauthenticated": (
        401,
        "Authentication required",
        "Send a valid token of this service in the Authorization header.",
    ),
    "tenant_unknown": (403, "Unknown tenant", "The token's tenant is not open."),
    "wrong_face": (403, "The token is for another API", "This token is for another API."),
    "not_found": (404, "Not found", "There is no such resource."),
    "method_not_allowed": (
        405,
        "Method not allowed",
        "The path does not have this method: see the Allow header.",
    ),
    "idempotency_key_in_use": (
        409,
        "The request is still running",
        "An earlier request with this idempotency key is still running: retry later.",
    ),
    "idempotency_key_expired": (
        410,
        "The idempotency key has expired",
        "The response to this idempotency key is no longer stored, and the request is not executed again.",
    ),
    "body_too_large": (413, "The body is too large", f"A request's body has at most {BODY_BYTES_MAX} bytes."),
    "unsupported_media_type": (
        415,
        "The body must be JSON",
        "Send the body as `Content-Type: application/json`, in UTF-8 and without a content encoding.",
    ),
    "idempotency_key_fingerprint_mismatch": (
        422,
        "The idempotency key belongs to another request",
        "This idempotency key was used for a different request. Send the original request, or use another key.",
    ),
    "internal": (
        500,
        "Internal error",
        "An internal error occurred and was logged. Repeat the request with the same idempotency key.",
    ),
    "busy": (503, "Busy", "Nothing was done. Repeat the request with the same idempotency key."),
    "unavailable": (
        503,
        "Temporarily unavailable",
        "The ledger's store does not answer. Nothing was done. Repeat the request with the same idempotency key.",
    ),
    "outcome_unknown": (
        503,
        "The outcome is unknown",
        "The operation may have been executed. Repeat the request with the same idempotency key to find out.",
    ),
}
# These refusals are stored under the key, so that every retry gets the same response.
TERMINAL = {"account_frozen", "insufficient_balance", "wrong_state"}
RETRY_AFTER_SECONDS = {"idempotency_key_in_use": 1, "busy": 1, "unavailable": 2, "outcome_unknown": 2}


class Problem(Exception):
    """A refusal with its problem document (RFC 9457)."""

    def __init__(self, code: str, detail: str | None = None, **extra: str):
        super().__init__(code)
        self.code = code
        self.status, title, text = PROBLEMS[code]
        document = {
            "type": f"https://ecopay.example/problems/{code}",
            "title": title,
            "status": self.status,
            "detail": text if detail is None else detail,
            "code": code,
            **extra,
        }
        self.headers = {}
        if code in RETRY_AFTER_SECONDS:
            document["retry_after_ms"] = RETRY_AFTER_SECONDS[code] * 1000
            self.headers["retry-after"] = str(RETRY_AFTER_SECONDS[code])
        if code == "unauthenticated":
            self.headers["www-authenticate"] = "Bearer"
        self.body = compact(document)

    def answer(self) -> dict:
        """The refusal as a response that can be stored."""
        return {"status": self.status, "content_type": "application/problem+json", "body": self.body}


def invalid_field(field: str, why: str) -> Problem:
    """A 400 that names the field and does not repeat its value."""
    return Problem("invalid_request", f"{field}: {why}", field=field)


def compact(value) -> str:
    """JSON without white space."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
