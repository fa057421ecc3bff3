//! What version 7 of the records writes, so that lists and searches find customers, merchants and terminals.
//!
//! The hash of an address in the expected files is the one that Python's `hmac` computes.

use super::world::*;
use super::{Case, customers, grants, records, setup};
use crate::golden::command::{Change, Does, ProfileChange};
use serde_json::json;

/// Cases under version 7.
const UNDER_7: [(&str, &str, &str); 2] = [
    (
        "customer_open/opened",
        "customer_open/records-7-opened",
        "The profile is listed; the name and the address are looked up.",
    ),
    ("customer_open/exists", "customer_open/records-7-exists", "The lookup items of the customer that exists stay."),
];

fn own(id: &'static str, why: &'static str, change: ProfileChange) -> Case {
    let claim = by_a("profile_patch", "/v1/me", json!({ "phone": null }));
    let does = Does::ProfilePatch { customer: A.to_owned(), change };
    Case::new(id, why, Some(claim), does).on([with(config(), "records", n("7")), profile(A, "2")])
}

pub(super) fn cases() -> Vec<Case> {
    let all: Vec<Case> = customers::cases();
    let mut cases: Vec<Case> = UNDER_7.iter().map(|case| records::under(&all, *case, "7")).collect();
    let keep = || ProfileChange { name: None, email: Change::Keep, phone: Change::Keep };
    cases.extend([
        own(
            "profile_patch/records-7-name-and-email",
            "The name and the hash of the address move.",
            ProfileChange {
                name: Some("\u{5c71}\u{7530} \u{592a}\u{90ce}".to_owned()),
                email: Change::Set("Taro@Example.jp".to_owned()),
                ..keep()
            },
        ),
        own(
            "profile_patch/records-7-phone-cleared",
            "The lookup item of a number that is removed has no index keys.",
            ProfileChange { phone: Change::Clear, ..keep() },
        ),
        own("profile_patch/records-7-keep", "Nothing to change: no lookup item is written.", keep()),
    ]);
    cases.extend(setup::listed());
    cases.extend(listed_acts(&all));
    cases
}

/// Acts about a customer, and acts about others.
fn listed_acts(customers: &[Case]) -> Vec<Case> {
    let acts = [
        (
            "customer_patch/freeze",
            "customer_patch/records-7-freeze",
            "The act is listed with those about the customer.",
        ),
        ("card_admin_patch/freeze", "card_admin_patch/records-7-freeze", "An act about a card is not."),
    ];
    let of_customers = acts.iter().map(|case| records::under(customers, *case, "7"));
    let grants = [("grant/points", "grant/records-7-points", "So is one that has an entry beside it.")];
    let of_grants = grants.iter().map(|case| records::under(&grants::cases(), *case, "7"));
    of_customers.chain(of_grants).map(Case::listing_acts).collect()
}
