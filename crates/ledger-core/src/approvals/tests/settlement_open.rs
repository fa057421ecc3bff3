//! A settlement that two people open is paid on a day that is possible at the decision.

use super::*;
use crate::bank::{AccountKind, BankAccount, BankParts, Sender, SenderParts};
use crate::calendar::BankDeadline;
use crate::dynamo::{Item, Value};
use crate::terms::SettlementTerms;

fn parts<'a>() -> BankParts<'a> {
    BankParts {
        bank_code: "0005",
        bank_name: None,
        branch_code: "001",
        branch_name: None,
        kind: AccountKind::Ordinary,
        number: "1234567",
        holder: "ﾐﾄﾞﾘ",
    }
}

pub(super) fn by_bank() -> Destination {
    Destination::Bank(BankAccount::new(&parts()).unwrap())
}

fn merchant() -> MerchantId {
    MerchantId::new(Uuid::from_u128(5))
}

fn profile(destination: &Destination) -> Item {
    let mut item = Item::from([
        ("merchant_id".to_owned(), Value::s(merchant())),
        ("name".to_owned(), Value::s("Aoba")),
        ("status".to_owned(), Value::s("active")),
        ("shards".to_owned(), Value::int(4)),
    ]);
    item.insert("payout".to_owned(), Value::M(destination.item()));
    item
}

pub(super) fn with_account(deadline: BankDeadline) -> TenantTerms {
    let sender = Sender::new(&SenderParts { code: "1234567890", account: parts() }).ok();
    TenantTerms { settlement: Some(SettlementTerms { sender, deadline, ..SettlementTerms::free() }), ..terms() }
}

/// An instant in Japan.
fn at(text: &str) -> Context {
    let now = Timestamp::parse(&format!("{}:00+09:00", text.replace(' ', "T"))).unwrap();
    Context { now, ..cx() }
}

fn opening(pay_on: Option<&str>) -> Command {
    let (seen, pay_on) = (destination_digest(Some(&by_bank())), pay_on.map(|day| BusinessDate::parse(day).unwrap()));
    Command::SettlementOpen { merchant: merchant(), pay_on, seen }
}

/// Requests it at one instant.
fn requested(pay_on: Option<&str>, when: &str) -> Result<Approval, PlanRefusal> {
    let (tenant, by, terms, items) = (
        tenant(),
        member(REQUESTER, "treasurer"),
        with_account(BankDeadline::DEFAULT),
        [Some(profile(&by_bank())), None],
    );
    let command = opening(pay_on);
    let seen = Seen { items: &items, ..seen_by(&command, &terms, (&by, &by)) };
    let request = ApprovalRequest { tenant: &tenant, by: &by, command, reason: None, seen, guarded: &BTreeMap::new() };
    plan_request(&request, &at(when)).map(|planned| planned.receipt)
}

/// Decides on it at another instant, under terms that may be others: the state, and the day on which it is paid.
fn decided(
    approval: &Approval,
    when: &str,
    terms: &TenantTerms,
) -> Result<(ApprovalState, Option<String>), PlanRefusal> {
    let (decider, requester) = both();
    let (tenant, items) = (tenant(), [Some(profile(&by_bank())), None]);
    let seen = Seen { items: &items, ..seen_by(&approval.command, terms, (&decider, &requester)) };
    let command = Approve { tenant: &tenant, approval, decider: &decider, requester: &requester, seen };
    let (planned, _) = plan_approve(&command, &at(when))?;
    let put =
        planned.draft.items.iter().find(|item| item.role() == Role::Settlement).map(|item| item.render().unwrap());
    let pay_on = put.map(|put| {
        let text = format!("{put:?}");
        let (_, rest) = text.split_once("\"pay_on\": S(\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    });
    Ok((planned.receipt.state(at(when).now), pay_on))
}

#[test]
fn default_day_is_the_first_possible_one_at_the_decision() {
    let approval = requested(None, "2026-11-25 11:00").unwrap();
    let terms = with_account(BankDeadline::DEFAULT);
    for (when, day) in
        [("2026-11-25 11:59", "2026-11-26"), ("2026-11-25 12:00", "2026-11-27"), ("2026-11-28 09:00", "2026-12-01")]
    {
        let want = (ApprovalState::Approved, Some(day.to_owned()));
        assert_eq!(decided(&approval, when, &terms).unwrap(), want, "{when}");
    }
}

#[test]
fn stated_day_is_checked_at_the_request_and_makes_the_command_stale_once_it_is_too_early() {
    for wrong in ["2020-01-01", "2026-11-25", "2026-11-28", "2026-12-11", "9999-12-31"] {
        let refused = requested(Some(wrong), "2026-11-25 11:59").unwrap_err();
        assert!(matches!(refused, PlanRefusal::PaymentDay { field: "pay_on", .. }), "{wrong}: {refused:?}");
        let why = "pay_on: must be a day on which banks are open, from 2026-11-26 to 2026-12-10";
        assert_eq!(refused.to_string(), why, "{wrong}");
    }
    let approval = requested(Some("2026-11-26"), "2026-11-25 11:59").unwrap();
    let terms = with_account(BankDeadline::DEFAULT);
    let approved = (ApprovalState::Approved, Some("2026-11-26".to_owned()));
    assert_eq!(decided(&approval, "2026-11-25 11:59", &terms).unwrap(), approved);
    for late in ["2026-11-25 12:00", "2026-11-26 09:00", "2026-11-30 09:00"] {
        assert_eq!(decided(&approval, late, &terms).unwrap(), (ApprovalState::Stale, None), "{late}");
    }
    // A day that is too far under other terms comes nearer: the command stays.
    let approval = requested(Some("2026-12-10"), "2026-11-25 11:59").unwrap();
    let nearer = with_account(BankDeadline { ahead_days: 10, ..BankDeadline::DEFAULT });
    let refused = decided(&approval, "2026-11-26 09:00", &nearer).unwrap_err();
    assert!(matches!(refused, PlanRefusal::PaymentDay { field: "pay_on", .. }), "{refused:?}");
    let approved = (ApprovalState::Approved, Some("2026-12-10".to_owned()));
    assert_eq!(decided(&approval, "2026-11-30 09:00", &nearer).unwrap(), approved);
}
