//! Cash that merchants owe: the switch, top-ups at the till and their reversal, cash rooms, and cash in settlements.

use super::Case;
use super::card_reverse::{done, entry, reversal as reverse};
use super::settlements::{SETTLEMENT, balance, fresh, open, settlement, step, task};
use super::settlements_lanes::credited;
use super::world::*;
use crate::golden::build_cash::CashDoes;
use crate::golden::build_settlement::SettlementStep;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The terms of a tenant whose merchants owe cash.
fn owing(records: &str) -> Json {
    with(with(config(), "records", n(records)), "cash", s("owed_by_merchant"))
}

pub(super) fn till(room: &str) -> Json {
    with(with(terminal(), "cash_room", n(room)), "cash_room_at", s(EARLIER))
}

fn topup(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/topup");
    let claim = by_terminal("card_topup", 7, &path, json!({ "amount": amount }));
    let (terminal, merchant, card) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardTopup { terminal, merchant, card, charge: yen(amount) })
}

/// The entry of a top-up of 800 yen that the merchant owes, this old at the cases' time.
pub(super) fn owed_entry(created_at: &str) -> Json {
    with(entry("card_topup", &[(OF_MERCHANT, "-800"), (OF_CARD, "800")]), "created_at", s(created_at))
}

fn reversal(id: &'static str, why: &'static str) -> Case {
    let mut case = reverse(id, why, "card_topup");
    case.given.state = vec![owing("5"), merchant()];
    case
}

fn ceiling(id: &'static str, why: &'static str, ceiling: &str) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}/cash-room");
    let claim = by_staff("cash_ceiling", &path, json!({ "ceiling": ceiling }));
    let does = CashDoes::Ceiling { merchant: MERCHANT.to_owned(), ceiling: yen(ceiling), actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::Cash(does)).on([merchant()])
}

