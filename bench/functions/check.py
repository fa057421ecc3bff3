"""Checks that each function makes the ledger's payment, on a DynamoDB engine and behind a Lambda Runtime API.

    bash bench/functions/install
    target/bench/venv/bin/python bench/functions/check.py [FOLDER]

FOLDER is the folder of `install` (default: target/bench). The table begins as the world of the golden vector
`pay/money`, and the transaction that a function sends is compared with that vector, later ones with other vectors
of `golden/pay`. Without LEDGER_ENGINE_URL the engine is ministack, installed from PyPI into
target/engines. Prints a line for each function and check. Exits with 1 on a failure. It measures no time.
"""

import base64
import collections
import json
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import boto3

from engine_proxy import EngineProxy
from harness import CUSTOMER, MERCHANT, ROOT, TARGET, VARIABLES, Function, create_tables, start_engine, world_of
from secrets_manager import GOLDEN_KEYS, SecretsManager

VECTOR, *OTHER_VECTORS = (
    json.loads((ROOT / f"golden/pay/{case}.json").read_text())
    for case in ("money", "with-points", "points-only", "points-used-equal-earned", "earns-nothing")
)
# Its idempotency key begins with an id.
VECTOR_OF_ID_KEY = json.loads((ROOT / "golden/limits/card-topup-above-the-month.json").read_text())
PARTITION = f"demo#customer#{CUSTOMER}"
# The calls of DynamoDB with warm caches, where the marker is in the payment's transaction, and where it is not.
IN_ONE_TRANSACTION = {
    "payment": {"TransactWriteItems": 1},
    "replay": {"TransactWriteItems": 1},
    "refusal": {"TransactWriteItems": 2},
    "balances": {"Query": 1, "GetItem": 1},
}
BESIDE_THE_TRANSACTION = {
    "payment": {"PutItem": 1, "TransactWriteItems": 1, "UpdateItem": 1},
    "replay": {"PutItem": 1},
    "refusal": {"PutItem": 1, "TransactWriteItems": 1, "UpdateItem": 1},
    "balances": {"Query": 1, "GetItem": 1},
}
IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
POSTING = re.compile(r"(h|m|points_issued)([+-][0-9]+)(P?)")
SHARDS = re.compile(r"(#due#publish|#merchant#ID)#\d+$")


class Checks:
    """Counts the checks, and prints one line for each."""

    def __init__(self):
        self.passed = self.failed = 0

    def equal(self, function: str, what: str, found, expected) -> None:
        """Compares a value."""
        good = found == expected
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {function}: {what}", flush=True)
        if not good:
            print(f"     expected {expected}\n     found    {found}", flush=True)


def normal(item):
    """An item without what differs from payment to payment: ids, times, shards of ids."""
    if isinstance(item, dict):
        return {name: normal(value) for name, value in item.items()}
    if isinstance(item, list):
        return [normal(value) for value in item]
    if isinstance(item, str):
        item = item.replace(CUSTOMER, "CUSTOMER")
        return SHARDS.sub(r"\1#SHARD", TIMES.sub("TIME", IDS.sub("ID", item)))
    return item


