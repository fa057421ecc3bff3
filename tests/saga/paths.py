"""Every path of the settlement's state machine, on an interpreter of the Amazon States Language.

The machine is the deployed file but for its pauses, which the interpreter shortens. Its tasks are our own
function's on the local stack, and fail as a plan says.
"""

import argparse
import json
import tempfile
import time
import urllib.error
import urllib.request
import uuid

import botocore.session

from interpreter import ALWAYS, Interpreter

TENANT = "saga"
STEPS = ["collect", "hold", "kyc", "release", "fee", "payout"]


class Stack:
    """The local stack's API, and the table behind it."""

    def __init__(self, base_url, dynamodb_url):
        self.base_url = base_url
        session = botocore.session.get_session()
        self.dynamodb = session.create_client(
            "dynamodb", "ap-northeast-1", endpoint_url=dynamodb_url, aws_access_key_id="local", aws_secret_access_key="local"
        )
        self.staff = [self.token("admin", f"01890a5d-ac96-774b-bcce-b302099a80{last}") for last in ("41", "42")]

    def call(self, method, path, body=None, token=None, status=(200, 201, 202)):
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        if method != "GET" and token:
            headers["idempotency-key"] = str(uuid.uuid4())
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base_url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                code, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            code, text = error.code, error.read()
        assert code in status, (method, path, code, text)
        return json.loads(text)

    def token(self, face, sub):
        return self.call("POST", "/dev/token", {"tenant": TENANT, "face": face, "sub": sub})["token"]

    def admin(self, path, body, method="POST"):
        """Sends a request as one member of staff. The other one approves it if it takes two people."""
        answer = self.call(method, path, body, self.staff[0])
        if "approval_id" not in answer:
            return answer
        approve = f"/v1/admin/approvals/{answer['approval_id']}/approve"
        return self.call("POST", approve, {}, self.staff[1])

    def shop(self, amount):
        """A merchant that is paid by bank, and has taken an amount that was credited."""
        merchant = self.admin("/v1/admin/merchants", {"name": "Aoba"})["merchant_id"]
        account = {
            "bank_code": "0009", "branch_code": "123", "account_type": "ordinary",
            "account_number": "1234567", "account_holder": "ミドリ",
        }
        self.admin(f"/v1/admin/merchants/{merchant}", {"payout_destination": account}, method="PATCH")
        # The day in which a changed destination is not paid to passes.
        profile = {"uuid": {"S": f"{TENANT}#merchant#{merchant}"}, "type": {"S": "PROFILE"}}
        self.dynamodb.update_item(TableName="ecopay", Key=profile, UpdateExpression="REMOVE payout_from")
        customer = self.admin("/v1/admin/customers", {"name": "Hanako"})["customer_id"]
        asked = {
            "customer_id": customer, "direction": "credit", "amount": amount,
            "reason_code": "opening", "note": "for a test",
        }
        self.admin("/v1/admin/adjustments", asked)
        token = self.token("customer", customer)
        paid = self.call("POST", "/v1/me/payments", {"merchant_id": merchant, "amount": amount}, token)
        self.credit(merchant, customer, paid)
        return merchant

    def credit(self, merchant, customer, paid):
        """What the worker that seals the entry does; no worker serves this tenant."""
        entry = {"uuid": {"S": f"{TENANT}#customer#{customer}"}, "type": {"S": f"TXN#{paid['transaction_id']}"}}
        stamp = {
            "TableName": "ecopay", "Key": entry, "UpdateExpression": "SET #_credited_at = :at, #_period = :period",
            "ConditionExpression": "credited_by = :seal AND attribute_not_exists(#_credited_at)",
            "ExpressionAttributeNames": {"#_credited_at": "_credited_at", "#_period": "_period"},
            "ExpressionAttributeValues": {
                ":at": {"S": "2026-11-21T00:00:00.000Z"}, ":period": {"S": "L0/1"}, ":seal": {"S": "seal"},
            },
        }
        sums = {
            "TableName": "ecopay",
            "Key": {"uuid": {"S": f"{TENANT}#merchant#{merchant}"}, "type": {"S": "CREDITED#00"}},
            "UpdateExpression": "SET #period = :one, #segment = :one ADD period_records :one, taken_ecopay :amount",
            "ExpressionAttributeNames": {"#period": "period", "#segment": "segment"},
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":amount": {"N": paid["amount"]}},
        }
        self.dynamodb.transact_write_items(TransactItems=[{"Update": stamp}, {"Update": sums}])

    def close(self, merchant):
        return self.admin("/v1/admin/settlements", {"merchant_id": merchant})["settlement_id"]

    def kyc(self, merchant, result):
        self.call("POST", f"/dev/kyc/{merchant}", {"result": result})

    def view(self, merchant, settlement):
        return self.call("GET", f"/v1/admin/merchants/{merchant}/settlements/{settlement}", None, self.staff[0])

    def balance(self, merchant):
        """What the merchant has, with what is credited in the lane; and what of it is held."""
        balance, credited = self.item(merchant, "BALANCE#ECOPAY"), self.item(merchant, "CREDITED#00")
        has = int(balance.get("balance", "0")) + int(credited.get("taken_ecopay", "0"))
        return str(has), balance.get("held", "0")

    def item(self, merchant, sort_key):
        """The numbers of an item of the merchant's; none if there is no such item."""
        key = {"uuid": {"S": f"{TENANT}#merchant#{merchant}"}, "type": {"S": sort_key}}
        item = self.dynamodb.get_item(TableName="ecopay", Key=key, ConsistentRead=True).get("Item", {})
        return {name: value["N"] for name, value in item.items() if "N" in value}

    def resume(self, merchant, settlement):
        self.admin(f"/v1/admin/merchants/{merchant}/settlements/{settlement}/resume", {"reason": "repaired"})


