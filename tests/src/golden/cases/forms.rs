//! The other forms alone, each sealed with an entry against the tenant's account `adjustments`: deduct, credit, top-up
//! under a cap, mirror, both directions at once, aggregates.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::{Value as Json, json};

fn case(id: &'static str, why: &'static str, does: Does) -> Case {
    Case::new(id, why, Some(by_staff("adjustment_approve", "/v1/admin/adjustments/x/approve", json!({}))), does)
}

fn deduct(id: &'static str, why: &'static str, amount: Money) -> Case {
    case(id, why, Does::Deduct { account: OF_A.to_owned(), amount })
}

fn top_up(id: &'static str, why: &'static str, charge: &str, bonus: Option<&str>) -> Case {
    let (charge, bonus, cap) = (yen(charge), bonus.map(yen), yen("50000"));
    case(id, why, Does::TopUp { account: OF_A.to_owned(), charge, bonus, cap })
}

fn settle(id: &'static str, why: &'static str, out: Option<&str>, in_: Option<&str>) -> Case {
    let point = |amount: &str| money("POINT", amount);
    let (out, r#in) = (out.map(point), in_.map(point));
    let short = "insufficient".to_owned();
    case(id, why, Does::Settle { account: OF_A.to_owned(), out, r#in, short, frozen_too: true })
}

fn against(
    adjusted: &'static str,
    asset: &'static str,
    change: &'static str,
    other: &'static str,
) -> [(&'static str, &'static str, &'static str); 2] {
    [(adjusted, asset, change), ("adjustments", asset, other)]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = deducts();
    all.extend(credits());
    all.extend(top_ups());
    all.extend(others());
    all
}

fn deducts() -> Vec<Case> {
    let held = || -> Json {
        let wallet = with(wallet(A, "ECOPAY", "500"), "held", n("1000"));
        with(wallet, "exposure", n("1500"))
    };
    vec![
        deduct("forms/deduct", "The balance holds more than the amount.", yen("1000"))
            .on([wallet(A, "ECOPAY", "5000")])
            .moves(&against(OF_A, "ECOPAY", "-1000", "1000")),
        deduct("forms/deduct-to-zero", "The balance holds just the amount.", yen("1000"))
            .on([wallet(A, "ECOPAY", "1000")])
            .moves(&against(OF_A, "ECOPAY", "-1000", "1000")),
        deduct("forms/deduct-one-short", "The balance holds one yen less.", yen("1000"))
            .on([wallet(A, "ECOPAY", "999")])
            .ends("rejected insufficient by payer"),
        deduct("forms/deduct-frozen", "A frozen account is not debited.", yen("1000"))
            .on([frozen(wallet(A, "ECOPAY", "5000"))])
            .ends("rejected account_frozen by payer"),
        deduct("forms/deduct-frozen-and-short", "Frozen comes before short.", yen("1000"))
            .on([frozen(wallet(A, "ECOPAY", "1"))])
            .ends("rejected account_frozen by payer"),
        deduct("forms/deduct-missing", "There is no such account.", yen("1000"))
            .ends("rejected account_missing by payer"),
        deduct("forms/deduct-held", "What is held cannot be spent.", yen("1000"))
            .on([held()])
            .ends("rejected insufficient by payer"),
        deduct("forms/deduct-decimals", "Carbon credits have three decimals.", money("JCREDIT", "0.001"))
            .on([wallet(A, "JCREDIT", "1.5")])
            .moves(&against(OF_A, "JCREDIT", "-0.001", "0.001")),
        deduct("forms/deduct-same-value", "100.0 is 100: an amount counts by its value.", yen("100.0"))
            .on([wallet(A, "ECOPAY", "5000")])
            .moves(&against(OF_A, "ECOPAY", "-100", "100")),
        deduct("forms/deduct-too-many-decimals", "The yen has no decimals.", yen("1.5"))
            .ends("invalid amount: too_many_decimals"),
        deduct("forms/deduct-negative", "An amount is greater than zero.", yen("-0.5"))
            .ends("invalid amount: not_positive"),
        deduct("forms/deduct-zero", "An amount is greater than zero.", yen("0")).ends("invalid amount: not_positive"),
        deduct("forms/deduct-exponent", "An exponent is refused.", yen("1e3")).ends("invalid amount: exponent"),
        deduct("forms/deduct-largest", "The largest amount there is.", yen("999999999999999"))
            .on([wallet(A, "ECOPAY", "999999999999999")])
            .moves(&against(OF_A, "ECOPAY", "-999999999999999", "999999999999999")),
        deduct("forms/deduct-too-large", "One more is too large.", yen("1000000000000000"))
            .ends("invalid amount: too_large"),
    ]
}

fn credits() -> Vec<Case> {
    let credit = |id, why| case(id, why, Does::Credit { account: OF_A.to_owned(), amount: yen("250") });
    vec![
        credit("forms/credit", "An account that exists is credited.")
            .on([wallet(A, "ECOPAY", "0")])
            .moves(&against(OF_A, "ECOPAY", "250", "-250")),
        credit("forms/credit-frozen", "A freeze does not stop a credit.")
            .on([frozen(wallet(A, "ECOPAY", "5000"))])
            .moves(&against(OF_A, "ECOPAY", "250", "-250")),
        credit("forms/credit-missing", "A mistyped recipient never swallows money.")
            .ends("rejected account_missing by payee"),
    ]
}

fn top_ups() -> Vec<Case> {
    let exposed = |exposure| with(wallet(A, "ECOPAY", "40000"), "exposure", n(exposure));
    vec![
        top_up("forms/top-up-at-the-cap", "The charge just reaches the cap.", "5000", None)
            .on([wallet(A, "ECOPAY", "45000")])
            .moves(&against(OF_A, "ECOPAY", "5000", "-5000")),
        top_up("forms/top-up-one-over-the-cap", "The charge would pass the cap by one.", "5000", None)
            .on([wallet(A, "ECOPAY", "45001")])
            .ends("rejected cap_exceeded by payee"),
        top_up("forms/top-up-bonus-passes-the-cap", "The bonus may pass the cap.", "5000", Some("250"))
            .on([wallet(A, "ECOPAY", "45000")])
            .moves(&against(OF_A, "ECOPAY", "5250", "-5250")),
        top_up("forms/top-up-of-the-whole-cap", "A charge of just the cap needs an empty account.", "50000", None)
            .on([wallet(A, "ECOPAY", "0")])
            .moves(&against(OF_A, "ECOPAY", "50000", "-50000")),
        top_up("forms/top-up-of-the-whole-cap-on-one", "One yen is too much for it.", "50000", None)
            .on([wallet(A, "ECOPAY", "1")])
            .ends("rejected cap_exceeded by payee"),
        top_up("forms/top-up-above-the-cap", "A charge above the cap alone is refused before.", "50001", None)
            .on([wallet(A, "ECOPAY", "0")])
            .ends("refused cap_exceeded"),
        top_up("forms/top-up-beside-reserved", "What is held or reserved counts against the cap.", "5000", None)
            .on([exposed("45001")])
            .ends("rejected cap_exceeded by payee"),
        top_up("forms/top-up-missing", "There is no such account.", "5000", None)
            .ends("rejected account_missing by payee"),
    ]
}

fn others() -> Vec<Case> {
    let mirror = |id, why, delta: Option<Money>| case(id, why, Does::Mirror { account: OF_A.to_owned(), delta });
    let metrics = |id, why, paid: Option<Money>, refunded: Option<Money>| {
        case(id, why, Does::Metrics { customer: A.to_owned(), paid, refunded, co2_rate: "0.01".to_owned() })
    };
    let points = |balance| wallet(A, "POINT", balance);
    vec![
        mirror("forms/mirror", "The same delta on another item, unguarded.", Some(money("POINT", "-30")))
            .on([points("100")])
            .moves(&against(OF_A, "POINT", "-30", "30")),
        mirror("forms/mirror-no-change", "No change, no item.", None).on([points("100")]),
        settle("forms/settle-both-ways", "Out and in are one action, guarded on what leaves.", Some("500"), Some("17"))
            .on([points("500")])
            .moves(&against(OF_A, "POINT", "-483", "483")),
        settle(
            "forms/settle-not-from-what-comes",
            "What comes in does not pay for what leaves.",
            Some("500"),
            Some("17"),
        )
        .on([points("499")])
        .ends("rejected insufficient by points"),
        settle("forms/settle-cancels-out", "Where both cancel out, the guard alone remains.", Some("17"), Some("17"))
            .on([points("17")]),
        settle("forms/settle-cancels-out-but-short", "And it still refuses.", Some("17"), Some("17"))
            .on([points("16")])
            .ends("rejected insufficient by points"),
        settle("forms/settle-in-only", "A freeze does not stop what comes.", None, Some("17"))
            .on([frozen(points("0"))])
            .moves(&against(OF_A, "POINT", "17", "-17")),
        settle("forms/settle-out-frozen", "It stops what leaves.", Some("17"), None)
            .on([frozen(points("100"))])
            .ends("rejected account_frozen by points"),
        settle("forms/settle-nothing", "Neither way, no item.", None, None).on([points("1")]),
        metrics("forms/metrics-paid", "The aggregates need not exist.", Some(yen("3240")), None),
        metrics("forms/metrics-refunded", "A refund takes its CO2 off.", None, Some(yen("1240"))).on([item(
            "customer",
            A,
            "METRICS",
            json!({ "co2_total": n("32.4"), "payments": n("1"), "paid_total": n("3240") }),
        )]),
    ]
}
