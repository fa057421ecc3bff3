//! A run that two people approve is of the schedule that both saw.

use super::*;
use crate::calendar::SettlementSchedule;

const FRIDAYS: &str = "weekly:friday bank_days:2";

fn run(seen: &str) -> Command {
    let closing = BusinessDate::parse("2025-11-21").unwrap();
    Command::SettlementRun { closing, seen: seen.to_owned() }
}

/// Drafts a command under terms with this schedule.
fn draft(command: &Command, schedule: Option<&str>) -> Drafted {
    let settlement_schedule = schedule.map(|text| text.parse::<SettlementSchedule>().unwrap());
    let terms = TenantTerms { settlement_schedule, ..terms() };
    let reason = FreeText::parse("a day late", 140).unwrap();
    let by = member(REQUESTER, "treasurer");
    command.draft((&tenant(), &by), Some(&reason), &seen_by(command, &terms, (&by, &by)), &cx()).unwrap()
}

#[test]
fn run_is_stale_under_another_schedule_than_was_seen() {
    let other = "weekly:friday bank_days:3";
    for (before, at_approval, is_stale) in [
        (FRIDAYS, Some(FRIDAYS), false),
        (FRIDAYS, Some(other), true),
        (FRIDAYS, None, true),
        ("none", None, false),
        ("none", Some(FRIDAYS), true),
    ] {
        let drafted = draft(&run(before), at_approval);
        assert_eq!(matches!(drafted, Drafted::Stale), is_stale, "{before}, {at_approval:?}");
    }
    assert_eq!(schedule_seen(FRIDAYS.parse().ok()), FRIDAYS);
    assert_eq!(schedule_seen(None), "none");
}

#[test]
fn schedule_that_was_seen_is_stored_and_shown() {
    let command = run(FRIDAYS);
    assert_eq!(Command::read(&command.item()).unwrap(), command);
    assert!(command.details().contains(&("settlement_schedule", FRIDAYS.to_owned())));
    let mut without = command.item();
    assert!(without.remove("seen").is_some());
    assert!(Command::read(&without).is_err(), "what was seen is missing");
}
