//! Clawbacks: disputes, and refunds made at the PSP. The wallet gives what is available and owes the rest, which is
//! posted to `disputes`; what is returned pays that debt first.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{Does, FactJson};
use serde_json::{Value as Json, json};

pub(super) fn case(id: &'static str, why: &'static str, fact: FactJson) -> Case {
    let kind = match &fact {
        FactJson::Withdrawn { .. } => "charge.dispute.funds_withdrawn",
        FactJson::Reinstated { .. } => "charge.dispute.funds_reinstated",
        FactJson::Intent { .. } | FactJson::Refund { .. } => "refund.updated",
    };
    let (event, kind, topup) = (EVENT.to_owned(), kind.to_owned(), TOPUP.to_owned());
    Case::new(id, why, None, Does::TopupEvent { event, kind, fact, topup, refund: None })
}

pub(super) fn base(money: &str) -> [Json; 2] {
    [succeeded("5000", "0"), account("ECOPAY", money, "0", "0")]
}

/// A succeeded top-up with money in the wallet, and with points.
pub(super) fn with_points(money: &str, points: &str) -> [Json; 3] {
    [succeeded("5000", "0"), account("ECOPAY", money, "0", "0"), account("POINT", points, "0", "0")]
}

/// A debt as an earlier release wrote it, on the top-up.
fn owing(owed: &str) -> Json {
    with(succeeded("5000", "0"), "owed", n(owed))
}

