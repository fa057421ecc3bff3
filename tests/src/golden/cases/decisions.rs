//! Decisions about a top-up or refund that the PSP contradicts: one person requests, another approves. Money that moved
//! otherwise than the books expect is on `suspense` until it is written off.

use super::Case;
use super::outside::*;
use super::topup_refund_events::{after_payout, holding, known};
use super::world::*;
use crate::golden::build_decision::DecisionDoes;
use crate::golden::command::{Does, FactJson};
use serde_json::{Value as Json, json};

const DECISION: &str = "019a9000-0000-7000-8000-0000000000f1";
const NOTE: &str = "looked at with the provider";

fn request(id: &'static str, why: &'static str, way: &str, (refund, fact): (Option<&str>, Option<FactJson>)) -> Case {
    let path = format!("/v1/admin/topups/{TOPUP}/decisions");
    let claim = by_staff("topup_decision_request", &path, json!({ "way": way, "note": NOTE }));
    let (staff, topup, refund) = (STAFF.to_owned(), TOPUP.to_owned(), refund.map(str::to_owned));
    let does = DecisionDoes::Request { staff, topup, refund, way: way.to_owned(), fact, note: NOTE.to_owned() };
    Case::new(id, why, Some(claim), Does::Decision(does))
}

fn approve(id: &'static str, why: &'static str, (refund, fact): (Option<&str>, Option<FactJson>)) -> Case {
    let path = format!("/v1/admin/topups/{TOPUP}/decisions/{DECISION}/approve");
    let claim = by_staff("topup_decision_approve", &path, json!({}));
    let (staff, topup, refund) = (STAFF.to_owned(), TOPUP.to_owned(), refund.map(str::to_owned));
    let (decision, landing) = (DECISION.to_owned(), answer("201", "{\"id\":\"landed\"}"));
    let does = DecisionDoes::Approve { staff, topup, refund, decision, fact, landing };
    Case::new(id, why, Some(claim), Does::Decision(does))
}

/// A decision that another person requested.
fn decision_request(way: &str, object: Option<&str>) -> Json {
    let decision = item(
        "topup",
        TOPUP,
        &format!("DECISION#{DECISION}"),
        json!({
            "decision_id": s(DECISION), "topup_id": s(TOPUP), "way": s(way), "requested_by": s(OTHER_STAFF),
            "state": s("pending"), "created_at": s(EARLIER), "memo": s(NOTE),
        }),
    );
    match object {
        Some(object) => with(decision, "object", s(object)),
        None => decision,
    }
}

fn of_refund(decision: Json) -> Json {
    with(decision, "refund_id", s(REFUND))
}

/// The PaymentIntent is paid with another amount than was requested.
fn paid(received: &str) -> FactJson {
    FactJson::Intent {
        id: INTENT.to_owned(),
        amount: received.to_owned(),
        currency: "jpy".to_owned(),
        received: received.to_owned(),
        status: "succeeded".to_owned(),
        livemode: false,
    }
}

fn paid_in(currency: &str) -> FactJson {
    FactJson::Intent {
        id: INTENT.to_owned(),
        amount: "5000".to_owned(),
        currency: currency.to_owned(),
        received: "5000".to_owned(),
        status: "succeeded".to_owned(),
        livemode: false,
    }
}

fn object_text(received: &str) -> String {
    format!("{INTENT} succeeded {received} jpy")
}

fn wallet_with(reserved: &str) -> [Json; 2] {
    [account("ECOPAY", "1000", "200", reserved), account("POINT", "30", "0", "0")]
}

