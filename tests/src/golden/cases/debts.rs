//! Value that returns to a wallet in debt: a released hold, the uncaptured part of one, a refunded payment, a failed
//! card refund. It pays the debt first; newly earned points do not.

use super::Case;
use super::clawback_points::in_debt;
use super::holds::{base as held_500, capture, of_500, three_assets as three_held};
use super::holds_ended::{base_over, expire, void};
use super::outside::*;
use super::refund::{self as refunds, case as refund, in_money};
use super::topup_refund_events::{after_payout, holding as refund_held, known, refund_event};
use super::world::*;
use serde_json::Value as Json;

const HELD_OUT: (&str, &str, &str) = (OF_A, HELD, "-500");

/// The state in which the balance of an asset has this debt.
fn owing(state: impl IntoIterator<Item = Json>, asset: &str, owed: &str) -> Vec<Json> {
    let key = s(format!("BALANCE#{asset}"));
    state.into_iter().map(|item| if item["type"] == key { with(item, "owed", n(owed)) } else { item }).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = released();
    all.extend(captured());
    all.extend(refunded());
    all.extend(card_refunds());
    all
}

fn released() -> Vec<Case> {
    let part = [HELD_OUT, (OF_A, "ECOPAY", "380"), ("disputes", "ECOPAY", "120")];
    let all = [HELD_OUT, ("disputes", "ECOPAY", "500")];
    vec![
        void("void/owing", "The wallet owes 120: the rest of 500 can be spent.")
            .on(owing(held_500(), "ECOPAY", "120"))
            .moves(&part)
            .precedence(),
        void("void/owing-more", "It owes more than comes back.").on(owing(held_500(), "ECOPAY", "501")).moves(&all),
        void("void/owed-and-paid", "A debt that was paid is none.")
            .on(owing(held_500(), "ECOPAY", "0"))
            .moves(&[HELD_OUT, (OF_A, "ECOPAY", "500")]),
        void("void/owing-unread", "The first plan has not read the debt: plan again.")
            .seen([super::holds::holding("ECOPAY", "100", "500")])
            .on(owing(held_500(), "ECOPAY", "1"))
            .ends("rejected stale_plan by payer"),
        void("void/paid-meanwhile", "The debt was paid in between: plan again.")
            .seen([in_debt("ECOPAY", "100", "120")])
            .on(held_500())
            .ends("rejected stale_plan by payer"),
        void("void/three-assets-owing", "Points pay points, money pays money; regional currency is never owed.")
            .on(owing(owing(three_held(), "ECOPAY", "740"), "POINT", "600"))
            .moves(&[(OF_A, "held of ECOPAY", "-1740"), (OF_A, "ECOPAY", "1000"), ("disputes", "ECOPAY", "740")])
            .moves(&[(OF_A, "held of POINT", "-500"), ("disputes", "POINT", "500")])
            .moves(&[(OF_A, "held of REGIONAL#aoba", "-1000"), (OF_A, "REGIONAL#aoba", "1000")]),
        expire("hold_expire/owing", "The same when its time is over.")
            .on(owing(base_over(), "ECOPAY", "120"))
            .moves(&part)
            .precedence(),
        expire("hold_expire/owing-more", "And where it owes more.").on(owing(base_over(), "ECOPAY", "900")).moves(&all),
    ]
}

