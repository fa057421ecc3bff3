//! Cases of the audit trail and of its lanes.

use super::{Case, PARTITION_M, PAYMENT_1, SETTLEMENTS, TOPUP, case, paged};
use serde_json::json;

pub(super) fn cases() -> Vec<Case> {
    let mut all = records();
    all.extend(lanes());
    all
}

fn records() -> Vec<Case> {
    let days = |from: &str, to: &str| json!({ "tenant": "demo", "from": from, "to": to });
    let topup = json!({ "tenant": "demo", "topup": TOPUP });
    vec![
        case(
            "payment_items/refunded",
            "a payment with its refund and steps",
            json!({ "tenant": "demo", "payment": PAYMENT_1 }),
            &["payment 1", "payment 1 refund", "payment 1 step"],
        ),
        case(
            "topup_items/disputed",
            "a top-up with its refund, clawback and steps",
            topup.clone(),
            &["top-up clawback", "top-up refund", "top-up", "top-up step"],
        ),
        case("topup_refunds/one", "refunds alone", topup, &["top-up refund"]),
        case(
            "steps_of/settlement",
            "of one settlement of a merchant",
            json!({ "account": PARTITION_M, "resource": SETTLEMENTS[0] }),
            &["M step 1"],
        ),
        case("sealed_days/two", "both included", days("2026-11-20", "2026-11-21"), &["sealed 20", "sealed 21"]),
        paged(
            json!({ "newest_first": true, "limit": 2 }),
            case(
                "sealed_days/newest",
                "the last two of all",
                days("0001-01-01", "9999-12-31"),
                &["sealed 21", "sealed 20"],
            ),
        ),
        case(
            "segments/one-day",
            "every segment of a day",
            days("2026-11-20", "2026-11-20"),
            &["segment 20-1", "segment 20-2"],
        ),
        paged(
            json!({ "after": "SEAL#2026-11-20#00000001", "limit": 20 }),
            case("segments/next-page", "after a segment", days("2026-11-19", "2026-11-20"), &["segment 20-2"]),
        ),
    ]
}

/// The chains of a tenant's lanes, beside its chain of days and a tenant whose name continues its name.
fn lanes() -> Vec<Case> {
    let days = |from: &str, to: &str| json!({ "tenant": "demo", "from": from, "to": to });
    let lane = |lane: u32| json!({ "tenant": "demo", "lane": lane });
    let all = vec![
        case("seal_heads/two", "all heads", json!({ "tenant": "demo" }), &["head", "head of lane 0", "head of lane 1"]),
        case("lane_segments/one-lane", "of one lane", lane(1), &["segment 1/1", "segment 1/2"]),
        case("lane_segments/none", "of a lane that a longer number continues", lane(10), &[]),
        paged(
            json!({ "after": "SEAL#lane#01#0000000001", "limit": 20 }),
            case("lane_segments/next-page", "after a segment", lane(1), &["segment 1/2"]),
        ),
        case("bindings/one-day", "of a day", days("2026-11-21", "2026-11-21"), &["binding 2", "binding 3"]),
        paged(
            json!({ "newest_first": true, "limit": 1 }),
            case("bindings/newest", "the last of all", days("0001-01-01", "9999-12-31"), &["binding 3"]),
        ),
        case(
            "segments/beside-lanes",
            "the chain of all days, and nothing of the lanes",
            days("0001-01-01", "9999-12-31"),
            &["segment of a day"],
        ),
    ];
    all.into_iter().map(|case| Case { world: "lanes", ..case }).collect()
}
