//! Invalid drafts are rejected when they are assembled, each with its own error. The drafts are made by hand, because no
//! builder makes one.

mod exposure_correction;
mod open_wallet;

use super::*;
use crate::account::{Posting, TenantAccount};
use crate::aggregates::{Aggregate, MetricsChange};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::{Answer, Claim, EventClaim};
use crate::idempotency::{CanonicalRequest, ClaimKey, Fields, Window};
use crate::ids::{Actor, AuditId, CustomerId, Principal, Tenant, TransactionId};
use crate::keys::{self, Partition, Shards, attr};
use crate::money::{Amount, AssetSpec, Co2Kg};
use crate::operation::Operation;
use crate::terms::{EntryTerms, TermsVersion};
use crate::time::Timestamp;
use uuid::Uuid;

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn customer(number: u128) -> CustomerId {
    CustomerId::new(Uuid::from_u128(number))
}

fn account(number: u128) -> Account {
    Account::Customer(customer(number))
}

const ADJUSTMENTS: Account = Account::Tenant(TenantAccount::Adjustments);

fn yen(amount: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, amount).unwrap()
}

fn claim() -> Claim {
    Claim {
        tenant: tenant(),
        principal: Principal::Customer(customer(1)),
        actor: Actor::Customer(customer(1)),
        operation: Operation::Pay,
        key: ClaimKey::parse("k").unwrap(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new() },
        window: Window::WALLET,
        now: now(),
    }
}

fn assemble(entry: Option<Entry>, items: Vec<TransactItem>) -> Result<Transaction, BuildError> {
    let answer = Answer { status: 201, content_type: "text/plain".to_owned(), location: None, body: String::new() };
    Transaction::assemble(Draft { entry, items }, &claim(), &answer, &crate::idempotency::MarkerKeys::of_tests())
}

fn entry(postings: Vec<Posting>) -> Entry {
    Entry {
        id: TransactionId::new(Uuid::from_u128(7)),
        home: account(1),
        postings,
        references: Vec::new(),
        details: Item::new(),
        memo: None,
        terms: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    }
}

/// A valid entry: 100 yen from customer 1 to the adjustments.
fn postings() -> Vec<Posting> {
    vec![Posting::new(account(1), yen("100").debit()), Posting::new(ADJUSTMENTS, yen("100").credit())]
}

fn debit(amount: &str) -> TransactItem {
    forms::debit(&tenant(), Role::Payer, account(1), &yen(amount), now()).unwrap()
}

/// A check without a write; `number` makes its key.
fn check(number: u128) -> TransactItem {
    let key = keys::audit(&tenant(), AuditId::new(Uuid::from_u128(number)));
    TransactItem::check(Role::Audit, key, vec![exists()])
}

fn checks(count: u128) -> Vec<TransactItem> {
    (0..count).map(check).collect()
}

#[test]
fn valid_draft_is_assembled_with_the_marker_first() {
    let assembled = assemble(Some(entry(postings())), vec![debit("100")]).unwrap();
    let roles: Vec<Role> = assembled.items().iter().map(TransactItem::role).collect();
    assert_eq!(roles, [Role::Marker, Role::Payer, Role::Journal]);
}

#[test]
fn more_than_98_actions_are_rejected() {
    assert_eq!(assemble(None, checks(97)).map(|assembled| assembled.items().len()), Ok(98));
    assert_eq!(assemble(None, checks(98)), Err(BuildError::TooManyItems(99)));
    assert_eq!(Transaction::unkeyed(checks(98)).map(|assembled| assembled.items().len()), Ok(98));
    assert_eq!(Transaction::unkeyed(checks(99)), Err(BuildError::TooManyItems(99)));
    let mut with_entry = checks(96);
    with_entry.push(debit("100"));
    assert_eq!(assemble(Some(entry(postings())), with_entry), Err(BuildError::TooManyItems(99)));
}

