//! Items and facts for cases with the PSP: a top-up of 5,000 yen with 50 points, its refund, the markers of both in
//! flight, and the PSP's objects as facts.

use super::world::*;
use crate::golden::command::{AnswerJson, ClaimJson, FactJson, MarkerJson, PspJson};
use serde_json::{Value as Json, json};

pub(super) const TOPUP: &str = "019a9000-0000-7000-8000-0000000000a1";
pub(super) const REFUND: &str = "019a9000-0000-7000-8000-0000000000b1";
pub(super) const INTENT: &str = "pi_1";
pub(super) const PSP_REFUND: &str = "re_1";
pub(super) const DISPUTE: &str = "dp_1";
pub(super) const EVENT: &str = "evt_1";

/// Names of the held and reserved parts of a balance; the cap counts the sum of all three parts.
pub(super) const HELD: &str = "held of ECOPAY";
pub(super) const HELD_POINTS: &str = "held of POINT";
pub(super) const RESERVED: &str = "reserved of ECOPAY";

/// SHA-256 of the canonical JSON of `topup_by_a()`, computed with Python's json and hashlib.
const FP_TOPUP: &str = "52d9665696d63ae9efbb0f6ca99a9c81ff64428d9cc7f80134ce9caf2b116275";
/// SHA-256 of the canonical JSON of `refund_by_staff()`.
const FP_REFUND: &str = "609d439e9544b95c7e36a06be55d85f176c7412d7b4c0bbb5a7331574e33bf6d";

/// The terms, with 1 % points on top-ups, which are abandoned after a day.
pub(super) fn offering() -> Json {
    let topup = json!({ "M": { "points_rate": n("0.01"), "abandoned_after_s": n("86400") } });
    with(config(), "topup", topup)
}

/// The terms of a tenant that forgives spent points.
pub(super) fn forgiving() -> Json {
    with(offering(), "spent_points", s("forgive"))
}

pub(super) fn psp() -> PspJson {
    PspJson { ledger: "test".to_owned(), livemode: false, account: None }
}

pub(super) fn topup_by_a() -> ClaimJson {
    by_a("topup", "/v1/me/topups", json!({ "amount": { "asset": "ECOPAY", "amount": "5000" } }))
}

pub(super) fn refund_by_staff() -> ClaimJson {
    let path = format!("/v1/admin/topups/{TOPUP}/refunds");
    by_staff("topup_refund", &path, json!({ "amount": { "asset": "ECOPAY", "amount": "2000" } }))
}

pub(super) fn marker_of(claim: &ClaimJson) -> MarkerJson {
    MarkerJson { operation: claim.operation.clone(), principal: claim.principal.clone(), key: claim.key.clone() }
}

pub(super) fn answer(status: &str, body: &str) -> AnswerJson {
    AnswerJson {
        status: status.to_owned(),
        content_type: "application/json".to_owned(),
        location: None,
        body: body.to_owned(),
    }
}

/// A balance item: available, held, reserved.
pub(super) fn account(asset: &str, balance: &str, held: &str, reserved: &str) -> Json {
    let sum: i64 = [balance, held, reserved].iter().map(|part| part.parse::<i64>().unwrap()).sum();
    let item = with(with(wallet(A, asset, balance), "held", n(held)), "reserved", n(reserved));
    with(item, "exposure", n(&sum.to_string()))
}

/// The top-up before the PSP has confirmed it.
pub(super) fn requested() -> Json {
    item(
        "topup",
        TOPUP,
        "TOPUP",
        json!({
            "topup_id": s(TOPUP), "customer_id": s(A), "charge": n("5000"), "points": n("50"), "state": s("requested"),
            "livemode": { "BOOL": false }, "operation": s("topup"), "principal": s(OF_A), "actor": s(OF_A),
            "idempotency_key": s("k-1"), "expires_at": s(NOW), "shards": n("4"), "created_at": s(EARLIER),
            "updated_at": s(EARLIER), "due_pk": s("demo#due#psp_check#1"), "due_sk": s(format!("{NOW}#{TOPUP}")),
        }),
    )
}

pub(super) fn pending() -> Json {
    with(with(requested(), "state", s("pending")), "payment_intent", s(INTENT))
}

/// A top-up that is paid and credited, with this refundable amount.
pub(super) fn succeeded(refundable: &str, points_taken_back: &str) -> Json {
    let topup = without(without(with(pending(), "state", s("succeeded")), "due_pk"), "due_sk");
    let topup = with(with(topup, "refundable", n(refundable)), "points_taken_back", n(points_taken_back));
    with(with(topup, "owed", n("0")), "succeeded_at", s(EARLIER))
}

pub(super) fn canceled() -> Json {
    without(without(with(pending(), "state", s("canceled")), "due_pk"), "due_sk")
}

pub(super) fn refused() -> Json {
    without(without(with(requested(), "state", s("refused")), "due_pk"), "due_sk")
}

/// A refund of 2,000 yen and 20 points, before the PSP has confirmed it.
pub(super) fn refund_requested() -> Json {
    item(
        "topup",
        TOPUP,
        &format!("REFUND#{REFUND}"),
        json!({
            "refund_id": s(REFUND), "topup_id": s(TOPUP), "amount": n("2000"), "paid": n("2000"), "points": n("20"),
            "settled": n("20"), "state": s("requested"), "operation": s("topup_refund"), "principal": s(BY_STAFF),
            "actor": s(BY_STAFF), "idempotency_key": s("k-1"), "shards": n("4"), "created_at": s(EARLIER),
            "updated_at": s(EARLIER), "memo": s("asked for it"),
        }),
    )
}

