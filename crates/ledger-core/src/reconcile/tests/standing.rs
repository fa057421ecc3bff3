//! Balances of customers in one model, and of customers whose tenant is in a migration between two.

use super::*;
use crate::dynamo::Attributes;
use crate::ids::TransactionId;
use crate::keys::Partition;
use crate::migration::reference;

/// When these items were written.
const AT: &str = "2026-01-01T00:00:00Z";

fn item(sk: &str, more: &[(&str, Value)]) -> Item {
    let own = [
        ("uuid", Value::S(format!("demo#customer#{ID}"))),
        ("type", Value::s(sk)),
        ("updated_at", Value::s(AT)),
        ("created_at", Value::s(AT)),
    ];
    own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn int(name: &str, number: i64) -> (&str, Value) {
    (name, Value::int(number))
}

fn own(balance: i64, exposure: i64) -> Item {
    item("BALANCE#ECOPAY", &[int("balance", balance), int("exposure", exposure)])
}

/// A God Record with money and points, in which `truth` names their model.
fn record(truth: &str, balance: i64) -> Item {
    let numbers =
        [int("balance", balance), int("balance_exposure", balance), int("point", 5), int("point_exposure", 5)];
    let truths = ["truth_money", "truth_points"].map(|name| (name, Value::s(truth)));
    item("customer", &[&numbers[..], &truths, &[int("fence_phase", 1)]].concat())
}

fn without(mut item: Item, name: &str) -> Item {
    item.remove(name);
    item
}

fn observed(items: &[Item]) -> Vec<Observation> {
    let now = Timestamp::parse("2026-01-01T01:00:00Z").unwrap();
    items.iter().flat_map(|item| of_item(item, now, Limits::default())).collect()
}

fn facts(items: &[Item]) -> Vec<Fact> {
    let fact = |observation| match observation {
        Observation::Fact(fact) => fact,
        other @ (Observation::Break(_) | Observation::Newer(_)) => panic!("{other:?}"),
    };
    observed(items).into_iter().map(fact).collect()
}

/// The breaks of an asset of the customer `posted_to`, for any order of reading the items.
fn found_of(asset: &str, posted_to: &str, items: &[Item]) -> Vec<&'static str> {
    let of = group(&format!("account/{}/{asset}", wallet()));
    let mut all = facts_of(&of, &[posted(false, posted_to, 5)]);
    all.extend(facts(items).into_iter().filter(|fact| fact.group() == of));
    let scope = Scope { at_one_moment: true, ..scope() };
    let names = |facts: &[Fact]| -> Vec<&'static str> {
        fold(&of, facts.to_vec(), &scope).iter().map(|finding| finding.kind.name()).collect()
    };
    let found = names(&all);
    all.reverse();
    assert_eq!(names(&all), found, "{all:?}");
    // An export's facts are written as lines of text and read again.
    let lines = all.iter().map(|fact| Fact::parse_line(&fact.line().unwrap()).unwrap());
    assert_eq!(names(&lines.collect::<Vec<_>>()), found, "{all:?}");
    found
}

fn found(items: &[Item]) -> Vec<&'static str> {
    found_of("ECOPAY", "5", items)
}

#[test]
fn balance_item_counts_if_there_is_no_legacy_item() {
    assert!(found(&[own(5, 5)]).is_empty());
    assert_eq!(found(&[own(5, 6)]), ["exposure_differs"]);
    assert_eq!(found(&[own(-5, -5)]), ["negative_balance", "balance_differs"]);
    assert_eq!(found(&[item("BALANCE#ECOPAY", &[])]), ["unreadable_item", "balance_differs"]);
    assert_eq!(found(&[]), ["balance_differs"]);
    let unread = fold(&money_of(wallet()), facts(&[item("BALANCE#ECOPAY", &[])]), &scope());
    let [finding] = &unread[..] else { panic!("{unread:?}") };
    assert_eq!(finding.subject, format!("customer:{ID} BALANCE#ECOPAY"));
    assert_eq!((finding.found.as_str(), finding.evidence.len()), ("no readable `balance`", 1));
}

#[test]
fn god_record_counts_if_it_names_the_legacy_model() {
    let partial = [own(-3, 9), item("BALANCE#ECOPAY", &[int("reserved", 1)]), own(5, 5)];
    for beside in partial {
        assert!(found(&[record("legacy", 5), beside.clone()]).is_empty(), "{beside:?}");
        assert_eq!(found(&[beside.clone(), record("legacy", 6)]), ["balance_differs"], "{beside:?}");
    }
    assert!(found(&[record("legacy", 5)]).is_empty());
    let mut god_record = record("legacy", 5);
    god_record.insert("balance_exposure".to_owned(), Value::int(6));
    assert_eq!(found(&[god_record.clone(), own(5, 5)]), ["exposure_differs"]);
    god_record.insert("balance_exposure".to_owned(), Value::s("six"));
    assert_eq!(found(&[god_record, own(5, 5)]), ["unreadable_item", "balance_differs"]);
    let negative = [int("balance", -1), int("balance_exposure", -1)].map(|(name, value)| (name.to_owned(), value));
    let negative = record("legacy", 5).into_iter().chain(negative).collect();
    assert_eq!(found(&[negative, own(5, 5)]), ["negative_balance", "balance_differs"]);
    assert_eq!(found(&[without(record("legacy", 5), "balance"), own(5, 5)]), ["balance_differs"]);
}

