//! Which records are credited together, which never are, and what a failed guard means.

use crate::account::Account;
use crate::crediting::*;
use crate::transaction::{Reason, ReasonCode, RenderedAction, TransactItem, Verdict};
use std::collections::BTreeMap;
use uuid::Uuid;

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn merchant(number: u128) -> MerchantId {
    MerchantId::new(Uuid::from_u128(number))
}

/// A payment of merchant 1, or a refund of it, as stored.
fn stored(number: u128, refund: bool, delta: &[(&str, &str)]) -> Item {
    let payment = PaymentId::new(Uuid::from_u128(number));
    let id = RefundId::new(Uuid::from_u128(number));
    let key = if refund { keys::refund(&tenant(), payment, id) } else { keys::payment(&tenant(), payment) };
    let delta = delta.iter().map(|(asset, change)| ((*asset).to_owned(), Value::N((*change).to_owned()))).collect();
    let mut item = Item::from([
        (attr::PK.to_owned(), Value::s(key.pk())),
        (attr::SK.to_owned(), Value::s(key.sk())),
        ("payment_id".to_owned(), Value::s(payment)),
        ("merchant_id".to_owned(), Value::s(merchant(1))),
        (DELTA.to_owned(), Value::M(delta)),
        (attr::CREATED_AT.to_owned(), Value::s(now())),
        (attr::DUE_PK.to_owned(), Value::S(keys::due_partition(&tenant(), keys::Work::Credit(merchant(1)), 3))),
        (attr::DUE_SK.to_owned(), Value::s(payment)),
    ]);
    if refund {
        item.insert("refund_id".to_owned(), Value::s(id));
    }
    item
}

fn record(number: u128, delta: &[(&str, &str)]) -> Uncredited {
    Uncredited::read(&tenant(), &stored(number, false, delta)).unwrap().unwrap()
}

fn payments(count: u128, delta: &[(&str, &str)]) -> Vec<Uncredited> {
    (1..=count).map(|number| record(number, delta)).collect()
}

fn lease() -> Leased<CreditedMerchant> {
    lease_of(&tenant(), merchant(1))
}

fn lease_of(tenant: &Tenant, merchant: MerchantId) -> Leased<CreditedMerchant> {
    CreditedMerchant::take(tenant, merchant, None, now()).unwrap().unwrap().0
}

fn moved(batch: &Batch) -> BTreeMap<(Account, String), String> {
    let moves = batch.transaction().items().iter().flat_map(TransactItem::postings);
    moves.map(|p| ((p.account, p.delta.asset().to_string()), p.delta.text())).collect()
}

#[test]
fn batch_has_as_many_records_as_fit_into_a_transaction() {
    let yen = [("ECOPAY", "100")];
    let both = [("ECOPAY", "100"), ("POINT", "1")];
    for (count, delta, fit, assets) in
        [(1, &yen[..], 1, 1), (98, &yen, 98, 1), (99, &yen, 98, 1), (300, &both, 97, 2), (97, &both, 97, 2)]
    {
        let batch = lease().batch(&payments(count, delta), RecordVersion::V2, now()).unwrap().unwrap();
        assert_eq!(batch.records(), fit);
        assert_eq!(batch.transaction().items().len(), 1 + assets + fit);
    }
    // An asset that only the last record has also takes an action.
    let mut waiting = payments(98, &yen);
    waiting[97] = record(98, &both);
    assert_eq!(lease().batch(&waiting, RecordVersion::V2, now()).unwrap().unwrap().records(), 97);
    assert_eq!(lease().batch(&[], RecordVersion::V2, now()), Ok(None));
}