class Table:
    """Reads of the ledger's table."""

    def __init__(self, dynamodb, name: str):
        self.dynamodb, self.name = dynamodb, name

    def items(self) -> list[dict]:
        """Every item."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.name, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def of_type(self, prefix: str) -> list[dict]:
        """The items whose sort key begins with a prefix."""
        return [item for item in self.items() if item["type"]["S"].startswith(prefix)]

    def put(self, *items: dict) -> None:
        """Writes items over those that are there."""
        for item in items:
            self.dynamodb.put_item(TableName=self.name, Item=item)

    def balances(self) -> tuple[str, ...]:
        """Money, points, and number and total of the payments, which are beside the money."""
        found = {item["type"]["S"]: item for item in self.items() if item["uuid"]["S"] == PARTITION}
        money, points = found["BALANCE#ECOPAY"], found["BALANCE#POINT"]
        totals = [money.get(f"aggregate_{name}", {"N": "0"}) for name in ("payments", "paid_total")]
        return tuple(str(int(Decimal(n["N"]))) for n in [money["balance"], points["balance"], *totals])


def check(checks: Checks, function: Function, table: Table, proxy: EngineProxy, marker: bool) -> None:
    """Drives one function. Its customer begins with 5000 ECOPAY and no points."""
    name = function.name
    first, transaction = function.pay("k-1", amount="1740"), proxy.transaction
    checks.equal(name, "payment is 201", first["statusCode"], 201)
    view = json.loads(first["body"])
    amounts = {field: view.get(field) for field in ("status", "amount", "paid", "points_earned", "co2_kg")}
    paid = {"status": "captured", "amount": "1740", "paid": {"ECOPAY": "1740"}, "points_earned": "17", "co2_kg": "17.4"}
    checks.equal(name, "payment's view", amounts, paid)
    checks.equal(
        name, "location", first["headers"].get("location"), f"/v1/me/transactions/{view.get('transaction_id')}"
    )
    check_request(checks, name, transaction, VECTOR, "k-1", marker)
    checks.equal(name, "balances after the payment", table.balances(), ("3260", "17", "1", "1740"))

    again = function.pay("k-1", amount="1740")
    same = (again["statusCode"], again["body"]) == (201, first["body"])
    checks.equal(name, "retry has the same status and bytes", same, True)
    checks.equal(name, "retry is marked as a replay", again["headers"].get("idempotent-replayed"), "true")
    checks.equal(name, "retry has the same location", again["headers"].get("location"), first["headers"]["location"])
    spelled = function.call(
        "POST", "/v1/me/payments", '"k-1"', f'{{ "amount": 1740, "merchant_id": "{MERCHANT}" }}'
    )
    checks.equal(name, "retry in another spelling is the same request", spelled["body"], first["body"])
    reused = function.pay("k-1", amount="1741")
    mismatch = (422, "idempotency_key_fingerprint_mismatch")
    checks.equal(name, "key with another request is 422", problem(reused), mismatch)

    refused = function.pay("k-2", amount="9000")
    checks.equal(name, "insufficient balance is 400", problem(refused), (400, "insufficient_balance"))
    checks.equal(name, "shortfall", json.loads(refused["body"]).get("balance_short"), "5740")
    refused_again = function.pay("k-2", amount="9000")
    checks.equal(name, "refusal is replayed", refused_again["body"], refused["body"])
    checks.equal(name, "no double spend", table.balances(), ("3260", "17", "1", "1740"))

    for what, fields in {
        "exponent": {"amount": "1e3"},
        "decimals": {"amount": "10.5"},
        "zero": {"amount": "0"},
        "negative amount": {"amount": -5},
        "unknown field": {"amount": "10", "tenant": "other"},
        "points above the amount": {"amount": "10", "points": "11"},
        "card number in the memo": {"amount": "10", "memo": "4242 4242 4242 4242"},
    }.items():
        invalid = function.pay("k-3", **fields)
        checks.equal(name, f"{what} is 400", problem(invalid), (400, "invalid_request"))
    missing = function.call("POST", "/v1/me/payments", None, {"merchant_id": MERCHANT, "amount": "10"})
    checks.equal(name, "missing key is 400", problem(missing), (400, "idempotency_key_missing"))
    unknown = function.call("POST", "/v1/me/payments", "k-4", {"merchant_id": str(uuid.uuid4()), "amount": "10"})
    checks.equal(name, "unknown merchant is 404", problem(unknown), (404, "not_found"))
    checks.equal(name, "unknown path is 404", problem(function.call("GET", "/v1/other")), (404, "not_found"))

    # Uses 10 of 17 points and earns 9.
    id_key = VECTOR_OF_ID_KEY["command"]["claim"]["key"]
    second = function.pay(id_key, amount="1000", points="10", memo="two coffees")
    checks.equal(name, "payment with points is 201", second["statusCode"], 201)
    what = f"entry has the key that begins with an id as in golden/{VECTOR_OF_ID_KEY['id']}.json"
    checks.equal(name, what, entry_of(proxy.transaction)["ik"], entry_of(VECTOR_OF_ID_KEY["request"])["ik"])
    checks.equal(name, "balances after the payment with points", table.balances(), ("2270", "16", "2", "2740"))
    checks.equal(name, "no item METRICS", table.of_type("METRICS"), [])

    wallet = function.call("GET", "/v1/me/balances")
    body = json.loads(wallet["body"])
    shown = {each["asset"]: (each["balance"], each["held"], each["frozen"]) for each in body["balances"]}
    checks.equal(name, "balances are 200", wallet["statusCode"], 200)
    checks.equal(name, "balances", shown, {"ECOPAY": ("2270", "0", False), "POINT": ("16", "0", False)})
    totals = {"co2_kg": "27.4", "payments": "2", "paid_total": "2740", "refunds": "0", "refunded_total": "0"}
    checks.equal(name, "totals", body["metrics"], totals)
    check_books(checks, name, table)
    check_lines(checks, function)


def problem(response: dict) -> tuple[int, str]:
    """The status and the code of a problem."""
    return response["statusCode"], json.loads(response["body"]).get("code")


def check_request(checks: Checks, name: str, sent: list[dict], vector: dict, key: str, marker: bool) -> None:
    """Compares the transaction of a payment under a key with the request of a golden vector, action by action."""
    expected = [whole(action) for action in vector["request"]][0 if marker else 1 :]
    payment = next(put for put in puts(sent) if put["type"]["S"] == "PAYMENT")
    millis = round(datetime.fromisoformat(payment["created_at"]["S"]).timestamp() * 1000)
    of_payment = {"pi": {"B": id_bytes(payment["payment_id"]["S"])}, "ca": {"N": str(millis)}}
    sent = json.loads(json.dumps(sent).replace(key, vector["command"]["claim"]["key"]))
    checks.equal(name, f"transaction has {len(expected)} actions", len(sent), len(expected))
    for found, action in zip(sent, expected, strict=False):
        kind, request = next(iter(action.items()))
        sort = request.get("Item", request.get("Key"))["type"]["S"]
        found = found.get(kind, found)
        found.pop("TableName", None)
        if sort.startswith("card_op_idem#"):
            # The vector has no location and another body, its fields lack `paid`, and its time is another.
            request["Item"]["fp"]["S"] = fingerprint_of({**vector["command"]["claim"], "fields": fields_of(vector)})
            for attribute in ("body", "location", "ttl"):
                checks.equal(name, f"marker has {attribute}", attribute in found["Item"], True)
                found["Item"].pop(attribute, None), request["Item"].pop(attribute, None)
            found["ExpressionAttributeValues"].pop(":expired_before")
            request["ExpressionAttributeValues"].pop(":expired_before")
        if sort.startswith("TXN#"):
            # The vector's payment has another id and another time.
            request["Item"].update(of_payment)
        what = f"{kind} {IDS.sub('...', sort)} is as in golden/{vector['id']}.json"
        checks.equal(name, what, normal(found), normal(request))


def puts(actions: list[dict]) -> list[dict]:
    """The items that a transaction puts."""
    return [action["Put"]["Item"] for action in actions if "Put" in action]


def entry_of(actions: list[dict]) -> dict:
    """The journal entry that a transaction puts."""
    return next(item for item in puts(actions) if item["type"]["S"].startswith("TXN#"))


def id_bytes(text: str) -> str:
    """The bytes of an id, as a request has them."""
    return base64.b64encode(uuid.UUID(text).bytes).decode()


def fields_of(vector: dict) -> dict:
    """What a payment of a vector is bound to: the vector's fields, and what is paid of each asset."""
    request = vector["command"]["does"]["pay"]
    points = int(request["points"] or 0)
    paid = {"ECOPAY": int(request["amount"]["amount"]) - points, "POINT": points}
    return {**vector["command"]["claim"]["fields"], "paid": {asset: str(part) for asset, part in paid.items() if part}}


