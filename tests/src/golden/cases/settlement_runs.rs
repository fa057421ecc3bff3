//! Settlement on schedule: runs, the days that are dealt with, merchants that are closed, and their schedules.

use super::Case;
use super::approvals::{decide_in, decider, request, stored};
use super::settlements::bank;
use super::staff::member;
use super::world::*;
use crate::golden::build_settlement::SettlementDoes;
use crate::golden::build_settlement_runs::RunDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const RUN: &str = "019a0000-0000-7000-8000-0000000000f7";
const OTHER_RUN: &str = "019a0000-0000-7000-8000-0000000000f8";
const OTHER_MERCHANT: &str = "019a0000-0000-7000-8000-0000000000e2";
const FRIDAY: &str = "2026-11-20";
const WEEKLY: &str = "weekly:friday bank_days:2";

fn scheduled() -> Json {
    let mut sender = bank();
    sender["M"]["sender_code"] = s("1234567890");
    let settlement = json!({ "M": { "fee_rate": n("0.015"), "tax_rate": n("0.1"), "sender": sender } });
    with(with(with(config(), "records", n("7")), "settlement", settlement), "settlement_schedule", s(WEEKLY))
}

fn run() -> Json {
    let attributes = json!({
        "settlement_run_id": s(RUN), "closing_on": s(FRIDAY), "schedule": s(WEEKLY), "opened": n("4"),
        "skipped": n("1"), "stuck": n("2"), "created_at": s(EARLIER), "updated_at": s(EARLIER),
        "due_pk": s("demo#due#settlement_run#0"), "due_sk": s(RUN),
    });
    item("tenant", "root", &format!("JOB#settlement_run#{RUN}"), attributes)
}

fn by_hand() -> Json {
    with(with(run(), "staff_id", s(STAFF)), "reason", s("agreed in May"))
}

fn calendar(until: Option<&str>) -> Json {
    let own = json!({ "own_monthly_20_bank_days_3": s("monthly:20 bank_days:3"), "updated_at": s(EARLIER) });
    let calendar = item("tenant", "root", "JOB#settlement_calendar", own);
    until.map_or(calendar.clone(), |until| with(calendar, "closed_until", s(until)))
}

fn line(merchant: &str, status: &str) -> Json {
    let attributes = json!({ "merchant_id": s(merchant), "status": s(status), "created_at": s(EARLIER) });
    item("tenant", "root", &format!("JOB#settlement_run_line#{RUN}#{merchant}"), attributes)
}

fn shop() -> Json {
    with(merchant(), "payout", bank())
}

fn settling(closing: &str) -> Json {
    let last = json!({ "settlement_run_id": s(OTHER_RUN), "closing_on": s(closing), "updated_at": s(EARLIER) });
    item("merchant", MERCHANT, "SETTLING", last)
}

fn does(step: RunDoes) -> Does {
    Does::SettlementAdmin { staff: STAFF.to_owned(), does: SettlementDoes::Run(step) }
}

fn starts(id: &'static str, why: &'static str, closing: &str) -> Case {
    let fields = json!({ "closing_on": closing, "reason": "agreed in May" });
    let claim = by_staff("settlement_run_start", "/v1/admin/settlement-runs", fields);
    let step = RunDoes::Start { closing: closing.to_owned() };
    Case::new(id, why, Some(claim), does(step)).on([scheduled()])
}

fn due(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, does(RunDoes::Due { closing: FRIDAY.to_owned() })).on([scheduled()])
}

fn no_run(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, does(RunDoes::NoRun { until: FRIDAY.to_owned() })).on([scheduled()])
}

fn sets(id: &'static str, why: &'static str, schedule: Option<&str>) -> Case {
    let fields = match schedule {
        Some(schedule) => json!({ "schedule": schedule, "reason": "agreed in May" }),
        None => json!({ "reason": "agreed in May" }),
    };
    let path = format!("/v1/admin/merchants/{MERCHANT}/settlement-schedule");
    let (merchant, schedule) = (MERCHANT.to_owned(), schedule.map(str::to_owned));
    let step = RunDoes::Schedule { merchant, schedule };
    Case::new(id, why, Some(by_staff("settlement_schedule", &path, fields)), does(step)).on([scheduled()])
}

fn opens(id: &'static str, why: &'static str) -> Case {
    let step = RunDoes::Open { run: RUN.to_owned(), merchant: MERCHANT.to_owned(), pay_on: "2026-11-25".to_owned() };
    Case::new(id, why, None, does(step)).on([scheduled(), shop()])
}

fn advances(id: &'static str, why: &'static str, places: &[&str], others: &[(&str, &str)]) -> Case {
    let step = RunDoes::Advance {
        run: RUN.to_owned(),
        places: places.iter().map(|place| (*place).to_owned()).collect(),
        limit: 2,
        opened: places.len() - others.len(),
        others: others.iter().map(|(merchant, status)| ((*merchant).to_owned(), (*status).to_owned())).collect(),
    };
    Case::new(id, why, None, does(step)).on([scheduled()])
}

pub(super) fn cases() -> Vec<Case> {
    [runs(), schedules(), approved(), merchants(), progress()].into_iter().flatten().collect()
}