#[test]
fn transaction_without_actions_is_rejected() {
    assert_eq!(Transaction::unkeyed(Vec::new()), Err(BuildError::Empty));
    assert_eq!(assemble(None, Vec::new()).map(|assembled| assembled.items().len()), Ok(1));
}

#[test]
fn second_action_on_a_key_is_rejected() {
    assert_eq!(assemble(None, vec![check(1), check(2), check(1)]), Err(BuildError::SameKey(Role::Audit)));
    // The marker's and the entry's keys count too.
    let own_marker = TransactItem::check(Role::OriginalMarker, claim().marker_key(), vec![exists()]);
    assert_eq!(assemble(None, vec![own_marker]), Err(BuildError::SameKey(Role::OriginalMarker)));
    let key = Partition::customer(&tenant(), customer(1)).entry(TransactionId::new(Uuid::from_u128(7)));
    let own_entry = TransactItem::check(Role::Journal, key, vec![exists()]);
    let twice = assemble(Some(entry(postings())), vec![debit("100"), own_entry]);
    assert_eq!(twice, Err(BuildError::SameKey(Role::Journal)));
    // Two halves of one posting on one item.
    let halves = assemble(Some(entry(postings())), vec![debit("60"), debit("40")]);
    assert_eq!(halves, Err(BuildError::SameKey(Role::Payer)));
}

#[test]
fn postings_that_do_not_sum_to_zero_per_asset_are_rejected() {
    let mut uneven = postings();
    uneven[1] = Posting::new(ADJUSTMENTS, yen("99").credit());
    assert_eq!(assemble(Some(entry(uneven)), vec![debit("100")]), Err(BuildError::Unbalanced(Asset::Ecopay)));
    let mut mixed = postings();
    let points = Amount::parse(&AssetSpec::POINT, "100").unwrap();
    mixed[1] = Posting::new(ADJUSTMENTS, points.credit());
    assert_eq!(assemble(Some(entry(mixed)), vec![debit("100")]), Err(BuildError::Unbalanced(Asset::Ecopay)));
}

#[test]
fn entry_without_postings_or_home_is_rejected() {
    assert_eq!(assemble(Some(entry(Vec::new())), Vec::new()), Err(BuildError::NoPostings));
    let homeless = Entry { home: ADJUSTMENTS, ..entry(postings()) };
    assert_eq!(assemble(Some(homeless), vec![debit("100")]), Err(BuildError::NoHome));
}

#[test]
fn entry_with_a_name_of_the_stored_form_is_rejected() {
    for name in ["po", "memo_hash", "_memo"] {
        let details = Item::from([(name.to_owned(), Value::s("x"))]);
        let of_form = Entry { details, ..entry(postings()) };
        assert_eq!(assemble(Some(of_form), vec![debit("100")]), Err(BuildError::EntryForm(Role::Journal)), "{name}");
    }
}

#[test]
fn balance_change_that_differs_from_postings_is_rejected() {
    let unposted = Err(BuildError::Unposted(account(1)));
    // Posted, but no balance moves.
    assert_eq!(assemble(Some(entry(postings())), Vec::new()), unposted);
    // Another amount.
    assert_eq!(assemble(Some(entry(postings())), vec![debit("101")]), unposted);
    // The other way.
    let credit = forms::credit(&tenant(), Role::Payee, account(1), &yen("100"), now()).unwrap();
    assert_eq!(assemble(Some(entry(postings())), vec![credit]), unposted);
    // Another asset.
    let points = Amount::parse(&AssetSpec::POINT, "100").unwrap();
    let points = forms::debit(&tenant(), Role::Payer, account(1), &points, now()).unwrap();
    assert_eq!(assemble(Some(entry(postings())), vec![points]), unposted);
    // A second balance changes without a posting.
    let other = forms::credit(&tenant(), Role::Payee, account(2), &yen("5"), now()).unwrap();
    let moved = assemble(Some(entry(postings())), vec![debit("100"), other]);
    assert_eq!(moved, Err(BuildError::Unposted(account(2))));
}

