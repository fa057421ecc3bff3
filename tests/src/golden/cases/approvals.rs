//! Commands that another person must approve: requested, approved, rejected, withdrawn, stale; and the switch.

use super::Case;
use super::staff::member;
use super::world::*;
use crate::golden::build_approvals::ApprovalDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const APPROVAL: &str = "019a0000-0000-7000-8000-000000000061";
/// The digest of the bank account that ends in 567.
const SEEN: &str = "a3182e00133a5e453459e457b1a820e0d08f4f66be5b163257cea0ff531a5952";
const EXPIRES: &str = "2026-11-27T03:00:00.000Z";
const POINTS: [(&str, &str, &str); 2] = [(OF_A, "POINT", "300"), ("points_issued", "POINT", "-300")];

fn required() -> Json {
    with(with(config(), "staff", s("records")), "approvals", s("required"))
}

/// The treasurer who requests.
pub(super) fn requester() -> Json {
    member(OTHER_STAFF, "yuki@example.com", &["treasurer"], "active")
}

/// A requester who manages terminals.
fn operator() -> Json {
    member(OTHER_STAFF, "yuki@example.com", &["operator"], "active")
}

fn owing() -> Json {
    with(with(required(), "records", n("5")), "cash", s("owed_by_merchant"))
}

/// The approver who decides: the caller of every request.
pub(super) fn decider() -> Json {
    member(STAFF, "hanako@example.com", &["approver"], "active")
}

fn owner(id: &str) -> Json {
    member(id, "aoi@example.com", &["owner"], "active")
}

fn grant() -> Json {
    json!({ "kind": s("grant"), "customer_id": s(A), "asset": s("POINT"), "amount": n("300") })
}

fn own_ceiling() -> Json {
    json!({ "kind": s("cash_ceiling"), "owner": s("operator"), "asset": s("ECOPAY"), "amount": n("50000") })
}

fn counter_open() -> Json {
    json!({ "kind": s("terminal_open"), "terminal_id": s(TERMINAL) })
}

fn code() -> Json {
    json!({ "kind": s("enrolment_code"), "terminal_id": s(TERMINAL), "owner": s("operator") })
}

fn many() -> Json {
    let customers = json!({ "L": [s(A)] });
    json!({ "kind": s("bulk_grant"), "customers": customers, "asset": s("POINT"), "amount": n("300") })
}

fn ceiling() -> Json {
    json!({ "kind": s("cash_ceiling"), "merchant_id": s(MERCHANT), "asset": s("ECOPAY"), "amount": n("50000") })
}

/// A customer's limit of a day is raised; the account had one of its own.
fn limits() -> Json {
    json!({
        "kind": s("account_limits"), "account": s(OF_A), "asset": s("ECOPAY"),
        "limits": { "L": [s("pay_day=20000"), s("pay_month=none")] }, "seen": s("pay_day=10000"),
    })
}

fn counting() -> Json {
    with(required(), "limits", json!({ "M": { "version": n("3") } }))
}

fn with_limits(own: &str) -> Json {
    with(wallet(A, "ECOPAY", "5000"), "limits", s(own))
}

fn refund_ceiling(seen: &str) -> Json {
    json!({
        "kind": s("refund_ceiling"), "merchant_id": s(MERCHANT), "asset": s("ECOPAY"), "amount": n("50000"), "seen": n(seen),
    })
}

fn bank(number: &str) -> Json {
    json!({ "M": {
        "bank_code": s("0009"), "branch_code": s("123"), "account_type": s("ordinary"), "account_number": s(number),
        "account_holder": s("ﾐﾄﾞﾘ"), "kind": s("bank"),
    }})
}

/// A new destination, for a merchant that had none.
fn destination() -> Json {
    json!({ "kind": s("merchant_patch"), "merchant_id": s(MERCHANT), "destination": bank("1234567") })
}

pub(super) fn stored(command: &Json) -> Json {
    let attributes = json!({
        "approval_id": s(APPROVAL), "command": { "M": command }, "requested_by": s(OTHER_STAFF), "state": s("pending"),
        "expires_at": s(EXPIRES), "created_at": s(EARLIER), "reason": s("spring campaign"),
    });
    item("tenant", "root", &format!("APPROVAL#{APPROVAL}"), attributes)
}

