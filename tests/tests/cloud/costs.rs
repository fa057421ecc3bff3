//! Checks the measured costs' file, pages, prices and floors, the size of items, and the clock of the measurements.

use ledger_core::dynamo::Value;
use ledger_core::keys::attr;
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_tests::costs::clock::measuring;
use ledger_tests::costs::floors::FLOORS;
use ledger_tests::costs::kept::{Costs, Left, LifeStep, RequestCost, Storage};
use ledger_tests::costs::page::filled;
use ledger_tests::costs::prices::{of_month, of_reads, of_write_unit, of_writes};
use ledger_tests::costs::size::bytes_of;
use ledger_tests::costs::units::{Halves, Tenths, Units};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const SECOND_MS: i64 = 1_000;
/// The period in which an expiry in seconds has two zeros at the end for one second.
const CENTURY_MS: i64 = 100 * SECOND_MS;

#[test]
fn costs_are_read_as_they_are_written() {
    let units = |write| Units { write, index: 3, read_halves: 5 };
    let left = |items| Left { items, bytes: 1234, entries: 1, entry_bytes: 700 };
    let costs = Costs {
        requests: vec![RequestCost {
            name: "customer pays, in money".to_owned(),
            items: 6,
            units: units(15),
            calls: 1,
            replay_calls: 1,
            entries: 1,
            records: 1,
            bytes: 3456,
            shared: 0,
        }],
        lives: vec![LifeStep {
            operation: "payment, in money".to_owned(),
            step: "credited".to_owned(),
            busy: units(493),
            thin: units(13),
        }],
        storage: vec![Storage { operation: "payment, in money".to_owned(), busy: left(195), thin: left(3) }],
    };
    assert_eq!(Costs::parse(&costs.text()), costs);
}

#[test]
fn filled_page_keeps_its_text_and_stays_as_it_is() {
    let page = "a\n<!-- costs: prices -->\nold\n<!-- end -->\nb\n";
    let filled_page = filled(page, &Costs::default());
    assert!(filled_page.starts_with("a\n<!-- costs: prices -->\nA million"), "{filled_page}");
    assert!(filled_page.ends_with("\n<!-- end -->\nb\n"), "{filled_page}");
    assert_eq!(filled(&filled_page, &Costs::default()), filled_page);
}

#[test]
fn halves_are_read_as_they_are_written() {
    for (text, halves) in [("0", 0), ("2", 4), ("2.5", 5)] {
        assert_eq!(Halves::parse(text), Some(Halves(halves)));
        assert_eq!(Halves(halves).to_string(), text);
    }
    assert_eq!(Halves::parse("494.0"), Some(Halves(988)));
    assert_eq!(Halves::parse("0.25"), None);
}

#[test]
fn averages_are_rounded_to_the_nearest_tenth() {
    assert_eq!(Tenths::each(493, 97).to_string(), "5.1");
    assert_eq!(Tenths::each(15, 1).to_string(), "15.0");
    assert_eq!(Tenths::each_of_halves(3, 1).to_string(), "1.5");
    assert_eq!(Tenths::each(1, 20).to_string(), "0.1");
}

#[test]
fn a_million_of_15_units_cost_9_dollars_38() {
    let units = Units { write: 15, index: 3, read_halves: 16 };
    assert_eq!((of_writes(units, 1).to_string(), of_reads(units, 1).to_string()), ("9.38".into(), "1.00".into()));
    assert_eq!(of_month(2_000, 1).to_string(), "0.90");
    assert_eq!(of_write_unit(), "0.625 a million");
}

#[test]
fn floors_and_what_is_above_them_are_the_measured_units() {
    let costs = Costs::read();
    for floor in FLOORS {
        let of_request = |step: &&LifeStep| step.operation == floor.operation && step.step == "request";
        let step = costs.lives.iter().find(of_request).unwrap_or_else(|| panic!("no {}", floor.operation));
        assert_eq!(floor.request() + floor.above(), step.thin.write, "{}: update its floor", floor.operation);
    }
}

#[test]
fn floor_of_a_payment_is_11_and_2_tenths() {
    assert_eq!(FLOORS[0].tenths(), 112);
}

#[test]
fn item_sizes_are_those_of_dynamodb_s_rules() {
    let of = |name: &str, value: Value| bytes_of(&[(name.to_owned(), value)].into());
    assert_eq!(of("a", Value::S("店".to_owned())), 4);
    assert_eq!(of("a", Value::Bool(true)), 2);
    assert_eq!(of("a", Value::N("0".to_owned())), 2);
    assert_eq!(of("a", Value::N("12300".to_owned())), 4);
    assert_eq!(of("a", Value::N("-12".to_owned())), 4);
    assert_eq!(of("a", Value::L(vec![Value::Bool(true)])), 1 + 3 + 2);
    assert_eq!(of("a", Value::M([("b".to_owned(), Value::Bool(true))].into())), 1 + 3 + 3);
}

#[test]
fn expiry_is_as_large_at_each_instant() {
    let at = |second: &str| bytes_of(&[(attr::TTL.to_owned(), Value::N(second.to_owned()))].into());
    assert_eq!(at("1800000000"), at("1812345678"));
}

/// Asserts that an instant has no zeros at the end, neither in seconds nor in milliseconds, and is later than another.
fn assert_full_after(before: Timestamp, at: Timestamp) {
    assert!(
        at.millis() % 10 != 0 && at.seconds() % 100 != 0 && at > before,
        "{} after {}",
        at.millis(),
        before.millis()
    );
}

#[test]
fn measuring_clock_read_at_one_instant_shows_each_time_a_later_one_without_zeros() {
    let start = Timestamp::from_millis(1_800_000_000_000);
    let clock = measuring(Clock::from_fn(move || start));
    let mut before = start;
    while before.millis() < start.millis() + 2 * CENTURY_MS {
        let at = clock.now();
        assert_full_after(before, at);
        before = at;
    }
}

#[test]
fn measuring_clock_runs_at_a_tenth_of_the_speed() {
    let start = 1_800_000_000_000;
    let reached = Arc::new(AtomicI64::new(start));
    let of_clock = Arc::clone(&reached);
    let clock = measuring(Clock::from_fn(move || Timestamp::from_millis(of_clock.load(Ordering::SeqCst))));
    let mut before = Timestamp::from_millis(start - 1);
    for passed in (0..2 * CENTURY_MS).step_by(7) {
        reached.store(start + 10 * passed, Ordering::SeqCst);
        let at = clock.now();
        assert_full_after(before, at);
        assert!((passed..=passed + SECOND_MS + 1).contains(&(at.millis() - start)), "{passed}: {}", at.millis());
        before = at;
    }
}
