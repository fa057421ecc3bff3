//! Other cases under version 5 of the records, in which entries and their references are in the compact form. The effects
//! are those of the case under version 1.

use super::world::*;
use super::{
    Case, admin, card_reverse, cards, charge, clawback, debts, grants, holds, holds_ended, pay, records, refund, topup,
    topup_events, topup_refund, topup_refund_events, transfer,
};
use crate::golden::command::Does;

/// The case under version 1, that under version 5, and what the latter shows.
const UNDER_5: [(&str, &str, &str); 24] = [
    ("pay/money", "pay/records-5-money", "The payer is the home, the merchant is that of `mi`."),
    ("pay/three-assets", "pay/records-5-three-assets", "Eight postings, with a memo."),
    ("pay/regional-decimals", "pay/records-5-regional-decimals", "A regional currency with decimals."),
    ("pay/one-short", "pay/records-5-one-short", "The guards are the same."),
    ("charge/charged", "charge/records-5-charged", "The principal is the merchant, the actor one of its staff."),
    ("authorize/three-assets", "authorize/records-5-three-assets", "Postings to the held part."),
    ("capture/three-assets", "capture/records-5-three-assets", "Postings from the held part to the merchant."),
    ("void/voided", "void/records-5-voided", "The reason is a memo."),
    ("hold_expire/expired", "hold_expire/records-5-expired", "The actor is the ledger, and the key is no id."),
    ("refund/full", "refund/records-5-full", "A refund has two ids."),
    ("refund/owing-more", "refund/records-5-owing-more", "A posting to `disputes`."),
    ("transfer/sent", "transfer/records-5-sent", "The recipient is another account; its reference names the home."),
    ("card_topup/loaded", "card_topup/records-5-loaded", "A card is the home; merchant and terminal have references."),
    ("card_pay/paid", "card_pay/records-5-paid", "The terminal is the principal, and the key begins with its id."),
    ("card_refund/partial", "card_refund/records-5-partial", "A refund at a terminal."),
    ("card_reverse/pay", "card_reverse/records-5-pay", "It names the entry that it reverses."),
    ("grant/points", "grant/records-5-points", "The principal is one of the operator's staff."),
    ("adjustment_approve/break", "adjustment_approve/records-5-break", "Attributes without another name stay."),
    ("adjustment_approve/credit", "adjustment_approve/records-5-credit", "Who requested it is an id."),
    ("topup/claimed", "topup/records-5-claimed", "The top-up keeps the version for its later entries."),
    ("topup_events/paid", "topup_events/records-5-paid", "The actor is Stripe."),
    ("topup_refund/partial", "topup_refund/records-5-partial", "A top-up's refund is held."),
    ("topup_refund_events/paid", "topup_refund_events/records-5-paid", "The principal is who asked for the refund."),
    ("clawback/partly-covered", "clawback/records-5-partly-covered", "The key is Stripe's id of the dispute."),
];

pub(super) fn cases() -> Vec<Case> {
    let payments =
        [pay::cases(), charge::cases(), holds::cases(), holds_ended::cases(), refund::cases(), debts::cases()];
    let at_terminals = [cards::cases(), card_reverse::cases()];
    let others = [transfer::cases(), grants::cases(), admin::cases()];
    let topups =
        [topup::cases(), topup_events::cases(), topup_refund::cases(), topup_refund_events::cases(), clawback::cases()];
    let all: Vec<Case> = payments.into_iter().chain(at_terminals).chain(others).chain(topups).flatten().collect();
    let mut cases: Vec<Case> = UNDER_5
        .iter()
        .map(|case| {
            let mut case = records::under(&all, *case, "5");
            for topup in case.given.state.iter_mut().filter(|item| item["type"] == s("TOPUP")) {
                topup["records"] = n("5");
            }
            case
        })
        .collect();
    let mut terms = with(config(), "records", n("5"));
    for key in ["uuid", "type"] {
        terms = without(terms, key);
    }
    cases.push(Case::new(
        "tenant/opened-with-records-5",
        "A tenant that writes version 5 from the beginning.",
        None,
        Does::TenantOpen { terms },
    ));
    cases
}