/// Every way to write an attribute.
fn writes(attribute: &'static str) -> [Update; 4] {
    [
        Update::new().add(attribute, "x", Value::int(100)),
        Update::new().set(attribute, "x", Value::int(100)),
        Update::new().set_if_absent(attribute, "x", Value::int(100)),
        Update::new().remove(attribute),
    ]
}

#[test]
fn balance_written_without_posting_is_rejected() {
    let balance = || Partition::customer(&tenant(), customer(1)).balance(&Asset::Ecopay);
    let number = || Value::int(100);
    for attribute in [attr::BALANCE, attr::HELD] {
        for update in writes(attribute) {
            let item = TransactItem::update(Role::Payer, balance(), update, Vec::new());
            let refused = Err(BuildError::UnpostedBalance(Role::Payer));
            assert_eq!(assemble(None, vec![item.clone()]), refused, "{attribute}");
            assert_eq!(Transaction::unkeyed(vec![item]), refused, "{attribute}");
        }
        let put = |value| TransactItem::put(Role::Card, balance(), Item::from([(attribute.to_owned(), value)]), vec![]);
        assert_eq!(assemble(None, vec![put(number())]), Err(BuildError::UnpostedBalance(Role::Card)));
        // An account is opened with a balance of zero.
        assert!(assemble(None, vec![put(Value::int(0))]).is_ok());
    }
}

#[test]
fn headroom_changes_under_a_marker_only() {
    let key = || Partition::customer(&tenant(), customer(1)).balance(&Asset::Ecopay);
    for attribute in [attr::EXPOSURE, attr::RESERVED] {
        for update in writes(attribute) {
            let item = TransactItem::update(Role::Payee, key(), update, Vec::new());
            let refused = Err(BuildError::UnmarkedExposure(Role::Payee));
            assert_eq!(Transaction::unkeyed(vec![check(2), item.clone()]), refused, "{attribute}");
            // `exposure` and `reserved` cannot change alone: what counts against the cap is the sum of its parts.
            assert_eq!(assemble(None, vec![item]), Err(BuildError::Exposure(Role::Payee)), "{attribute}");
        }
        let put = |value| TransactItem::put(Role::Card, key(), Item::from([(attribute.to_owned(), value)]), vec![]);
        assert_eq!(Transaction::unkeyed(vec![put(Value::int(1))]), Err(BuildError::UnmarkedExposure(Role::Card)));
        assert!(Transaction::unkeyed(vec![put(Value::int(0))]).is_ok());
    }
    let reserved = forms::reserve(&tenant(), account(1), &yen("100"), None, now()).unwrap();
    let released = forms::release(&tenant(), account(1), &yen("100"), now()).unwrap();
    for item in [reserved, released] {
        assert!(!item.is_posted(), "headroom has no postings");
        assert_eq!(Transaction::unkeyed(vec![item.clone()]), Err(BuildError::UnmarkedExposure(Role::Payee)));
        assert!(assemble(None, vec![item]).is_ok());
    }
}

/// 100 yen of customer 1 are held.
fn held_postings() -> Vec<Posting> {
    vec![Posting::new(account(1), yen("100").debit()), Posting::held(account(1), yen("100").credit())]
}

