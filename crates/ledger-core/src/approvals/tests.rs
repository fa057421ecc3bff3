//! Every state under every action, who may act, and the stored form of every command.

mod bank_file;
mod commands;
mod deciders;
mod settlement_open;
mod settlement_run;
mod states;
mod ties;

use super::*;
use crate::account::Account;
use crate::calendar::OwnSchedule;
use crate::cards::replace::ReplacedCard;
use crate::cards::reverse_cash::CashTopup;
use crate::closing::{CardClosing, CustomerClosing};
use crate::customers::sign_in::{SignInMove, own_of};
use crate::failure::Failure;
use crate::idempotency::{ClaimKey, MarkerKeys};
use crate::ids::{
    ApprovalId, AuditId, CardId, CustomerId, Employer, MerchantId, PaymentId, StaffId, SubjectId, Tenant, TerminalId,
    TerminalOwner, TransactionId,
};
use crate::keys::{self, Shards, attr};
use crate::money::{Amount, Asset, AssetSpec, Balance, Rate, Share};
use crate::payments::by_operator::OrderedRefund;
use crate::permission::{Permission, Staff};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::PspId;
use crate::settlements::Destination;
use crate::staff::{BeneficiaryKind, BeneficiaryKinds, Declared, DeclaredTies, person_names};
use crate::staff::{MemberState, StaffMember, StaffRole};
use crate::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms,
    SpentPoints, TenantTerms, TermsChanges, TermsVersion,
};
use crate::ties::Resolver;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Role, TransactItem, Transaction};
use crate::unclaimed::{Claimed, PaidOut};
use commands::commands;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const REQUESTER: u128 = 1;
const DECIDER: u128 = 2;
const CUSTOMER: u128 = 9;

fn cx() -> Context {
    Context {
        now: Timestamp::from_millis(1_764_000_000_000),
        transaction_id: TransactionId::new(Uuid::from_u128(11)),
        resource_id: Uuid::from_u128(12),
        audit_id: AuditId::new(Uuid::from_u128(13)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

fn tenant() -> Tenant {
    Tenant::parse("aoba").unwrap()
}

fn terms() -> TenantTerms {
    let asset = AssetTerms { transferable: false, ..AssetTerms::running(AssetSpec::POINT, None) };
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets: BTreeMap::from([(Asset::Point, asset)]),
        co2: Co2Terms { rate: Rate::parse("0.01").unwrap(), source: "test".to_owned(), version: "1".to_owned() },
        points_rate: Share::parse("0.01").unwrap(),
        card_cap: Amount::parse(&AssetSpec::ECOPAY, "50000").unwrap(),
        card_bonus_rate: Share::parse("0.01").unwrap(),
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::ONE,
        topup: None,
        requests_per_second: None,
        hold_hours: None,
        settlement: None,
        settlement_schedule: None,
        limits: None,
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms::zero(),
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    }
}

fn member(number: u128, role: &str) -> StaffMember {
    let roles = BTreeSet::from([StaffRole::parse(Staff::Operator, role).unwrap()]);
    StaffMember {
        employer: Employer::Operator,
        id: StaffId::new(Uuid::from_u128(number)),
        email: FreeText::email("hanako@example.jp").unwrap(),
        roles,
        beneficiary_of: DeclaredTies::new(),
        shop: None,
        state: MemberState::Active,
        accepted_at: Some(cx().now),
        version: 3,
        created_at: cx().now,
        updated_at: cx().now,
    }
}

fn points(text: &str) -> Amount {
    Amount::parse(&AssetSpec::POINT, text).unwrap()
}

fn yen(text: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, text).unwrap()
}

fn customer() -> CustomerId {
    CustomerId::new(Uuid::from_u128(CUSTOMER))
}

fn grant() -> Command {
    Command::Grant { customer: customer(), amount: points("300") }
}

fn seen(terms: &TenantTerms) -> Seen<'_> {
    seen_by(&grant(), terms, both_of(&both()))
}

/// The same of a command, with the ties of two members where nothing is stored.
fn seen_by<'a>(
    command: &Command,
    terms: &'a TenantTerms,
    (decider, requester): (&StaffMember, &StaffMember),
) -> Seen<'a> {
    let keys = Box::leak(Box::new(MarkerKeys::of_tests()));
    let tenant = tenant();
    let resolver = Resolver::new(&tenant, [decider, requester], command.scope(), keys);
    let holders = Box::leak(Box::new(resolver.resolve(|_| None).unwrap()));
    Seen { terms, psp: None, items: &[], decision: None, owed: const { &BTreeMap::new() }, keys, holders }
}

fn both_of((decider, requester): &(StaffMember, StaffMember)) -> (&StaffMember, &StaffMember) {
    (decider, requester)
}