#[test]
fn balance_changes_by_the_sum_of_its_records() {
    let refund = Uncredited::read(&tenant(), &stored(9, true, &[("ECOPAY", "-250.0"), ("POINT", "-7")])).unwrap();
    let waiting = [
        record(1, &[("ECOPAY", "100"), ("REGIONAL#aoba", "0.5")]),
        record(2, &[("ECOPAY", "50"), ("POINT", "7")]),
        refund.unwrap(),
    ];
    let batch = lease().batch(&waiting, RecordVersion::V2, now()).unwrap().unwrap();
    let account = Account::Merchant(merchant(1));
    // Points cancel out, and money falls below zero.
    let expected = [("ECOPAY", "-100"), ("REGIONAL#aoba", "0.5")];
    assert_eq!(moved(&batch), expected.map(|(asset, sum)| ((account, asset.to_owned()), sum.to_owned())).into());
    let roles: Vec<Role> = batch.transaction().items().iter().map(TransactItem::role).collect();
    assert_eq!(
        roles,
        [Role::Crediting, Role::MerchantBalance, Role::MerchantBalance, Role::Payment, Role::Payment, Role::Refund]
    );
}

#[test]
fn uncredited_record_is_read_only_if_due_and_well_formed() {
    let yen = [("ECOPAY", "100")];
    let with = |name: &str, value: Option<Value>| {
        let mut item = stored(1, true, &yen);
        match value {
            Some(value) => item.insert(name.to_owned(), value),
            None => item.remove(name),
        };
        Uncredited::read(&tenant(), &item)
    };
    let settle = keys::due_partition(&tenant(), keys::Work::Settle(merchant(1)), 3);
    for mark in [None, Some(Value::S(settle)), Some(Value::s("demo#due#publish#1")), Some(Value::s("demo#due#credit#"))]
    {
        assert_eq!(with(attr::DUE_PK, mark), Ok(None));
    }
    assert_eq!(Uncredited::read(&Tenant::parse("demo-2").unwrap(), &stored(1, true, &yen)), Ok(None));
    let wrong = |attribute: &str| Err(ItemError::invalid(attribute));
    let missing = |attribute: &str| Err(ItemError::missing(attribute));
    assert_eq!(with("merchant_id", Some(Value::s(merchant(2)))), wrong("merchant_id"));
    assert_eq!(with("payment_id", Some(Value::s(merchant(2)))), wrong(attr::PK));
    assert_eq!(with("refund_id", None), wrong(attr::PK));
    assert_eq!(with(attr::CREATED_AT, None), missing(attr::CREATED_AT));
    let delta = |value: Value| with(DELTA, Some(Value::M(Item::from([("ECOPAY".to_owned(), value)]))));
    for value in [Value::s("100"), Value::int(0), Value::N("1e3x".to_owned())] {
        assert_eq!(delta(value), wrong(DELTA));
    }
    // A payment that was captured late is due since the capture.
    let later = now().plus(CREDITING_LEASE);
    assert_eq!(with(attr::UPDATED_AT, Some(Value::s(later))).unwrap().unwrap().since(), later);
}

#[test]
fn record_is_credited_once_and_to_its_own_merchant() {
    let yen = [("ECOPAY", "100")];
    let twice = [record(1, &yen), record(2, &yen), record(1, &yen)];
    assert_eq!(lease().batch(&twice, RecordVersion::V2, now()), Err(BuildError::SameKey(Role::Payment)));
    let other = lease_of(&tenant(), merchant(2));
    assert_eq!(other.batch(&payments(1, &yen), RecordVersion::V2, now()), Err(BuildError::Stranger(Role::Payment)));
    let other = lease_of(&Tenant::parse("demo-2").unwrap(), merchant(1));
    assert_eq!(other.batch(&payments(1, &yen), RecordVersion::V2, now()), Err(BuildError::Stranger(Role::Payment)));
}

#[test]
fn projection_requires_the_holders_token() {
    let records = payments(2, &[("ECOPAY", "100")]);
    let projected = |holder| Transaction::projected(holder, (&tenant(), merchant(1)), &records, None, now());
    let key = || Partition::merchant(&tenant(), merchant(1)).crediting();
    let version_update = || Update::new().add("version", "one", Value::int(1));
    let mine = || vec![lease().held(Failure::StalePlan)];
    assert!(projected(TransactItem::update(Role::Crediting, key(), version_update(), mine())).is_ok());
    let unguarded = TransactItem::update(Role::Crediting, key(), version_update(), Vec::new());
    assert_eq!(projected(unguarded), Err(BuildError::Unfenced(Role::Crediting)));
    let other = TransactItem::update(Role::Profile, key(), version_update(), mine());
    assert_eq!(projected(other), Err(BuildError::Unfenced(Role::Profile)));
    let balance = version_update().add(attr::BALANCE, "delta", Value::int(1));
    let moving = TransactItem::update(Role::Crediting, key(), balance, mine());
    assert_eq!(projected(moving), Err(BuildError::Unfenced(Role::Crediting)));
    // A merchant's balance cannot be written in any other way.
    let batch = lease().batch(&records, RecordVersion::V2, now()).unwrap().unwrap();
    let added = batch.transaction().items()[1].clone();
    assert_eq!(Transaction::unkeyed(vec![added]), Err(BuildError::EffectWithoutJournal(Role::MerchantBalance)));
}

