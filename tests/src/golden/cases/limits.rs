//! Limits of customers and cards: what is counted on the item whose balance changes, what is refused, an account's own
//! limits, and what a reversal takes back. It is the 21st of November 2026 in Japan.

use super::Case;
use super::card_reverse::{counted_entry, done, reversal};
use super::charge::{CODE, HASH, slot};
use super::migrating::{GOD_RECORD, customer, item_with, migrating, record_with};
use super::outside::{RESERVED, account, offering, psp, topup_by_a};
use super::world::*;
use crate::golden::command::Does;
use crate::golden::command_hold::HoldDoes;
use serde_json::{Map, Value as Json, json};

const DAY: &str = "use_pay_20261121";
const MONTH: &str = "use_pay_202611";

/// Terms with these limits of customers and cards.
fn limited(config: Json, customers: &[(&str, &str)], cards: &[(&str, &str)]) -> Json {
    let of = |rules: &[(&str, &str)]| {
        let rules: Map<String, Json> = rules.iter().map(|(rule, most)| ((*rule).to_owned(), n(most))).collect();
        json!({ "M": { "ECOPAY": { "M": rules } } })
    };
    let mut limits = json!({ "accounts": { "BOOL": false }, "version": n("3") });
    for (holder, rules) in [("customer", customers), ("card", cards)] {
        if !rules.is_empty() {
            limits[holder] = of(rules);
        }
    }
    with(config, "limits", json!({ "M": limits }))
}

/// The same, where some account has limits of its own.
fn overridable(mut config: Json) -> Json {
    config["limits"]["M"]["accounts"] = json!({ "BOOL": true });
    config
}

fn by_day_and_month() -> Json {
    limited(config(), &[("pay_day", "2000"), ("pay_month", "9000")], &[])
}

fn by_operation() -> Json {
    limited(config(), &[("pay_operation", "999")], &[])
}

fn pay(id: &'static str, why: &'static str) -> Case {
    let claim = by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": "1000" }));
    let does = Does::Pay {
        customer: A.to_owned(),
        merchant: MERCHANT.to_owned(),
        amount: yen("1000"),
        points: None,
        regional: Vec::new(),
        memo: None,
    };
    Case::new(id, why, Some(claim), does).on([merchant(), wallet(A, "POINT", "0")])
}

fn of_points(id: &'static str, why: &'static str) -> Case {
    let claim = by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": "10", "points": "10" }));
    let does = Does::Pay {
        customer: A.to_owned(),
        merchant: MERCHANT.to_owned(),
        amount: yen("10"),
        points: Some("10".to_owned()),
        regional: Vec::new(),
        memo: None,
    };
    Case::new(id, why, Some(claim), does).on([merchant(), wallet(A, "POINT", "500")])
}

fn paid(case: Case) -> Case {
    case.moves(&[(OF_A, "ECOPAY", "-1000"), (OF_MERCHANT, "ECOPAY", "1000")])
        .moves(&[(OF_A, "POINT", "10"), ("points_issued", "POINT", "-10")])
}

/// Customer A's yen with these further numbers.
fn used(counts: &[(&str, &str)]) -> Json {
    counts.iter().fold(wallet(A, "ECOPAY", "50000"), |item, (name, number)| with(item, name, n(number)))
}

fn own(item: Json, limits: &str) -> Json {
    with(item, "limits", s(limits))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = payments();
    all.extend(own_limits());
    all.extend(others());
    all.extend(reversals());
    all.extend(changes());
    all.extend(migrations());
    all
}

