//! Tests of the figures.

use super::*;
use crate::dynamo::{Attributes, Item, Value};
use crate::ids::Tenant;
use crate::keys::{self, TotalsOf, attr};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{RenderedAction, TransactItem};

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn date(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The item of an action as it is stored.
fn stored(action: &TransactItem) -> Item {
    let RenderedAction::Put(item) = action.render().unwrap().action else { panic!("not stored: {action:?}") };
    item
}

fn closed(day: &str, lanes: &[i64]) -> Item {
    let key = keys::closed_day(&tenant(), date(day));
    Item::from([
        (attr::PK.to_owned(), Value::s(key.pk())),
        (attr::SK.to_owned(), Value::s(key.sk())),
        ("v".to_owned(), Value::int(1)),
        ("closed_at".to_owned(), Value::s("2026-11-29T15:15:00.000Z")),
        ("lanes".to_owned(), Value::L(lanes.iter().map(|number| Value::int(*number)).collect())),
    ])
}

#[test]
fn entry_is_posted_to_its_own_day_or_to_the_first_that_was_open_when_it_was_sealed() {
    let items = [closed("2026-11-27", &[4]), closed("2026-11-28", &[6, 2])];
    let days = PostingDays::read(&tenant(), &items).unwrap();
    let evening = at("2026-11-27T14:59:59.999Z");
    for (lane, number, day) in [
        (0, 4, "2026-11-27"),
        (0, 5, "2026-11-28"),
        (0, 6, "2026-11-28"),
        (0, 7, "2026-11-29"),
        // This lane was opened after the first closing.
        (1, 1, "2026-11-28"),
        (1, 3, "2026-11-29"),
        (9, 1, "2026-11-29"),
    ] {
        assert_eq!(days.posted((lane, number), evening).day, date(day), "{lane} {number}");
    }
    let noon = at("2026-11-30T03:00:00Z");
    assert_eq!(days.posted((0, 4), noon), Posted { day: date("2026-11-30"), at: noon });
    assert_eq!(PostingDays::default().posted((0, 9), evening).day, date("2026-11-27"));
}

#[test]
fn balances_have_a_late_entry_from_the_beginning_of_its_posting_day() {
    let days = PostingDays::read(&tenant(), &[closed("2026-11-27", &[4])]).unwrap();
    let evening = at("2026-11-27T14:59:59.999Z");
    assert_eq!(days.posted((0, 4), evening).at, evening);
    assert_eq!(days.posted((0, 5), evening).at, at("2026-11-27T15:00:00Z"));
}

#[test]
fn day_is_closed_a_quarter_of_an_hour_after_its_end_and_none_is_left_out() {
    let next = |last: Option<&str>, now| next_to_close(last.map(date), at(now)).map(|day| day.to_string());
    assert_eq!(next(Some("2026-11-26"), "2026-11-27T15:14:59.999Z"), None);
    assert_eq!(next(Some("2026-11-26"), "2026-11-27T15:15:00Z").as_deref(), Some("2026-11-27"));
    assert_eq!(next(Some("2026-11-20"), "2026-11-27T15:15:00Z").as_deref(), Some("2026-11-21"));
    assert_eq!(next(None, "2026-11-27T15:15:00Z").as_deref(), Some("2026-11-27"));
    assert_eq!(next(None, "2026-11-27T15:00:00Z").as_deref(), Some("2026-11-26"));
    // A clock that is behind closes nothing.
    assert_eq!(next(Some("2026-11-28"), "2026-11-27T15:15:00Z"), None);
}

#[test]
fn closed_day_under_another_key_or_with_a_malformed_lane_is_refused() {
    let mut wrong = closed("2026-11-27", &[4]);
    wrong.insert("lanes".to_owned(), Value::L(vec![Value::s("4")]));
    let mut other = closed("2026-11-27", &[4]);
    other.insert(attr::SK.to_owned(), Value::s("DAYS#2026-11-27"));
    let mut newer = closed("2026-11-27", &[4]);
    newer.insert("v".to_owned(), Value::int(2));
    for item in [wrong, other, newer] {
        assert!(ClosedDay::read(&tenant(), &item).is_err(), "{item:?}");
    }
}

/// The entry of a payment of 1,000 yen, of which 300 were held before, with 10 points earned.
fn payment() -> Item {
    let posting = |account: &str, asset: &str, delta: &str, bucket: &str| {
        Value::M(Item::from([
            ("account".to_owned(), Value::s(account)),
            ("asset".to_owned(), Value::s(asset)),
            ("delta".to_owned(), Value::N(delta.to_owned())),
            ("bucket".to_owned(), Value::s(bucket)),
        ]))
    };
    let (customer, merchant) =
        ("customer:01890a5d-ac96-774b-bcce-b302099a8001", "merchant:01890a5d-ac96-774b-bcce-b302099a8011");
    Item::from([
        ("transaction_id".to_owned(), Value::s("01890a5d-ac96-774b-bcce-b302099a8091")),
        ("operation".to_owned(), Value::s("pay")),
        ("principal".to_owned(), Value::s("terminal:01890a5d-ac96-774b-bcce-b302099a8031")),
        ("created_at".to_owned(), Value::s("2026-11-27T01:00:00.000Z")),
        (
            "postings".to_owned(),
            Value::L(vec![
                posting(customer, "ECOPAY", "-700", "available"),
                posting(customer, "ECOPAY", "-300", "held"),
                posting(merchant, "ECOPAY", "1000", "available"),
                posting("points_issued", "POINT", "-10", "available"),
                posting(customer, "POINT", "10", "available"),
            ]),
        ),
    ])
}

fn tally() -> Tally {
    let (mut tally, entry) = (Tally::default(), TalliedEntry::read(&payment()).unwrap());
    for second in [3, 2] {
        let at = at(&format!("2026-11-27T02:00:0{second}Z"));
        tally.add(Posted { day: date("2026-11-27"), at }, &entry).unwrap();
    }
    tally
}

#[test]
fn tally_counts_each_entry_once_for_each_class_of_accounts() {
    let tally = tally();
    let day = &tally.0[&date("2026-11-27")];
    let shown = |of: &TotalsOf, sums: &Sums| {
        let line = |(line, moved): (&Line, &Moved)| {
            format!("{} {} {} +{} -{}", line.accounts, line.asset, moved.count, moved.gained.text(), moved.lost.text())
        };
        (of.to_string(), sums.entries["pay"], sums.lines.iter().map(line).collect::<Vec<_>>())
    };
    let shown: Vec<_> = day.sums.iter().map(|(of, sums)| shown(of, sums)).collect();
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        shown,
        [
            (
                "tenant".to_owned(),
                2,
                lines(&[
                    "customers ECOPAY 2 +0 -2000",
                    "merchants ECOPAY 2 +2000 -0",
                    "customers POINT 2 +20 -0",
                    "points_issued POINT 2 +0 -20",
                ])
            ),
            ("merchant:01890a5d-ac96-774b-bcce-b302099a8011".to_owned(), 2, lines(&["merchants ECOPAY 2 +2000 -0"])),
            (
                "terminal:01890a5d-ac96-774b-bcce-b302099a8031".to_owned(),
                2,
                lines(&["customers ECOPAY 2 +0 -2000", "customers POINT 2 +20 -0"])
            ),
        ]
    );
    assert_eq!((day.customers.len(), day.cards.len()), (1, 0));
}

