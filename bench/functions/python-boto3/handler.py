"""`POST /v1/me/payments` and `GET /v1/me/balances` with boto3 alone.

One TransactWriteItems holds the idempotency marker with the stored response, the items of the payment, and nothing
else; a retry is answered from the marker that its refused condition brings back. The guarantees are those of the
ledger's own function: at most one effect for a key, and the same bytes for every retry.
"""

import base64
import json
import logging
import os
import sys
import time
from datetime import datetime

import marker_keys
from ledger.payment import NAMESPACE, OPERATION, balances, customer_partition, plan, refusal, timestamp
from ledger.problem import TERMINAL, Problem, compact
from ledger.request import (
    BALANCES_PATH,
    ENCODING_VERSION,
    PAYMENTS_PATH,
    born_at,
    caller,
    canonical_request,
    idempotency_key,
    read_request,
)
from ledger.table import FAILED_CONDITION, TABLE, get_item, warm_up, write

LOG_LEVEL = logging.getLevelNamesMapping().get(os.environ.get("LOG_LEVEL", "info").upper(), logging.INFO)
DAY_SECONDS = 24 * 60 * 60
REPLAY_SECONDS = 90 * DAY_SECONDS
SKEW_SECONDS = 5 * 60
AHEAD_SECONDS = 10 * 60

warm_up()
marker_keys.warm_up()


def handler(event: dict, _context) -> dict:
    """Answers one event of API Gateway's HTTP API, payload version 2.0."""
    began = time.monotonic()
    http = event["requestContext"]["http"]
    request = {"method": http["method"], "path": "-", "tenant": None, "operation": None}
    try:
        answer = route(event, request)
    except Problem as problem:
        answer = {**problem.answer(), "code": problem.code, "headers": problem.headers}
    except Exception as error:
        log("ERROR", "a request failed for a reason that no request causes", error=type(error).__name__)
        answer = {**Problem("internal").answer(), "code": "internal"}
    if answer["status"] in (500, 503):
        count("Broken" if answer["status"] == 500 else "FailClosed", request["tenant"], request["operation"])
    request_id = event["requestContext"].get("requestId", "")
    log(
        "INFO",
        "request",
        **request,
        status=answer["status"],
        code=answer.get("code"),
        replayed=answer.get("replayed", False),
        latency_ms=int((time.monotonic() - began) * 1000),
        request_id=request_id,
    )
    headers = {"content-type": answer["content_type"], "request-id": request_id, **answer.get("headers", {})}
    if "location" in answer:
        headers["location"] = answer["location"]
    if answer.get("replayed"):
        headers["idempotent-replayed"] = "true"
    return {"statusCode": answer["status"], "headers": headers, "body": answer["body"], "isBase64Encoded": False}


def route(event: dict, request: dict) -> dict:
    """The response of the path; `request` gets the members of its log line."""
    methods = {PAYMENTS_PATH: "POST", BALANCES_PATH: "GET"}
    path = event["rawPath"]
    if path not in methods:
        raise Problem("not_found")
    request["path"] = path
    if methods[path] != request["method"]:
        raise Problem("method_not_allowed")
    claims = event["requestContext"].get("authorizer", {}).get("jwt", {}).get("claims", {})
    tenant, customer = caller(claims)
    request["tenant"] = tenant
    if path == BALANCES_PATH:
        return {"status": 200, "content_type": "application/json", "body": compact(balances(tenant, customer))}
    request["operation"] = OPERATION
    headers = event.get("headers", {})
    body = event.get("body")
    if event.get("isBase64Encoded") and body:
        body = base64.b64decode(body).decode()
    typed, field = read_request(headers.get("content-type"), body)
    count("KeyedRequest", tenant, OPERATION)
    key = idempotency_key(headers.get("idempotency-key"), field)
    return pay(tenant, customer, key, typed)


def pay(tenant: str, customer: str, key: str, request: dict) -> dict:
    """Makes the payment under its key, or returns the key's stored response."""
    now = time.time_ns() // 1_000_000
    claim = {
        "tenant": tenant,
        "customer": customer,
        "key": key,
        "now": now,
        "canonical": canonical_request(tenant, customer, request),
    }
    born = born_at(key)
    if born is not None and born > now / 1000 + AHEAD_SECONDS:
        why = f"this UUIDv7's timestamp is in the future; the server's time is {timestamp(now)}"
        return stored_or(claim, Problem("idempotency_key_invalid", why, server_time=timestamp(now)))
    if born is not None and born + REPLAY_SECONDS < now / 1000 + SKEW_SECONDS:
        return stored_or(claim, Problem("idempotency_key_expired"))
    try:
        # Without the keys nothing is planned or written.
        claim["fingerprint"], claim["fingerprint_key"] = marker_keys.fingerprint(claim["canonical"])
        planned = plan(tenant, customer, key, request, now)
        items = [marker(claim, planned["answer"], planned["transaction_id"]), *planned["items"]]
        reasons = write(items, lambda: count("TransactionConflict", tenant, OPERATION))
    except Problem as problem:
        if problem.code in TERMINAL:
            return refuse(claim, problem)
        # The response that is stored comes first, whatever has changed since. An unknown outcome is found by a retry.
        if problem.code in ("outcome_unknown", "internal"):
            raise
        return stored_or(claim, problem)
    if reasons is None:
        return planned["answer"]
    if reasons[0]["Code"] == FAILED_CONDITION:
        return replay(claim, reasons[0]["Item"])
    at = next(place for place, reason in enumerate(reasons) if reason["Code"] == FAILED_CONDITION)
    problem = refusal(items[at], reasons[at])
    if problem.code not in TERMINAL:
        raise problem
    return refuse(claim, problem)


