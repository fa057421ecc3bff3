//! Bonuses on cash that merchants owe: the switch, top-ups at the till, grants and reversals, and the settlements that cover the
//! cash.

use super::Case;
use super::card_reverse::{done, entry, reversal as reverse};
use super::rooms::settling;
use super::settlements::{balance, charged, open, step};
use super::world::*;
use crate::golden::build_cash::CashDoes;
use crate::golden::build_settlement::SettlementStep;
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

/// The terms of a tenant whose cash earns bonuses.
pub(super) fn earning(records: &str) -> Json {
    with(settling(records), "cash_bonus", s("when_covered"))
}

/// What `SETTLING` has after this many paid settlements, while bonuses are due.
pub(super) fn covered(paid: &str) -> Json {
    let attributes = json!({
        "paid_settlements": n(paid), "covered_at": s(EARLIER), "updated_at": s(EARLIER),
        "due_pk": s("demo#due#covered_cash#0"), "due_sk": s(format!("{EARLIER}#{MERCHANT}")),
    });
    item("merchant", MERCHANT, "SETTLING", attributes)
}

fn till() -> Json {
    with(with(terminal(), "cash_room", n("7000")), "cash_room_at", s(EARLIER))
}

/// The bonus of 8 yen on a top-up of 800 yen.
pub(super) fn due() -> Json {
    let attributes = json!({
        "entry_id": s(OLD_TXN), "merchant_id": s(MERCHANT), "card_id": s(CARD), "amount": n("8"), "state": s("due"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
        "due_pk": s(format!("demo#due#cash_bonus#{MERCHANT}#0")), "due_sk": s(OLD_TXN),
    });
    item("tenant", "root", &format!("JOB#bonus#{MERCHANT}#{OLD_TXN}"), attributes)
}

pub(super) fn granted() -> Json {
    let item = without(without(with(due(), "state", s("granted")), "due_pk"), "due_sk");
    with(item, "granted_by", s("019a9000-0000-7000-8000-000000000073"))
}

fn undone(item: Json) -> Json {
    with(without(without(item, "due_pk"), "due_sk"), "state", s("reversed"))
}

fn topup(id: &'static str, why: &'static str, amount: &str) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/topup");
    let claim = by_terminal("card_topup", 7, &path, json!({ "amount": amount }));
    let (terminal, merchant, card) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    Case::new(id, why, Some(claim), Does::CardTopup { terminal, merchant, card, charge: yen(amount) })
}

fn grant(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/merchant/cash-bonuses/{OLD_TXN}");
    let claim = keyed(by_merchant("card_bonus", &path, json!({})), &format!("bonus:{OLD_TXN}"));
    let claim = ClaimJson { actor: "system".to_owned(), ..claim };
    let does = CashDoes::GrantBonus { merchant: MERCHANT.to_owned(), topup: OLD_TXN.to_owned() };
    Case::new(id, why, Some(claim), Does::Cash(does))
}

fn reversal(id: &'static str, why: &'static str) -> Case {
    let mut case = reverse(id, why, "card_topup");
    case.given.state = vec![earning("5"), merchant()];
    let entry = entry("card_topup", &[(OF_MERCHANT, "-800"), (OF_CARD, "800")]);
    let entry = with(with(entry, "created_at", s("2026-11-21T02:59:00.000Z")), "bonus_due", n("8"));
    case.on([done("card_topup"), entry, till()])
}

fn ended(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, Does::Cash(CashDoes::BonusesGranted { merchant: MERCHANT.to_owned() }))
}

fn switch(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, Does::Cash(CashDoes::EarnBonuses { actor: "system".to_owned() }))
}

pub(super) fn cases() -> Vec<Case> {
    [switched(), at_the_till(), grants(), reversals(), settled()].into_iter().flatten().collect()
}

fn switched() -> Vec<Case> {
    vec![
        switch("tenant/cash-bonus", "Cash of merchants earns a bonus once it is covered.").on([settling("5")]),
        switch("tenant/cash-bonus-before-rooms", "Its settlements return no rooms.")
            .on([without(settling("5"), "rooms")])
            .ends("rejected stale_plan by config"),
        switch("tenant/cash-bonus-again", "It does already.").on([earning("5")]).ends("rejected wrong_state by config"),
    ]
}

