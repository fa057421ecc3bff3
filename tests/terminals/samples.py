"""Holds the samples of terminals, and what docs/terminals.md says of errors, against a local stack.

Run by .ci/terminal-samples. Each --sample is the command of one sample; --sign is the folder of the Python one, whose
`sign` makes the requests that a sample would not send.
"""

import argparse
import json
import pathlib
import re
import shlex
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

# What only a fault, a load, a limit, a room, a counter, a tenant with PINs or ten minutes make: the guide lists them, and
# nothing here provokes them.
NOT_PROVOKED = {
    ("400", "cash_not_outstanding"),
    ("400", "limit_exceeded"),
    ("400", "refund_room_exceeded"),
    ("400", "pin_locked"),
    ("400", "pin_required"),
    ("400", "pin_wrong"),
    ("400", "reversal_too_late"),
    ("403", "not_at_counter"),
    ("429", "rate_limited"),
    ("500", "internal"),
    ("503", "busy"),
    ("503", "outcome_unknown"),
    ("503", "unavailable"),
}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.text = status, headers, body

    @property
    def body(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text}"


def http(method, url, headers, body=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return answer(response)
    except urllib.error.HTTPError as error:
        return answer(error)


def answer(response):
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status, headers, response.read().decode())


class Operator:
    """Two owners of the demo, who register terminals and cards: one requests, the other approves."""

    def __init__(self, url):
        self.url = url
        self.demo = http("GET", f"{url}/dev/demo", {}).body
        self.tokens = [self.token(person) for person in self.demo["staff"]]

    def token(self, person):
        grant = {"tenant": self.demo["tenant"], "face": "admin", "sub": person}
        return self.send(None, "POST", "/dev/token", grant)["token"]

    def send(self, token, method, path, body):
        headers = {"content-type": "application/json", "idempotency-key": str(uuid.uuid4())}
        if token:
            headers["authorization"] = f"Bearer {token}"
        made = http(method, self.url + path, headers, json.dumps(body).encode())
        assert made.status < 300, made
        return made.body

    def call(self, method, path, **body):
        first, second = self.tokens
        answer = self.send(first, method, path, body)
        if "approval_id" in answer:
            return self.send(second, "POST", f"/v1/admin/approvals/{answer['approval_id']}/approve", {})
        return answer

    def terminal(self):
        """A terminal that may take cash, out of the room that the demo's merchant has not allotted yet."""
        terminal = self.call("POST", "/v1/admin/terminals", merchant_id=self.demo["merchants"][0])["terminal_id"]
        self.call("POST", f"/v1/admin/terminals/{terminal}/cash-room", allot="10000")
        return terminal

    def code(self, terminal):
        path = f"/v1/admin/terminals/{terminal}/enrolment"
        self.call("POST", path)
        # Approved, the code is shown to the person who asks for it.
        return self.call("POST", path)["code"]

    def card(self):
        return self.call("POST", "/v1/admin/cards")["card_id"]


class Sample:
    """A terminal that is one of the samples."""

    def __init__(self, command, url, credential):
        self.base = [*shlex.split(command), "--url", url, "--credential", str(credential)]
        self.credential = credential

    def run(self, *arguments):
        return subprocess.run([*self.base, *arguments], capture_output=True, text=True, timeout=120)

    def call(self, *arguments):
        ran = self.run(*arguments)
        head, _, body = ran.stdout.partition("\n\n")
        status = re.search(r"^HTTP (\d+)$", head, re.MULTILINE)
        assert status, f"{arguments}: {ran.stdout}{ran.stderr}"
        headers = dict(re.findall(r"^([a-z -]+): (.*)$", head, re.MULTILINE))
        made = Answer(int(status[1]), headers, body.rstrip("\n"))
        assert ran.returncode == (made.status >= 400), f"{ran.returncode} for {made}"
        return made

    def signed(self, *arguments):
        ran = self.run(*arguments, "--dry-run")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


def send(request, **changed):
    request = {**request, **changed}
    body = request["body"].encode() if request["body"] else None
    return http(request["method"], request["url"], request["headers"], body)