#[test]
fn stored_totals_are_read_as_they_were_written() {
    let tally = tally();
    let day = &tally.0[&date("2026-11-27")];
    for (of, sums) in &day.sums {
        let first = DayTotals::none(*of, date("2026-11-27")).after(7, sums, day.span).unwrap();
        let item = stored(&first.put(&tenant(), None));
        assert_eq!(DayTotals::read(&item).unwrap(), first);
        let mut second = first.after(8, sums, day.span).unwrap();
        second.closing = Some(ClosingFigures {
            closed_at: at("2026-11-27T15:15:00Z"),
            balances: balances_after(&Balances::new(), &second.sums).unwrap(),
            active_customers: 1,
            active_cards: 0,
            new_customers: None,
        });
        let item = stored(&second.put(&tenant(), Some(&first)));
        assert_eq!(DayTotals::read(&item).unwrap(), second);
        let mut malformed = item.clone();
        malformed.insert("lines".to_owned(), Value::L(vec![Value::s("pay ECOPAY customers 1 2")]));
        assert!(DayTotals::read(&malformed).is_err());
        let mut malformed = item.clone();
        malformed.insert("batches".to_owned(), Value::L(vec![Value::s("7 1764208802000,customers ECOPAY -1")]));
        assert!(DayTotals::read(&malformed).is_err());
    }
}

