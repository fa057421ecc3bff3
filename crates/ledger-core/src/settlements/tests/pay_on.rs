//! The day of a settlement, by who asks for it and how the merchant is paid.

use super::super::pay_on::PayOn;
use super::*;
use crate::calendar::BankDeadline;
use crate::psp::PspId;

/// An instant in Japan.
fn at(text: &str) -> Timestamp {
    Timestamp::parse(&format!("{}:00+09:00", text.replace(' ', "T"))).unwrap()
}

fn day(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn resolved(pay_on: PayOn, destination: &Destination, now: &str) -> Option<String> {
    pay_on.resolve(destination, &BankDeadline::DEFAULT, at(now)).ok().map(|day| day.to_string())
}

#[test]
fn scheduled_day_that_is_too_early_becomes_the_first_possible_one_and_may_be_far_ahead() {
    let bank = settlement(S::Collecting, &[]).destination;
    let stripe = Destination::Stripe { external_account: PspId::parse("ba_1").unwrap() };
    for (scheduled, now, by_bank, by_stripe) in [
        ("2026-12-02", "2026-12-01 00:10", "2026-12-02", "2026-12-02"),
        ("2026-12-01", "2026-12-01 00:10", "2026-12-02", "2026-12-01"),
        ("2026-12-01", "2026-12-01 12:00", "2026-12-03", "2026-12-01"),
        // A run that is late, on a Saturday and at New Year.
        ("2026-12-01", "2026-12-05 00:10", "2026-12-08", "2026-12-05"),
        ("2026-12-14", "2027-01-01 00:10", "2027-01-05", "2027-01-01"),
        // A schedule may pay at the end of the next month.
        ("2026-12-30", "2026-11-01 00:10", "2026-12-30", "2026-12-30"),
    ] {
        let of = |destination| resolved(PayOn::Scheduled(day(scheduled)), destination, now);
        assert_eq!(of(&bank).as_deref(), Some(by_bank), "{scheduled} at {now}");
        assert_eq!(of(&stripe).as_deref(), Some(by_stripe), "{scheduled} at {now}");
    }
    assert_eq!(resolved(PayOn::Scheduled(day("2027-12-30")), &bank, "2028-02-01 00:10"), None, "no day is guessed");
}

#[test]
fn day_by_hand_is_possible_and_the_default_is_the_first_one() {
    let bank = settlement(S::Collecting, &[]).destination;
    let stripe = Destination::Stripe { external_account: PspId::parse("ba_1").unwrap() };
    // A Saturday.
    let now = "2026-11-28 09:00";
    assert_eq!(resolved(PayOn::First, &bank, now).as_deref(), Some("2026-12-01"));
    assert_eq!(resolved(PayOn::First, &stripe, now).as_deref(), Some("2026-11-28"));
    for (stated, is_by_bank, is_by_stripe) in [
        ("2026-11-27", false, false),
        ("2026-11-28", false, true),
        ("2026-11-30", false, true),
        ("2026-12-01", true, true),
        ("2026-12-06", false, true),
        ("2026-12-11", true, true),
        ("2026-12-13", false, true),
        ("2026-12-14", false, false),
    ] {
        let is_possible = |destination| resolved(PayOn::Stated(day(stated)), destination, now).is_some();
        assert_eq!((is_possible(&bank), is_possible(&stripe)), (is_by_bank, is_by_stripe), "{stated}");
    }
}
