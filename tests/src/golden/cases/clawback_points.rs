//! Clawbacks of top-ups with points: points are taken in proportion, owed where they are held, and deducted or forgiven
//! where they were spent. What is returned pays the wallet's debt first.

use super::Case;
use super::clawback::*;
use super::outside::*;
use super::world::*;
use serde_json::Value as Json;

/// A balance item with this debt.
pub(super) fn in_debt(asset: &str, balance: &str, owed: &str) -> Json {
    with(account(asset, balance, "0", "0"), "owed", n(owed))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = for_points();
    all.extend(for_points_returned());
    all
}

/// Points of the top-up of which some are held or spent.
fn for_points() -> Vec<Case> {
    let issued = |points: &'static str| ("points_issued", "POINT", points);
    vec![
        case("clawback/without-points", "None came with the top-up: the points are not looked at.", withdrawn("5000"))
            .on([without(succeeded("5000", "0"), "points"), account("ECOPAY", "5000", "0", "0")])
            .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED]),
        case("clawback/points-spent-deducted", "43 of 50 were spent: 43 yen are taken for them.", withdrawn("5000"))
            .on([offering()])
            .on(with_points("6000", "7"))
            .moves(&[(OF_A, "ECOPAY", "-5043"), CLEARED, ("points_issued", "ECOPAY", "43")])
            .moves(&[(OF_A, "POINT", "-7"), issued("7")])
            .precedence(),
        case("clawback/points-spent-owed", "The wallet owes the yen for spent points too.", withdrawn("5000"))
            .on([offering()])
            .on(with_points("1000", "0"))
            .moves(&[(OF_A, "ECOPAY", "-1000"), CLEARED, ("points_issued", "ECOPAY", "50")])
            .moves(&[("disputes", "ECOPAY", "-4050")]),
        case("clawback/points-spent-forgiven", "Or the tenant forgives them.", withdrawn("5000"))
            .on([forgiving()])
            .on(with_points("6000", "7"))
            .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED, (OF_A, "POINT", "-7"), issued("7")]),
        case("clawback/points-all-spent-forgiven", "All of them: the points are looked at.", withdrawn("5000"))
            .on([forgiving()])
            .on(with_points("6000", "0"))
            .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED]),
        case("clawback/points-held", "Points that are held are owed, whatever the terms.", withdrawn("5000"))
            .on([forgiving(), succeeded("5000", "0"), account("ECOPAY", "5000", "0", "0")])
            .on([account("POINT", "10", "45", "0")])
            .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED])
            .moves(&[(OF_A, "POINT", "-10"), issued("50"), ("disputes", "POINT", "-40")])
            .precedence(),
        case("clawback/points-all-held", "All of them: none can be taken yet.", withdrawn("5000"))
            .on([offering(), succeeded("5000", "0"), account("ECOPAY", "5000", "0", "0")])
            .on([account("POINT", "0", "60", "0")])
            .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED, issued("50"), ("disputes", "POINT", "-50")]),
        case("clawback/points-released-meanwhile", "What was held came back: plan again.", withdrawn("5000"))
            .seen([account("POINT", "10", "45", "0")])
            .on([offering(), succeeded("5000", "0"), account("ECOPAY", "5000", "0", "0")])
            .on([account("POINT", "55", "0", "0")])
            .ends("rejected stale_plan by points"),
        case("clawback/points-after-a-refund", "A refund has settled 20 of 50.", withdrawn("3000"))
            .on([succeeded("3000", "20"), account("ECOPAY", "3000", "0", "0"), account("POINT", "30", "0", "0")])
            .moves(&[(OF_A, "ECOPAY", "-3000"), ("stripe_clearing", "ECOPAY", "3000")])
            .moves(&[(OF_A, "POINT", "-30"), issued("30")]),
        case(
            "clawback/more-than-is-left",
            "Beside a refund of 2,000: what both take is more than it was.",
            withdrawn("5000"),
        )
        .on([succeeded("3000", "20"), account("ECOPAY", "3000", "0", "0"), account("POINT", "30", "0", "0")])
        .moves(&[(OF_A, "ECOPAY", "-3000"), CLEARED, ("disputes", "ECOPAY", "-2020")])
        .moves(&[(OF_A, "POINT", "-30"), issued("30"), ("points_issued", "ECOPAY", "20")]),
        case("clawback/points-unread", "How many are taken comes from a read.", withdrawn("5000"))
            .on(base("5000"))
            .ends("refused stale_plan"),
    ]
}

