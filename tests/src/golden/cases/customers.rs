//! Customers and their cards: opening, profiles, freezing and unfreezing, one-time codes. A freeze is set on the
//! profile and on every balance item, or on none.

use super::Case;
use super::world::*;
use crate::golden::command::{Change, Does, ProfileChange};
use serde_json::{Value as Json, json};

fn keep() -> ProfileChange {
    ProfileChange { name: None, email: Change::Keep, phone: Change::Keep }
}

fn own(id: &'static str, why: &'static str, change: ProfileChange) -> Case {
    let claim = by_a("profile_patch", "/v1/me", json!({ "phone": null }));
    Case::new(id, why, Some(claim), Does::ProfilePatch { customer: A.to_owned(), change })
}

fn patch(id: &'static str, why: &'static str, change: ProfileChange, status: Option<&str>) -> Case {
    let claim = by_staff("customer_patch", &format!("/v1/admin/customers/{A}"), json!({ "reason": "asked for" }));
    let does = Does::CustomerPatch {
        customer: A.to_owned(),
        change,
        status: status.map(str::to_owned),
        actor: BY_STAFF.to_owned(),
        reason: Some("asked for".to_owned()),
    };
    Case::new(id, why, Some(claim), does)
}

fn own_card(id: &'static str, why: &'static str, status: &str) -> Case {
    let claim = by_a("card_patch", &format!("/v1/me/cards/{CARD}"), json!({ "status": status }));
    let (customer, card) = (A.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardOwnStatus { customer, card, status: status.to_owned() })
}

fn card_status(id: &'static str, why: &'static str, status: &str) -> Case {
    let claim = by_staff("card_admin_patch", &format!("/v1/admin/cards/{CARD}"), json!({ "status": status }));
    let (status, actor, reason) = (status.to_owned(), BY_STAFF.to_owned(), Some("reported lost".to_owned()));
    Case::new(id, why, Some(claim), Does::CardStatus { card: CARD.to_owned(), status, actor, reason })
}

fn code(id: &'static str, why: &'static str) -> Case {
    Case::new(
        id,
        why,
        Some(by_a("payment_code", "/v1/me/payment-code", json!({}))),
        Does::PaymentCode { customer: A.to_owned(), sign_in: None },
    )
}

fn open(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("customer_open", "/v1/admin/customers", json!({ "name": "Hanako" }));
    let does = Does::CustomerOpen {
        customer: None,
        actor: BY_STAFF.to_owned(),
        name: "Hanako".to_owned(),
        email: Some("hanako@example.jp".to_owned()),
        phone: None,
    };
    Case::new(id, why, Some(claim), does).on([config()])
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = profiles();
    all.extend(freezes());
    all.extend(cards());
    all.extend(codes_and_openings());
    all
}

fn full_profile() -> Json {
    with(with(profile(A, "2"), "email", s("old@example.jp")), "phone", s("090-1234-5678"))
}

fn profiles() -> Vec<Case> {
    let set = |text: &str| Change::Set(text.to_owned());
    vec![
        own(
            "profile_patch/set-and-clear",
            "One field is set, one deleted, the name kept.",
            ProfileChange { email: set("new@example.jp"), phone: Change::Clear, ..keep() },
        )
        .on([full_profile()]),
        own("profile_patch/name", "The name is set.", ProfileChange { name: Some("Hana".to_owned()), ..keep() })
            .on([full_profile()]),
        own("profile_patch/keep", "Nothing to change: the key alone is taken.", keep()).on([full_profile()]),
        own(
            "profile_patch/without-birth",
            "created_at is set where it is missing, else it stands.",
            ProfileChange { phone: set("+81 90-1111-2222"), ..keep() },
        )
        .on([without(full_profile(), "created_at")]),
        own("profile_patch/missing", "There is no such customer.", ProfileChange { phone: Change::Clear, ..keep() })
            .ends("rejected account_missing by profile"),
        patch(
            "customer_patch/fields",
            "The operator changes fields, with an audit record.",
            ProfileChange { phone: set("090-0000-1111"), ..keep() },
            None,
        )
        .on([full_profile()]),
        patch(
            "customer_patch/missing",
            "There is no such customer.",
            ProfileChange { phone: Change::Clear, ..keep() },
            None,
        )
        .ends("rejected account_missing by profile"),
    ]
}

