use super::*;
use crate::account::{Posting, TenantAccount};
use crate::forms;
use crate::idempotency::{Answer, CanonicalRequest, Claim, ClaimKey, Fields, Window};
use crate::ids::{Actor, CustomerId, Principal, Tenant, TransactionId};
use crate::keys::{Partition, Shards};
use crate::money::{Amount, AssetSpec, RegionalKey};
use crate::operation::Operation;
use crate::terms::{EntryTerms, TermsVersion};
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Reason, ReasonCode, RenderedAction, Verdict};
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

fn profile_key(number: u128) -> Key {
    Partition::customer(&tenant(), customer(number)).profile()
}

fn leaf(amount: &str) -> Amount {
    let spec = AssetSpec::regional(RegionalKey::parse("leaf").unwrap(), 0).unwrap();
    Amount::parse(&spec, amount).unwrap()
}

fn point(amount: &str) -> Amount {
    Amount::parse(&AssetSpec::POINT, amount).unwrap()
}

fn assembled(entry: Entry, items: Vec<TransactItem>) -> Result<Transaction, BuildError> {
    let answer = Answer { status: 201, content_type: "text/plain".to_owned(), location: None, body: String::new() };
    let claim = Claim {
        tenant: tenant(),
        principal: Principal::Customer(customer(1)),
        actor: Actor::Customer(customer(1)),
        operation: Operation::Transfer,
        key: ClaimKey::parse("k").unwrap(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new() },
        window: Window::WALLET,
        now: now(),
    };
    Transaction::assemble(
        Draft { entry: Some(entry), items },
        &claim,
        &answer,
        &crate::idempotency::MarkerKeys::of_tests(),
    )
}

fn entry(postings: Vec<Posting>) -> Entry {
    Entry {
        id: TransactionId::new(Uuid::from_u128(7)),
        home: Account::Customer(customer(2)),
        postings,
        references: Vec::new(),
        details: Item::new(),
        memo: None,
        terms: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    }
}

/// Grants of the tenant to customer 2, each of another asset.
fn grants(amounts: &[Amount]) -> Transaction {
    let account = Account::Customer(customer(2));
    let postings = |amount: &Amount| {
        let issued = Account::Tenant(TenantAccount::PointsIssued);
        [Posting::new(issued, amount.debit()), Posting::new(account, amount.credit())]
    };
    let credit = |amount| forms::credit(&tenant(), Role::Payee, account, amount, now()).unwrap();
    assembled(entry(amounts.iter().flat_map(postings).collect()), amounts.iter().map(credit).collect()).unwrap()
}

/// Customer 1 sends to customer 2.
fn transfer(amount: &Amount) -> Transaction {
    let (from, to) = (Account::Customer(customer(1)), Account::Customer(customer(2)));
    let items = vec![
        forms::debit(&tenant(), Role::Payer, from, amount, now()).unwrap(),
        forms::top_up(&tenant(), Role::Payee, to, amount, None, &leaf("500"), now()).unwrap(),
    ];
    assembled(entry(vec![Posting::new(from, amount.debit()), Posting::new(to, amount.credit())]), items).unwrap()
}

/// What the store reports if the guards at these positions fail, each with its item as it was.
fn rejection(transaction: &Transaction, failed: &[(usize, Option<Item>)]) -> Rejection {
    let mut reasons = vec![Reason { code: ReasonCode::None, item: None }; transaction.items().len()];
    for (position, item) in failed {
        reasons[*position] = Reason { code: ReasonCode::ConditionalCheckFailed, item: item.clone() };
    }
    let verdict = transaction.classify(&reasons);
    let Verdict::Rejected(rejection) = verdict else { panic!("{verdict:?}") };
    rejection
}

fn profile(status: &str, accounts: i64) -> Item {
    let mut item = Item::from([("status".to_owned(), Value::s(status)), ("accounts".to_owned(), Value::int(accounts))]);
    if status == "frozen" {
        item.insert("frozen".to_owned(), Value::s("staff:1"));
    }
    item
}

fn read(number: u128, profile: Item) -> BTreeMap<Key, Item> {
    BTreeMap::from([(profile_key(number), profile)])
}

fn put(transaction: &Transaction, position: usize) -> Item {
    let action = transaction.items()[position].render().unwrap().action;
    let RenderedAction::Put(item) = action else { panic!("{action:?}") };
    item
}

#[test]
fn credit_of_a_missing_balance_opens_it_with_the_credit_as_its_first_value() {
    let grant = grants(&[leaf("100")]);
    let missing = rejection(&grant, &[(1, None)]);
    assert_eq!(grant.profiles_to_open(&missing), [profile_key(2)]);
    let opening = grant.opening(&missing, &read(2, profile("active", 3))).unwrap().unwrap();
    let opened = put(&opening, 1);
    for (name, value) in [("balance", 100), ("held", 0), ("exposure", 100)] {
        assert_eq!(opened.get(name), Some(&Value::int(value)), "{name}");
    }
    assert_eq!((opened.get("created_at"), opened.get("frozen")), (Some(&Value::s(now())), None));
    assert_eq!(opening.items()[1].clauses()[0].failure, Failure::StalePlan);
    let counted = opening.items().last().unwrap();
    assert_eq!((counted.role(), counted.key()), (Role::Profile, &profile_key(2)));
    // The profile as read satisfies every guard; each change of it fails one.
    let with = |name: &str, value: Option<Value>| {
        let mut item = profile("active", 3);
        item.insert("uuid".to_owned(), Value::s(profile_key(2).pk()));
        drop(value.map(|value| item.insert(name.to_owned(), value)));
        item
    };
    assert!(counted.failure_on(Some(&with("", None))).is_none());
    for (name, value) in [("accounts", Value::int(4)), ("status", Value::s("closed")), ("frozen", Value::s("staff:1"))]
    {
        let failed = counted.failure_on(Some(&with(name, Some(value)))).map(|clause| clause.failure);
        assert_eq!(failed, Some(Failure::StalePlan), "{name}");
    }
    assert_eq!(counted.failure_on(None).map(|clause| clause.failure), Some(Failure::StalePlan));
    // Everything else is as it was.
    assert_eq!(opening.items().len(), grant.items().len() + 1);
    let rest = |transaction: &Transaction| [transaction.items()[0].clone(), transaction.items()[2].clone()];
    assert_eq!((rest(&opening), grant.items().len()), (rest(&grant), 3));
}

