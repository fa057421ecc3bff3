//! Deposits that were recorded wrongly and are taken back, and what they covered.

use super::Case;
use super::world::*;
use crate::golden::build_cash::CashDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

fn owing() -> Json {
    with(with(config(), "records", n("5")), "cash", s("owed_by_merchant"))
}

/// A deposit's entry, of this operation.
fn deposit(operation: &str) -> Json {
    let posting =
        |account: &str, delta: &str| json!({ "M": { "account": s(account), "asset": s("ECOPAY"), "delta": n(delta) } });
    let attributes = json!({
        "transaction_id": s(OLD_TXN), "operation": s(operation), "created_at": s(EARLIER), "merchant_id": s(MERCHANT),
        "cash": s("deposited"), "credited_by": s("seal_deposit"),
        "postings": { "L": [posting("cash_clearing", "-700"), posting(OF_MERCHANT, "700")] },
    });
    item("merchant", MERCHANT, &format!("TXN#{OLD_TXN}"), attributes)
}

fn mark() -> Json {
    let attributes = json!({ "deposit_id": s(OLD_TXN), "transaction_id": s(TXN), "created_at": s(EARLIER) });
    item("merchant", MERCHANT, &format!("DEPOSIT_REVERSED#{OLD_TXN}"), attributes)
}

fn reversed(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}/cash-deposits/{OLD_TXN}/reversal");
    let claim = by_staff("cash_deposit_reversal", &path, json!({ "reason": "receipt of another" }));
    let does = CashDoes::ReverseDeposit {
        merchant: MERCHANT.to_owned(),
        deposit: OLD_TXN.to_owned(),
        reason: "receipt of another".to_owned(),
        actor: BY_STAFF.to_owned(),
    };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

pub(super) fn cases() -> Vec<Case> {
    let taken_back = [(OF_MERCHANT, "ECOPAY", "-700"), ("cash_clearing", "ECOPAY", "700")];
    vec![
        reversed("cash_deposit/reversed", "The merchant owes the money again.")
            .on([owing(), deposit("cash_deposit")])
            .moves(&taken_back),
        reversed("cash_deposit/reversed-again", "It was taken back before.")
            .on([owing(), deposit("cash_deposit"), mark()])
            .ends("rejected wrong_state by refund"),
        reversed("cash_deposit/reversed-no-deposit", "The entry is of another operation.")
            .on([owing(), deposit("adjustment_approve")])
            .ends("refused account_missing"),
    ]
}
