//! Cases of merchants, their records and their settlements, and of staff.

use super::{ABSENT, Case, KEYS, MERCHANT, NOW, RUN_1, SETTLEMENTS, TERMINAL, case, paged};
use serde_json::json;

const BREAK_2: &str = "019a0000-0000-7000-8000-000000000046";
const PAYMENT_2: &str = "019a0000-0000-7000-8000-000000000092";

pub(super) fn cases() -> Vec<Case> {
    let shard = |shard: u32| json!({ "tenant": "demo", "merchant": MERCHANT, "shard": shard });
    let keys_of = |shard: u32| json!({ "tenant": "demo", "merchant": MERCHANT, "shard": shard, "index": KEYS });
    let after = |after: Option<&str>| json!({ "tenant": "demo", "merchant": MERCHANT, "after": after });
    vec![
        case("merchants/all", "a tenant's merchants", json!({ "tenant": "demo" }), &["M profile", "M2 profile"]),
        paged(
            json!({ "after": MERCHANT, "limit": 1 }),
            case("merchants/after", "after a merchant", json!({ "tenant": "demo" }), &["M2 profile"]),
        ),
        paged(
            json!({ "newest_first": true }),
            case(
                "merchant_records/newest",
                "payments and refunds, newest first",
                shard(0),
                &["payment 3", "payment 2", "payment 1", "payment 1 refund"],
            ),
        ),
        case(
            "cash_collections/none",
            "a terminal whose cash was never collected",
            json!({ "tenant": "demo", "terminal": TERMINAL }),
            &[],
        ),
        case("merchant_records/other-shard", "of another shard", shard(1), &["payment 4"]),
        second(case(
            "merchants/all",
            "the keys of a tenant's merchants",
            json!({ "tenant": "demo", "index": KEYS }),
            &["M profile", "M2 profile"],
        )),
        second(paged(
            json!({ "after": MERCHANT, "limit": 1 }),
            case("merchants/after", "after a merchant", json!({ "tenant": "demo", "index": KEYS }), &["M2 profile"]),
        )),
        second(paged(
            json!({ "newest_first": true }),
            case(
                "merchant_records/newest",
                "the keys of payments and refunds, newest first",
                keys_of(0),
                &["payment 3", "payment 2", "payment 1", "payment 1 refund"],
            ),
        )),
        second(paged(
            json!({ "newest_first": true, "after": PAYMENT_2, "limit": 1 }),
            case("merchant_records/older", "older than a payment, one at most", keys_of(0), &["payment 1"]),
        )),
        second(case("merchant_records/other-shard", "of another shard", keys_of(1), &["payment 4"])),
        case(
            "merchant_records_from/all",
            "the keys of those of an instant and later",
            json!({ "tenant": "demo", "merchant": MERCHANT, "shard": 0, "from": super::born(PAYMENT_2), "index": KEYS }),
            &["payment 1 refund", "payment 1", "payment 2", "payment 3"],
        ),
        paged(
            json!({ "newest_first": true, "after": PAYMENT_2, "limit": 2 }),
            case(
                "merchant_records_from/none",
                "none, if those that follow are of an earlier instant",
                json!({ "tenant": "demo", "merchant": MERCHANT, "shard": 0, "from": NOW, "index": KEYS }),
                &[],
            ),
        ),
        case(
            "topups/none",
            "a customer without listed top-ups",
            json!({ "tenant": "demo", "customer": ABSENT, "from": NOW }),
            &[],
        ),
        case("settlements_of_tenant/none", "no listed settlements", json!({ "tenant": "demo", "from": NOW }), &[]),
        case(
            "breaks/newest",
            "the breaks of every run, newest first",
            json!({ "tenant": "demo", "from": null, "after": null }),
            &["break of run 2", "break 2 of run 1", "break 1 of run 1"],
        ),
        case(
            "breaks/after",
            "after a break of a run",
            json!({ "tenant": "demo", "from": null, "after": [RUN_1, BREAK_2] }),
            &["break 1 of run 1"],
        ),
        case(
            "breaks/from",
            "of runs of an instant and later",
            json!({ "tenant": "demo", "from": NOW, "after": null }),
            &[],
        ),
        case(
            "open_holds/shard",
            "the open holds of a shard, the first to expire first",
            json!({ "tenant": "demo", "shard": 0 }),
            &["payment 3 hold", "payment 4 hold", "payment 5 hold"],
        ),
        case("grant_jobs/all", "jobs alone", json!({ "tenant": "demo", "from": null, "after": null }), &["job"]),
        case(
            "grant_jobs/from",
            "jobs of an instant and later",
            json!({ "tenant": "demo", "from": NOW, "after": null }),
            &[],
        ),
        case(
            "settlements/newest",
            "newest first",
            after(None),
            &["M settlement 3", "M settlement 2", "M settlement 1"],
        ),
        of_shops(case(
            "shops/newest",
            "a merchant's shops alone, newest first",
            json!({ "tenant": "demo", "merchant": MERCHANT, "after": null }),
            &["M shop 2", "M shop 1"],
        )),
        of_shops(case(
            "shops/after",
            "after a shop",
            json!({ "tenant": "demo", "merchant": MERCHANT, "after": "019a0000-0000-7000-8000-0000000000c2" }),
            &["M shop 1"],
        )),
        of_staff(case(
            "staff_members/operator",
            "the operator's staff, largest id first",
            json!({ "tenant": "demo", "merchant": null, "after": null }),
            &["member 2", "member 1"],
        )),
        of_staff(case(
            "staff_members/after",
            "after a member",
            json!({ "tenant": "demo", "merchant": null, "after": "019a0000-0000-7000-8000-000000000052" }),
            &["member 1"],
        )),
        of_staff(case(
            "staff_members/merchant",
            "a merchant's staff alone",
            json!({ "tenant": "demo", "merchant": MERCHANT, "after": null }),
            &["M member"],
        )),
        of_approvals(case(
            "approvals/all",
            "every command, newest first",
            json!({ "tenant": "demo", "from": null, "after": null }),
            &["approval 3", "approval 2", "approval 1"],
        )),
        of_approvals(case(
            "approvals/from",
            "those that can still be pending: requested at an instant or later",
            json!({ "tenant": "demo", "from": "2026-11-20T15:00:00.000Z", "after": null }),
            &["approval 3", "approval 2"],
        )),
        of_approvals(case(
            "approvals/after",
            "the next page of them",
            json!({ "tenant": "demo", "from": "2026-11-20T15:00:00.000Z", "after": "01a1fe68-2300-7000-8000-000000000003" }),
            &["approval 2"],
        )),
        of_requests(case(
            "requests/all",
            "every request that has a record of its own, newest first",
            json!({ "tenant": "demo", "from": null, "after": null }),
            &["request 3", "request 2", "request 1"],
        )),
        of_requests(case(
            "requests/from",
            "those that can still be pending: requested at an instant or later",
            json!({ "tenant": "demo", "from": "2026-11-20T15:00:00.000Z", "after": null }),
            &["request 3", "request 2"],
        )),
        of_requests(case(
            "requests/after",
            "the next page of them",
            json!({ "tenant": "demo", "from": "2026-11-20T15:00:00.000Z", "after": "01a1fe68-2300-7000-8000-000000000003" }),
            &["request 2"],
        )),
        case("settlements/after", "older than one", after(Some(SETTLEMENTS[1])), &["M settlement 1"]),
        case(
            "settled_batches/settlement",
            "the lists of one settlement",
            json!({ "tenant": "demo", "merchant": MERCHANT, "settlement": SETTLEMENTS[0] }),
            &["M batch 1-1", "M batch 1-2"],
        ),
    ]
}