fn payments() -> Vec<Case> {
    let mut points = by_day_and_month();
    points["limits"]["M"]["customer"]["M"] = json!({ "POINT": { "M": { "pay_day": n("10") } } });
    vec![
        paid(
            pay("limits/pay-counted", "Counted in the day and the month, on the debited item.")
                .on([by_day_and_month()]),
        )
        .on([used(&[])])
        .precedence(),
        paid(pay("limits/pay-to-the-limit", "What is used and the amount reach both limits.").on([by_day_and_month()]))
            .on([used(&[(DAY, "1000"), (MONTH, "8000")])]),
        pay("limits/pay-above-the-day", "One yen more than the day's limit.")
            .on([by_day_and_month(), used(&[(DAY, "1001"), (MONTH, "1001")])])
            .ends("rejected limit_exceeded by payer"),
        pay("limits/pay-above-the-month", "One yen more than the month's limit.")
            .on([by_day_and_month(), used(&[(MONTH, "8001")])])
            .ends("rejected limit_exceeded by payer"),
        paid(pay("limits/pay-after-other-days", "Earlier counts are removed, but for yesterday's and last month's."))
            .on([by_day_and_month()])
            .on([used(&[
                ("use_pay_20261120", "2000"),
                ("use_pay_20261119", "2000"),
                ("use_pay_20261020", "2000"),
                ("use_pay_202610", "9000"),
                ("use_pay_202609", "9000"),
            ])]),
        pay("limits/pay-short", "A short balance is short in any case.")
            .on([by_day_and_month(), wallet(A, "ECOPAY", "999")])
            .ends("rejected insufficient by payer"),
        pay("limits/pay-above-one-operation", "Refused before anything is written.")
            .on([by_operation(), used(&[])])
            .ends("refused limit_exceeded"),
        paid(pay("limits/pay-within-one-operation", "A limit of one operation is not counted."))
            .on([limited(config(), &[("pay_operation", "1000")], &[]), used(&[])]),
        of_points("limits/pay-with-points", "Points have a limit of their own, on their own item.")
            .on([points])
            .moves(&[(OF_A, "POINT", "-10"), (OF_MERCHANT, "POINT", "10")])
            .precedence(),
    ]
}

fn own_limits() -> Vec<Case> {
    let config = || overridable(by_day_and_month());
    let large = || own(used(&[(DAY, "50000")]), "pay_day=51000 pay_month=none");
    vec![
        paid(
            pay("limits/own-none", "The plan assumes that the account has none of its own.").on([config(), used(&[])]),
        )
        .precedence(),
        pay("limits/own-unread", "The account has limits of its own: they are read, and it is planned again.")
            .on([config(), large()])
            .ends("rejected stale_plan by payer"),
        paid(pay("limits/own-read", "Its own limits are higher than the tenant's.").on([config(), large()]))
            .seen([large()])
            .precedence(),
        pay("limits/own-changed-meanwhile", "They were changed after they were read.")
            .on([config(), own(used(&[]), "pay_day=1000")])
            .seen([large()])
            .ends("rejected stale_plan by payer"),
        pay("limits/own-may-be-higher", "Above the tenant's limit of one operation, and its own were not read.")
            .on([overridable(by_operation()), used(&[])])
            .ends("refused stale_plan"),
        pay("limits/own-are-not-higher", "They were read, and there are none.")
            .on([overridable(by_operation()), used(&[])])
            .seen([used(&[])])
            .ends("refused limit_exceeded"),
    ]
}

