//! Refunds, partial and full: never above what was paid, money first, then regional currency, then points. Each value
//! that a plan took from its read is guarded.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::{Value as Json, json};

pub(super) fn case(id: &'static str, why: &'static str, amount: Option<Money>) -> Case {
    let path = format!("/v1/merchant/payments/{PAYMENT}/refunds");
    let fields = amount.as_ref().map_or(json!({}), |amount| json!({ "amount": amount.amount }));
    let does = Does::Refund {
        merchant: MERCHANT.to_owned(),
        payment: PAYMENT.to_owned(),
        amount,
        reason: None,
        terminal: None,
    };
    Case::new(id, why, Some(by_merchant("refund", &path, fields)), does)
}

fn of_yen(id: &'static str, why: &'static str, amount: &str) -> Case {
    case(id, why, Some(yen(amount)))
}

/// 1,740 in money, which earned 17 points.
pub(super) fn in_money() -> Json {
    earning(payment(OF_A, ("ECOPAY", "1740"), &[("ecopay", "1740", "1740")]), "17", "17.4")
}

pub(super) fn earning(payment: Json, points: &str, co2: &str) -> Json {
    let payment = with(with(payment, "points_earned", n(points)), "co2", n(co2));
    with(payment, "co2_rate", n("0.01"))
}

/// A payment that is partly refunded.
fn partly(payment: Json, left: &[(&str, &str)], taken_back: &str) -> Json {
    let payment = with(with(payment, "state", s("partially_refunded")), "points_taken_back", n(taken_back));
    left.iter().fold(payment, |payment, (suffix, left)| with(payment, &format!("refundable_{suffix}"), n(left)))
}

/// 3,240 as 500 points, 1,000 regional and 1,740 money.
fn three_assets() -> Json {
    let parts = [("ecopay", "1740", "1740"), ("regional_aoba", "1000", "1000"), ("point", "500", "500")];
    earning(payment(OF_A, ("ECOPAY", "3240"), &parts), "17", "32.4")
}

fn after_1240() -> Json {
    partly(three_assets(), &[("ecopay", "500")], "12")
}