fn freezes() -> Vec<Case> {
    let wallets = || [full_profile(), wallet(A, "ECOPAY", "5000"), wallet(A, "POINT", "10")];
    let third = || wallet(A, "REGIONAL#aoba", "0");
    vec![
        patch("customer_patch/freeze", "The profile and every balance item at once.", keep(), Some("frozen"))
            .on(wallets())
            .precedence(),
        patch("customer_patch/freeze-frozen", "Frozen by another: this one's name stands.", keep(), Some("frozen"))
            .on(wallets().map(frozen)),
        patch("customer_patch/unfreeze", "And all of them back.", keep(), Some("active")).on(wallets().map(frozen)),
        patch(
            "customer_patch/account-opened-meanwhile",
            "A third account was opened: plan again.",
            keep(),
            Some("frozen"),
        )
        .seen([full_profile()])
        .seen([json!({ "uuid": third()["uuid"], "type": third()["type"] })])
        .on([with(full_profile(), "accounts", n("3")), wallet(A, "ECOPAY", "1"), wallet(A, "POINT", "1"), third()])
        .ends("rejected stale_plan by profile"),
        patch("customer_patch/account-unread", "Not all accounts were read: plan again.", keep(), Some("frozen"))
            .on([full_profile(), wallet(A, "ECOPAY", "5000")])
            .ends("refused stale_plan"),
    ]
}

fn cards() -> Vec<Case> {
    let by_me = || with(card("10"), "frozen_by_owner", s("2026-11-20T00:00:00.000Z"));
    vec![
        own_card("card_patch/freeze", "A customer freezes an own card.", "frozen").on([card("10")]),
        own_card("card_patch/unfreeze", "What the customer froze, the customer unfreezes.", "active").on([by_me()]),
        own_card("card_patch/frozen-by-the-operator", "What the operator froze, the operator unfreezes.", "active")
            .on([frozen(card("10"))])
            .ends("rejected wrong_state by card"),
        own_card("card_patch/of-another", "Another's card looks like none.", "frozen")
            .on([with(card("10"), "owner", s(B))])
            .ends("rejected account_missing by card"),
        own_card("card_patch/missing", "There is no such card.", "frozen").ends("rejected account_missing by card"),
        own_card("card_patch/replaced", "A replaced card has no status to change.", "frozen")
            .on([with(card("10"), "state", s("replaced"))])
            .ends("rejected wrong_state by card"),
        card_status("card_admin_patch/freeze", "The operator freezes a card.", "frozen").on([by_me()]),
        card_status("card_admin_patch/unfreeze", "And unfreezes it.", "active").on([frozen(card("10"))]),
        card_status("card_admin_patch/missing", "There is no such card.", "frozen")
            .ends("rejected account_missing by card"),
        card_status("card_admin_patch/replaced", "A replaced card has no status to change.", "frozen")
            .on([with(card("10"), "state", s("replaced"))])
            .ends("rejected wrong_state by card"),
    ]
}

fn codes_and_openings() -> Vec<Case> {
    vec![
        code("payment_code/issued", "The table holds the code's hash only.").on([profile(A, "2")]),
        code("payment_code/issued-over-another", "An earlier code stops to work.")
            .on([profile(A, "2"), code_slot("customer", A, "CODE", "another", EARLIER)]),
        code("payment_code/frozen", "A frozen wallet gets no code.")
            .on([frozen(profile(A, "2"))])
            .ends("rejected account_frozen by profile"),
        code("payment_code/missing", "There is no such wallet.").ends("rejected account_missing by profile"),
        open("customer_open/opened", "The profile and a balance item per asset."),
        open("customer_open/exists", "Nothing that stands is written over.")
            .on([profile(RESOURCE, "2"), wallet(RESOURCE, "ECOPAY", "5000")])
            .ends("rejected already_exists by profile"),
    ]
}