/// The member who calls requests a command at the command's own endpoint.
pub(super) fn request(id: &'static str, why: &'static str, (operation, path): (&str, &str), command: Json) -> Case {
    let claim = by_staff(operation, path, json!({ "reason": "spring campaign" }));
    let (by, reason) = (STAFF.to_owned(), Some("spring campaign".to_owned()));
    Case::new(id, why, Some(claim), Does::Approval(ApprovalDoes::Request { by, command, reason })).on([required()])
}

fn decide(id: &'static str, why: &'static str, verb: &str) -> Case {
    decide_in(required(), id, why, verb)
}

pub(super) fn decide_in(config: Json, id: &'static str, why: &'static str, verb: &str) -> Case {
    let path = format!("/v1/admin/approvals/{APPROVAL}/{verb}");
    let claim = by_staff(&format!("approval_{verb}"), &path, json!({}));
    let (by, approval) = (STAFF.to_owned(), APPROVAL.to_owned());
    let does = match verb {
        "approve" => ApprovalDoes::Approve { by, approval },
        "reject" => ApprovalDoes::Reject { by, approval },
        _ => ApprovalDoes::Withdraw { by, approval },
    };
    Case::new(id, why, Some(claim), Does::Approval(does)).on([config])
}

/// The approval of other limits of an account, in a tenant that has limits.
fn approve_limits(id: &'static str, why: &'static str) -> Case {
    decide_in(counting(), id, why, "approve").on([stored(&limits()), decider(), requester()])
}

fn approve(id: &'static str, why: &'static str, command: &Json) -> Case {
    decide(id, why, "approve").on([stored(command), decider(), requester()])
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = requested();
    all.extend(executed());
    all.extend(refused());
    all.extend(ended());
    all.extend(switched());
    all
}

fn requested() -> Vec<Case> {
    let treasurer = || member(STAFF, "hanako@example.com", &["treasurer"], "active");
    let grants = ("grant", "/v1/admin/grants");
    let shop = format!("/v1/admin/merchants/{MERCHANT}");
    let invitation = json!({
        "kind": s("staff_invite"), "staff_id": s(OTHER_STAFF), "email": s("yuki@example.com"),
        "roles": { "L": [s("approver")] }, "beneficiary_of": { "L": [s(OF_A)] },
    });
    vec![
        request("approval_request/grant", "The grant is stored; nothing is granted.", grants, grant())
            .on([treasurer()]),
        request("approval_request/grant-by-another", "The member may not grant.", grants, grant())
            .on([decider()])
            .ends("denied grants.issue"),
        request(
            "approval_request/changed-meanwhile",
            "The member's record is not as it was read: the person may have been demoted.",
            grants,
            grant(),
        )
        .seen([treasurer()])
        .on([with(treasurer(), "version", n("4"))])
        .ends("rejected stale_plan by staff"),
        request(
            "approval_request/destination",
            "Of the destination that was seen a digest is stored, not the account.",
            ("merchant_patch", &shop),
            with(with(destination(), "destination", bank("7654321")), "seen", s(SEEN)),
        )
        .on([treasurer(), with(merchant(), "payout", bank("1234567"))]),
        request(
            "approval_request/limits",
            "The limits that the account has are a part of the command.",
            ("account_limits", "/v1/admin/account-limits"),
            limits(),
        )
        .on([treasurer(), with_limits("pay_day=10000")]),
        request(
            "approval_request/refund-ceiling",
            "The ceiling that was seen is stored.",
            ("refund_ceiling", &format!("{shop}/refund-room")),
            refund_ceiling("0"),
        )
        .on([treasurer(), merchant()]),
        request(
            "approval_request/role",
            "Who decides for which accounts is a part of the command.",
            ("staff_invite", "/v1/admin/staff"),
            invitation,
        )
        .on([owner(STAFF)]),
    ]
}

