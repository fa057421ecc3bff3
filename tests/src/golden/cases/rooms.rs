//! Rooms of merchants that settlements return: the switch, refund rooms and their ceiling, and settlements that cover cash
//! and refunds.

use super::Case;
use super::card_reverse::{done, entry, reversal as reverse};
use super::refund;
use super::settlements::{balance, charged, fresh, open, settlement, step, task};
use super::settlements_lanes::credited;
use super::world::*;
use crate::golden::build_cash::CashDoes;
use crate::golden::build_settlement::SettlementStep;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The terms of a tenant whose rooms are settled.
pub(super) fn settling(records: &str) -> Json {
    let owing = with(with(config(), "records", n(records)), "cash", s("owed_by_merchant"));
    with(owing, "rooms", s("settled"))
}

/// The merchant's refund room.
pub(super) fn refund_room(ceiling: &str, room: &str, outstanding: &str) -> Json {
    let attributes =
        json!({ "ceiling": n(ceiling), "room": n(room), "outstanding": n(outstanding), "updated_at": s(EARLIER) });
    item("merchant", MERCHANT, "REFUND_ROOM", attributes)
}

fn refunds(id: &'static str, why: &'static str, records: &str) -> Case {
    let mut case = refund::case(id, why, Some(yen("600")));
    let [_, others @ ..] = &refund::base(refund::in_money(), "0", "17")[..] else { panic!("the terms come first") };
    case.given.state = vec![settling(records)];
    case.on(others.to_vec())
}

fn reversal(id: &'static str, why: &'static str, operation: &str) -> Case {
    let mut case = reverse(id, why, operation);
    case.given.state = vec![settling("5"), merchant()];
    case
}

/// The entry of a payment of 800 yen of this age.
fn paid_at(created_at: &str) -> Json {
    let entry = entry("card_pay", &[(OF_CARD, "-800"), (OF_MERCHANT, "800")]);
    with(with(entry, "payment_id", s(PAYMENT)), "created_at", s(created_at))
}

fn captured() -> Json {
    with(payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", "800")]), "state", s("captured"))
}

fn ceiling(id: &'static str, why: &'static str, ceiling: &str) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}/refund-room");
    let claim = by_staff("refund_ceiling", &path, json!({ "ceiling": ceiling }));
    let (merchant_id, actor) = (MERCHANT.to_owned(), BY_STAFF.to_owned());
    let does = CashDoes::RefundCeiling { merchant: merchant_id, ceiling: yen(ceiling), actor };
    Case::new(id, why, Some(claim), Does::Cash(does)).on([merchant()])
}

fn deposit(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}/cash-deposits");
    let claim = by_staff("cash_deposit", &path, json!({ "amount": "5000", "reason": "receipt 7" }));
    let (merchant_id, reason, actor) = (MERCHANT.to_owned(), "receipt 7".to_owned(), BY_STAFF.to_owned());
    let does = CashDoes::Deposit { merchant: merchant_id, amount: yen("5000"), reason, actor };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

fn switch(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, Does::Cash(CashDoes::SettleRooms { actor: "system".to_owned() }))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = taken();
    all.extend(reversed());
    all.extend(changes());
    all.extend(settled());
    all.extend(deposited());
    all
}

fn taken() -> Vec<Case> {
    let moved = [(OF_A, "ECOPAY", "600"), (OF_MERCHANT, "ECOPAY", "-600")];
    let points = [(OF_A, "POINT", "-5"), ("points_issued", "POINT", "5")];
    vec![
        refunds("refund/takes-room", "The room is exactly enough. Its entry and its record have it.", "5")
            .on([refund_room("5000", "600", "4400")])
            .moves(&moved)
            .moves(&points)
            .precedence(),
        refunds("refund/takes-room-records-4", "The same in the full form.", "4")
            .on([refund_room("5000", "5000", "0")])
            .moves(&moved)
            .moves(&points),
        refunds("refund/above-the-room", "One yen more than the room.", "5")
            .on([refund_room("5000", "599", "4401")])
            .ends("rejected refund_room_exceeded by refund_room"),
        refunds("refund/without-room", "A merchant that has no ceiling refunds nothing.", "5")
            .ends("rejected refund_room_exceeded by refund_room"),
    ]
}

