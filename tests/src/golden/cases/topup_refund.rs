//! The operator refunds a top-up to the card: money and points are held before the PSP is called. A top-up of 5,000
//! earned 50 points; a refund of 2,000 settles 20 of them.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::Value as Json;

fn refunding(id: &'static str, why: &'static str, amount: Option<&str>) -> Case {
    let amount: Option<Money> = amount.map(yen);
    let reason = "asked for it".to_owned();
    let does = Does::TopupRefund { actor: BY_STAFF.to_owned(), topup: TOPUP.to_owned(), amount, reason, psp: psp() };
    Case::new(id, why, Some(refund_by_staff()), does)
}

fn partial(id: &'static str, why: &'static str) -> Case {
    refunding(id, why, Some("2000"))
}

fn base(topup: Json, money: &str, points: &str) -> Vec<Json> {
    vec![offering(), topup, account("ECOPAY", money, "0", "0"), account("POINT", points, "0", "0")]
}

fn forgiven(state: Vec<Json>) -> Vec<Json> {
    state.into_iter().map(|item| if item["type"] == s("CONFIG") { forgiving() } else { item }).collect()
}

/// A top-up of 100 yen that earned 100 points.
fn generous() -> Json {
    let topup = with(with(succeeded("100", "0"), "charge", n("100")), "points", n("100"));
    with(topup, "refundable", n("100"))
}

pub(super) fn cases() -> Vec<Case> {
    let whole = || succeeded("5000", "0");
    let money = [(OF_A, "ECOPAY", "-2000"), (OF_A, HELD, "2000")];
    let mut all = vec![
        refunding("topup_refund/full", "All of it, with all of its points.", None)
            .on(base(whole(), "9000", "60"))
            .moves(&[
                (OF_A, "ECOPAY", "-5000"),
                (OF_A, HELD, "5000"),
                (OF_A, "POINT", "-50"),
                (OF_A, HELD_POINTS, "50"),
            ]),
        partial("topup_refund/partial", "A part of it, with its share of the points.")
            .on(base(whole(), "2000", "20"))
            .moves(&money)
            .moves(&[(OF_A, "POINT", "-20"), (OF_A, HELD_POINTS, "20")])
            .precedence(),
        refunding("topup_refund/rest", "The last refund takes the points that rounding has left.", None)
            .on(base(with(succeeded("4999", "0"), "points", n("51")), "4999", "51"))
            .moves(&[
                (OF_A, "ECOPAY", "-4999"),
                (OF_A, HELD, "4999"),
                (OF_A, "POINT", "-51"),
                (OF_A, HELD_POINTS, "51"),
            ]),
        refunding("topup_refund/too-small-for-a-point", "Points are rounded down: none is taken back.", Some("99"))
            .on(base(whole(), "9000", "60"))
            .moves(&[(OF_A, "ECOPAY", "-99"), (OF_A, HELD, "99")]),
        partial("topup_refund/without-points", "It had come with none.")
            .on([offering(), without(whole(), "points"), account("ECOPAY", "2000", "0", "0")])
            .moves(&money),
        partial("topup_refund/points-more-than-needed", "It is enough that the points still cover it.")
            .seen([account("POINT", "20", "0", "0")])
            .on(base(whole(), "2000", "400"))
            .moves(&money)
            .moves(&[(OF_A, "POINT", "-20"), (OF_A, HELD_POINTS, "20")]),
        partial("topup_refund/beside-another", "What is held for another refund stays held.")
            .on([offering(), succeeded("3000", "20")])
            .on([account("ECOPAY", "2000", "2000", "700"), account("POINT", "20", "20", "0")])
            .moves(&money)
            .moves(&[(OF_A, "POINT", "-20"), (OF_A, HELD_POINTS, "20")]),
    ];
    all.extend(spent());
    all.extend(refused());
    all
}

