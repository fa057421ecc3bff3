//! Holds that end without a capture: voided by the merchant, or expired. Also refunds of uncaptured payments, and above
//! the captured amount.

use super::Case;
use super::holds::*;
use super::world::*;
use crate::golden::command::Does;
use crate::golden::command_hold::HoldDoes;
use serde_json::{Value as Json, json};

const RELEASED: [(&str, &str, &str); 2] = [(OF_A, "held of ECOPAY", "-500"), (OF_A, "ECOPAY", "500")];
const THREE_RELEASED: [(&str, &str, &str); 6] = [
    (OF_A, "held of ECOPAY", "-1740"),
    (OF_A, "ECOPAY", "1740"),
    (OF_A, "held of POINT", "-500"),
    (OF_A, "POINT", "500"),
    (OF_A, "held of REGIONAL#aoba", "-1000"),
    (OF_A, "REGIONAL#aoba", "1000"),
];

pub(super) fn void(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/merchant/payments/{PAYMENT}/void");
    let claim = by_merchant("void", &path, json!({ "reason": "sold out" }));
    let does = HoldDoes::Void { payment: PAYMENT.to_owned(), reason: Some("sold out".to_owned()) };
    Case::new(id, why, Some(claim), Does::Hold(does))
}

/// An expiry by the worker, under the payment's own key.
pub(super) fn expire(id: &'static str, why: &'static str) -> Case {
    let mut claim = by_merchant("hold_expire", &format!("/v1/merchant/payments/{PAYMENT}/expiry"), json!({}));
    (claim.actor, claim.key) = ("system".to_owned(), format!("hold:{PAYMENT}"));
    Case::new(id, why, Some(claim), Does::Hold(HoldDoes::Expire { payment: PAYMENT.to_owned() }))
}

/// A payment whose time to capture is over.
fn over(payment: Json) -> Json {
    with(payment, "expires_at", s("2026-11-21T02:59:59.999Z"))
}

pub(super) fn base_over() -> Vec<Json> {
    vec![over(of_500()), over(hold_of_500()), config(), holding("ECOPAY", "100", "500")]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = voided();
    all.extend(expired());
    all.extend(refunds());
    all
}

fn voided() -> Vec<Case> {
    vec![
        void("void/voided", "All of it is the payer's again.").supersedes().on(base()).moves(&RELEASED).precedence(),
        void("void/three-assets", "Each asset comes back to its own item.")
            .supersedes()
            .on(three_assets())
            .moves(&THREE_RELEASED),
        void("void/frozen", "A freeze never stops what comes back.")
            .supersedes()
            .on([config(), of_500(), hold_of_500(), frozen(holding("ECOPAY", "100", "500"))])
            .moves(&RELEASED),
        void("void/past-the-cap", "It has counted against the cap all the time.")
            .supersedes()
            .on([config(), of_500(), hold_of_500(), holding("ECOPAY", "50000", "500")])
            .moves(&RELEASED),
        void("void/after-its-time", "The worker has not come yet: the merchant gives up sooner.")
            .supersedes()
            .on(base_over())
            .moves(&RELEASED),
        void("void/again", "It was voided: as it stands, which the write makes sure of.")
            .on([config(), moved_to(of_500(), "canceled")]),
        void("void/expired", "Nothing is held any more, which is what was asked for.")
            .on([config(), moved_to(of_500(), "expired")]),
        void("void/captured", "What was captured is refunded, not voided.")
            .on([config(), captured(of_500(), "300", "300", "captured")])
            .ends("refused wrong_state"),
        void("void/refunded", "It went another way.")
            .on([config(), captured(of_500(), "300", "0", "refunded")])
            .ends("refused wrong_state"),
        void("void/lost-to-capture", "A capture came between the read and the write.")
            .supersedes()
            .seen([of_500()])
            .on([config(), captured(of_500(), "500", "500", "captured"), moved_to(hold_of_500(), "captured")])
            .on([wallet(A, "ECOPAY", "100")])
            .ends("rejected stale_plan by payment"),
        void("void/lost-to-expiry", "The worker came between the read and the write.")
            .supersedes()
            .seen([of_500()])
            .on([config(), moved_to(of_500(), "expired"), moved_to(hold_of_500(), "expired")])
            .on([wallet(A, "ECOPAY", "600")])
            .ends("rejected stale_plan by payment"),
        void("void/payer-gone", "Nobody to give it back to.")
            .supersedes()
            .on([config(), of_500(), hold_of_500()])
            .ends("rejected account_missing by payer"),
    ]
}

