"""Every path of the settlement's state machine, on an interpreter of the Amazon States Language.

The machine is the deployed file but for its pauses, which the interpreter shortens. Its function is a shim
that calls our own function's task on the local stack, and meanwhile fails as a plan says: before the task is
done, after it, every time, or by doing it twice.
"""

import argparse
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
import zipfile

import botocore.session
from botocore.config import Config

TENANT = "saga"
STEPS = ["collect", "hold", "kyc", "release", "fee", "payout"]
ALWAYS = 1000

# The function of the state machine: one file, no dependencies.
SHIM = '''
import json, os, urllib.error, urllib.request

class Unavailable(Exception):
    pass

Unavailable.__name__ = "Settlement.Unavailable"

class Broken(Exception):
    pass

Broken.__name__ = "Settlement.Broken"

def call(event):
    request = urllib.request.Request(os.environ["TASKS"], json.dumps(event).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        name = json.load(error).get("errorType")
        raise (Unavailable if name == "Settlement.Unavailable" else Broken)(name)

def handler(event, context):
    path = os.path.join(os.environ["PLANS"], event["settlement_id"] + ".json")
    plan = {}
    if os.path.exists(path):
        with open(path) as file:
            plan = json.load(file)
    with open(path + ".log", "a") as log:
        log.write(event["task"] + "\\n")
    mode = None
    if plan.get("task") == event["task"] and plan.get("times", 0) > 0:
        plan["times"] -= 1
        mode = plan["mode"]
        with open(path, "w") as file:
            json.dump(plan, file)
    if mode == "before":
        raise Unavailable("before")
    if mode == "broken":
        raise Broken("broken")
    if mode == "again":
        return {"outcome": "again"}
    if mode == "nonsense":
        return {"outcome": "nonsense"}
    answer = call(event)
    if mode == "twice":
        answer = call(event)
    if mode == "after":
        raise Unavailable("after")
    return answer
'''


class Stack:
    """The local stack's API, and the table behind it."""

    def __init__(self, base_url, dynamodb_url):
        self.base_url = base_url
        session = botocore.session.get_session()
        self.dynamodb = session.create_client(
            "dynamodb", "ap-northeast-1", endpoint_url=dynamodb_url, aws_access_key_id="local", aws_secret_access_key="local"
        )
        staff = [str(uuid.uuid4()) for _ in range(2)]
        self.staff = [self.token("admin", sub) for sub in staff]

    def call(self, method, path, body=None, token=None, status=(200, 201)):
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

    def admin(self, path, body, second=False):
        return self.call("POST", path, body, self.staff[1 if second else 0])

    def shop(self, amount):
        """A merchant that is paid by bank, and has taken an amount that was credited."""
        merchant = self.admin("/v1/admin/merchants", {"name": "Aoba"})["merchant_id"]
        account = {
            "bank_code": "0009", "branch_code": "123", "account_type": "ordinary",
            "account_number": "1234567", "account_holder": "ミドリ",
        }
        self.call("PATCH", f"/v1/admin/merchants/{merchant}", {"payout_destination": account}, self.staff[0])
        customer = self.admin("/v1/admin/customers", {"name": "Hanako"})["customer_id"]
        asked = {
            "customer_id": customer, "direction": "credit", "amount": amount,
            "reason_code": "opening", "note": "for a test",
        }
        adjustment = self.admin("/v1/admin/adjustments", asked)["adjustment_id"]
        self.admin(f"/v1/admin/adjustments/{adjustment}/approve", {}, second=True)
        token = self.token("customer", customer)
        paid = self.call("POST", "/v1/me/payments", {"merchant_id": merchant, "amount": amount}, token)
        self.credit(merchant, paid["payment_id"], amount)
        return merchant

    def credit(self, merchant, payment, amount):
        """What the crediting worker does; nobody works for this tenant."""
        key = {"uuid": {"S": f"{TENANT}#payment#{payment}"}, "type": {"S": "PAYMENT"}}
        item = self.dynamodb.get_item(TableName="ecopay", Key=key, ConsistentRead=True)["Item"]
        due = item["due_pk"]["S"].replace("#due#credit#", "#due#settle#")
        record = {
            "TableName": "ecopay", "Key": key, "UpdateExpression": "SET credited_at = :at, due_pk = :due",
            "ExpressionAttributeValues": {":at": {"S": "2026-11-21T00:00:00.000Z"}, ":due": {"S": due}},
        }
        balance = {"uuid": {"S": f"{TENANT}#merchant#{merchant}"}, "type": {"S": "BALANCE#ECOPAY"}}
        added = {
            "TableName": "ecopay", "Key": balance, "UpdateExpression": "ADD balance :delta",
            "ExpressionAttributeValues": {":delta": {"N": amount}},
        }
        self.dynamodb.transact_write_items(TransactItems=[{"Update": record}, {"Update": added}])

    def close(self, merchant):
        return self.admin("/v1/admin/settlements", {"merchant_id": merchant})["settlement_id"]

    def kyc(self, merchant, result):
        self.call("POST", f"/dev/kyc/{merchant}", {"result": result})

    def view(self, merchant, settlement):
        return self.call("GET", f"/v1/admin/merchants/{merchant}/settlements/{settlement}", None, self.staff[0])

    def balance(self, merchant):
        key = {"uuid": {"S": f"{TENANT}#merchant#{merchant}"}, "type": {"S": "BALANCE#ECOPAY"}}
        item = self.dynamodb.get_item(TableName="ecopay", Key=key, ConsistentRead=True)["Item"]
        return tuple(item.get(name, {"N": "0"})["N"] for name in ("balance", "held"))

    def resume(self, merchant, settlement):
        self.admin(f"/v1/admin/merchants/{merchant}/settlements/{settlement}/resume", {"reason": "repaired"})


