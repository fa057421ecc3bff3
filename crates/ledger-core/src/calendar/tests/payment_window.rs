//! The first and the last day on which a settlement can be paid, and schedules that the bank can never follow.

use super::*;
use crate::time::{TimeOfDay, Timestamp};
use std::time::Duration;

/// An instant in Japan.
fn at(text: &str) -> Timestamp {
    Timestamp::parse(&format!("{}:00+09:00", text.replace(' ', "T"))).unwrap()
}

fn deadline(lead_days: u8, cut_off: &str) -> BankDeadline {
    BankDeadline { lead_days, cut_off: TimeOfDay::parse(cut_off).unwrap(), ..BankDeadline::DEFAULT }
}

fn window(now: &str, deadline: &BankDeadline) -> [String; 2] {
    let PaymentWindow { first, last, .. } = PaymentWindow::of_bank(at(now), deadline).unwrap();
    [first.to_string(), last.to_string()]
}

#[test]
fn first_payment_day_is_so_many_bank_days_after_the_one_on_which_the_bank_takes_the_file() {
    for (now, lead, cut_off, first) in [
        // The cut-off is a minute of which nothing is in time.
        ("2026-11-25 00:00", 1, "12:00", "2026-11-26"),
        ("2026-11-25 11:59", 1, "12:00", "2026-11-26"),
        ("2026-11-25 12:00", 1, "12:00", "2026-11-27"),
        ("2026-11-25 23:59", 1, "12:00", "2026-11-27"),
        ("2026-11-25 09:29", 1, "09:30", "2026-11-26"),
        ("2026-11-25 09:30", 1, "09:30", "2026-11-27"),
        ("2026-11-25 00:00", 1, "00:00", "2026-11-27"),
        ("2026-11-25 23:58", 1, "23:59", "2026-11-26"),
        // The same day, and the longest lead time.
        ("2026-11-25 11:59", 0, "12:00", "2026-11-25"),
        ("2026-11-25 12:00", 0, "12:00", "2026-11-26"),
        ("2026-11-24 11:59", 5, "12:00", "2026-12-01"),
        // Friday afternoon, and the weekend.
        ("2026-11-27 11:59", 1, "12:00", "2026-11-30"),
        ("2026-11-27 12:00", 1, "12:00", "2026-12-01"),
        ("2026-11-28 09:00", 1, "12:00", "2026-12-01"),
        ("2026-11-29 23:59", 0, "12:00", "2026-11-30"),
        // A Monday that is a holiday, Golden Week and New Year.
        ("2026-11-20 12:00", 1, "12:00", "2026-11-25"),
        ("2026-11-23 09:00", 1, "12:00", "2026-11-25"),
        ("2026-05-01 12:00", 1, "12:00", "2026-05-08"),
        ("2026-12-30 11:59", 1, "12:00", "2027-01-04"),
        ("2026-12-30 12:00", 1, "12:00", "2027-01-05"),
        ("2026-12-31 09:00", 0, "12:00", "2027-01-04"),
        // The last days of the table.
        ("2027-12-29 11:59", 1, "12:00", "2027-12-30"),
        ("2027-12-30 11:59", 0, "12:00", "2027-12-30"),
    ] {
        assert_eq!(window(now, &deadline(lead, cut_off))[0], first, "{now}, {lead} days, {cut_off}");
    }
    // A millisecond before the cut-off.
    let now = at("2026-11-25 12:00").minus(Duration::from_millis(1));
    assert_eq!(PaymentWindow::of_bank(now, &BankDeadline::DEFAULT).unwrap().first, day("2026-11-26"));
}

#[test]
fn last_payment_day_is_so_many_calendar_days_ahead_and_not_before_the_first() {
    let ahead = |ahead_days| BankDeadline { ahead_days, ..BankDeadline::DEFAULT };
    for (now, ahead_days, want) in [
        ("2026-11-25 09:00", 15, ["2026-11-26", "2026-12-10"]),
        ("2026-11-25 09:00", 60, ["2026-11-26", "2027-01-24"]),
        ("2026-11-25 12:00", 1, ["2026-11-27", "2026-11-27"]),
        ("2026-12-30 12:00", 1, ["2027-01-05", "2027-01-05"]),
    ] {
        assert_eq!(window(now, &ahead(ahead_days)), want, "{now}, {ahead_days}");
    }
}

