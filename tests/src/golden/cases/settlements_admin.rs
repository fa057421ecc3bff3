//! The operator's commands on settlements: closing a period, resuming a stopped one, and what needs an approval.

use super::Case;
use super::settlements::*;
use super::world::*;
use crate::golden::build_settlement::{SettlementDoes, SettlementStep};
use crate::golden::command::{Does, PspJson};
use serde_json::{Value as Json, json};

const REQUEST: &str = "019a9600-0000-7000-8000-0000000000f2";

fn does(
    id: &'static str,
    why: &'static str,
    operation: &str,
    (path, fields): (&str, Json),
    does: SettlementDoes,
) -> Case {
    Case::new(id, why, Some(by_staff(operation, path, fields)), Does::SettlementAdmin { staff: STAFF.to_owned(), does })
}

fn opens(id: &'static str, why: &'static str) -> Case {
    let request = ("/v1/admin/settlements", json!({ "merchant_id": MERCHANT }));
    let psp = PspJson { ledger: "demo-ledger".to_owned(), livemode: false, account: Some("acct_1".to_owned()) };
    let open = SettlementDoes::Open { merchant: MERCHANT.to_owned(), pay_on: None, psp: Some(psp) };
    does(id, why, "settlement_open", request, open)
}

fn about(verb: &str) -> String {
    format!("/v1/admin/merchants/{MERCHANT}/settlements/{SETTLEMENT}/{verb}")
}

fn requests_payout(id: &'static str, why: &'static str, wish: &str, operation: &str) -> Case {
    let does_ask = SettlementDoes::Ask {
        merchant: MERCHANT.to_owned(),
        settlement: SETTLEMENT.to_owned(),
        wish: wish.to_owned(),
        note: "as the bank says".to_owned(),
    };
    does(id, why, operation, (&about(&format!("{wish}s")), json!({ "note": "as the bank says" })), does_ask)
}

fn approves_payout(id: &'static str, why: &'static str, wish: &str, operation: &str) -> Case {
    let approve = SettlementDoes::Approve {
        merchant: MERCHANT.to_owned(),
        settlement: SETTLEMENT.to_owned(),
        wish: wish.to_owned(),
        request: REQUEST.to_owned(),
    };
    does(id, why, operation, (&about(&format!("{wish}s/{REQUEST}/approve")), json!({})), approve)
}

fn request(wish: &str, by: &str) -> Json {
    let sk = format!("{}#{REQUEST}", wish.to_uppercase());
    let item = item(
        "merchant",
        MERCHANT,
        &sk,
        json!({
            "merchant_id": s(MERCHANT), "settlement_id": s(SETTLEMENT), "requested_by": s(by), "state": s("pending"),
            "created_at": s(EARLIER), "memo": s("as the bank says"),
        }),
    );
    with(item, &format!("{wish}_id"), s(REQUEST))
}

/// The terms with a fee rate, and a bank account to pay from.
fn terms() -> Json {
    let mut sender = bank();
    sender["M"]["sender_code"] = s("1234567890");
    let settlement = json!({ "M": { "fee_rate": n("0.015"), "tax_rate": n("0.1"), "sender": sender } });
    with(config(), "settlement", settlement)
}

/// The terms of a tenant whose cash earns bonuses.
fn earning() -> Json {
    with(super::bonuses::earning("5"), "settlement", terms()["settlement"].clone())
}

fn topping_up(config: Json) -> Json {
    with(config, "topup", json!({ "M": { "points_rate": n("0.05"), "abandoned_after_s": n("86400") } }))
}