def refused(made, status, code):
    assert made.status == status and made.body["code"] == code, f"{status} {code} expected: {made}"
    return made.body


def check_sample(sample, operator):
    """The samples' way: enrol, pay, lose the answer, be tampered with, be late, reverse."""
    terminal, card = operator.terminal(), operator.card()
    enrolled = sample.call("enrol", operator.code(terminal))
    assert enrolled.status == 201 and enrolled.body["key_id"] == f"demo/{terminal}/1", enrolled
    assert stat.S_IMODE(sample.credential.stat().st_mode) == 0o600

    path = f"/v1/terminal/cards/{card}"
    balance = lambda: sample.call("send", "GET", path).body["balance"]
    assert sample.call("send", "POST", f"{path}/topup", '{"amount":"1000"}').status == 201
    pay = ("send", "POST", f"{path}/pay", '{"amount":"240"}')
    paid = sample.call(*pay)
    assert paid.status == 201 and "idempotent-replayed" not in paid.headers, paid
    key = paid.headers["sent with idempotency-key"]
    again = sample.call(*pay, "--key", key)
    assert (again.status, again.text) == (201, paid.text), again
    assert again.headers["idempotent-replayed"] == "true" and balance() == "760", again

    request = sample.signed(*pay)
    tampered = send(request, body=request["body"].replace("240", "1"))
    refused(tampered, 401, "signature_invalid")
    assert balance() == "760" and send(request).status == 201 and balance() == "520"

    now = int(time.time())
    for created in (now - 310, now + 310):
        late = refused(sample.call(*pay, "--created", str(created)), 401, "signature_expired")
        assert late["server_time"].endswith("Z"), late
    assert balance() == "520"

    reverse = lambda key: sample.call("send", "POST", f"/v1/terminal/operations/card_pay/{key}/reverse")
    undone = reverse(key)
    assert undone.status == 200 and undone.body["outcome"] == "undone" and balance() == "760", undone
    assert reverse(key).body["outcome"] == "already_reversed"
    refused(sample.call(*pay, "--key", key), 409, "operation_reversed")
    unsent = sample.signed(*pay)["headers"]["idempotency-key"]
    assert reverse(unsent).body["outcome"] == "forbidden"
    refused(sample.call(*pay, "--key", unsent), 409, "operation_reversed")
    assert sample.call("send", "GET", f"/v1/terminal/operations/card_pay/{key}").body["state"] == "reversed"
    day = sample.call("send", "GET", "/v1/terminal/totals?date=2026-11-21")
    assert day.status == 200 and day.body["date"] == "2026-11-21", day


