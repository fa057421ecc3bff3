//! Adjustments that one person requests and another decides. A debit has the guards of any other; nothing moves before
//! the approval.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::{Value as Json, json};

fn request(id: &'static str, why: &'static str, account: &str, delta: Money) -> Case {
    let claim = by_staff("adjustment_request", "/v1/admin/adjustments", json!({ "account": account }));
    let does = Does::AdjustmentRequest {
        staff: STAFF.to_owned(),
        account: account.to_owned(),
        delta,
        reason: "correction".to_owned(),
        note: "counted twice".to_owned(),
    };
    Case::new(id, why, Some(claim), does)
}

fn decide(id: &'static str, why: &'static str, decision: &str) -> Case {
    let path = format!("/v1/admin/adjustments/{PAYMENT}/{decision}");
    let claim = by_staff(&format!("adjustment_{decision}"), &path, json!({}));
    let does = Does::AdjustmentDecide {
        staff: STAFF.to_owned(),
        adjustment: PAYMENT.to_owned(),
        decision: decision.to_owned(),
    };
    Case::new(id, why, Some(claim), does).on([config()])
}

/// An adjustment that the other staff member requested.
fn pending(account: &str, asset: &str, delta: &str) -> Json {
    let attributes = json!({
        "adjustment_id": s(PAYMENT), "account": s(account), "asset": s(asset), "delta": n(delta),
        "reason_code": s("goodwill"), "requested_by": s(OTHER_STAFF), "state": s("pending"), "created_at": s(EARLIER),
    });
    item("tenant", "root", &format!("ADJUSTMENT#{PAYMENT}"), attributes)
}

fn own(adjustment: Json) -> Json {
    with(adjustment, "requested_by", s(STAFF))
}

fn decided(adjustment: Json, state: &str) -> Json {
    with(adjustment, "state", s(state))
}

/// An adjustment that corrects a break of a run that began at `compared_at`.
fn answering(adjustment: Json, compared_at: &str) -> Json {
    let finding = format!("{RESOURCE}/{AUDIT}");
    with(with(adjustment, "finding", s(finding)), "compared_at", s(compared_at))
}

/// A wallet whose balance a correction has changed.
fn corrected(corrected_at: &str) -> Json {
    with(wallet(A, "ECOPAY", "300"), "corrected_at", s(corrected_at))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = requests();
    all.extend(approvals());
    all.extend(corrections());
    all.extend(counted_corrections());
    all.extend(rejections());
    all
}

fn requests() -> Vec<Case> {
    vec![
        request("adjustment_request/debit", "Nothing moves until another approves.", OF_A, yen("-300")),
        request("adjustment_request/card", "Cards can be adjusted too.", OF_CARD, yen("300")),
        request("adjustment_request/merchant", "A merchant's balance is a projection.", OF_MERCHANT, yen("300"))
            .ends("invalid account: must be a customer's or a card's"),
    ]
}

fn approvals() -> Vec<Case> {
    let up = || pending(OF_A, "ECOPAY", "300");
    let down = || pending(OF_A, "ECOPAY", "-300");
    let credited = [(OF_A, "ECOPAY", "300"), ("adjustments", "ECOPAY", "-300")];
    let approve = |id, why| decide(id, why, "approve");
    vec![
        approve("adjustment_approve/credit", "Posted, with an audit record.")
            .on([up(), wallet(A, "ECOPAY", "0")])
            .moves(&credited)
            .precedence(),
        approve("adjustment_approve/debit", "A debit, down to zero.")
            .on([down(), wallet(A, "ECOPAY", "300")])
            .moves(&[(OF_A, "ECOPAY", "-300"), ("adjustments", "ECOPAY", "300")])
            .precedence(),
        approve("adjustment_approve/card", "On a card.")
            .on([pending(OF_CARD, "ECOPAY", "-300"), card("300")])
            .moves(&[(OF_CARD, "ECOPAY", "-300"), ("adjustments", "ECOPAY", "300")]),
        approve("adjustment_approve/carbon-credits", "Three decimals.")
            .on([pending(OF_A, "JCREDIT", "0.125"), wallet(A, "JCREDIT", "0")])
            .moves(&[(OF_A, "JCREDIT", "0.125"), ("adjustments", "JCREDIT", "-0.125")]),
        approve("adjustment_approve/frozen-credit", "A freeze does not stop a credit.")
            .on([up(), frozen(wallet(A, "ECOPAY", "0"))])
            .moves(&credited),
        approve("adjustment_approve/own", "Nobody approves what they asked for.")
            .on([own(up()), wallet(A, "ECOPAY", "0")])
            .ends("rejected four_eyes by adjustment"),
        approve("adjustment_approve/own-and-decided", "Four eyes come before the state.")
            .on([decided(own(up()), "approved"), wallet(A, "ECOPAY", "0")])
            .ends("rejected four_eyes by adjustment"),
        approve("adjustment_approve/twice", "It is decided once.")
            .on([decided(up(), "approved"), wallet(A, "ECOPAY", "0")])
            .ends("rejected wrong_state by adjustment"),
        approve("adjustment_approve/after-rejection", "A rejected one stays rejected.")
            .on([decided(up(), "rejected"), wallet(A, "ECOPAY", "0")])
            .ends("rejected wrong_state by adjustment"),
        approve("adjustment_approve/short", "A debit needs the balance.")
            .on([down(), wallet(A, "ECOPAY", "299")])
            .ends("rejected insufficient by payer"),
        approve("adjustment_approve/frozen-debit", "A frozen account is not debited.")
            .on([down(), frozen(wallet(A, "ECOPAY", "300"))])
            .ends("rejected account_frozen by payer"),
        approve("adjustment_approve/account-missing", "There is no such account.")
            .on([up()])
            .ends("rejected account_missing by payee"),
    ]
}

