//! Facts about a refund that we requested: money and points are held until it is paid out, and return if it fails, even
//! after it was paid out.

use super::Case;
use super::outside::*;
use super::topup_events::with_answer;
use super::world::*;
use crate::golden::command::{Does, FactJson};
use serde_json::Value as Json;

fn event(id: &'static str, why: &'static str, fact: FactJson) -> Case {
    let (event, kind, topup) = (EVENT.to_owned(), "refund.updated".to_owned(), TOPUP.to_owned());
    Case::new(id, why, None, Does::TopupEvent { event, kind, fact, topup, refund: Some(REFUND.to_owned()) })
}

pub(super) fn refund_event(id: &'static str, why: &'static str, status: &str) -> Case {
    event(id, why, refund(PSP_REFUND, "2000", status))
}

fn landing(id: &'static str, why: &'static str, status: &str) -> Case {
    let fact = refund(PSP_REFUND, "2000", status);
    let does = Does::TopupLanding { fact, topup: TOPUP.to_owned(), refund: Some(REFUND.to_owned()) };
    with_answer(Case::new(id, why, None, does))
}

fn refusal(id: &'static str, why: &'static str) -> Case {
    let does = Does::TopupRefused { topup: TOPUP.to_owned(), refund: Some(REFUND.to_owned()) };
    with_answer(Case::new(id, why, None, does))
}

/// The state with 2,000 yen and 20 points held for the refund.
pub(super) fn holding(refund: Json) -> [Json; 4] {
    let (money, points) = (account("ECOPAY", "3000", "2000", "0"), account("POINT", "30", "20", "0"));
    [succeeded("3000", "20"), refund, money, points]
}

/// The state after the PSP took more of the top-up than the wallet held.
fn owing(mut state: [Json; 4], owed: &str) -> [Json; 4] {
    state[0] = with(state[0].clone(), "owed", n(owed));
    state
}

/// The state after both were paid out.
pub(super) fn after_payout(refund: Json) -> [Json; 4] {
    let (money, points) = (account("ECOPAY", "3000", "0", "0"), account("POINT", "30", "0", "0"));
    [succeeded("3000", "20"), refund, money, points]
}

pub(super) fn known(state: &str) -> Json {
    refund_known(refund_requested(), state)
}

