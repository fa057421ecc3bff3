//! Requests with records of their own in tenants that require approvals: listed in the inbox, decided on at both
//! endpoints, withdrawn. Each is based on a case of a tenant that does not.

use super::outside::TOPUP;
use super::staff::member;
use super::world::*;
use super::{Case, admin, decisions, settlements_admin};
use crate::golden::build_recorded::RecordedDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The record of a case, as the inbox names it.
struct Kind {
    /// The case that requests it.
    requested: &'static str,
    /// The case that approves it.
    approved: &'static str,
    command: &'static str,
    /// The attribute of its id, and further ids.
    id: &'static str,
    more: Json,
    account: &'static str,
    details: Json,
    amount: &'static str,
    /// The id of the record that is approved.
    stored: &'static str,
    /// The partition and sort key of that record, without its id.
    place: (&'static str, &'static str, &'static str),
}

const SETTLEMENT: &str = "019a9500-0000-7000-8000-0000000000f1";
const PAYOUT_REQUEST: &str = "019a9600-0000-7000-8000-0000000000f2";
const DECISION: &str = "019a9000-0000-7000-8000-0000000000f1";

fn adjustment() -> Kind {
    Kind {
        requested: "adjustment_request/debit",
        approved: "adjustment_approve/credit",
        command: "adjustment_request",
        id: "adjustment_id",
        more: json!({}),
        account: OF_A,
        details: json!({ "M": { "direction": s("credit"), "reason_code": s("goodwill") } }),
        amount: "300",
        stored: PAYMENT,
        place: ("tenant", "root", "ADJUSTMENT#"),
    }
}

fn payout(requested: &'static str, approved: &'static str, command: &'static str) -> Kind {
    let is_return = command.starts_with("settlement");
    Kind {
        requested,
        approved,
        command,
        id: if is_return { "return_id" } else { "resend_id" },
        more: json!({ "merchant_id": s(MERCHANT), "settlement_id": s(SETTLEMENT) }),
        account: OF_MERCHANT,
        details: json!({ "M": { "settlement_id": s(SETTLEMENT) } }),
        amount: "2951",
        stored: PAYOUT_REQUEST,
        place: ("merchant", MERCHANT, if is_return { "RETURN#" } else { "RESEND#" }),
    }
}

fn resend() -> Kind {
    payout("settlement_resend/asked", "settlement_resend/approved", "file_resend_request")
}

fn returned() -> Kind {
    payout("settlement_return/asked", "settlement_return/approved", "settlement_return_request")
}

fn decision() -> Kind {
    Kind {
        requested: "decisions/book-requested",
        approved: "decisions/booked-less",
        command: "topup_decision_request",
        id: "decision_id",
        more: json!({ "topup_id": s(TOPUP) }),
        account: OF_A,
        details: json!({ "M": { "topup_id": s(TOPUP), "way": s("book") } }),
        amount: "2000",
        stored: DECISION,
        place: ("topup", TOPUP, "DECISION#"),
    }
}

impl Kind {
    /// The inbox's item of the record with this id.
    fn summary(&self, id: &str, by: &str, at: &str) -> Json {
        let mut item = json!({
            "kind": s(self.command), "account": s(self.account), "details": self.details, "requested_by": s(by),
            "created_at": s(at), "asset": s("ECOPAY"), "amount": n(self.amount), "reason": s("as agreed"),
        });
        item[self.id] = s(id);
        for (name, value) in self.more.as_object().unwrap() {
            item[name] = value.clone();
        }
        item
    }

    fn pending(&self) -> Json {
        self.summary(self.stored, OTHER_STAFF, EARLIER)
    }

