//! Facts about a top-up's PaymentIntent, from an event or from the lease holder: each legal transition of our record
//! once, facts that are behind, and facts that contradict it.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{Does, FactJson};
use serde_json::{Value as Json, json};

fn event(id: &'static str, why: &'static str, fact: FactJson) -> Case {
    let kind = match &fact {
        FactJson::Intent { status, .. } if status == "succeeded" => "payment_intent.succeeded",
        FactJson::Intent { status, .. } if status == "canceled" => "payment_intent.canceled",
        FactJson::Intent { .. } => "payment_intent.created",
        FactJson::Refund { .. } => "refund.updated",
        FactJson::Withdrawn { .. } => "charge.dispute.funds_withdrawn",
        FactJson::Reinstated { .. } => "charge.dispute.funds_reinstated",
    };
    let (event, kind, topup) = (EVENT.to_owned(), kind.to_owned(), TOPUP.to_owned());
    Case::new(id, why, None, Does::TopupEvent { event, kind, fact, topup, refund: None })
}

fn landing(id: &'static str, why: &'static str, fact: FactJson) -> Case {
    with_answer(Case::new(id, why, None, Does::TopupLanding { fact, topup: TOPUP.to_owned(), refund: None }))
}

fn refusal(id: &'static str, why: &'static str) -> Case {
    with_answer(Case::new(id, why, None, Does::TopupRefused { topup: TOPUP.to_owned(), refund: None }))
}

pub(super) fn with_answer(mut case: Case) -> Case {
    case.given.command.answer = Some(answer("201", &format!("{{\"id\":\"{TOPUP}\"}}")));
    case
}

/// Wallets with headroom reserved for the top-up.
pub(super) fn wallets(topup: Json) -> [Json; 3] {
    [topup, account("ECOPAY", "1000", "200", "5000"), account("POINT", "7", "0", "0")]
}

/// Wallets with the top-up credited.
fn paid(topup: Json) -> [Json; 3] {
    [topup, account("ECOPAY", "6000", "200", "0"), account("POINT", "57", "0", "0")]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = applied();
    all.extend(landings());
    all.extend(behind());
    all.extend(contradictions());
    all
}

fn credited() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        (OF_A, "ECOPAY", "5000"),
        (OF_A, RESERVED, "-5000"),
        ("stripe_clearing", "ECOPAY", "-5000"),
        (OF_A, "POINT", "50"),
        ("points_issued", "POINT", "-50"),
    ]
}

