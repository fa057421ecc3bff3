//! Refunds of payments whose earned points have been spent: deducted from the money, or forgiven. The missing points
//! come from a read, so the plan is guarded on the balance that was read.

use super::Case;
use super::refund::{base, case, earning, in_money};
use super::world::*;
use serde_json::Value as Json;

fn forgiving(state: Vec<Json>) -> Vec<Json> {
    let forgive =
        |item: Json| if item["type"] == s("CONFIG") { with(item, "spent_points", s("forgive")) } else { item };
    state.into_iter().map(forgive).collect()
}

/// 1,000 in money at a rate of one point a yen.
fn generous() -> Json {
    earning(payment(OF_A, ("ECOPAY", "1000"), &[("ecopay", "1000", "1000")]), "1000", "10")
}

pub(super) fn cases() -> Vec<Case> {
    let full = |id, why| case(id, why, None);
    vec![
        full("refund/points-spent-deducted", "2 of 17 are left: 15 yen are kept from the money.")
            .supersedes()
            .on(base(in_money(), "0", "2"))
            .moves(&[(OF_A, "ECOPAY", "1725"), (OF_MERCHANT, "ECOPAY", "-1740"), ("points_issued", "ECOPAY", "15")])
            .moves(&[(OF_A, "POINT", "-2"), ("points_issued", "POINT", "2")])
            .precedence(),
        full("refund/points-spent-forgiven", "2 of 17 are left, and the tenant forgives the others.")
            .supersedes()
            .on(forgiving(base(in_money(), "0", "2")))
            .moves(&[(OF_A, "ECOPAY", "1740"), (OF_MERCHANT, "ECOPAY", "-1740")])
            .moves(&[(OF_A, "POINT", "-2"), ("points_issued", "POINT", "2")]),
        full("refund/points-all-spent-deducted", "None is left: the points are looked at, not changed.")
            .supersedes()
            .on(base(in_money(), "0", "0"))
            .moves(&[(OF_A, "ECOPAY", "1723"), (OF_MERCHANT, "ECOPAY", "-1740"), ("points_issued", "ECOPAY", "17")]),
        full("refund/points-all-spent-forgiven", "None is left, and the tenant forgives.")
            .supersedes()
            .on(forgiving(base(in_money(), "0", "0")))
            .moves(&[(OF_A, "ECOPAY", "1740"), (OF_MERCHANT, "ECOPAY", "-1740")]),
        full("refund/points-eat-the-money", "All of the money is kept: nothing comes back.")
            .on(base(generous(), "0", "0"))
            .moves(&[(OF_MERCHANT, "ECOPAY", "-1000"), ("points_issued", "ECOPAY", "1000")]),
        full("refund/points-earned-meanwhile", "What was short came from the read: plan again.")
            .supersedes()
            .seen([wallet(A, "POINT", "2")])
            .on(base(in_money(), "0", "50"))
            .ends("rejected stale_plan by points"),
        full("refund/points-spent-meanwhile", "The points that the plan takes are gone: plan again.")
            .supersedes()
            .seen([wallet(A, "POINT", "17")])
            .on(base(in_money(), "0", "16"))
            .ends("rejected stale_plan by points"),
        full("refund/points-more-than-needed", "Where they cover it, it is enough that they still do.")
            .supersedes()
            .seen([wallet(A, "POINT", "17")])
            .on(base(in_money(), "0", "400"))
            .moves(&[(OF_A, "ECOPAY", "1740"), (OF_MERCHANT, "ECOPAY", "-1740")])
            .moves(&[(OF_A, "POINT", "-17"), ("points_issued", "POINT", "17")]),
    ]
}