/// A grant that `REQUESTER` has requested.
fn pending() -> Approval {
    let (tenant, by, terms) = (tenant(), member(REQUESTER, "treasurer"), terms());
    let reason = FreeText::parse("thanks", 140).unwrap();
    let request = ApprovalRequest {
        tenant: &tenant,
        by: &by,
        command: grant(),
        reason: Some(&reason),
        seen: seen(&terms),
        guarded: &BTreeMap::new(),
    };
    plan_request(&request, &cx()).unwrap().receipt
}

/// The same after it was read from the table in this state.
fn in_state(state: ApprovalState) -> Approval {
    let approval = pending();
    let mut item = approval.item();
    match state {
        ApprovalState::Expired => {
            let before = cx().now.minus(APPROVAL_LIFETIME);
            item.insert("expires_at".to_owned(), crate::dynamo::Value::s(before.plus(APPROVAL_LIFETIME)));
        }
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Rejected
        | ApprovalState::Withdrawn
        | ApprovalState::Stale => {
            item.insert("state".to_owned(), crate::dynamo::Value::s(state.name()));
        }
    }
    Approval::read(&item).unwrap()
}

fn approve(
    approval: &Approval,
    decider: &StaffMember,
    requester: &StaffMember,
) -> Result<Vec<TransactItem>, PlanRefusal> {
    let (tenant, terms) = (tenant(), terms());
    let seen = seen_by(&approval.command, &terms, (decider, requester));
    let command = Approve { tenant: &tenant, approval, decider, requester, seen };
    plan_approve(&command, &cx()).map(|(planned, _)| planned.draft.items)
}

fn both() -> (StaffMember, StaffMember) {
    (member(DECIDER, "approver"), member(REQUESTER, "treasurer"))
}

#[test]
fn every_action_is_refused_in_every_state_but_pending() {
    let ((decider, requester), owner) = (both(), member(DECIDER, "owner"));
    for state in ApprovalState::ALL {
        let approval = in_state(state);
        assert_eq!(approval.state(cx().now), state);
        let actions = [
            approve(&approval, &decider, &requester).map(|_| ()),
            plan_reject(&tenant(), &approval, (&decider, seen(&terms()).holders), &cx()).map(|_| ()),
            plan_withdraw(&tenant(), &approval, (&requester, None), &cx()).map(|_| ()),
            plan_withdraw(&tenant(), &approval, (&owner, Some(seen(&terms()).holders)), &cx()).map(|_| ()),
        ];
        let expected = match state {
            ApprovalState::Pending => Ok(()),
            ApprovalState::Expired => Err(PlanRefusal::Refused(Failure::ApprovalExpired)),
            ApprovalState::Approved | ApprovalState::Rejected | ApprovalState::Withdrawn | ApprovalState::Stale => {
                Err(PlanRefusal::Refused(Failure::WrongState))
            }
        };
        assert!(actions.iter().all(|action| *action == expected), "{}: {actions:?}", state.name());
    }
    assert!(ApprovalState::ALL.iter().all(|state| ApprovalState::parse(state.name()) == Some(*state)));
    // Expiry is never stored.
    let mut item = pending().item();
    item.insert("state".to_owned(), crate::dynamo::Value::s("expired"));
    assert!(Approval::read(&item).is_err());
}

/// What the guards of the record say of an item that changed after it was read.
#[test]
fn guards_refuse_what_the_plan_could_not_see() {
    let (decider, requester) = both();
    let approval = pending();
    let of_record = |items: Vec<TransactItem>| items.into_iter().find(|item| item.role() == Role::Approval).unwrap();
    let record = of_record(approve(&approval, &decider, &requester).unwrap());
    let failure = |change: &dyn Fn(&mut crate::dynamo::Item)| {
        let mut item = approval.item();
        item.insert(attr::PK.to_owned(), crate::dynamo::Value::s("p"));
        change(&mut item);
        record.failure_on(Some(&item)).map(|clause| clause.failure)
    };
    let text = |name: &'static str, value: String| {
        move |item: &mut crate::dynamo::Item| {
            item.insert(name.to_owned(), crate::dynamo::Value::S(value.clone()));
        }
    };
    assert_eq!(failure(&|_| {}), None);
    assert_eq!(record.failure_on(None).map(|clause| clause.failure), Some(Failure::AccountMissing));
    assert_eq!(failure(&text("requested_by", decider.id.to_string())), Some(Failure::FourEyes));
    for state in ["approved", "rejected", "withdrawn", "stale"] {
        assert_eq!(failure(&text("state", state.to_owned())), Some(Failure::Decided));
    }
    assert_eq!(failure(&text("expires_at", cx().now.to_string())), Some(Failure::ApprovalExpired));
    let later = Timestamp::from_millis(cx().now.millis() + 1);
    assert_eq!(failure(&text("expires_at", later.to_string())), None);
}