def check_errors(sample, operator, sign, Request):
    """Every error of the guide that can be provoked; returns those that were."""
    met = set()

    def meets(made, status, code):
        refused(made, status, code)
        met.add((str(status), code))

    terminal, card = operator.terminal(), operator.card()
    code = operator.code(terminal)
    assert sample.call("enrol", code).status == 201
    credential = json.loads(sample.credential.read_text())
    path = f"/v1/terminal/cards/{card}"
    sequence = iter(range(1000, 2000))

    def key(epoch=None):
        return f"{terminal}-{epoch or credential['epoch']}-{next(sequence)}"

    def post(path, body, key, content_type="application/json", **credentials):
        headers = {"content-type": content_type, **({"idempotency-key": key} if key else {})}
        request = Request("POST", operator.url + path, body.encode(), headers)
        signer = {**credential, **credentials}
        sign(request, signer["key_id"], signer["private_key"], int(time.time()))
        return http("POST", request.url, request.headers, request.body)

    amount = lambda yen: json.dumps({"amount": yen})
    assert post(f"{path}/topup", amount("1000"), key()).status == 201
    first, other = key(), key()
    paid = post(f"{path}/pay", amount("100"), first)
    refund = json.dumps({"payment_id": paid.body["payment_id"], "amount": "60"})
    assert paid.status == 201 and post(f"{path}/refund", refund, key()).status == 201

    meets(post(f"{path}/pay", amount("100"), key(), key_id=f"demo/{terminal}/9"), 401, "signature_invalid")
    late = sample.call("send", "POST", f"{path}/pay", amount("100"), "--created", str(int(time.time()) - 310))
    meets(late, 401, "signature_expired")
    meets(post(f"{path}/pay", amount("1.5"), key()), 400, "invalid_request")
    meets(post("/v1/terminal/charges", json.dumps({"code": "epc_short", "amount": "1"}), key()), 400, "invalid_request")
    meets(post(f"{path}/pay", amount("1"), None), 400, "idempotency_key_missing")
    spellings = [key().replace("-1-", "-01-"), key().upper(), f"{terminal}-1", key(epoch=2), "k"]
    for spelling in spellings:
        meets(post(f"{path}/pay", amount("1"), spelling), 400, "idempotency_key_invalid")
    meets(post(f"{path}/pay", amount("99999"), key()), 400, "insufficient_balance")
    meets(post(f"{path}/topup", amount("99999"), key()), 400, "cap_exceeded")
    meets(post(f"{path}/topup", amount("10000"), key()), 400, "cash_room_exceeded")
    meets(post(f"{path}/refund", refund, key()), 400, "over_refund")
    meets(post(f"/v1/terminal/operations/card_pay/{first}/reverse", "", key()), 400, "wrong_state")
    meets(post(f"/v1/terminal/cards/{uuid.uuid4()}/pay", amount("1"), key()), 404, "not_found")
    assert post(f"/v1/terminal/operations/card_pay/{other}/reverse", "", key()).status == 200
    meets(post(f"{path}/pay", amount("1"), other), 409, "operation_reversed")
    meets(post(f"{path}/pay", amount("1"), key(), "text/plain"), 415, "unsupported_media_type")
    meets(post(f"{path}/pay", " " * 65_537, key()), 413, "body_too_large")
    meets(post(f"{path}/pay", amount("2"), first), 422, "idempotency_key_fingerprint_mismatch")
    operator.call("PATCH", f"/v1/admin/cards/{card}", status="frozen")
    meets(post(f"{path}/pay", amount("1"), key()), 400, "account_frozen")

    # A new enrolment: the earlier epoch's keys are looked up and never executed.
    used, unused = first, key()
    public_key = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
    enrol = lambda **body: http(
        "POST", f"{operator.url}/v1/terminal/enrolments", {"content-type": "application/json"}, json.dumps(body).encode()
    )
    refused(enrol(code=code, public_key=public_key), 400, "invalid_request")
    refused(sample.call("enrol", code), 400, "wrong_state")
    latest = operator.code(terminal)
    refused(sample.call("enrol", code), 404, "not_found")
    assert sample.call("enrol", latest).status == 201
    old = credential
    credential = json.loads(sample.credential.read_text())
    meets(post(f"{path}/pay", amount("1"), key(), **old), 401, "signature_invalid")
    assert post(f"{path}/pay", amount("100"), used).headers["idempotent-replayed"] == "true"
    meets(post(f"{path}/pay", amount("1"), unused), 410, "idempotency_key_expired")
    return met


def documented(guide):
    rows = re.findall(r"^\| (\d{3}) \| `([a-z_]+)` \|", guide.read_text(), re.MULTILINE)
    assert len(rows) == len(set(rows)), "the guide has a row twice"
    return set(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--sample", action="append", required=True)
    parser.add_argument("--sign", type=pathlib.Path, required=True)
    parser.add_argument("--guide", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.sign))
    from terminal import Request, sign

    operator = Operator(arguments.url)
    samples = []
    for number, command in enumerate(arguments.sample):
        credential = arguments.work / f"terminal-{number}.json"
        credential.unlink(missing_ok=True)
        samples.append(Sample(command, arguments.url, credential))
        check_sample(samples[-1], operator)
        print(f"ok  {command}")
    met = check_errors(samples[0], operator, sign, Request)
    missing, unknown = (met | NOT_PROVOKED) - documented(arguments.guide), documented(arguments.guide) - met - NOT_PROVOKED
    assert not missing and not unknown, f"{arguments.guide}: lacks {missing}, has {unknown}"
    print(f"ok  {len(met)} errors of {arguments.guide}")


if __name__ == "__main__":
    main()
