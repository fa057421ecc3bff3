//! A customer sends to another, under the recipient's cap of 50,000. The recipient must exist; a freeze stops only the
//! sender.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::{Value as Json, json};

fn case(id: &'static str, why: &'static str, to: &str, amount: Money) -> Case {
    let claim = by_a("transfer", "/v1/me/transfers", json!({ "to_customer_id": to, "amount": amount.amount }));
    Case::new(id, why, Some(claim), Does::Transfer { from: A.to_owned(), to: to.to_owned(), amount, memo: None })
}

fn of_yen(id: &'static str, why: &'static str) -> Case {
    case(id, why, B, yen("5000"))
}

fn wallets(a: &str, b: &str) -> [Json; 3] {
    [config(), wallet(A, "ECOPAY", a), wallet(B, "ECOPAY", b)]
}

pub(super) fn cases() -> Vec<Case> {
    let sent = [(OF_A, "ECOPAY", "-5000"), (OF_B, "ECOPAY", "5000")];
    let [config_, a, b] = wallets("9000", "0");
    vec![
        of_yen("transfer/sent", "Both balances and both histories.").on(wallets("9000", "0")).moves(&sent).precedence(),
        of_yen("transfer/at-the-cap", "The recipient just reaches the cap.").on(wallets("9000", "45000")).moves(&sent),
        of_yen("transfer/one-over-the-cap", "The recipient would pass it by one.")
            .on(wallets("9000", "45001"))
            .ends("rejected cap_exceeded by payee"),
        of_yen("transfer/recipient-missing", "A mistyped recipient never swallows money.")
            .on([config(), wallet(A, "ECOPAY", "9000")])
            .ends("rejected account_missing by payee"),
        of_yen("transfer/recipient-missing-and-short", "A missing account comes before a short balance.")
            .on([config(), wallet(A, "ECOPAY", "1")])
            .ends("rejected account_missing by payee"),
        of_yen("transfer/over-the-cap-and-short", "The cap comes before a short balance.")
            .on(wallets("1", "50000"))
            .ends("rejected cap_exceeded by payee"),
        of_yen("transfer/short", "One yen is missing.").on(wallets("4999", "0")).ends("rejected insufficient by payer"),
        of_yen("transfer/sender-frozen", "A frozen sender sends nothing.")
            .on([config_.clone(), frozen(a.clone()), b.clone()])
            .ends("rejected account_frozen by payer"),
        of_yen("transfer/recipient-frozen", "A frozen recipient still receives.")
            .on([config_, a, frozen(b)])
            .moves(&sent),
        case("transfer/uncapped", "An asset without a cap, two decimals.", B, money("REGIONAL#yama", "0.01"))
            .on([config(), wallet(A, "REGIONAL#yama", "0.01"), wallet(B, "REGIONAL#yama", "7")])
            .moves(&[(OF_A, "REGIONAL#yama", "-0.01"), (OF_B, "REGIONAL#yama", "0.01")]),
        case("transfer/to-oneself", "The recipient is another.", A, yen("1"))
            .on([config()])
            .ends("invalid to_customer_id: is the sender"),
        case("transfer/points", "Points stay with who earned them.", B, money("POINT", "1"))
            .on([config()])
            .ends("invalid asset: cannot be sent to other customers"),
        case("transfer/above-the-cap-alone", "Nobody can receive more than the cap.", B, yen("50001"))
            .on([config()])
            .ends("refused cap_exceeded"),
    ]
}