/// The case in version 2, beside the one of version 1 with this id.
fn second(case: Case) -> Case {
    Case { version: "v2", ..case }
}

pub(super) fn of_periods() -> Vec<Case> {
    let merchant = json!({ "tenant": "demo", "merchant": MERCHANT });
    let all = [
        case(
            "periods/closed",
            "the closed periods, the first one first",
            merchant.clone(),
            &["period 1", "period 2", "period 3"],
        ),
        case("periods/none", "of a merchant without any", json!({ "tenant": "demo", "merchant": ABSENT }), &[]),
        case("periods_to_settle/given-back", "those in no settlement", merchant.clone(), &["period 2", "period 3"]),
        paged(json!({ "limit": 1 }), case("periods_to_settle/one", "one at most", merchant, &["period 2"])),
    ];
    all.into_iter().map(|case| Case { world: "periods", ..case }).collect()
}

/// A case of the world with commands that another person must approve.
fn of_approvals(case: Case) -> Case {
    Case { world: "approvals", ..case }
}

/// A case of the world with requests that have records of their own.
fn of_requests(case: Case) -> Case {
    Case { world: "requests", ..case }
}

/// A case of the world with staff.
fn of_shops(case: Case) -> Case {
    Case { world: "shops", ..case }
}

fn of_staff(case: Case) -> Case {
    Case { world: "staff", ..case }
}

