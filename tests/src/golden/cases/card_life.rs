//! Cards under version 7 of the records: issue, assignment, loss, replacement and expiry, and what is returned to a card that
//! was replaced.

use super::bonuses::{due, earning};
use super::card_reverse::{counted_entry, done, entry, reversal};
use super::world::*;
use super::{Case, cards, records};
use crate::golden::build_card_life::CardLifeDoes;
use crate::golden::build_cash::CashDoes;
use crate::golden::command::{ClaimJson, Does};
use serde_json::{Value as Json, json};

const NEW: &str = "019a0000-0000-7000-8000-0000000000c2";
const OF_NEW: &str = "card:019a0000-0000-7000-8000-0000000000c2";
const BATCH: &str = "019a0000-0000-7000-8000-0000000000f1";
const SOON: &str = "2026-12-01T00:00:00.000Z";

/// Cases of earlier versions under this one.
const UNDER_7: [(&str, &str, &str); 5] = [
    ("card_topup/loaded", "card_topup/records-7-loaded", "A card that expires is not loaded after that."),
    ("card_pay/paid", "card_pay/records-7-paid", "Nor is it debited."),
    ("card_refund/partial", "card_refund/records-7-partial", "A refund requires that the card was not replaced since."),
    ("card_reverse/pay", "card_reverse/records-7-pay", "So does a reversal that gives money back."),
    ("card_reverse/topup", "card_reverse/records-7-topup", "And one that takes money."),
];

fn config_7() -> Json {
    with(config(), "records", n("7"))
}