/// Each other operation that is counted.
fn others() -> Vec<Case> {
    let path = |does: &str| format!("/v1/terminal/cards/{CARD}/{does}");
    let (terminal, merchant_, card_) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    let card_pay = Does::CardPay {
        terminal: terminal.clone(),
        merchant: merchant_.clone(),
        card: card_.clone(),
        amount: yen("800"),
    };
    let card_topup = Does::CardTopup { terminal, merchant: merchant_.clone(), card: card_, charge: yen("5000") };
    let transfer = Does::Transfer { from: A.to_owned(), to: B.to_owned(), amount: yen("5000"), memo: None };
    let authorize = HoldDoes::Authorize {
        merchant: merchant_,
        code: CODE.to_owned(),
        amount: yen("500"),
        points: None,
        regional: Vec::new(),
        memo: None,
    };
    let held = json!({ "code_hash": HASH, "amount": "500", "capture": "false" });
    let topup = Does::TopupClaim { customer: A.to_owned(), charge: yen("5000"), psp: psp() };
    let cards = || limited(config(), &[], &[("pay_day", "1000"), ("cash_topup_month", "6000")]);
    let topups = || limited(offering(), &[("topup_day", "6000")], &[]);
    let loads = |id, why| {
        let claim = by_terminal("card_topup", 7, &path("topup"), json!({ "amount": "5000" }));
        Case::new(id, why, Some(claim), card_topup.clone()).on([cards(), merchant()])
    };
    let reserves = |id, why| Case::new(id, why, Some(topup_by_a()), topup.clone()).on([topups()]);
    vec![
        Case::new(
            "limits/card-pay",
            "A card has limits of its own kind of holder.",
            Some(by_terminal("card_pay", 8, &path("pay"), json!({ "amount": "800" }))),
            card_pay,
        )
        .on([cards(), merchant(), card("3000")])
        .moves(&[(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")]),
        loads("limits/card-topup", "The cash is counted, and the bonus is not.").on([card("0")]).moves(&[
            (OF_CARD, "ECOPAY", "5050"),
            ("cash_clearing", "ECOPAY", "-5000"),
            ("points_issued", "ECOPAY", "-50"),
        ]),
        loads("limits/card-topup-above-the-month", "More cash than a card may take in a month.")
            .on([with(card("0"), "use_cash_topup_202611", n("1001"))])
            .ends("rejected limit_exceeded by card"),
        Case::new(
            "limits/transfer",
            "Counted on the sender's item only.",
            Some(by_a("transfer", "/v1/me/transfers", json!({ "to_customer_id": B, "amount": "5000" }))),
            transfer,
        )
        .on([limited(config(), &[("transfer_month", "5000")], &[]), used(&[]), wallet(B, "ECOPAY", "0")])
        .moves(&[(OF_A, "ECOPAY", "-5000"), (OF_B, "ECOPAY", "5000")]),
        Case::new(
            "limits/authorized",
            "An authorization counts as a payment; its capture does not count again.",
            Some(by_merchant("charge", "/v1/merchant/charges", held)),
            Does::Hold(authorize),
        )
        .on([by_day_and_month(), merchant(), used(&[]), slot()])
        .moves(&[(OF_A, "ECOPAY", "-500"), (OF_A, "held of ECOPAY", "500")]),
        reserves("limits/topup", "A top-up counts from its request on.")
            .on([account("ECOPAY", "1000", "0", "0")])
            .moves(&[(OF_A, RESERVED, "5000")]),
        reserves("limits/topup-above-the-day", "More than may be topped up in a day.")
            .on([with(account("ECOPAY", "1000", "0", "0"), "use_topup_20261121", n("1001"))])
            .ends("rejected limit_exceeded by payee"),
    ]
}

/// Yesterday's payment of 800 is reversed.
fn reversals() -> Vec<Case> {
    let names = ["use_pay_20261120", "use_pay_202611"];
    let entry = || counted_entry(&names, "800");
    let counts = |day: &str, month: &str| with(with(card("2200"), names[0], n(day)), names[1], n(month));
    let unpaid = [(OF_CARD, "ECOPAY", "800"), (OF_MERCHANT, "ECOPAY", "-800")];
    let payment = || payment(OF_CARD, ("ECOPAY", "800"), &[("ecopay", "800", "800")]);
    vec![
        reversal("limits/reversed", "Taken off the counts of the original's day and month.", "card_pay")
            .on([done("card_pay"), entry(), payment(), counts("900", "1900")])
            .moves(&unpaid)
            .precedence(),
        reversal("limits/reversed-after-removal", "The day's count is gone: only the month's is changed.", "card_pay")
            .on([done("card_pay"), entry(), payment(), without(counts("900", "1900"), names[0])])
            .moves(&unpaid),
        reversal(
            "limits/reversed-as-it-is-removed",
            "Another payment removed the count: it is not created.",
            "card_pay",
        )
        .on([done("card_pay"), entry(), payment(), without(counts("900", "1900"), names[0])])
        .seen([counts("900", "1900")])
        .ends("rejected stale_plan by card"),
    ]
}

fn changes() -> Vec<Case> {
    let texts = |changes: &[&str]| changes.iter().map(|change| (*change).to_owned()).collect::<Vec<_>>();
    let tenant = |id, why, changes: &[&str]| {
        let (holder, asset) = ("customer".to_owned(), "ECOPAY".to_owned());
        let does = Does::TenantLimits { holder, asset, changes: texts(changes), actor: BY_STAFF.to_owned() };
        Case::new(id, why, None, does)
    };
    let own_of = |id, why, account: &str, changes: &[&str]| {
        let (account, asset) = (account.to_owned(), "ECOPAY".to_owned());
        let does = Does::AccountLimits { account, asset, changes: texts(changes), actor: BY_STAFF.to_owned() };
        Case::new(id, why, None, does)
    };
    let volume = |id, why, suspends| {
        let does = Does::VolumeExceeded {
            merchant: MERCHANT.to_owned(),
            date: "2026-11-21".to_owned(),
            volume: "5001".to_owned(),
            most: "5000".to_owned(),
            suspends,
        };
        Case::new(id, why, None, does)
    };
    let passed = |day: &str| with(merchant(), "volume_exceeded", s(day));
    vec![
        volume("limits/volume", "Payments to a merchant are above its limit of a day.", false).on([merchant()]),
        volume("limits/volume-suspends", "The tenant suspends such merchants.", true).on([passed("20261120")]),
        volume("limits/volume-recorded", "It is recorded for the day.", true)
            .on([passed("20261121")])
            .ends("rejected wrong_state by profile"),
        tenant("limits/first", "A tenant's first limits.", &["pay_operation=3000", "pay_day=5000"]).on([config()]),
        tenant("limits/changed", "One is raised and one removed.", &["pay_day=5000", "pay_month=none"])
            .on([by_day_and_month()]),
        tenant("limits/changed-meanwhile", "Another change came in between.", &["pay_day=5000"])
            .on([limited(config(), &[("pay_day", "1")], &[])])
            .seen([config()])
            .ends("rejected stale_plan by config"),
        tenant("limits/no-tenant", "There is no such tenant.", &["pay_day=5000"])
            .ends("rejected account_missing by config"),
        own_of("limits/own-set", "An account's first limits of its own.", OF_A, &["pay_day=50000", "pay_month=none"])
            .on([by_day_and_month(), used(&[])]),
        own_of("limits/own-removed", "The tenant's apply again.", OF_A, &["pay_day=default"])
            .on([overridable(by_day_and_month()), own(used(&[]), "pay_day=50000")]),
        own_of("limits/own-of-a-card", "A card's limit is on the card.", OF_CARD, &["pay_day=0"])
            .on([limited(config(), &[], &[("pay_day", "1000")]), card("3000")]),
        own_of("limits/own-set-meanwhile", "Another change came in between.", OF_A, &["pay_day=50000"])
            .on([by_day_and_month(), own(used(&[]), "pay_day=1")])
            .seen([used(&[])])
            .ends("rejected stale_plan by payer"),
        own_of("limits/own-without-the-tenants", "The tenant counts nothing.", OF_A, &["pay_day=50000"])
            .on([config(), used(&[])])
            .ends("rejected wrong_state by config"),
        own_of("limits/own-of-no-account", "There is no such account.", OF_A, &["pay_day=50000"])
            .on([by_day_and_month()])
            .ends("rejected account_missing by payer"),
    ]
}

/// In a migrating tenant a count has a name in the legacy item, and is in both models while both are written.
fn migrations() -> Vec<Case> {
    let config = |phase| limited(migrating(GOD_RECORD, phase), &[("pay_day", "2000")], &[]);
    let legacy = |id, why| {
        let claim = by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": "1000" }));
        let does = Does::Pay {
            customer: A.to_owned(),
            merchant: MERCHANT.to_owned(),
            amount: yen("1000"),
            points: None,
            regional: Vec::new(),
            memo: None,
        };
        Case::new(id, why, Some(claim), does).on([merchant()])
    };
    let counted = |phase, count| record_with(customer(GOD_RECORD, phase), "balance_use_pay_20261121", n(count));
    let in_both = item_with(counted(20, "1000"), "BALANCE#ECOPAY", |item| with(item, DAY, n("1000")));
    vec![
        paid(legacy("limits/legacy-counted", "Counted in the God Record, beside its balance."))
            .on([config(1)])
            .on(customer(GOD_RECORD, 1)),
        legacy("limits/legacy-above-the-day", "What was counted there is the limit's.")
            .on([config(1)])
            .on(counted(1, "1001"))
            .ends("rejected limit_exceeded by payer"),
        paid(legacy("limits/both-counted", "Counted in both models while both are written."))
            .on([config(20)])
            .on(in_both),
    ]
}