def refuse(claim: dict, problem: Problem) -> dict:
    """Stores a terminal refusal under the key. The loser of a race for the key gets the winner's response."""
    answer = problem.answer()
    reasons = write([marker(claim, answer, None)], lambda: count("TransactionConflict", claim["tenant"], OPERATION))
    return {**answer, "code": problem.code} if reasons is None else replay(claim, reasons[0]["Item"])


def marker(claim: dict, answer: dict, transaction_id: str | None) -> dict:
    """The action that takes the key and stores the response."""
    actor = f"customer:{claim['customer']}"
    seconds = max(claim["now"] / 1000, born_at(claim["key"]) or 0)
    item = {
        **marker_key(claim),
        "state": {"S": "COMPLETED"},
        "operation": {"S": OPERATION},
        "actor": {"S": actor},
        "processed_at": {"S": timestamp(claim["now"])},
        "fp": {"S": claim["fingerprint"]},
        "fp_key": {"S": claim["fingerprint_key"]},
        "fp_v": {"N": ENCODING_VERSION},
        "ttl": {"N": str(int(seconds + REPLAY_SECONDS + DAY_SECONDS + SKEW_SECONDS))},
        "status": {"N": str(answer["status"])},
        "content_type": {"S": answer["content_type"]},
        "body": {"S": answer["body"]},
    }
    if "location" in answer:
        item["location"] = {"S": answer["location"]}
    if transaction_id:
        item["entry_home"] = {"S": actor}
        item["entry_id"] = {"S": transaction_id}
    return {
        "Put": {
            "TableName": TABLE,
            "Item": item,
            "ConditionExpression": "(attribute_not_exists(#uuid) OR #ttl < :expired_before)",
            "ExpressionAttributeNames": {"#uuid": "uuid", "#ttl": "ttl"},
            "ExpressionAttributeValues": {":expired_before": {"N": str(claim["now"] // 1000 - SKEW_SECONDS)}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def marker_key(claim: dict) -> dict:
    """The marker's key: in the customer's partition, by operation and key."""
    partition = customer_partition(claim["tenant"], claim["customer"])
    return {"uuid": {"S": partition}, "type": {"S": f"card_op_idem#{OPERATION}#{claim['key']}"}}


def stored_or(claim: dict, problem: Problem) -> dict:
    """The key's stored response; without one, the problem."""
    key = marker_key(claim)
    item = get_item(key["uuid"]["S"], key["type"]["S"])
    if item is None or int(item["ttl"]["N"]) < claim["now"] // 1000 - SKEW_SECONDS:
        raise problem
    return replay(claim, item)


def replay(claim: dict, item: dict) -> dict:
    """The stored response, byte for byte. A key that is bound to another request is refused."""
    tenant = claim["tenant"]
    if item["state"]["S"] != "COMPLETED":
        raise Problem("idempotency_key_in_use")
    at = item["processed_at"]["S"]
    if datetime.fromisoformat(at).timestamp() + REPLAY_SECONDS <= claim["now"] / 1000:
        count("IdempotencyKeyExpired", tenant, OPERATION)
        raise Problem("idempotency_key_expired", original_request_at=at)
    if item["fp"]["S"] != marker_keys.fingerprint(claim["canonical"], item["fp_key"]["S"])[0]:
        count("FingerprintMismatch", tenant, OPERATION)
        raise Problem("idempotency_key_fingerprint_mismatch")
    count("IdempotencyReplay", tenant, OPERATION)
    stored = {"status": int(item["status"]["N"]), "content_type": item["content_type"]["S"], "body": item["body"]["S"]}
    if "location" in item:
        stored["location"] = item["location"]["S"]
    return {**stored, "replayed": True}


def count(metric: str, tenant: str | None, operation: str | None) -> None:
    """Writes one line of the embedded metric format."""
    known = {name: value for name, value in (("tenant", tenant), ("operation", operation)) if value}
    definition = {
        "Namespace": NAMESPACE,
        "Dimensions": [list(known)[:size] for size in range(len(known) + 1)],
        "Metrics": [{"Name": metric, "Unit": "Count"}],
    }
    line({"_aws": {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [definition]}, metric: 1, **known})


def log(level: str, message: str, **fields) -> None:
    """Writes one JSON log line, without personal data."""
    if getattr(logging, level) >= LOG_LEVEL:
        fields = {name: value for name, value in fields.items() if value is not None}
        line({"timestamp": timestamp(time.time_ns() // 1_000_000), "level": level, "message": message, **fields})


def line(value: dict) -> None:
    """Writes a line with one call, so that other lines cannot split it."""
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
    sys.stdout.flush()
