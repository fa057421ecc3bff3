//! What an operator decides: parked operations are retried or given up, and kept events are dismissed.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

fn resolving() -> ClaimJson {
    let path = format!("/v1/admin/parked/topup/{TOPUP}");
    by_staff("parked_resolve", &path, json!({ "action": "retry" }))
}

fn retry(id: &'static str, why: &'static str) -> Case {
    let (marker, actor) = (marker_of(&topup_by_a()), BY_STAFF.to_owned());
    let reason = "not found at the provider".to_owned();
    Case::new(id, why, Some(resolving()), Does::ParkedRetry { marker, actor, reason })
}

fn give_up(id: &'static str, why: &'static str, of: &ClaimJson, refund: Option<&str>) -> Case {
    let does = Does::ParkedGiveUp {
        marker: marker_of(of),
        topup: TOPUP.to_owned(),
        refund: refund.map(str::to_owned),
        refusal: answer("502", "{\"code\":\"psp_refused\"}"),
        actor: BY_STAFF.to_owned(),
        reason: "not found at the provider".to_owned(),
    };
    Case::new(id, why, Some(resolving()), does)
}

fn keep(id: &'static str, why: &'static str, object: Option<&str>) -> Case {
    let (event, kind) = (EVENT.to_owned(), "payment_intent.succeeded".to_owned());
    Case::new(
        id,
        why,
        None,
        Does::EventKeep { event, kind, why: "amount".to_owned(), object: object.map(str::to_owned) },
    )
}

fn dismiss(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("event_dismiss", &format!("/v1/admin/events/{EVENT}/dismiss"), json!({}));
    let (event, actor) = (EVENT.to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::EventDismiss { event, actor, reason: "refunded by hand".to_owned() })
}

fn kept() -> Json {
    item(
        "stripe_event",
        EVENT,
        "kept",
        json!({
            "event": s(EVENT), "kind": s("payment_intent.succeeded"), "why": s("amount"), "object": s(INTENT),
            "received_at": s(EARLIER), "due_pk": s("demo#due#attention#0"), "due_sk": s(format!("{EARLIER}#{EVENT}")),
        }),
    )
}

pub(super) fn cases() -> Vec<Case> {
    let topup = || parked(topup_in_flight());
    let refund = || parked(refund_in_flight());
    let wallets = |topup: Json| [topup, account("ECOPAY", "1000", "200", "5000")];
    let holding = |refund: Json| {
        let (money, points) = (account("ECOPAY", "3000", "2000", "0"), account("POINT", "30", "20", "0"));
        [succeeded("3000", "20"), refund, money, points]
    };
    let released = [(OF_A, HELD, "-2000"), (OF_A, "ECOPAY", "2000"), (OF_A, HELD_POINTS, "-20"), (OF_A, "POINT", "20")];
    vec![
        retry("attention/retried", "Due at once, in the next epoch, with all attempts before it.")
            .on([topup()])
            .precedence(),
        retry("attention/retried-while-in-flight", "Only what is parked.")
            .on([topup_in_flight()])
            .ends("refused wrong_state"),
        retry("attention/retried-twice", "Of two decisions one counts.")
            .seen([topup()])
            .on([failed_retry(topup_in_flight(), "0")])
            .ends("rejected stale_plan by flight"),
        retry("attention/retried-and-answered-meanwhile", "An event has landed it: nothing is tried again.")
            .seen([topup()])
            .on([answered(&topup_by_a(), topup_in_flight())])
            .ends("rejected stale_plan by flight"),
        give_up(
            "attention/topup-given-up",
            "Its headroom is free again, and its key has an answer.",
            &topup_by_a(),
            None,
        )
        .on(wallets(requested()))
        .on([topup()])
        .moves(&[(OF_A, RESERVED, "-5000")])
        .precedence(),
        give_up("attention/refund-given-up", "What was held is back.", &refund_by_staff(), Some(REFUND))
            .supersedes()
            .on(holding(refund_requested()))
            .on([refund()])
            .moves(&released)
            .precedence(),
        give_up("attention/given-up-while-in-flight", "Only what is parked.", &topup_by_a(), None)
            .on(wallets(requested()))
            .on([topup_in_flight()])
            .ends("refused wrong_state"),
        give_up("attention/given-up-but-known", "The provider has it after all.", &topup_by_a(), None)
            .on(wallets(pending()))
            .on([topup()])
            .ends("refused stale_plan"),
        give_up(
            "attention/given-up-and-paid-meanwhile",
            "An event has credited it: nothing is released.",
            &topup_by_a(),
            None,
        )
        .seen([requested(), topup()])
        .on([succeeded("5000", "0"), account("ECOPAY", "6000", "200", "0")])
        .on([answered(&topup_by_a(), topup_in_flight())])
        .ends("rejected stale_plan by topup"),
        give_up(
            "attention/given-up-and-retried-meanwhile",
            "A colleague has it tried again: nothing is released.",
            &topup_by_a(),
            None,
        )
        .seen([topup()])
        .on(wallets(requested()))
        .on([failed_retry(topup_in_flight(), "0")])
        .ends("rejected stale_plan by flight"),
        keep("attention/event-kept", "An event that contradicts our record waits for a person.", Some(INTENT)),
        keep("attention/event-kept-without-object", "Whatever is known of it.", None),
        keep("attention/event-kept-again", "A second delivery changes nothing.", Some(INTENT))
            .on([kept()])
            .ends("rejected already_exists by kept_event"),
        dismiss("attention/event-dismissed", "Somebody has looked: it is no longer due, and it stays.")
            .on([kept()])
            .precedence(),
        dismiss("attention/event-dismissed-twice", "Once.")
            .on([with(without(without(kept(), "due_pk"), "due_sk"), "dismissed_at", s(EARLIER))])
            .ends("rejected wrong_state by kept_event"),
        dismiss("attention/event-unknown", "There is no such event.").ends("rejected account_missing by kept_event"),
    ]
}
