//! The operator grants points and regional currency, to one customer or to many. A bulk grant is a stored job; its
//! progress is guarded on what was read.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use crate::golden::command_job::{FailedOf, JobAdvance};
use serde_json::{Value as Json, json};

fn grant(id: &'static str, why: &'static str, amount: Money) -> Case {
    let claim = by_staff("grant", "/v1/admin/grants", json!({ "customer_ids": [A], "amount": amount.amount }));
    let does =
        Does::Grant { staff: STAFF.to_owned(), customer: A.to_owned(), amount, reason: "spring campaign".to_owned() };
    Case::new(id, why, Some(claim), does).on([config()])
}

fn bulk(id: &'static str, why: &'static str, customers: &[&str]) -> Case {
    let claim = by_staff("bulk_grant", "/v1/admin/grants", json!({ "customer_ids": customers, "amount": "100" }));
    let does = Does::BulkGrant {
        staff: STAFF.to_owned(),
        customers: customers.iter().map(|id| (*id).to_owned()).collect(),
        amount: money("POINT", "100"),
        reason: "spring campaign".to_owned(),
    };
    Case::new(id, why, Some(claim), does).on([config()])
}

fn advance(id: &'static str, why: &'static str, done: &str, failed: &str) -> Case {
    let (done, failed) = (done.to_owned(), failed.to_owned());
    let (job, failures, passed_over) = (PAYMENT.to_owned(), Vec::new(), Vec::new());
    Case::new(id, why, None, Does::JobAdvance(JobAdvance { job, done, failed, failures, passed_over }))
}

/// A slice in which some grants failed and some customers are passed over until later.
fn advance_with(
    id: &'static str,
    why: &'static str,
    done: &str,
    failed: &[(&str, &str)],
    passed_over: &[&str],
) -> Case {
    let failures = failed
        .iter()
        .map(|(customer, reason)| FailedOf { customer: (*customer).to_owned(), reason: (*reason).to_owned() });
    let does = JobAdvance {
        job: PAYMENT.to_owned(),
        done: done.to_owned(),
        failed: failed.len().to_string(),
        failures: failures.collect(),
        passed_over: passed_over.iter().map(|id| (*id).to_owned()).collect(),
    };
    Case::new(id, why, None, Does::JobAdvance(does))
}

fn job(done: &str) -> Json {
    let attributes = json!({
        "job_id": s(PAYMENT), "staff_id": s(STAFF), "customers": { "L": [s(A), s(B)] }, "asset": s("POINT"),
        "amount": n("100"), "reason": s("spring campaign"), "done": n(done), "failed": n("0"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER), "due_pk": s("demo#due#job#1"), "due_sk": s(PAYMENT),
    });
    item("tenant", "root", &format!("JOB#{PAYMENT}"), attributes)
}

pub(super) fn cases() -> Vec<Case> {
    let granted = [(OF_A, "POINT", "100"), ("points_issued", "POINT", "-100")];
    vec![
        grant("grant/points", "Points, with an audit record.", money("POINT", "100"))
            .on([wallet(A, "POINT", "0")])
            .moves(&granted)
            .precedence(),
        grant("grant/regional", "A regional currency.", money("REGIONAL#yama", "0.5"))
            .on([wallet(A, "REGIONAL#yama", "1")])
            .moves(&[(OF_A, "REGIONAL#yama", "0.5"), ("points_issued", "REGIONAL#yama", "-0.5")]),
        grant("grant/frozen", "A freeze does not stop a grant.", money("POINT", "100"))
            .on([frozen(wallet(A, "POINT", "0"))])
            .moves(&granted),
        grant("grant/missing", "There is no such wallet.", money("POINT", "100"))
            .ends("rejected account_missing by payee"),
        grant("grant/money", "Money is not made from nothing.", yen("100"))
            .ends("invalid asset: only POINT and regional currency can be granted"),
        bulk("bulk_grant/stored", "A job that is due at once.", &[A, B]),
        bulk("bulk_grant/one-customer-twice", "Each customer once.", &[A, A])
            .ends("invalid customer_ids: names a customer twice"),
        bulk("bulk_grant/nobody", "At least one customer.", &[])
            .ends("invalid customer_ids: must name 1 to 1500 customers"),
        advance("bulk_grant/advance", "Progress, from what was read.", "1", "0").on([job("0")]),
        // Each failure has its reason.
        advance_with("bulk_grant/advance-to-the-end", "At the end the work mark goes.", "2", &[(B, "not_found")], &[])
            .on([job("1")])
            .supersedes(),
        advance_with("bulk_grant/advance-passed-over", "Who is passed over comes last.", "1", &[], &[A]).on([job("0")]),
        advance("bulk_grant/advance-overtaken", "Another worker was first.", "1", "0")
            .seen([job("0")])
            .on([job("1")])
            .ends("rejected stale_plan by job"),
    ]
}