#[test]
fn balance_item_counts_unless_the_god_record_names_the_legacy_model() {
    let left = without(record("split", 99), "truth_money");
    for record in [record("both", 99), record("split", 99), left, without(record("split", 5), "balance")] {
        assert!(found(&[own(5, 5), record.clone()]).is_empty(), "{record:?}");
        assert_eq!(found(&[record.clone(), own(6, 6)]), ["balance_differs"]);
        assert_eq!(found(std::slice::from_ref(&record)), ["balance_differs"]);
    }
}

#[test]
fn customer_who_is_not_adopted_has_no_books() {
    let raw = without(without(record("legacy", 70), "fence_phase"), "truth_money");
    assert!(observed(std::slice::from_ref(&raw)).is_empty());
    // But postings without a balance are a break.
    assert_eq!(found(&[raw]), ["balance_differs"]);
}

#[test]
fn aggregates_hold_points_in_the_half_way_model() {
    let of = |items: &[Item]| found_of("POINT", "5", items);
    let metrics = |point| item("METRICS", &[int("point", point), int("point_exposure", point), int("co2_total", 1)]);
    // Points that the God Record still has from before that model do not count.
    let records = [without(record("legacy", 0), "point"), record("legacy", 0)];
    for record in records {
        assert!(of(&[metrics(5), record.clone()]).is_empty());
        assert_eq!(of(&[record, metrics(6)]), ["balance_differs"]);
    }
    let own = item("BALANCE#POINT", &[int("balance", 5), int("exposure", 5)]);
    assert!(of(&[metrics(9), record("split", 0), own.clone()]).is_empty());
    assert!(of(&[metrics(9), own]).is_empty(), "without a God Record, METRICS has no points");
}

#[test]
fn regional_balances_are_read_from_the_map() {
    let of = |truth: &str, aoba: i64| {
        let map = Value::M(Item::from([("aoba".to_owned(), Value::int(aoba))]));
        let more = [("regional", map), int("regional_aoba_exposure", aoba), ("truth_regional", Value::s(truth))];
        let record = item("customer", &[&more[..], &[int("fence_phase", 0)]].concat());
        found_of(
            "REGIONAL#aoba",
            "5",
            &[record, item("BALANCE#REGIONAL#aoba", &[int("balance", 5), int("exposure", 5)])],
        )
    };
    assert!(of("legacy", 5).is_empty());
    assert_eq!(of("legacy", 6), ["balance_differs"]);
    assert!(of("both", 6).is_empty());
}

#[test]
fn god_record_with_an_unknown_model_is_a_break() {
    let observed = observed(&[record("elsewhere", 5)]);
    let [Observation::Break(finding)] = &observed[..] else { panic!("{observed:?}") };
    assert_eq!((finding.kind, finding.found.as_str()), (BreakKind::UnreadableItem, "no readable `truth_money`"));
    assert_eq!(finding.subject, format!("customer:{ID} customer"));
}

#[test]
fn reference_to_legacy_history_needs_no_entry() {
    let partition = Partition::customer(&Tenant::parse("demo").unwrap(), CustomerId::parse(ID).unwrap());
    let foreign = item("history#1700000000000#pay", &[int("amount", -500)]);
    let (key, made) = reference(&foreign).unwrap();
    assert_eq!(key.pk(), partition.as_str());
    assert!(observed(&[foreign, made.clone()]).is_empty());
    // A line that names an entry is checked against it.
    let mut named = crate::journal::expanded(made).unwrap();
    let home = Value::S(wallet().to_string());
    for (name, value) in [
        ("home", home.clone()),
        ("operation", Value::s("pay")),
        ("principal", home),
        ("idempotency_key", Value::s("k")),
    ] {
        named.insert(name.to_owned(), value);
    }
    let id = TransactionId::parse(named.text("transaction_id").unwrap()).unwrap();
    let facts = facts(&[named]);
    let [fact] = &facts[..] else { panic!("{facts:?}") };
    assert_eq!(fact.group().subject, Subject::Entry(id));
    let found = fold(&fact.group(), facts.clone(), &scope());
    assert_eq!(found[0].kind, BreakKind::EntryMissing);
}