/// Bonuses on cash that settlements covered.
pub(super) fn of_bonuses() -> Vec<Case> {
    let of_bonuses = |case: Case| Case { world: "bonuses", ..case };
    let until = json!({ "tenant": "demo", "merchant": MERCHANT, "until": NOW });
    let begun = case(
        "cash_bonuses_due/begun-by-then",
        "bonuses of top-ups that began by then, with the allowed difference of clocks",
        until,
        &["bonus", "bonus of the last moment"],
    );
    let due = case("covered_cash/due", "merchants with a paid settlement", json!({ "tenant": "demo" }), &["settling"]);
    [begun, due].map(of_bonuses).into()
}

/// The tenant's cards, and batches of them.
pub(super) fn of_cards() -> Vec<Case> {
    let shard = json!({ "tenant": "demo", "shard": 3, "index": KEYS });
    let newest = json!({ "newest_first": true });
    let all = [
        paged(newest, case("cards/newest", "the keys of cards of a shard", shard.clone(), &["card 2", "card 1"])),
        paged(
            json!({ "newest_first": true, "after": "019a0000-0000-7000-8000-0000000000c7", "limit": 1 }),
            case("cards/after", "after a card", shard, &["card 1"]),
        ),
        case(
            "grant_jobs/none",
            "a batch of cards is none",
            json!({ "tenant": "demo", "from": null, "after": null }),
            &[],
        ),
        case(
            "stored_cards/segment",
            "the keys of cards alone",
            json!({ "tenant": "demo", "number": 0, "of": 1 }),
            &["card 1", "card 2", "card of another shard"],
        ),
        case("card_batches_to_continue/due", "batches that are not finished", json!({ "tenant": "demo" }), &["batch"]),
    ];
    all.into_iter().map(|case| Case { world: "cards", ..case }).collect()
}

/// The cases of jobs that wind a tenant down.
pub(super) fn wind_downs() -> Vec<Case> {
    const JOB_1: &str = "019a0000-0000-7000-8000-0000000000f1";
    const JOB_2: &str = "019a0000-0000-7000-8000-0000000000f2";
    let lines = |state: Option<&str>, after: Option<&str>| json!({ "tenant": "demo", "job": JOB_1, "state": state, "after": after });
    let closed_card = format!("JOB#wind_down_line#{JOB_1}#closed#card:019a0000-0000-7000-8000-0000000000c1");
    let all = [
        case("wind_downs_to_continue/due", "jobs that are not finished", json!({ "tenant": "demo" }), &["job 2"]),
        case(
            "wind_downs/newest",
            "jobs, newest first, without their lines",
            json!({ "tenant": "demo", "after": null }),
            &["job 2", "job 1"],
        ),
        case("wind_downs/after", "older than a job", json!({ "tenant": "demo", "after": JOB_2 }), &["job 1"]),
        case(
            "wind_down_lines/all",
            "the lines of one job, closed accounts first",
            lines(None, None),
            &["closed card", "closed customer", "open customer"],
        ),
        case("wind_down_lines/open", "those in one state", lines(Some("open"), None), &["open customer"]),
        case(
            "wind_down_lines/after",
            "after a line",
            lines(None, Some(&closed_card)),
            &["closed customer", "open customer"],
        ),
    ];
    all.into_iter().map(|case| Case { world: "wind-downs", ..case }).collect()
}

/// The cases of runs that close merchants' periods.
pub(super) fn settlement_runs() -> Vec<Case> {
    const RUN_1: &str = "019a0000-0000-7000-8000-0000000000f1";
    const RUN_2: &str = "019a0000-0000-7000-8000-0000000000f2";
    let lines = |after: Option<&str>| json!({ "tenant": "demo", "run": RUN_1, "after": after });
    let first = format!("JOB#settlement_run_line#{RUN_1}#019a0000-0000-7000-8000-0000000000e1");
    let all = [
        case("settlement_runs_to_continue/due", "runs that are not finished", json!({ "tenant": "demo" }), &["run 2"]),
        case(
            "settlement_runs/newest",
            "runs, newest first, without their lines",
            json!({ "tenant": "demo", "after": null }),
            &["run 2", "run 1"],
        ),
        case("settlement_runs/after", "older than a run", json!({ "tenant": "demo", "after": RUN_2 }), &["run 1"]),
        case("settlement_run_lines/all", "the lines of one run", lines(None), &["line 1", "line 2"]),
        case("settlement_run_lines/after", "after a line", lines(Some(&first)), &["line 2"]),
    ];
    all.into_iter().map(|case| Case { world: "settlement-runs", ..case }).collect()
}
