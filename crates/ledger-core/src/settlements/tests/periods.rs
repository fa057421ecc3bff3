//! Closing a merchant's period, giving it back, and taking it again.

use super::*;
use crate::crediting::LaneCredit;
use crate::crediting::PeriodId;
use crate::failure::Failure;
use crate::keys;
use crate::transaction::{Role, TransactItem};

const PERIOD_4: PeriodId = PeriodId { lane: 3, number: 4 };

/// A merchant's item of a lane, with its open period: two payments and a refund.
fn lane_item() -> Item {
    let numbers =
        [("segment", 7), ("period", 4), ("period_records", 3), ("taken_ecopay", 150), ("refunded_ecopay", 50)];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), Value::int(number))).collect()
}

fn open_period() -> LaneCredit {
    LaneCredit::read(3, &lane_item()).unwrap()
}

fn put(item: &TransactItem) -> Item {
    match item.render().unwrap().action {
        RenderedAction::Put(item) => item,
        other @ (RenderedAction::Update(..) | RenderedAction::ConditionCheck(_)) => {
            panic!("{other:?}")
        }
    }
}

fn update(item: &TransactItem) -> String {
    match item.render().unwrap().action {
        RenderedAction::Update(_, text) => text,
        other @ (RenderedAction::Put(_) | RenderedAction::ConditionCheck(_)) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn settlement_closes_one_period_of_a_lane_and_takes_its_sums() {
    let collecting = settlement(S::Collecting, &[]);
    let transaction = close_lane(&tenant(), &collecting, &open_period(), now()).unwrap().unwrap();
    let [record, period, lane, balance] = transaction.items() else { panic!("{transaction:?}") };
    let roles = [record, period, lane, balance].map(TransactItem::role);
    assert_eq!(roles, [Role::Settlement, Role::Period, Role::Crediting, Role::MerchantBalance]);
    let written = update(record);
    for part in ["#records :records", "#taken_ecopay :taken_ecopay", "#closed_batch_2 = :closed_period"] {
        assert!(written.contains(part), "{written}");
    }
    assert_eq!(record.render().unwrap().values[":records"], Value::int(3));
    let closed = ClosedPeriod::read(&put(period)).unwrap();
    let ClosedPeriod { id, settlement: owner, sums, .. } = &closed;
    assert_eq!((*id, *owner, sums), (PERIOD_4, Some(collecting.id), &open_period().sums));
    // The balance grows by what the lane loses.
    assert_eq!(balance.render().unwrap().values[":delta"], Value::int(100));
    // A second run finds the next period, or an entry that was credited since.
    assert!(lane.failure_on(Some(&lane_item())).is_none());
    for (name, later) in [("period", 5), ("segment", 8)] {
        let mut seen = lane_item();
        seen.insert(name.to_owned(), Value::int(later));
        assert_eq!(lane.failure_on(Some(&seen)).map(|clause| clause.failure), Some(Failure::StalePlan), "{name}");
    }
    // It has closed one of this lane.
    let mut next = lane_item();
    next.extend([("period".to_owned(), Value::int(5)), ("closed_settlement_id".to_owned(), Value::s(collecting.id))]);
    let next = LaneCredit::read(3, &next).unwrap();
    assert_eq!(close_lane(&tenant(), &collecting, &next, now()), Ok(None));
    // Nothing was credited: nothing is closed.
    assert_eq!(close_lane(&tenant(), &collecting, &LaneCredit::first(3), now()), Ok(None));
}

#[test]
fn closed_period_is_given_back_as_a_batch_and_taken_again() {
    let collecting = settlement(S::Collecting, &[]);
    let closing = close_lane(&tenant(), &collecting, &open_period(), now()).unwrap().unwrap();
    let mut stored = put(&closing.items()[1]);
    let closed =
        Settlement { batches: 2, closed: vec![PeriodBatch { period: PERIOD_4, batch: 2 }], ..collecting.clone() };
    let key = PERIOD_4.key(&tenant(), collecting.merchant);
    assert_eq!(last_batch(&tenant(), &closed), key);
    let batch = read_batch(&stored).unwrap();
    assert_eq!(batch[0].as_period(), Some((PERIOD_4, &open_period().sums)));
    let given_back = release_batch(&tenant(), &closed, &batch, now()).unwrap();
    let [record, listed, period] = given_back.items() else { panic!("{given_back:?}") };
    assert!(update(record).ends_with("REMOVE #closed_batch_2"), "{}", update(record));
    let values = record.render().unwrap().values;
    let expected = [(":records", "-3"), (":taken_ecopay", "-150"), (":refunded_ecopay", "-50"), (":batches", "1")];
    for (name, number) in expected {
        assert_eq!(values[name], Value::N(number.to_owned()), "{name}");
    }
    assert_eq!(period.key(), &key);
    assert_eq!(update(period), "REMOVE #settlement_id");
    assert_eq!(given_back_period(&tenant(), collecting.merchant, &put(listed)).unwrap(), key);
    assert_eq!(listed.key().sk(), key.sk().replacen("PERIOD#", "PERIOD_BACK#", 1));
    // The batch before it has a list.
    let before = Settlement { batches: 1, ..closed };
    assert_eq!(last_batch(&tenant(), &before), keys::settled(&tenant(), before.merchant, before.id, 1));

    stored.remove("settlement_id");
    let waiting = Settleable::read(&stored).unwrap();
    let again = collect(&tenant(), &collecting, &[waiting], now()).unwrap();
    let [_, list, period] = again.items() else { panic!("{again:?}") };
    assert_eq!(update(period), "SET #settlement_id = :settlement");
    assert!(period.failure_on(Some(&stored)).is_none());
    stored.insert("settlement_id".to_owned(), Value::s("another"));
    assert_eq!(period.failure_on(Some(&stored)).map(|clause| clause.failure), Some(Failure::WrongState));
    // From now on it is in a list.
    let list = put(list);
    assert_eq!(read_batch(&list).unwrap()[0].as_period(), Some((PERIOD_4, &open_period().sums)));
}

#[test]
fn settlement_names_each_period_with_its_batch() {
    assert_eq!(PeriodBatch::read(&Item::new()), Ok(Vec::new()));
    let lanes = [("closed_batch_3", "L0/7"), ("closed_batch_12", "L11/1")];
    let of_lanes: Item = lanes.into_iter().map(|(name, id)| (name.to_owned(), Value::s(id))).collect();
    let closed = |lane, number, batch| PeriodBatch { period: PeriodId { lane, number }, batch };
    assert_eq!(PeriodBatch::read(&of_lanes), Ok(vec![closed(11, 1, 12), closed(0, 7, 3)]));
    for (name, id) in [("closed_batch_x", "L0/7"), ("closed_batch_4", "7"), ("closed_batch_4", "L0")] {
        let mut other = of_lanes.clone();
        other.insert(name.to_owned(), Value::s(id));
        assert!(PeriodBatch::read(&other).is_err(), "{name} {id}");
    }
}