class Interpreter:
    """Step Functions and its one function."""

    def __init__(self, machine, tasks_url, plans):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # Pauses of minutes become tenths of seconds.
        environment = dict(os.environ, BIND_HOST="127.0.0.1", GATEWAY_PORT=str(port), SFN_WAIT_SCALE="0.001")
        self.log = open(os.path.join(plans, "interpreter.log"), "w")
        self.process = subprocess.Popen(
            [os.path.join(os.path.dirname(sys.executable), "ministack")], env=environment, stdout=self.log, stderr=self.log
        )
        url = f"http://127.0.0.1:{port}"
        session = botocore.session.get_session()
        config = Config(retries={"max_attempts": 0})
        client = lambda service: session.create_client(
            service, "us-east-1", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test", config=config
        )
        self.states, functions = client("stepfunctions"), client("lambda")
        for _ in range(300):
            try:
                self.states.list_state_machines()
                break
            except Exception:
                time.sleep(0.1)
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("shim.py", SHIM)
        role = "arn:aws:iam::000000000000:role/saga"
        function = functions.create_function(
            FunctionName="settlement", Runtime="python3.11", Role=role, Handler="shim.handler", Timeout=60,
            Code={"ZipFile": package.getvalue()}, Environment={"Variables": {"TASKS": tasks_url, "PLANS": plans}},
        )["FunctionArn"]
        with open(machine) as file:
            definition = file.read().replace("${SettlementFunctionAlias}", function).replace("${LedgerName}", "ledger")
        self.names = set(json.loads(definition)["States"])
        self.entered = set()
        made = self.states.create_state_machine(name="settlement", definition=definition, roleArn=role)
        self.arn = made["stateMachineArn"]

    def start(self, merchant, settlement):
        run = {"tenant": TENANT, "merchant_id": merchant, "settlement_id": settlement}
        return self.states.start_execution(stateMachineArn=self.arn, input=json.dumps(run))["executionArn"]

    def ended(self, execution, within_s=60):
        for _ in range(within_s * 20):
            status = self.states.describe_execution(executionArn=execution)["status"]
            if status != "RUNNING":
                break
            time.sleep(0.05)
        token = {}
        while True:
            page = self.states.get_execution_history(executionArn=execution, maxResults=1000, **token)
            for event in page["events"]:
                if "stateEnteredEventDetails" in event:
                    self.entered.add(event["stateEnteredEventDetails"]["name"])
            if "nextToken" not in page:
                return status
            token = {"nextToken": page["nextToken"]}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Paths:
    def __init__(self, stack, interpreter, plans):
        self.stack, self.interpreter, self.plans, self.count = stack, interpreter, plans, 0

    def run(self, want, kyc="passed", amount="3000", plan=None, status="SUCCEEDED", back=None):
        """One settlement, from its opening to the end of its saga."""
        stack, interpreter = self.stack, self.interpreter
        merchant = stack.shop(amount)
        stack.kyc(merchant, kyc)
        settlement = stack.close(merchant)
        self.planned(settlement, plan)
        ended = interpreter.ended(interpreter.start(merchant, settlement))
        view = stack.view(merchant, settlement)
        what = (plan, kyc, view, self.tasks(settlement))
        assert ended == status, (ended, what)
        assert view["status"] == want, what
        assert view.get("turned_back") == back, what
        if want == "paid":
            assert stack.balance(merchant) == ("0", "0"), what
        if want == "undone":
            assert stack.balance(merchant) == (amount, "0"), what
        self.count += 1
        return merchant, settlement

    def planned(self, settlement, plan):
        with open(os.path.join(self.plans, settlement + ".json"), "w") as file:
            json.dump(plan or {}, file)

    def tasks(self, settlement):
        with open(os.path.join(self.plans, settlement + ".json.log")) as log:
            return log.read().split()

    def all(self):
        # Forward, with failure and repetition at every step.
        _, settlement = self.run("paid")
        assert self.tasks(settlement) == STEPS, self.tasks(settlement)
        for task in STEPS:
            for mode in ("before", "after", "twice"):
                self.run("paid", plan={"task": task, "mode": mode, "times": 1})
        self.run("paid", plan={"task": "collect", "mode": "again", "times": 2})

        # Nothing to settle.
        merchant, settlement = self.run("paid")
        empty = self.stack.close(merchant)
        self.planned(empty, None)
        assert self.interpreter.ended(self.interpreter.start(merchant, empty)) == "SUCCEEDED"
        assert self.stack.view(merchant, empty)["status"] == "carried"

        # Backward from the check, and from a payout that no file can ask for, which undoes everything.
        refused, too_much = "kyc_refused", "payout_refused"
        _, settlement = self.run("undone", kyc="refused", back=refused)
        undoing = ["undo_fee", "undo_release", "undo_hold", "undo_collect"]
        assert self.tasks(settlement) == STEPS[:3] + undoing, self.tasks(settlement)
        _, settlement = self.run("undone", amount="20000000000", back=too_much)
        assert self.tasks(settlement) == STEPS + undoing, self.tasks(settlement)
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
            ({"task": "payout", "mode": "before", "times": ALWAYS}, "passed", "charged", "paid", None),
            ({"task": "payout", "mode": "broken", "times": ALWAYS}, "passed", "charged", "paid", None),
            ({"task": "undo_hold", "mode": "before", "times": ALWAYS}, "refused", "held", "undone", refused),
            ({"task": "undo_collect", "mode": "nonsense", "times": ALWAYS}, "refused", "collecting", "undone", refused),
        ]:
            merchant, settlement = self.run(stands, kyc=kyc, plan=plan, status="FAILED", back=back)
            assert "stuck_since" in self.stack.view(merchant, settlement)
            self.planned(settlement, None)
            self.stack.resume(merchant, settlement)
            assert self.interpreter.ended(self.interpreter.start(merchant, settlement)) == "SUCCEEDED"
            view = self.stack.view(merchant, settlement)
            assert view["status"] == then and "stuck_since" not in view, view

        # A payout whose answer is lost every time has left all the same, and nobody is told otherwise.
        self.run("paid", plan={"task": "payout", "mode": "after", "times": ALWAYS})

        # A check that takes its time.
        merchant = self.stack.shop("3000")
        self.stack.kyc(merchant, "pending")
        settlement = self.stack.close(merchant)
        self.planned(settlement, None)
        execution = self.interpreter.start(merchant, settlement)
        time.sleep(1)
        assert self.stack.view(merchant, settlement)["status"] == "held"
        self.stack.kyc(merchant, "passed")
        assert self.interpreter.ended(execution) == "SUCCEEDED"
        assert self.stack.view(merchant, settlement)["status"] == "paid"
        assert self.tasks(settlement).count("kyc") > 1
        # A bank's file is paid at once: nothing is waited for.
        never = self.interpreter.names - self.interpreter.entered - {"PayoutWait"}
        assert not never, f"states that no path came through: {never}"


def main():
    arguments = argparse.ArgumentParser()
    for name in ("--base-url", "--dynamodb-url", "--machine"):
        arguments.add_argument(name, required=True)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as plans:
        interpreter = Interpreter(given.machine, given.base_url + "/dev/settlements/tasks", plans)
        try:
            paths = Paths(Stack(given.base_url, given.dynamodb_url), interpreter, plans)
            paths.all()
        finally:
            interpreter.stop()
        print(f"saga-paths: {paths.count} settlements took every path")


if __name__ == "__main__":
    main()