class Paths:
    def __init__(self, stack, interpreter):
        self.stack, self.interpreter, self.count = stack, interpreter, 0

    def run(self, want, kyc="passed", amount="3000", plan=None, status="SUCCEEDED", back=None):
        """One settlement, from its opening to the end of its saga."""
        stack = self.stack
        merchant = stack.shop(amount)
        stack.kyc(merchant, kyc)
        settlement = stack.close(merchant)
        ended = self.ended(self.start(merchant, settlement, plan))
        view = stack.view(merchant, settlement)
        what = (plan, kyc, view, self.interpreter.tasks(settlement))
        assert ended == status, (ended, what)
        assert view["status"] == want, what
        assert view.get("undo_reason") == back, what
        if want == "booked":
            assert stack.balance(merchant) == ("0", "0"), what
        if want == "undone":
            assert stack.balance(merchant) == (amount, "0"), what
        self.count += 1
        return merchant, settlement

    def start(self, merchant, settlement, plan=None):
        self.interpreter.plan(settlement, plan)
        return self.interpreter.start({"tenant": TENANT, "merchant_id": merchant, "settlement_id": settlement})

    def ended(self, execution):
        return self.interpreter.ended(execution)["status"]

    def all(self):
        tasks = self.interpreter.tasks
        # Forward, with failure and repetition at every step.
        _, settlement = self.run("booked")
        assert tasks(settlement) == STEPS, tasks(settlement)
        for task in STEPS:
            for mode in ("before", "after", "twice"):
                self.run("booked", plan={"task": task, "mode": mode, "times": 1})
        self.run("booked", plan={"task": "collect", "mode": "again", "times": 2})

        # Nothing to settle.
        merchant, settlement = self.run("booked")
        empty = self.stack.close(merchant)
        assert self.ended(self.start(merchant, empty)) == "SUCCEEDED"
        assert self.stack.view(merchant, empty)["status"] == "carried"

        # Backward from the check, and from a payout that no file can ask for, which undoes everything.
        refused, too_much = "kyc_refused", "payout_refused"
        _, settlement = self.run("undone", kyc="refused", back=refused)
        undoing = ["undo_fee", "undo_release", "undo_hold", "undo_collect"]
        assert tasks(settlement) == STEPS[:3] + undoing, tasks(settlement)
        _, settlement = self.run("undone", amount="20000000000", back=too_much)
        assert tasks(settlement) == STEPS + undoing, tasks(settlement)
        for task in undoing:
            for mode in ("before", "after", "twice"):
                plan = {"task": task, "mode": mode, "times": 1}
                self.run("undone", amount="20000000000", plan=plan, back=too_much)
        plan = {"task": "undo_collect", "mode": "again", "times": 2}
        self.run("undone", kyc="refused", plan=plan, back=refused)

        # A step that fails as often as it may, or in a way that no repetition mends, turns the saga back.
        for task in STEPS[:-1]:
            for mode in ("before", "broken", "nonsense"):
                self.run("undone", plan={"task": task, "mode": mode, "times": ALWAYS}, back="step_failed")
        # What was done before its answer was lost is undone with the rest.
        for task in STEPS[:-1]:
            self.run("undone", plan={"task": task, "mode": "after", "times": ALWAYS}, back="step_failed")

        # A payout of which nobody knows, and an undoing that does not end: they stop, and a person resumes them.
        for plan, kyc, stands, then, back in [
            ({"task": "payout", "mode": "before", "times": ALWAYS}, "passed", "charged", "booked", None),
            ({"task": "payout", "mode": "broken", "times": ALWAYS}, "passed", "charged", "booked", None),
            ({"task": "undo_hold", "mode": "before", "times": ALWAYS}, "refused", "held", "undone", refused),
            ({"task": "undo_collect", "mode": "nonsense", "times": ALWAYS}, "refused", "collecting", "undone", refused),
        ]:
            merchant, settlement = self.run(stands, kyc=kyc, plan=plan, status="FAILED", back=back)
            assert "stuck_since" in self.stack.view(merchant, settlement)
            self.stack.resume(merchant, settlement)
            assert self.ended(self.start(merchant, settlement)) == "SUCCEEDED"
            view = self.stack.view(merchant, settlement)
            assert view["status"] == then and "stuck_since" not in view, view

        # A payout whose answer is lost every time is booked all the same, and no record says otherwise.
        self.run("booked", plan={"task": "payout", "mode": "after", "times": ALWAYS})

        # A check that takes its time.
        merchant = self.stack.shop("3000")
        self.stack.kyc(merchant, "pending")
        settlement = self.stack.close(merchant)
        execution = self.start(merchant, settlement)
        time.sleep(1)
        assert self.stack.view(merchant, settlement)["status"] == "held"
        self.stack.kyc(merchant, "passed")
        assert self.ended(execution) == "SUCCEEDED"
        assert self.stack.view(merchant, settlement)["status"] == "booked"
        assert tasks(settlement).count("kyc") > 1
        # A transfer by bank is booked at once: nothing is waited for.
        never = self.interpreter.names - self.interpreter.entered - {"PayoutWait"}
        assert not never, f"states that no path came through: {never}"


def main():
    arguments = argparse.ArgumentParser()
    for name in ("--base-url", "--dynamodb-url", "--machine"):
        arguments.add_argument(name, required=True)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as plans:
        interpreter = Interpreter(plans)
        try:
            interpreter.machine(
                "settlement", given.machine, faults="Settlement", planned="settlement_id",
                tasks_url=given.base_url + "/dev/settlements/tasks", alias="SettlementFunctionAlias",
                filled={"LedgerName": "ledger"},
            )
            paths = Paths(Stack(given.base_url, given.dynamodb_url), interpreter)
            paths.all()
        finally:
            interpreter.stop()
        print(f"saga-paths: {paths.count} settlements took every path")


if __name__ == "__main__":
    main()