fn applied() -> Vec<Case> {
    let released = [(OF_A, RESERVED, "-5000")];
    let marker = |attributes: Json| item("stripe_event", EVENT, "event", attributes);
    let seen = |ttl: &str| {
        marker(json!({
            "event": s(EVENT), "kind": s("payment_intent.succeeded"), "processed_at": s(EARLIER), "ttl": n(ttl),
        }))
    };
    vec![
        event("topup_events/paid", "What was reserved is credited, with its points.", intent("succeeded"))
            .on(wallets(pending()))
            .moves(&credited())
            .precedence(),
        with_answer(event(
            "topup_events/paid-before-the-answer",
            "The event is first: it credits, and the claim in flight gets its answer.",
            intent("succeeded"),
        ))
        .on(wallets(requested()))
        .on([topup_in_flight()])
        .moves(&credited())
        .precedence(),
        with_answer(event(
            "topup_events/paid-while-parked",
            "A person need no longer look: what was parked has its answer.",
            intent("succeeded"),
        ))
        .on(wallets(requested()))
        .on([parked(topup_in_flight())])
        .moves(&credited()),
        event("topup_events/paid-into-frozen", "A freeze does not stop it.", intent("succeeded"))
            .on([pending(), frozen(account("ECOPAY", "1000", "200", "5000"))])
            .on([frozen(account("POINT", "7", "0", "0"))])
            .moves(&credited()),
        event("topup_events/paid-without-points", "It was promised none.", intent("succeeded"))
            .on([without(pending(), "points"), account("ECOPAY", "1000", "200", "5000")])
            .moves(&credited()[..3]),
        event(
            "topup_events/paid-twice-at-once",
            "Another event of the same fact was first: plan again.",
            intent("succeeded"),
        )
        .seen([pending()])
        .on(paid(succeeded("5000", "0")))
        .ends("rejected stale_plan by topup"),
        event("topup_events/paid-and-landed-meanwhile", "The holder has answered: plan again.", intent("succeeded"))
            .seen([requested()])
            .on(wallets(pending()))
            .ends("rejected stale_plan by topup"),
        event("topup_events/duplicate", "The same event again does nothing.", intent("succeeded"))
            .on(wallets(pending()))
            .on([seen("1797735900")])
            .ends("marker_stands"),
        event(
            "topup_events/lapsed-marker",
            "An event's marker that has lapsed is as good as deleted.",
            intent("succeeded"),
        )
        .on(wallets(pending()))
        .on([seen("1795229699")])
        .moves(&credited()),
        with_answer(event(
            "topup_events/opened",
            "The PaymentIntent is bound; the claim lands with it.",
            intent("requires_payment_method"),
        ))
        .on(wallets(requested()))
        .on([topup_in_flight()])
        .precedence(),
        event(
            "topup_events/opened-after-a-lost-marker",
            "Without a claim in flight only the record changes.",
            intent("processing"),
        )
        .on(wallets(requested())),
        event("topup_events/canceled", "Nobody will pay: the headroom is free again.", intent("canceled"))
            .on(wallets(pending()))
            .moves(&released)
            .precedence(),
        with_answer(event(
            "topup_events/canceled-before-the-answer",
            "Canceled before it was known.",
            intent("canceled"),
        ))
        .on(wallets(requested()))
        .on([topup_in_flight()])
        .moves(&released),
        event(
            "topup_events/reservation-gone",
            "A reservation that is not there is a fault, and nothing is credited.",
            intent("succeeded"),
        )
        .on([pending(), account("ECOPAY", "1000", "200", "4999"), account("POINT", "7", "0", "0")])
        .ends("rejected wrong_state by payee"),
        event("topup_events/release-twice", "Nor is it released twice.", intent("canceled"))
            .on([pending(), account("ECOPAY", "1000", "200", "4999"), account("POINT", "7", "0", "0")])
            .ends("rejected wrong_state by payee"),
        event(
            "topup_events/no-points-account",
            "Points need an account: nothing is credited without them.",
            intent("succeeded"),
        )
        .on([pending(), account("ECOPAY", "1000", "200", "5000")])
        .ends("rejected account_missing by points"),
    ]
}

fn landings() -> Vec<Case> {
    let open = || intent("requires_payment_method");
    vec![
        landing("topup_events/landed", "The holder's answer: the PaymentIntent is bound, the mark is removed.", open())
            .on(wallets(requested()))
            .on([topup_in_flight()]),
        landing(
            "topup_events/landed-paid",
            "Found paid by the worker: credited in the same transaction.",
            intent("succeeded"),
        )
        .on(wallets(requested()))
        .on([taken_over(topup_in_flight())])
        .moves(&credited())
        .precedence(),
        landing(
            "topup_events/landed-under-another-token",
            "Somebody has taken over: the late holder writes nothing.",
            open(),
        )
        .seen([topup_in_flight()])
        .on(wallets(requested()))
        .on([taken_over(topup_in_flight())])
        .ends("marker_stands"),
        landing("topup_events/landed-already", "The answer stands: whoever is second gets it.", open())
            .seen([topup_in_flight(), requested()])
            .on(wallets(pending()))
            .on([answered(&topup_by_a(), topup_in_flight())])
            .ends("marker_stands"),
        landing(
            "topup_events/landed-on-a-moved-record",
            "The token is ours and the record is not as it was: plan again.",
            open(),
        )
        .seen([requested()])
        .on(wallets(pending()))
        .on([topup_in_flight()])
        .ends("rejected stale_plan by topup"),
        landing("topup_events/landed-after-a-retryable-refusal", "A token that was given up does not land.", open())
            .seen([topup_in_flight()])
            .on(wallets(requested()))
            .on([failed_retry(topup_in_flight(), "1")])
            .ends("marker_stands"),
        refusal("topup_events/refused", "The provider refuses for good: the headroom is free again.")
            .on(wallets(requested()))
            .on([topup_in_flight()])
            .moves(&[(OF_A, RESERVED, "-5000")])
            .precedence(),
        refusal("topup_events/refused-but-known", "It has a PaymentIntent: nothing is given back.")
            .on(wallets(pending()))
            .on([topup_in_flight()])
            .ends("known"),
        refusal("topup_events/refused-under-another-token", "A late holder releases nothing.")
            .seen([topup_in_flight()])
            .on(wallets(requested()))
            .on([taken_over(topup_in_flight())])
            .ends("marker_stands"),
        refusal("topup_events/refused-and-paid-meanwhile", "An event has credited it: nothing is released.")
            .seen([requested()])
            .on(paid(succeeded("5000", "0")))
            .on([topup_in_flight()])
            .ends("rejected stale_plan by topup"),
    ]
}

