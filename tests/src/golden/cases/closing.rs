//! Customers and cards that are closed, what is returned to them later, and claims of it.

use super::Case;
use super::approvals::{decide_in, decider, request, stored};
use super::card_reverse::{done, entry, reversal};
use super::refund;
use super::staff::member;
use super::world::*;
use serde_json::{Value as Json, json};

const CLOSING: &str = "2026-11-20T12:00:00.000Z";

fn config_7() -> Json {
    with(with(with(config(), "staff", s("records")), "approvals", s("required")), "records", n("7"))
}

fn closes(ecopay: &str, point: &str) -> Json {
    let balances = json!({ "M": { "ECOPAY": n(ecopay), "POINT": n(point) } });
    json!({ "kind": s("customer_close"), "customer_id": s(A), "balances": balances })
}

fn closes_card(owner: Option<&str>, balance: &str) -> Json {
    let command = json!({ "kind": s("card_close"), "card_id": s(CARD), "balance": n(balance) });
    owner.map_or(command.clone(), |owner| with(command, "seen", s(owner)))
}

fn claims(account: &str, amount: &str) -> Json {
    json!({
        "kind": s("unclaimed_claim"), "account": s(account), "customer_id": s(B), "asset": s("ECOPAY"), "amount": n(amount),
    })
}

fn pays_out(account: &str, amount: &str) -> Json {
    json!({ "kind": s("unclaimed_payout"), "account": s(account), "asset": s("ECOPAY"), "amount": n(amount) })
}