fn spent() -> Vec<Case> {
    let whole = || succeeded("5000", "0");
    let money = [(OF_A, "ECOPAY", "-2000"), (OF_A, HELD, "2000")];
    let seven = [(OF_A, "POINT", "-7"), (OF_A, HELD_POINTS, "7")];
    vec![
        partial("topup_refund/points-spent-deducted", "7 of 20 are left: the card gets 13 yen less.")
            .on(base(whole(), "2000", "7"))
            .moves(&money)
            .moves(&seven),
        partial("topup_refund/points-spent-forgiven", "7 of 20 are left, and the tenant forgives the others.")
            .on(forgiven(base(whole(), "2000", "7")))
            .moves(&money)
            .moves(&seven),
        partial("topup_refund/points-all-spent-deducted", "None is left: the points are looked at, not changed.")
            .on(base(whole(), "2000", "0"))
            .moves(&money),
        partial("topup_refund/points-all-spent-forgiven", "None is left, and the tenant forgives.")
            .on(forgiven(base(whole(), "2000", "0")))
            .moves(&money),
        refunding("topup_refund/points-eat-the-money", "Nothing would be paid out.", None)
            .on(base(generous(), "100", "0"))
            .ends("invalid amount: is all kept for points that were spent"),
        partial("topup_refund/points-spent-meanwhile", "The points that the plan takes are gone: plan again.")
            .seen([account("POINT", "20", "0", "0")])
            .on(base(whole(), "2000", "19"))
            .ends("rejected stale_plan by points"),
        partial("topup_refund/points-earned-meanwhile", "What was short came from the read: plan again.")
            .seen([account("POINT", "7", "0", "0")])
            .on(base(whole(), "2000", "8"))
            .ends("rejected stale_plan by points"),
        partial("topup_refund/points-earned-after-all", "None was there when it was read: plan again.")
            .seen([account("POINT", "0", "0", "0")])
            .on(base(whole(), "2000", "1"))
            .ends("rejected stale_plan by points"),
    ]
}

fn refused() -> Vec<Case> {
    let whole = || succeeded("5000", "0");
    vec![
        refunding("topup_refund/one-over", "More than was topped up.", Some("5001"))
            .on(base(whole(), "9000", "60"))
            .ends("refused over_refund"),
        partial("topup_refund/one-over-the-rest", "More than is left.")
            .on(base(succeeded("1999", "30"), "9000", "60"))
            .ends("refused over_refund"),
        refunding("topup_refund/nothing-left", "It has been refunded.", None)
            .on(base(succeeded("0", "50"), "9000", "60"))
            .ends("refused over_refund"),
        partial("topup_refund/overtaken", "Another refund came in between: plan again.")
            .seen([whole()])
            .on(base(succeeded("3000", "20"), "9000", "60"))
            .ends("rejected stale_plan by topup"),
        partial("topup_refund/not-paid", "What has not been paid cannot be refunded.")
            .on(base(pending(), "9000", "60"))
            .ends("refused wrong_state"),
        partial("topup_refund/canceled", "Nor what never will be.")
            .on(base(canceled(), "9000", "60"))
            .ends("refused wrong_state"),
        partial("topup_refund/short", "One yen has been spent.")
            .on(base(whole(), "1999", "60"))
            .ends("rejected insufficient by payer"),
        partial("topup_refund/held-is-not-there", "What is held cannot be held twice.")
            .on([offering(), whole(), account("ECOPAY", "0", "2000", "0"), account("POINT", "60", "0", "0")])
            .ends("rejected insufficient by payer"),
        partial("topup_refund/frozen", "Nothing leaves a frozen account.")
            .on([offering(), whole(), frozen(account("ECOPAY", "9000", "0", "0")), account("POINT", "60", "0", "0")])
            .ends("rejected account_frozen by payer"),
        partial("topup_refund/in-flight", "The same request while the first is at the provider.")
            .on(base(whole(), "9000", "60"))
            .on([refund_in_flight()])
            .ends("in_flight"),
        refunding("topup_refund/fraction-of-a-yen", "The yen has no decimals.", Some("0.5"))
            .on(base(whole(), "9000", "60"))
            .ends("invalid amount: too_many_decimals"),
    ]
}