fn behind() -> Vec<Case> {
    let open = || intent("requires_action");
    vec![
        event("topup_events/opened-again", "Known already.", open()).on(wallets(pending())).ends("behind"),
        event("topup_events/opened-after-paid", "Late: it has been paid.", open())
            .on(paid(succeeded("5000", "0")))
            .ends("behind"),
        event("topup_events/opened-after-canceled", "Late: it was canceled.", open())
            .on([canceled(), account("ECOPAY", "1000", "200", "0")])
            .ends("behind"),
        event("topup_events/paid-again", "Another event of the same fact moves nothing.", intent("succeeded"))
            .on(paid(succeeded("5000", "0")))
            .ends("behind"),
        event("topup_events/paid-again-after-a-refund", "Nor once some of it is refunded.", intent("succeeded"))
            .on(paid(succeeded("3000", "20")))
            .ends("behind"),
        event("topup_events/canceled-again", "Released once.", intent("canceled"))
            .on([canceled(), account("ECOPAY", "1000", "200", "0")])
            .ends("behind"),
    ]
}

fn contradictions() -> Vec<Case> {
    // Changes one part of a fact that matches our record.
    let but = |amount: &str, received: &str, currency: &str, id: &str, livemode: bool| FactJson::Intent {
        id: id.to_owned(),
        amount: amount.to_owned(),
        currency: currency.to_owned(),
        received: received.to_owned(),
        status: "succeeded".to_owned(),
        livemode,
    };
    let of_pending = |id, why, fact, outcome| event(id, why, fact).on(wallets(pending())).ends(outcome);
    let without_headroom = |topup| [topup, account("ECOPAY", "1000", "200", "0"), account("POINT", "7", "0", "0")];
    vec![
        of_pending(
            "topup_events/another-amount",
            "More was asked for.",
            but("5001", "5001", "jpy", INTENT, false),
            "odd amount",
        ),
        of_pending(
            "topup_events/another-amount-received",
            "One yen less came.",
            but("5000", "4999", "jpy", INTENT, false),
            "odd amount",
        ),
        of_pending(
            "topup_events/nothing-received",
            "Paid, and nothing came.",
            but("5000", "0", "jpy", INTENT, false),
            "odd amount",
        ),
        of_pending(
            "topup_events/another-currency",
            "5,000 cents are not 5,000 yen.",
            but("5000", "5000", "usd", INTENT, false),
            "odd amount",
        ),
        of_pending(
            "topup_events/another-object",
            "A second PaymentIntent for one top-up.",
            but("5000", "5000", "jpy", "pi_2", false),
            "odd object",
        ),
        of_pending(
            "topup_events/real-money-for-a-test",
            "Not of this mode.",
            but("5000", "5000", "jpy", INTENT, true),
            "odd livemode",
        ),
        event("topup_events/test-money", "A test does not credit real money.", intent("succeeded"))
            .on(wallets(with(pending(), "livemode", json!({ "BOOL": true }))))
            .ends("odd livemode"),
        event("topup_events/paid-after-canceled", "Canceled is for good: a person must look.", intent("succeeded"))
            .on(without_headroom(canceled()))
            .ends("odd state"),
        event(
            "topup_events/paid-after-refused",
            "Its headroom was given back: a person must look.",
            intent("succeeded"),
        )
        .on(without_headroom(refused()))
        .ends("odd state"),
        event("topup_events/opened-after-refused", "The provider had refused to make one.", intent("processing"))
            .on(without_headroom(refused()))
            .ends("odd state"),
        event("topup_events/canceled-after-refused", "There was to be none.", intent("canceled"))
            .on(without_headroom(refused()))
            .ends("odd state"),
        event("topup_events/canceled-after-paid", "Paid is for good.", intent("canceled"))
            .on(paid(succeeded("5000", "0")))
            .ends("odd state"),
    ]
}
