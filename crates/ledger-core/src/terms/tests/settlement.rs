//! When the tenant's bank takes a file, and schedules that it can never follow.

use super::*;
use crate::bank::{AccountKind, BankParts, Sender, SenderParts};
use crate::calendar::BankDeadline;
use crate::time::TimeOfDay;

/// The whole terms, with an account to pay from.
fn with_account() -> TenantTerms {
    let account = BankParts {
        bank_code: "0005",
        bank_name: None,
        branch_code: "001",
        branch_name: None,
        kind: AccountKind::Ordinary,
        number: "1234567",
        holder: "ﾐﾄﾞﾘ",
    };
    let sender = Sender::new(&SenderParts { code: "1234567890", account }).unwrap();
    let settlement = whole().settlement.map(|settlement| SettlementTerms { sender: Some(sender), ..settlement });
    TenantTerms { settlement, ..whole() }
}

fn errors(terms: &TenantTerms, changes: &[(&str, Option<&str>)]) -> Vec<(String, String)> {
    let errors = TermsChanges::plan(terms, &wanted(changes)).err().unwrap_or_default();
    errors.into_iter().map(|error| (error.field, error.why)).collect()
}

#[test]
fn default_deadline_is_stored_by_no_attribute() {
    let terms = SettlementTerms::free();
    assert_eq!(terms.item().into_keys().collect::<Vec<_>>(), ["fee_rate", "tax_rate"]);
    assert_eq!(SettlementTerms::read(&terms.item()).unwrap().deadline, BankDeadline::DEFAULT);
    let deadline = BankDeadline {
        lead_days: 0,
        cut_off: TimeOfDay::parse("10:00").unwrap(),
        ahead_days: 1,
        file_cut: TimeOfDay::parse("09:30").unwrap(),
    };
    let other = SettlementTerms { deadline, ..terms };
    let item = other.item();
    assert_eq!(item.get("bank_cut_off"), Some(&Value::s("10:00")));
    assert_eq!(item.get("bank_file_cut"), Some(&Value::s("09:30")));
    assert_eq!(SettlementTerms::read(&item).unwrap(), other);
    for (name, wrong) in [
        ("bank_lead_days", Value::int(6)),
        ("bank_lead_days", Value::int(-1)),
        ("bank_ahead_days", Value::int(0)),
        ("bank_ahead_days", Value::int(61)),
        ("bank_cut_off", Value::s("24:00")),
        ("bank_cut_off", Value::int(12)),
        ("bank_file_cut", Value::s("24:00")),
    ] {
        let mut item = other.item();
        item.insert(name.to_owned(), wrong.clone());
        assert!(SettlementTerms::read(&item).is_err(), "{name}: {wrong:?}");
    }
}

#[test]
fn deadline_outside_its_bounds_is_refused_with_the_bounds() {
    for (field, wrong, why) in [
        (
            "settlement.bank_lead_days",
            &["6", "-1", "01", "1.5", "x", ""][..],
            "must be a whole number of days from 0 to 5",
        ),
        ("settlement.bank_ahead_days", &["0", "61", "256"][..], "must be a whole number of days from 1 to 60"),
        (
            "settlement.bank_cut_off",
            &["24:00", "12:60", "9:30", "noon", "12:00:00"][..],
            "must be a time of day in Japan, from 00:00 to 23:59",
        ),
        ("settlement.bank_file_cut", &["24:00", "9:30"][..], "must be a time of day in Japan, from 00:00 to 23:59"),
    ] {
        for to in wrong {
            assert_eq!(errors(&whole(), &[(field, Some(to))]), [(field.to_owned(), why.to_owned())], "{to}");
        }
        assert_eq!(errors(&whole(), &[(field, None)]), [(field.to_owned(), "cannot be cleared".to_owned())]);
    }
}

#[test]
fn file_cut_after_the_cut_off_is_refused_where_it_is_set() {
    let (cut_off, file_cut) = ("settlement.bank_cut_off", "settlement.bank_file_cut");
    let own = with_account();
    let named = |changes: &[(&str, Option<&str>)]| -> Vec<String> {
        errors(&own, changes).into_iter().map(|(field, _)| field).collect()
    };
    assert_eq!(named(&[(file_cut, Some("12:01"))]), [file_cut]);
    assert_eq!(named(&[(cut_off, Some("09:59"))]), [cut_off]);
    assert_eq!(named(&[(cut_off, Some("11:00")), (file_cut, Some("11:01"))]), [cut_off, file_cut]);
    assert_eq!(named(&[(file_cut, Some("12:00"))]), Vec::<String>::new());
    assert_eq!(named(&[(cut_off, Some("09:00")), (file_cut, Some("09:00"))]), Vec::<String>::new());
    // A tenant without an account to pay from writes no files.
    assert_eq!(errors(&whole(), &[(file_cut, Some("23:00"))]), []);
}

#[test]
fn schedule_that_the_bank_can_never_follow_is_refused_where_it_is_set() {
    let (schedule, lead) = ("settlement.schedule", "settlement.bank_lead_days");
    let next_day = "weekly:friday bank_days:1";
    let why = |earliest: &str| {
        let days = "the bank can never pay on the days of the schedule: they come too soon after the closing days";
        format!("{days}; the earliest rule is weekly:friday {earliest}")
    };
    let refused = |field: &str, earliest: &str| vec![(field.to_owned(), why(earliest))];
    let own = with_account();
    assert_eq!(errors(&own, &[(schedule, Some(next_day))]), refused(schedule, "bank_days:2"));
    assert_eq!(errors(&own, &[(schedule, Some("weekly:friday bank_days:2"))]), []);
    // With a bank that takes the file on the payment day it can be followed.
    assert_eq!(errors(&own, &[(schedule, Some(next_day)), (lead, Some("0"))]), []);
    let both = errors(&own, &[(schedule, Some(next_day)), (lead, Some("2"))]);
    assert_eq!(both, [refused(lead, "bank_days:3"), refused(schedule, "bank_days:3")].concat());

    // The deadline changes under a schedule.
    let scheduled = TenantTerms { settlement_schedule: "weekly:friday bank_days:2".parse().ok(), ..own.clone() };
    assert_eq!(errors(&scheduled, &[(lead, Some("2"))]), refused(lead, "bank_days:3"));
    let cut_off = "settlement.bank_cut_off";
    assert_eq!(errors(&scheduled, &[(lead, Some("2")), (cut_off, Some("10:00"))]).len(), 2);
    assert_eq!(errors(&scheduled, &[(lead, Some("2")), (schedule, None)]), []);
    let sundays = TenantTerms { settlement_schedule: "weekly:sunday bank_days:2".parse().ok(), ..own.clone() };
    let file_cut = ("settlement.bank_file_cut", Some("00:10"));
    assert_eq!(
        errors(&sundays, &[(cut_off, Some("00:10")), file_cut]),
        [],
        "after a Sunday before a holiday it is in time"
    );
    let sundays = TenantTerms { settlement_schedule: "weekly:sunday bank_days:1".parse().ok(), ..own.clone() };
    assert_eq!(errors(&sundays, &[(cut_off, Some("00:10")), file_cut]).len(), 1);

    // Other fields can be changed meanwhile, and a tenant without an account has no bank.
    let late = TenantTerms { settlement_schedule: next_day.parse().ok(), ..own };
    assert_eq!(errors(&late, &[("points_rate", Some("0.5"))]), []);
    assert_eq!(errors(&whole(), &[(schedule, Some(next_day))]), []);
    assert!(late.check_schedule().is_err() && whole().check_schedule().is_ok());
}
