"""`POST /v1/me/payments` and `GET /v1/me/balances` with AWS Lambda Powertools, as its documentation recommends.

The Idempotency utility claims the key with a write to its table, the payment's items are one TransactWriteItems,
and the utility stores the response with a third write.

Guarantee that it does NOT give: the key's record and the payment are not one transaction.
- If the process ends, or the third write fails, after the payment was applied, the record stays in progress. A retry
  after the function's timeout pays a second time.
- If the outcome of the payment's transaction is unknown (a timeout), the utility deletes the record because an
  exception was raised. The next retry pays a second time if the first payment was applied.
- A key is free again when its record has expired, and a UUIDv7's own time is not looked at.
"""

import os
import time

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from ledger.payment import NAMESPACE, OPERATION, balances, plan, refusal
from ledger.problem import TERMINAL, Problem, compact
from ledger.request import BALANCES_PATH, PAYMENTS_PATH, caller, canonical_request, idempotency_key, read_request
from ledger.table import FAILED_CONDITION, dynamodb, warm_up, write

REPLAY_SECONDS = 90 * 24 * 60 * 60

logger = Logger(service="customer", level=os.environ.get("LOG_LEVEL", "INFO").upper())
metrics = Metrics(namespace=NAMESPACE, service="customer")
app = APIGatewayHttpResolver()


def mark_replayed(response: dict, _record) -> dict:
    """Marks a stored response as a replay."""
    metrics.add_metric(name="IdempotencyReplay", unit=MetricUnit.Count, value=1)
    return {**response, "replayed": True}


persistence = DynamoDBPersistenceLayer(table_name=os.environ["IDEMPOTENCY_TABLE_NAME"], boto3_client=dynamodb)
config = IdempotencyConfig(
    event_key_jmespath="key",
    payload_validation_jmespath="canonical",
    raise_on_no_idempotency_key=True,
    expires_after_seconds=REPLAY_SECONDS,
    hash_function="sha256",
    response_hook=mark_replayed,
)
warm_up()


@metrics.log_metrics
def handler(event: dict, context) -> dict:
    """Answers one event of API Gateway's HTTP API, payload version 2.0."""
    began = time.monotonic()
    config.register_lambda_context(context)
    notes: dict = {}
    app.append_context(notes=notes)
    response = app.resolve(event, context)
    status = response["statusCode"]
    if status in (500, 503):
        metrics.add_metric(name="Broken" if status == 500 else "FailClosed", unit=MetricUnit.Count, value=1)
    http = event["requestContext"]["http"]
    known = http["path"] in (PAYMENTS_PATH, BALANCES_PATH)
    request_id = event["requestContext"].get("requestId", "")
    logger.info(
        "request",
        extra={
            "method": http["method"],
            "path": http["path"] if known else "-",
            "status": status,
            "replayed": False,
            "latency_ms": int((time.monotonic() - began) * 1000),
            "request_id": request_id,
            **notes,
        },
    )
    response["headers"]["request-id"] = request_id
    return response


@app.post(PAYMENTS_PATH)
def create_payment() -> Response:
    """Pays a merchant."""
    tenant, customer = verified_caller()
    app.context["notes"]["operation"] = OPERATION
    event = app.current_event
    request, field = read_request(event.headers.get("content-type"), event.decoded_body if event.body else None)
    metrics.add_dimension(name="operation", value=OPERATION)
    metrics.add_metric(name="KeyedRequest", unit=MetricUnit.Count, value=1)
    key = idempotency_key(event.headers.get("idempotency-key"), field)
    answer = pay(
        claim={
            "key": f"{tenant}#{customer}#{OPERATION}#{key}",
            "canonical": canonical_request(tenant, customer, request),
            "payment": (tenant, customer, key, request),
        }
    )
    headers = {"location": answer["location"]} if "location" in answer else {}
    if answer.get("replayed"):
        app.context["notes"]["replayed"] = True
        headers["idempotent-replayed"] = "true"
    elif answer.get("code"):
        app.context["notes"]["code"] = answer["code"]
    return Response(answer["status"], answer["content_type"], answer["body"], headers)


@idempotent_function(data_keyword_argument="claim", config=config, persistence_store=persistence)
def pay(claim: dict) -> dict:
    """Makes the payment. A terminal refusal is returned, and so stored; any other is raised, and frees the key."""
    try:
        tenant, customer, key, request = claim["payment"]
        planned = plan(tenant, customer, key, request, time.time_ns() // 1_000_000)
        reasons = write(planned["items"], count_conflict)
        if reasons is None:
            return planned["answer"]
        at = next(place for place, reason in enumerate(reasons) if reason["Code"] == FAILED_CONDITION)
        raise refusal(planned["items"][at], reasons[at])
    except Problem as problem:
        if problem.code not in TERMINAL:
            raise
        return {**problem.answer(), "code": problem.code}


@app.get(BALANCES_PATH)
def get_balances() -> Response:
    """Returns every balance of the customer, and the customer's totals."""
    return Response(200, "application/json", compact(balances(*verified_caller())))


def verified_caller() -> tuple[str, str]:
    """The tenant and the customer of the token that the authorizer has verified."""
    authorizer = app.current_event.request_context.authorizer
    tenant, customer = caller((authorizer and authorizer.jwt_claim) or {})
    app.context["notes"]["tenant"] = tenant
    metrics.add_dimension(name="tenant", value=tenant)
    return tenant, customer


def count_conflict() -> None:
    """Counts a conflict of the transaction."""
    metrics.add_metric(name="TransactionConflict", unit=MetricUnit.Count, value=1)


@app.exception_handler(Problem)
def problem_response(problem: Problem) -> Response:
    """The response of a refusal that is not stored."""
    app.context["notes"]["code"] = problem.code
    return Response(problem.status, "application/problem+json", problem.body, problem.headers)


@app.exception_handler([IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError])
def in_progress(_error) -> Response:
    """Another request with the key has no response yet."""
    return problem_response(Problem("idempotency_key_in_use"))


@app.exception_handler(IdempotencyValidationError)
def key_reused(_error) -> Response:
    """The key is bound to another request."""
    metrics.add_metric(name="FingerprintMismatch", unit=MetricUnit.Count, value=1)
    return problem_response(Problem("idempotency_key_fingerprint_mismatch"))


@app.exception_handler(IdempotencyPersistenceLayerError)
def outcome_unknown(_error) -> Response:
    """The record could not be written: before the payment, or after it."""
    return problem_response(Problem("outcome_unknown"))


@app.exception_handler(Exception)
def internal(error: Exception) -> Response:
    """A fault of the service. Its detail is logged, without the request."""
    logger.error("a request failed for a reason that no request causes", extra={"error": type(error).__name__})
    return problem_response(Problem("internal"))


@app.not_found
def not_found(_error) -> Response:
    """No such path."""
    return problem_response(Problem("not_found"))
