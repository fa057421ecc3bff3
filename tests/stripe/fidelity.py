"""Holds the Stripe simulator against Stripe's own Python SDK: if the SDK cannot tell, our client need not.

Run by .ci/stripe-fidelity against a local stack; --base-url is the stack's, without /stripe.
"""

import argparse
import http.server
import json
import queue
import threading
import time
import urllib.request
import uuid

import stripe

API_KEY = "sk_test_local"
WEBHOOK_SECRET = "whsec_local"
YEN = {"currency": "jpy", "payment_method_types": ["card"]}


class Receiver(http.server.BaseHTTPRequestHandler):
    """A webhook endpoint that refuses each event once, and then takes it."""

    deliveries: "queue.Queue[tuple[bytes, str]]" = queue.Queue()
    refused: set[str] = set()

    def do_POST(self):
        payload = self.rfile.read(int(self.headers["Content-Length"]))
        event_id = json.loads(payload)["id"]
        first_time = event_id not in self.refused
        self.refused.add(event_id)
        self.send_response(500 if first_time else 200)
        self.end_headers()
        if not first_time:
            self.deliveries.put((payload, self.headers["Stripe-Signature"]))

    def log_message(self, *_):
        pass


class Dev:
    """The simulator's dev controls."""

    def __init__(self, base_url):
        self.base_url = base_url

    def post(self, path, **body):
        request = urllib.request.Request(
            f"{self.base_url}/dev/stripe{path}", data=json.dumps(body).encode(), method="POST",
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def fault(self, kind, method, path, **more):
        self.post("/faults", kind=kind, method=method, path_prefix=path, **more)


def raises(error_class, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except stripe.StripeError as error:
        assert type(error) is error_class, f"{type(error).__name__}: {error}"
        return error
    raise AssertionError(f"no {error_class.__name__}")


def client(base_url, api_key=API_KEY, retries=0, **options):
    return stripe.StripeClient(
        api_key, base_addresses={"api": f"{base_url}/stripe"}, max_network_retries=retries, **options
    )


def create(api, amount=1000, key=None, **params):
    options = {"idempotency_key": key} if key else {}
    return api.v1.payment_intents.create({"amount": amount, **YEN, **params}, options)


def intents(api, dev):
    intent = create(api, 1240, metadata={"topup": "7", "tenant": "demo"}, description="a top-up")
    assert isinstance(intent, stripe.PaymentIntent)
    assert intent.id.startswith("pi_") and intent.object == "payment_intent"
    assert (intent.amount, intent.currency, intent.amount_received) == (1240, "jpy", 0)
    assert intent.status == "requires_payment_method"
    assert intent.client_secret.startswith(f"{intent.id}_secret_")
    assert intent.metadata["topup"] == "7" and intent.livemode is False
    assert abs(intent.created - time.time()) < 60
    for absent in ("latest_charge", "canceled_at", "cancellation_reason", "last_payment_error", "customer"):
        assert getattr(intent, absent) is None, absent
    assert intent.last_response.headers["request-id"].startswith("req_")
    assert intent.last_response.headers["stripe-version"] == stripe.api_version

    found = api.v1.payment_intents.retrieve(intent.id)
    assert found.to_dict() == intent.to_dict(), "what is retrieved is what was created"
    updated = api.v1.payment_intents.update(intent.id, {"metadata": {"topup": "", "note": "x"}})
    assert updated.metadata.to_dict() == {"tenant": "demo", "note": "x"}

    declined = raises(
        stripe.CardError,
        api.v1.payment_intents.confirm,
        intent.id,
        {"payment_method": "pm_card_chargeDeclined"},
    )
    assert (declined.http_status, declined.code) == (402, "card_declined")
    assert declined.error.decline_code == "generic_decline"
    assert declined.error.payment_intent.id == intent.id
    again = api.v1.payment_intents.retrieve(intent.id)
    assert again.status == "requires_payment_method" and again.last_payment_error.code == "card_declined"

    paid = api.v1.payment_intents.confirm(
        intent.id, {"payment_method": "pm_card_visa", "expand": ["latest_charge"]}
    )
    assert (paid.status, paid.amount_received) == ("succeeded", 1240)
    assert isinstance(paid.latest_charge, stripe.Charge)
    assert paid.latest_charge.paid and paid.latest_charge.metadata["tenant"] == "demo"

    error = raises(stripe.InvalidRequestError, api.v1.payment_intents.cancel, intent.id)
    assert (error.http_status, error.code) == (400, "payment_intent_unexpected_state")
    assert error.error.payment_intent.status == "succeeded"

    other = create(api)
    cancelled = api.v1.payment_intents.cancel(other.id, {"cancellation_reason": "abandoned"})
    assert (cancelled.status, cancelled.cancellation_reason) == ("canceled", "abandoned")
    assert cancelled.canceled_at >= cancelled.created
    waiting = create(api)
    assert dev.post(f"/payment_intents/{waiting.id}/process")["status"] == "processing"
    dev.post(f"/payment_intents/{waiting.id}/succeed")
    assert api.v1.payment_intents.retrieve(waiting.id).status == "succeeded"


def errors(api, base_url):
    for params, code, param in [
        ({"amount": 49, **YEN}, "amount_too_small", "amount"),
        ({"currency": "jpy"}, "parameter_missing", "amount"),
        ({"amount": 500, **YEN, "colour": "red"}, "parameter_unknown", "colour"),
    ]:
        error = raises(stripe.InvalidRequestError, api.v1.payment_intents.create, params)
        assert (error.http_status, error.code, error.param) == (400, code, param), error
        assert error.request_id.startswith("req_")
    error = raises(stripe.InvalidRequestError, api.v1.payment_intents.retrieve, "pi_none")
    assert (error.http_status, error.code) == (404, "resource_missing")
    error = raises(stripe.InvalidRequestError, api.v1.customers.list)
    assert error.http_status == 404
    error = raises(stripe.AuthenticationError, client(base_url, "sk_test_other").v1.payment_intents.list)
    assert error.http_status == 401


def idempotency(api):
    key = str(uuid.uuid4())
    first, second = create(api, key=key), create(api, key=key)
    assert first.id == second.id
    assert "idempotent-replayed" not in first.last_response.headers
    assert second.last_response.headers["idempotent-replayed"] == "true"
    assert second.last_response.body == first.last_response.body, "byte for byte"
    error = raises(stripe.IdempotencyError, create, api, 1001, key=key)
    assert error.http_status == 400
    raises(
        stripe.IdempotencyError,
        api.v1.payouts.create,
        {"amount": 1000, "currency": "jpy"},
        {"idempotency_key": key},
    )


def pages(api):
    batch = str(uuid.uuid4())
    ids = [create(api, customer=f"cus_{batch}").id for _ in range(7)]
    listed = api.v1.payment_intents.list({"limit": 3, "customer": f"cus_{batch}"})
    assert isinstance(listed, stripe.ListObject) and listed.has_more and len(listed.data) == 3
    assert [intent.id for intent in listed.auto_paging_iter()] == ids[::-1]
    backwards = api.v1.payment_intents.list({"limit": 3, "customer": f"cus_{batch}", "ending_before": ids[0]})
    assert [intent.id for intent in backwards.auto_paging_iter()] == ids[1:], "oldest first, as the SDK turns them"
    soon = int(time.time()) + 60
    assert api.v1.payment_intents.list({"created": {"gt": soon}}).data == []
    assert len(api.v1.payment_intents.list({"created": {"gte": soon - 3600, "lt": soon}, "limit": 2}).data) == 2


def refunds(api, dev):
    intent = create(api, payment_method="pm_card_visa", confirm=True)
    assert intent.status == "succeeded"
    part = api.v1.refunds.create(
        {"payment_intent": intent.id, "amount": 400, "metadata": {"refund": "1"}, "reason": "requested_by_customer"}
    )
    assert isinstance(part, stripe.Refund)
    assert (part.status, part.amount, part.currency, part.charge) == ("succeeded", 400, "jpy", intent.latest_charge)
    assert part.metadata["refund"] == "1" and part.failure_reason is None
    error = raises(stripe.InvalidRequestError, api.v1.refunds.create, {"charge": part.charge, "amount": 601})
    assert error.param == "amount"
    dev.post("/next_refund_status", status="pending")
    rest = api.v1.refunds.create({"charge": part.charge})
    assert (rest.status, rest.amount) == ("pending", 600)
    error = raises(stripe.InvalidRequestError, api.v1.refunds.create, {"payment_intent": intent.id})
    assert error.code == "charge_already_refunded"
    dev.post(f"/refunds/{rest.id}/fail", failure_reason="lost_or_stolen_card")
    failed = api.v1.refunds.retrieve(rest.id)
    assert (failed.status, failed.failure_reason) == ("failed", "lost_or_stolen_card")
    assert [refund.id for refund in api.v1.refunds.list({"payment_intent": intent.id}).data] == [rest.id, part.id]


def disputes_and_payouts(api, dev):
    intent = create(api, payment_method="pm_card_visa", confirm=True)
    opened = dev.post(f"/payment_intents/{intent.id}/dispute", amount=700)
    dispute = api.v1.disputes.retrieve(opened["id"])
    assert isinstance(dispute, stripe.Dispute)
    assert (dispute.status, dispute.amount, dispute.payment_intent) == ("needs_response", 700, intent.id)
    assert dispute.metadata.to_dict() == {} and dispute.balance_transactions[0].amount == -700
    dev.post(f"/disputes/{dispute.id}/win")
    assert api.v1.disputes.list({"payment_intent": intent.id}).data[0].status == "won"
    payout = api.v1.payouts.create({"amount": 5000, "currency": "jpy", "metadata": {"payout": "1"}})
    assert isinstance(payout, stripe.Payout) and payout.status == "pending"
    dev.post(f"/payouts/{payout.id}/pay")
    assert api.v1.payouts.retrieve(payout.id).status == "paid"
    assert payout.id in [listed.id for listed in api.v1.payouts.list({"status": "paid"}).data]


def events(api):
    key = str(uuid.uuid4())
    intent = create(api, key=key)
    event = api.v1.events.list({"type": "payment_intent.created", "limit": 1}).data[0]
    assert isinstance(event, stripe.Event) and event.id.startswith("evt_")
    assert (event.data.object["id"], event.request.idempotency_key) == (intent.id, key)
    assert event.request.id == intent.last_response.headers["request-id"]
    assert api.v1.events.retrieve(event.id).id == event.id
    api.v1.payment_intents.cancel(intent.id)
    types = ["payment_intent.created", "payment_intent.canceled"]
    both = api.v1.events.list({"types": types, "limit": 2}).data
    assert [event.type for event in both] == types[::-1]
    assert both[0].data.object.status == "canceled" and both[1].data.object.status == "requires_payment_method"


def webhooks(api, dev):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    dev.post("/webhook_url", url=f"http://127.0.0.1:{server.server_port}/webhook")
    try:
        intent = create(api, payment_method="pm_card_visa", confirm=True)
        received = {}
        while len(received) < 3:
            payload, signature = Receiver.deliveries.get(timeout=20)
            event = stripe.Webhook.construct_event(payload, signature, WEBHOOK_SECRET)
            received[event.type] = event
            raises(
                stripe.SignatureVerificationError,
                stripe.Webhook.construct_event,
                payload + b" ",
                signature,
                WEBHOOK_SECRET,
            )
        assert set(received) == {"payment_intent.created", "charge.succeeded", "payment_intent.succeeded"}
        paid = received["payment_intent.succeeded"]
        assert isinstance(paid.data.object, stripe.PaymentIntent)
        assert (paid.data.object.id, paid.data.object.status) == (intent.id, "succeeded")

        # The same event again, and one that was signed too long ago.
        dev.post(f"/events/{paid.id}/deliver", repeats=1)
        for _ in range(2):
            payload, signature = Receiver.deliveries.get(timeout=20)
            assert stripe.Webhook.construct_event(payload, signature, WEBHOOK_SECRET).id == paid.id
        dev.post(f"/events/{paid.id}/deliver", signed_at_s=int(time.time()) - 301)
        payload, signature = Receiver.deliveries.get(timeout=20)
        raises(
            stripe.SignatureVerificationError, stripe.Webhook.construct_event, payload, signature, WEBHOOK_SECRET
        )
    finally:
        dev.post("/webhook_url", url=None)
        server.shutdown()


def retries(base_url, dev):
    """What the SDK repeats by itself, and what it leaves alone."""
    patient, path = client(base_url, retries=2), "/v1/payment_intents"
    for kind in ("conflict", "lock_timeout", "connection_lost_before", "connection_lost_after"):
        before = len(patient.v1.payment_intents.list({"limit": 100}).data)
        dev.fault(kind, "POST", path)
        intent = create(patient)
        replayed = intent.last_response.headers.get("idempotent-replayed")
        assert replayed == ("true" if kind == "connection_lost_after" else None), kind
        assert len(patient.v1.payment_intents.list({"limit": 100}).data) == before + 1, kind
    dev.fault("error_before", "GET", path, times=2)
    assert patient.v1.payment_intents.retrieve(intent.id).id == intent.id

    # A 500 stays a 500 under its key, and Stripe says that a retry is no use.
    key = str(uuid.uuid4())
    dev.fault("error_after", "POST", path)
    error = raises(stripe.APIError, create, patient, key=key)
    assert error.http_status == 500 and error.headers["stripe-should-retry"] == "false"
    error = raises(stripe.APIError, create, patient, key=key)
    assert error.http_status == 500 and error.headers["idempotent-replayed"] == "true"

    dev.fault("rate_limited", "POST", path)
    raises(stripe.RateLimitError, create, patient)
    dev.fault("connection_lost_before", "POST", path)
    raises(stripe.APIConnectionError, create, client(base_url))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--base-url", required=True)
    base_url = arguments.parse_args().base_url.rstrip("/")
    api, dev = client(base_url), Dev(base_url)
    dev.post("/webhook_url", url=None)
    for name, check in [
        ("intents", lambda: intents(api, dev)),
        ("errors", lambda: errors(api, base_url)),
        ("idempotency", lambda: idempotency(api)),
        ("retries", lambda: retries(base_url, dev)),
        ("pages", lambda: pages(api)),
        ("refunds", lambda: refunds(api, dev)),
        ("disputes and payouts", lambda: disputes_and_payouts(api, dev)),
        ("events", lambda: events(api)),
        ("webhooks", lambda: webhooks(api, dev)),
    ]:
        check()
        print(f"ok  {name}")
    print(f"the simulator holds against stripe-python {stripe.VERSION}")


if __name__ == "__main__":
    main()