#[test]
fn hold_change_that_differs_from_held_postings_is_rejected() {
    let hold = |amount| forms::hold(&tenant(), Role::Payer, account(1), &yen(amount), true, now()).unwrap();
    let pay_out = |amount| forms::pay_out(&tenant(), Role::Payer, account(1), &yen(amount), now()).unwrap();
    let release = |amount| forms::release_hold(&tenant(), Role::Payer, account(1), &yen(amount), None, now()).unwrap();
    assert!(assemble(Some(entry(held_postings())), vec![hold("100")]).is_ok());
    let unposted = Err(BuildError::Unposted(account(1)));
    // The sums of the two parts cancel out, and each part must still change as it is posted.
    assert_eq!(assemble(Some(entry(held_postings())), Vec::new()), unposted);
    assert_eq!(assemble(Some(entry(held_postings())), vec![hold("99")]), unposted);
    assert_eq!(assemble(Some(entry(held_postings())), vec![release("100")]), unposted);
    assert_eq!(assemble(Some(entry(held_postings())), vec![debit("100")]), unposted);
    let other_way: Vec<Posting> =
        held_postings().into_iter().map(|p| Posting { delta: p.delta.inverse(), ..p }).collect();
    assert!(assemble(Some(entry(other_way.clone())), vec![release("100")]).is_ok());
    assert_eq!(assemble(Some(entry(other_way)), vec![hold("100")]), unposted);
    // A payout leaves the held part, not the available one.
    let leaves = |posting: Posting| vec![posting, Posting::new(ADJUSTMENTS, yen("100").credit())];
    let (held, available) =
        (Posting::held(account(1), yen("100").debit()), Posting::new(account(1), yen("100").debit()));
    assert!(assemble(Some(entry(leaves(held.clone()))), vec![pay_out("100")]).is_ok());
    assert_eq!(assemble(Some(entry(leaves(available))), vec![pay_out("100")]), unposted);
    assert_eq!(assemble(Some(entry(leaves(held))), vec![debit("100")]), unposted);
    // A hold needs an entry.
    let refused = Err(BuildError::EffectWithoutJournal(Role::Payer));
    assert_eq!(assemble(None, vec![hold("100")]), refused);
    assert_eq!(Transaction::unkeyed(vec![hold("100")]), refused);
    assert_eq!(Transaction::unkeyed(vec![pay_out("100")]), refused);
}

#[test]
fn received_inflow_without_matching_posting_is_rejected() {
    let receive = |amount| forms::receive(&tenant(), account(1), &yen(amount), now()).unwrap();
    let comes = vec![Posting::new(account(1), yen("100").credit()), Posting::new(ADJUSTMENTS, yen("100").debit())];
    assert!(assemble(Some(entry(comes.clone())), vec![receive("100")]).is_ok());
    assert_eq!(assemble(Some(entry(comes)), vec![receive("101")]), Err(BuildError::Unposted(account(1))));
    assert_eq!(assemble(None, vec![receive("100")]), Err(BuildError::EffectWithoutJournal(Role::Payee)));
    assert_eq!(Transaction::unkeyed(vec![receive("100")]), Err(BuildError::EffectWithoutJournal(Role::Payee)));
}

#[test]
fn response_is_stored_on_a_marker_only() {
    let from = Provenance::from(&claim());
    let draft = Draft { entry: Some(entry(postings())), items: vec![debit("100")] };
    for other in
        [check(1), TransactItem::update(Role::Flight, check(1).key().clone(), Update::new().remove("x"), vec![])]
    {
        let role = other.role();
        assert_eq!(Transaction::landed(draft.clone(), other, &from), Err(BuildError::EffectWithoutJournal(role)));
    }
    let marker = || {
        TransactItem::update(Role::Marker, claim().marker_key(), Update::new().set("state", "x", Value::s("x")), vec![])
    };
    let landed = Transaction::landed(draft.clone(), marker(), &from).unwrap();
    let roles: Vec<Role> = landed.items().iter().map(TransactItem::role).collect();
    assert_eq!(roles, [Role::Marker, Role::Payer, Role::Journal]);
    // The books are checked as under any other marker.
    let unposted = Draft { entry: Some(entry(postings())), items: vec![debit("99")] };
    assert_eq!(Transaction::landed(unposted.clone(), marker(), &from), Err(BuildError::Unposted(account(1))));
    let unbooked = Draft { entry: None, items: vec![debit("100")] };
    assert_eq!(
        Transaction::landed(unbooked.clone(), marker(), &from),
        Err(BuildError::EffectWithoutJournal(Role::Payer))
    );
}

