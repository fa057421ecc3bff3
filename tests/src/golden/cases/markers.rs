//! Markers of the keyed form, which version 6 of the records writes: their fingerprints have a key, and responses with
//! a one-time secret are encrypted. Both forms are read, whatever the tenant writes.
//!
//! The fingerprints and the encrypted bodies of the states were computed with Python: HMAC of its standard library, and
//! XChaCha20-Poly1305 written out from its draft.

use super::outside::*;
use super::topup_events::{wallets, with_answer};
use super::world::*;
use super::{Case, cards, holds, pay, records, refund, topup, transfer};
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

/// Cases under version 6.
const UNDER_6: [(&str, &str, &str); 7] = [
    ("pay/money", "pay/records-6-money", "The fingerprint has a key; the response has no secret and is in clear."),
    ("pay/one-short", "pay/records-6-one-short", "The guards are the same."),
    ("pay/replayed", "pay/records-6-replayed", "A marker of the plain form is replayed."),
    ("transfer/sent", "transfer/records-6-sent", "A customer is the principal."),
    ("refund/partial", "refund/records-6-partial", "The merchant is the principal."),
    ("card_pay/paid", "card_pay/records-6-paid", "A terminal is the principal: its marker has no `ttl`."),
    (
        "topup/claimed",
        "topup/records-6-claimed",
        "An operation in flight names the key that will encrypt its response.",
    ),
];

/// The keyed fingerprints of `claim()`, by key.
const FP_CODE_1: &str = "a1d504170cd5ce2cef5a7c03d35fe4d0cf34d6713ed7d30f50836504cc513dfa";
const FP_CODE_2: &str = "1b6a3f223e1e5f0aff663fe3256759f3b31619c7b7d169be54779b865d2f1a0c";
/// `{"id":"original"}`, encrypted for the marker of `claim()` with either key.
const SEALED_1: &str = "QCsoddYJRpe/C0IXqpgfLo1TPiLPKIoI7PtkTtELHuOGazs9BKXSzZ9gmJk7Zrcf0WXTPxWIOGc7";
const SEALED_2: &str = "j899UDllr38gCbRd8FAlAuz1ujXyCaFIV45di22aFbNuYYZiZpB2bG+tuRpSI7YS5Co2fCUdWnfE";
/// The same, encrypted for the same request under the idempotency key `k-2`.
const SEALED_ELSEWHERE: &str = "Tqd2EYIe3LBI5GxS2YQxS0IGr7OBeLwoUz2DBQHK/S1B6ESyE6b3HxeFytNRacl0oqlZJDymNGbD";
/// The keyed fingerprint of `topup_by_a()`, with the earlier key.
const FP_TOPUP_1: &str = "f86eeea79a2ed64a684676e335876e9f799258f0d3e5f247ca49d7f770f58b61";
/// 91 days and 300 s after 2026-11-20T03:00:00Z.
const TTL: &str = "1803006300";

fn terms() -> Json {
    with(config(), "records", n("6"))
}

fn claim() -> ClaimJson {
    by_a("payment_code", "/v1/me/payment-code", json!({}))
}

fn code(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, Some(claim()), Does::PaymentCode { customer: A.to_owned(), sign_in: None })
        .on([terms(), profile(A, "2")])
}

/// A marker of the keyed form with an encrypted body.
fn sealed(key: &str, fingerprint: &str, body: &str) -> Json {
    let keyed = with(marker(&claim(), EARLIER, TTL, fingerprint), "fp_v", n("2"));
    with(with(without(keyed, "body"), "fp_key", s(key)), "sealed_body", json!({ "B": body }))
}

/// A top-up that was claimed in the keyed form, with the earlier key.
fn in_flight_keyed() -> Json {
    with(with(with(topup_in_flight(), "fp", s(FP_TOPUP_1)), "fp_v", n("2")), "fp_key", s("k1"))
}

pub(super) fn cases() -> Vec<Case> {
    let all = [pay::cases(), transfer::cases(), refund::cases(), cards::cases(), topup::cases()];
    let all: Vec<Case> = all.into_iter().flatten().collect();
    let mut cases: Vec<Case> = UNDER_6.iter().map(|case| records::under(&all, *case, "6")).collect();
    cases.extend(written());
    cases.extend(replayed());
    cases.extend(landed());
    cases.extend(refused());
    cases
}