def fingerprint_of(claim: dict) -> str:
    """The fingerprint of a claim under the keys of the golden vectors, by the code of python-boto3."""
    from ledger.request import canonical_json
    from marker_keys import fingerprint

    return fingerprint(canonical_json("demo", claim["principal"], claim["fields"]), GOLDEN_KEYS["current"])[0]


def whole(action: dict) -> dict:
    """A vector's action with what golden/README.md says it leaves out."""
    kind, request = next(iter(json.loads(json.dumps(action)).items()))
    expressions = request.get("UpdateExpression", "") + request.get("ConditionExpression", "")
    request["ExpressionAttributeNames"] = {name: name[1:] for name in re.findall(r"#\w+", expressions)}
    return {kind: {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}


def check_books(checks: Checks, name: str, table: Table) -> None:
    """The postings of each entry sum to zero per asset, and the balances are the sums of the postings."""
    sums: dict[tuple[str, str], Decimal] = collections.defaultdict(Decimal)
    for entry in table.of_type("TXN#"):
        of_entry: dict[str, Decimal] = collections.defaultdict(Decimal)
        for posting in entry["po"]["S"].split(" "):
            account, delta, asset = POSTING.fullmatch(posting).groups()
            of_entry[asset] += Decimal(delta)
            sums[account, asset] += Decimal(delta)
        checks.equal(name, "entry's postings sum to zero", set(of_entry.values()), {Decimal(0)})
    changes = (5000 + sums["h", ""], sums["h", "P"])
    checks.equal(name, "balances are the sums of the postings", changes, (2270, 16))
    checks.equal(name, "entries and payments", (len(table.of_type("TXN#")), len(table.of_type("PAYMENT"))), (2, 2))


def check_lines(checks: Checks, function: Function) -> None:
    """Each request has one log line, each keyed request a line of the embedded metric format."""
    time.sleep(0.2)
    lines = []
    for line in list(function.lines):
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    logged = [line for line in lines if line.get("message") == "request"]
    counted = [line for line in lines if "KeyedRequest" in line and "_aws" in line]
    checks.equal(function.name, "one log line for each of 18 requests", len(logged), 18)
    checks.equal(function.name, "KeyedRequest counted for each of 9 keyed requests", len(counted), 9)
    text = "\n".join(function.lines)
    personal = [each for each in (CUSTOMER, "two coffees") if each in text]
    checks.equal(function.name, "no personal data in the log", personal, [])


def check_calls(checks: Checks, function: Function, proxy: EngineProxy, marker: bool) -> None:
    """Counts the calls of DynamoDB, with warm caches."""
    calls = IN_ONE_TRANSACTION if marker else BESIDE_THE_TRANSACTION
    requests = {
        "payment": lambda: function.pay("k-5", amount="100"),
        "replay": lambda: function.pay("k-5", amount="100"),
        "refusal": lambda: function.pay("k-6", amount="9000"),
        "balances": lambda: function.call("GET", "/v1/me/balances"),
    }
    proxy.taken()
    for what, send in requests.items():
        send()
        checks.equal(function.name, f"calls, {what}: {calls[what]}", proxy.taken(), calls[what])


def check_race(checks: Checks, functions: list[Function], table: Table) -> None:
    """Two processes get one key at the same time, five times: each key has one payment."""
    name = functions[0].name
    before = len(table.of_type("TXN#"))
    statuses: list[int] = []
    for attempt in range(5):
        key = f"race-{attempt}"
        send = lambda function, key: statuses.append(function.pay(key, amount="10")["statusCode"])  # noqa: E731
        threads = [threading.Thread(target=send, args=(function, key)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    checks.equal(name, "race: each key has one payment", len(table.of_type("TXN#")) - before, 5)
    checks.equal(name, "race: each status is 201 or 409", set(statuses) - {201, 409}, set())


def check_lost_answer(checks: Checks, function: Function, table: Table, proxy: EngineProxy, marker: bool) -> None:
    """The payment's transaction is applied and its answer is lost. The retry is what differs."""
    name = function.name
    before = len(table.of_type("TXN#"))
    proxy.lost = "TransactWriteItems"
    unknown = function.pay("lost-1", amount="10")
    proxy.lost = None
    checks.equal(name, "lost answer is 503", problem(unknown), (503, "outcome_unknown"))
    retry = function.pay("lost-1", amount="10")
    checks.equal(name, "retry after a lost answer is 201", retry["statusCode"], 201)
    payments = len(table.of_type("TXN#")) - before
    expected, what = (1, "pays once") if marker else (2, "pays a second time: the guarantee that it does not give")
    checks.equal(name, f"retry after a lost answer {what}", payments, expected)


def check_keys(
    checks: Checks, function: Function, start: Callable[[], Function], secrets: SecretsManager, proxy: EngineProxy
) -> None:
    """A marker is compared by the key that it names, which may be another than the current one. Without keys nothing is
    done.
    """
    name = function.name
    replayed = lambda response: response["headers"].get("idempotent-replayed")  # noqa: E731
    secrets.keys = {**GOLDEN_KEYS, "current": "k3", "k3": "a-later-key-of-markers-which-is-not-a-secret-00"}
    after_rotation = start()
    again = after_rotation.pay("k-1", amount="1740")
    checks.equal(name, "retry after a rotation of the keys is a replay", replayed(again), "true")
    after_rotation.pay("k-7", amount="10")
    checks.equal(name, "marker names the key that is current", puts(proxy.transaction)[0]["fp_key"], {"S": "k3"})
    again = function.pay("k-7", amount="10")
    checks.equal(name, "retry in a process that has read the keys before is a replay", replayed(again), "true")

    secrets.keys = None
    without_keys = start()
    unavailable = (503, "unavailable")
    checks.equal(name, "payment without keys is 503", problem(without_keys.pay("k-8", amount="10")), unavailable)
    checks.equal(name, "retry without keys is 503", problem(without_keys.pay("k-7", amount="10")), unavailable)
    secrets.keys = GOLDEN_KEYS
    paid = without_keys.pay("k-8", amount="10")
    first = (paid["statusCode"], replayed(paid))
    checks.equal(name, "payment with keys after one without is the first under its key", first, (201, None))


def check_vectors(checks: Checks, function: Function, table: Table, proxy: EngineProxy, marker: bool) -> None:
    """Makes the payments of the other vectors, each with the balances of its world."""
    for vector in OTHER_VECTORS:
        table.put(*world_of(vector))
        request, key = vector["command"]["does"]["pay"], f"key-of-{vector['id']}"
        points = {} if request["points"] is None else {"points": request["points"]}
        paid = function.pay(key, amount=request["amount"]["amount"], **points)
        checks.equal(function.name, f"payment of {vector['id']} is 201", paid["statusCode"], 201)
        check_request(checks, function.name, proxy.transaction, vector, key, marker)


def check_totals(checks: Checks, function: Function, table: Table) -> None:
    """The totals are the sums over METRICS, which has earlier payments, and all balances."""
    parts = {
        "METRICS": {"co2_total": "-32.4", "payments": "2", "paid_total": "3240", "refunds": "1", "refunded_total": "5"},
        "BALANCE#ECOPAY": {"aggregate_co2_total": "17.4", "aggregate_payments": "1", "aggregate_paid_total": "1740"},
        "BALANCE#POINT": {"aggregate_co2_total": "14.95", "aggregate_refunds": "1", "aggregate_refunded_total": "20"},
    }
    whole = {item["type"]["S"]: item for item in world_of(VECTOR) if item["uuid"]["S"] == PARTITION}
    for sort, numbers in parts.items():
        item = whole.get(sort, {"uuid": {"S": PARTITION}, "type": {"S": sort}})
        table.put({**item, **{name: {"N": number} for name, number in numbers.items()}})
    totals = {"co2_kg": "-0.05", "payments": "3", "paid_total": "4980", "refunds": "2", "refunded_total": "25"}
    shown = json.loads(function.call("GET", "/v1/me/balances")["body"])["metrics"]
    checks.equal(function.name, "totals are the sums over METRICS and the balances", shown, totals)


def check_fingerprint(checks: Checks, folder: Path, secrets: SecretsManager) -> None:
    """The code of python-boto3 has the fingerprints of the golden vectors."""
    sys.path.insert(0, str(folder / "python-boto3"))
    os.environ.update(VARIABLES, **secrets.variables, TABLE_NAME="none")
    for vector in (VECTOR, *OTHER_VECTORS):
        stored = vector["request"][0]["Put"]["Item"]["fp"]["S"]
        found = fingerprint_of(vector["command"]["claim"])
        checks.equal("python-boto3", f"fingerprint of {vector['id']}", found, stored)


def main() -> int:
    """Runs every check; returns the exit code."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else TARGET / "bench").resolve()
    python = [str(folder / "venv/bin/python"), "-m", "awslambdaric", "handler.handler"]
    functions = {
        "python-boto3": (python, True),
        "python-powertools": (python, False),
        "node-powertools": (["node", "runtime.mjs"], False),
    }
    checks, secrets = Checks(), SecretsManager()
    check_fingerprint(checks, folder, secrets)
    url, engine = start_engine()
    try:
        dynamodb = boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        for name, (command, marker) in functions.items():
            table = f"bench-{name}-{uuid.uuid4().hex[:8]}"
            create_tables(dynamodb, table, world_of(VECTOR))
            proxy = EngineProxy(url)
            tables = {"TABLE_NAME": table, "IDEMPOTENCY_TABLE_NAME": f"{table}-idempotency"}
            own = secrets.variables if marker else {}
            variables = {**VARIABLES, **tables, **own, "LEDGER_ENDPOINT_URL": proxy.url}
            started: list[Function] = []

            def start(of=(name, folder, command, variables), started=started) -> Function:
                started.append(Function(*of))
                return started[-1]

            try:
                function, _ = start(), start()
                check(checks, function, Table(dynamodb, table), proxy, marker)
                check_calls(checks, function, proxy, marker)
                check_race(checks, started, Table(dynamodb, table))
                check_lost_answer(checks, function, Table(dynamodb, table), proxy, marker)
                check_vectors(checks, function, Table(dynamodb, table), proxy, marker)
                check_totals(checks, function, Table(dynamodb, table))
                if marker:
                    check_keys(checks, function, start, secrets, proxy)
            finally:
                for function in started:
                    function.close()
            for each in (table, f"{table}-idempotency"):
                dynamodb.delete_table(TableName=each)
    finally:
        if engine:
            engine.send_signal(signal.SIGTERM)
            engine.wait(10)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