#[test]
fn both_members_are_checked_by_the_transaction() {
    let (decider, requester) = both();
    let items = approve(&pending(), &decider, &requester).unwrap();
    for member in [&decider, &requester] {
        let key = keys::staff_member(&tenant(), Employer::Operator, member.id);
        let check = items.iter().find(|item| *item.key() == key).unwrap();
        let mut changed = member.item();
        changed.insert(attr::PK.to_owned(), crate::dynamo::Value::s("p"));
        assert_eq!(check.failure_on(Some(&changed)), None);
        changed.insert("version".to_owned(), crate::dynamo::Value::int(4));
        assert_eq!(check.failure_on(Some(&changed)).map(|clause| clause.failure), Some(Failure::StalePlan));
    }
    let roles: Vec<Role> = items.iter().map(TransactItem::role).collect();
    let ties = [Role::Lookup, Role::Lookup];
    assert_eq!(roles, [&[Role::Approval, Role::Staff, Role::Staff, Role::Payee, Role::Audit][..], &ties].concat());
}

#[test]
fn who_may_not_decide_is_refused() {
    let (decider, requester) = both();
    let approval = pending();
    let refused = |decider: &StaffMember, requester: &StaffMember| approve(&approval, decider, requester).unwrap_err();
    let four_eyes = PlanRefusal::Refused(Failure::FourEyes);
    let own = member(REQUESTER, "owner");
    assert_eq!(refused(&own, &own), four_eyes);
    let rejected = plan_reject(&tenant(), &approval, (&own, seen(&terms()).holders), &cx()).unwrap_err();
    assert_eq!(rejected, four_eyes);
    for role in ["viewer", "support", "operator", "treasurer", "auditor"] {
        let denied = PlanRefusal::Denied(Permission::ApprovalsDecide);
        assert_eq!(refused(&member(DECIDER, role), &requester), denied, "{role}");
    }
    for state in [MemberState::Invited, MemberState::Disabled] {
        let decider = StaffMember { state, ..decider.clone() };
        assert_eq!(refused(&decider, &requester), PlanRefusal::Denied(Permission::ApprovalsDecide));
        // A requester who may not request it any more requests nothing.
        let requester = StaffMember { state, ..requester.clone() };
        assert_eq!(refused(&both().0, &requester), PlanRefusal::Refused(Failure::WrongState));
    }
    assert_eq!(refused(&decider, &member(REQUESTER, "viewer")), PlanRefusal::Refused(Failure::WrongState));
    // The customer whose id is the decider's, and an account that the decider's record names.
    assert_eq!(refused(&member(CUSTOMER, "approver"), &requester), four_eyes);
    let named = |kind| {
        let of = Declared { kind, by: decider.id, at: cx().now };
        StaffMember { beneficiary_of: DeclaredTies::from([(Account::Customer(customer()), of)]), ..decider.clone() }
    };
    for kind in BeneficiaryKind::ALL {
        assert_eq!(refused(&named(kind), &requester), four_eyes, "{kind:?}: whether another may decide was not read");
    }
    let named = named(BeneficiaryKind::Own);
    assert_eq!(StaffMember::read(Employer::Operator, &named.item()).unwrap(), named);
    let stranger = plan_withdraw(&tenant(), &approval, (&member(DECIDER, "treasurer"), None), &cx()).unwrap_err();
    assert_eq!(stranger, PlanRefusal::Denied(Permission::StaffManage));
}

#[test]
fn person_under_another_id_does_not_decide_for_the_own_merchant() {
    let ((decider, requester), terms, id) = (both(), terms(), MerchantId::new(Uuid::from_u128(7)));
    let request = |command| {
        let tenant = tenant();
        let owner = member(REQUESTER, "owner");
        let seen = seen_by(&command, &terms, (&owner, &owner));
        let request =
            ApprovalRequest { tenant: &tenant, by: &owner, command, reason: None, seen, guarded: &BTreeMap::new() };
        plan_request(&request, &cx()).unwrap().receipt
    };
    let (terminal, owner) = (TerminalId::new(Uuid::from_u128(9)), TerminalOwner::Merchant(id));
    let room = request(Command::CashRoom { terminal, owner, room: yen("500") });
    let items = approve(&room, &decider, &requester).unwrap();
    let person = items.iter().find(|item| item.role() == Role::Person).unwrap();
    let names = person_names(&tenant(), Employer::Merchant(id), &decider.email, &MarkerKeys::of_tests());
    assert_eq!([person.key().clone()], names[..]);
    assert_eq!(person.clauses()[0].failure, Failure::FourEyes);
    let email = FreeText::email("HANAKO@example.jp").unwrap();
    let owner = request(Command::MerchantOwner { merchant: id, id: StaffId::new(Uuid::from_u128(8)), email });
    let refused = approve(&owner, &decider, &member(REQUESTER, "owner")).unwrap_err();
    assert_eq!(refused, PlanRefusal::Refused(Failure::FourEyes));
}

