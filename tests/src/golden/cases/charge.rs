//! A merchant charges the one-time code that a customer shows.
//! The code is consumed in the debit's own transaction, or not at all.

use super::Case;
use super::world::*;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// `epc_` and base64url of customer A's id and the bytes 0 to 15.
pub(super) const CODE: &str = "epc_AZoAAAAAcACAAAAAAAAACgABAgMEBQYHCAkKCwwNDg8";
/// The SHA-256 of [`CODE`].
pub(super) const HASH: &str = "f3cd4389e83f212f22fa10a1f45d6f2337af29a6a482db8aca4bb7acf8fd3f50";

fn case(id: &'static str, why: &'static str) -> Case {
    let claim = by_merchant("charge", "/v1/merchant/charges", json!({ "code_hash": HASH, "amount": "500" }));
    let does = Does::Charge {
        merchant: MERCHANT.to_owned(),
        code: CODE.to_owned(),
        amount: yen("500"),
        memo: Some("till 2".to_owned()),
    };
    Case::new(id, why, Some(claim), does)
}

pub(super) fn slot() -> Json {
    code_slot("customer", A, "CODE", HASH, "2026-11-21T03:00:00.001Z")
}

fn wallets(ecopay: &str) -> [Json; 4] {
    [config(), merchant(), wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", "0")]
}

pub(super) fn cases() -> Vec<Case> {
    let [config_, merchant_, ecopay, point] = wallets("5000");
    vec![
        case("charge/charged", "The code is consumed in the debit's own transaction.")
            .on(wallets("5000"))
            .on([slot()])
            .moves(&[(OF_A, "ECOPAY", "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")])
            .precedence(),
        case("charge/expired", "A code works until the instant it expires at, not then.")
            .on(wallets("5000"))
            .on([with(slot(), "expires_at", s(NOW))])
            .ends("rejected wrong_state by code"),
        case("charge/used", "A code works once.")
            .on(wallets("5000"))
            .on([with(slot(), "state", s("used"))])
            .ends("rejected wrong_state by code"),
        case("charge/replaced", "A later code has taken the slot.")
            .on(wallets("5000"))
            .on([with(slot(), "token_hash", s("0".repeat(64)))])
            .ends("rejected account_missing by code"),
        case("charge/never-issued", "A code that nobody issued.")
            .on(wallets("5000"))
            .ends("rejected account_missing by code"),
        case("charge/short", "A short balance leaves the code as it was.")
            .on(wallets("499"))
            .on([slot()])
            .ends("rejected insufficient by payer"),
        case("charge/used-and-short", "The code's state comes before a short balance.")
            .on(wallets("499"))
            .on([with(slot(), "state", s("used"))])
            .ends("rejected wrong_state by code"),
        case("charge/frozen", "A wallet frozen after the code was issued.")
            .on([config_, merchant_, frozen(ecopay), frozen(point), slot()])
            .ends("rejected account_frozen by payer"),
    ]
}