    /// The record in the state of the case that approves it.
    fn record(&self) -> Json {
        let (partition, owner, sk) = self.place;
        let (pk, sk) = (format!("{TENANT}#{partition}#{owner}"), format!("{sk}{}", self.stored));
        let state = based_on(self.approved).given.state;
        let is_it = |item: &Json| item["uuid"] == s(&pk) && item["type"] == s(&sk);
        state.into_iter().find(is_it).unwrap_or_else(|| panic!("{} has no {sk}", self.approved))
    }
}

/// The case with this id.
fn based_on(id: &str) -> Case {
    let all = [admin::cases(), settlements_admin::cases(), decisions::cases()];
    all.into_iter().flatten().find(|case| case.id == id).unwrap_or_else(|| panic!("no case {id}"))
}

/// A case on the state of another one, with the same command in a tenant that requires approvals.
fn wrapped(id: &'static str, why: &'static str, of: &str, wrap: impl FnOnce(Box<Does>) -> RecordedDoes) -> Case {
    let mut case = Case { id, why, precedence: false, version: "v1", ..based_on(of) };
    let does = Box::new(case.given.command.does);
    case.given.command.does = Does::Recorded(wrap(does));
    case
}

fn decider() -> Json {
    member(STAFF, "hanako@example.com", &["approver"], "active")
}

fn requester() -> Json {
    member(OTHER_STAFF, "yuki@example.com", &["owner"], "active")
}

fn lists(id: &'static str, kind: &Kind, role: &str) -> Case {
    let summary = kind.summary(RESOURCE, STAFF, NOW);
    let by = STAFF.to_owned();
    let why = "The inbox shows it, and the requester's record is as it was read.";
    wrapped(id, why, kind.requested, |does| RecordedDoes::List { by, summary, does }).on([member(
        STAFF,
        "hanako@example.com",
        &[role],
        "active",
    )])
}

/// The approval at the record's own endpoint.
fn approves(id: &'static str, why: &'static str, kind: &Kind) -> Case {
    let (by, summary) = (STAFF.to_owned(), kind.pending());
    wrapped(id, why, kind.approved, |does| RecordedDoes::Approve { by, summary, inbox: false, does })
}

/// The approval at the inbox.
fn approves_in_inbox(id: &'static str, why: &'static str, kind: &Kind) -> Case {
    let (by, summary) = (STAFF.to_owned(), kind.pending());
    let case = wrapped(id, why, kind.approved, |does| RecordedDoes::Approve { by, summary, inbox: true, does });
    claimed(case, kind, "approve").on([decider(), requester()])
}

fn claimed(mut case: Case, kind: &Kind, verb: &str) -> Case {
    let path = format!("/v1/admin/approvals/{}/{verb}", kind.stored);
    case.given.command.claim = Some(by_staff(&format!("approval_{verb}"), &path, json!({})));
    case
}

fn ends(id: &'static str, why: &'static str, kind: &Kind, does: RecordedDoes, verb: &str) -> Case {
    let path = format!("/v1/admin/approvals/{}/{verb}", kind.stored);
    let claim = by_staff(&format!("approval_{verb}"), &path, json!({}));
    Case::new(id, why, Some(claim), Does::Recorded(does)).on([config(), kind.record()])
}

fn rejects(id: &'static str, kind: &Kind) -> Case {
    let does = RecordedDoes::Reject { by: STAFF.to_owned(), summary: kind.pending() };
    ends(id, "Another person rejects it.", kind, does, "reject").on([decider()])
}

fn withdraws(id: &'static str, kind: &Kind) -> Case {
    let does = RecordedDoes::Withdraw { by: STAFF.to_owned(), summary: kind.pending() };
    ends(id, "An owner withdraws it. It is stored as rejected, which every release reads.", kind, does, "withdraw")
        .on([member(STAFF, "hanako@example.com", &["owner"], "active")])
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        lists("adjustment_request/in-inbox", &adjustment(), "owner"),
        lists("adjustment_request/in-inbox-denied", &adjustment(), "approver").ends("denied adjustments.request"),
        lists("settlement_resend/in-inbox", &resend(), "owner"),
        lists("settlement_return/in-inbox", &returned(), "owner"),
        lists("decisions/in-inbox", &decision(), "owner"),
    ];
    all.extend(approved());
    all.extend(refused());
    all.extend(ended());
    all
}

