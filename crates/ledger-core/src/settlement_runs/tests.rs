//! Which days are dealt with, and what a run does with a merchant.

use super::*;
use crate::dynamo::{Item, Value};
use crate::ids::{AuditId, JobId, SettlementId, StaffId, Tenant, TransactionId};
use crate::keys::attr;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::{BusinessDate, Timestamp};
use uuid::Uuid;

const FRIDAY: &str = "2026-11-27";
const BEGAN: &str = "2026-11-27T15:10:00.000Z";

fn day(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn cx(now: &str) -> Context {
    Context {
        now: instant(now),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(2),
        audit_id: AuditId::new(Uuid::from_u128(3)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

fn run(closing: &str) -> SettlementRun {
    let schedule = "weekly:friday bank_days:2".parse().ok();
    record::start(&RunStart { tenant: &tenant(), closing: day(closing), schedule, by: None }, &cx(BEGAN)).receipt
}

fn profile(more: &[(&str, &str)]) -> Option<Item> {
    let mut item = Item::from([
        ("merchant_id".to_owned(), Value::s(Uuid::from_u128(5))),
        ("name".to_owned(), Value::s("Aoba")),
        ("status".to_owned(), Value::s("active")),
        ("shards".to_owned(), Value::int(4)),
    ]);
    item.extend(more.iter().map(|(name, text)| ((*name).to_owned(), Value::s(text))));
    Some(item)
}

fn settling(attributes: &[(&str, String)]) -> Option<Item> {
    Some(attributes.iter().map(|(name, text)| ((*name).to_owned(), Value::s(text))).collect())
}

fn verdict_on(profile: Option<Item>, settling: Option<Item>) -> Verdict {
    let seen = SeenMerchant::new(vec![profile, settling]);
    verdict(&run(FRIDAY), &seen)
}

#[test]
fn merchant_is_closed_on_the_days_of_its_own_schedule_or_the_tenants() {
    assert_eq!(verdict_on(profile(&[]), None), Verdict::Close(day("2026-12-01")));
    for (own, want) in [
        ("by_hand", Verdict::Unlisted),
        ("weekly:monday bank_days:2", Verdict::Unlisted),
        ("monthly:27 next_month:10:next", Verdict::Close(day("2026-12-10"))),
        ("monthly:30", Verdict::Not(NotClosed::Unreadable)),
    ] {
        assert_eq!(verdict_on(profile(&[("settlement_schedule", own)]), None), want, "{own}");
    }
    assert_eq!(verdict_on(None, None), Verdict::Unlisted);
}

#[test]
fn merchant_that_was_closed_or_has_an_open_settlement_is_left() {
    let last = |closing: &str| {
        let id = Uuid::from_u128(8).to_string();
        settling(&[("settlement_run_id", id), ("closing_on", closing.to_owned())])
    };
    assert_eq!(verdict_on(profile(&[]), last("2026-11-20")), Verdict::Close(day("2026-12-01")));
    for closed in [FRIDAY, "2026-12-04"] {
        assert_eq!(verdict_on(profile(&[]), last(closed)), Verdict::Not(NotClosed::ClosedBefore), "{closed}");
    }
    let open = settling(&[("open", Uuid::from_u128(7).to_string())]);
    let has_open = Verdict::HasOpen(SettlementId::new(Uuid::from_u128(7)));
    assert_eq!(verdict_on(profile(&[]), open), has_open);
}

#[test]
fn merchant_whose_payment_day_is_not_known_is_not_closed() {
    let seen = SeenMerchant::new(vec![profile(&[]), None]);
    assert_eq!(verdict(&run("2027-12-31"), &seen), Verdict::Not(NotClosed::HolidaysUnknown));
}

#[test]
fn ended_days_begin_with_the_first_tick_and_are_caught_up_with() {
    let calendar = |until: Option<&str>| {
        let item = settling(&until.map(|until| ("closed_until", until.to_owned())).into_iter().collect::<Vec<_>>());
        ClosingCalendar::read(item.as_ref()).unwrap()
    };
    // Ten minutes after midnight in Japan.
    let (before, after) = (instant("2026-11-27T15:09:59Z"), instant("2026-11-27T15:10:00Z"));
    assert_eq!(ClosingCalendar::read(None).unwrap().ended(after), EndedDays::Begin(day(FRIDAY)));
    assert_eq!(calendar(None).ended(before), EndedDays::Begin(day("2026-11-26")));
    assert_eq!(calendar(Some("2026-11-26")).ended(before), EndedDays::None);
    assert_eq!(calendar(Some("2026-11-26")).ended(after), EndedDays::Days(day(FRIDAY), day(FRIDAY)));
    assert_eq!(calendar(Some(FRIDAY)).ended(after), EndedDays::None);
    assert_eq!(calendar(Some("2026-12-05")).ended(after), EndedDays::None, "a clock that is behind");
    assert_eq!(calendar(Some("2026-11-20")).ended(after), EndedDays::Days(day("2026-11-21"), day(FRIDAY)));
    assert_eq!(calendar(Some("2026-01-01")).ended(after), EndedDays::Days(day("2026-10-27"), day(FRIDAY)));
    // The schedules of merchants are in it.
    let own = settling(&[("own_weekly_friday_bank_days_2", "weekly:friday bank_days:2".to_owned())]);
    let own = ClosingCalendar::read(own.as_ref()).unwrap();
    assert!(own.closes_on(day(FRIDAY), None) && !own.closes_on(day("2026-11-28"), None));
    assert!(own.closes_on(day("2026-11-28"), "monthly:28 bank_days:1".parse().ok()));
}

#[test]
fn schedule_that_cannot_be_read_does_not_hide_the_others() {
    let own = settling(&[
        ("own_every_day", "every day".to_owned()),
        ("own_weekly_friday_bank_days_2", "weekly:friday bank_days:2".to_owned()),
        ("closed_until", "2026-11-26".to_owned()),
    ]);
    let calendar = ClosingCalendar::read(own.as_ref()).unwrap();
    assert!(calendar.closes_on(day(FRIDAY), None));
    assert_eq!(calendar.unreadable().map(|error| error.attribute.as_str()), Some("own_every_day"));
    assert_eq!(calendar.ended(instant("2026-11-27T15:10:00Z")), EndedDays::Days(day(FRIDAY), day(FRIDAY)));
    let until = settling(&[("closed_until", "Friday".to_owned())]);
    assert!(ClosingCalendar::read(until.as_ref()).is_err(), "no day is dealt with twice");
}

#[test]
fn run_by_hand_is_of_a_day_that_is_over_and_whose_payment_day_is_known() {
    let reason = FreeText::parse("a day late", 140).unwrap();
    let plan_at = |closing: &str, now: &str| {
        let by = Some((StaffId::new(Uuid::from_u128(4)), &reason));
        let schedule = "weekly:friday bank_days:2".parse().ok();
        plan(&RunStart { tenant: &tenant(), closing: day(closing), schedule, by }, &cx(now))
    };
    let started = plan_at(FRIDAY, "2026-11-27T15:00:00Z").unwrap().receipt;
    assert_eq!((started.details.closing, started.head.id), (day(FRIDAY), JobId::new(Uuid::from_u128(2))));
    let wrong = [
        (FRIDAY, "2026-11-27T14:59:59Z"),
        ("2027-12-31", "2028-01-05T00:00:00Z"),
        ("1999-11-26", "2026-11-27T15:00:00Z"),
        ("2025-11-26", "2026-11-27T15:00:00Z"),
    ];
    for (closing, now) in wrong {
        let refused = plan_at(closing, now).unwrap_err();
        assert!(matches!(refused, PlanRefusal::Invalid { field: "closing_on", .. }), "{closing}: {refused:?}");
    }
}

#[test]
fn page_ends_the_list_when_it_is_not_full() {
    let entry = |id: u128| Item::from([(attr::OWNER_SK.to_owned(), Value::s(Uuid::from_u128(id)))]);
    let subject = |id: u128| format!("merchant:{}", Uuid::from_u128(id));
    let full = SettlementRun::page(&[entry(1), entry(2)], 2).unwrap();
    assert_eq!((full.subjects, full.cursor), (vec![subject(1), subject(2)], Some(Uuid::from_u128(2).to_string())));
    let last = SettlementRun::page(&[entry(1)], 2).unwrap();
    assert_eq!((last.subjects, last.cursor), (vec![subject(1)], None));
}