fn runs() -> Vec<Case> {
    vec![
        starts("settlement_run_start/by-hand", "The run is due at once.", FRIDAY).precedence(),
        starts("settlement_run_start/not-over", "The day ends in Japan.", "2026-11-21")
            .ends("invalid closing_on: must be a day that is over in Japan"),
        due("settlement_run_due/first", "The calendar had another day before.").on([calendar(Some("2026-11-13"))]),
        due("settlement_run_due/none-dealt-with", "The first day.").on([calendar(None)]),
        no_run("settlement_run_none/without-calendar", "The tenant's first day."),
        no_run("settlement_run_none/later", "No schedule closes.").on([calendar(Some("2026-11-19"))]),
    ]
}

fn schedules() -> Vec<Case> {
    let own = |text: &str| with(merchant(), "settlement_schedule", s(text));
    vec![
        sets("settlement_schedule/first", "The calendar has it from then on.", Some(WEEKLY))
            .on([merchant()])
            .precedence(),
        sets("settlement_schedule/by-hand", "It closes on no day.", Some("by_hand")).on([own(WEEKLY)]).precedence(),
        sets("settlement_schedule/cleared", "The tenant's holds.", None).on([own(WEEKLY)]),
    ]
}

/// The same, where commands need another person's approval.
fn by_two() -> Json {
    with(with(scheduled(), "staff", s("records")), "approvals", s("required"))
}

fn requests(id: &'static str, why: &'static str, of: (&str, &str), command: Json) -> Case {
    let mut case = request(id, why, of, command);
    case.given.state.clear();
    case.on([by_two(), member(STAFF, "hanako@example.com", &["treasurer", "operator"], "active")])
}

fn approves(id: &'static str, why: &'static str, command: &Json) -> Case {
    let by = member(OTHER_STAFF, "yuki@example.com", &["treasurer", "operator"], "active");
    decide_in(by_two(), id, why, "approve").on([stored(command), decider(), by])
}

fn approved() -> Vec<Case> {
    let run = json!({ "kind": s("settlement_run_start"), "closing_on": s(FRIDAY) });
    let [seen, other] = [WEEKLY, "none"].map(|schedule| with(run.clone(), "seen", s(schedule)));
    let set = json!({ "kind": s("settlement_schedule"), "merchant_id": s(MERCHANT), "schedule": s(WEEKLY) });
    let cleared = json!({ "kind": s("settlement_schedule"), "merchant_id": s(MERCHANT), "seen": s(WEEKLY) });
    let own = |text: &str| with(merchant(), "settlement_schedule", s(text));
    let path = format!("/v1/admin/merchants/{MERCHANT}/settlement-schedule");
    vec![
        requests(
            "approval_request/settlement-run",
            "The day is a part of it.",
            ("settlement_run_start", "/v1/admin/settlement-runs"),
            run.clone(),
        ),
        requests(
            "approval_request/settlement-run-seen",
            "The tenant's schedule that was seen is a part of it.",
            ("settlement_run_start", "/v1/admin/settlement-runs"),
            seen.clone(),
        ),
        requests(
            "approval_request/settlement-schedule",
            "The schedule that was seen is a part of it.",
            ("settlement_schedule", &path),
            cleared.clone(),
        )
        .on([own(WEEKLY)]),
        approves("approval_approve/settlement-run", "The run has the approval's id.", &run).precedence(),
        approves("approval_approve/settlement-run-seen", "The tenant has the schedule that was seen.", &seen),
        approves("approval_approve/settlement-run-stale", "The tenant had no schedule.", &other),
        approves("approval_approve/settlement-schedule", "The first of its own.", &set).on([merchant()]).precedence(),
        approves("approval_approve/settlement-schedule-cleared", "The tenant's holds.", &cleared).on([own(WEEKLY)]),
    ]
}

fn merchants() -> Vec<Case> {
    vec![
        opens("settlement_run_open/scheduled", "The ledger closes it.").on([run()]),
        opens("settlement_run_open/by-hand", "The person who started the run closes it.").on([by_hand()]),
        opens("settlement_run_open/later-than-another", "A run of an earlier day closed it before.")
            .on([run(), settling("2026-11-13")]),
        opens("settlement_run_open/same-day", "Another run closed it for the day.")
            .on([run(), settling(FRIDAY)])
            .ends("rejected stale_plan by settlement"),
        opens("settlement_run_open/listed", "Another worker recorded that it had nothing to settle.")
            .on([run(), line(MERCHANT, "nothing_to_settle")])
            .ends("rejected stale_plan by settlement_run_line"),
    ]
}

fn progress() -> Vec<Case> {
    vec![
        advances(
            "settlement_run_advance/slice",
            "The next slice begins after the last one.",
            &[MERCHANT, OTHER_MERCHANT],
            &[],
        )
        .on([run()]),
        advances(
            "settlement_run_advance/last",
            "Fewer than the limit are the last ones.",
            &[OTHER_MERCHANT],
            &[(OTHER_MERCHANT, "no_destination")],
        )
        .on([with(run(), "after", s(MERCHANT))]),
        advances(
            "settlement_run_advance/opened-meanwhile",
            "Another worker closed it: the slice is read again.",
            &[MERCHANT],
            &[(MERCHANT, "nothing_to_settle")],
        )
        .on([run(), line(MERCHANT, "opened")])
        .ends("rejected stale_plan by settlement_run_line"),
    ]
}
