//! Refunds beyond a refund room and late reversals of cash, which another person approves.

use super::Case;
use super::approvals::{decide_in, decider, person, request, requester, stored};
use super::bonuses::{due, granted};
use super::card_reverse::done;
use super::cash::{owed_entry, till};
use super::counters::{topup_entry, used};
use super::refund::in_money;
use super::rooms::{refund_room, settling};
use super::staff::member;
use super::world::*;
use serde_json::{Value as Json, json};

fn required() -> Json {
    with(with(settling("5"), "staff", s("records")), "approvals", s("required"))
}

fn refund(amount: &str) -> Json {
    json!({
        "kind": s("refund"), "merchant_id": s(MERCHANT), "payment_id": s(PAYMENT), "payer": s(OF_A),
        "asset": s("ECOPAY"), "amount": n(amount),
    })
}

/// The reversal of 800 yen of cash; `owner` is the attribute with the terminal's owner.
fn reversal((owner, id): (&str, &str)) -> Json {
    json!({
        "kind": s("card_reverse"), "terminal_id": s(TERMINAL), owner: s(id), "card_id": s(CARD),
        "original_transaction_id": s(OLD_TXN), "original_key": s(format!("{TERMINAL}-1-8")),
        "asset": s("ECOPAY"), "amount": n("800"),
    })
}

fn at_the_till() -> Json {
    reversal(("merchant_id", MERCHANT))
}

fn at_the_counter() -> Json {
    reversal(("owner", "operator"))
}

fn paid() -> [Json; 4] {
    [merchant(), in_money(), wallet(A, "ECOPAY", "0"), wallet(A, "POINT", "17")]
}

/// A top-up of a day ago, of which the card still has this much.
fn loaded(balance: &str) -> [Json; 3] {
    [done("card_topup"), owed_entry(EARLIER), card(balance)]
}

/// The same with a bonus that was due for it.
fn earned(balance: &str) -> [Json; 5] {
    [done("card_topup"), with(owed_entry(EARLIER), "bonus_due", n("8")), card(balance), merchant(), till("200")]
}

fn reversed() -> Json {
    with(done("card_topup"), "state", s("REVERSED"))
}

fn requested(id: &'static str, why: &'static str, of: (&str, &str), command: Json) -> Case {
    let mut case = request(id, why, of, command);
    case.given.state = vec![required(), member(STAFF, "hanako@example.com", &["treasurer"], "active")];
    case
}

fn approve(id: &'static str, why: &'static str, command: &Json) -> Case {
    decide_in(required(), id, why, "approve").on([stored(command), decider(), requester()])
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = stored_first();
    all.extend(refunded());
    all.extend(taken_back());
    all
}

fn stored_first() -> Vec<Case> {
    let refunds = format!("/v1/admin/merchants/{MERCHANT}/refunds");
    let reversals = format!("/v1/admin/terminals/{TERMINAL}/cash-reversals");
    let (refunds, reversals) = (("refund", refunds.as_str()), ("card_reverse", reversals.as_str()));
    vec![
        requested(
            "approval_request/refund",
            "The payer and the amount are a part of the command.",
            refunds,
            refund("600"),
        )
        .on(paid()),
        requested("approval_request/refund-too-much", "Less is left of the payment.", refunds, refund("1741"))
            .on(paid())
            .ends("refused over_refund"),
        requested(
            "approval_request/cash-reversal",
            "The terminal's key, by which the marker is found, is a part of the command.",
            reversals,
            at_the_till(),
        )
        .on(loaded("3800"))
        .on([merchant(), till("200")]),
        requested("approval_request/cash-reversal-again", "It was reversed before.", reversals, at_the_till())
            .on([reversed(), owed_entry(EARLIER), card("3000"), merchant(), till("1000")])
            .ends("refused wrong_state"),
    ]
}