fn reversed() -> Vec<Case> {
    let unpaid = [(OF_CARD, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")];
    let refunded = || {
        let entry = entry("card_refund", &[(OF_MERCHANT, "-800"), (OF_CARD, "800")]);
        let refund = "019a9000-0000-7000-8000-000000000092";
        with(with(entry, "payment_id", s(PAYMENT)), "refund_id", s(refund))
    };
    let all = vec![
        reversal("card_reverse/pay-takes-room", "Within ten minutes: also without room.", "card_pay")
            .on([done("card_pay"), paid_at("2026-11-21T02:50:00.000Z"), captured(), card("2200")])
            .on([refund_room("1000", "200", "800")])
            .moves(&unpaid)
            .precedence(),
        reversal(
            "card_reverse/pay-without-ceiling",
            "Within ten minutes, of a merchant without a ceiling.",
            "card_pay",
        )
        .on([done("card_pay"), paid_at("2026-11-21T02:59:00.000Z"), captured(), card("2200")])
        .moves(&unpaid),
        reversal("card_reverse/pay-late-takes-room", "A millisecond later: with room.", "card_pay")
            .on([done("card_pay"), paid_at("2026-11-21T02:49:59.999Z"), captured(), card("2200")])
            .on([refund_room("1000", "800", "200")])
            .moves(&unpaid),
        reversal("card_reverse/pay-late-above-the-room", "One yen more than the room.", "card_pay")
            .on([done("card_pay"), paid_at("2026-11-21T02:49:59.999Z"), captured(), card("2200")])
            .on([refund_room("1000", "799", "201")])
            .ends("rejected refund_room_exceeded by refund_room"),
        reversal("card_reverse/refund-keeps-room", "What the refund took returns with its settlement.", "card_refund")
            .on([done("card_refund"), refunded(), with(captured(), "state", s("refunded")), card("3000")])
            .on([refund_room("1000", "200", "800")])
            .moves(&[(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")]),
    ];
    let none_left = |mut case: Case| {
        for item in &mut case.given.state {
            if item["state"] == s("refunded") {
                *item = with(item.clone(), "refundable_ecopay", n("0"));
            }
        }
        case
    };
    all.into_iter().map(none_left).collect()
}

fn changes() -> Vec<Case> {
    let owing = |cash: bool| {
        let config = with(config(), "records", n("5"));
        if cash { with(config, "cash", s("owed_by_merchant")) } else { config }
    };
    vec![
        switch("tenant/rooms-settled", "Refunds take from rooms, and settlements return rooms.").on([owing(true)]),
        switch("tenant/rooms-before-cash", "Merchants do not owe cash yet.")
            .on([owing(false)])
            .ends("rejected stale_plan by config"),
        switch("tenant/rooms-settled-again", "They are already.")
            .on([settling("5")])
            .ends("rejected wrong_state by config"),
        ceiling("refund_rooms/first-ceiling", "All of it is room.", "100000"),
        ceiling("refund_rooms/raised", "What is more is room.", "150000").on([refund_room("100000", "30000", "70000")]),
        ceiling("refund_rooms/lowered", "Down to what is outstanding.", "70000")
            .on([refund_room("100000", "30000", "70000")]),
        ceiling("refund_rooms/as-before", "Nothing changes.", "100000").on([refund_room("100000", "30000", "70000")]),
        ceiling("refund_rooms/lowered-too-far", "More is outstanding.", "69999")
            .on([refund_room("100000", "30000", "70000")])
            .ends("rejected refund_room_exceeded by refund_room"),
        ceiling("refund_rooms/first-after-reversals", "Payments were reversed before there was a ceiling.", "1000")
            .on([without(refund_room("0", "-800", "800"), "ceiling")]),
        ceiling("refund_rooms/raised-meanwhile", "The ceiling is not as it was read.", "150000")
            .seen([refund_room("100000", "30000", "70000")])
            .on([refund_room("110000", "40000", "70000")])
            .ends("rejected stale_plan by refund_room"),
    ]
}

fn deposited() -> Vec<Case> {
    let of_rooms = |item: Json| with(item, "rooms", s("settled"));
    let moved = [(OF_MERCHANT, "ECOPAY", "5000"), ("cash_clearing", "ECOPAY", "-5000")];
    let sums = [
        ("cash_taken_ecopay", "9000"),
        ("cash_reversed_ecopay", "1000"),
        ("deposited_ecopay", "4000"),
        ("refund_room_ecopay", "100"),
    ];
    let collecting = |deposited: &str| {
        let item = sums.iter().fold(settlement("collecting", &[]), |item, (name, yen)| with(item, name, n(yen)));
        of_rooms(with(item, "deposited_ecopay", n(deposited)))
    };
    let cash_room = || {
        let attributes = json!({
            "ceiling": n("9000"), "unallotted": n("0"), format!("allotted_{TERMINAL}"): n("9000"),
            "created_at": s(EARLIER), "updated_at": s(EARLIER),
        });
        item("merchant", MERCHANT, "CASH_ROOM", attributes)
    };
    vec![
        deposit("cash_deposit/recorded", "The seal of the entry credits the merchant.")
            .on([settling("5"), merchant()])
            .moves(&moved)
            .precedence(),
        deposit("cash_deposit/records-4", "The same in the full form.").on([settling("4"), merchant()]).moves(&moved),
        deposit("cash_deposit/no-merchant", "There is no such merchant.")
            .on([settling("5")])
            .ends("rejected account_missing by profile"),
        deposit("cash_deposit/records-3", "No seal would credit it.")
            .on([with(config(), "records", n("3")), merchant()])
            .ends("invalid merchant_id: is of a tenant whose seals credit no merchant"),
        step(
            "settlement/deposit-close-lane",
            "A deposit has a sum of its own, which the balance grows by.",
            SettlementStep::CloseLane { lane: "0".to_owned() },
        )
        .on([fresh(), with(credited("4", "7"), "deposited_ecopay", n("350")), balance("ECOPAY", "50", "0")]),
        task("settlement/deposit-carried", "What was deposited is covered, and its room returns.", "hold").on([
            collecting("4000"),
            open(),
            cash_room(),
        ]),
        task("settlement/deposit-carried-in-full", "Cash first, then refunds.", "hold").on([
            with(collecting("8050"), "refunded_ecopay", n("3500")),
            open(),
            cash_room(),
            refund_room("5000", "4900", "100"),
        ]),
        task("settlement/deposit-held", "The net has the deposit, and the fee is not taken on it.", "hold")
            .on([with(collecting("6000"), "cash_taken_ecopay", n("4000")), balance("ECOPAY", "6000", "0")])
            .moves(&[(OF_MERCHANT, "ECOPAY", "-6000"), (OF_MERCHANT, "held of ECOPAY", "6000")]),
    ]
}

fn carried(cash: &str, refunds: &str) -> Json {
    json!({ "M": { "cash": n(cash), "refunds": n(refunds) } })
}

fn settled() -> Vec<Case> {
    let of_rooms = |item: Json| with(item, "rooms", s("settled"));
    let sums = |item: Json| {
        let sums = [("cash_taken_ecopay", "1500"), ("cash_reversed_ecopay", "500"), ("refund_room_ecopay", "100")];
        sums.into_iter().fold(item, |item, (name, yen)| with(item, name, n(yen)))
    };
    let paying = || with(charged("paying"), "paying_at", s(EARLIER));
    let by_bank =
        || SettlementStep::Paid { clearing: "bank_clearing".to_owned(), reference: "settlement.txt".to_owned() };
    let paid = [(OF_MERCHANT, "held of ECOPAY", "-2951"), ("bank_clearing", "ECOPAY", "2951")];
    let cash_room = || {
        let attributes = json!({
            "ceiling": n("9000"), "unallotted": n("1000"), format!("allotted_{TERMINAL}"): n("8000"),
            "created_at": s(EARLIER), "updated_at": s(EARLIER),
        });
        item("merchant", MERCHANT, "CASH_ROOM", attributes)
    };
    vec![
        step(
            "settlement/rooms-close-lane",
            "What refunds took from the room is a sum that changes no balance.",
            SettlementStep::CloseLane { lane: "0".to_owned() },
        )
        .on([fresh(), with(credited("4", "7"), "refund_room_ecopay", n("350")), balance("ECOPAY", "50", "0")]),
        task("settlement/rooms-carried", "Nothing is covered: the next settlement begins with it.", "hold")
            .on([with(sums(of_rooms(settlement("collecting", &[]))), "cash_taken_ecopay", n("9000")), open()]),
        step("settlement/rooms-paid", "Cash and refunds are covered, those of earlier settlements too.", by_bank())
            .on([with(of_rooms(sums(paying())), "carried_rooms", carried("200", "30")), cash_room()])
            .on([open(), balance("ECOPAY", "0", "2951"), refund_room("5000", "4000", "1000")])
            .moves(&paid),
        step("settlement/rooms-paid-cash-returned", "More cash was returned than taken: it is carried on.", by_bank())
            .on([with(
                of_rooms(with(paying(), "cash_reversed_ecopay", n("300"))),
                "carried_rooms",
                carried("100", "0"),
            )])
            .on([open(), balance("ECOPAY", "0", "2951")])
            .moves(&paid),
        step(
            "settlement/rooms-paid-before-switch",
            "Opened before the switch: it returns what refunds took.",
            by_bank(),
        )
        .on([sums(paying()), open(), balance("ECOPAY", "0", "2951"), refund_room("5000", "4900", "100")])
        .moves(&paid),
        task("settlement/rooms-undone", "The next one begins with what this one began with.", "undo_collect").on([
            with(with(of_rooms(settlement("collecting", &[])), "turned_back", s("step_failed")), "batches", n("0")),
            with(open(), "carried_rooms", carried("200", "30")),
        ]),
    ]
}

/// What the last settlement did not cover, in the merchant's `SETTLING`.
pub(super) fn left() -> Json {
    let attributes = json!({ "carried_rooms": carried("200", "30"), "updated_at": s(EARLIER) });
    item("merchant", MERCHANT, "SETTLING", attributes)
}
