//! The marker alone: a stored refusal takes its key, or finds an existing marker in any state.

use super::Case;
use super::world::*;
use crate::golden::command::{ClaimJson, Does};
use serde_json::json;

/// SHA-256 of the canonical JSON of `claim()`, computed by hand with Python's json and hashlib.
const FP: &str = "37abb79876bd702f657e2121f6ca4bbdd554af5269e9ae4c9a329d10ab0fc7e9";
/// 2026-11-21T03:00:00Z is 1795230000. A lapsed marker's `ttl` is more than 300 s before that.
const LAPSED: &str = "1795229699";
const NOT_QUITE_LAPSED: &str = "1795229700";
/// 91 days and 300 s after 2026-11-20T03:00:00Z.
const TTL: &str = "1803006300";

fn claim() -> ClaimJson {
    by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": { "asset": "ECOPAY", "amount": "100" } }))
}

fn case(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, Some(claim()), Does::Refusal {})
}

pub(super) fn cases() -> Vec<Case> {
    let existing = || marker(&claim(), EARLIER, TTL, FP);
    let mut unborn = case(
        "forms/marker-uuidv7-key",
        "A UUIDv7 key that is born five minutes ahead of us: its marker's ttl counts from its birth.",
    );
    // 1795230300000 ms in the first 48 bits.
    unborn.given.command.claim = Some(keyed(claim(), "01a1fc10-7760-7000-8000-000000000001"));
    vec![
        case("forms/marker-absent", "A key that has not been seen is taken."),
        case("forms/marker-lapsed", "A marker whose ttl has passed by more than the skew is as good as deleted.")
            .on([marker(&claim(), "2026-08-22T02:50:00.000Z", LAPSED, FP)]),
        case("forms/marker-within-the-skew", "A marker whose ttl has passed by no more than the skew still stands.")
            .on([marker(&claim(), "2026-08-22T02:50:00.000Z", NOT_QUITE_LAPSED, FP)])
            .ends("expired"),
        case("forms/marker-stands", "The same request again gets the stored answer.").on([existing()]).ends("replay"),
        case("forms/marker-of-another-request", "The key is bound to the request that it came with.")
            .on([with(existing(), "fp", s("0".repeat(64)))])
            .ends("reused"),
        case("forms/marker-answered-90-days-ago", "After 90 days the answer is no longer replayed.")
            .on([marker(&claim(), "2026-08-23T03:00:00.000Z", "1795316700", FP)])
            .ends("expired"),
        case("forms/marker-answered-just-under-90-days-ago", "Until then it is.")
            .on([marker(&claim(), "2026-08-23T03:00:00.001Z", "1795316700", FP)])
            .ends("replay"),
        case("forms/marker-reversed", "A tombstone has no ttl and comes before the fingerprint.")
            .on([item(
                "customer",
                A,
                "card_op_idem#pay#k-1",
                json!({ "state": s("REVERSED"), "operation": s("pay"), "actor": s(OF_A), "processed_at": s(EARLIER) }),
            )])
            .ends("reversed"),
        unborn,
    ]
}