#[test]
fn merchant_is_taken_once_its_lease_has_ended() {
    let seen = Crediting { holder: Holder { fence: 4, lease_until: now() }, version: 9, period: 1 };
    let taken =
        |at| CreditedMerchant::take(&tenant(), merchant(1), Some(&seen), at).unwrap().map(|(held, _)| held.fence());
    assert_eq!(taken(now().minus(Duration::from_millis(1))), None);
    assert_eq!(taken(now()), Some(5));
}

#[test]
fn failed_guard_names_its_records() {
    let batch =
        lease().batch(&payments(4, &[("ECOPAY", "100"), ("POINT", "1")]), RecordVersion::V2, now()).unwrap().unwrap();
    let explain = |failed: &[(usize, Option<Item>)]| {
        let none = Reason { code: ReasonCode::None, item: None };
        let mut reasons = vec![none; batch.transaction().items().len()];
        for (position, item) in failed {
            reasons[*position] = Reason { code: ReasonCode::ConditionalCheckFailed, item: item.clone() };
        }
        let Verdict::Rejected(rejection) = batch.transaction().classify(&reasons) else { panic!("{reasons:?}") };
        batch.explain(&rejection).unwrap()
    };
    let credited = || {
        let mut item = stored(1, false, &[("ECOPAY", "100")]);
        item.insert("credited_at".to_owned(), Value::s(now()));
        Some(item)
    };
    let another = || Some(Item::from([("fence".to_owned(), Value::int(2))]));
    // Positions 0 to 2 are the lease and two assets.
    assert_eq!(explain(&[(4, credited())]), BatchRejection::Credited(vec![1]));
    assert_eq!(explain(&[(3, credited()), (6, credited())]), BatchRejection::Credited(vec![0, 3]));
    assert_eq!(explain(&[(3, credited()), (5, None)]), BatchRejection::Missing(vec![2]));
    assert_eq!(explain(&[(0, another()), (3, credited()), (5, None)]), BatchRejection::LeaseLost);
    assert_eq!(explain(&[(0, None)]), BatchRejection::LeaseLost);
}