#[test]
fn each_batch_is_listed_with_its_changes_until_there_are_too_many() {
    let tally = tally();
    let day = &tally.0[&date("2026-11-27")];
    let more = |totals: &DayTotals, batch: u64| totals.after(batch, &day.sums[&totals.of], day.span).unwrap();
    let none = |of: TotalsOf| DayTotals::none(of, date("2026-11-27"));
    let after = |of: TotalsOf, batches: u64| (1..=batches).fold(none(of), |totals, batch| more(&totals, batch));
    // The same after many batches, of which the last alone is added, since each addition measures the whole list.
    let after_many = |of: TotalsOf, batches: u64| {
        let mut totals = after(of, 1);
        let one = totals.batches.as_ref().unwrap()[0].clone();
        totals.batches = Some((1..batches).map(|batch| BatchChanges { batch, ..one.clone() }).collect());
        more(&totals, batches)
    };
    let batches = after(TotalsOf::Tenant, 2).batches.unwrap();
    assert_eq!(batches.iter().map(|batch| batch.batch).collect::<Vec<_>>(), [1, 2]);
    let span = Span { first: at("2026-11-27T02:00:02Z"), last: at("2026-11-27T02:00:03Z") };
    assert_eq!((batches[1].span, batches[1].changes.len()), (span, 4));
    // A terminal has no balance.
    let terminal = *day.sums.keys().find(|of| keys::TotalsGroup::Terminals.has(**of)).unwrap();
    assert_eq!(after(terminal, 2).batches, Some(Vec::new()));
    let merchant = *day.sums.keys().find(|of| keys::TotalsGroup::Merchants.has(**of)).unwrap();
    for (of, listed, bytes_max) in [(TotalsOf::Tenant, 1_600, 200_000), (merchant, 600, 40_000)] {
        let totals = after_many(of, listed);
        let item = stored(&totals.put(&tenant(), None));
        let texts = item.texts("batches", |text| Ok::<_, ()>(text.len())).unwrap();
        assert!((bytes_max / 2..=bytes_max).contains(&texts.iter().sum::<usize>()), "{of}: {}", texts.len());
        let many = after_many(of, 2 * listed);
        assert_eq!((many.batches.as_ref(), more(&many, 2 * listed + 1).batches), (None, None), "{of}");
    }
}

#[test]
fn active_accounts_are_united_over_batches() {
    let tally = tally();
    let day = &tally.0[&date("2026-11-27")];
    let now = at("2026-11-27T02:00:00Z");
    let lists: Vec<Item> = [1, 2]
        .map(|batch| stored(&ActiveAccounts::put(&tenant(), date("2026-11-27"), batch, day, now).unwrap()))
        .to_vec();
    let active = ActiveAccounts::read(&lists).unwrap();
    assert_eq!((active.customers.len(), active.cards.len()), (1, 0));
    assert!(ActiveAccounts::put(&tenant(), date("2026-11-27"), 1, &DayTally::default(), now).is_none());
}

#[test]
fn fold_goes_on_from_a_stored_plan_and_finishes_its_day() {
    let (first, _) = Fold::new().plan(&tenant(), vec![3, 0], None).unwrap();
    assert_eq!(first.planned.as_ref().unwrap().segments_after(&first), [(0, 0, 3)]);
    let (done, _) = first.complete(&tenant(), at("2026-11-27T02:00:00Z")).unwrap().unwrap();
    assert_eq!((done.batch, done.last_of(0), done.open_day()), (1, 3, None));
    let closed = ClosedDay::read(&tenant(), &closed("2026-11-27", &[4, 2])).unwrap();
    assert!(closed.is_within(&[4, 2]) && closed.is_within(&[9, 2, 1]));
    assert!(!closed.is_within(&[4, 1]) && !closed.is_within(&[4]));
    let (second, transaction) = done.plan(&tenant(), vec![4, 2], Some(&closed)).unwrap();
    assert_eq!(Fold::read(&stored(&transaction.items()[0])).unwrap(), second);
    let segments = BatchSegments::read(&stored(&transaction.items()[1])).unwrap();
    assert_eq!(segments.ranges(), [(0, 3, 4), (1, 0, 2)]);
    assert_eq!(second.planned.as_ref().unwrap().segments_after(&second), [(0, 3, 4), (1, 0, 2)]);
    let (finished, transaction) = second.complete(&tenant(), at("2026-11-27T15:20:00Z")).unwrap().unwrap();
    assert_eq!((finished.finished, finished.open_day()), (Some(date("2026-11-27")), Some(date("2026-11-28"))));
    assert_eq!(Fold::read(&stored(&transaction.items()[0])).unwrap(), finished);
    assert!(finished.complete(&tenant(), at("2026-11-27T15:20:00Z")).unwrap().is_none());
}