pub(super) fn cases() -> Vec<Case> {
    let shop = |payout: Json| with(merchant(), "payout", payout);
    let left = json!({ "M": { "ECOPAY": n("-1000"), "REGIONAL#yama": n("0.5") } });
    let carry = item("merchant", MERCHANT, "SETTLING", json!({ "carry": left, "updated_at": s(EARLIER) }));
    let resume = SettlementDoes::Resume {
        merchant: MERCHANT.to_owned(),
        settlement: SETTLEMENT.to_owned(),
        reason: "the store is back".to_owned(),
    };
    let resumed = (about("resume"), json!({ "reason": "the store is back" }));
    let returned = [(OF_MERCHANT, "ECOPAY", "2951"), ("bank_clearing", "ECOPAY", "-2951")];
    let mut all = resends();
    all.extend([
        opens("settlement_open/first", "A merchant's first period is closed.").on([terms(), shop(bank())]).precedence(),
        opens("settlement_open/carried", "The one before left something.").on([terms(), shop(bank()), carry]),
        opens("settlement_open/bonus", "The first while cash earns bonuses.").on([earning(), shop(bank())]),
        opens("settlement_open/bonus-after-paid", "Three were paid before.")
            .on([earning(), shop(bank()), super::bonuses::covered("3")])
            .precedence(),
        opens("settlement_open/bonus-terms-from-before", "Terms from before the switch do not stop the count.").on([
            without(earning(), "cash_bonus"),
            shop(bank()),
            super::bonuses::covered("3"),
        ]),
        opens("settlement_open/bonus-paid-meanwhile", "Another was paid after the read.")
            .on([earning(), shop(bank()), super::bonuses::covered("4")])
            .seen([super::bonuses::covered("3")])
            .ends("rejected stale_plan by settlement"),
        opens("settlement_open/rooms", "The one before did not cover all that took from rooms.")
            .on([with(with(with(terms(), "records", n("5")), "cash", s("owed_by_merchant")), "rooms", s("settled"))])
            .on([shop(bank()), super::rooms::left()])
            .precedence(),
        opens("settlement_open/by-stripe", "The merchant is paid through Stripe.")
            .on([topping_up(terms()), shop(registered())]),
        opens("settlement_open/by-stripe-not", "The tenant is not paid through Stripe.")
            .on([terms(), shop(registered())])
            .ends("invalid merchant_id: is paid through Stripe, and the tenant has no terms for that"),
        opens("settlement_open/open", "One is open.")
            .on([terms(), shop(bank()), open()])
            .ends("refused already_exists"),
        does(
            "settlement_resume/stuck",
            "A person has repaired it.",
            "settlement_resume",
            (&resumed.0, resumed.1),
            resume,
        )
        .on([without(without(with(aside("held"), "stuck_at", s(EARLIER)), "due_pk"), "due_sk")]),
        requests_payout(
            "settlement_return/asked",
            "One person has seen it on the statement.",
            "return",
            "settlement_return_request",
        )
        .on([paid("paid", "settlement.txt")]),
        approves_payout(
            "settlement_return/approved",
            "Another one has, too: it is owed again.",
            "return",
            "settlement_return_approve",
        )
        .on([paid("paid", "settlement.txt"), request("return", OTHER_STAFF), balance("ECOPAY", "100", "0")])
        .moves(&returned)
        .supersedes(),
        approves_payout("settlement_return/alone", "Who asked cannot.", "return", "settlement_return_approve")
            .on([paid("paid", "settlement.txt"), request("return", STAFF), balance("ECOPAY", "100", "0")])
            .ends("rejected four_eyes by resend")
            .supersedes(),
        approves_payout("settlement_return/twice", "It came back before.", "return", "settlement_return_approve")
            .on([paid("returned", "settlement.txt"), request("return", OTHER_STAFF)])
            .ends("refused wrong_state"),
        approves_payout(
            "settlement_return/resending",
            "Its file is on its way: nobody knows yet what the bank has.",
            "return",
            "settlement_return_approve",
        )
        .on([resending(REQUEST), request("return", OTHER_STAFF)])
        .ends("refused wrong_state"),
    ]);
    all
}

/// A file is sent again: one person requests, another approves, and the saga stores it.
fn resends() -> Vec<Case> {
    let another = "019a9600-0000-7000-8000-0000000000f3";
    let resume = SettlementDoes::Resume {
        merchant: MERCHANT.to_owned(),
        settlement: SETTLEMENT.to_owned(),
        reason: "the bucket is back".to_owned(),
    };
    let resumed = (about("resume"), json!({ "reason": "the bucket is back" }));
    let stuck = without(without(with(resending(REQUEST), "stuck_at", s(EARLIER)), "due_pk"), "due_sk");
    vec![
        requests_payout(
            "settlement_resend/asked",
            "One person asks for the file to be sent again.",
            "resend",
            "file_resend_request",
        )
        .on([paid("paid", "settlement.txt")]),
        requests_payout(
            "settlement_resend/returned",
            "What came back is not sent again.",
            "resend",
            "file_resend_request",
        )
        .on([paid("returned", "settlement.txt")])
        .ends("refused wrong_state"),
        requests_payout("settlement_resend/by-stripe", "There is no file.", "resend", "file_resend_request")
            .on([by_stripe(paid("paid", PAYOUT))])
            .ends("refused wrong_state"),
        approves_payout("settlement_resend/approved", "Another one approves it.", "resend", "file_resend_approve")
            .on([paid("paid", "settlement.txt"), request("resend", OTHER_STAFF)])
            .supersedes(),
        approves_payout("settlement_resend/alone", "Who asked cannot.", "resend", "file_resend_approve")
            .on([paid("paid", "settlement.txt"), request("resend", STAFF)])
            .ends("rejected four_eyes by resend")
            .supersedes(),
        approves_payout("settlement_resend/another", "One is on its way.", "resend", "file_resend_approve")
            .on([resending(another), request("resend", OTHER_STAFF)])
            .ends("refused wrong_state"),
        step("settlement_resend/started", "The saga that puts it was started.", SettlementStep::Started {})
            .on([resending(REQUEST)]),
        step("settlement_resend/put", "The file is where the bank gets it.", SettlementStep::Resent {})
            .on([resending(REQUEST)]),
        task("settlement_resend/stopped", "It could not be put: a person must look.", "stop").on([resending(REQUEST)]),
        does(
            "settlement_resend/resumed",
            "A person has repaired it.",
            "settlement_resume",
            (&resumed.0, resumed.1),
            resume,
        )
        .on([stuck]),
    ]
}