type Effects = Vec<(&'static str, &'static str, &'static str)>;

fn paid_out() -> Effects {
    vec![
        (OF_A, HELD, "-2000"),
        ("stripe_clearing", "ECOPAY", "2000"),
        (OF_A, HELD_POINTS, "-20"),
        ("points_issued", "POINT", "20"),
    ]
}

fn released() -> Effects {
    vec![(OF_A, HELD, "-2000"), (OF_A, "ECOPAY", "2000"), (OF_A, HELD_POINTS, "-20"), (OF_A, "POINT", "20")]
}

fn returned() -> Effects {
    vec![
        (OF_A, "ECOPAY", "2000"),
        ("stripe_clearing", "ECOPAY", "-2000"),
        (OF_A, "POINT", "20"),
        ("points_issued", "POINT", "-20"),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = applied();
    all.extend(keeping());
    all.extend(landings());
    all.extend(nothing());
    all
}

fn applied() -> Vec<Case> {
    vec![
        with_answer(refund_event(
            "topup_refund_events/pending",
            "The provider is at it: what is held stays held.",
            "pending",
        ))
        .on(holding(refund_requested()))
        .on([refund_in_flight()])
        .precedence(),
        refund_event("topup_refund_events/paid", "What was held has left.", "succeeded")
            .on(holding(known("pending")))
            .moves(&paid_out())
            .precedence(),
        with_answer(refund_event("topup_refund_events/paid-before-the-answer", "The event is first.", "succeeded"))
            .on(holding(refund_requested()))
            .on([refund_in_flight()])
            .moves(&paid_out())
            .precedence(),
        with_answer(
            refund_event("topup_refund_events/failed-before-the-answer", "Failed before it was known.", "failed")
                .supersedes(),
        )
        .on(holding(refund_requested()))
        .on([refund_in_flight()])
        .moves(&released()),
        refund_event(
            "topup_refund_events/failed",
            "Not paid out: all of it is back, and may be refunded again.",
            "failed",
        )
        .supersedes()
        .on(holding(known("pending")))
        .moves(&released())
        .precedence(),
        refund_event("topup_refund_events/canceled", "Canceled at the provider is not paid out either.", "canceled")
            .supersedes()
            .on(holding(known("pending")))
            .moves(&released()),
        refund_event("topup_refund_events/failed-after-paid", "The card's bank sent it back.", "failed")
            .supersedes()
            .on(after_payout(known("succeeded")))
            .moves(&returned())
            .precedence(),
        refund_event("topup_refund_events/failed-after-paid-into-frozen", "A freeze does not stop it.", "failed")
            .supersedes()
            .on(after_payout(known("succeeded"))
                .map(|item| if item["exposure"].is_null() { item } else { frozen(item) }))
            .moves(&returned()),
        refund_event("topup_refund_events/paid-from-frozen", "Nor does it stop what was held before.", "succeeded")
            .on(holding(known("pending")).map(|item| if item["exposure"].is_null() { item } else { frozen(item) }))
            .moves(&paid_out()),
        refund_event(
            "topup_refund_events/paid-twice-at-once",
            "Another event of the same fact was first.",
            "succeeded",
        )
        .seen([known("pending")])
        .on(after_payout(known("succeeded")))
        .ends("rejected stale_plan by refund"),
        refund_event("topup_refund_events/failed-while-owing", "What comes back pays the debt first.", "failed")
            .supersedes()
            .on(owing(holding(known("pending")), "500"))
            .moves(&[
                (OF_A, HELD, "-2000"),
                (OF_A, "ECOPAY", "1500"),
                ("disputes", "ECOPAY", "500"),
                (OF_A, HELD_POINTS, "-20"),
                (OF_A, "POINT", "20"),
            ]),
        refund_event("topup_refund_events/failed-while-owing-more", "A greater debt takes all of it.", "failed")
            .supersedes()
            .on(owing(holding(known("pending")), "5000"))
            .moves(&[
                (OF_A, HELD, "-2000"),
                ("disputes", "ECOPAY", "2000"),
                (OF_A, HELD_POINTS, "-20"),
                (OF_A, "POINT", "20"),
            ]),
        refund_event(
            "topup_refund_events/failed-after-paid-while-owing",
            "From the provider, too, the debt comes first.",
            "failed",
        )
        .supersedes()
        .on(owing(after_payout(known("succeeded")), "2000"))
        .moves(&[
            ("disputes", "ECOPAY", "2000"),
            ("stripe_clearing", "ECOPAY", "-2000"),
            (OF_A, "POINT", "20"),
            ("points_issued", "POINT", "-20"),
        ]),
        refund_event("topup_refund_events/failed-as-a-debt-comes", "A dispute came in between: plan again.", "failed")
            .supersedes()
            .seen([succeeded("3000", "20")])
            .on(owing(holding(known("pending")), "500"))
            .ends("rejected stale_plan by topup"),
        refund_event("topup_refund_events/failed-while-paid-out", "It was paid out in between: plan again.", "failed")
            .supersedes()
            .seen([known("pending")])
            .on(after_payout(known("succeeded")))
            .ends("rejected stale_plan by refund"),
        refund_event(
            "topup_refund_events/hold-gone",
            "A hold that is not there is a fault, and nothing leaves.",
            "succeeded",
        )
        .on([succeeded("3000", "20"), known("pending"), account("ECOPAY", "3000", "1999", "0")])
        .on([account("POINT", "30", "20", "0")])
        .ends("rejected wrong_state by payer"),
    ]
}

/// 13 of the 20 points had been spent: 13 yen are kept for them.
fn keeping() -> Vec<Case> {
    let keeping = |id, why, status| event(id, why, refund(PSP_REFUND, "1987", status));
    let state = |refund: Json, held: &str, held_points: &str| {
        let (money, points) = (account("ECOPAY", "3000", held, "0"), account("POINT", "0", held_points, "0"));
        [succeeded("3000", "20"), refund, money, points]
    };
    let known = |state: &str| refund_known(refund_keeping(), state);
    vec![
        keeping(
            "topup_refund_events/paid-less-what-is-kept",
            "13 yen of the hold go to the points' account.",
            "succeeded",
        )
        .on(state(known("pending"), "2000", "7"))
        .moves(&[(OF_A, HELD, "-2000"), ("stripe_clearing", "ECOPAY", "1987"), ("points_issued", "ECOPAY", "13")])
        .moves(&[(OF_A, HELD_POINTS, "-7"), ("points_issued", "POINT", "7")]),
        keeping("topup_refund_events/failed-after-keeping", "What was kept comes back too.", "failed")
            .supersedes()
            .on(state(known("succeeded"), "0", "0"))
            .moves(&[
                (OF_A, "ECOPAY", "2000"),
                ("stripe_clearing", "ECOPAY", "-1987"),
                ("points_issued", "ECOPAY", "-13"),
            ])
            .moves(&[(OF_A, "POINT", "7"), ("points_issued", "POINT", "-7")]),
        refund_event(
            "topup_refund_events/paid-what-was-to-be-kept",
            "The card must not get what is kept.",
            "succeeded",
        )
        .on(state(known("pending"), "2000", "7"))
        .ends("odd amount"),
    ]
}

fn landings() -> Vec<Case> {
    vec![
        landing("topup_refund_events/landed", "The holder's answer: it is on its way.", "pending")
            .on(holding(refund_requested()))
            .on([refund_in_flight()]),
        landing("topup_refund_events/landed-paid", "The provider answers that it is paid out.", "succeeded")
            .on(holding(refund_requested()))
            .on([refund_in_flight()])
            .moves(&paid_out())
            .precedence(),
        landing("topup_refund_events/landed-under-another-token", "A late holder pays nothing out.", "succeeded")
            .seen([refund_in_flight()])
            .on(holding(refund_requested()))
            .on([taken_over(refund_in_flight())])
            .ends("marker_stands"),
        refusal("topup_refund_events/refused", "The provider refuses for good: all of it is back.")
            .supersedes()
            .on(holding(refund_requested()))
            .on([refund_in_flight()])
            .moves(&released())
            .precedence(),
        refusal("topup_refund_events/refused-but-known", "It has a refund: nothing is given back.")
            .on(holding(known("pending")))
            .on([refund_in_flight()])
            .ends("known"),
        refusal("topup_refund_events/refused-and-paid-meanwhile", "An event has paid it out: nothing comes back.")
            .supersedes()
            .seen([refund_requested()])
            .on(after_payout(known("succeeded")))
            .on([refund_in_flight()])
            .ends("rejected stale_plan by refund"),
    ]
}

/// Facts that are behind our record, and facts that contradict it.
fn nothing() -> Vec<Case> {
    let but = |id: &str, intent: &str, amount: &str, currency: &str| FactJson::Refund {
        id: id.to_owned(),
        intent: Some(intent.to_owned()),
        amount: amount.to_owned(),
        currency: currency.to_owned(),
        status: "succeeded".to_owned(),
    };
    let contradicting = |id, why, fact, outcome| event(id, why, fact).on(holding(known("pending"))).ends(outcome);
    let failed = || known("failed");
    // Refused or given up: the PSP should have no such refund.
    let never = || with(refund_requested(), "state", s("failed"));
    vec![
        refund_event("topup_refund_events/pending-again", "Known already.", "pending")
            .on(holding(known("pending")))
            .ends("behind"),
        refund_event("topup_refund_events/pending-after-paid", "Late.", "pending")
            .on(after_payout(known("succeeded")))
            .ends("behind"),
        refund_event("topup_refund_events/paid-again", "Paid out once.", "succeeded")
            .on(after_payout(known("succeeded")))
            .ends("behind"),
        refund_event("topup_refund_events/failed-again", "Back once.", "failed")
            .on(after_payout(failed()))
            .ends("behind"),
        refund_event("topup_refund_events/paid-after-failed", "Late: what has failed never succeeds.", "succeeded")
            .on(after_payout(failed()))
            .ends("behind"),
        refund_event("topup_refund_events/pending-after-failed", "Late.", "pending")
            .on(after_payout(failed()))
            .ends("behind"),
        refund_event(
            "topup_refund_events/paid-after-refused",
            "The wallet has it back, and the card too: a person must look.",
            "succeeded",
        )
        .on(after_payout(never()))
        .ends("odd state"),
        refund_event("topup_refund_events/pending-after-refused", "The provider was to have none.", "pending")
            .on(after_payout(never()))
            .ends("odd state"),
        refund_event("topup_refund_events/failed-after-refused", "The wallet has it back already.", "failed")
            .on(after_payout(never()))
            .ends("behind"),
        contradicting(
            "topup_refund_events/another-amount",
            "One yen more.",
            but(PSP_REFUND, INTENT, "2001", "jpy"),
            "odd amount",
        ),
        contradicting(
            "topup_refund_events/another-currency",
            "Cents.",
            but(PSP_REFUND, INTENT, "2000", "usd"),
            "odd amount",
        ),
        contradicting(
            "topup_refund_events/another-object",
            "A second refund for one of ours.",
            but("re_2", INTENT, "2000", "jpy"),
            "odd object",
        ),
        contradicting(
            "topup_refund_events/of-another-intent",
            "Not of our PaymentIntent.",
            but(PSP_REFUND, "pi_2", "2000", "jpy"),
            "odd object",
        ),
    ]
}