fn on_suspense(record: Json, amount: &str, given_up: Option<&str>) -> Json {
    let record = with(record, "suspense", n(amount));
    match given_up {
        Some(given_up) => with(record, "given_up", n(given_up)),
        None => record,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = requests();
    all.extend(refused_requests());
    all.extend(booked());
    all.extend(given_up());
    all.extend(refunds());
    all.extend(written_off());
    all.extend(refused_approvals());
    all
}

fn requests() -> Vec<Case> {
    vec![
        request("decisions/book-requested", "Nothing is moved yet.", "book", (None, Some(paid("2000"))))
            .on([pending()])
            .precedence(),
        request("decisions/give-up-requested", "Of one whose claim is parked.", "give_up", (None, Some(paid("2000"))))
            .on([requested(), parked(topup_in_flight())]),
        request(
            "decisions/refund-book-requested",
            "Of a refund.",
            "book",
            (Some(REFUND), Some(refund(PSP_REFUND, "2500", "succeeded"))),
        )
        .on(holding(known("pending"))),
        request("decisions/write-off-requested", "Needs no object of the provider.", "write_off", (None, None))
            .on([on_suspense(canceled(), "2000", Some("2000"))]),
    ]
}

fn refused_requests() -> Vec<Case> {
    let of_topup = |fact| (None, Some(fact));
    vec![
        request("decisions/agrees", "An event books this: there is nothing to decide.", "book", of_topup(intent("succeeded")))
            .on([pending()])
            .ends("invalid way: cannot be decided: the provider's object agrees with the record"),
        request("decisions/in-flight", "A worker may still end it.", "book", of_topup(paid("2000")))
            .on([requested(), topup_in_flight()])
            .ends("invalid way: is still being worked on: wait until it has ended or is parked"),
        request("decisions/without-object", "There is nothing to book.", "book", (None, None))
            .on([pending()])
            .ends("invalid way: cannot be decided: the provider has no such object"),
        request("decisions/book-not-yen", "What was paid is no yen.", "book", of_topup(paid_in("usd")))
            .on([pending()])
            .ends("invalid way: cannot be book: the PaymentIntent is not paid in yen of this mode; cancel it and give the top-up up"),
        request("decisions/give-up-unpaid-and-ended", "It has ended, and nothing was paid.", "give_up", of_topup(paid_in("usd")))
            .on([canceled()])
            .ends("invalid way: cannot be give_up: nothing is reserved, and the provider has moved nothing in yen"),
        request("decisions/refund-book-unpaid", "The provider has paid nothing out.", "book",
            (Some(REFUND), Some(refund(PSP_REFUND, "2500", "pending"))))
            .on(holding(known("pending")))
            .ends("invalid way: cannot be book: the provider has not paid the refund out in yen"),
        request("decisions/refund-give-up-on-its-way", "It may still be paid out.", "give_up",
            (Some(REFUND), Some(refund(PSP_REFUND, "2500", "pending"))))
            .on(holding(known("pending")))
            .ends("invalid way: cannot be give_up: the refund is on its way; wait until it has ended"),
        request("decisions/refund-book-ended", "Nothing is held for it any more.", "book",
            (Some(REFUND), Some(refund(PSP_REFUND, "2500", "succeeded"))))
            .on(after_payout(known("failed")))
            .ends("invalid way: cannot be book: nothing is held for the refund any more"),
        request("decisions/of-another-kind", "A refund is no PaymentIntent.", "book",
            of_topup(FactJson::Refund { id: PSP_REFUND.to_owned(), intent: Some("pi_2".to_owned()), amount: "2000".to_owned(),
                currency: "jpy".to_owned(), status: "succeeded".to_owned() }))
            .on([succeeded("5000", "0")])
            .ends("invalid way: cannot be decided: the provider's object is of another kind"),
        request("decisions/write-off-of-nothing", "Nothing of it is on suspense.", "write_off", (None, None))
            .on([canceled()])
            .ends("invalid way: cannot be write_off: nothing of it is on suspense"),
    ]
}

/// The amount received is credited, with its share of the promised points.
fn booked() -> Vec<Case> {
    let less = [
        (OF_A, RESERVED, "-5000"),
        (OF_A, "ECOPAY", "2000"),
        ("stripe_clearing", "ECOPAY", "-2000"),
        (OF_A, "POINT", "20"),
        ("points_issued", "POINT", "-20"),
    ];
    let after_the_end = [
        (OF_A, "ECOPAY", "5000"),
        ("stripe_clearing", "ECOPAY", "-5000"),
        (OF_A, "POINT", "50"),
        ("points_issued", "POINT", "-50"),
    ];
    let book = |id, why, received: &str| {
        approve(id, why, (None, Some(paid(received)))).on([decision_request("book", Some(&object_text(received)))])
    };
    vec![
        book("decisions/booked-less", "2,000 of 5,000: 20 of the 50 points.", "2000")
            .on([pending()])
            .on(wallet_with("5000"))
            .moves(&less)
            .precedence(),
        book("decisions/booked-more", "Points are for what was asked for.", "6000")
            .on([pending()])
            .on(wallet_with("5000"))
            .moves(&[
                (OF_A, RESERVED, "-5000"),
                (OF_A, "ECOPAY", "6000"),
                ("stripe_clearing", "ECOPAY", "-6000"),
                (OF_A, "POINT", "50"),
                ("points_issued", "POINT", "-50"),
            ]),
        book("decisions/booked-too-little-for-points", "No whole point.", "99")
            .on([pending()])
            .on(wallet_with("5000"))
            .moves(&[(OF_A, RESERVED, "-5000"), (OF_A, "ECOPAY", "99"), ("stripe_clearing", "ECOPAY", "-99")]),
        book("decisions/booked-and-landed", "The parked claim is answered with it.", "2000")
            .on([requested(), parked(topup_in_flight())])
            .on(wallet_with("5000"))
            .moves(&less)
            .precedence(),
        book("decisions/booked-after-canceled", "Nothing is reserved any more.", "5000")
            .on([canceled()])
            .on(wallet_with("0"))
            .moves(&after_the_end),
        book("decisions/booked-after-refused", "The provider had refused it and has it paid.", "5000")
            .on([refused()])
            .on(wallet_with("0"))
            .moves(&after_the_end),
        book("decisions/booked-into-frozen", "A freeze does not stop it.", "2000")
            .on([pending()])
            .on(wallet_with("5000").map(frozen))
            .moves(&less),
        book("decisions/booked-and-landed-meanwhile", "An event has answered the claim: plan again.", "2000")
            .seen([requested(), parked(topup_in_flight())])
            .on([pending(), answered(&topup_by_a(), topup_in_flight())])
            .on(wallet_with("5000"))
            .ends("rejected stale_plan by topup"),
    ]
}

/// The top-up ends; the amount received is on `suspense`.
fn given_up() -> Vec<Case> {
    let give_up = |id, why, received: &str| {
        approve(id, why, (None, Some(paid(received)))).on([decision_request("give_up", Some(&object_text(received)))])
    };
    let kept = [("stripe_clearing", "ECOPAY", "-2000"), ("suspense", "ECOPAY", "2000")];
    let dead = "pi_2 canceled 0 jpy";
    let canceled_intent = FactJson::Intent {
        id: "pi_2".to_owned(),
        amount: "4000".to_owned(),
        currency: "jpy".to_owned(),
        received: "0".to_owned(),
        status: "canceled".to_owned(),
        livemode: false,
    };
    vec![
        give_up("decisions/given-up", "Its headroom is free, and what was received is on suspense.", "2000")
            .on([pending()])
            .on(wallet_with("5000"))
            .moves(&[(OF_A, RESERVED, "-5000")])
            .moves(&kept)
            .precedence(),
        give_up("decisions/given-up-and-landed", "The parked claim is answered with the refusal.", "2000")
            .on([requested(), parked(topup_in_flight())])
            .on(wallet_with("5000"))
            .moves(&[(OF_A, RESERVED, "-5000")])
            .moves(&kept),
        give_up("decisions/given-up-after-canceled", "Nothing is reserved any more.", "2000")
            .on([canceled()])
            .moves(&kept),
        approve("decisions/given-up-unpaid", "Nothing was received: nothing is posted.", (None, Some(canceled_intent)))
            .on([decision_request("give_up", Some(dead)), requested(), parked(topup_in_flight())])
            .on(wallet_with("5000"))
            .moves(&[(OF_A, RESERVED, "-5000")]),
        give_up("decisions/given-up-twice", "What is on suspense already is not put there again.", "2000")
            .on([on_suspense(canceled(), "2000", Some("2000"))])
            .ends("refused wrong_state"),
        give_up("decisions/given-up-twice-at-once", "Of two decisions one counts.", "2000")
            .seen([canceled()])
            .on([on_suspense(canceled(), "2000", Some("2000"))])
            .ends("rejected stale_plan by topup"),
        give_up("decisions/given-up-and-paid-meanwhile", "An event has credited it.", "2000")
            .seen([pending()])
            .on([succeeded("5000", "0")])
            .on(wallet_with("5000"))
            .ends("rejected stale_plan by topup"),
    ]
}

fn refunds() -> Vec<Case> {
    let object_text = |amount: &str, status: &str| format!("{PSP_REFUND} {status} {amount} jpy");
    let decided = |id, why, way: &str, amount: &str, status: &str| {
        let fact = refund(PSP_REFUND, amount, status);
        approve(id, why, (Some(REFUND), Some(fact)))
            .on([of_refund(decision_request(way, Some(&object_text(amount, status))))])
    };
    let left = [(OF_A, HELD, "-2000"), (OF_A, HELD_POINTS, "-20"), ("points_issued", "POINT", "20")];
    let released = [(OF_A, HELD, "-2000"), (OF_A, "ECOPAY", "2000"), (OF_A, HELD_POINTS, "-20"), (OF_A, "POINT", "20")];
    let never = || with(refund_requested(), "state", s("failed"));
    vec![
        decided(
            "decisions/refund-booked-more",
            "The provider paid 500 more than was held.",
            "book",
            "2500",
            "succeeded",
        )
        .on(holding(known("pending")))
        .moves(&left)
        .moves(&[("stripe_clearing", "ECOPAY", "2500"), ("suspense", "ECOPAY", "-500")])
        .precedence(),
        decided("decisions/refund-booked-less", "500 less: they are on suspense.", "book", "1500", "succeeded")
            .on(holding(refund_requested()))
            .on([parked(refund_in_flight())])
            .moves(&left)
            .moves(&[("stripe_clearing", "ECOPAY", "1500"), ("suspense", "ECOPAY", "500")]),
        decided(
            "decisions/refund-given-up",
            "The wallet has it back, and the card has it too.",
            "give_up",
            "2500",
            "succeeded",
        )
        .on(holding(known("pending")))
        .moves(&released)
        .moves(&[("stripe_clearing", "ECOPAY", "2500"), ("suspense", "ECOPAY", "-2500")])
        .precedence(),
        decided("decisions/refund-given-up-unpaid", "It failed at the provider.", "give_up", "2500", "failed")
            .on(holding(known("pending")))
            .moves(&released),
        decided(
            "decisions/refund-given-up-after-failed",
            "Nothing is held: what the provider paid out is posted alone.",
            "give_up",
            "2000",
            "succeeded",
        )
        .on(after_payout(never()))
        .moves(&[("stripe_clearing", "ECOPAY", "2000"), ("suspense", "ECOPAY", "-2000")]),
        decided("decisions/refund-given-up-twice", "It is on suspense already.", "give_up", "2000", "succeeded")
            .on(after_payout(on_suspense(never(), "-2000", Some("2000"))))
            .ends("invalid way: cannot be give_up: nothing is held, and the provider has moved nothing in yen"),
    ]
}

fn written_off() -> Vec<Case> {
    let write_off = |id, why| approve(id, why, (None, None)).on([decision_request("write_off", None)]);
    let ours = [("suspense", "ECOPAY", "-2000"), ("adjustments", "ECOPAY", "2000")];
    vec![
        write_off("decisions/written-off", "What was received is the tenant's.")
            .on([on_suspense(canceled(), "2000", Some("2000"))])
            .moves(&ours)
            .precedence(),
        write_off("decisions/written-off-meanwhile", "Once.")
            .seen([on_suspense(canceled(), "2000", Some("2000"))])
            .on([with(canceled(), "given_up", n("2000"))])
            .ends("rejected stale_plan by topup"),
        approve("decisions/refund-written-off", "What was paid out beyond the books is a loss.", (Some(REFUND), None))
            .on([of_refund(decision_request("write_off", None))])
            .on(after_payout(on_suspense(known("succeeded"), "-500", None)))
            .moves(&[("suspense", "ECOPAY", "500"), ("adjustments", "ECOPAY", "-500")]),
    ]
}

fn refused_approvals() -> Vec<Case> {
    let book = |id, why| approve(id, why, (None, Some(paid("2000")))).on([pending()]).on(wallet_with("5000"));
    let own = with(decision_request("book", Some(&object_text("2000"))), "requested_by", s(STAFF));
    let approved = || with(decision_request("book", Some(&object_text("2000"))), "state", s("approved"));
    vec![
        book("decisions/own", "One's own decision.").on([own]).ends("rejected four_eyes by decision"),
        book("decisions/approved-before", "Once.").on([approved()]).ends("refused wrong_state"),
        book("decisions/approved-twice-at-once", "Of two approvals one counts.")
            .seen([decision_request("book", Some(&object_text("2000")))])
            .on([approved()])
            .ends("rejected wrong_state by decision"),
        book("decisions/object-changed", "The provider says something else than when it was asked for.")
            .on([decision_request("book", Some(&object_text("1900")))])
            .ends("refused wrong_state"),
    ]
}
