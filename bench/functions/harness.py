"""What the checks run on: an engine, its tables, and a function's process behind a Runtime API."""

import collections
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from runtime_api import RuntimeApi

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
EVENT = json.loads((ROOT / "tests/events/customer-payment.json").read_text())
WORLD = json.loads((ROOT / "golden/worlds/payment.json").read_text())
CUSTOMER = "019a0000-0000-7000-8000-00000000000a"
MERCHANT = "019a0000-0000-7000-8000-0000000000e1"
START_SECONDS = 60
# Lambda sets both names of the Region: boto3 reads the one, the SDK for JavaScript the other.
VARIABLES = {
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "CUSTOMER_CLIENTS": EVENT["requestContext"]["authorizer"]["jwt"]["claims"]["client_id"],
}


class Function:
    """A function's process behind a Runtime API."""

    def __init__(self, name: str, folder: Path, command: list[str], variables: dict[str, str]):
        self.name, self.lines = name, collections.deque(maxlen=1000)
        self.api = RuntimeApi(name)
        own = {
            "PATH": os.environ["PATH"],
            "AWS_LAMBDA_RUNTIME_API": self.api.address,
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        }
        self.process = subprocess.Popen(
            command,
            cwd=folder / name,
            env={**own, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True).start()
        if not self.api.ready.wait(START_SECONDS) or self.api.init_error or self.process.poll() is not None:
            self.close()
            raise RuntimeError(f"{name} does not start: {self.api.init_error} {''.join(self.lines)}")

    def call(self, method: str, path: str, key: str | None = None, body: dict | str | None = None) -> dict:
        """Sends a request as API Gateway does."""
        event = json.loads(json.dumps(EVENT))
        event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] = CUSTOMER
        event["requestContext"]["http"].update(method=method, path=path)
        event["routeKey"] = event["requestContext"]["routeKey"] = f"{method} {path}"
        event["rawPath"] = path
        del event["headers"]["idempotency-key"], event["body"]
        if key is not None:
            event["headers"]["idempotency-key"] = key
        if body is None:
            del event["headers"]["content-type"], event["headers"]["content-length"]
        else:
            event["body"] = body if isinstance(body, str) else json.dumps(body)
            event["headers"]["content-length"] = str(len(event["body"].encode()))
        response = self.api.invoke(event)
        # API Gateway takes headers in both forms.
        response["headers"] = {name.lower(): value for name, value in response.get("headers", {}).items()}
        multi = response.get("multiValueHeaders") or {}
        response["headers"].update({name.lower(): values[0] for name, values in multi.items()})
        return response

    def pay(self, key: str, **fields) -> dict:
        """Sends a payment."""
        return self.call("POST", "/v1/me/payments", key, {"merchant_id": MERCHANT, **fields})

    def close(self) -> None:
        """Ends the process."""
        self.process.terminate()
        self.process.wait(10)
        self.api.close()


def start_engine() -> tuple[str, subprocess.Popen | None]:
    """The engine's URL, and its process if this program has started it."""
    if url := os.environ.get("LEDGER_ENGINE_URL"):
        return url, None
    venv = TARGET / "engines/ministack"
    if not (venv / "bin/ministack").exists():
        print("-- engine from PyPI", flush=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        requirements = ROOT / "tests/engines/ministack-requirements.txt"
        pip = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", requirements], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {**os.environ, "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}
    with (TARGET / "engines/bench.log").open("w") as log:
        engine = subprocess.Popen([venv / "bin/ministack"], env=variables, stdout=log, stderr=log)
    for _ in range(300):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}", engine
        time.sleep(0.1)
    engine.terminate()
    raise RuntimeError(f"the engine does not start: {TARGET}/engines/bench.log")


def merged(value, patch):
    """A value after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    whole = {**value} if isinstance(value, dict) else {}
    for name, change in patch.items():
        whole[name] = merged(whole.get(name), change)
    return {name: each for name, each in whole.items() if each is not None}


def world_of(vector: dict) -> list[dict]:
    """The table's items before a vector's request. Every balance has the time of its last change."""
    items = {item["uuid"]["S"] + item["type"]["S"]: item for item in merged(WORLD, vector.get("given", {})).values()}
    changed = {"updated_at": {"S": "2026-11-21T03:00:00.000Z"}}
    return [{**item, **(changed if item["type"]["S"].startswith("BALANCE#") else {})} for item in items.values()]


def create_tables(dynamodb, table: str, items: list[dict]) -> None:
    """Creates the ledger's table as in template.yaml, with these items, and the utility's table."""
    key = lambda name, kind: {"AttributeName": name, "KeyType": kind}  # noqa: E731
    index = lambda name, mark, projection: {  # noqa: E731
        "IndexName": name,
        "KeySchema": [key(f"{mark}_pk", "HASH"), key(f"{mark}_sk", "RANGE")],
        "Projection": {"ProjectionType": projection},
    }
    names = ("uuid", "type", "owner_pk", "owner_sk", "_due_pk", "_due_sk")
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[key("uuid", "HASH"), key("type", "RANGE")],
        GlobalSecondaryIndexes=[index("by_owner", "owner", "KEYS_ONLY"), index("due", "_due", "KEYS_ONLY")],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    for item in items:
        dynamodb.put_item(TableName=table, Item=item)
    dynamodb.create_table(
        TableName=f"{table}-idempotency",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[key("id", "HASH")],
    )