fn executed() -> Vec<Case> {
    vec![
        approve("approval_approve/grant", "The grant's entry, under the approval's key.", &grant())
            .on([wallet(A, "POINT", "5")])
            .moves(&POINTS)
            .precedence(),
        approve("approval_approve/many", "The job has the approval's id.", &many()),
        approve("approval_approve/ceiling", "The decider must not be of the merchant's staff.", &ceiling())
            .on([merchant()]),
        approve("approval_approve/ceiling-of-own-employer", "The decider's address is of its staff.", &ceiling())
            .on([merchant(), person()])
            .ends("rejected four_eyes by person"),
        approve("approval_approve/operators-ceiling", "The operator's counters have no beneficiary.", &own_ceiling()),
        decide_in(owing(), "approval_approve/counter", "The counter is registered.", "approve").on([
            stored(&counter_open()),
            decider(),
            operator(),
        ]),
        decide("approval_approve/counters-enrolment", "The requester may issue a code of the counter.", "approve")
            .on([stored(&code()), decider(), operator(), super::counters::counter()]),
        approve("approval_approve/refund-ceiling", "The room grows by what is more.", &refund_ceiling("100"))
            .on([merchant(), super::rooms::refund_room("100", "-20", "120")]),
        approve("approval_approve/refund-ceiling-stale", "Another ceiling was set since.", &refund_ceiling("0"))
            .on([merchant(), super::rooms::refund_room("100", "100", "0")]),
        decide("approval_approve/enrolment", "The requester may issue one code within a day.", "approve").on([
            stored(&json!({ "kind": s("enrolment_code"), "terminal_id": s(TERMINAL), "merchant_id": s(MERCHANT) })),
            decider(),
            operator(),
            terminal(),
        ]),
        approve_limits("approval_approve/limits", "The account has the limits that were seen.")
            .on([with_limits("pay_day=10000")]),
        approve("approval_approve/limits-without-tenants", "The tenant counts nothing.", &limits())
            .on([with_limits("pay_day=10000")])
            .ends("rejected wrong_state by config"),
        approve_limits("approval_approve/limits-stale", "The account's limits were changed since.")
            .on([with_limits("pay_day=500")]),
        approve_limits("approval_approve/limits-changed-meanwhile", "They are changed while it is approved.")
            .seen([with_limits("pay_day=10000")])
            .on([with_limits("pay_day=500")])
            .ends("rejected stale_plan by payer"),
        approve("approval_approve/destination", "It is not paid to for a day.", &destination()).on([merchant()]),
        approve(
            "approval_approve/another-destination",
            "The merchant has the destination that was seen.",
            &with(with(destination(), "destination", bank("7654321")), "seen", s(SEEN)),
        )
        .on([with(merchant(), "payout", bank("1234567"))]),
        approve(
            "approval_approve/stale",
            "The merchant has got a destination since: the state alone is stored.",
            &destination(),
        )
        .on([with(merchant(), "payout", bank("7654321"))]),
    ]
}

/// The item that keeps the decider's address to one record of the merchant's staff.
pub(super) fn person() -> Json {
    const DIGEST: &str = "3a115c1ed0035cb37d11dc30ac7aa7cbaf78e284c693a2f7f4ace6178e27b740";
    let attributes = json!({ "staff_id": s(A), "created_at": s(EARLIER) });
    item("merchant", MERCHANT, &format!("PERSON#{DIGEST}"), attributes)
}

