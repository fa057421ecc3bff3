//! Stored-value cards at a terminal: cash top-up, payment, refund. Cap 20,000, bonus 1 %. A card earns neither points
//! nor CO2.

use super::Case;
use super::world::*;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

fn topup(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/topup");
    let claim = by_terminal("card_topup", 7, &path, json!({ "amount": amount }));
    let (terminal, merchant, card) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardTopup { terminal, merchant, card, charge: yen(amount) })
        .on([config(), merchant_()])
}

fn pay(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/pay");
    let claim = by_terminal("card_pay", 8, &path, json!({ "amount": amount }));
    let (terminal, merchant, card) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardPay { terminal, merchant, card, amount: yen(amount) }).on([config()])
}

fn refund(id: &'static str, why: &'static str, amount: Option<&str>) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/refund");
    let claim = by_terminal("card_refund", 9, &path, json!({ "payment_id": PAYMENT }));
    let does = Does::Refund {
        merchant: MERCHANT.to_owned(),
        payment: PAYMENT.to_owned(),
        amount: amount.map(yen),
        reason: Some("wrong size".to_owned()),
        terminal: Some(TERMINAL.to_owned()),
    };
    Case::new(id, why, Some(claim), does).on([config(), merchant_()])
}

fn merchant_() -> Json {
    merchant()
}

fn replaced(card: Json) -> Json {
    with(card, "state", s("replaced"))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = topups();
    all.extend(pays());
    all.extend(refunds());
    all.into_iter().map(Case::by_terminal).collect()
}

fn topups() -> Vec<Case> {
    let loaded =
        [(OF_CARD, "ECOPAY", "5050"), ("cash_clearing", "ECOPAY", "-5000"), ("points_issued", "ECOPAY", "-50")];
    vec![
        topup("card_topup/loaded", "Cash in, bonus added.", "5000").on([card("3000")]).moves(&loaded).precedence(),
        topup("card_topup/at-the-cap", "The cash just reaches the cap; the bonus passes it.", "5000")
            .on([card("15000")])
            .moves(&loaded),
        topup("card_topup/one-over-the-cap", "The cash would pass the cap by one.", "5000")
            .on([card("15001")])
            .ends("rejected cap_exceeded by card"),
        topup("card_topup/above-the-cap-alone", "More cash than a card may hold.", "20001")
            .on([card("0")])
            .ends("refused cap_exceeded"),
        topup("card_topup/without-bonus", "99 yen give no whole yen of bonus.", "99")
            .on([card("0")])
            .moves(&[(OF_CARD, "ECOPAY", "99"), ("cash_clearing", "ECOPAY", "-99")]),
        topup("card_topup/frozen", "A freeze does not stop what comes in.", "5000")
            .on([frozen(card("3000"))])
            .moves(&loaded),
        topup("card_topup/replaced", "A card that was replaced takes nothing.", "5000")
            .on([replaced(card("3000"))])
            .ends("rejected wrong_state by card"),
        topup("card_topup/missing", "There is no such card.", "5000").ends("rejected account_missing by card"),
        topup("card_topup/too-many-decimals", "The yen has no decimals.", "0.5")
            .ends("invalid amount: too_many_decimals"),
    ]
}

fn pays() -> Vec<Case> {
    let paid = [(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")];
    vec![
        pay("card_pay/paid", "A card earns neither points nor CO2.", "800")
            .on([merchant(), card("3000")])
            .moves(&paid)
            .precedence(),
        pay("card_pay/to-zero", "The card holds just the amount.", "800").on([merchant(), card("800")]).moves(&paid),
        pay("card_pay/one-short", "One yen is missing.", "800")
            .on([merchant(), card("799")])
            .ends("rejected insufficient by payer"),
        pay("card_pay/frozen-by-its-owner", "Nor one that its owner reported lost.", "800")
            .on([merchant(), with(card("3000"), "frozen_by_owner", s("2026-11-20T00:00:00.000Z"))])
            .ends("rejected account_frozen by payer"),
        pay("card_pay/frozen", "A frozen card pays nothing.", "800")
            .on([merchant(), frozen(card("3000"))])
            .ends("rejected account_frozen by payer"),
        pay("card_pay/replaced", "A replaced card pays nothing.", "800")
            .on([merchant(), replaced(card("3000"))])
            .ends("rejected wrong_state by payer"),
        pay("card_pay/missing", "There is no such card.", "800")
            .on([merchant()])
            .ends("rejected account_missing by payer"),
        pay("card_pay/merchant-suspended", "A suspended merchant takes no payments.", "800")
            .on([with(merchant(), "status", s("suspended")), card("3000")])
            .ends("refused wrong_state"),
    ]
}

fn refunds() -> Vec<Case> {
    let paid = || payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", "800")]);
    let partly = with(with(paid(), "refundable_ecopay", n("500")), "state", s("partially_refunded"));
    vec![
        refund("card_refund/partial", "Part of it comes back to the card.", Some("300"))
            .on([paid(), card("2200")])
            .moves(&[(OF_CARD, "ECOPAY", "300"), (OF_MERCHANT, "ECOPAY", "-300")])
            .precedence(),
        refund("card_refund/full", "All of it comes back.", None)
            .on([paid(), card("0")])
            .moves(&[(OF_CARD, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")]),
        refund("card_refund/rest", "What is left comes back.", None)
            .on([partly.clone(), card("0")])
            .moves(&[(OF_CARD, "ECOPAY", "500"), (OF_MERCHANT, "ECOPAY", "-500")]),
        refund("card_refund/one-over-the-rest", "One yen more than is left.", Some("501"))
            .on([partly.clone(), card("0")])
            .ends("refused over_refund"),
        refund("card_refund/frozen", "A freeze does not stop a refund.", Some("300"))
            .on([paid(), frozen(card("2200"))])
            .moves(&[(OF_CARD, "ECOPAY", "300"), (OF_MERCHANT, "ECOPAY", "-300")]),
        refund("card_refund/overtaken", "Another refund came in between: plan again.", Some("800"))
            .seen([paid()])
            .on([partly, card("0")])
            .ends("rejected stale_plan by payment"),
        refund("card_refund/card-gone", "There is no card to give it back to.", None)
            .on([paid()])
            .ends("rejected account_missing by payee"),
    ]
}