fn at_the_till() -> Vec<Case> {
    let loaded = [(OF_CARD, "ECOPAY", "5000"), (OF_MERCHANT, "ECOPAY", "-5000")];
    vec![
        topup("card_topup/bonus-due", "The bonus is stored, and nothing of it is posted.", "5000")
            .on([earning("5"), merchant(), card("3000"), till()])
            .moves(&loaded)
            .precedence(),
        topup("card_topup/bonus-due-records-4", "The same in the full form.", "5000")
            .on([earning("4"), merchant(), card("3000"), till()])
            .moves(&loaded),
        topup("card_topup/bonus-below-a-yen", "The bonus is rounded down to nothing, and none is stored.", "99")
            .on([earning("5"), merchant(), card("3000"), till()])
            .moves(&[(OF_CARD, "ECOPAY", "99"), (OF_MERCHANT, "ECOPAY", "-99")]),
    ]
}

fn grants() -> Vec<Case> {
    let given = [(OF_CARD, "ECOPAY", "8"), ("points_issued", "ECOPAY", "-8")];
    vec![
        grant("card_bonus/granted", "The card gets the bonus.")
            .on([earning("5"), due(), card("20000")])
            .moves(&given)
            .precedence(),
        grant("card_bonus/granted-records-4", "The same in the full form.")
            .on([earning("4"), due(), card("800")])
            .moves(&given),
        grant("card_bonus/frozen", "A freeze stops it as little as it stops a refund.")
            .on([earning("5"), due(), frozen(card("800"))])
            .moves(&given),
        grant("card_bonus/reversed", "The top-up was reversed.")
            .on([earning("5"), undone(due()), card("800")])
            .ends("refused wrong_state"),
        grant("card_bonus/reversed-meanwhile", "The top-up is reversed after the read.")
            .on([earning("5"), undone(due()), card("800")])
            .seen([due()])
            .ends("rejected stale_plan by bonus"),
        ended("card_bonus/all-granted", "No bonus of the merchant is due.").on([covered("3")]),
        ended("card_bonus/all-granted-paid-meanwhile", "Another settlement was paid after the read.")
            .on([covered("4")])
            .seen([covered("3")])
            .ends("rejected stale_plan by settlement"),
    ]
}

fn reversals() -> Vec<Case> {
    let unloaded = [(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")];
    vec![
        reversal("card_reverse/bonus-due", "The bonus is never granted.")
            .on([due(), card("3800")])
            .moves(&unloaded)
            .precedence(),
        reversal("card_reverse/bonus-granted", "The card holds exactly the cash and the bonus.")
            .on([granted(), card("808")])
            .moves(&[(OF_CARD, "ECOPAY", "-808"), (OF_MERCHANT, "ECOPAY", "800"), ("points_issued", "ECOPAY", "8")]),
        reversal("card_reverse/bonus-granted-and-spent", "The card holds one yen less.")
            .on([granted(), card("807")])
            .ends("rejected insufficient by card"),
        reversal("card_reverse/bonus-granted-meanwhile", "The bonus is granted after the read.")
            .on([granted(), card("808")])
            .seen([due()])
            .ends("rejected stale_plan by bonus"),
    ]
}

fn settled() -> Vec<Case> {
    let paying = |before: &str| {
        let paying = with(with(charged("paying"), "paying_at", s(EARLIER)), "rooms", s("settled"));
        with(paying, "paid_before", n(before))
    };
    let paid = [(OF_MERCHANT, "held of ECOPAY", "-2951"), ("bank_clearing", "ECOPAY", "2951")];
    let by_bank =
        || SettlementStep::Paid { clearing: "bank_clearing".to_owned(), reference: "settlement.txt".to_owned() };
    vec![
        step("settlement/bonus-paid", "The first that is paid is counted, and bonuses are due.", by_bank())
            .on([paying("0"), open(), balance("ECOPAY", "0", "2951")])
            .moves(&paid),
        step("settlement/bonus-paid-again", "The third, while the bonuses of the second are due.", by_bank())
            .on([paying("2"), with(covered("2"), "open", open()["open"].clone()), balance("ECOPAY", "0", "2951")])
            .moves(&paid),
    ]
}
