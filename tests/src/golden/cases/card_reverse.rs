//! A terminal reverses one of its operations: one that was done is undone, one that has not arrived is forbidden. Any
//! change between its read and its write makes its plan stale.

use super::Case;
use super::world::*;
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

const TTL: &str = "1803006300";
const REFUND: &str = "019a9000-0000-7000-8000-000000000092";

/// The claim on the key of the operation that is reversed.
pub(super) fn original(operation: &str) -> ClaimJson {
    let path = format!("/v1/terminal/cards/{CARD}/{}", operation.trim_start_matches("card_"));
    by_terminal(operation, 8, &path, json!({ "amount": "800" }))
}

pub(super) fn reversal(id: &'static str, why: &'static str, operation: &str) -> Case {
    let path = format!("/v1/terminal/operations/{operation}/{TERMINAL}-1-8/reverse");
    let claim = by_terminal("card_reverse", 9, &path, json!({}));
    let does = Does::CardReverse {
        terminal: TERMINAL.to_owned(),
        merchant: MERCHANT.to_owned(),
        original: original(operation),
    };
    Case::new(id, why, Some(claim), does).on([config(), merchant()])
}

/// The original's completed marker, with its entry.
pub(super) fn done(operation: &str) -> Json {
    let marker = with(refusal(operation), "entry_home", s(OF_CARD));
    with(marker, "entry_id", s(OLD_TXN))
}

/// The original's completed marker without an entry: the operation was refused.
fn refusal(operation: &str) -> Json {
    without(marker(&original(operation), EARLIER, TTL, &"0".repeat(64)), "ttl")
}

fn reversed(operation: &str) -> Json {
    with(done(operation), "state", s("REVERSED"))
}

pub(super) fn entry(operation: &str, postings: &[(&str, &str)]) -> Json {
    let posting = |(account, delta): &(&str, &str)| json!({ "M": { "account": s(account), "asset": s("ECOPAY"), "delta": n(delta) } });
    let postings: Vec<Json> = postings.iter().map(posting).collect();
    let attributes = json!({
        "transaction_id": s(OLD_TXN), "operation": s(operation), "created_at": s(EARLIER), "postings": { "L": postings },
    });
    item("card", CARD, &format!("TXN#{OLD_TXN}"), attributes)
}

fn topup_entry() -> Json {
    let bonus = ("points_issued", "-8");
    entry("card_topup", &[("cash_clearing", "-800"), (OF_CARD, "800"), bonus, (OF_CARD, "8")])
}

fn pay_entry() -> Json {
    let entry = entry("card_pay", &[(OF_CARD, "-800"), (OF_MERCHANT, "800")]);
    with(entry, "payment_id", s(PAYMENT))
}

/// A payment's entry that counted this amount under these names.
pub(super) fn counted_entry(names: &[&str], amount: &str) -> Json {
    let names: serde_json::Map<String, Json> = names.iter().map(|name| ((*name).to_owned(), n(amount))).collect();
    with(pay_entry(), "counted", json!({ "M": { "ECOPAY": { "M": names } } }))
}

fn refund_entry(amount: &str) -> Json {
    let entry = entry("card_refund", &[(OF_MERCHANT, &format!("-{amount}")), (OF_CARD, amount)]);
    with(with(entry, "payment_id", s(PAYMENT)), "refund_id", s(REFUND))
}