/// Requests of a release that stored only when the run began.
fn corrections() -> Vec<Case> {
    let down = || answering(pending(OF_A, "ECOPAY", "-300"), EARLIER);
    let corrects = [(OF_A, "ECOPAY", "-300"), ("adjustments", "ECOPAY", "300")];
    let before = "2026-11-20T00:00:00.000Z";
    let approve = |id, why| decide(id, why, "approve");
    vec![
        approve("adjustment_approve/break", "It answers a break, which its entry names; the wallet counts it.")
            .on([down(), wallet(A, "ECOPAY", "300")])
            .moves(&corrects)
            .precedence()
            .supersedes(),
        approve("adjustment_approve/break-again", "A later run found another break.")
            .on([down(), corrected(before)])
            .moves(&corrects)
            .precedence()
            .supersedes(),
        approve("adjustment_approve/break-credit", "What is missing is put back.")
            .on([answering(pending(OF_A, "ECOPAY", "300"), EARLIER), corrected(before)])
            .moves(&[(OF_A, "ECOPAY", "300"), ("adjustments", "ECOPAY", "-300")])
            .supersedes(),
        approve("adjustment_approve/break-of-card", "A card's balance, likewise.")
            .on([answering(pending(OF_CARD, "ECOPAY", "-300"), EARLIER), card("300")])
            .moves(&[(OF_CARD, "ECOPAY", "-300"), ("adjustments", "ECOPAY", "300")])
            .supersedes(),
        approve("adjustment_approve/break-corrected", "Two runs found the same break, and the other's was approved.")
            .on([down(), corrected(EARLIER)])
            .ends("rejected wrong_state by payer")
            .supersedes(),
        approve(
            "adjustment_approve/break-within-skew",
            "Corrected four minutes before the run: clocks may differ by it.",
        )
        .on([down(), corrected("2026-11-20T02:56:00.000Z")])
        .ends("rejected wrong_state by payer"),
        approve("adjustment_approve/break-counted-since", "A later release has counted a correction.")
            .on([down(), with(corrected(before), "corrections", n("1"))])
            .ends("rejected wrong_state by payer"),
    ]
}

/// Requests that store the balance's count of corrections.
fn counted_corrections() -> Vec<Case> {
    let before = "2026-11-20T00:00:00.000Z";
    let down = |count: &str| with(answering(pending(OF_A, "ECOPAY", "-300"), EARLIER), "seen_corrections", n(count));
    let first = || down("0");
    let second = || with(down("1"), "seen_corrected_at", s(before));
    let once = || with(corrected(before), "corrections", n("1"));
    let corrects = [(OF_A, "ECOPAY", "-300"), ("adjustments", "ECOPAY", "300")];
    let approve = |id, why| decide(id, why, "approve");
    vec![
        approve("adjustment_approve/counted-first", "The first correction of the wallet.")
            .on([first(), wallet(A, "ECOPAY", "300")])
            .moves(&corrects)
            .precedence(),
        approve("adjustment_approve/counted-second", "The second one, of a run that saw the first.")
            .on([second(), once()])
            .moves(&corrects)
            .precedence(),
        approve("adjustment_approve/counted-slow-clock", "Corrected since, by a function whose clock was behind.")
            .on([first(), once()])
            .ends("rejected wrong_state by payer"),
        approve("adjustment_approve/counted-same-instant", "Corrected since, at the very instant that the run saw.")
            .on([second(), with(once(), "corrections", n("2"))])
            .ends("rejected wrong_state by payer"),
        approve("adjustment_approve/counted-uncounted-since", "Corrected since, by a release that does not count.")
            .on([first(), corrected(before)])
            .ends("rejected wrong_state by payer"),
    ]
}

fn rejections() -> Vec<Case> {
    let up = || pending(OF_A, "ECOPAY", "300");
    let reject = |id, why| decide(id, why, "reject");
    vec![
        reject("adjustment_reject/rejected", "Nothing moves.").on([up()]),
        reject("adjustment_reject/own", "Nor does anybody reject their own.")
            .on([own(up())])
            .ends("rejected four_eyes by adjustment"),
        reject("adjustment_reject/after-approval", "It has been posted.")
            .on([decided(up(), "approved")])
            .ends("rejected wrong_state by adjustment"),
    ]
}