/// What was taken for the points is returned with the money, and pays the wallet's debt first.
fn for_points_returned() -> Vec<Case> {
    let lowered = || with(with(succeeded("5000", "0"), "refundable", n("0")), "points_taken_back", n("50"));
    let taken = |points: &str, kept: Option<&str>| {
        let taken = with(with(lowering(record(DISPUTE, "5000", "taken")), "points", n(points)), "settled", n("50"));
        match kept {
            Some(kept) => with(taken, "kept", n(kept)),
            None => taken,
        }
    };
    let gives = ("stripe_clearing", "ECOPAY", "-5000");
    vec![
        case("clawback/reinstated-with-points", "The points come back too.", reinstated("5000"))
            .on([lowered(), taken("50", None), account("ECOPAY", "0", "0", "0"), account("POINT", "1", "0", "0")])
            .moves(&[(OF_A, "ECOPAY", "5000"), gives, (OF_A, "POINT", "50"), ("points_issued", "POINT", "-50")])
            .precedence(),
        case("clawback/reinstated-with-yen", "And the yen for those that were spent.", reinstated("5000"))
            .on([lowered(), taken("7", Some("43")), account("ECOPAY", "0", "0", "0"), account("POINT", "1", "0", "0")])
            .moves(&[(OF_A, "ECOPAY", "5043"), gives, ("points_issued", "ECOPAY", "-43")])
            .moves(&[(OF_A, "POINT", "7"), ("points_issued", "POINT", "-7")]),
        case("clawback/reinstated-in-debt", "What the wallet owes is paid first.", reinstated("5000"))
            .on([lowered(), taken("50", None)])
            .on([in_debt("ECOPAY", "9", "3500"), in_debt("POINT", "0", "40")])
            .moves(&[(OF_A, "ECOPAY", "1500"), gives, ("disputes", "ECOPAY", "3500")])
            .moves(&[(OF_A, "POINT", "10"), ("points_issued", "POINT", "-50"), ("disputes", "POINT", "40")])
            .precedence(),
        case(
            "clawback/reinstated-in-more-debt",
            "And no more than it is: the wallet gets nothing.",
            reinstated("5000"),
        )
        .on([lowered(), taken("50", None)])
        .on([in_debt("ECOPAY", "9", "7000"), in_debt("POINT", "0", "50")])
        .moves(&[gives, ("disputes", "ECOPAY", "5000")])
        .moves(&[("points_issued", "POINT", "-50"), ("disputes", "POINT", "50")]),
        case("clawback/reinstated-as-it-owes", "A further dispute came in between: plan again.", reinstated("5000"))
            .seen([account("ECOPAY", "9", "0", "0")])
            .on([lowered(), taken("50", None), in_debt("ECOPAY", "9", "1"), account("POINT", "0", "0", "0")])
            .ends("rejected stale_plan by payee"),
        case("clawback/reinstated-as-it-paid", "A hold came back in between: plan again.", reinstated("5000"))
            .seen([in_debt("ECOPAY", "9", "500")])
            .on([lowered(), taken("50", None), in_debt("ECOPAY", "9", "0"), account("POINT", "0", "0", "0")])
            .ends("rejected stale_plan by payee"),
        case(
            "clawback/taken-again-for-points",
            "What it takes for points is counted anew.",
            listing(withdrawn("5000"), "3"),
        )
        .on([with(taken("7", Some("43")), "state", s("returned"))])
        .on(with_points("5000", "50"))
        .moves(&[(OF_A, "ECOPAY", "-5000"), CLEARED])
        .moves(&POINTS_OUT),
    ]
}