/// The update of an item, as text.
fn update_of(item: &TransactItem) -> String {
    match item.render().unwrap().action {
        RenderedAction::Update(_, text) => text,
        other @ (RenderedAction::Put(_) | RenderedAction::ConditionCheck(_) | RenderedAction::Delete(_)) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn period_grows_by_the_sums_of_the_records_that_name_it() {
    let refund = Uncredited::read(&tenant(), &stored(9, true, &[("ECOPAY", "-250"), ("POINT", "-7")])).unwrap();
    let waiting = [
        record(1, &[("ECOPAY", "100"), ("REGIONAL#aoba", "0.5")]),
        record(2, &[("ECOPAY", "50"), ("POINT", "7")]),
        refund.unwrap(),
    ];
    let batch = lease().batch(&waiting, RecordVersion::V3, now()).unwrap().unwrap();
    let [holder, .., last] = batch.transaction().items() else { panic!("{batch:?}") };
    let sums = [
        ("period_records", "3"),
        ("taken_ecopay", "150"),
        ("taken_point", "7"),
        ("taken_regional_aoba", "0.5"),
        ("refunded_ecopay", "250"),
        ("refunded_point", "7"),
    ];
    let values = holder.render().unwrap().values;
    for (name, sum) in sums {
        assert!(update_of(holder).contains(&format!("#{name} :{name}")), "{name}");
        assert_eq!(values[&format!(":{name}")], Value::N(sum.to_owned()), "{name}");
    }
    assert_eq!(values[":period"], Value::int(1));
    assert_eq!(update_of(last), "SET #credited_at = :now, #period = :period REMOVE #due_pk, #due_sk");
    // As under the versions before, the balances grow by the same records.
    assert_eq!(moved(&batch), moved(&lease().batch(&waiting, RecordVersion::V2, now()).unwrap().unwrap()));
}

#[test]
fn record_is_credited_to_the_open_period_only() {
    let seen = |period| {
        let seen = Crediting { holder: Holder { fence: 4, lease_until: now() }, version: 9, period };
        CreditedMerchant::take(&tenant(), merchant(1), Some(&seen), now()).unwrap().unwrap().0
    };
    let crediting = |period: Option<i64>| {
        let mut item = Item::from([("fence".to_owned(), Value::int(5))]);
        item.extend(period.map(|period| ("period".to_owned(), Value::int(period))));
        Some(item)
    };
    let outcome = |lease: &Leased<CreditedMerchant>, item: Option<Item>| {
        let waiting = payments(2, &[("ECOPAY", "100")]);
        let batch = lease.batch(&waiting, RecordVersion::V3, now()).unwrap().unwrap();
        let none = Reason { code: ReasonCode::None, item: None };
        let mut reasons = vec![none; batch.transaction().items().len()];
        reasons[0] = Reason { code: ReasonCode::ConditionalCheckFailed, item };
        let Verdict::Rejected(rejection) = batch.transaction().classify(&reasons) else { panic!("{reasons:?}") };
        batch.explain(&rejection)
    };
    let (first, third) = (seen(1), seen(3));
    assert_eq!(outcome(&first, crediting(Some(2))), Some(BatchRejection::PeriodClosed));
    assert_eq!(outcome(&third, crediting(Some(4))), Some(BatchRejection::PeriodClosed));
    assert_eq!(outcome(&third, crediting(None)), Some(BatchRejection::PeriodClosed));
    // A merchant that was never credited in a period is in the first.
    let guards = |lease: &Leased<CreditedMerchant>, item: &Option<Item>| {
        let batch = lease.batch(&payments(1, &[("ECOPAY", "1")]), RecordVersion::V3, now()).unwrap().unwrap();
        batch.transaction().items()[0].failure_on(item.as_ref()).is_none()
    };
    assert!(guards(&first, &crediting(None)) && guards(&first, &crediting(Some(1))));
    assert!(guards(&third.in_period(4), &crediting(Some(4))));
    // The later token is found first: the former holder stops, whatever the period is.
    let mut later = crediting(Some(4)).unwrap();
    later.insert("fence".to_owned(), Value::int(6));
    assert_eq!(outcome(&third, Some(later)), Some(BatchRejection::LeaseLost));
}

#[test]
fn open_period_is_read_with_its_sums_and_closed_as_read() {
    let mut item = Item::from([("version".to_owned(), Value::int(7))]);
    assert_eq!(OpenPeriod::read(&item).map(|open| (open.number, open.sums.is_empty())), Ok((1, true)));
    item.extend(
        [("period", 4), ("period_records", 3), ("taken_ecopay", 100), ("refunded_point", 5)]
            .map(|(name, number)| (name.to_owned(), Value::int(number))),
    );
    let open = OpenPeriod::read(&item).unwrap();
    assert_eq!((open.number, open.sums.records), (4, 3));
    let closed = open.closed(&tenant(), merchant(1));
    assert_eq!(update_of(&closed), "SET #period = :next_period REMOVE #period_records, #taken_ecopay, #refunded_point");
    assert!(closed.failure_on(Some(&item)).is_none());
    for (name, number) in [("version", 8), ("period", 5)] {
        let mut other = item.clone();
        other.insert(name.to_owned(), Value::int(number));
        assert_eq!(closed.failure_on(Some(&other)).map(|clause| clause.failure), Some(Failure::StalePlan), "{name}");
    }
    for (name, value) in [("period", Value::s("4")), ("taken_ecopay", Value::s("100")), ("taken_gold", Value::int(1))] {
        let mut other = item.clone();
        other.insert(name.to_owned(), value);
        assert!(OpenPeriod::read(&other).is_err(), "{name}");
    }
}