#[test]
fn entry_is_the_commands_under_a_key_of_the_approval() {
    let ((decider, requester), approval) = (both(), pending());
    let (tenant, terms) = (tenant(), terms());
    let command =
        Approve { tenant: &tenant, approval: &approval, decider: &decider, requester: &requester, seen: seen(&terms) };
    let (planned, from) = plan_approve(&command, &cx()).unwrap();
    assert_eq!(planned.receipt.state(cx().now), ApprovalState::Approved);
    assert_eq!(planned.receipt.transaction_id, Some(cx().transaction_id));
    assert_eq!(from.operation, approval.command.operation());
    assert_eq!(from.key, approval.entry_key().into());
    assert_eq!(from.principal.to_string(), format!("staff:{}", requester.id));
    assert_eq!(from.actor, decider.actor());
    // The asset is not enabled any more: the terms differ from those of the request.
    let without = TenantTerms { assets: BTreeMap::new(), ..terms.clone() };
    let stale = Approve { seen: seen(&without), ..command };
    let (planned, _) = plan_approve(&stale, &cx()).unwrap();
    assert_eq!(planned.receipt.state(cx().now), ApprovalState::Stale);
    let roles: Vec<Role> = planned.draft.items.iter().map(TransactItem::role).collect();
    assert_eq!(roles, [Role::Approval, Role::Staff, Role::Audit]);
    assert!(Transaction::unkeyed(planned.draft.items).is_ok());
}

/// One field that is set, and one that is changed.
fn changes() -> TermsChanges {
    let wanted = [("hold_hours", "48"), ("points_rate", "0.02")];
    TermsChanges::plan(&terms(), &wanted.map(|(field, to)| (field.to_owned(), Some(to.to_owned()))).into()).unwrap()
}

#[test]
fn stored_command_is_read_as_written_and_strictly() {
    for command in commands() {
        let item = command.item();
        assert_eq!(Command::read(&item).unwrap(), command);
        let mut more = item.clone();
        more.insert("later".to_owned(), crate::dynamo::Value::s("x"));
        assert!(Command::read(&more).is_err(), "an attribute of a later release: {command:?}");
        let mut other = item.clone();
        other.insert("kind".to_owned(), crate::dynamo::Value::s("card_pay"));
        assert!(Command::read(&other).is_err());
        let optional = [
            "seen",
            "pay_on",
            "roles",
            "beneficiary_of",
            "state",
            "schedule",
            "refund_id",
            "object",
            "seen_corrected_at",
        ];
        // An adjustment has one of them or both.
        let parts = ["delta", "exposure"];
        let has_both = parts.iter().all(|part| item.contains_key(*part));
        let is_counter = item.get("kind") == Some(&crate::dynamo::Value::s("terminal_open"));
        let is_optional = |name: &str| {
            optional.contains(&name) || (has_both && parts.contains(&name)) || (is_counter && name == "terminal_id")
        };
        for name in item.keys().filter(|name| !is_optional(name)) {
            let mut less = item.clone();
            less.remove(name);
            let read = Command::read(&less);
            assert!(name == "customers" || read.is_err(), "without {name}: {read:?}");
        }
    }
    let owner = TerminalOwner::Merchant(MerchantId::new(Uuid::from_u128(20)));
    let command = Command::CashCeiling { owner, ceiling: yen("1"), seen: Some(Balance::zero(Asset::Ecopay)) };
    assert_eq!(Command::read(&command.item()).unwrap(), command);
}

#[test]
fn requester_needs_the_permission_of_the_command() {
    let (tenant, terms) = (tenant(), terms());
    let viewer = member(REQUESTER, "viewer");
    for command in commands() {
        let needed = command.permission();
        let seen = seen_by(&command, &terms, (&viewer, &viewer));
        let request =
            ApprovalRequest { tenant: &tenant, by: &viewer, command, reason: None, seen, guarded: &BTreeMap::new() };
        assert_eq!(plan_request(&request, &cx()).unwrap_err(), PlanRefusal::Denied(needed));
    }
    let approval = pending();
    assert_eq!(approval.expires_at, cx().now.plus(APPROVAL_LIFETIME));
    assert_eq!(approval.id, ApprovalId::new(cx().resource_id));
    assert_eq!(Approval::read(&approval.item()).unwrap(), approval);
}