fn expired() -> Vec<Case> {
    vec![
        expire("hold_expire/expired", "The time is over, and it is the payer's again.")
            .supersedes()
            .on(base_over())
            .moves(&RELEASED)
            .precedence(),
        expire("hold_expire/at-the-instant", "From the instant on at which it can no longer be captured.")
            .supersedes()
            .on([config(), with(of_500(), "expires_at", s(NOW)), hold_of_500(), holding("ECOPAY", "100", "500")])
            .moves(&RELEASED),
        expire("hold_expire/frozen", "A freeze never stops what comes back.")
            .supersedes()
            .on([config(), over(of_500()), over(hold_of_500()), frozen(holding("ECOPAY", "100", "500"))])
            .moves(&RELEASED),
        expire("hold_expire/three-assets", "Each asset comes back to its own item.")
            .supersedes()
            .on(three_assets().into_iter().map(|item| if item["state"].is_null() { item } else { over(item) }))
            .moves(&THREE_RELEASED),
        expire("hold_expire/too-early", "Its time is not over; the key must stay free for when it is.")
            .on(base())
            .ends("refused stale_plan"),
        expire("hold_expire/captured", "The merchant was first.")
            .on([config(), over(captured(of_500(), "500", "500", "captured"))])
            .ends("refused wrong_state"),
        expire("hold_expire/lost-to-capture", "A capture came between the read and the write.")
            .supersedes()
            .seen([over(of_500())])
            .on([config(), over(captured(of_500(), "500", "500", "captured")), moved_to(hold_of_500(), "captured")])
            .on([wallet(A, "ECOPAY", "100")])
            .ends("rejected stale_plan by payment"),
        expire("hold_expire/lost-to-void", "A void came between the read and the write.")
            .supersedes()
            .seen([over(of_500())])
            .on([config(), over(moved_to(of_500(), "canceled")), moved_to(hold_of_500(), "canceled")])
            .on([wallet(A, "ECOPAY", "600")])
            .ends("rejected stale_plan by payment"),
    ]
}

fn refunds() -> Vec<Case> {
    let part = || captured(of_500(), "300", "300", "captured");
    vec![
        super::refund::case("refund/authorized", "Nothing has been taken yet.", None)
            .on([config(), merchant(), of_500()])
            .ends("refused wrong_state"),
        super::refund::case("refund/canceled", "Nothing was taken.", None)
            .on([config(), merchant(), moved_to(of_500(), "canceled")])
            .ends("refused wrong_state"),
        super::refund::case("refund/expired-hold", "Nothing was taken.", None)
            .on([config(), merchant(), moved_to(of_500(), "expired")])
            .ends("refused wrong_state"),
        super::refund::case("refund/of-a-partial-capture", "300 of 500 were captured: 300 go back.", Some(yen("300")))
            .supersedes()
            .on([config(), merchant(), part(), wallet(A, "ECOPAY", "0")])
            .moves(&[(OF_A, "ECOPAY", "300"), (OF_MERCHANT, "ECOPAY", "-300")]),
        super::refund::case("refund/above-a-partial-capture", "Never more than was captured.", Some(yen("301")))
            .on([config(), merchant(), part(), wallet(A, "ECOPAY", "0")])
            .ends("refused over_refund"),
    ]
}