/// The same with 13 of the points spent: 13 yen are kept for them.
pub(super) fn refund_keeping() -> Json {
    let refund = with(with(refund_requested(), "points", n("7")), "kept", n("13"));
    with(refund, "paid", n("1987"))
}

pub(super) fn refund_known(refund: Json, state: &str) -> Json {
    with(with(refund, "state", s(state)), "psp_refund", s(PSP_REFUND))
}

/// A marker in flight, taken a minute before `NOW`, so that its lease is over.
fn in_flight(of: &ClaimJson, fp: &str, resource: &str, [step, path, body]: [&str; 3]) -> Json {
    let (kind, id) = of.principal.split_once(':').unwrap();
    let taken = "2026-11-21T02:59:00.000Z";
    let lease = "2026-11-21T02:59:30.000Z";
    item(
        kind,
        id,
        &format!("card_op_idem#{}#{}", of.operation, of.key),
        json!({
            "state": s("IN_FLIGHT"), "operation": s(&of.operation), "actor": s(&of.actor), "processed_at": s(taken),
            "principal": s(&of.principal), "idempotency_key": s(&of.key), "fp": s(fp), "fp_v": n("1"),
            "resource": s(resource), "topup_id": s(TOPUP), "psp_step": s(step), "psp_path": s(path), "psp_body": s(body),
            "fence": n("1"), "lease_until": s(lease), "taken_at": s(taken), "epoch": n("1"), "first_sent_at": s(taken),
            "attempts": n("0"), "claimed_at": s(taken), "shards": n("4"), "due_pk": s("demo#due#flight#1"),
            "due_sk": s(format!("{lease}#{resource}")),
        }),
    )
}

pub(super) fn topup_in_flight() -> Json {
    let request = ["create_intent", "/v1/payment_intents", "amount=5000&currency=jpy"];
    in_flight(&topup_by_a(), FP_TOPUP, TOPUP, request)
}

pub(super) fn refund_in_flight() -> Json {
    let request = ["create_refund", "/v1/refunds", "payment_intent=pi_1&amount=2000"];
    in_flight(&refund_by_staff(), FP_REFUND, REFUND, request)
}

/// The marker after another holder has taken it over.
pub(super) fn taken_over(marker: Json) -> Json {
    let until = "2026-11-21T03:00:20.000Z";
    let marker = with(with(marker, "fence", n("2")), "taken_at", s("2026-11-21T02:59:50.000Z"));
    let due = format!("{until}#{}", marker["resource"]["S"].as_str().unwrap());
    with(with(marker, "lease_until", s(until)), "due_sk", s(due))
}

/// A marker refused `attempts` times, whose pause is over.
pub(super) fn failed_retry(marker: Json, attempts: &str) -> Json {
    with(with(marker, "state", s("FAILED_RETRY")), "attempts", n(attempts))
}

pub(super) fn parked(marker: Json) -> Json {
    let marker = with(with(marker, "state", s("PARKED")), "parked", s("attempts"));
    with(with(marker, "attempts", n("5")), "due_pk", s("demo#due#attention#1"))
}

/// The marker with its stored response.
pub(super) fn answered(of: &ClaimJson, marker: Json) -> Json {
    let completed = without(without(without(marker, "due_pk"), "due_sk"), "lease_until");
    let completed = with(with(completed, "state", s("COMPLETED")), "ttl", n("1795402500"));
    let completed = with(with(completed, "status", n("201")), "content_type", s("application/json"));
    assert_eq!(completed["operation"], s(&of.operation));
    with(completed, "body", s("{\"id\":\"original\"}"))
}

pub(super) fn intent(status: &str) -> FactJson {
    FactJson::Intent {
        id: INTENT.to_owned(),
        amount: "5000".to_owned(),
        currency: "jpy".to_owned(),
        received: if status == "succeeded" { "5000" } else { "0" }.to_owned(),
        status: status.to_owned(),
        livemode: false,
    }
}

pub(super) fn refund(id: &str, amount: &str, status: &str) -> FactJson {
    FactJson::Refund {
        id: id.to_owned(),
        intent: Some(INTENT.to_owned()),
        amount: amount.to_owned(),
        currency: "jpy".to_owned(),
        status: status.to_owned(),
    }
}

pub(super) fn withdrawn(amount: &str) -> FactJson {
    let (currency, id, intent) = ("jpy".to_owned(), DISPUTE.to_owned(), Some(INTENT.to_owned()));
    FactJson::Withdrawn { id, intent, amount: amount.to_owned(), currency, livemode: false, movements: None }
}

pub(super) fn reinstated(amount: &str) -> FactJson {
    let (currency, id, intent) = ("jpy".to_owned(), DISPUTE.to_owned(), Some(INTENT.to_owned()));
    FactJson::Reinstated { id, intent, amount: amount.to_owned(), currency, livemode: false, movements: None }
}

/// A dispute's event whose object lists this many movements of money.
pub(super) fn listing(fact: FactJson, listed: &str) -> FactJson {
    let listed = Some(listed.to_owned());
    match fact {
        FactJson::Withdrawn { id, intent, amount, currency, livemode, movements: _ } => {
            FactJson::Withdrawn { id, intent, amount, currency, livemode, movements: listed }
        }
        FactJson::Reinstated { id, intent, amount, currency, livemode, movements: _ } => {
            FactJson::Reinstated { id, intent, amount, currency, livemode, movements: listed }
        }
        fact @ (FactJson::Intent { .. } | FactJson::Refund { .. }) => fact,
    }
}
