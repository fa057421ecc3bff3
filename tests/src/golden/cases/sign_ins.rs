//! Customers who are moved to another sign-in by two people, and what that changes of openings and payment codes.

use super::Case;
use super::approvals::{decide_in, decider, request, stored};
use super::staff::member;
use super::world::*;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const FIRST: &str = "019a0000-0000-7000-8000-0000000000d1";
const SECOND: &str = "019a0000-0000-7000-8000-0000000000d2";

fn config_7() -> Json {
    with(with(with(config(), "staff", s("records")), "approvals", s("required")), "records", n("7"))
}

/// A tenant that has moved a customer.
fn moved_before() -> Json {
    with(config_7(), "sign_ins", s("moved"))
}

fn command(subject: &str, seen: &str) -> Json {
    json!({ "kind": s("sign_in_move"), "customer_id": s(A), "subject": s(subject), "seen": s(seen) })
}

/// The item of a subject of the customer.
fn sign_in(subject: &str) -> Json {
    item("customer", subject, "LOOKUP#sign_in", json!({ "customer_id": s(A), "created_at": s(EARLIER) }))
}

fn moved_to(subject: &str) -> Json {
    with(with(profile(A, "2"), "sign_in", s(subject)), "sign_in_since", s(EARLIER))
}

fn requester() -> Json {
    member(OTHER_STAFF, "yuki@example.com", &["support"], "active")
}

fn requests(id: &'static str, why: &'static str) -> Case {
    let at = format!("/v1/admin/customers/{A}/sign-in");
    let mut case = request(id, why, ("sign_in_move", &at), command(FIRST, A));
    case.given.state.clear();
    case.on([member(STAFF, "hanako@example.com", &["support"], "active")])
}

fn approves(id: &'static str, why: &'static str, config: Json, command: &Json) -> Case {
    decide_in(config, id, why, "approve").on([stored(command), decider(), requester()])
}

fn code(id: &'static str, why: &'static str, sign_in: &str) -> Case {
    let claim = by_a("payment_code", "/v1/me/payment-code", json!({}));
    let does = Does::PaymentCode { customer: A.to_owned(), sign_in: Some(sign_in.to_owned()) };
    Case::new(id, why, Some(claim), does).on([moved_before()])
}

fn opens(id: &'static str, why: &'static str, customer: &str) -> Case {
    let claim = by_staff("customer_open", "/v1/admin/customers", json!({ "name": "Hanako", "customer_id": customer }));
    let does = Does::CustomerOpen {
        customer: Some(customer.to_owned()),
        actor: BY_STAFF.to_owned(),
        name: "Hanako".to_owned(),
        email: None,
        phone: None,
    };
    Case::new(id, why, Some(claim), does)
}

pub(super) fn cases() -> Vec<Case> {
    let (first, next) = (command(FIRST, A), command(SECOND, FIRST));
    vec![
        requests("approval_request/sign-in-move", "The subject that was seen is stored.")
            .on([config_7(), profile(A, "2")]),
        requests("approval_request/sign-in-move-before-records-7", "An earlier release would not know of it.")
            .on([with(config_7(), "records", n("6")), profile(A, "2")])
            .ends("refused wrong_state"),
        requests("approval_request/sign-in-move-to-a-customer", "The subject is a customer's id.")
            .on([config_7(), profile(A, "2"), profile(FIRST, "2")])
            .ends("refused already_exists"),
        approves(
            "approval_approve/sign-in-first-move",
            "The customer's own id ends as a subject, and the tenant's requests read subjects from then on.",
            config_7(),
            &first,
        )
        .on([profile(A, "2")])
        .precedence(),
        approves("approval_approve/sign-in-moved-again", "The subject before ends.", moved_before(), &next)
            .on([moved_to(FIRST), sign_in(FIRST)]),
        approves(
            "approval_approve/sign-in-moved-meanwhile",
            "Another approval moved the customer.",
            moved_before(),
            &first,
        )
        .on([moved_to(SECOND), sign_in(SECOND)]),
        approves(
            "approval_approve/sign-in-taken",
            "The subject is a sign-in by the time of the write.",
            config_7(),
            &first,
        )
        .on([profile(A, "2"), sign_in(FIRST)])
        .seen([json!({ "uuid": s(format!("{TENANT}#customer#{FIRST}")), "type": s("LOOKUP#sign_in") })])
        .ends("rejected already_exists by lookup"),
        code("payment_code/sign-in-own", "A customer who was not moved, in a tenant that has moved others.", A)
            .on([profile(A, "2")]),
        code("payment_code/sign-in-moved", "The subject is the customer's.", FIRST).on([moved_to(FIRST)]),
        code("payment_code/sign-in-former", "A cache may still have the former subject.", A)
            .on([moved_to(FIRST)])
            .ends("rejected account_missing by profile"),
        opens("customer_open/given-id", "No customer was moved: nothing more is checked.", FIRST).on([config_7()]),
        opens("customer_open/given-id-checked", "The id is no subject.", FIRST).on([moved_before()]),
        opens("customer_open/given-id-is-a-subject", "The id is another customer's sign-in.", FIRST)
            .on([moved_before(), sign_in(FIRST)])
            .ends("rejected already_exists by lookup"),
    ]
}