fn refunded() -> Vec<Case> {
    let moved = [(OF_A, "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")];
    let points = [(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")];
    vec![
        approve("approval_approve/refund", "The room goes below zero.", &refund("600"))
            .on(paid())
            .on([refund_room("5000", "100", "4900")])
            .moves(&moved)
            .moves(&points)
            .precedence(),
        approve("approval_approve/refund-without-ceiling", "The merchant has no room.", &refund("600"))
            .on(paid())
            .moves(&moved)
            .moves(&points),
        approve("approval_approve/refund-of-own-employer", "The decider's address is of its staff.", &refund("600"))
            .on(paid())
            .on([refund_room("5000", "100", "4900"), person()])
            .ends("rejected four_eyes by person"),
        approve("approval_approve/refund-refunded-meanwhile", "Less is left of the payment.", &refund("1741"))
            .on(paid())
            .on([refund_room("5000", "100", "4900")])
            .ends("refused over_refund"),
    ]
}

fn taken_back() -> Vec<Case> {
    let unloaded = [(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")];
    let with_bonus = [(OF_CARD, "ECOPAY", "-808"), (OF_MERCHANT, "ECOPAY", "800"), ("points_issued", "ECOPAY", "8")];
    let at_counter =
        [(OF_CARD, "ECOPAY", "-808"), ("cash_clearing", "ECOPAY", "800"), ("points_issued", "ECOPAY", "8")];
    vec![
        approve("approval_approve/cash-reversal", "A day after: the cash and the room go back.", &at_the_till())
            .on(loaded("3800"))
            .on([merchant(), till("200")])
            .moves(&unloaded)
            .precedence(),
        approve(
            "approval_approve/cash-reversal-frozen",
            "In every state of the terminal and of its merchant.",
            &at_the_till(),
        )
        .on(loaded("800"))
        .on([with(merchant(), "status", s("suspended")), with(till("200"), "state", s("frozen"))])
        .moves(&unloaded),
        approve(
            "approval_approve/cash-reversal-of-own-employer",
            "The decider's address is of its staff.",
            &at_the_till(),
        )
        .on(loaded("3800"))
        .on([merchant(), till("200"), person()])
        .ends("rejected four_eyes by person"),
        approve("approval_approve/cash-reversal-spent", "The card no longer has it.", &at_the_till())
            .on(loaded("799"))
            .on([merchant(), till("200")])
            .ends("rejected insufficient by card"),
        approve("approval_approve/cash-reversal-again", "It was reversed before.", &at_the_till())
            .on([reversed(), owed_entry(EARLIER), card("3000"), merchant(), till("1000")])
            .ends("refused wrong_state"),
        approve("approval_approve/cash-reversal-reversed-meanwhile", "The till reverses it meanwhile.", &at_the_till())
            .seen(loaded("3800"))
            .seen([merchant(), till("200")])
            .on([reversed(), owed_entry(EARLIER), card("3000"), merchant(), till("1000")])
            .ends("rejected stale_plan by original_marker"),
        approve("approval_approve/cash-reversal-bonus-due", "The bonus is never granted.", &at_the_till())
            .on(earned("3800"))
            .on([due()])
            .moves(&unloaded),
        approve("approval_approve/cash-reversal-bonus-granted", "The card holds both.", &at_the_till())
            .on(earned("808"))
            .on([granted()])
            .moves(&with_bonus),
        approve("approval_approve/cash-reversal-bonus-granted-meanwhile", "It is read again.", &at_the_till())
            .on(earned("808"))
            .on([granted()])
            .seen([due()])
            .ends("rejected stale_plan by bonus"),
        approve("approval_approve/cash-reversal-at-counter", "The bonus goes back too.", &at_the_counter())
            .on([done("card_topup"), topup_entry(EARLIER), card("3808"), used("200", "800")])
            .moves(&at_counter),
        approve("approval_approve/cash-reversal-collected", "The counter has less of the cash.", &at_the_counter())
            .on([done("card_topup"), topup_entry(EARLIER), card("3808"), used("200", "799")])
            .ends("rejected cash_not_outstanding by cash_room"),
    ]
}