fn approved() -> Vec<Case> {
    let both = || [decider(), requester()];
    vec![
        approves("adjustment_approve/required", "Both members' records are as they were read.", &adjustment())
            .on(both())
            .precedence(),
        approves("settlement_resend/required", "The decider is not of the merchant's staff.", &resend()).on(both()),
        approves("settlement_return/required", "The decider is not of the merchant's staff.", &returned()).on(both()),
        approves("decisions/required", "Both members' records are as they were read.", &decision()).on(both()),
        approves_in_inbox("approval_approve/adjustment", "The entry has a key of the adjustment's id.", &adjustment()),
        approves_in_inbox("approval_approve/resend", "The file is due once more.", &resend()),
        approves_in_inbox("approval_approve/return", "The entry has a key of the request's id.", &returned()),
        approves_in_inbox("approval_approve/decision", "The entry has a key of the decision's id.", &decision()),
    ]
}

fn refused() -> Vec<Case> {
    let approve = |id, why, decider: Json, requester: Json| {
        let case = approves(id, why, &adjustment()).on([decider, requester]);
        Case { effects: Vec::new(), ..case }
    };
    let named = with(decider(), "beneficiary_of", json!({ "L": [s(OF_A)] }));
    let disabled = member(OTHER_STAFF, "yuki@example.com", &["owner"], "disabled");
    let of_old =
        |id| {
            let mut kind = adjustment().pending();
            kind["created_at"] = s("2026-11-14T03:00:00.000Z");
            let by = STAFF.to_owned();
            let case = wrapped(id, "At the instant of the expiry.", adjustment().approved, |does| {
                RecordedDoes::Approve { by, summary: kind, inbox: false, does }
            });
            Case { effects: Vec::new(), ..case }.on([decider(), requester()]).ends("refused approval_expired")
        };
    vec![
        approve(
            "adjustment_approve/required-beneficiary",
            "The decider's record names the account.",
            named,
            requester(),
        )
        .ends("refused four_eyes"),
        approve(
            "adjustment_approve/required-by-a-treasurer",
            "A treasurer decides on nothing.",
            member(STAFF, "hanako@example.com", &["treasurer"], "active"),
            requester(),
        )
        .ends("denied approvals.decide"),
        approve("adjustment_approve/required-disabled", "A person who left requests nothing.", decider(), disabled)
            .ends("refused wrong_state"),
        approve(
            "adjustment_approve/required-changed-meanwhile",
            "The decider may have been demoted.",
            with(decider(), "version", n("4")),
            requester(),
        )
        .seen([decider()])
        .ends("rejected stale_plan by staff"),
        of_old("adjustment_approve/required-expired"),
    ]
}

fn ended() -> Vec<Case> {
    let of = |kind: &Kind| (STAFF.to_owned(), kind.pending());
    let (by, summary) = of(&adjustment());
    let there = wrapped(
        "adjustment_reject/required",
        "The decider's record is as it was read.",
        "adjustment_reject/rejected",
        |does| RecordedDoes::RejectThere { by, summary, does },
    );
    let (by, summary) = of(&adjustment());
    let own = RecordedDoes::Withdraw { by: OTHER_STAFF.to_owned(), summary: summary.clone() };
    let disabled = Does::Recorded(RecordedDoes::WithdrawOfDisabled { by, summary });
    vec![
        there.on([decider()]),
        rejects("approval_reject/adjustment", &adjustment()),
        rejects("approval_reject/resend", &resend()),
        rejects("approval_reject/return", &returned()),
        rejects("approval_reject/decision", &decision()),
        withdraws("approval_withdraw/adjustment", &adjustment()),
        withdraws("approval_withdraw/resend", &resend()),
        withdraws("approval_withdraw/return", &returned()),
        withdraws("approval_withdraw/decision", &decision()),
        ends(
            "approval_withdraw/adjustment-of-another",
            "A colleague does not.",
            &adjustment(),
            RecordedDoes::Withdraw { by: STAFF.to_owned(), summary: adjustment().pending() },
            "withdraw",
        )
        .on([member(STAFF, "hanako@example.com", &["treasurer"], "active")])
        .ends("denied staff.manage"),
        ends("approval_withdraw/own-adjustment", "The requester withdraws it.", &adjustment(), own, "withdraw")
            .on([requester()]),
        Case::new("approval_withdraw/adjustment-of-disabled", "The requester was disabled.", None, disabled).on([
            config(),
            adjustment().record(),
            member(STAFF, "hanako@example.com", &["owner"], "active"),
            member(OTHER_STAFF, "yuki@example.com", &["owner"], "disabled"),
        ]),
    ]
}