fn paid(refundable: &str, state: &str) -> Json {
    with(payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", refundable)]), "state", s(state))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = undone();
    all.extend(forbidden());
    all.extend(refused());
    all.into_iter().map(Case::by_terminal).collect()
}

fn undone() -> Vec<Case> {
    let unloaded = [(OF_CARD, "ECOPAY", "-808"), ("cash_clearing", "ECOPAY", "800"), ("points_issued", "ECOPAY", "8")];
    let unpaid = [(OF_CARD, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")];
    vec![
        reversal("card_reverse/topup", "The cash goes back, and so does the bonus.", "card_topup")
            .on([done("card_topup"), topup_entry(), card("3808")])
            .moves(&unloaded)
            .precedence(),
        reversal("card_reverse/topup-frozen", "A freeze does not stop it.", "card_topup")
            .on([done("card_topup"), topup_entry(), frozen(card("808"))])
            .moves(&unloaded),
        reversal("card_reverse/pay", "The payment is as if it had not been.", "card_pay")
            .on([done("card_pay"), pay_entry(), paid("800", "captured"), card("2200")])
            .moves(&unpaid)
            .precedence(),
        reversal(
            "card_reverse/lapsed",
            "What a marker says is true after its ttl, too: such a one is from before.",
            "card_pay",
        )
        .on([with(done("card_pay"), "ttl", n("1795229699")), pay_entry(), paid("800", "captured"), card("2200")])
        .moves(&unpaid),
        reversal("card_reverse/refund", "The payment is whole again.", "card_refund")
            .on([done("card_refund"), refund_entry("800"), paid("0", "refunded"), card("3000")])
            .moves(&[(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")])
            .precedence(),
        reversal("card_reverse/refund-of-several", "Another refund of the payment stands.", "card_refund")
            .on([done("card_refund"), refund_entry("300"), paid("400", "partially_refunded"), card("3000")])
            .moves(&[(OF_CARD, "ECOPAY", "-300"), (OF_MERCHANT, "ECOPAY", "300")]),
    ]
}

fn forbidden() -> Vec<Case> {
    let late = original("card_pay");
    let does = Does::CardPay {
        terminal: TERMINAL.to_owned(),
        merchant: MERCHANT.to_owned(),
        card: CARD.to_owned(),
        amount: yen("800"),
    };
    let tombstone = without(without(reversed("card_pay"), "entry_home"), "entry_id");
    vec![
        reversal(
            "card_reverse/not-seen",
            "The original has not come and never will: a tombstone, for ever.",
            "card_pay",
        ),
        Case::new(
            "card_reverse/late-original",
            "The original comes after its reversal and is refused.",
            Some(late),
            does,
        )
        .on([config(), merchant(), card("3000"), tombstone])
        .ends("reversed"),
        reversal(
            "card_reverse/of-a-refusal",
            "The original had been refused: its key is closed, nothing moves.",
            "card_pay",
        )
        .on([refusal("card_pay")]),
        reversal("card_reverse/already-reversed", "Only the marker of this reversal is written.", "card_pay")
            .on([reversed("card_pay")]),
    ]
}

fn refused() -> Vec<Case> {
    let absent = || json!({ "uuid": done("card_pay")["uuid"], "type": done("card_pay")["type"] });
    vec![
        reversal("card_reverse/topup-spent", "What has been spent cannot come back.", "card_topup")
            .on([done("card_topup"), topup_entry(), card("807")])
            .ends("rejected insufficient by card"),
        reversal(
            "card_reverse/pay-partly-refunded",
            "A payment of which some went back is refunded, not reversed.",
            "card_pay",
        )
        .on([with(done("card_pay"), "ttl", n(TTL)), pay_entry(), paid("500", "partially_refunded"), card("2200")])
        .ends("refused wrong_state"),
        reversal("card_reverse/pay-refunded-meanwhile", "A refund came in between: plan again.", "card_pay")
            .seen([paid("800", "captured")])
            .on([done("card_pay"), pay_entry(), paid("500", "partially_refunded"), card("2200")])
            .ends("rejected stale_plan by payment"),
        reversal("card_reverse/pay-reversed-between-reads", "Its marker was read before that: plan again.", "card_pay")
            .on([done("card_pay"), pay_entry(), paid("0", "reversed"), card("3000")])
            .ends("refused stale_plan"),
        reversal("card_reverse/original-came-meanwhile", "It was not there when it was read: plan again.", "card_pay")
            .seen([absent()])
            .on([done("card_pay"), pay_entry(), paid("800", "captured"), card("2200")])
            .ends("rejected stale_plan by original_marker"),
        reversal("card_reverse/reversed-meanwhile", "Another reversal was first: plan again.", "card_pay")
            .seen([done("card_pay")])
            .on([reversed("card_pay"), pay_entry(), paid("800", "captured"), card("2200")])
            .ends("rejected stale_plan by original_marker"),
        reversal("card_reverse/card-gone", "There is no card to undo it on.", "card_pay")
            .on([done("card_pay"), pay_entry(), paid("800", "captured")])
            .ends("rejected account_missing by card"),
    ]
}