#[test]
fn stated_day_is_a_bank_day_of_the_window_and_a_refusal_names_the_window() {
    let window = PaymentWindow::of_bank(at("2026-11-20 12:00"), &BankDeadline::DEFAULT).unwrap();
    for good in ["2026-11-25", "2026-12-04"] {
        assert_eq!(window.check(day(good)), Ok(()), "{good}");
    }
    let why = "must be a day on which banks are open, from 2026-11-25 to 2026-12-05";
    for (wrong, is_final) in [
        ("2020-01-01", true),
        ("2026-11-24", true),
        // A Saturday and a Sunday within it.
        ("2026-11-28", true),
        ("2026-12-05", true),
        ("2026-12-07", false),
        ("9999-12-31", false),
    ] {
        let refused = window.check(day(wrong)).unwrap_err();
        assert_eq!((refused.to_string().as_str(), refused.is_final()), (why, is_final), "{wrong}");
    }
    let provider = PaymentWindow::of_provider(at("2026-11-28 23:59"), &BankDeadline::DEFAULT);
    for good in ["2026-11-28", "2026-11-29", "2026-12-13"] {
        assert_eq!(provider.check(day(good)), Ok(()), "{good}");
    }
    for wrong in ["2026-11-27", "2026-12-14", "9999-12-31"] {
        let refused = provider.check(day(wrong)).unwrap_err();
        assert_eq!(refused.to_string(), "must be a day from 2026-11-28 to 2026-12-13", "{wrong}");
    }
}

#[test]
fn day_past_the_table_is_not_guessed() {
    let of = |now: &str, lead| PaymentWindow::of_bank(at(now), &deadline(lead, "12:00"));
    let unknown = Err(HolidaysUnknown(day("2028-01-01")));
    assert_eq!(of("2027-12-30 11:59", 1), unknown);
    assert_eq!(of("2027-12-30 12:00", 0), unknown);
    assert_eq!(of("2028-01-01 09:00", 0), unknown);
    // A day of the window that is past the table.
    let window = of("2027-12-28 09:00", 1).unwrap();
    assert_eq!((window.first, window.last), (day("2027-12-29"), day("2028-01-12")));
    let unknown = PaymentDayError::Unknown(HolidaysUnknown(day("2028-01-04")));
    assert_eq!(window.check(day("2028-01-04")), Err(unknown));
    assert!(!unknown.is_final() && unknown.to_string().starts_with("the bank holidays of 2028-01-04 are not known"));
}

#[test]
fn days_are_bounded() {
    assert_eq!([0, 5, 6].map(BankDeadline::lead), [Some(0), Some(5), None]);
    assert_eq!([0, 1, 60, 61].map(BankDeadline::ahead), [None, Some(1), Some(60), None]);
}

/// The earliest rule that a refusal names; `None` if the schedule is accepted.
fn earliest(of: &str, deadline: &BankDeadline) -> Option<String> {
    let refused = schedule(of).check_on_time(deadline).err()?.to_string();
    Some(refused.rsplit_once("the earliest rule is ").unwrap().1.to_owned())
}

#[test]
fn schedule_that_the_bank_can_never_follow_is_refused_and_the_earliest_one_is_named() {
    for (of, lead, cut_off, want) in [
        ("weekly:friday bank_days:1", 0, "12:00", None),
        ("weekly:friday bank_days:1", 1, "12:00", Some("weekly:friday bank_days:2")),
        ("weekly:friday bank_days:2", 1, "12:00", None),
        ("monthly:month_end bank_days:1", 1, "12:00", Some("monthly:month_end bank_days:2")),
        ("monthly:month_end bank_days:5", 5, "12:00", Some("monthly:month_end bank_days:6")),
        ("twice_a_month:15,month_end bank_days:2", 3, "12:00", Some("twice_a_month:15,month_end bank_days:4")),
        // A file is late at ten past midnight: only a closing day before a weekend or a holiday leaves time.
        ("weekly:monday bank_days:2", 1, "00:10", None),
        ("weekly:friday bank_days:2", 1, "00:10", None),
        ("weekly:sunday bank_days:1", 1, "00:10", Some("weekly:sunday bank_days:2")),
        ("monthly:month_end next_month:1:next", 1, "12:00", Some("monthly:month_end next_month:2:next")),
        ("monthly:month_end next_month:1:next", 0, "12:00", None),
        ("monthly:month_end next_month:1:previous", 1, "12:00", Some("monthly:month_end next_month:2:previous")),
        ("monthly:month_end next_month:10:next", 5, "00:00", None),
        ("monthly:15 next_month:1:next", 5, "00:00", None),
    ] {
        assert_eq!(earliest(of, &deadline(lead, cut_off)).as_deref(), want, "{of}, {lead} days, {cut_off}");
    }
}