fn refused() -> Vec<Case> {
    let in_wallet = || wallet(A, "POINT", "5");
    let own = |command: &Json| with(stored(command), "requested_by", s(STAFF));
    let approve = |id, why| decide(id, why, "approve").on([in_wallet()]);
    let pending = || stored(&grant());
    vec![
        approve("approval_approve/own", "The requester does not approve.")
            .on([own(&grant()), owner(STAFF)])
            .ends("refused four_eyes"),
        approve("approval_approve/beneficiary", "The decider's record names the account.")
            .on([pending(), requester(), with(decider(), "beneficiary_of", json!({ "L": [s(OF_A)] }))])
            .ends("refused four_eyes"),
        approve("approval_approve/by-a-treasurer", "A treasurer decides on nothing.")
            .on([pending(), requester(), member(STAFF, "hanako@example.com", &["treasurer"], "active")])
            .ends("denied approvals.decide"),
        approve("approval_approve/requester-disabled", "A person who left requests nothing.")
            .on([pending(), decider(), member(OTHER_STAFF, "yuki@example.com", &["treasurer"], "disabled")])
            .ends("refused wrong_state"),
        approve("approval_approve/expired", "At the instant of the expiry.")
            .on([with(pending(), "expires_at", s(NOW)), decider(), requester()])
            .ends("refused approval_expired"),
        approve("approval_approve/decided-meanwhile", "Another person was first.")
            .seen([pending()])
            .on([with(pending(), "state", s("rejected")), decider(), requester()])
            .ends("rejected wrong_state by approval"),
        approve("approval_approve/decider-changed-meanwhile", "The decider may have been demoted.")
            .seen([decider()])
            .on([pending(), with(decider(), "version", n("4")), requester()])
            .ends("rejected stale_plan by staff"),
        decide("approval_approve/no-customer", "It cannot be executed: it stays pending.", "approve")
            .on([pending(), decider(), requester()])
            .ends("rejected account_missing by payee"),
    ]
}

fn ended() -> Vec<Case> {
    let own = || with(stored(&grant()), "requested_by", s(STAFF));
    let disabled = || member(OTHER_STAFF, "yuki@example.com", &["treasurer"], "disabled");
    let of_disabled = |id, why| {
        let (by, approval) = (STAFF.to_owned(), APPROVAL.to_owned());
        let does = Does::Approval(ApprovalDoes::WithdrawOfDisabled { by, approval });
        Case::new(id, why, None, does).on([required(), owner(STAFF)])
    };
    let treasurer = || member(STAFF, "hanako@example.com", &["treasurer"], "active");
    vec![
        decide("approval_reject/grant", "Another person rejects.", "reject").on([
            stored(&grant()),
            decider(),
            requester(),
        ]),
        decide("approval_withdraw/own", "The requester withdraws.", "withdraw").on([own(), treasurer()]),
        decide("approval_withdraw/by-an-owner", "An owner withdraws what another requested.", "withdraw")
            .on([stored(&grant()), owner(STAFF)]),
        decide("approval_withdraw/of-another", "A colleague does not.", "withdraw")
            .on([stored(&grant()), treasurer()])
            .ends("denied staff.manage"),
        of_disabled("approval_withdraw/of-disabled", "What a disabled member requested is withdrawn.")
            .on([stored(&grant()), disabled()]),
        of_disabled("approval_withdraw/of-active", "An active member's request stays.")
            .on([stored(&grant()), requester()])
            .ends("refused stale_plan"),
        of_disabled("approval_withdraw/of-enabled-meanwhile", "The member is active again: the request stays.")
            .seen([disabled()])
            .on([stored(&grant()), with(requester(), "version", n("4"))])
            .ends("rejected stale_plan by staff"),
        of_disabled("approval_withdraw/of-disabled-decided-meanwhile", "It was approved before.")
            .seen([stored(&grant())])
            .on([with(stored(&grant()), "state", s("approved")), disabled()])
            .ends("rejected wrong_state by approval"),
    ]
}

fn switched() -> Vec<Case> {
    let require = |id, why, limits: &[(&str, &str)]| {
        let limits: BTreeMap<String, String> =
            limits.iter().map(|(asset, most)| ((*asset).to_owned(), (*most).to_owned())).collect();
        Case::new(id, why, None, Does::Approval(ApprovalDoes::Require { limits }))
    };
    vec![
        require("tenant/approvals-required", "With a limit up to which one person grants.", &[("POINT", "1000")])
            .on([with(config(), "staff", s("records"))]),
        require("tenant/approvals-required-again", "They are required already.", &[])
            .on([required()])
            .ends("rejected wrong_state by config"),
        require("tenant/approvals-before-records", "Tokens decide what the staff may do.", &[])
            .on([config()])
            .ends("rejected stale_plan by config"),
    ]
}