#[test]
fn event_transaction_has_its_marker_first() {
    let event = EventClaim {
        tenant: tenant(),
        event: crate::psp::EventId::parse("evt_1").unwrap(),
        kind: "payment_intent.succeeded".to_owned(),
        now: now(),
    };
    let from = Provenance { actor: Actor::Stripe, ..Provenance::from(&claim()) };
    let draft = Draft { entry: Some(entry(postings())), items: vec![debit("100")] };
    let assembled = Transaction::of_event(draft.clone(), &event, &from).unwrap();
    assert_eq!(assembled.items()[0].role(), Role::Marker);
    assert_eq!(assembled.items()[0].key(), &keys::stripe_event(&tenant(), &event.event));
    let unposted = Draft { entry: Some(entry(postings())), items: Vec::new() };
    assert_eq!(Transaction::of_event(unposted.clone(), &event, &from), Err(BuildError::Unposted(account(1))));
    // An event without effect has a marker too.
    assert_eq!(Transaction::of_event(Draft::default(), &event, &from).unwrap().items().len(), 1);
}

#[test]
fn value_moved_without_marker_or_entry_is_rejected() {
    let refused = Err(BuildError::EffectWithoutJournal(Role::Payer));
    assert_eq!(assemble(None, vec![debit("100")]), refused);
    assert_eq!(Transaction::unkeyed(vec![check(1), debit("100")]), refused);
}

#[test]
fn update_without_change_is_rejected() {
    let nothing = TransactItem::update(Role::Job, check(1).key().clone(), Update::new(), Vec::new());
    assert_eq!(assemble(None, vec![nothing]), Err(BuildError::EmptyUpdate(Role::Job)));
}

#[test]
fn update_of_a_sealed_attribute_of_a_record_is_rejected() {
    let record = keys::audit(&tenant(), AuditId::new(Uuid::from_u128(7)));
    let update = |update| TransactItem::update(Role::Sealed, record.clone(), update, Vec::new());
    let stamp = Update::new().set("_sealed", "stamp", Value::s("L0/1"));
    assert!(Transaction::unkeyed(vec![update(stamp.clone())]).is_ok());
    for changed in [stamp.clone().set("reason", "reason", Value::s("x")), stamp.remove(attr::OWNER_PK)] {
        assert_eq!(Transaction::unkeyed(vec![update(changed)]), Err(BuildError::SealedAttribute(Role::Sealed)));
    }
}

#[test]
fn two_values_for_one_placeholder_are_rejected() {
    let clause = |name: &'static str, value: i64| Clause {
        condition: Condition::compare("n", Cmp::Ge, name, Value::int(value)),
        failure: Failure::WrongState,
    };
    let item = |clauses| TransactItem::update(Role::Job, keys::config(&tenant()), Update::new().remove("r"), clauses);
    let clash = assemble(None, vec![item(vec![clause("x", 1), clause("x", 2)])]);
    assert_eq!(clash, Err(BuildError::Placeholder(Role::Job)));
    assert!(assemble(None, vec![item(vec![clause("x", 1), clause("x", 1)])]).is_ok());
    // A placeholder may not contain `-`, so two names can become one placeholder.
    let names = ["a-b", "a_b"].map(|name| Clause { condition: Condition::exists(name), failure: Failure::WrongState });
    assert_eq!(assemble(None, vec![item(names.to_vec())]), Err(BuildError::Placeholder(Role::Job)));
    let values = vec![clause("a-b", 1), clause("a_b", 2)];
    assert_eq!(assemble(None, vec![item(values)]), Err(BuildError::Placeholder(Role::Job)));
    let written = Update::new().set("a", "v", Value::int(1)).add("b", "v", Value::int(2));
    let item = TransactItem::update(Role::Job, keys::config(&tenant()), written, Vec::new());
    assert_eq!(Transaction::unkeyed(vec![item]), Err(BuildError::Placeholder(Role::Job)));
}

/// The change of a payment of 100 yen with this CO2 estimate.
fn paid(co2: &str) -> MetricsChange {
    MetricsChange::Paid(yen("100"), Co2Kg::from_stored(co2).unwrap())
}

/// The entry of a payment with this CO2 estimate.
fn payment_entry(co2: &str) -> Option<Entry> {
    Some(Entry { details: Item::from([("co2".to_owned(), Value::N(co2.to_owned()))]), ..entry(postings()) })
}

