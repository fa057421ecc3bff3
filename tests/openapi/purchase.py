"""A purchase with the client that openapi-python-client makes of openapi.json, and a refused one whose error is a
model with an enumeration of codes."""

import sys
import uuid

sys.path.insert(0, sys.argv[1])
base, token, merchant = sys.argv[2:]

from ledger_client import AuthenticatedClient  # noqa: E402
from ledger_client.api.customer import get_me_balances, post_me_payments  # noqa: E402
from ledger_client.models import PayBody, PaymentView, WalletView  # noqa: E402

client = AuthenticatedClient(base_url=base, token=token)


def check(holds, what):
    if not holds:
        raise SystemExit(f"purchase.py: {what}")


def pay(amount):
    body = PayBody(merchant_id=uuid.UUID(merchant), amount=amount)
    return post_me_payments.sync_detailed(client=client, body=body, idempotency_key=str(uuid.uuid4()))


paid = pay("1240")
check(paid.status_code == 201 and isinstance(paid.parsed, PaymentView), paid)
check(paid.parsed.amount == "1240" and paid.parsed.status == "captured", paid.parsed)
check(paid.headers.get("request-id"), "the answer names its request")

refused = pay("999999999")
check(refused.status_code == 400, refused)
problem = refused.parsed
codes = {code.value for code in type(problem.code)}
check(problem.code.value == "insufficient_balance", problem)
check("insufficient_balance" in codes and "over_refund" not in codes, f"the closed list: {codes}")
check(problem.status == 400 and problem.detail, problem)
check(problem.balance_short, "the problem says how much is missing")

wallet = get_me_balances.sync(client=client)
check(isinstance(wallet, WalletView), wallet)
ecopay = next(balance for balance in wallet.balances if balance.asset == "ECOPAY")
print(f"Python: paid {paid.parsed.amount} {paid.parsed.asset}, refused with {problem.code.value}, {ecopay.balance} left")