/// The stored clawback.
pub(super) fn record(id: &str, amount: &str, state: &str) -> Json {
    item(
        "topup",
        TOPUP,
        &format!("CLAWBACK#{id}"),
        json!({
            "psp_id": s(id), "topup_id": s(TOPUP), "customer_id": s(A), "amount": n(amount), "state": s(state),
            "created_at": s(EARLIER), "updated_at": s(EARLIER),
        }),
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = taken();
    all.extend(returned());
    all.extend(again());
    all.extend(at_the_provider());
    all.extend(nothing());
    all
}

pub(super) const CLEARED: (&str, &str, &str) = ("stripe_clearing", "ECOPAY", "5000");
pub(super) const POINTS_OUT: [(&str, &str, &str); 2] = [(OF_A, "POINT", "-50"), ("points_issued", "POINT", "50")];

fn taken() -> Vec<Case> {
    let whole = [(OF_A, "ECOPAY", "-5000"), CLEARED];
    let partly = [(OF_A, "ECOPAY", "-1500"), CLEARED, ("disputes", "ECOPAY", "-3500")];
    let points = |points: &str| account("POINT", points, "0", "0");
    vec![
        case("clawback/covered", "The wallet holds it all, and the points that came with it.", withdrawn("5000"))
            .on(with_points("5000", "50"))
            .moves(&whole)
            .moves(&POINTS_OUT)
            .precedence()
            .supersedes()
            .supersedes(),
        case("clawback/covered-meanwhile", "It is enough that the wallet still does.", withdrawn("5000"))
            .seen([account("ECOPAY", "5000", "0", "0"), points("50")])
            .on(with_points("8000", "80"))
            .moves(&whole)
            .moves(&POINTS_OUT)
            .supersedes()
            .supersedes(),
        case("clawback/covered-from-frozen", "A freeze does not stop it.", withdrawn("5000"))
            .on([succeeded("5000", "0"), frozen(account("ECOPAY", "5000", "0", "0")), frozen(points("50"))])
            .moves(&whole)
            .moves(&POINTS_OUT)
            .supersedes()
            .supersedes(),
        case("clawback/partly-covered", "The wallet owes the rest.", withdrawn("5000"))
            .on(with_points("1500", "50"))
            .moves(&partly)
            .moves(&POINTS_OUT)
            .precedence()
            .supersedes()
            .supersedes(),
        case("clawback/not-covered", "Nothing is there: the wallet owes it all.", withdrawn("5000"))
            .on(with_points("0", "50"))
            .moves(&[CLEARED, ("disputes", "ECOPAY", "-5000")])
            .moves(&POINTS_OUT)
            .precedence()
            .supersedes()
            .supersedes(),
        case("clawback/what-is-held-stays", "What is held is owed until it comes back.", withdrawn("5000"))
            .on([succeeded("5000", "0"), account("ECOPAY", "1500", "2000", "0"), points("50")])
            .moves(&partly)
            .moves(&POINTS_OUT)
            .supersedes()
            .supersedes(),
        case("clawback/of-a-part", "A dispute of less than the charge, too small for a point.", withdrawn("1"))
            .on(with_points("5000", "50"))
            .moves(&[(OF_A, "ECOPAY", "-1"), ("stripe_clearing", "ECOPAY", "1")])
            .supersedes()
            .supersedes(),
        case("clawback/second", "Beside another, whose rest still stands.", withdrawn("1000"))
            .on([owing("500"), record("dp_0", "2000", "taken"), account("ECOPAY", "400", "0", "0"), points("50")])
            .moves(&[(OF_A, "ECOPAY", "-400"), ("stripe_clearing", "ECOPAY", "1000"), ("disputes", "ECOPAY", "-600")])
            .moves(&[(OF_A, "POINT", "-10"), ("points_issued", "POINT", "10")])
            .supersedes()
            .supersedes(),
        case("clawback/spent-meanwhile", "The wallet no longer holds it: plan again.", withdrawn("5000"))
            .seen([account("ECOPAY", "5000", "0", "0")])
            .on(with_points("4999", "50"))
            .ends("rejected stale_plan by payer")
            .supersedes()
            .supersedes(),
        case("clawback/filled-meanwhile", "What was short came from the read: plan again.", withdrawn("5000"))
            .seen([account("ECOPAY", "1500", "0", "0")])
            .on(with_points("1501", "50"))
            .ends("rejected stale_plan by payer")
            .supersedes()
            .supersedes(),
        case("clawback/filled-from-nothing", "There is something by now: plan again.", withdrawn("5000"))
            .seen([account("ECOPAY", "0", "0", "0")])
            .on(with_points("1", "50"))
            .ends("rejected stale_plan by payer")
            .supersedes()
            .supersedes(),
        case("clawback/taken-meanwhile", "Another event of the same fact was first.", withdrawn("5000"))
            .seen([item("topup", TOPUP, &format!("CLAWBACK#{DISPUTE}"), json!({}))])
            .on(with_points("5000", "50"))
            .on([record(DISPUTE, "5000", "taken")])
            .ends("rejected stale_plan by clawback")
            .supersedes()
            .supersedes(),
        case("clawback/owed-meanwhile", "Another clawback came in between: plan again.", withdrawn("5000"))
            .seen([succeeded("5000", "0")])
            .on([owing("100"), account("ECOPAY", "5000", "0", "0"), points("50")])
            .ends("rejected stale_plan by topup")
            .supersedes()
            .supersedes(),
    ]
}

/// A record of a later movement than the first one to its state.
fn later(record: Json, round: &str) -> Json {
    with(record, "round", n(round))
}

/// A clawback by a release that lowers the refundable amount.
pub(super) fn lowering(record: Json) -> Json {
    let amount = record["amount"].clone();
    with(record, "refundable_lowered", amount)
}

/// A dispute that was won, and withdrawn again.
fn again() -> Vec<Case> {
    let (taken, returned) = (|| lowering(record(DISPUTE, "5000", "taken")), || record(DISPUTE, "5000", "returned"));
    let (third, fourth) = (|| listing(withdrawn("5000"), "3"), || listing(reinstated("5000"), "4"));
    let takes = [(OF_A, "ECOPAY", "-5000"), ("stripe_clearing", "ECOPAY", "5000")];
    let gives = [(OF_A, "ECOPAY", "5000"), ("stripe_clearing", "ECOPAY", "-5000")];
    let lowered = || with(succeeded("5000", "0"), "refundable", n("0"));
    vec![
        case("clawback/taken-again", "Won, and withdrawn again: the third movement.", third())
            .on(with_points("5000", "50"))
            .on([returned()])
            .moves(&takes)
            .moves(&POINTS_OUT)
            .precedence()
            .supersedes(),
        case(
            "clawback/taken-again-listing-two",
            "Withdrawn although the object lists that it was given back: a later movement.",
            listing(withdrawn("5000"), "2"),
        )
        .on(with_points("5000", "50"))
        .on([returned()])
        .moves(&takes)
        .moves(&POINTS_OUT)
        .supersedes(),
        case("clawback/taken-again-first", "The third movement before the others.", third())
            .on(with_points("5000", "50"))
            .moves(&takes)
            .moves(&POINTS_OUT)
            .supersedes(),
        case("clawback/taken-again-while-taken", "The second has not come: nothing moves, and it is behind.", third())
            .on([lowered(), account("ECOPAY", "0", "0", "0"), taken()]),
        case("clawback/taken-again-while-taken-meanwhile", "The second came in between: plan again.", third())
            .seen([taken()])
            .on([lowered(), account("ECOPAY", "0", "0", "0"), returned()])
            .ends("rejected stale_plan by clawback"),
        case("clawback/taken-again-twice", "Taken once.", third())
            .on([lowered(), account("ECOPAY", "5000", "0", "0"), later(taken(), "3")])
            .ends("behind"),
        case(
            "clawback/reinstated-after-taken-again",
            "The second movement comes last.",
            listing(reinstated("5000"), "2"),
        )
        .on([lowered(), account("ECOPAY", "0", "0", "0"), later(taken(), "3")])
        .ends("behind"),
        case(
            "clawback/reinstated-as-taken-again",
            "The third movement came in between: plan again.",
            reinstated("5000"),
        )
        .supersedes()
        .seen([taken()])
        .on([lowered(), account("ECOPAY", "0", "0", "0"), later(taken(), "3")])
        .ends("rejected stale_plan by clawback"),
        case("clawback/reinstated-lowered", "What may be refunded is raised again.", reinstated("5000"))
            .supersedes()
            .on([lowered(), account("ECOPAY", "0", "0", "0"), taken()])
            .moves(&gives),
        case("clawback/returned-again", "Given back a second time.", fourth())
            .supersedes()
            .on([lowered(), account("ECOPAY", "0", "0", "0"), later(taken(), "3")])
            .moves(&gives)
            .precedence(),
        case("clawback/returned-again-while-returned", "The third has not come, and will be behind.", fourth())
            .on(base("5000"))
            .on([returned()]),
        case("clawback/returned-again-first", "The fourth movement before the others.", fourth()).on(base("5000")),
    ]
}

fn returned() -> Vec<Case> {
    let taken = || record(DISPUTE, "5000", "taken");
    vec![
        case("clawback/reinstated", "It comes back into the wallet.", reinstated("5000"))
            .supersedes()
            .on(base("0"))
            .on([taken()])
            .moves(&[(OF_A, "ECOPAY", "5000"), ("stripe_clearing", "ECOPAY", "-5000")])
            .precedence()
            .supersedes(),
        case("clawback/reinstated-over-the-cap", "What comes back may pass the cap.", reinstated("5000"))
            .supersedes()
            .on(base("50000"))
            .on([offering(), taken()])
            .moves(&[(OF_A, "ECOPAY", "5000"), ("stripe_clearing", "ECOPAY", "-5000")])
            .supersedes(),
        case("clawback/reinstated-owing", "What stands on `disputes` is paid first.", reinstated("5000"))
            .supersedes()
            .on([owing("3500"), taken(), account("ECOPAY", "9", "0", "0")])
            .moves(&[(OF_A, "ECOPAY", "1500"), ("stripe_clearing", "ECOPAY", "-5000"), ("disputes", "ECOPAY", "3500")])
            .precedence()
            .supersedes(),
        case("clawback/reinstated-owing-all", "All of it: the wallet gets nothing.", reinstated("5000"))
            .on([owing("5000"), taken(), account("ECOPAY", "9", "0", "0")])
            .moves(&[("stripe_clearing", "ECOPAY", "-5000"), ("disputes", "ECOPAY", "5000")])
            .supersedes(),
        case("clawback/reinstated-owing-more", "And no more than it is.", reinstated("1000"))
            .on([owing("4000"), record(DISPUTE, "1000", "taken"), account("ECOPAY", "9", "0", "0")])
            .moves(&[("stripe_clearing", "ECOPAY", "-1000"), ("disputes", "ECOPAY", "1000")])
            .supersedes(),
        case(
            "clawback/reinstated-first",
            "Before it was taken: it will not be, and nothing moves.",
            reinstated("5000"),
        )
        .on(base("5000")),
        case("clawback/taken-after-reinstated", "What came back is not taken again.", withdrawn("5000"))
            .on(base("5000"))
            .on([record(DISPUTE, "5000", "returned")])
            .ends("behind"),
        case("clawback/reinstated-again", "It comes back once.", reinstated("5000"))
            .on(base("5000"))
            .on([record(DISPUTE, "5000", "returned")])
            .ends("behind"),
        case("clawback/reinstated-meanwhile", "Another event of the same fact was first.", reinstated("5000"))
            .supersedes()
            .seen([taken()])
            .on(base("5000"))
            .on([record(DISPUTE, "5000", "returned")])
            .ends("rejected stale_plan by clawback")
            .supersedes(),
        case("clawback/taken-after-reinstated-was-read", "Taken in between: plan again.", reinstated("5000"))
            .seen([item("topup", TOPUP, &format!("CLAWBACK#{DISPUTE}"), json!({}))])
            .on(base("0"))
            .on([taken()])
            .ends("rejected stale_plan by clawback"),
    ]
}

/// A refund made at the PSP: it has no metadata of our refunds.
fn at_the_provider() -> Vec<Case> {
    let refund_event = |id, why, status| case(id, why, refund("re_9", "2000", status));
    let taken = || record("re_9", "2000", "taken");
    vec![
        refund_event(
            "clawback/refund-at-the-provider",
            "Taken like a dispute, as soon as it is on its way.",
            "pending",
        )
        .on(with_points("5000", "50"))
        .moves(&[(OF_A, "ECOPAY", "-2000"), ("stripe_clearing", "ECOPAY", "2000")])
        .moves(&[(OF_A, "POINT", "-20"), ("points_issued", "POINT", "20")])
        .supersedes()
        .supersedes(),
        refund_event("clawback/refund-at-the-provider-paid", "Paid out: it has been taken.", "succeeded")
            .on(base("3000"))
            .on([taken()])
            .ends("behind"),
        refund_event("clawback/refund-at-the-provider-failed", "It failed, and the money is back.", "failed")
            .supersedes()
            .on(base("3000"))
            .on([taken()])
            .moves(&[(OF_A, "ECOPAY", "2000"), ("stripe_clearing", "ECOPAY", "-2000")])
            .supersedes(),
        refund_event(
            "clawback/refund-at-the-provider-failed-first",
            "Failed before it was known: nothing moves.",
            "failed",
        )
        .on(base("5000")),
    ]
}

fn nothing() -> Vec<Case> {
    let dispute = |amount: &str, currency: &str, intent: &str, livemode: bool| FactJson::Withdrawn {
        id: DISPUTE.to_owned(),
        intent: Some(intent.to_owned()),
        amount: amount.to_owned(),
        currency: currency.to_owned(),
        livemode,
        movements: None,
    };
    let contradicting = |id, why, fact, outcome| case(id, why, fact).on(base("9000")).ends(outcome);
    vec![
        case("clawback/again", "Taken once.", withdrawn("5000"))
            .on(base("5000"))
            .on([record(DISPUTE, "5000", "taken")])
            .ends("behind"),
        contradicting(
            "clawback/above-the-charge",
            "More than was charged.",
            dispute("5001", "jpy", INTENT, false),
            "odd amount",
        ),
        contradicting("clawback/another-currency", "Cents.", dispute("5000", "usd", INTENT, false), "odd amount"),
        contradicting(
            "clawback/another-object",
            "Not of our PaymentIntent.",
            dispute("5000", "jpy", "pi_2", false),
            "odd object",
        ),
        contradicting("clawback/real-money", "Not of this mode.", dispute("5000", "jpy", INTENT, true), "odd livemode"),
        case("clawback/another-amount-comes-back", "Not what was taken.", reinstated("4000"))
            .on(base("0"))
            .on([record(DISPUTE, "5000", "taken")])
            .ends("odd amount"),
        case(
            "clawback/before-it-is-paid",
            "Ahead of our record: the PaymentIntent is looked at first.",
            withdrawn("5000"),
        )
        .on([pending(), account("ECOPAY", "0", "0", "5000")])
        .ends("ahead"),
        case("clawback/before-it-is-known", "Ahead too.", withdrawn("5000"))
            .on([requested(), account("ECOPAY", "0", "0", "5000")])
            .ends("ahead"),
        case("clawback/of-a-canceled-one", "There was nothing to take.", withdrawn("5000"))
            .on([canceled(), account("ECOPAY", "9000", "0", "0")])
            .ends("odd state"),
        case("clawback/of-a-refused-one", "Nor here.", withdrawn("5000"))
            .on([refused(), account("ECOPAY", "9000", "0", "0")])
            .ends("odd state"),
        case("clawback/balance-unread", "What the wallet bears comes from a read.", withdrawn("5000"))
            .on([succeeded("5000", "0")])
            .ends("refused stale_plan"),
    ]
}
