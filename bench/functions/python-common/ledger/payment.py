"""The payment's rules, the items that its transaction writes, and the balances.

The attributes, expressions and conditions are those of `golden/pay/*.json`. It takes payments in ECOPAY
with points, the payment that the measurements make: no regional currency, no legacy records, no limit on a tenant's
rate.
"""

import hashlib
import os
import re
import uuid
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Decimal

from .problem import Problem, compact
from .request import UUID_TEXT, text_of
from .table import TABLE, cached_item, dynamodb, get_item, read

NAMESPACE = "EcoPay/Payments"
OPERATION = "pay"
# What stands for an asset after a number, in the postings of an entry.
ASSET_LETTERS = {"ECOPAY": "", "POINT": "P"}
ADD_TOTALS = (
    "#aggregate_co2_total :aggregate_co2, #aggregate_payments :aggregate_one, #aggregate_paid_total :aggregate_amount"
)


def uuid7(millis: int) -> str:
    """A UUIDv7 of an instant, with the operating system's randomness."""
    random = int.from_bytes(os.urandom(10), "big")
    value = (millis & (1 << 48) - 1) << 80 | 7 << 76 | (random >> 68) << 64 | 2 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def timestamp(millis: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    return datetime.fromtimestamp(millis // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{millis % 1000:03}Z"


def shard_of(text: str, shards: int) -> int:
    """The shard of an id among an index key's shards."""
    return uuid.UUID(text).int % (1 << 32) % shards


def customer_partition(tenant: str, customer: str) -> str:
    """The partition of a customer's items."""
    return f"{tenant}#customer#{customer}"


def plan(tenant: str, customer: str, key: str, request: dict, now: int) -> dict:
    """The payment's items in the order of `golden/pay/money.json`, and its response."""
    terms = cached_item(f"{tenant}#tenant#root", "CONFIG")
    if terms is None:
        raise Problem("tenant_unknown")
    merchant = cached_item(f"{tenant}#merchant#{request['merchant']}", "PROFILE")
    if merchant is None:
        raise Problem("not_found")
    if merchant["status"]["S"] != "active":
        raise Problem("wrong_state")
    transaction_id, payment_id, at = uuid7(now), uuid7(now), timestamp(now)
    total, paid = request["amount"], request["paid"]
    money, used = paid.get("ECOPAY", Decimal(0)), paid.get("POINT", Decimal(0))
    earned = (money * Decimal(terms["points_rate"]["N"])).to_integral_value(ROUND_DOWN)
    rate = Decimal(terms["co2_rate"]["N"])
    co2 = {"N": text_of(total * rate)}
    memo = {} if request["memo"] is None else {"memo": {"S": request["memo"]}}
    sealed_memo = {} if request["memo"] is None else memo_of_entry(request["memo"])

    postings = []
    for asset, part in paid.items():
        postings += [posting("h", asset, -part), posting("m", asset, part)]
    if earned:
        postings += [posting("points_issued", "POINT", -earned), posting("h", "POINT", earned)]
    partition = customer_partition(tenant, customer)
    # The payment counts in the customer's totals beside the first balance that it changes.
    totals = {"co2": co2, "one": {"N": "1"}, "amount": {"N": text_of(total)}}
    items = []
    if money:
        items.append(balance_update(partition, "ECOPAY", -money, money, at, totals))
    if used or earned:
        items.append(balance_update(partition, "POINT", earned - used, used, at, None if money else totals))
    shard = shard_of(payment_id, int(merchant["shards"]["N"]))
    payment = {
        "uuid": {"S": f"{tenant}#payment#{payment_id}"},
        "type": {"S": "PAYMENT"},
        "payment_id": {"S": payment_id},
        "transaction_id": {"S": transaction_id},
        "merchant_id": {"S": request["merchant"]},
        "co2": co2,
        "co2_rate": {"N": text_of(rate)},
        "created_at": {"S": at},
        **memo,
        "payer": {"S": f"customer:{customer}"},
        "asset": {"S": "ECOPAY"},
        "total": {"N": text_of(total)},
        "points_taken_back": {"N": "0"},
        "state": {"S": "captured"},
        "updated_at": {"S": at},
        "owner_pk": {"S": f"{tenant}#merchant#{request['merchant']}#{shard}"},
        "owner_sk": {"S": payment_id},
    }
    for asset, part in paid.items():
        payment[f"captured_{asset.lower()}"] = {"N": text_of(part)}
        payment[f"refundable_{asset.lower()}"] = {"N": text_of(part)}
    if earned:
        payment["points_earned"] = {"N": text_of(earned)}
    # The compact form (docs/architecture/entries.md). It has neither the entry's id nor its principal and actor: the id
    # is in the sort key, and both others are the customer of the partition.
    entry = {
        "uuid": {"S": partition},
        "type": {"S": f"TXN#{transaction_id}"},
        "op": {"S": OPERATION},
        "ca": {"N": str(now)},
        **entry_key(key),
        "mi": {"B": uuid.UUID(request["merchant"]).bytes},
        "pi": {"B": uuid.UUID(payment_id).bytes},
        "po": {"S": " ".join(postings)},
        "co2": co2,
        "cr": {"N": text_of(rate)},
        "cs": terms["co2_source"],
        "cv": terms["co2_version"],
        **sealed_memo,
        "credited_by": {"S": "seal"},
        "_due_pk": {"S": f"{tenant}#due#publish#{shard_of(transaction_id, int(terms['due_shards']['N']))}"},
        "_due_sk": {"S": f"{transaction_id}#{request['merchant']}"},
    }
    items += [put_new(payment), put_new(entry)]
    view = {
        "payment_id": payment_id,
        "transaction_id": transaction_id,
        "status": "captured",
        "merchant_id": request["merchant"],
        "merchant_name": merchant["name"]["S"],
        "asset": "ECOPAY",
        "amount": text_of(total),
        "paid": {asset: text_of(part) for asset, part in paid.items()},
    }
    if earned:
        view["points_earned"] = text_of(earned)
    view["co2_kg"] = co2["N"]
    view["created_at"] = at
    answer = {
        "status": 201,
        "content_type": "application/json",
        "location": f"/v1/me/transactions/{transaction_id}",
        "body": compact(view),
    }
    return {"items": items, "answer": answer, "transaction_id": transaction_id}


def memo_of_entry(text: str) -> dict:
    """The text and the hash that a seal covers (docs/architecture/typed-text.md)."""
    salt = os.urandom(16)
    return {
        "memo_hash": {"B": hashlib.sha256(salt + text.encode()).digest()},
        "_memo": {"M": {"text": {"S": text}, "salt": {"B": salt}}},
    }


def posting(account: str, asset: str, delta: Decimal) -> str:
    """One side of the double entry, as text: `h` is the customer of the partition, `m` the merchant of `mi`."""
    sign = "" if delta < 0 else "+"
    return f"{account}{sign}{text_of(delta)}{ASSET_LETTERS[asset]}"


def entry_key(key: str) -> dict:
    """The entry's idempotency key. An id that it begins with is kept as bytes, which are fewer than its text."""
    if beginning := UUID_TEXT.match(key):
        return {"ik": {"B": uuid.UUID(beginning[0]).bytes + key[beginning.end() :].encode()}}
    return {"kt": {"S": key}}


def balance_update(
    partition: str, asset: str, delta: Decimal, spent: Decimal, at: str, totals: dict | None = None
) -> dict:
    """Changes a balance, and the totals beside it; guarded on the amount that is spent from it, if any."""
    adds, values = "#balance :delta, #exposure :delta", {":delta": {"N": text_of(delta)}, ":ua": {"S": at}}
    if totals:
        adds += f", {ADD_TOTALS}"
        values |= {f":aggregate_{name}": value for name, value in totals.items()}
    update = {
        "Key": {"uuid": {"S": partition}, "type": {"S": f"BALANCE#{asset}"}},
        "UpdateExpression": f"ADD {adds} SET #updated_at = :ua",
        "ConditionExpression": "attribute_exists(#uuid)",
        "ExpressionAttributeValues": values,
    }
    if spent:
        update["ConditionExpression"] += " AND attribute_not_exists(#frozen) AND #balance >= :amount"
        update["ExpressionAttributeValues"][":amount"] = {"N": text_of(spent)}
    if delta:
        return action("Update", update)
    del update["UpdateExpression"]
    update["ExpressionAttributeValues"] = {":amount": {"N": text_of(spent)}}
    return action("ConditionCheck", update)


def put_new(item: dict) -> dict:
    """Writes an item that must not exist."""
    return action("Put", {"Item": item, "ConditionExpression": "attribute_not_exists(#uuid)"})


def action(kind: str, request: dict) -> dict:
    """An action of the transaction, with the names of its placeholders."""
    expressions = request.get("UpdateExpression", "") + " " + request.get("ConditionExpression", "")
    names = {placeholder: placeholder[1:] for placeholder in re.findall(r"#\w+", expressions)}
    whole = {**request, "TableName": TABLE, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return {kind: {**whole, "ExpressionAttributeNames": names}}


def refusal(item: dict, reason: dict) -> Problem:
    """What the failed condition of an effect item means."""
    update = item.get("Update") or item.get("ConditionCheck")
    if update is None:
        return Problem("internal")
    old = reason.get("Item")
    if not old:
        return Problem("not_found")
    if "frozen" in old:
        return Problem("account_frozen")
    short = Decimal(update["ExpressionAttributeValues"][":amount"]["N"]) - Decimal(old["balance"]["N"])
    asset = update["Key"]["type"]["S"].removeprefix("BALANCE#")
    return Problem("insufficient_balance", balance_short=text_of(short), asset=asset)


def balances(tenant: str, customer: str) -> dict:
    """The customer's balances and totals, by two consistent reads.

    A total is the sum of METRICS, where earlier payments are, and of what is beside the balances.
    """
    partition = customer_partition(tenant, customer)
    page = read(
        dynamodb.query,
        TableName=TABLE,
        KeyConditionExpression="#pk = :pk AND begins_with(#sk, :prefix)",
        ExpressionAttributeNames={"#pk": "uuid", "#sk": "type"},
        ExpressionAttributeValues={":pk": {"S": partition}, ":prefix": {"S": "BALANCE#"}},
        ConsistentRead=True,
    )
    if not page["Items"]:
        raise Problem("not_found")
    metrics = get_item(partition, "METRICS") or {}
    names = ("payments", "paid_total", "refunds", "refunded_total")

    def total(name: str) -> str:
        beside = (number(item, f"aggregate_{name}") for item in page["Items"])
        return text_of(sum(beside, number(metrics, name)))

    return {
        "balances": [balance_view(item) for item in page["Items"]],
        "metrics": {"co2_kg": total("co2_total"), **{name: total(name) for name in names}},
    }


def number(item: dict, name: str) -> Decimal:
    """A number of an item; zero if the item does not have it."""
    return Decimal(item[name]["N"]) if name in item else Decimal(0)


def balance_view(item: dict) -> dict:
    """One balance, as the API shows it."""
    extra = {name: text_of(number(item, name)) for name in ("reserved", "owed")}
    return {
        "asset": item["type"]["S"].removeprefix("BALANCE#"),
        "balance": text_of(number(item, "balance")),
        "held": text_of(number(item, "held")),
        **{name: value for name, value in extra.items() if value != "0"},
        "frozen": "frozen" in item,
        "updated_at": item["updated_at"]["S"],
    }