#[test]
fn every_refusal_names_a_schedule_that_is_accepted() {
    let closings = ["monthly:month_end", "monthly:28", "twice_a_month:15,month_end", "weekly:friday", "weekly:sunday"];
    let rules = ["bank_days:1", "bank_days:3", "next_month:1:next", "next_month:1:previous"];
    for lead in BankDeadline::LEAD_DAYS {
        for cut_off in ["00:00", "12:00", "23:59"] {
            let deadline = deadline(lead, cut_off);
            for of in closings.iter().flat_map(|closing| rules.map(|rule| format!("{closing} {rule}"))) {
                let named = earliest(&of, &deadline);
                assert!(named.is_none_or(|named| earliest(&named, &deadline).is_none()), "{of}, {lead}, {cut_off}");
            }
        }
    }
}

fn file_times(pay_on: &str, lead: u8) -> Result<[String; 2], HolidaysUnknown> {
    let times = deadline(lead, "12:00").file_times(day(pay_on))?;
    Ok([times.cut_at, times.accept_by].map(|at| at.to_string()))
}

#[test]
fn file_is_written_and_taken_so_many_bank_days_before_it_is_paid() {
    for (pay_on, lead, taken) in [
        ("2026-12-10", 0, "2026-12-10"),
        ("2026-12-10", 1, "2026-12-09"),
        ("2026-12-10", 5, "2026-12-03"),
        // After a weekend, and a Monday that is a holiday.
        ("2026-11-30", 1, "2026-11-27"),
        ("2026-11-24", 1, "2026-11-20"),
        // Golden Week.
        ("2026-05-07", 0, "2026-05-07"),
        ("2026-05-07", 1, "2026-05-01"),
        ("2026-05-07", 2, "2026-04-30"),
        ("2026-05-07", 3, "2026-04-28"),
        ("2026-05-07", 5, "2026-04-24"),
        // New Year.
        ("2027-01-04", 0, "2027-01-04"),
        ("2027-01-04", 1, "2026-12-30"),
        ("2027-01-05", 2, "2026-12-30"),
        ("2027-01-04", 5, "2026-12-24"),
        // A day on which banks are closed is as the last one before it.
        ("2026-12-12", 0, "2026-12-11"),
        ("2026-12-13", 1, "2026-12-10"),
        ("2027-01-01", 0, "2026-12-30"),
        ("2027-01-03", 1, "2026-12-29"),
    ] {
        // Ten o'clock and noon in Japan.
        let want = ["01", "03"].map(|hour| format!("{taken}T{hour}:00:00.000Z"));
        assert_eq!(file_times(pay_on, lead), Ok(want), "{pay_on}, {lead} days");
    }
    let early = BankDeadline {
        lead_days: 0,
        cut_off: TimeOfDay::parse("08:30").unwrap(),
        file_cut: TimeOfDay::parse("00:00").unwrap(),
        ..BankDeadline::DEFAULT
    };
    let times = early.file_times(day("2026-12-10")).unwrap();
    assert_eq!((times.cut_at, times.accept_by), (at("2026-12-10 00:00"), at("2026-12-10 08:30")));
}

#[test]
fn file_of_a_day_outside_the_table_has_no_times() {
    let unknown = |text: &str| Err(HolidaysUnknown(day(text)));
    assert_eq!(file_times("2028-01-04", 1), unknown("2028-01-04"));
    assert_eq!(file_times("2022-12-30", 0), unknown("2022-12-30"));
    // The first day of the table on which banks are open.
    assert!(file_times("2023-01-04", 0).is_ok());
    assert_eq!(file_times("2023-01-04", 1), unknown("2022-12-31"));
    assert_eq!(file_times("2023-01-11", 5), unknown("2022-12-31"));
    assert!(file_times("2023-01-12", 5).is_ok());
}

/// The first day on which a settlement can be paid is one whose file the bank still takes, and that of the day before it is late.
#[test]
fn bank_takes_the_file_of_the_first_possible_day_and_of_none_before() {
    let mut now = at("2026-04-20 00:00");
    while now < at("2026-05-14 00:00") {
        for lead in BankDeadline::LEAD_DAYS {
            let deadline = deadline(lead, "12:00");
            let first = PaymentWindow::of_bank(now, &deadline).unwrap().first;
            let before = bank_day_until(first.days_before(1)).unwrap();
            assert!(deadline.file_times(first).unwrap().accept_by > now, "{first} at {now}, {lead} days");
            assert!(deadline.file_times(before).unwrap().accept_by <= now, "{before} at {now}, {lead} days");
        }
        now = now.plus(Duration::from_secs(60 * 60));
    }
}
