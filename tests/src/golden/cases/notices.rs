//! Changes of addresses that are announced: the previous addresses are kept in the transaction of the change.

use super::Case;
use super::world::*;
use crate::golden::build_notices::NoticeDoes;
use crate::golden::command::{Change, Does, ProfileChange};
use serde_json::{Value as Json, json};

fn keep() -> ProfileChange {
    ProfileChange { name: None, email: Change::Keep, phone: Change::Keep }
}

fn set(text: &str) -> Change {
    Change::Set(text.to_owned())
}

fn own(id: &'static str, why: &'static str, change: ProfileChange) -> Case {
    let claim = by_a("profile_patch", "/v1/me", json!({ "phone": null }));
    Case::new(id, why, Some(claim), Does::Notice(NoticeDoes::Own { customer: A.to_owned(), change }))
}

fn by_operator(id: &'static str, why: &'static str, change: ProfileChange) -> Case {
    let claim = by_staff("customer_patch", &format!("/v1/admin/customers/{A}"), json!({ "phone": null }));
    let does = NoticeDoes::ByOperator { customer: A.to_owned(), change, actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::Notice(does))
}

fn full_profile() -> Json {
    with(with(profile(A, "2"), "email", s("old@example.jp")), "phone", s("090-1234-5678"))
}

/// The notice of a change of both, as it is stored.
fn stored() -> Json {
    let attributes = json!({
        "notice_id": s(AUDIT), "customer_id": s(A), "changed": s("email phone"), "previous_email": s("old@example.jp"),
        "previous_phone": s("090-1234-5678"), "created_at": s(EARLIER), "due_pk": s("demo#due#notice#0"),
        "due_sk": s(AUDIT), "ttl": n("1800000000"),
    });
    item("tenant", "root", &format!("JOB#notice#{AUDIT}"), attributes)
}

pub(super) fn cases() -> Vec<Case> {
    let both = || ProfileChange { email: set("new@example.jp"), phone: Change::Clear, ..keep() };
    let bank = json!({
        "bank_code": s("0009"), "branch_code": s("123"), "account_type": s("ordinary"),
        "account_number": s("1234567"), "account_holder": s("ﾐﾄﾞﾘ"), "kind": s("bank"),
    });
    let claim = by_staff("merchant_patch", &format!("/v1/admin/merchants/{MERCHANT}"), json!({}));
    let destination =
        NoticeDoes::Destination { merchant: MERCHANT.to_owned(), destination: bank, actor: BY_STAFF.to_owned() };
    vec![
        own("notice/contact", "Both previous addresses are kept, and the act is on the trail.", both())
            .on([full_profile()]),
        own(
            "notice/email-for-a-phone",
            "A number is added: the customer can be written to at the e-mail address.",
            ProfileChange { phone: set("+81 90-1111-2222"), ..keep() },
        )
        .on([with(profile(A, "2"), "email", s("old@example.jp"))]),
        own(
            "notice/first-address",
            "No previous address is known: the act alone is recorded.",
            ProfileChange { email: set("new@example.jp"), ..keep() },
        )
        .on([profile(A, "2")]),
        own(
            "notice/same-address",
            "The address is what it was: there is nothing to announce.",
            ProfileChange { email: set("old@example.jp"), ..keep() },
        )
        .on([full_profile()]),
        own("notice/changed-meanwhile", "Another change has come first: it is planned again.", both())
            .seen([full_profile()])
            .on([with(full_profile(), "email", s("other@example.jp"))])
            .ends("rejected stale_plan by profile"),
        by_operator(
            "notice/by-operator",
            "The operator changes a number, with one audit record.",
            ProfileChange { phone: set("090-0000-1111"), ..keep() },
        )
        .on([full_profile()]),
        Case::new(
            "notice/destination",
            "The merchant is to hear of another payout destination.",
            Some(claim),
            Does::Notice(destination),
        )
        .on([merchant()]),
        Case::new(
            "notice/announced",
            "Nothing of it is due any more.",
            None,
            Does::Notice(NoticeDoes::Announced { notice: AUDIT.to_owned() }),
        )
        .on([stored()]),
    ]
}
