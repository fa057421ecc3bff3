//! A terminal charges the one-time code that a customer shows, and reverses the charge within ten minutes. Both need
//! version 7 of the records.

use super::Case;
use super::charge::{CODE, HASH, slot};
use super::refund::earning;
use super::world::*;
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

const MINUTES_AGO: &str = "2026-11-21T02:50:00.000Z";
const TOO_LONG_AGO: &str = "2026-11-21T02:49:59.999Z";
const TTL: &str = "1803006300";
const COUNTS: [&str; 2] = ["use_pay_20261121", "use_pay_202611"];

fn config_7() -> Json {
    with(config(), "records", n("7"))
}

fn claim() -> ClaimJson {
    by_terminal("terminal_charge", 8, "/v1/terminal/charges", json!({ "code_hash": HASH, "amount": "500" }))
}

fn charge(id: &'static str, why: &'static str) -> Case {
    let does = Does::TerminalCharge {
        terminal: TERMINAL.to_owned(),
        merchant: MERCHANT.to_owned(),
        code: CODE.to_owned(),
        amount: yen("500"),
        memo: Some("till 2".to_owned()),
    };
    Case::new(id, why, Some(claim()), does)
}

fn reversal(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/terminal/charges/{TERMINAL}-1-8/reverse");
    let claim_ = by_terminal("terminal_charge_reverse", 9, &path, json!({}));
    let does =
        Does::TerminalChargeReverse { terminal: TERMINAL.to_owned(), merchant: MERCHANT.to_owned(), original: claim() };
    Case::new(id, why, Some(claim_), does).on([config_7(), merchant()])
}

fn wallets(ecopay: &str, points: &str) -> [Json; 2] {
    [wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", points)]
}

/// The charge's completed marker, without an entry: the charge was refused.
fn refusal() -> Json {
    without(marker(&claim(), EARLIER, TTL, &"0".repeat(64)), "ttl")
}

fn done() -> Json {
    with(with(refusal(), "entry_home", s(OF_A)), "entry_id", s(OLD_TXN))
}

fn reversed() -> Json {
    with(done(), "state", s("REVERSED"))
}

fn entry(created_at: &str) -> Json {
    let posting = |account: &str, asset: &str, delta: &str| json!({ "M": { "account": s(account), "asset": s(asset), "delta": n(delta) } });
    let postings = [
        posting(OF_A, "ECOPAY", "-500"),
        posting(OF_MERCHANT, "ECOPAY", "500"),
        posting("points_issued", "POINT", "-5"),
        posting(OF_A, "POINT", "5"),
    ];
    let attributes = json!({
        "transaction_id": s(OLD_TXN), "operation": s("terminal_charge"), "created_at": s(created_at),
        "postings": { "L": postings }, "payment_id": s(PAYMENT),
    });
    item("customer", A, &format!("TXN#{OLD_TXN}"), attributes)
}

fn counted_entry() -> Json {
    let names: serde_json::Map<String, Json> = COUNTS.map(|name| (name.to_owned(), n("500"))).into_iter().collect();
    with(entry(MINUTES_AGO), "counted", json!({ "M": { "ECOPAY": { "M": names } } }))
}

fn charged() -> Json {
    let payment = payment(OF_A, ("ECOPAY", "500"), &[("ecopay", "500", "500")]);
    with(earning(payment, "5", "5"), "terminal_id", s(TERMINAL))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = charges();
    all.extend(undone());
    all.extend(not_undone());
    all
}

fn charges() -> Vec<Case> {
    vec![
        charge("terminal_charge/charged", "The payment names the terminal, which has a reference to it.")
            .on([config_7(), merchant(), slot()])
            .on(wallets("5000", "0"))
            .moves(&[(OF_A, "ECOPAY", "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")])
            .precedence(),
        charge("terminal_charge/used", "A code works once, wherever it was sent first.")
            .on([config_7(), merchant(), with(slot(), "state", s("used"))])
            .on(wallets("5000", "0"))
            .ends("rejected wrong_state by code"),
        charge("terminal_charge/records-6", "No release before version 7 knows it.")
            .on([with(config(), "records", n("6")), merchant(), slot()])
            .on(wallets("5000", "0"))
            .ends("refused wrong_state"),
    ]
}

fn undone() -> Vec<Case> {
    let unpaid = [(OF_A, "ECOPAY", "500"), (OF_MERCHANT, "ECOPAY", "-500")];
    let unearned = [(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")];
    let counts = |item: Json| COUNTS.into_iter().fold(item, |item, name| with(item, name, n("900")));
    let [ecopay, points] = wallets("4500", "5");
    vec![
        reversal("terminal_charge_reverse/undone", "All of it is refunded, with the points that it earned.")
            .on([done(), entry(MINUTES_AGO), charged()])
            .on(wallets("4500", "5"))
            .moves(&unpaid)
            .moves(&unearned)
            .precedence(),
        reversal("terminal_charge_reverse/points-spent", "Spent points are kept from the money, as of a refund.")
            .on([done(), entry(MINUTES_AGO), charged()])
            .on(wallets("4500", "0"))
            .moves(&[(OF_A, "ECOPAY", "495"), (OF_MERCHANT, "ECOPAY", "-500"), ("points_issued", "ECOPAY", "5")]),
        reversal("terminal_charge_reverse/counted", "What it counted toward limits is taken off again.")
            .on([done(), counted_entry(), charged(), counts(ecopay), points])
            .moves(&unpaid)
            .moves(&unearned)
            .precedence(),
        reversal("terminal_charge_reverse/forbidden", "It has not arrived, and is refused if it does."),
        reversal("terminal_charge_reverse/nothing-moved", "It was refused.").on([refusal()]),
        reversal("terminal_charge_reverse/already-reversed", "Only the marker of this reversal is written.")
            .on([reversed()]),
    ]
}

fn not_undone() -> Vec<Case> {
    let refunded = || with(with(charged(), "state", s("partially_refunded")), "refundable_ecopay", n("400"));
    vec![
        reversal("terminal_charge_reverse/late", "More than ten minutes ago.")
            .on([done(), entry(TOO_LONG_AGO), charged()])
            .on(wallets("4500", "5"))
            .ends("refused reversal_too_late"),
        reversal("terminal_charge_reverse/refunded", "The merchant has refunded a part.")
            .on([done(), entry(MINUTES_AGO), refunded()])
            .on(wallets("4600", "4"))
            .ends("refused wrong_state"),
        reversal("terminal_charge_reverse/refunded-meanwhile", "A refund came in between: plan again.")
            .seen([charged()])
            .on([done(), entry(MINUTES_AGO), refunded()])
            .on(wallets("4600", "4"))
            .ends("rejected stale_plan by payment"),
        reversal("terminal_charge_reverse/reversed-between-reads", "Its marker was read before that: plan again.")
            .on([done(), entry(MINUTES_AGO), with(charged(), "state", s("reversed"))])
            .on(wallets("5000", "0"))
            .ends("refused stale_plan"),
        reversal("terminal_charge_reverse/reversed-meanwhile", "Another reversal was first: plan again.")
            .seen([done(), charged()])
            .on([reversed(), entry(MINUTES_AGO), with(charged(), "state", s("reversed"))])
            .on(wallets("5000", "0"))
            .ends("rejected stale_plan by payment"),
    ]
}