pub(super) fn base(payment: Json, ecopay: &str, point: &str) -> Vec<Json> {
    vec![config(), merchant(), payment, wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", point)]
}

fn three_wallets(payment: Json, point: &str) -> Vec<Json> {
    let mut items = base(payment, "0", point);
    items.push(wallet(A, "REGIONAL#aoba", "0"));
    items
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = refunded();
    all.extend(in_parts());
    all.extend(refused());
    all
}

fn refunded() -> Vec<Case> {
    vec![
        of_yen("refund/partial", "17 x 600 / 1740 points are 5.86: 5 come back.", "600")
            .supersedes()
            .on(base(in_money(), "0", "17"))
            .moves(&[(OF_A, "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")])
            .moves(&[(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")])
            .precedence(),
        case("refund/full", "All that is left, and every earned point.", None)
            .supersedes()
            .on(base(in_money(), "0", "17"))
            .moves(&[(OF_A, "ECOPAY", "1740"), (OF_MERCHANT, "ECOPAY", "-1740")])
            .moves(&[(OF_A, "POINT", "-17"), ("points_issued", "POINT", "17")]),
        of_yen("refund/rest", "The refund that completes the money takes the rest of the points.", "1140")
            .supersedes()
            .on(base(partly(in_money(), &[("ecopay", "1140")], "5"), "600", "12"))
            .moves(&[(OF_A, "ECOPAY", "1140"), (OF_MERCHANT, "ECOPAY", "-1140")])
            .moves(&[(OF_A, "POINT", "-12"), ("points_issued", "POINT", "12")]),
        of_yen("refund/too-small-for-a-point", "17 x 100 / 1740 is less than a point: none comes back.", "100")
            .supersedes()
            .on(base(in_money(), "0", "0"))
            .moves(&[(OF_A, "ECOPAY", "100"), (OF_MERCHANT, "ECOPAY", "-100")]),
        of_yen("refund/frozen", "A freeze does not stop a refund, nor what is taken back.", "600")
            .supersedes()
            .on([config(), merchant(), in_money(), frozen(wallet(A, "ECOPAY", "0")), frozen(wallet(A, "POINT", "17"))])
            .moves(&[(OF_A, "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")])
            .moves(&[(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")]),
        of_yen("refund/past-the-cap", "A refund may pass the cap.", "600")
            .supersedes()
            .on(base(in_money(), "50000", "17"))
            .moves(&[(OF_A, "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")])
            .moves(&[(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")]),
        of_yen("refund/of-a-suspended-merchant", "Refunds are still possible.", "100")
            .supersedes()
            .on([config(), with(merchant(), "status", s("suspended")), in_money()])
            .on([wallet(A, "ECOPAY", "0"), wallet(A, "POINT", "17")])
            .moves(&[(OF_A, "ECOPAY", "100"), (OF_MERCHANT, "ECOPAY", "-100")]),
        case(
            "refund/regional",
            "A payment in a regional currency of two decimals.",
            Some(money("REGIONAL#yama", "2.34")),
        )
        .on([config(), merchant(), wallet(A, "REGIONAL#yama", "0")])
        .on([payment(OF_A, ("REGIONAL#yama", "12.34"), &[("regional_yama", "12.34", "12.34")])])
        .moves(&[(OF_A, "REGIONAL#yama", "2.34"), (OF_MERCHANT, "REGIONAL#yama", "-2.34")]),
    ]
}

fn in_parts() -> Vec<Case> {
    vec![
        of_yen("refund/three-assets-1240", "Money first: 1,240 of it, 12.40 kg and 12 points off.", "1240")
            .supersedes()
            .on(three_wallets(three_assets(), "17"))
            .moves(&[(OF_A, "ECOPAY", "1240"), (OF_MERCHANT, "ECOPAY", "-1240")])
            .moves(&[(OF_A, "POINT", "-12"), ("points_issued", "POINT", "12")]),
        of_yen("refund/three-assets-2001-more", "2,000 are left: one more is refused.", "2001")
            .on(three_wallets(after_1240(), "5"))
            .ends("refused over_refund"),
        of_yen("refund/three-assets-1600-more", "500 money, 1,000 regional, 100 of the points.", "1600")
            .supersedes()
            .on(three_wallets(after_1240(), "0"))
            .moves(&[(OF_A, "ECOPAY", "500"), (OF_MERCHANT, "ECOPAY", "-500")])
            .moves(&[(OF_A, "REGIONAL#aoba", "1000"), (OF_MERCHANT, "REGIONAL#aoba", "-1000")])
            .moves(&[(OF_A, "POINT", "95"), (OF_MERCHANT, "POINT", "-100"), ("points_issued", "POINT", "5")]),
        of_yen("refund/three-assets-2000-more", "All the rest; the points return, less those earned.", "2000")
            .supersedes()
            .on(three_wallets(after_1240(), "0"))
            .moves(&[(OF_A, "ECOPAY", "500"), (OF_MERCHANT, "ECOPAY", "-500")])
            .moves(&[(OF_A, "REGIONAL#aoba", "1000"), (OF_MERCHANT, "REGIONAL#aoba", "-1000")])
            .moves(&[(OF_A, "POINT", "495"), (OF_MERCHANT, "POINT", "-500"), ("points_issued", "POINT", "5")]),
    ]
}

fn refused() -> Vec<Case> {
    let changed = || partly(in_money(), &[("ecopay", "1140")], "5");
    let nothing_left = || with(partly(in_money(), &[("ecopay", "0")], "17"), "state", s("refunded"));
    vec![
        of_yen("refund/one-over", "One yen more than was paid.", "1741")
            .on(base(in_money(), "0", "17"))
            .ends("refused over_refund"),
        of_yen("refund/one-over-the-rest", "One yen more than is left.", "1141")
            .on(base(changed(), "600", "12"))
            .ends("refused over_refund"),
        case("refund/nothing-left", "Everything has gone back.", None)
            .on(base(nothing_left(), "1740", "0"))
            .ends("refused over_refund"),
        of_yen("refund/reversed", "A payment that was taken back cannot be refunded.", "1")
            .on(base(with(in_money(), "state", s("reversed")), "0", "17"))
            .ends("refused wrong_state"),
        of_yen("refund/overtaken", "Another refund came between the read and the write: plan again.", "1740")
            .supersedes()
            .seen([in_money(), wallet(A, "POINT", "17")])
            .on(base(changed(), "600", "12"))
            .ends("rejected stale_plan by points"),
        of_yen("refund/overtaken-points-still-there", "What is left is guarded on what was read.", "1740")
            .supersedes()
            .seen([in_money()])
            .on(base(changed(), "600", "17"))
            .ends("rejected stale_plan by payment"),
        case("refund/payer-gone", "Nobody to give it back to.", None)
            .supersedes()
            .on([config(), merchant(), in_money()])
            .seen([wallet(A, "POINT", "17")])
            .ends("rejected account_missing by payee"),
        of_yen("refund/too-many-decimals", "The yen has no decimals.", "0.5")
            .on(base(in_money(), "0", "17"))
            .ends("invalid amount: too_many_decimals"),
        of_yen("refund/negative", "An amount is greater than zero.", "-0.5")
            .on(base(in_money(), "0", "17"))
            .ends("invalid amount: not_positive"),
    ]
}
