//! Settlements under version 4 of the records: they close the periods of lanes.

use super::Case;
use super::settlements::{PERIOD_SUMS, SETTLEMENT, balance, fresh, period_4, step, turned, with_period_4_in_list};
use super::world::*;
use crate::golden::build_settlement::SettlementStep;
use serde_json::{Value as Json, json};

/// The merchant's item of lane 0, with this period open and entries of this segment added last.
pub(super) fn credited(number: &str, segment: &str) -> Json {
    let attributes = json!({ "period": n(number), "segment": n(segment), "updated_at": s(EARLIER) });
    let item = item("merchant", MERCHANT, "CREDITED#00", attributes);
    PERIOD_SUMS.iter().fold(item, |item, (name, number)| with(item, name, n(number)))
}

/// The merchant's item of lane 0 after a settlement has closed its period.
fn closed_lane(number: &str) -> Json {
    let item = PERIOD_SUMS.iter().fold(credited(number, "7"), |item, (name, _)| without(item, name));
    with(item, "closed_by", s(SETTLEMENT))
}

/// Period 4 of lane 0, closed.
fn lane_period_4() -> Json {
    let period = with(without(period_4(), "period"), "type", s("PERIOD#L00#00000004"));
    with(period, "lane_period", s("L0/4"))
}

/// A settlement that has closed it.
fn with_lane_period_4() -> Json {
    with(with_period_4_in_list(), "closed_batch_1", s("L0/4"))
}

pub(super) fn cases() -> Vec<Case> {
    let close = |id, why| step(id, why, SettlementStep::CloseLane { lane: "0".to_owned() });
    let taken = || with(lane_period_4(), "settlement_id", s(SETTLEMENT));
    vec![
        close("settlement/records-4-close-lane", "The sums of the open period move to the balances.").on([
            fresh(),
            credited("4", "7"),
            balance("ECOPAY", "50", "0"),
        ]),
        close("settlement/records-4-close-first-lane", "A merchant without a balance yet; what was refunded is more.")
            .on([fresh(), with(credited("1", "7"), "refunded_ecopay", n("1000"))]),
        close("settlement/records-4-close-even", "As much was refunded as paid: no balance changes.")
            .on([fresh(), without(with(credited("4", "7"), "refunded_ecopay", n("900")), "taken_point")]),
        close("settlement/records-4-close-empty-lane", "Nothing was credited since the last one: it stays open.")
            .on([fresh(), without(closed_lane("4"), "closed_by")]),
        close("settlement/records-4-close-again", "The settlement has closed a period of the lane.")
            .on([with_lane_period_4(), with(credited("5", "8"), "closed_by", s(SETTLEMENT))]),
        close("settlement/records-4-credited-meanwhile", "Entries were credited since it was read.")
            .seen([credited("4", "7")])
            .on([fresh(), with(credited("4", "8"), "taken_ecopay", n("1000"))])
            .ends("rejected stale_plan by crediting"),
        close("settlement/records-4-closed-by-another-run", "Another run of the saga was faster.")
            .seen([fresh(), credited("4", "7")])
            .on([with_lane_period_4(), taken(), closed_lane("5")])
            .ends("rejected stale_plan by settlement"),
        step(
            "settlement/records-4-give-period-back",
            "The period is due for the next settlement; the balances keep it.",
            SettlementStep::GiveBack {},
        )
        .on([turned(with_lane_period_4()), taken(), balance("ECOPAY", "850", "0")]),
        step(
            "settlement/records-4-collect-period",
            "The next settlement takes it like a record.",
            SettlementStep::Collect {},
        )
        .on([fresh()])
        .on([with(
            with(lane_period_4(), "due_pk", s(format!("demo#due#settle_period#{MERCHANT}#0"))),
            "due_sk",
            s("L00#00000004"),
        )]),
    ]
}