fn captured() -> Vec<Case> {
    let of_merchant = (OF_MERCHANT, "ECOPAY", "300");
    vec![
        capture("capture/part-owing", "Of 200 that are released, 120 are owed.", Some(yen("300")))
            .on(owing(held_500(), "ECOPAY", "120"))
            .moves(&[HELD_OUT, of_merchant, (OF_A, "ECOPAY", "80"), ("disputes", "ECOPAY", "120")])
            .moves(&[(OF_A, "POINT", "3"), ("points_issued", "POINT", "-3")])
            .precedence(),
        capture("capture/part-owing-more", "All that is released.", Some(yen("300")))
            .on(owing(held_500(), "ECOPAY", "201"))
            .moves(&[HELD_OUT, of_merchant, ("disputes", "ECOPAY", "200")])
            .moves(&[(OF_A, "POINT", "3"), ("points_issued", "POINT", "-3")]),
        capture("capture/full-owing", "Nothing is released: the debt stays. Fresh points do not pay points.", None)
            .on(owing(owing(held_500(), "ECOPAY", "120"), "POINT", "9"))
            .moves(&[HELD_OUT, (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")]),
        capture("capture/part-owing-unread", "The first plan has not read the debt: plan again.", Some(yen("300")))
            .seen([super::holds::holding("ECOPAY", "100", "500"), of_500()])
            .on(owing(held_500(), "ECOPAY", "1"))
            .ends("rejected stale_plan by payer"),
        capture("capture/three-assets-1-owing", "Points that are released with some captured.", Some(yen("1")))
            .on(owing(three_held(), "POINT", "400"))
            .moves(&[(OF_A, "held of ECOPAY", "-1740"), (OF_A, "ECOPAY", "1740")])
            .moves(&[(OF_A, "held of POINT", "-500"), (OF_A, "POINT", "99"), ("disputes", "POINT", "400")])
            .moves(&[(OF_MERCHANT, "POINT", "1")])
            .moves(&[(OF_A, "held of REGIONAL#aoba", "-1000"), (OF_A, "REGIONAL#aoba", "1000")]),
    ]
}

fn refunded() -> Vec<Case> {
    let points = [(OF_A, "POINT", "-17"), ("points_issued", "POINT", "17")];
    let by_points = || payment(OF_A, ("ECOPAY", "500"), &[("point", "500", "500")]);
    vec![
        refund("refund/owing", "What comes back of a payment pays the debt first.", None)
            .on(owing(refunds::base(in_money(), "0", "17"), "ECOPAY", "740"))
            .moves(&[(OF_A, "ECOPAY", "1000"), (OF_MERCHANT, "ECOPAY", "-1740"), ("disputes", "ECOPAY", "740")])
            .moves(&points)
            .precedence(),
        refund("refund/owing-more", "All of it.", None)
            .on(owing(refunds::base(in_money(), "3", "17"), "ECOPAY", "1741"))
            .moves(&[(OF_MERCHANT, "ECOPAY", "-1740"), ("disputes", "ECOPAY", "1740")])
            .moves(&points),
        refund("refund/owing-unread", "The first plan has not read the debt: plan again.", None)
            .seen([wallet(A, "ECOPAY", "0")])
            .on(owing(refunds::base(in_money(), "0", "17"), "ECOPAY", "1"))
            .ends("rejected stale_plan by payee"),
        refund("refund/points-owing", "Points that come back pay owed points.", None)
            .on(owing(refunds::base(by_points(), "0", "17"), "POINT", "120"))
            .moves(&[(OF_A, "POINT", "380"), (OF_MERCHANT, "POINT", "-500"), ("disputes", "POINT", "120")])
            .precedence(),
        refund("refund/points-owing-more", "All of them.", None)
            .on(owing(refunds::base(by_points(), "0", "17"), "POINT", "900"))
            .moves(&[(OF_MERCHANT, "POINT", "-500"), ("disputes", "POINT", "500")]),
    ]
}

fn card_refunds() -> Vec<Case> {
    let refund = || known("pending");
    vec![
        refund_event("topup_refund_events/failed-in-debt", "What was held pays the debt first.", "failed")
            .on(owing(owing(refund_held(refund()), "ECOPAY", "1500"), "POINT", "20"))
            .moves(&[(OF_A, HELD, "-2000"), (OF_A, "ECOPAY", "500"), ("disputes", "ECOPAY", "1500")])
            .moves(&[(OF_A, HELD_POINTS, "-20"), ("disputes", "POINT", "20")])
            .precedence(),
        refund_event("topup_refund_events/failed-after-paid-in-debt", "And what had been paid out.", "failed")
            .on(owing(owing(after_payout(known("succeeded")), "ECOPAY", "2500"), "POINT", "5"))
            .moves(&[("stripe_clearing", "ECOPAY", "-2000"), ("disputes", "ECOPAY", "2000")])
            .moves(&[(OF_A, "POINT", "15"), ("points_issued", "POINT", "-20"), ("disputes", "POINT", "5")])
            .precedence(),
        refund_event(
            "topup_refund_events/failed-owing-both",
            "First what an earlier release wrote on the top-up.",
            "failed",
        )
        .on(owing(refund_held(refund()), "ECOPAY", "700")
            .into_iter()
            .map(|item| if item["type"] == s("TOPUP") { with(item, "owed", n("1000")) } else { item }))
        .moves(&[(OF_A, HELD, "-2000"), (OF_A, "ECOPAY", "300"), ("disputes", "ECOPAY", "1700")])
        .moves(&[(OF_A, HELD_POINTS, "-20"), (OF_A, "POINT", "20")]),
    ]
}