/// Refusals that say which payment they refuse.
fn refused() -> Vec<Case> {
    let of = |id: &'static str, why: &'static str, like: &str, code: &str| {
        let all = [pay::cases(), cards::cases(), holds::cases()];
        let case = all.into_iter().flatten().find(|case| case.id == like).unwrap_or_else(|| panic!("no case {like}"));
        let command = case.given.command;
        let does = Does::RefusedPayment { payment: Box::new(command.does), code: code.to_owned() };
        let config = with(config(), "records", n("7"));
        let state = case.given.state.into_iter().filter(|item| item["type"]["S"] != "CONFIG").chain([config]);
        Case::new(id, why, command.claim, does).on(state.collect::<Vec<_>>())
    };
    vec![
        of("refusal/records-7-pay", "It is listed, for previews of terms.", "pay/three-assets", "insufficient_balance"),
        of("refusal/records-7-card-pay", "So is that of a card.", "card_pay/paid", "limit_exceeded"),
        of("refusal/records-7-authorize", "An authorization says that it is one.", "authorize/held", "wrong_state"),
    ]
}

fn written() -> Vec<Case> {
    let claim = by_staff("enrolment_code", &format!("/v1/admin/terminals/{TERMINAL}/enrolment"), json!({}));
    let does = Does::EnrolmentCode { terminal: TERMINAL.to_owned(), actor: BY_STAFF.to_owned(), permit: None };
    let refused = by_a(
        "pay",
        "/v1/me/payments",
        json!({ "merchant_id": MERCHANT, "amount": { "asset": "ECOPAY", "amount": "100" } }),
    );
    vec![
        code("payment_code/records-6-issued", "The response has a code, and is encrypted."),
        Case::new("enrolment_code/records-6-issued", "So is that with an enrolment code.", Some(claim), does)
            .on([terms(), terminal()]),
        Case::new("forms/marker-keyed", "A stored refusal has no secret.", Some(refused), Does::Refusal {})
            .on([terms()]),
    ]
}

fn replayed() -> Vec<Case> {
    let unknown = || with(sealed("k2", FP_CODE_2, SEALED_2), "fp_key", s("k0"));
    vec![
        code("payment_code/records-6-replayed", "It is decrypted and replayed.")
            .on([sealed("k2", FP_CODE_2, SEALED_2)])
            .ends("replay"),
        code("payment_code/records-6-replayed-earlier-key", "With the key that it names, not the current one.")
            .on([sealed("k1", FP_CODE_1, SEALED_1)])
            .ends("replay"),
        code("payment_code/records-6-reused", "A keyed fingerprint binds the key to its request.")
            .on([sealed("k2", FP_CODE_1, SEALED_2)])
            .ends("reused"),
        code("payment_code/records-6-elsewhere", "What was encrypted for another marker is not decrypted.")
            .on([sealed("k2", FP_CODE_2, SEALED_ELSEWHERE)])
            .ends("sealed for another"),
        code("payment_code/records-6-key-absent", "Without its key nothing is answered.")
            .on([unknown()])
            .ends("key k0 absent"),
        code("payment_code/records-6-expired", "A marker whose window has ended needs no key.")
            .on([with(unknown(), "processed_at", s("2026-08-23T03:00:00.000Z"))])
            .ends("expired"),
        Case::new(
            "payment_code/records-5-replays-records-6",
            "A process that still writes version 5 reads it.",
            Some(claim()),
            Does::PaymentCode { customer: A.to_owned(), sign_in: None },
        )
        .on([with(config(), "records", n("5")), profile(A, "2"), sealed("k2", FP_CODE_2, SEALED_2)])
        .ends("replay"),
    ]
}

fn landed() -> Vec<Case> {
    let fact = || intent("requires_payment_method");
    let landing = Does::TopupLanding { fact: fact(), topup: TOPUP.to_owned(), refund: None };
    let event = Does::TopupEvent {
        event: EVENT.to_owned(),
        kind: "payment_intent.created".to_owned(),
        fact: fact(),
        topup: TOPUP.to_owned(),
        refund: None,
    };
    let refused = Does::TopupRefused { topup: TOPUP.to_owned(), refund: None };
    let of = |id, why, does| with_answer(Case::new(id, why, None, does));
    vec![
        of("topup_events/records-6-landed", "The client secret is encrypted with the key of the claim.", landing)
            .on([in_flight_keyed()])
            .on(wallets(requested())),
        of("topup_events/records-6-landed-by-event", "An event stores the same bytes as the lease holder.", event)
            .on([in_flight_keyed()])
            .on(wallets(requested())),
        of("topup_events/records-6-refused", "A refusal has no secret.", refused)
            .on([in_flight_keyed()])
            .on(wallets(requested()))
            .moves(&[(OF_A, RESERVED, "-5000")]),
    ]
}