fn fresh() -> Json {
    let attributes = json!({
        "card_id": s(NEW), "balance": n("0"), "state": s("active"), "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("card", NEW, "card", attributes)
}

fn old(balance: &str) -> Json {
    without(with(card(balance), "updated_at", s(EARLIER)), "owner")
}

fn owned(card: Json) -> Json {
    with(card, "owner", s(A))
}

fn replaced(card: Json) -> Json {
    with(with(card, "state", s("replaced")), "replaced_by", s(NEW))
}

fn linked(count: &str) -> Json {
    with(with(profile(A, "2"), "cards", n(count)), &format!("card_{CARD}"), s(EARLIER))
}

fn assign(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/cards/{CARD}/assign");
    let claim = by_staff("card_assign", &path, json!({ "customer_id": A }));
    let does = CardLifeDoes::Assign {
        card: CARD.to_owned(),
        customer: A.to_owned(),
        actor: BY_STAFF.to_owned(),
        reason: None,
    };
    Case::new(id, why, Some(claim), Does::CardLife(does)).on([config_7()])
}

fn block(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("card_block", &format!("/v1/admin/cards/{CARD}/block"), json!({ "reason": "lost" }));
    let reason = Some("lost".to_owned());
    let does = CardLifeDoes::Block { card: CARD.to_owned(), actor: BY_STAFF.to_owned(), reason };
    Case::new(id, why, Some(claim), Does::CardLife(does))
}

fn replace(id: &'static str, why: &'static str, owner: Option<&str>) -> Case {
    let path = format!("/v1/admin/cards/{CARD}/replace");
    let claim = by_staff("card_replace", &path, json!({ "new_card_id": NEW }));
    let does = CardLifeDoes::Replace {
        card: CARD.to_owned(),
        by: NEW.to_owned(),
        owner: owner.map(str::to_owned),
        actor: BY_STAFF.to_owned(),
        reason: None,
    };
    Case::new(id, why, Some(claim), Does::CardLife(does)).on([config_7()])
}

fn issue(id: &'static str, why: &'static str, owner: Option<&str>, expires_at: &str) -> Case {
    let claim = by_staff("card_issue", "/v1/admin/cards", json!({ "expires_at": expires_at }));
    let (owner, expires_at) = (owner.map(str::to_owned), expires_at.to_owned());
    let does = CardLifeDoes::Issue { owner, expires_at, actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::CardLife(does))
}

pub(super) fn cases() -> Vec<Case> {
    let all: Vec<Case> = cards::cases().into_iter().chain(super::card_reverse::cases()).collect();
    let mut cases: Vec<Case> = UNDER_7.iter().map(|case| records::under(&all, *case, "7")).collect();
    cases.extend([batches(), issued(), assigned(), blocked(), moved(), expired(), returned()].into_iter().flatten());
    cases
}

fn issued() -> Vec<Case> {
    vec![
        issue("card_issue/expiring", "The card is in the tenant's list.", None, SOON).on([config_7()]),
        issue("card_issue/expiring-owned", "The owner's profile names it.", Some(A), SOON)
            .on([config_7(), profile(A, "2")])
            .precedence(),
        issue("card_issue/expiring-nineteen", "The twentieth card.", Some(A), SOON).on([config_7(), linked("19")]),
        issue("card_issue/expiring-twenty", "One card too many.", Some(A), SOON)
            .on([config_7(), linked("20")])
            .ends("rejected limit_exceeded by profile"),
        issue("card_issue/expiring-before-records-7", "Nothing would keep to it.", None, SOON)
            .on([config()])
            .ends("refused wrong_state"),
    ]
}

fn stored(count: &str, done: &str) -> Json {
    let attributes = json!({
        "batch_id": s(BATCH), "staff_id": s(STAFF), "count": n(count), "done": n(done), "created_at": s(EARLIER),
        "updated_at": s(EARLIER), "due_pk": s("demo#due#card_batch#0"), "due_sk": s(BATCH),
    });
    item("tenant", "root", &format!("JOB#cards#{BATCH}"), attributes)
}

fn batches() -> Vec<Case> {
    let batch = |id, why, count: &str| {
        let claim = by_staff("card_batch", "/v1/admin/card-batches", json!({ "count": count }));
        let does = CardLifeDoes::Batch {
            count: count.to_owned(),
            expires_at: Some(SOON.to_owned()),
            actor: BY_STAFF.to_owned(),
            reason: None,
        };
        Case::new(id, why, Some(claim), Does::CardLife(does))
    };
    let advance = |id, why| {
        let does = CardLifeDoes::Advance { batch: BATCH.to_owned() };
        Case::new(id, why, None, Does::CardLife(does)).on([config_7()])
    };
    vec![
        batch("card_batch/stored", "It is due at once.", "10000").on([config_7()]),
        batch("card_batch/too-many", "One card too many.", "10001")
            .on([config_7()])
            .ends("invalid count: must be from 1 to 10000"),
        batch("card_batch/before-records-7", "The cards would be in no list.", "3")
            .on([config()])
            .ends("refused wrong_state"),
        advance("card_batch/slice", "A batch that is not finished stays due.").on([stored("53", "0")]),
        advance("card_batch/last-slice", "The last cards, and the batch is not due.").on([stored("52", "50")]),
        advance("card_batch/advanced-meanwhile", "Another worker issued them after the read.")
            .on([stored("52", "52")])
            .seen([stored("52", "50")])
            .ends("rejected stale_plan by job"),
    ]
}

fn assigned() -> Vec<Case> {
    vec![
        assign("card_assign/assigned", "The card keeps its balance.").on([old("700"), profile(A, "2")]).precedence(),
        assign("card_assign/owned", "It has an owner.")
            .on([owned(old("700")), profile(A, "2")])
            .ends("rejected wrong_state by card"),
        assign("card_assign/expired", "Its time is over.")
            .on([with(old("700"), "expires_at", s(NOW)), profile(A, "2")])
            .ends("rejected wrong_state by card"),
        assign("card_assign/blocked", "It is lost.")
            .on([with(old("700"), "state", s("blocked")), profile(A, "2")])
            .ends("rejected wrong_state by card"),
        assign("card_assign/twenty", "The customer has twenty.")
            .on([old("700"), linked("20")])
            .ends("rejected limit_exceeded by profile"),
        assign("card_assign/no-customer", "There is no such customer.")
            .on([old("700")])
            .ends("rejected account_missing by profile"),
    ]
}

fn blocked() -> Vec<Case> {
    vec![
        block("card_block/blocked", "A lost card.").on([config_7(), old("700")]).precedence(),
        block("card_block/again", "It is blocked.")
            .on([config_7(), with(old("700"), "state", s("blocked"))])
            .ends("rejected wrong_state by card"),
        block("card_block/before-records-7", "An earlier release does not know the state.")
            .on([config(), old("700")])
            .ends("refused wrong_state"),
    ]
}

fn moved() -> Vec<Case> {
    let all = [(OF_CARD, "ECOPAY", "-700"), (OF_NEW, "ECOPAY", "700")];
    let used = with(with(old("700"), "use_pay_20261121", n("300")), "limits", s("pay_day=20000"));
    vec![
        replace("card_replace/moved", "The balance is moved by an entry.", None)
            .on([old("700"), fresh()])
            .moves(&all)
            .precedence(),
        replace("card_replace/owned", "The owner gets the other card, and the profile names it.", Some(A))
            .on([owned(old("700")), fresh(), linked("3")])
            .moves(&all)
            .precedence(),
        replace("card_replace/owned-unnamed", "The profile did not name a card from before.", Some(A))
            .on([owned(old("700")), fresh(), profile(A, "2")])
            .moves(&all),
        replace("card_replace/empty", "There is nothing to move, and no entry.", None).on([old("0"), fresh()]),
        replace("card_replace/used", "What was used of the limits, and limits of its own, go with it.", None)
            .on([used, fresh()])
            .moves(&all),
        replace("card_replace/blocked", "A lost card.", None)
            .on([with(old("700"), "state", s("blocked")), fresh()])
            .moves(&all),
        replace("card_replace/expired", "A card whose time is over.", None)
            .on([with(old("700"), "expires_at", s(EARLIER)), fresh()])
            .moves(&all),
        replace("card_replace/paid-meanwhile", "The card paid after the read.", None)
            .on([old("600"), fresh()])
            .seen([old("700")])
            .ends("rejected stale_plan by payer"),
        replace("card_replace/loaded-meanwhile", "The other card was loaded after the read.", None)
            .on([old("700"), with(fresh(), "balance", n("1"))])
            .seen([fresh()])
            .ends("rejected stale_plan by payee"),
        replace("card_replace/again", "It was replaced.", None)
            .on([replaced(old("0")), fresh()])
            .ends("refused wrong_state"),
        replace("card_replace/frozen", "The operator has frozen it.", None)
            .on([frozen(old("700")), fresh()])
            .ends("refused account_frozen"),
        replace("card_replace/by-an-owned-one", "The other card has an owner.", None)
            .on([old("700"), owned(fresh())])
            .ends("refused wrong_state"),
        replace("card_replace/by-a-loaded-one", "The other card has a balance.", None)
            .on([old("700"), with(fresh(), "balance", n("1"))])
            .ends("refused wrong_state"),
        replace("card_replace/eighth", "The eighth in a row is the last.", None)
            .on([with(old("700"), "replacements", n("7")), fresh()])
            .moves(&all),
        replace("card_replace/ninth", "What is returned would be followed no further.", None)
            .on([with(old("700"), "replacements", n("8")), fresh()])
            .ends("refused wrong_state"),
    ]
}

fn terminals(id: &'static str, why: &'static str, operation: &str, does: Does) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/{}", operation.trim_start_matches("card_"));
    let claim = by_terminal(operation, 8, &path, json!({ "amount": "800" }));
    Case::new(id, why, Some(claim), does).on([config_7(), merchant()])
}

fn expired() -> Vec<Case> {
    let (terminal, merchant, of) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    let pay =
        Does::CardPay { terminal: terminal.clone(), merchant: merchant.clone(), card: of.clone(), amount: yen("800") };
    let load = Does::CardTopup { terminal, merchant, card: of, charge: yen("800") };
    let until = |at: &str| with(card("3000"), "expires_at", s(at));
    vec![
        terminals("card_pay/last-millisecond", "The card expires a millisecond later.", "card_pay", pay.clone())
            .on([until("2026-11-21T03:00:00.001Z")])
            .moves(&[(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")]),
        terminals("card_pay/expired", "The card expires at this instant.", "card_pay", pay)
            .on([until(NOW)])
            .ends("rejected wrong_state by payer"),
        terminals("card_topup/expired", "It is not loaded either.", "card_topup", load)
            .on([until(NOW)])
            .ends("rejected wrong_state by card"),
    ]
}

fn paid() -> Json {
    payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", "800")])
}

/// What is returned to a card that was replaced.
fn returned() -> Vec<Case> {
    let refund = |id, why| {
        let does = Does::Refund {
            merchant: MERCHANT.to_owned(),
            payment: PAYMENT.to_owned(),
            amount: Some(yen("300")),
            reason: None,
            terminal: Some(TERMINAL.to_owned()),
        };
        terminals(id, why, "card_refund", does).on([paid()])
    };
    let given = [(OF_NEW, "ECOPAY", "300"), (OF_MERCHANT, "ECOPAY", "-300")];
    let of_seven = |id, why, operation: &str| {
        let mut case = reversal(id, why, operation);
        case.given.state = vec![config_7(), merchant()];
        case
    };
    let payment = || with(paid(), "state", s("captured"));
    let pay_entry = || with(entry("card_pay", &[(OF_CARD, "-800"), (OF_MERCHANT, "800")]), "payment_id", s(PAYMENT));
    let topup_entry = || entry("card_topup", &[("cash_clearing", "-800"), (OF_CARD, "800")]);
    let used = || with(with(fresh(), "use_pay_20261121", n("800")), "balance", n("100"));
    let path = format!("/v1/merchant/cash-bonuses/{OLD_TXN}");
    let bonus = ClaimJson {
        actor: "system".to_owned(),
        ..keyed(by_merchant("card_bonus", &path, json!({})), &format!("bonus:{OLD_TXN}"))
    };
    let grant = Does::Cash(CashDoes::GrantBonus { merchant: MERCHANT.to_owned(), topup: OLD_TXN.to_owned() });
    let mut all = vec![
        refund("card_refund/replaced-followed", "The card that replaced it gets the refund.")
            .on([replaced(old("0")), fresh()])
            .moves(&given)
            .precedence(),
        refund("card_refund/replaced-since", "The other card was replaced after the read.")
            .on([replaced(old("0")), with(fresh(), "state", s("replaced"))])
            .seen([fresh()])
            .ends("rejected stale_plan by payee"),
        of_seven("card_reverse/pay-replaced-followed", "So does the reversal of a payment.", "card_pay")
            .on([done("card_pay"), pay_entry(), payment(), replaced(old("0")), fresh()])
            .moves(&[(OF_NEW, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")]),
        of_seven("card_reverse/counted-replaced-followed", "Its count is taken off the other card.", "card_pay")
            .on([done("card_pay"), counted_entry(&["use_pay_20261121"], "800"), payment(), replaced(old("0")), used()])
            .moves(&[(OF_NEW, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")]),
        of_seven("card_reverse/topup-replaced-followed", "Cash is taken from the other card.", "card_topup")
            .on([done("card_topup"), topup_entry(), replaced(old("0")), with(fresh(), "balance", n("800"))])
            .moves(&[(OF_NEW, "ECOPAY", "-800"), ("cash_clearing", "ECOPAY", "800")]),
    ];
    all.push(
        Case::new("card_bonus/replaced-followed", "The bonus names the card that got it.", Some(bonus), grant)
            .on([earning("7"), due(), replaced(old("0")), fresh()])
            .moves(&[(OF_NEW, "ECOPAY", "8"), ("points_issued", "ECOPAY", "-8")]),
    );
    all
}
