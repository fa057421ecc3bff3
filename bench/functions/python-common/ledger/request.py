"""Reads a request: the caller, the idempotency key and the typed body. An error never repeats a value."""

import json
import os
import re
import unicodedata
from decimal import Decimal

from .problem import BODY_BYTES_MAX, Problem, invalid_field

PAYMENTS_PATH = "/v1/me/payments"
BALANCES_PATH = "/v1/me/balances"
CLIENTS = os.environ["CUSTOMER_CLIENTS"].split(",")
MEMO_CHARS_MAX = 140
# The version of the canonical JSON, which is a part of it.
ENCODING_VERSION = "1"
FIELDS = {"merchant_id", "amount", "asset", "points", "regional", "memo"}

AMOUNT = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]+)?", re.ASCII)
TENANT = re.compile(r"[a-z0-9-]{1,32}", re.ASCII)
UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
CARD_NUMBER = re.compile(r"\d(?:[ .\-\u2010-\u2015\u3000\u30fc]*\d){12,18}")


def text_of(value: Decimal) -> str:
    """The canonical decimal text: no exponent, no trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def born_at(key: str) -> float | None:
    """The time of a UUIDv7, in epoch seconds; `None` for any other text."""
    key = key.lower()
    return int(key[:8] + key[9:13], 16) / 1000 if UUID_TEXT.fullmatch(key) and key[14] == "7" else None


def caller(claims: dict) -> tuple[str, str]:
    """The tenant and the customer, from the claims that the authorizer has verified."""
    tenant, customer = claims.get("tenant", ""), claims.get("sub", "")
    if not TENANT.fullmatch(tenant):
        raise Problem("unauthenticated")
    if claims.get("aud", claims.get("client_id")) not in CLIENTS:
        raise Problem("wrong_face")
    if not UUID_TEXT.fullmatch(customer):
        raise Problem("unauthenticated")
    return tenant, customer


def idempotency_key(header: str | None, field) -> str:
    """The request's key: header `Idempotency-Key`, bare or quoted, or the body's field `idempotencyKey`."""
    key = None
    if header is not None:
        key = header.strip(" \t")
        if key.startswith('"') and key.endswith('"') and len(key) > 1:
            key = re.sub(r"\\(.)", r"\1", key[1:-1])
        elif "," in key:
            raise Problem("idempotency_key_invalid", "send one idempotency key, not several")
        else:
            key = key.split(";")[0].rstrip()
    for text in (key, field):
        if text is not None and not (isinstance(text, str) and re.fullmatch(r"[!-~]{1,255}", text)):
            raise Problem("idempotency_key_invalid", "an idempotency key has 1 to 255 visible ASCII characters")
    if key and field and key != field:
        raise Problem("idempotency_key_invalid", "the Idempotency-Key header and the body's idempotencyKey differ")
    if not (key or field):
        raise Problem("idempotency_key_missing")
    return key or field


def amount_of(field: str, value) -> Decimal:
    """A whole number of yen or points, from text or from the literal text of a JSON number."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise invalid_field(field, "a decimal number as a string, like 1240")
    text = str(value)
    match = AMOUNT.fullmatch(text)
    if not match:
        raise invalid_field(field, "not a decimal number: write digits with an optional point, for example 1240")
    if (match[2] or "").strip(".0"):
        raise invalid_field(field, "too many decimals: this asset has 0")
    amount = Decimal(match[1])
    if not amount:
        raise invalid_field(field, "must be greater than zero")
    return amount


def memo_of(value) -> str | None:
    """A memo of one line without a card number; `None` if there is none."""
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > MEMO_CHARS_MAX:
        raise invalid_field("memo", f"a text of 1 to {MEMO_CHARS_MAX} characters")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise invalid_field("memo", "must not hold control characters")
    for number in CARD_NUMBER.findall(text):
        digits = [unicodedata.digit(character) for character in number if character.isdigit()]
        doubled = (digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4) for place, digit in enumerate(digits[::-1]))
        if sum(doubled) % 10 == 0:
            raise invalid_field("memo", "must not hold a card number")
    return text


def read_request(content_type: str | None, body: str | None) -> tuple[dict, object]:
    """The typed request, and the body's field `idempotencyKey`. No number becomes a float."""
    if len((body or "").encode()) > BODY_BYTES_MAX:
        raise Problem("body_too_large")
    if (content_type or "").split(";")[0].strip().lower() != "application/json":
        raise Problem("unsupported_media_type")
    try:
        fields = json.loads(body or "", parse_float=Decimal)
    except ValueError:
        raise Problem("invalid_request", "The body is not JSON.") from None
    if not isinstance(fields, dict):
        raise Problem("invalid_request", "The body is not a JSON object.")
    key = fields.pop("idempotencyKey", None)
    for field in fields:
        if field not in FIELDS:
            raise Problem("invalid_request", f"unknown field `{field[:40]}`")
    merchant = fields.get("merchant_id")
    if not isinstance(merchant, str) or not UUID_TEXT.fullmatch(merchant):
        raise invalid_field("merchant_id", "not a UUID in lower case with hyphens")
    if fields.get("asset", "ECOPAY") != "ECOPAY":
        raise invalid_field("asset", "this function takes ECOPAY")
    if fields.get("regional"):
        raise invalid_field("regional", "this function takes ECOPAY and points")
    amount = amount_of("amount", fields.get("amount"))
    points = amount_of("points", fields["points"]) if "points" in fields else Decimal(0)
    if points > amount:
        raise invalid_field("points", "the parts are more than the amount")
    paid = {"ECOPAY": amount - points, "POINT": points}
    paid = {asset: part for asset, part in paid.items() if part}
    return {"merchant": merchant, "amount": amount, "paid": paid, "memo": memo_of(fields.get("memo"))}, key


def canonical_request(tenant: str, customer: str, request: dict) -> str:
    """The canonical JSON (RFC 8785) of the request that the key is bound to."""
    fields = {
        "merchant_id": request["merchant"],
        "amount": {"asset": "ECOPAY", "amount": text_of(request["amount"])},
        "paid": {asset: text_of(part) for asset, part in request["paid"].items()},
    }
    if request["memo"] is not None:
        fields["memo"] = request["memo"]
    return canonical_json(tenant, f"customer:{customer}", fields)


def canonical_json(tenant: str, principal: str, fields: dict) -> str:
    """The canonical JSON of a payment's typed fields."""
    whole = {"v": ENCODING_VERSION, "method": "POST", "path": PAYMENTS_PATH, "tenant": tenant, "principal": principal}
    return json.dumps({**whole, "fields": fields}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
