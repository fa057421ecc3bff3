//! Counters of the operator: their registration, cash, its reversal, their rooms and collections.

use super::Case;
use super::card_reverse::{done, entry, original};
use super::world::*;
use crate::golden::build_cash::CashDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const OPERATOR: &str = "operator";

fn owing() -> Json {
    with(with(config(), "records", n("5")), "cash", s("owed_by_merchant"))
}

pub(super) fn counter() -> Json {
    with(without(terminal(), "merchant_id"), "kind", s("counter"))
}

/// A counter with this room left, and this cash that was not collected.
pub(super) fn used(room: &str, outstanding: &str) -> Json {
    let counter = with(with(counter(), "cash_room", n(room)), "cash_room_at", s(EARLIER));
    with(counter, "cash_outstanding", n(outstanding))
}

fn rooms(ceiling: &str, unallotted: &str, allotted: &str) -> Json {
    let attributes = json!({
        "ceiling": n(ceiling), "unallotted": n(unallotted), format!("allotted_{TERMINAL}"): n(allotted),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("tenant", "root", "CASH_ROOM", attributes)
}

fn opened(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("terminal_open", "/v1/admin/terminals", json!({ "kind": "counter" }));
    let does = CashDoes::OpenCounter { terminal: TERMINAL.to_owned(), actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

fn topup(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/topup");
    let claim = by_terminal("card_topup", 7, &path, json!({ "amount": amount }));
    let (terminal, merchant, card) = (TERMINAL.to_owned(), OPERATOR.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardTopup { terminal, merchant, card, charge: yen(amount) })
}

/// The entry of a top-up of 800 yen with a bonus of 8, this old at the cases' time.
pub(super) fn topup_entry(created_at: &str) -> Json {
    let postings = [("cash_clearing", "-800"), (OF_CARD, "800"), ("points_issued", "-8"), (OF_CARD, "8")];
    with(entry("card_topup", &postings), "created_at", s(created_at))
}

fn reversal(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/terminal/operations/card_topup/{TERMINAL}-1-8/reverse");
    let claim = by_terminal("card_reverse", 9, &path, json!({}));
    let (terminal, merchant) = (TERMINAL.to_owned(), OPERATOR.to_owned());
    let does = Does::CardReverse { terminal, merchant, original: original("card_topup") };
    Case::new(id, why, Some(claim), does).on([owing()])
}

fn ceiling(id: &'static str, why: &'static str, ceiling: &str) -> Case {
    let claim = by_staff("cash_ceiling", "/v1/admin/cash-room", json!({ "ceiling": ceiling }));
    let (merchant, actor) = (OPERATOR.to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::Cash(CashDoes::Ceiling { merchant, ceiling: yen(ceiling), actor }))
}

fn room(id: &'static str, why: &'static str, verb: &str, amount: &str) -> Case {
    let path = format!("/v1/admin/terminals/{TERMINAL}/cash-room");
    let claim = by_staff("cash_room", &path, json!({ verb: amount }));
    let (merchant, terminal, amount, actor) =
        (OPERATOR.to_owned(), TERMINAL.to_owned(), yen(amount), BY_STAFF.to_owned());
    let does = match verb {
        "allot" => CashDoes::Allot { merchant, terminal, amount, actor },
        _ => CashDoes::Withdraw { merchant, terminal, amount, actor },
    };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

fn collected(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/admin/terminals/{TERMINAL}/cash-collections");
    let claim = by_staff("cash_collection", &path, json!({ "amount": amount, "reason": "slip 7" }));
    let (terminal, reason, actor) = (TERMINAL.to_owned(), "slip 7".to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::Cash(CashDoes::Collect { terminal, amount: yen(amount), reason, actor }))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = at_the_counter();
    all.extend(of_the_operator());
    all
}

fn at_the_counter() -> Vec<Case> {
    let loaded =
        [(OF_CARD, "ECOPAY", "5050"), ("cash_clearing", "ECOPAY", "-5000"), ("points_issued", "ECOPAY", "-50")];
    let unloaded = [(OF_CARD, "ECOPAY", "-808"), ("cash_clearing", "ECOPAY", "800"), ("points_issued", "ECOPAY", "8")];
    let in_time = || topup_entry("2026-11-21T02:50:00.000Z");
    vec![
        topup("card_topup/counter", "The operator has the cash, and the card earns the bonus.", "5000")
            .on([owing(), card("3000"), used("7000", "0")])
            .moves(&loaded)
            .precedence(),
        topup("card_topup/counter-first", "The counter never took any.", "5000")
            .on([owing(), card("3000"), without(used("5000", "0"), "cash_outstanding")])
            .moves(&loaded),
        topup("card_topup/counter-above-the-room", "One yen more than the room.", "5000")
            .on([owing(), card("3000"), used("4999", "0")])
            .ends("rejected cash_room_exceeded by cash_room"),
        topup("card_topup/counter-is-a-till", "A till is no counter.", "5000")
            .on([owing(), merchant(), card("3000"), with(terminal(), "cash_room", n("7000"))])
            .ends("rejected wrong_state by cash_room"),
        topup("card_topup/counter-frozen", "A counter that was frozen since its request was verified.", "5000")
            .on([owing(), card("3000"), with(used("7000", "0"), "state", s("frozen"))])
            .ends("rejected wrong_state by cash_room"),
        reversal("card_reverse/counter", "Ten minutes after: cash, bonus and room go back.")
            .on([done("card_topup"), in_time(), card("3808"), used("200", "800")])
            .moves(&unloaded)
            .precedence(),
        reversal("card_reverse/counter-too-late", "A millisecond later.")
            .on([done("card_topup"), topup_entry("2026-11-21T02:49:59.999Z"), card("3808"), used("200", "800")])
            .ends("refused reversal_too_late"),
        reversal("card_reverse/counter-unknown", "It had not arrived, and is refused if it does.").on([counter()]),
    ]
}

fn of_the_operator() -> Vec<Case> {
    vec![
        opened("counter/open", "It has a kind and no merchant.").on([owing()]),
        opened("counter/open-again", "The id is taken, by a till.")
            .on([owing(), terminal()])
            .ends("rejected already_exists by profile"),
        opened("counter/open-where-no-cash-is-owed", "There any till posts to the clearing account.")
            .on([config()])
            .ends("invalid kind: counter: the tenant's merchants do not owe cash"),
        ceiling("cash_rooms/operator-first-ceiling", "All of it is unallotted.", "300000"),
        ceiling("cash_rooms/operator-lowered", "Down to what is allotted.", "250000")
            .on([rooms("300000", "50000", "250000")]),
        ceiling("cash_rooms/operator-lowered-too-far", "Counters were allotted more.", "249999")
            .on([rooms("300000", "50000", "250000")])
            .ends("rejected cash_room_exceeded by cash_room"),
        room("cash_rooms/operator-allotted", "Room of the operator becomes the counter's.", "allot", "50000")
            .on([rooms("300000", "50000", "250000"), used("1000", "249000")]),
        room("cash_rooms/operator-allotted-to-a-till", "No room of the operator becomes a till's.", "allot", "50000")
            .on([rooms("300000", "50000", "250000"), terminal()])
            .ends("rejected stale_plan by cash_room"),
        room("cash_rooms/operator-withdrawn", "Unused room is the operator's again.", "withdraw", "1000")
            .on([rooms("300000", "50000", "250000"), used("1000", "249000")]),
        collected("cash_collection/all", "Its room is unallotted again.", "249000")
            .on([rooms("300000", "50000", "250000"), used("1000", "249000")]),
        collected("cash_collection/too-much", "One yen more than it has.", "249001")
            .on([rooms("300000", "50000", "250000"), used("1000", "249000")])
            .ends("rejected cash_not_outstanding by cash_room"),
        collected("cash_collection/frozen", "A frozen counter's cash is collected too.", "249000")
            .on([rooms("300000", "50000", "250000"), with(used("1000", "249000"), "state", s("frozen"))]),
        collected("cash_collection/of-a-till", "The cash of a till is a debt of its merchant.", "1")
            .on([rooms("300000", "50000", "250000"), terminal()])
            .ends("rejected wrong_state by cash_room"),
    ]
}
