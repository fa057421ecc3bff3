//! Files that staff ask for: the job, and what a worker records of it.

use super::Case;
use super::world::*;
use crate::golden::build_figures::FiguresDoes;
use crate::golden::build_files::FileDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const FILE: &str = "019a0000-0000-7000-8000-0000000000f9";
/// The time until which another try had the job.
const ENDED: &str = "2026-11-20T23:00:00.000Z";

fn does(step: FileDoes) -> Does {
    Does::Figures(FiguresDoes::File(step))
}

fn job() -> Json {
    let attributes = json!({
        "file_id": s(FILE), "kind": s("payouts"), "from_day": s("2026-10-01"), "to_day": s("2026-10-31"),
        "staff_id": s(STAFF), "reason": s("asked for by letter"), "rows": n("0"), "tries": n("0"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER), "due_pk": s("demo#due#file#0"), "due_sk": s(FILE),
    });
    item("tenant", "root", &format!("JOB#file#{FILE}"), attributes)
}

fn taken(tries: &str) -> Json {
    with(with(job(), "tries", n(tries)), "taken_until", s(ENDED))
}

fn asks(id: &'static str, why: &'static str, step: FileDoes, fields: Json) -> Case {
    Case::new(id, why, Some(by_staff("file_request", "/v1/admin/files", fields)), does(step)).on([config()])
}

fn step(id: &'static str, why: &'static str, step: FileDoes) -> Case {
    Case::new(id, why, None, does(step)).on([config()])
}

pub(super) fn cases() -> Vec<Case> {
    [requests(), steps()].into_iter().flatten().collect()
}

fn requests() -> Vec<Case> {
    let days = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
    let request = |customer: Option<&str>, days, month: Option<&str>| FileDoes::Request {
        staff: STAFF.to_owned(),
        customer: customer.map(str::to_owned),
        days,
        month: month.map(str::to_owned),
    };
    let reason = "asked for by letter";
    let history = json!({
        "kind": "customer_history", "customer_id": A, "from": "2026-10-01", "to": "2026-10-31", "reason": reason,
    });
    let payouts = |from: &str, to: &str| json!({ "kind": "payouts", "from": from, "to": to, "reason": reason });
    let month = |month: &str| json!({ "kind": "statements", "month": month, "reason": reason });
    vec![
        asks(
            "file_request/customer-data",
            "The act is about the customer.",
            request(Some(A), None, None),
            json!({ "kind": "customer_data", "customer_id": A, "reason": reason }),
        )
        .precedence(),
        asks(
            "file_request/customer-history",
            "A customer and days.",
            request(Some(A), days("2026-10-01", "2026-10-31"), None),
            history,
        ),
        asks(
            "file_request/payouts",
            "Days.",
            request(None, days("2026-10-01", "2026-10-31"), None),
            payouts("2026-10-01", "2026-10-31"),
        ),
        asks(
            "file_request/payees",
            "Neither days nor a month.",
            request(None, None, None),
            json!({ "kind": "payees", "reason": reason }),
        ),
        asks("file_request/statements", "A month.", request(None, None, Some("2026-10")), month("2026-10")),
        asks(
            "file_request/days-not-in-order",
            "The first day is later.",
            request(None, days("2026-10-31", "2026-10-01"), None),
            payouts("2026-10-31", "2026-10-01"),
        )
        .ends("invalid from: must not be after `to`"),
        asks(
            "file_request/to-come",
            "The last day has not begun.",
            request(None, days("2026-10-01", "2199-10-31"), None),
            payouts("2026-10-01", "2199-10-31"),
        )
        .ends("invalid to: must not be after today"),
        asks("file_request/month-to-come", "It has not begun.", request(None, None, Some("2199-10")), month("2199-10"))
            .ends("invalid month: must not be after the present one"),
    ]
}

fn steps() -> Vec<Case> {
    let file = || FILE.to_owned();
    let ready = || with(with(job(), "tries", n("1")), "ready_at", s(EARLIER));
    vec![
        step("file_make/take", "The first try.", FileDoes::Take { file: file() }).on([job()]),
        step("file_make/take-again", "The try before has ended.", FileDoes::Take { file: file() }).on([taken("1")]),
        step("file_make/take-raced", "Another worker took it.", FileDoes::Take { file: file() })
            .on([taken("2")])
            .seen([taken("1")])
            .ends("rejected stale_plan by job"),
        step("file_make/give-up", "It was begun too often.", FileDoes::Take { file: file() }).on([taken("5")]),
        step("file_make/advance", "The job is kept.", FileDoes::Advance { file: file(), rows: 1200 }).on([taken("1")]),
        step(
            "file_make/finish",
            "The record is deleted after its file.",
            FileDoes::Finish { file: file(), rows: 4000 },
        )
        .on([taken("1")]),
        step("file_make/finish-again", "Another worker ended it.", FileDoes::Finish { file: file(), rows: 4000 })
            .on([ready()])
            .seen([taken("1")])
            .ends("rejected stale_plan by job"),
    ]
}