#[test]
fn aggregates_change_once_by_what_the_entry_says() {
    let beside = || debit("100").with_aggregates(paid("1"), now());
    let metrics = |of| TransactItem::metrics(keys::metrics(&tenant(), customer(of)), paid("1"), Value::s(now()));
    assert!(assemble(payment_entry("1"), vec![beside()]).is_ok());
    assert!(assemble(payment_entry("1"), vec![debit("100"), metrics(1)]).is_ok());
    for (entry, items) in [
        // Not counted, counted twice, by another estimate, or of another customer.
        (payment_entry("1"), vec![debit("100")]),
        (payment_entry("1"), vec![beside(), metrics(1)]),
        (payment_entry("1.1"), vec![beside()]),
        (payment_entry("1"), vec![debit("100"), metrics(2)]),
        // The entry is of no payment.
        (Some(entry(postings())), vec![beside()]),
        (Some(entry(postings())), vec![debit("100"), metrics(1)]),
    ] {
        assert_eq!(assemble(entry, items.clone()), Err(BuildError::AggregatesOfEntry), "{items:?}");
    }
    // Beside a balance nothing is counted without an entry.
    let checked = forms::check_balance(&tenant(), Role::Points, account(1), &Asset::Point).unwrap();
    let counted = || checked.clone().with_aggregates(paid("1"), now());
    assert_eq!(assemble(None, vec![counted()]), Err(BuildError::EffectWithoutJournal(Role::Points)));
    assert_eq!(Transaction::unkeyed(vec![counted()]), Err(BuildError::EffectWithoutJournal(Role::Points)));
}

#[test]
fn aggregates_written_otherwise_than_by_their_change_are_rejected() {
    let balance = || Partition::customer(&tenant(), customer(1)).balance(&Asset::Ecopay);
    for aggregate in Aggregate::ALL {
        let name = aggregate.beside_balance();
        for update in writes(name) {
            let item = TransactItem::update(Role::Payer, balance(), update, Vec::new());
            assert_eq!(Transaction::unkeyed(vec![item]), Err(BuildError::Aggregates(Role::Payer)), "{name}");
        }
        let put = TransactItem::put(Role::Card, balance(), Item::from([(name.to_owned(), Value::int(0))]), vec![]);
        assert_eq!(Transaction::unkeyed(vec![put]), Err(BuildError::Aggregates(Role::Card)), "{name}");
        for more in writes(name) {
            let item =
                debit("100").with_aggregates(paid("1"), now()).changing(|update| match update.clone().and(more) {
                    Some(both) => both,
                    // It changes the aggregate already.
                    None => update.add(name, "again", Value::int(1)),
                });
            let refused = Err(BuildError::Aggregates(Role::Payer));
            assert_eq!(assemble(payment_entry("1"), vec![item]), refused, "{name}");
        }
    }
}

#[test]
fn aggregates_beside_a_balance_leave_guards_and_sums_as_they_are() {
    let names = [attr::BALANCE, attr::HELD, attr::RESERVED, attr::EXPOSURE, attr::OWED, attr::UPDATED_AT];
    let hold = |amount| forms::hold(&tenant(), Role::Payer, account(1), &yen(amount), true, now()).unwrap();
    for item in [debit("100"), hold("100")] {
        let counted = item.clone().with_aggregates(paid("1"), now());
        assert_eq!(counted.clauses(), item.clauses());
        assert!(counted.postings().eq(item.postings()));
        let (Action::Update(before), Action::Update(after)) = (&item.action, &counted.action) else {
            panic!("an update")
        };
        for name in names {
            assert_eq!((after.added(name), after.set_to(name)), (before.added(name), before.set_to(name)), "{name}");
        }
        let more = after.attributes().filter(|name| before.attributes().all(|old| old != *name));
        assert!(more.eq(["aggregate_co2_total", "aggregate_payments", "aggregate_paid_total"]));
    }
}
