//! Which account is whose, under which of its names, and who is kept from what.

use super::*;
use crate::account::Account;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{CardId, CustomerId, Employer, MerchantId, StaffId, SubjectId, Tenant};
use crate::keys::{self, Key, attr};
use crate::permission::Staff;
use crate::personal::FreeText;
use crate::plan::PlanRefusal;
use crate::staff::{BeneficiaryKind, Declared, DeclaredTies, MemberState, StaffMember, StaffRole, person_names};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const FOUR_EYES: PlanRefusal = PlanRefusal::Refused(Failure::FourEyes);

fn tenant() -> Tenant {
    Tenant::parse("aoba").unwrap()
}

fn member(number: u128) -> StaffMember {
    let now = Timestamp::from_millis(1_764_000_000_000);
    StaffMember {
        employer: Employer::Operator,
        id: StaffId::new(Uuid::from_u128(number)),
        email: FreeText::email(&format!("member{number}@example.jp")).unwrap(),
        roles: BTreeSet::from([StaffRole::parse(Staff::Operator, "approver").unwrap()]),
        beneficiary_of: DeclaredTies::new(),
        shop: None,
        state: MemberState::Active,
        accepted_at: Some(now),
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

fn declaring(number: u128, account: Account, kind: BeneficiaryKind) -> StaffMember {
    let member = member(number);
    let of = Declared { kind, by: member.id, at: member.created_at };
    StaffMember { beneficiary_of: DeclaredTies::from([(account, of)]), ..member }
}

fn customer(number: u128) -> Account {
    Account::Customer(CustomerId::new(Uuid::from_u128(number)))
}

fn card(number: u128) -> Account {
    Account::Card(CardId::new(Uuid::from_u128(number)))
}

fn merchant() -> MerchantId {
    MerchantId::new(Uuid::from_u128(70))
}

fn item<const N: usize>(of: [(&str, String); N]) -> Item {
    of.map(|(name, text)| (name.to_owned(), Value::S(text))).into()
}

fn card_item(number: u128, owner: Option<u128>, next: Option<u128>) -> (Key, Item) {
    let owner = owner.map(|id| ("owner".to_owned(), Value::s(Uuid::from_u128(id))));
    let next = next.map(|id| ("replaced_by".to_owned(), Value::s(Uuid::from_u128(id))));
    (keys::card(&tenant(), CardId::new(Uuid::from_u128(number))), owner.into_iter().chain(next).collect())
}

fn sign_in(subject: u128, customer: u128, is_ended: bool) -> (Key, Item) {
    let mut of = item([("customer_id", Uuid::from_u128(customer).to_string())]);
    of.extend(is_ended.then(|| ("ended_at".to_owned(), Value::s("2026-11-30T00:00:00.000Z"))));
    (keys::sign_in(&tenant(), SubjectId::new(Uuid::from_u128(subject))), of)
}

fn holders(members: &[&StaffMember], scope: &ActScope, stored: &[(Key, Item)]) -> Result<Holders, PlanRefusal> {
    let (tenant, stored): (_, BTreeMap<_, _>) = (tenant(), stored.iter().cloned().collect());
    let keys = MarkerKeys::of_tests();
    let resolver = Resolver::new(&tenant, members.iter().copied(), scope.clone(), &keys);
    resolver.resolve(|key| stored.get(key).cloned())
}

/// The kinds of the ties of one member to one named account.
fn kinds(member: &StaffMember, account: Account, stored: &[(Key, Item)]) -> Vec<TieKind> {
    let holders = holders(&[member], &ActScope::Named(vec![account]), stored).unwrap();
    let ties = holders.ties(member.id).unwrap();
    assert!(ties.iter().all(|tie| tie.member == member.id && tie.account == account));
    ties.iter().map(|tie| tie.kind).collect()
}

#[test]
fn wallet_is_of_who_signs_in_to_it_or_did() {
    let member = member(1);
    assert_eq!(kinds(&member, customer(1), &[]), [TieKind::SignIn]);
    assert_eq!(kinds(&member, customer(2), &[]), []);
    for is_ended in [false, true] {
        let moved = [sign_in(1, 2, is_ended)];
        assert_eq!(kinds(&member, customer(2), &moved), [TieKind::SignIn], "{is_ended}");
        assert_eq!(kinds(&member, customer(1), &moved), [], "{is_ended}");
    }
}

#[test]
fn card_is_of_the_owner_of_each_card_that_replaced_it() {
    let member = member(1);
    assert_eq!(kinds(&member, card(10), &[card_item(10, Some(1), None)]), [TieKind::Card]);
    assert_eq!(kinds(&member, card(10), &[card_item(10, Some(2), None)]), []);
    assert_eq!(kinds(&member, card(10), &[card_item(10, None, None)]), []);
    assert_eq!(kinds(&member, card(10), &[]), []);
    let row = |last: u128, owner| -> Vec<(Key, Item)> {
        let replaced = (10..last).map(|number| card_item(number, None, Some(number + 1)));
        replaced.chain([card_item(last, owner, None)]).collect()
    };
    assert_eq!(kinds(&member, card(10), &row(18, Some(1))), [TieKind::Card]);
    assert_eq!(kinds(&member, card(10), &row(18, Some(2))), []);
    // One more than a card can be replaced is refused.
    let named = ActScope::Named(vec![card(10)]);
    assert!(holders(&[&member], &named, &row(19, Some(1))).is_err());
    let loops = [card_item(10, None, Some(11)), card_item(11, None, Some(10))];
    assert!(holders(&[&member], &named, &loops).is_err());
    // A card is declared by itself, by one that replaced it, or by its wallet.
    for account in [card(10), card(12), customer(5)] {
        let named = declaring(1, account, BeneficiaryKind::Family);
        assert_eq!(kinds(&named, card(10), &row(12, Some(5))), [TieKind::Family], "{account}");
    }
}

#[test]
fn merchant_is_of_staff_who_accepted() {
    let (member, account, tenant) = (member(1), Account::Merchant(merchant()), tenant());
    let employer = Employer::Merchant(merchant());
    let name = person_names(&tenant, employer, &member.email, &MarkerKeys::of_tests()).remove(0);
    let record = keys::staff_member(&tenant, employer, member.id);
    for key in [name, record] {
        let invited = (key.clone(), item([("staff_id", Uuid::from_u128(8).to_string())]));
        assert_eq!(kinds(&member, account, &[invited]), []);
        let accepted = (key, item([("accepted_at", "2026-11-30T00:00:00.000Z".to_owned())]));
        assert_eq!(kinds(&member, account, &[accepted]), [TieKind::Staff]);
    }
}

#[test]
fn what_was_read_is_checked_in_the_transaction() {
    let member = member(1);
    let scope = ActScope::Named(vec![customer(2), card(10), Account::Merchant(merchant())]);
    let found = holders(&[&member], &scope, &[card_item(10, Some(2), None)]).unwrap();
    let guards: Vec<_> = found.guards().collect();
    // The subject, the card, the address and the record in the merchant's staff.
    assert_eq!(guards.len(), 4);
    let of = |key: &Key| guards.iter().find(|guard| guard.key() == key).unwrap();
    let (key, moved) = sign_in(1, 2, false);
    let with_key = |item: Item| Item::from_iter(item.into_iter().chain([(attr::PK.to_owned(), Value::s("p"))]));
    assert!(of(&key).failure_on(None).is_none());
    assert_eq!(of(&key).failure_on(Some(&with_key(moved))).unwrap().failure, Failure::StalePlan);
    for (owner, next, is_as_read) in [(Some(2), None, true), (Some(1), None, false), (Some(2), Some(11), false)] {
        let (key, card) = card_item(10, owner, next);
        assert_eq!(of(&key).failure_on(Some(&with_key(card))).is_none(), is_as_read, "{owner:?} {next:?}");
    }
    // A class has no guards, and more than 20 are refused.
    let class = ActScope::Class(Among::Accounts(vec![customer(2)]));
    assert_eq!(holders(&[&member], &class, &[]).unwrap().guards().count(), 0);
    let many = ActScope::Named((0..21).map(|number| card(100 + number)).collect());
    let stored: Vec<_> = (0..21).map(|number| card_item(100 + number, None, None)).collect();
    assert!(matches!(holders(&[&member], &many, &stored), Err(PlanRefusal::Invalid { .. })));
    let (tenant, keys) = (tenant(), MarkerKeys::of_tests());
    let others = Resolver::new(&tenant, [&member], many, &keys).unguarded();
    assert_eq!(others.resolve(|_| None).unwrap().guards().count(), 0);
}

#[test]
fn own_account_keeps_a_member_from_all_and_a_declared_one_from_deciding() {
    let named = ActScope::Named(vec![customer(2)]);
    let free = member(3);
    for (tied, others, may_ask, may_decide) in [
        (member(2), None, false, false),
        (declaring(1, customer(2), BeneficiaryKind::Own), None, false, false),
        (declaring(1, customer(2), BeneficiaryKind::Family), None, true, false),
        (declaring(1, customer(2), BeneficiaryKind::Family), Some(vec![&free]), true, false),
        (declaring(1, customer(2), BeneficiaryKind::Business), Some(vec![]), true, true),
        (member(4), None, true, true),
    ] {
        let found = holders(&[&tied], &named, &[]).unwrap();
        let is_asked = tied.id != member(4).id && may_ask;
        assert_eq!(found.depends_on_others(tied.id), is_asked);
        let found = match others {
            Some(others) => found.with_others(&holders(&others, &named, &[]).unwrap()),
            None => found,
        };
        assert_eq!(found.may_ask(tied.id).is_ok(), may_ask, "{tied:?}");
        assert_eq!(found.may_decide(tied.id).is_ok(), may_decide, "{tied:?}");
    }
    // Another who is tied too is no other.
    let (tied, other) =
        (declaring(1, customer(2), BeneficiaryKind::Family), declaring(3, customer(2), BeneficiaryKind::Family));
    let found = holders(&[&tied], &named, &[]).unwrap().with_others(&holders(&[&other], &named, &[]).unwrap());
    assert!(found.may_decide(tied.id).is_ok());
    // Of a member who was not asked for nothing is known.
    assert_eq!(found.ties(other.id).unwrap_err(), FOUR_EYES);
}

#[test]
fn tie_to_a_class_is_known_and_keeps_no_member_from_it() {
    let tied = declaring(2, Account::Merchant(merchant()), BeneficiaryKind::Own);
    for (scope, ties) in [
        (ActScope::Class(Among::Accounts(vec![customer(1), customer(2)])), 1),
        (ActScope::Class(Among::Accounts(vec![customer(1)])), 0),
        (ActScope::Class(Among::Merchants), 1),
        (ActScope::Class(Among::Everyone), 1),
    ] {
        let found = holders(&[&tied], &scope, &[]).unwrap();
        assert_eq!(found.ties(tied.id).unwrap().len(), ties, "{scope:?}");
        assert!(found.may_ask(tied.id).is_ok() && found.may_decide(tied.id).is_ok());
    }
}

#[test]
fn what_is_read_with_the_members_is_needed_first() {
    let (tenant, keys, member) = (tenant(), MarkerKeys::of_tests(), member(1));
    for (accounts, count) in [
        (vec![customer(2), card(10)], 2),
        (vec![customer(2), customer(3)], 1),
        (vec![Account::Merchant(merchant())], 0),
        (vec![], 0),
    ] {
        let scope = ActScope::Named(accounts);
        let first = Resolver::first_of(&tenant, &[member.id], &scope);
        let needs = Resolver::new(&tenant, [&member], scope, &keys).needs().unwrap_or_default();
        assert_eq!(first.len(), count, "{first:?}");
        assert!(first.iter().all(|key| needs.contains(key)), "{first:?} {needs:?}");
    }
}