fn room(id: &'static str, why: &'static str, verb: &str, amount: &str) -> Case {
    let path = format!("/v1/admin/terminals/{TERMINAL}/cash-room");
    let claim = by_staff("cash_room", &path, json!({ verb: amount }));
    let (merchant, terminal, amount, actor) =
        (MERCHANT.to_owned(), TERMINAL.to_owned(), yen(amount), BY_STAFF.to_owned());
    let does = match verb {
        "allot" => CashDoes::Allot { merchant, terminal, amount, actor },
        _ => CashDoes::Withdraw { merchant, terminal, amount, actor },
    };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

fn rooms(ceiling: &str, unallotted: &str, allotted: &str) -> Json {
    let attributes = json!({
        "ceiling": n(ceiling), "unallotted": n(unallotted), format!("allotted_{TERMINAL}"): n(allotted),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("merchant", MERCHANT, "CASH_ROOM", attributes)
}

fn owe(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, Does::Cash(CashDoes::Owe { actor: "system".to_owned() }))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = at_the_till();
    all.extend(reversals());
    all.extend(changes());
    all.extend(settled());
    all
}

fn at_the_till() -> Vec<Case> {
    let loaded = [(OF_CARD, "ECOPAY", "5000"), (OF_MERCHANT, "ECOPAY", "-5000")];
    vec![
        topup("card_topup/owed", "The merchant owes the cash, and nothing is added to it.", "5000")
            .on([owing("5"), merchant(), card("3000"), till("7000")])
            .moves(&loaded)
            .precedence(),
        topup("card_topup/owed-records-4", "The same in the full form: the seal credits cash.", "5000")
            .on([owing("4"), merchant(), card("3000"), till("5000")])
            .moves(&loaded),
        topup("card_topup/owed-above-the-room", "One yen more than the room.", "5000")
            .on([owing("5"), merchant(), card("3000"), till("4999")])
            .ends("rejected cash_room_exceeded by cash_room"),
        topup("card_topup/owed-without-room", "A terminal that was never allotted any.", "1")
            .on([owing("5"), merchant(), card("3000"), terminal()])
            .ends("rejected cash_room_exceeded by cash_room"),
        topup("card_topup/owed-frozen-terminal", "A terminal that was frozen since its request was verified.", "5000")
            .on([owing("5"), merchant(), card("3000"), with(till("7000"), "state", s("frozen"))])
            .ends("rejected wrong_state by cash_room"),
        topup("card_topup/owed-suspended", "A suspended merchant's terminal takes no cash.", "5000")
            .on([owing("5"), with(merchant(), "status", s("suspended")), card("3000"), till("7000")])
            .ends("refused wrong_state"),
    ]
}

fn reversals() -> Vec<Case> {
    let unloaded = [(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")];
    let suspended = || with(merchant(), "status", s("suspended"));
    vec![
        reversal("card_reverse/owed", "Ten minutes after: the cash and the room go back.")
            .on([done("card_topup"), owed_entry("2026-11-21T02:50:00.000Z"), card("3800"), till("200")])
            .moves(&unloaded)
            .precedence(),
        reversal("card_reverse/owed-too-late", "A millisecond later.")
            .on([done("card_topup"), owed_entry("2026-11-21T02:49:59.999Z"), card("3800"), till("200")])
            .ends("refused reversal_too_late"),
        reversal("card_reverse/owed-spent", "The card does not hold it any more.")
            .on([done("card_topup"), owed_entry("2026-11-21T02:59:00.000Z"), card("799"), till("200")])
            .ends("rejected insufficient by card"),
        {
            let mut case = reverse("card_reverse/topup-suspended", "A suspended merchant cannot.", "card_topup");
            case.given.state = vec![config(), suspended()];
            let clearing = entry("card_topup", &[("cash_clearing", "-800"), (OF_CARD, "800")]);
            case.on([done("card_topup"), clearing, card("3800")]).ends("refused wrong_state")
        },
    ]
}

fn changes() -> Vec<Case> {
    vec![
        owe("tenant/cash-owed", "The merchants of a tenant owe cash from now on.").on([with(
            config(),
            "records",
            n("5"),
        )]),
        owe("tenant/cash-owed-before-records-4", "No seal would credit it.")
            .on([with(config(), "records", n("3"))])
            .ends("rejected stale_plan by config"),
        owe("tenant/cash-owed-again", "They owe it already.").on([owing("5")]).ends("rejected wrong_state by config"),
        ceiling("cash_rooms/first-ceiling", "All of it is unallotted.", "300000"),
        ceiling("cash_rooms/raised", "What is more is unallotted.", "400000").on([rooms("300000", "50000", "250000")]),
        ceiling("cash_rooms/lowered", "Down to what is allotted.", "250000").on([rooms("300000", "50000", "250000")]),
        ceiling("cash_rooms/as-before", "Nothing changes.", "300000").on([rooms("300000", "50000", "250000")]),
        ceiling("cash_rooms/lowered-too-far", "Terminals were allotted more.", "249999")
            .on([rooms("300000", "50000", "250000")])
            .ends("rejected cash_room_exceeded by cash_room"),
        ceiling("cash_rooms/raised-meanwhile", "The ceiling is not as it was read.", "400000")
            .seen([rooms("300000", "50000", "250000")])
            .on([rooms("310000", "60000", "250000")])
            .ends("rejected stale_plan by cash_room"),
        room("cash_rooms/allotted", "Room of the merchant becomes the terminal's.", "allot", "50000")
            .on([rooms("300000", "50000", "250000"), till("1000")]),
        room("cash_rooms/allotted-first", "The terminal had none.", "allot", "50000")
            .on([without(rooms("300000", "300000", "0"), &format!("allotted_{TERMINAL}")), terminal()]),
        room("cash_rooms/allotted-too-much", "Less is unallotted.", "allot", "50001")
            .on([rooms("300000", "50000", "250000"), till("1000")])
            .ends("rejected cash_room_exceeded by cash_room"),
        room("cash_rooms/allotted-without-ceiling", "The merchant has no ceiling.", "allot", "1")
            .on([terminal()])
            .ends("rejected cash_room_exceeded by cash_room"),
        room("cash_rooms/withdrawn", "Unused room is the merchant's again.", "withdraw", "1000")
            .on([rooms("300000", "50000", "250000"), till("1000")]),
        room("cash_rooms/withdrawn-used", "What was used for cash cannot be withdrawn.", "withdraw", "1001")
            .on([rooms("300000", "50000", "250000"), till("1000")])
            .ends("rejected cash_room_exceeded by cash_room"),
    ]
}

fn settled() -> Vec<Case> {
    let of_cash = |name: &str, yen: &str| (name.to_owned(), n(yen));
    let with_cash = |item: Json| {
        let sums = [of_cash("cash_taken_ecopay", "3500"), of_cash("cash_reversed_ecopay", "500")];
        sums.into_iter().fold(item, |item, (name, sum)| with(item, &name, sum))
    };
    vec![
        step(
            "settlement/cash-close-lane",
            "Cash has sums of its own, and the balance changes by all of them.",
            SettlementStep::CloseLane { lane: "0".to_owned() },
        )
        .on([fresh(), with_cash(credited("4", "7")), balance("ECOPAY", "50", "0")]),
        task("settlement/cash-carried", "More cash than payments: all of it is carried, and the fee with it.", "hold")
            .on([with(with_cash(settlement("collecting", &[])), "cash_taken_ecopay", n("9000")), open()]),
        task("settlement/cash-held", "The net is what is left of the payments.", "hold")
            .on([with(with_cash(settlement("collecting", &[])), "cash_taken_ecopay", n("1500"))])
            .on([with(balance("ECOPAY", "2000", "0"), "settlement_id", s(SETTLEMENT))])
            .moves(&[(OF_MERCHANT, "ECOPAY", "-2000"), (OF_MERCHANT, "held of ECOPAY", "2000")]),
    ]
}