fn wallets(ecopay: &str, point: &str) -> [Json; 3] {
    [profile(A, "2"), wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", point)]
}

fn unowned(balance: &str) -> Json {
    without(with(card(balance), "updated_at", s(EARLIER)), "owner")
}

fn closed_card(unclaimed: &str) -> Json {
    let closed = with(with(unowned("0"), "state", s("replaced")), "closed_at", s(CLOSING));
    with(closed, "unclaimed_ecopay", n(unclaimed))
}

fn closed_profile(unclaimed: &str) -> Json {
    let closed = with(without(profile(A, "2"), "accounts"), "status", s("closed"));
    with(with(with(closed, "closed_at", s(CLOSING)), "frozen", s("closed")), "unclaimed_ecopay", n(unclaimed))
}

fn requests(id: &'static str, why: &'static str, of: (&str, &str), command: Json) -> Case {
    let mut case = request(id, why, of, command);
    case.given.state.clear();
    case.on([config_7(), member(STAFF, "hanako@example.com", &["treasurer", "operator"], "active")])
}

fn approves(id: &'static str, why: &'static str, command: &Json) -> Case {
    let by = member(OTHER_STAFF, "yuki@example.com", &["treasurer", "operator"], "active");
    decide_in(config_7(), id, why, "approve").on([stored(command), decider(), by])
}

pub(super) fn cases() -> Vec<Case> {
    [requested(), customers(), cards(), claimed(), paid_out(), returned()].into_iter().flatten().collect()
}

fn requested() -> Vec<Case> {
    let at = format!("/v1/admin/customers/{A}/close");
    let close = ("customer_close", at.as_str());
    let at_card = format!("/v1/admin/cards/{CARD}/close");
    let close_card = ("card_close", at_card.as_str());
    let claim = ("unclaimed_claim", "/v1/admin/unclaimed/claims");
    vec![
        requests(
            "approval_request/customer-close",
            "The balances are a part of the command.",
            close,
            closes("300", "17"),
        )
        .on(wallets("300", "17")),
        requests("approval_request/customer-close-held", "A hold is open.", close, closes("300", "17"))
            .on([profile(A, "2"), with(wallet(A, "ECOPAY", "300"), "held", n("50")), wallet(A, "POINT", "17")])
            .ends("still open held:ECOPAY"),
        requests("approval_request/customer-close-cards", "A card is open.", close, closes("300", "17"))
            .on([with(profile(A, "2"), "cards", n("1")), wallet(A, "ECOPAY", "300"), wallet(A, "POINT", "17")])
            .ends("still open cards"),
        requests("approval_request/card-close", "So is the card's.", close_card, closes_card(None, "300"))
            .on([unowned("300")]),
        requests("approval_request/card-close-replaced", "It is closed.", close_card, closes_card(None, "0"))
            .on([closed_card("300")])
            .ends("refused wrong_state"),
        requests("approval_request/unclaimed-claim", "The account is a part of it.", claim, claims(OF_CARD, "300"))
            .on([closed_card("500"), wallet(B, "ECOPAY", "0")]),
        requests("approval_request/unclaimed-claim-open", "The card is not closed.", claim, claims(OF_CARD, "300"))
            .on([unowned("500"), wallet(B, "ECOPAY", "0")])
            .ends("refused wrong_state"),
    ]
}

fn customers() -> Vec<Case> {
    let counted = |wallet: Json| with(with(wallet, "aggregate_payments", n("3")), "aggregate_paid_total", n("900"));
    vec![
        approves("approval_approve/customer-close", "The balance items are deleted.", &closes("300", "17"))
            .on(wallets("300", "17"))
            .moves(&[(OF_A, "ECOPAY", "-300"), ("unclaimed", "ECOPAY", "300")])
            .moves(&[(OF_A, "POINT", "-17"), ("breakage", "POINT", "17")])
            .precedence(),
        approves("approval_approve/customer-close-empty", "No entry.", &closes("0", "0")).on(wallets("0", "0")),
        approves("approval_approve/customer-close-counted", "What was counted is kept.", &closes("0", "0")).on([
            profile(A, "2"),
            counted(wallet(A, "ECOPAY", "0")),
            wallet(A, "POINT", "0"),
        ]),
        approves("approval_approve/customer-close-paid-before", "Less is there than was seen.", &closes("300", "17"))
            .on(wallets("200", "17")),
        approves("approval_approve/customer-close-paid-meanwhile", "A payment came in between.", &closes("300", "17"))
            .seen([wallet(A, "ECOPAY", "300")])
            .on(wallets("200", "17"))
            .ends("rejected stale_plan by payer"),
    ]
}

fn cards() -> Vec<Case> {
    let linked = || with(with(profile(A, "2"), "cards", n("1")), &format!("card_{CARD}"), s(EARLIER));
    vec![
        approves("approval_approve/card-close", "Its rest is unclaimed.", &closes_card(None, "300"))
            .on([unowned("300")])
            .moves(&[(OF_CARD, "ECOPAY", "-300"), ("unclaimed", "ECOPAY", "300")])
            .precedence(),
        approves(
            "approval_approve/card-close-owned",
            "The owner's profile does not name it.",
            &closes_card(Some(A), "0"),
        )
        .on([card("0"), linked()])
        .precedence(),
        approves("approval_approve/card-close-paid-meanwhile", "A payment came in between.", &closes_card(None, "300"))
            .seen([unowned("300")])
            .on([with(unowned("200"), "updated_at", s(CLOSING))])
            .ends("rejected stale_plan by payer"),
    ]
}

fn claimed() -> Vec<Case> {
    vec![
        approves("approval_approve/unclaimed-claim", "What the card had is the customer's.", &claims(OF_CARD, "300"))
            .on([closed_card("500"), wallet(B, "ECOPAY", "0")])
            .moves(&[("unclaimed", "ECOPAY", "-300"), (OF_B, "ECOPAY", "300")])
            .precedence(),
        approves("approval_approve/unclaimed-claim-of-customer", "So is a customer's.", &claims(OF_A, "300"))
            .on([closed_profile("300"), wallet(B, "ECOPAY", "40")])
            .moves(&[("unclaimed", "ECOPAY", "-300"), (OF_B, "ECOPAY", "300")]),
        approves("approval_approve/unclaimed-claim-too-much", "Another claim was first.", &claims(OF_CARD, "300"))
            .on([closed_card("200"), wallet(B, "ECOPAY", "0")])
            .ends("rejected insufficient by card"),
    ]
}

fn paid_out() -> Vec<Case> {
    let payout = ("unclaimed_payout", "/v1/admin/unclaimed/payouts");
    vec![
        requests("approval_request/unclaimed-payout", "The account is a part of it.", payout, pays_out(OF_CARD, "300"))
            .on([closed_card("500")]),
        approves("approval_approve/unclaimed-payout", "The bank pays what the card had.", &pays_out(OF_CARD, "300"))
            .on([closed_card("500")])
            .moves(&[("unclaimed", "ECOPAY", "-300"), ("bank_clearing", "ECOPAY", "300")])
            .precedence(),
        approves("approval_approve/unclaimed-payout-of-customer", "So is a customer's.", &pays_out(OF_A, "300"))
            .on([closed_profile("300")])
            .moves(&[("unclaimed", "ECOPAY", "-300"), ("bank_clearing", "ECOPAY", "300")]),
        approves("approval_approve/unclaimed-payout-too-much", "A claim was first.", &pays_out(OF_CARD, "300"))
            .on([closed_card("200")])
            .ends("rejected insufficient by card"),
    ]
}

fn returned() -> Vec<Case> {
    let seven = || with(config(), "records", n("7"));
    let of_seven = |id, why| {
        let mut case = reversal(id, why, "card_pay");
        case.given.state = vec![seven(), merchant()];
        case
    };
    let paid = || payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", "800")]);
    let paying = || with(entry("card_pay", &[(OF_CARD, "-800"), (OF_MERCHANT, "800")]), "payment_id", s(PAYMENT));
    vec![
        refund::case("refund/closed", "The payer's wallet is closed: the refund is unclaimed.", Some(yen("600")))
            .on([seven(), merchant(), refund::in_money(), closed_profile("300")])
            .moves(&[("unclaimed", "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")]),
        of_seven("card_reverse/pay-closed", "The card is closed: what was paid is unclaimed.")
            .on([done("card_pay"), paying(), paid(), closed_card("300")])
            .moves(&[("unclaimed", "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")]),
    ]
}