#[test]
fn account_of_a_frozen_holder_opens_frozen() {
    let grant = grants(&[leaf("100")]);
    let opening = grant.opening(&rejection(&grant, &[(1, None)]), &read(2, profile("frozen", 3))).unwrap().unwrap();
    assert_eq!(put(&opening, 1).get("frozen"), Some(&Value::s("staff:1")));
}

#[test]
fn two_accounts_of_one_holder_are_counted_once_on_its_profile() {
    let grant = grants(&[leaf("100"), point("5")]);
    let missing = rejection(&grant, &[(1, None), (2, None)]);
    assert_eq!(grant.profiles_to_open(&missing), [profile_key(2)]);
    let opening = grant.opening(&missing, &read(2, profile("active", 1))).unwrap().unwrap();
    assert_eq!(
        (put(&opening, 1)["balance"].clone(), put(&opening, 2)["balance"].clone()),
        (Value::int(100), Value::int(5))
    );
    let counted = opening.items().last().unwrap().render().unwrap();
    assert!(counted.values.values().any(|value| *value == Value::int(2)), "{counted:?}");
}

#[test]
fn recipient_opens_under_its_cap() {
    let sent = transfer(&leaf("500"));
    let missing = rejection(&sent, &[(2, None)]);
    let opening = sent.opening(&missing, &read(2, profile("active", 3))).unwrap().unwrap();
    assert_eq!(put(&opening, 2).get("exposure"), Some(&Value::int(500)));
    // The debit is not changed.
    assert_eq!(opening.items()[1], sent.items()[1]);
}

#[test]
fn rejection_for_another_reason_opens_nothing() {
    let sent = transfer(&leaf("100"));
    let poor = Item::from([("uuid".to_owned(), Value::s("p")), ("balance".to_owned(), Value::int(1))]);
    let full = Item::from([
        ("uuid".to_owned(), Value::s("p")),
        ("balance".to_owned(), Value::int(450)),
        ("exposure".to_owned(), Value::int(450)),
    ]);
    for failed in [
        vec![(1, None)],
        vec![(1, None), (2, None)],
        vec![(1, Some(poor.clone())), (2, None)],
        vec![(2, Some(full))],
        vec![(1, Some(poor))],
    ] {
        assert!(sent.profiles_to_open(&rejection(&sent, &failed)).is_empty(), "{failed:?}");
    }
}

/// A record that posts nothing, such as a budget, does not hide the account that would open: it refuses what is written.
#[test]
fn account_opens_beside_a_failed_guard_of_a_record() {
    let account = Account::Customer(customer(2));
    let credit = forms::credit(&tenant(), Role::Payee, account, &leaf("100"), now()).unwrap();
    let enough = Condition::compare("remaining", Cmp::Ge, "granted", Value::int(100));
    let clauses = vec![Clause { condition: enough, failure: Failure::BudgetExceeded }];
    let key = crate::keys::asset_budget(&tenant(), leaf("1").asset());
    let budget = TransactItem::check(Role::Budget, key, clauses);
    let issued = Account::Tenant(TenantAccount::PointsIssued);
    let postings = vec![Posting::new(issued, leaf("100").debit()), Posting::new(account, leaf("100").credit())];
    let grant = assembled(entry(postings), vec![credit, budget]).unwrap();
    let missing = rejection(&grant, &[(1, None), (2, None)]);
    assert_eq!((missing.failure, grant.profiles_to_open(&missing)), (Failure::AccountMissing, vec![profile_key(2)]));
    let opening = grant.opening(&missing, &read(2, profile("active", 3))).unwrap().unwrap();
    assert_eq!(rejection(&opening, &[(2, None)]).failure, Failure::BudgetExceeded);
    assert_eq!(opening.items()[2], grant.items()[2]);
}

#[test]
fn holder_without_an_open_profile_opens_nothing() {
    let grant = grants(&[leaf("100")]);
    let missing = rejection(&grant, &[(1, None)]);
    for profiles in [BTreeMap::new(), read(2, profile("closed", 3)), read(3, profile("active", 3))] {
        assert_eq!(grant.opening(&missing, &profiles), Ok(None), "{profiles:?}");
    }
    let unreadable = read(2, Item::from([("status".to_owned(), Value::s("active"))]));
    assert!(matches!(grant.opening(&missing, &unreadable), Err(OpeningError::Profile(_))));
}

#[test]
fn balance_that_opens_with_another_sum_than_posted_is_rejected() {
    let grant = grants(&[leaf("100")]);
    for (name, error) in [
        (attr::BALANCE, BuildError::UnpostedBalance(Role::Payee)),
        (attr::HELD, BuildError::UnpostedBalance(Role::Payee)),
        (attr::EXPOSURE, BuildError::Exposure(Role::Payee)),
        (attr::RESERVED, BuildError::Exposure(Role::Payee)),
    ] {
        let mut items = grant.items().to_vec();
        let mut balance = items[1].first_credit(None).unwrap();
        balance.insert(name.to_owned(), Value::int(99));
        items[1].open_with(balance);
        assert_eq!(Transaction::checked(items), Err(error), "{name}");
    }
}
