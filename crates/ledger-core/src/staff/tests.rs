//! Which member may change which, and what the counter keeps.

use super::*;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{AuditId, Employer, MerchantId, ShopId, StaffId, Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::permission::{Permission, Staff};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Action, Planned, Role, TransactItem};
use std::collections::BTreeSet;
use uuid::Uuid;

fn cx() -> Context {
    Context {
        now: Timestamp::from_millis(1_764_000_000_000),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(2),
        audit_id: AuditId::new(Uuid::from_u128(3)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

fn tenant() -> Tenant {
    Tenant::parse("aoba").unwrap()
}

fn admin(names: &[&str]) -> BTreeSet<StaffRole> {
    names.iter().map(|name| StaffRole::parse(Staff::Operator, name).unwrap()).collect()
}

fn member(number: u128, names: &[&str]) -> StaffMember {
    let id = StaffId::new(Uuid::from_u128(number));
    let email = FreeText::email("hanako@example.jp").unwrap();
    StaffMember::new((Employer::Operator, id), &email, admin(names), MemberState::Active, cx().now)
}

fn change<'a>(
    tenant: &'a Tenant,
    member: &'a StaffMember,
    roles: Option<&'a BTreeSet<StaffRole>>,
    state: Option<MemberState>,
) -> StaffChange<'a> {
    StaffChange { tenant, member, roles, beneficiary_of: None, shop: None, state, reason: None }
}

fn refusal(planned: Result<Planned<StaffMember>, PlanRefusal>) -> PlanRefusal {
    planned.unwrap_err()
}

#[test]
fn only_an_owner_gives_and_takes_roles_that_decide_or_pay() {
    let (tenant, owner) = (tenant(), member(1, &["owner"]));
    let viewer = member(2, &["viewer"]);
    for name in ["treasurer", "approver", "owner"] {
        let roles = admin(&[name]);
        assert!(plan_change(change(&tenant, &viewer, Some(&roles), None), &owner, &cx()).is_ok(), "{name}");
        for by in ["viewer", "support", "operator", "treasurer", "approver", "auditor"] {
            let by = member(3, &[by]);
            let refused = refusal(plan_change(change(&tenant, &viewer, Some(&roles), None), &by, &cx()));
            assert_eq!(refused, PlanRefusal::Denied(Permission::StaffManage), "{name} by {}", by.role_names());
            let treasurer = member(4, &[name]);
            let taken = plan_change(change(&tenant, &treasurer, Some(&admin(&["viewer"])), None), &by, &cx());
            assert_eq!(refusal(taken), PlanRefusal::Denied(Permission::StaffManage));
        }
    }
}

#[test]
fn disabled_or_invited_owner_changes_nothing() {
    let (tenant, viewer) = (tenant(), member(2, &["viewer"]));
    for state in [MemberState::Invited, MemberState::Disabled] {
        let owner = StaffMember { state, ..member(1, &["owner"]) };
        let refused = plan_change(change(&tenant, &viewer, None, Some(MemberState::Disabled)), &owner, &cx());
        assert_eq!(refusal(refused), PlanRefusal::Denied(Permission::StaffManage));
        assert!(!owner.is_owner() && Permission::ALL.iter().all(|permission| !owner.may(*permission)));
    }
}

#[test]
fn member_gives_no_role_to_themselves() {
    let (tenant, owner) = (tenant(), member(1, &["owner"]));
    let more = admin(&["owner", "treasurer"]);
    let refused = refusal(plan_change(change(&tenant, &owner, Some(&more), None), &owner, &cx()));
    assert_eq!(refused, PlanRefusal::Refused(Failure::FourEyes));
    // A role may be given up; the counter decides whether enough owners remain.
    let leaving = member(1, &["owner", "viewer"]);
    let planned = plan_change(change(&tenant, &leaving, Some(&admin(&["viewer"])), None), &leaving, &cx()).unwrap();
    let roles: Vec<Role> = planned.draft.items.iter().map(|item| item.role()).collect();
    assert_eq!(roles, [Role::Staff, Role::StaffCounts, Role::Audit]);
}

#[test]
fn leaving_owner_or_decider_is_guarded_by_the_counter() {
    let (tenant, by) = (tenant(), member(1, &["owner"]));
    for (name, counted) in [("owner", true), ("approver", true), ("treasurer", false), ("auditor", false)] {
        let leaving = member(2, &[name]);
        let planned = plan_change(change(&tenant, &leaving, None, Some(MemberState::Disabled)), &by, &cx()).unwrap();
        let counts = planned.draft.items.iter().find(|item| item.role() == Role::StaffCounts);
        assert_eq!(counts.is_some(), counted, "{name}");
        if let Some(counts) = counts {
            assert_eq!(counts.key(), &keys::staff_counts(&tenant, Employer::Operator));
            assert!(counts.clauses().iter().all(|clause| clause.failure == Failure::WrongState));
            // An absent counter refuses too.
            assert!(counts.failure_on(None).is_some());
        }
    }
}

#[test]
fn invited_member_is_enabled_by_themselves_only() {
    let (tenant, by) = (tenant(), member(1, &["owner"]));
    let invited = StaffMember { state: MemberState::Invited, accepted_at: None, ..member(2, &["viewer"]) };
    let to = |member: &StaffMember, state| plan_change(change(&tenant, member, None, Some(state)), &by, &cx());
    assert_eq!(refusal(to(&invited, MemberState::Active)), PlanRefusal::Refused(Failure::WrongState));
    let person = || person_names(&tenant, Employer::Operator, &invited.email, &rotated("k1")).remove(0);
    let accepted = plan_accept(&tenant, (&invited, person()), &cx()).unwrap().receipt;
    assert_eq!((accepted.state, accepted.accepted_at), (MemberState::Active, Some(cx().now)));
    for state in [MemberState::Active, MemberState::Disabled] {
        let other = StaffMember { state, ..invited.clone() };
        let refused = plan_accept(&tenant, (&other, person()), &cx());
        assert_eq!(refusal(refused), PlanRefusal::Refused(Failure::WrongState));
    }
    // An invitation that was struck out is one again, and a member who had accepted is a member again.
    for (member, again) in [(invited, MemberState::Invited), (accepted, MemberState::Active)] {
        let struck_out = to(&member, MemberState::Disabled).unwrap().receipt;
        assert_eq!(struck_out.state, MemberState::Disabled);
        assert_eq!(to(&struck_out, MemberState::Active).unwrap().receipt.state, again);
    }
}

#[test]
fn record_is_read_as_written() {
    let merchant = Employer::Merchant(MerchantId::new(Uuid::from_u128(9)));
    for stored in [
        member(1, &["viewer", "auditor"]),
        StaffMember {
            employer: merchant,
            roles: BTreeSet::from([StaffRole::Merchant(MerchantRole::Cashier)]),
            shop: Some(ShopId::new(Uuid::from_u128(7))),
            ..member(2, &["viewer"])
        },
    ] {
        assert_eq!(StaffMember::read(stored.employer, &stored.item()).unwrap(), stored);
    }
    // A role of another staff, or of a later release, is an error and permits nothing.
    assert!(StaffMember::read(merchant, &member(1, &["viewer"]).item()).is_err());
}

#[test]
fn every_permission_is_in_a_role_of_its_staff() {
    for permission in Permission::ALL {
        assert!(StaffRole::owner(permission.staff()).has(*permission), "{}", permission.name());
        let other = match permission.staff() {
            Staff::Operator => Staff::Merchant,
            Staff::Merchant => Staff::Operator,
        };
        assert!(StaffRole::all(other).all(|role| !role.has(*permission)), "{}", permission.name());
    }
    let decides = |role: &AdminRole| StaffRole::Admin(*role).has(Permission::ApprovalsDecide);
    let deciding: Vec<AdminRole> = AdminRole::ALL.into_iter().filter(decides).collect();
    assert_eq!(deciding, [AdminRole::Approver, AdminRole::Owner]);
    // An auditor changes nothing.
    let changes = |permission: &Permission| !permission.name().ends_with(".read");
    let auditor = StaffRole::Admin(AdminRole::Auditor);
    assert!(Permission::ALL.iter().filter(|permission| changes(permission)).all(|one| !auditor.has(*one)));
}

#[test]
fn role_that_requests_adjustments_may_withdraw_them() {
    for role in AdminRole::ALL.map(StaffRole::Admin) {
        assert!(!role.has(Permission::AdjustmentsRequest) || role.has(Permission::ApprovalsRequest), "{}", role.name());
    }
}

#[test]
fn tenant_needs_two_distinct_owners() {
    let founder = |number: u128, email: &str| Founder {
        id: StaffId::new(Uuid::from_u128(number)),
        email: FreeText::email(email).unwrap(),
    };
    let (one, two) = (founder(1, "hanako@example.jp"), founder(2, "taro@example.jp"));
    assert!(Founders::new(vec![one.clone(), two]).is_ok());
    for few in [
        vec![],
        vec![one.clone()],
        vec![one.clone(), founder(1, "taro@example.jp")],
        vec![one, founder(2, "Hanako@example.jp")],
    ] {
        assert_eq!(Founders::new(few), Err(FoundersError));
    }
}

/// A customer's file shows cards and top-ups to each member who reads customers.
#[test]
fn role_that_reads_customers_reads_cards_and_topups() {
    for role in StaffRole::all(Staff::Operator).filter(|role| role.has(Permission::CustomersRead)) {
        assert!(role.has(Permission::CardsRead) && role.has(Permission::TopupsRead), "{role:?}");
    }
}

/// The keys before, during and after a rotation.
fn rotated(current: &str) -> MarkerKeys {
    let (first, second) = ("1".repeat(43), "2".repeat(43));
    MarkerKeys::parse(&format!(r#"{{"current":"{current}","k1":"{first}","k2":"{second}"}}"#)).unwrap()
}

fn invited(email: &str, number: u128, keys: &MarkerKeys) -> Vec<TransactItem> {
    let (by, email, none) = (member(1, &["owner"]), FreeText::email(email).unwrap(), BeneficiaryKinds::new());
    let (tenant, roles) = (tenant(), admin(&["viewer"]));
    let id = StaffId::new(Uuid::from_u128(number));
    let (tenant, by, email, roles) = (&tenant, &by, &email, &roles);
    let invitation = Invitation { tenant, by, id, email, roles, beneficiary_of: &none, shop: None, keys };
    plan_invite(invitation, &cx()).unwrap().draft.items
}

#[test]
fn invitation_after_a_rotation_of_the_keys_finds_the_person_invited_before() {
    let before = invited("hanako@example.jp", 2, &rotated("k1"));
    let written = |item: &&TransactItem| item.role() == Role::Person && matches!(item.action, Action::Put(_));
    let person = before.iter().find(written).unwrap().key();
    let stored = Item::from([(attr::PK.to_owned(), Value::s(person.pk()))]);
    for (email, finds) in [("Hanako@Example.jp", true), ("HANAKO@EXAMPLE.JP", true), ("taro@example.jp", false)] {
        let after = invited(email, 3, &rotated("k2"));
        assert_ne!(after.iter().find(written).unwrap().key(), person, "{email}");
        let of_person = after.iter().filter(|item| item.key() == person);
        let failures: Vec<_> =
            of_person.map(|item| item.failure_on(Some(&stored)).map(|clause| clause.failure)).collect();
        let expected = if finds { vec![Some(Failure::AlreadyExists)] } else { Vec::new() };
        assert_eq!(failures, expected, "{email}");
    }
}

#[test]
fn person_has_another_name_with_each_employer_and_under_each_key() {
    let email = FreeText::email("hanako@example.jp").unwrap();
    let (tenant, keys) = (tenant(), rotated("k1"));
    let employers = [Employer::Operator, Employer::Merchant(MerchantId::new(Uuid::from_u128(7)))];
    let names = employers.map(|employer| person_names(&tenant, employer, &email, &keys));
    let hashes: BTreeSet<&str> = names.iter().flatten().filter_map(|name| name.sk().rsplit('#').next()).collect();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn member_declares_accounts_alone_and_takes_none_back_alone() {
    use crate::account::Account;
    use crate::ids::CustomerId;
    let (tenant, owner) = (tenant(), member(1, &["owner"]));
    let account = Account::Customer(CustomerId::new(Uuid::from_u128(9)));
    let declared = |member: &StaffMember, kind| plan_declare(&tenant, member, (account, kind), &cx());
    let family = declared(&member(2, &["support"]), BeneficiaryKind::Family).unwrap().receipt;
    let own = declared(&family, BeneficiaryKind::Own).unwrap().receipt;
    assert_eq!(StaffMember::read(Employer::Operator, &own.item()).unwrap(), own);
    let of = own.beneficiary_of.get(&account).unwrap();
    assert_eq!((of.kind, of.by, of.at, own.version), (BeneficiaryKind::Own, own.id, cx().now, 3));
    assert_eq!(refusal(declared(&own, BeneficiaryKind::Family)), PlanRefusal::Refused(Failure::FourEyes));
    // Two others take it back, whatever the roles of the member.
    for (all, needs_two) in [
        (BeneficiaryKinds::new(), true),
        (BeneficiaryKinds::from([(account, BeneficiaryKind::Business)]), true),
        (BeneficiaryKinds::from([(account, BeneficiaryKind::Own)]), false),
    ] {
        let change = |member| StaffChange { beneficiary_of: Some(&all), ..change(&tenant, member, None, None) };
        assert_eq!(change(&own).gives_power(), needs_two, "{all:?}");
        if needs_two {
            assert!(plan_change(change(&own), &owner, &cx()).is_ok());
            let mine = StaffMember { id: owner.id, ..own.clone() };
            let by_oneself = plan_change(change(&mine), &owner, &cx());
            assert_eq!(refusal(by_oneself), PlanRefusal::Refused(Failure::FourEyes));
        }
    }
}

#[test]
fn what_binds_less_is_weaker() {
    use crate::account::Account;
    use crate::ids::CustomerId;
    let (account, by) = (Account::Customer(CustomerId::new(Uuid::from_u128(9))), StaffId::new(Uuid::from_u128(1)));
    let before = |kind| DeclaredTies::from([(account, Declared { kind, by, at: cx().now })]);
    for kind in BeneficiaryKind::ALL {
        let all = BeneficiaryKinds::from([(account, kind)]);
        let is_less = kind != BeneficiaryKind::Own;
        assert_eq!(declared::is_weakened(&before(BeneficiaryKind::Own), &all), is_less, "{kind:?}");
        assert!(!declared::is_weakened(&before(BeneficiaryKind::Family), &all));
        assert!(!declared::is_weakened(&DeclaredTies::new(), &all));
        assert!(declared::is_weakened(&before(kind), &BeneficiaryKinds::new()));
    }
}

/// A merchant's owner manages its staff, and the operator takes no access from a person who has it.
#[test]
fn operator_strikes_out_invitations_in_a_merchants_staff_only() {
    let tenant = tenant();
    let of_merchant = |state, accepted_at| StaffMember {
        employer: Employer::Merchant(MerchantId::new(Uuid::from_u128(9))),
        roles: BTreeSet::from([StaffRole::Merchant(MerchantRole::Owner)]),
        state,
        accepted_at,
        ..member(2, &["viewer"])
    };
    let invited = of_merchant(MemberState::Invited, None);
    let by = member(1, &["operator"]);
    let planned = plan_strike(&tenant, &invited, (&by, None), &cx()).unwrap();
    let struck_out = planned.receipt;
    assert_eq!((struck_out.state, struck_out.accepted_at, struck_out.version), (MemberState::Disabled, None, 2));
    let roles: Vec<Role> = planned.draft.items.iter().map(|item| item.role()).collect();
    assert_eq!(roles, [Role::Staff, Role::Staff, Role::Audit]);
    let act = planned.draft.items.iter().find(|item| item.role() == Role::Audit).unwrap();
    let Action::Put(act) = &act.action else { panic!("an act is put") };
    assert_eq!(act.get("subject"), Some(&Value::s(format!("merchant_staff:{}", invited.id))));
    assert!(!format!("{act:?}").contains(invited.email.expose()));
    // A merchant's owner makes it an invitation again.
    let owner =
        StaffMember { id: StaffId::new(Uuid::from_u128(3)), ..of_merchant(MemberState::Active, Some(cx().now)) };
    let again = plan_change(change(&tenant, &struck_out, None, Some(MemberState::Active)), &owner, &cx()).unwrap();
    assert_eq!(again.receipt.state, MemberState::Invited);
    for (state, accepted_at) in
        [(MemberState::Active, Some(cx().now)), (MemberState::Disabled, Some(cx().now)), (MemberState::Disabled, None)]
    {
        let refused = plan_strike(&tenant, &of_merchant(state, accepted_at), (&by, None), &cx());
        assert_eq!(refusal(refused), PlanRefusal::Refused(Failure::WrongState), "{state:?}");
    }
    let denied = PlanRefusal::Denied(Permission::MerchantsOwner);
    for name in ["viewer", "support", "treasurer", "approver", "auditor"] {
        let refused = plan_strike(&tenant, &invited, (&member(1, &[name]), None), &cx());
        assert_eq!(refusal(refused), denied, "{name}");
    }
    let disabled = StaffMember { state: MemberState::Disabled, ..by.clone() };
    assert_eq!(refusal(plan_strike(&tenant, &invited, (&disabled, None), &cx())), denied);
    // The operator's own invitations are its owners'.
    let own = StaffMember { state: MemberState::Invited, accepted_at: None, ..member(2, &["viewer"]) };
    assert_eq!(refusal(plan_strike(&tenant, &own, (&by, None), &cx())), denied);
}
