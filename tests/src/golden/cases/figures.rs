//! Posting days and the totals of days: a day is closed, and a batch is planned, added and completed.

use super::Case;
use super::lanes::{lane, trail};
use super::trail::{entry, sealed};
use super::world::*;
use crate::golden::build_figures::FiguresDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const DAY: &str = "2026-11-20";

fn case(id: &'static str, why: &'static str, does: FiguresDoes) -> Case {
    Case::new(id, why, None, Does::Figures(does))
}

fn heads(numbers: [&str; 2]) -> [Json; 3] {
    [trail("2", "3", "4"), lane(0, "2", numbers[0]), lane(1, "2", numbers[1])]
}

fn numbers(numbers: &[&str]) -> Json {
    json!({ "L": numbers.iter().map(|number| n(number)).collect::<Vec<_>>() })
}

fn closed() -> Json {
    let attributes = json!({ "v": n("1"), "closed_at": s(EARLIER), "lanes": numbers(&["7", "3"]) });
    item("tenant", "root", &format!("JOB#day#{DAY}"), attributes)
}

/// How far the fold is, after some batches.
fn fold(batch: &str) -> Json {
    let attributes = json!({
        "v": n("1"), "batch": n(batch), "finished": s("2026-11-19"), "lanes": numbers(&["5", "3"]),
        "folded_at": s(EARLIER),
    });
    item("tenant", "root", "JOB#fold", attributes)
}

/// A fold with a planned batch.
fn planned(batch: &str) -> Json {
    with(with(fold(batch), "planned", numbers(&["7", "3"])), "finishes", s(DAY))
}

fn totals(batch: &str) -> Json {
    let attributes = json!({
        "v": n("1"), "batch": n(batch), "entries": { "M": { "pay": n("3") } },
        "lines": { "L": [s("pay ECOPAY customers 3 0 1000"), s("pay ECOPAY merchants 3 1000 0")] },
        "batches": { "L": [s("7 1763600000000 1763603600000,customers ECOPAY -1000,merchants ECOPAY 1000")] },
    });
    item("tenant", "root", &format!("JOB#totals#tenant#{DAY}"), attributes)
}

fn entries() -> [Json; 2] {
    [sealed(entry(1, "seal")), sealed(entry(2, "seal"))]
}

fn add(id: &'static str, why: &'static str, of: &str, new_customers: Option<u64>) -> Case {
    let does = FiguresDoes::Add { of: of.to_owned(), date: DAY.to_owned(), batch: 8, new_customers };
    case(id, why, does).on(entries())
}

pub(super) fn cases() -> Vec<Case> {
    [days(), batches(), additions()].into_iter().flatten().collect()
}

fn days() -> Vec<Case> {
    let close = |id, why| case(id, why, FiguresDoes::Close { date: DAY.to_owned() });
    vec![
        close("figures/close", "The day has the entries of all segments that are written.").on(heads(["7", "3"])),
        close("figures/close-again", "A day is closed once.")
            .on(heads(["7", "3"]))
            .on([closed()])
            .ends("rejected stale_plan by figures"),
        close("figures/close-sealed-meanwhile", "A segment was written: the heads are read again.")
            .on(heads(["7", "3"]))
            .seen([lane(1, "2", "2")])
            .ends("rejected stale_plan by sealing"),
    ]
}

fn batches() -> Vec<Case> {
    let plan = |id, why, finishes: Option<&str>| {
        case(id, why, FiguresDoes::Plan { to: vec![7, 3], finishes: finishes.map(str::to_owned) })
    };
    let complete = |id, why| case(id, why, FiguresDoes::Complete {});
    vec![
        plan("figures/plan-first", "The first batch, of some days at once.", None),
        plan("figures/plan-first-again", "Another worker has planned it.", None)
            .on([planned("1")])
            .seen([item("tenant", "root", "JOB#fold", json!({}))])
            .ends("rejected stale_plan by figures"),
        plan("figures/plan", "A batch that finishes a closed day.", Some(DAY)).on([fold("7"), closed()]),
        plan("figures/plan-again", "Another worker has planned it.", None)
            .on([planned("8")])
            .seen([fold("7")])
            .ends("rejected stale_plan by figures"),
        case(
            "figures/plan-chain",
            "Segments from before the trail had lanes.",
            FiguresDoes::PlanChain { day: "2026-11-18".to_owned(), number: 2 },
        )
        .on([with(fold("2"), "chain", s("2026-11-17/4"))]),
        complete("figures/complete-chain", "They are folded, no lane is.").on([with(
            planned("3"),
            "planned_chain",
            s("2026-11-18/2"),
        )]),
        plan("figures/plan-batch-kept", "The segments of the batch are kept already: it was planned before.", None)
            .on([fold("7"), item("tenant", "root", "JOB#batch#0000000008", json!({ "v": n("1") }))])
            .ends("rejected stale_plan by figures"),
        complete("figures/complete", "The day is finished.").on([planned("8")]),
        complete("figures/complete-again", "Another worker has completed it.")
            .on([fold("8")])
            .seen([planned("8")])
            .ends("rejected stale_plan by figures"),
    ]
}

fn additions() -> Vec<Case> {
    let active = |id, why| case(id, why, FiguresDoes::Active { date: DAY.to_owned(), batch: 8 }).on(entries());
    vec![
        add("figures/add-first", "The first totals of the day.", "tenant", None),
        add("figures/add", "Two more payments.", "tenant", None).on([totals("7")]),
        add("figures/add-again", "Another worker has added the batch.", "tenant", None)
            .on([totals("8")])
            .seen([totals("7")])
            .ends("rejected stale_plan by figures"),
        add("figures/add-finishing", "The day's last entries, with its balances.", "tenant", Some(4))
            .on([totals("7"), closed()]),
        add("figures/add-merchant", "A merchant's totals have its balance alone.", OF_MERCHANT, None),
        active("figures/active", "The accounts that the batch changed."),
        active("figures/active-again", "Another worker has listed them.")
            .on([item("tenant", "root", &format!("JOB#active#{DAY}#0000000008"), json!({ "v": n("1") }))])
            .ends("rejected stale_plan by figures"),
    ]
}
