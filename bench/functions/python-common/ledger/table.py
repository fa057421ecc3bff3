"""The table: one client for the process, reads, the transaction, and what its cancellation means."""

import os
import random
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .problem import Problem

TABLE = os.environ["TABLE_NAME"]
CACHE_SECONDS = 60
CONFLICT_RETRIES = 3
CONFLICT_PAUSE_SECONDS = 0.05
THROTTLED = {"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"}
FAILED_CONDITION = "ConditionalCheckFailed"

# One client for the process: its connection is kept open between invocations. The retries repeat the same
# ClientRequestToken, which botocore makes once for a call.
dynamodb = boto3.client(
    "dynamodb",
    endpoint_url=os.environ.get("LEDGER_ENDPOINT_URL") or None,
    config=Config(
        connect_timeout=1,
        read_timeout=1.5,
        retries={"mode": "standard", "total_max_attempts": 4},
        tcp_keepalive=True,
    ),
)

_cache: dict[tuple[str, str], tuple[float, dict]] = {}


def cached_item(partition: str, sort: str) -> dict | None:
    """A record that changes rarely, at most a minute old. An absent record is read again each time."""
    entry = _cache.get((partition, sort))
    if entry and time.monotonic() - entry[0] < CACHE_SECONDS:
        return entry[1]
    item = get_item(partition, sort)
    if item:
        _cache[partition, sort] = (time.monotonic(), item)
    return item


def get_item(partition: str, sort: str) -> dict | None:
    """One item by a consistent read."""
    key = {"uuid": {"S": partition}, "type": {"S": sort}}
    return read(dynamodb.get_item, TableName=TABLE, Key=key, ConsistentRead=True).get("Item")


def read(call, **request) -> dict:
    """A call that reads. Fails with 503 if the table does not answer."""
    try:
        return call(**request)
    except (ClientError, BotoCoreError) as error:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
        raise Problem("busy" if code in THROTTLED else "unavailable") from error


def write(items: list[dict], count_conflict) -> list[dict] | None:
    """Writes one transaction. `None`: it is applied. A list: the reasons, of which one is a failed condition.

    Only conflicts are retried. An outcome that is not known is never reported as a failure.
    """
    for retry in range(CONFLICT_RETRIES + 1):
        try:
            dynamodb.transact_write_items(TransactItems=items)
            return None
        except dynamodb.exceptions.TransactionCanceledException as error:
            reasons = error.response["CancellationReasons"]
        except ClientError as error:
            raise not_written(error) from error
        except BotoCoreError as error:
            raise Problem("outcome_unknown") from error
        codes = [reason["Code"] for reason in reasons]
        if codes[0] in ("None", FAILED_CONDITION) and FAILED_CONDITION in codes:
            return reasons
        others = set(codes) - {"None", FAILED_CONDITION}
        if others != {"TransactionConflict"}:
            throttled = others <= {"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"}
            raise Problem("busy" if throttled else "internal")
        count_conflict()
        if retry < CONFLICT_RETRIES:
            time.sleep(CONFLICT_PAUSE_SECONDS * 2**retry * random.uniform(1, 1.5))
    raise Problem("busy")


def not_written(error: ClientError) -> Problem:
    """What an error of the service means for a write."""
    code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code in THROTTLED:
        return Problem("busy")
    return Problem("outcome_unknown" if status >= 500 or code == "TransactionInProgressException" else "internal")


def warm_up() -> None:
    """Opens the connection during init, so that the first request does not wait for it. The item need not exist."""
    try:
        get_item("warm-up#tenant#root", "CONFIG")
    except Problem:
        pass  # The first request reports the same error.
