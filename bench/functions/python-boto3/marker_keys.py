"""The keys of markers, from one secret, and the fingerprint that binds an idempotency key to its request."""

import hmac
import json
import os
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from ledger.problem import Problem

SECRET_ID = os.environ["MARKER_KEYS_SECRET_ID"]
KEPT_SECONDS = 300
RETRIED_AFTER_SECONDS = 30
UNAVAILABLE = "The ledger's keys cannot be read. Nothing was done. Repeat the request with the same idempotency key."

secrets_manager = boto3.client(
    "secretsmanager",
    config=Config(connect_timeout=1, read_timeout=1.5, retries={"mode": "standard", "total_max_attempts": 2}),
)

_kept: dict = {"keys": None, "read_again_at": 0.0}


def fingerprint(canonical: str, key: str | None = None) -> tuple[str, str]:
    """HMAC-SHA256 of a canonical request, and the id of its key: that which a marker names, else the current one.

    Without the key, a reader of the table cannot find a request out by trying requests.
    """
    current, derived = marker_keys()
    key = key or current
    if key not in derived:
        # Another process may have read a key that was added within the last five minutes.
        derived = marker_keys(anew=True)[1]
    if key not in derived:
        raise Problem("unavailable", UNAVAILABLE)
    return hmac.digest(derived[key], canonical.encode(), "sha256").hex(), key


def marker_keys(anew: bool = False) -> tuple[str, dict[str, bytes]]:
    """The id of the current key, and what fingerprints are made with, by id. At most five minutes old.

    If the secret cannot be read, the keys before are used: no key is ever removed from it. Fails with 503 without any.
    """
    now = time.monotonic()
    if _kept["keys"] and now < _kept["read_again_at"] and not anew:
        return _kept["keys"]
    try:
        _kept["keys"] = parsed(secrets_manager.get_secret_value(SecretId=SECRET_ID)["SecretString"])
        _kept["read_again_at"] = now + KEPT_SECONDS
    except (ClientError, BotoCoreError, LookupError, ValueError) as error:
        if _kept["keys"] is None:
            raise Problem("unavailable", UNAVAILABLE) from error
        _kept["read_again_at"] = now + RETRIED_AFTER_SECONDS
    return _kept["keys"]


def parsed(text: str) -> tuple[str, dict[str, bytes]]:
    """The keys of the secret's text, `{"current":"k2","k1":"...","k2":"..."}`. Each use of a key has a derived one."""
    keys = json.loads(text)
    current = keys.pop("current")
    if current not in keys:
        raise LookupError("the marker keys lack the current key")
    of = b"ecopay-ledger marker fingerprint"
    return current, {name: hmac.digest(key.encode(), of, "sha256") for name, key in keys.items()}


def warm_up() -> None:
    """Reads the keys during init, so that the first payment does not wait for them."""
    try:
        marker_keys()
    except Problem:
        pass  # The first payment reports the same error.
