//! Closing a merchant's period, giving it back, and taking it again.

use super::*;
use crate::crediting::OpenPeriod;
use crate::failure::Failure;
use crate::keys;
use crate::transaction::{PeriodId, Role, TransactItem};

const PERIOD_4: PeriodId = PeriodId::OfRecords(4);

/// A merchant's open period: two payments and a refund.
fn open_period() -> OpenPeriod {
    let numbers =
        [("version", 7), ("period", 4), ("period_records", 3), ("taken_ecopay", 150), ("refunded_ecopay", 50)];
    let numbers = numbers.map(|(name, number)| (name.to_owned(), Value::int(number)));
    OpenPeriod::read(&Item::from(numbers)).unwrap()
}

fn put(item: &TransactItem) -> Item {
    match item.render().unwrap().action {
        RenderedAction::Put(item) => item,
        other @ (RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) | RenderedAction::Delete(_)) => {
            panic!("{other:?}")
        }
    }
}

fn update(item: &TransactItem) -> String {
    match item.render().unwrap().action {
        RenderedAction::Update(_, text) => text,
        other @ (RenderedAction::Put(_) | RenderedAction::ConditionCheck(_) | RenderedAction::Delete(_)) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn settlement_closes_one_period_and_takes_its_sums() {
    let collecting = settlement(S::Collecting, &[]);
    let transaction = close_period(&tenant(), &collecting, &open_period(), now()).unwrap().unwrap();
    let [record, period, crediting] = transaction.items() else { panic!("{transaction:?}") };
    let roles = [record, period, crediting].map(TransactItem::role);
    assert_eq!(roles, [Role::Settlement, Role::Period, Role::Crediting]);
    let written = update(record);
    for part in ["#records :records", "#taken_ecopay :taken_ecopay", "#closed_period = :closed_period", "#closed_batch"]
    {
        assert!(written.contains(part), "{written}");
    }
    assert_eq!(record.render().unwrap().values[":records"], Value::int(3));
    let closed = ClosedPeriod::read(&put(period)).unwrap();
    let ClosedPeriod { id, settlement: owner, sums, .. } = &closed;
    assert_eq!((*id, *owner, sums), (PERIOD_4, Some(collecting.id), &open_period().sums));
    // A second run finds the period that was closed.
    let mut seen = Item::from([("state".to_owned(), Value::s("collecting")), ("batches".to_owned(), Value::int(1))]);
    assert!(record.failure_on(Some(&seen)).is_none());
    seen.insert("closed_period".to_owned(), Value::int(3));
    assert_eq!(record.failure_on(Some(&seen)).map(|clause| clause.failure), Some(Failure::StalePlan));
    // Nothing was credited: nothing is closed.
    let empty = OpenPeriod::read(&Item::from([("version".to_owned(), Value::int(7))])).unwrap();
    assert_eq!(close_period(&tenant(), &collecting, &empty, now()), Ok(None));
}

#[test]
fn closed_period_is_given_back_as_a_batch_and_taken_again() {
    let collecting = settlement(S::Collecting, &[]);
    let closing = close_period(&tenant(), &collecting, &open_period(), now()).unwrap().unwrap();
    let mut stored = put(&closing.items()[1]);
    let closed =
        Settlement { batches: 2, closed: vec![PeriodBatch { period: PERIOD_4, batch: 2 }], ..collecting.clone() };
    let key = PERIOD_4.key(&tenant(), collecting.merchant);
    assert_eq!(last_batch(&tenant(), &closed), key);
    let batch = read_batch(&stored).unwrap();
    assert_eq!(batch[0].as_period(), Some((PERIOD_4, &open_period().sums)));
    let given_back = release_batch(&tenant(), &closed, &batch, now()).unwrap();
    let [record, period] = given_back.items() else { panic!("{given_back:?}") };
    assert!(update(record).ends_with("REMOVE #closed_period, #closed_batch"), "{}", update(record));
    let values = record.render().unwrap().values;
    let expected = [(":records", "-3"), (":taken_ecopay", "-150"), (":refunded_ecopay", "-50"), (":batches", "1")];
    for (name, number) in expected {
        assert_eq!(values[name], Value::N(number.to_owned()), "{name}");
    }
    assert_eq!(period.key(), &key);
    assert_eq!(update(period), "SET #due_pk = :due_pk, #due_sk = :due_sk REMOVE #settlement_id");
    let due = format!("aoba#due#settle_period#{}#0", collecting.merchant);
    assert_eq!(period.render().unwrap().values[":due_pk"], Value::s(due));
    // The batch before it has a list.
    let before = Settlement { batches: 1, ..closed };
    assert_eq!(last_batch(&tenant(), &before), keys::settled(&tenant(), before.merchant, before.id, 1));

    stored.remove("settlement_id");
    let waiting = Settleable::read(&stored).unwrap();
    let again = collect(&tenant(), &collecting, &[waiting], now()).unwrap();
    let [_, list, period] = again.items() else { panic!("{again:?}") };
    assert_eq!(update(period), "SET #settlement_id = :settlement REMOVE #due_pk, #due_sk");
    assert!(period.failure_on(Some(&stored)).is_none());
    stored.insert("settlement_id".to_owned(), Value::s("another"));
    assert_eq!(period.failure_on(Some(&stored)).map(|clause| clause.failure), Some(Failure::WrongState));
    // From now on it is in a list. A release without periods looks there for the id of a payment, and stops.
    let list = put(list);
    assert_eq!(read_batch(&list).unwrap()[0].as_period(), Some((PERIOD_4, &open_period().sums)));
    let Some(Value::L(entries)) = list.get("records") else { panic!("{list:?}") };
    let Value::M(entry) = &entries[0] else { panic!("{entries:?}") };
    assert!(!entry.contains_key("payment_id") && !entry.contains_key("merchant_delta"));
}

#[test]
fn settlement_names_its_period_with_its_batch() {
    let item = |attributes: &[&str]| {
        let numbers = attributes.iter().map(|name| ((*name).to_owned(), Value::int(2)));
        PeriodBatch::read(&numbers.collect())
    };
    assert_eq!(item(&[]), Ok(Vec::new()));
    let second = PeriodBatch { period: PeriodId::OfRecords(2), batch: 2 };
    assert_eq!(item(&["closed_period", "closed_batch"]), Ok(vec![second]));
    // Of lanes it may have closed several.
    let lanes = [("closed_batch_3", "L0/7"), ("closed_batch_12", "L11/1")];
    let mut of_lanes: Item = lanes.into_iter().map(|(name, id)| (name.to_owned(), Value::s(id))).collect();
    let closed = |lane, number, batch| PeriodBatch { period: PeriodId::OfLane { lane, number }, batch };
    assert_eq!(PeriodBatch::read(&of_lanes), Ok(vec![closed(11, 1, 12), closed(0, 7, 3)]));
    of_lanes.insert("closed_batch_x".to_owned(), Value::s("L0/7"));
    assert!(PeriodBatch::read(&of_lanes).is_err());
    assert!(item(&["closed_period"]).is_err() && item(&["closed_batch"]).is_err());
}
