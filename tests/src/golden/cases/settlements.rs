//! A merchant's settlement: each step and its compensation, and the results of a payout.

use super::Case;
use super::world::*;
use crate::golden::build_settlement::SettlementStep;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

pub(super) const SETTLEMENT: &str = "019a9500-0000-7000-8000-0000000000f1";
pub(super) const PAYOUT: &str = "po_1Midori";
const HELD: &str = "held of ECOPAY";

/// The merchant's bank account.
pub(super) fn bank() -> Json {
    json!({ "M": {
        "kind": s("bank"), "bank_code": s("0009"), "branch_code": s("123"), "account_type": s("ordinary"),
        "account_number": s("1234567"), "account_holder": s("ﾐﾄﾞﾘ"),
    } })
}

/// The merchant's account registered at Stripe.
pub(super) fn registered() -> Json {
    json!({ "M": { "kind": s("stripe"), "external_account": s("ba_1Midori") } })
}

/// A settlement of 3,000 yen in this state.
pub(super) fn settlement(state: &str, attributes: &[(&str, Json)]) -> Json {
    let common = json!({
        "settlement_id": s(SETTLEMENT), "merchant_id": s(MERCHANT), "state": s(state), "requested_by": s(STAFF),
        "created_at": s(EARLIER), "updated_at": s(EARLIER), "pay_on": s("2026-11-30"), "destination": bank(),
        "terms": { "M": { "fee_rate": n("0.015"), "tax_rate": n("0.1") } },
        "records": n("2"), "batches": n("1"), "carried_in": { "M": {} }, "runs": n("1"), "shards": n("2"),
        "due_shards": n("4"), "taken_ecopay": n("3100"), "refunded_ecopay": n("100"),
        "due_pk": s("demo#due#settlement#1"), "due_sk": s(format!("{EARLIER}#{SETTLEMENT}")),
    });
    let item = item("merchant", MERCHANT, &format!("SETTLEMENT#{SETTLEMENT}"), common);
    attributes.iter().fold(item, |item, (name, value)| with(item, name, value.clone()))
}

/// The same after 3,000 yen were held.
pub(super) fn aside(state: &str) -> Json {
    let more = [("put_aside", json!({ "M": { "ECOPAY": n("3000") } })), ("net", n("3000")), ("held_at", s(EARLIER))];
    settlement(state, &more)
}

/// The same after the fee was charged.
pub(super) fn charged(state: &str) -> Json {
    let parts = [("fee", "45"), ("tax", "4"), ("payable", "2951")];
    parts.into_iter().fold(aside(state), |item, (name, yen)| with(item, name, n(yen)))
}

/// The same in a final state.
pub(super) fn paid(state: &str, reference: &str) -> Json {
    let over = without(without(charged(state), "due_pk"), "due_sk");
    with(with(over, "paid_at", s(EARLIER)), "payout_reference", s(reference))
}

/// The same while the request `id` sends its file again.
pub(super) fn resending(id: &str) -> Json {
    let due = with(paid("paid", "settlement.txt"), "due_pk", s("demo#due#settlement#1"));
    with(with(due, "due_sk", s(format!("{EARLIER}#{SETTLEMENT}"))), "resend_id", s(id))
}

/// The same, paid through Stripe.
pub(super) fn by_stripe(settlement: Json) -> Json {
    let psp = json!({ "M": { "ledger": s("demo-ledger"), "livemode": { "BOOL": false } } });
    with(with(settlement, "destination", registered()), "psp", psp)
}

/// Stripe has been asked for the payout `sends` times in this epoch.
fn payout_requested(epoch: &str, sends: &str) -> Json {
    let item = with(with(by_stripe(charged("paying")), "paying_at", s(EARLIER)), "payout_epoch_at", s(EARLIER));
    with(with(item, "payout_epoch", n(epoch)), "payout_sends", n(sends))
}

pub(super) fn turned(settlement: Json) -> Json {
    with(settlement, "turned_back", s("step_failed"))
}

pub(super) fn open() -> Json {
    item("merchant", MERCHANT, "SETTLING", json!({ "open": s(SETTLEMENT), "updated_at": s(EARLIER) }))
}

pub(super) fn balance(asset: &str, balance: &str, held: &str) -> Json {
    let attributes = json!({ "balance": n(balance), "held": n(held), "updated_at": s(EARLIER) });
    item("merchant", MERCHANT, &format!("BALANCE#{asset}"), attributes)
}

/// A credited record; `ids` names what it belongs to.
fn record(pk: (&str, &str), sk: &str, ids: &[(&str, &str)], yen: &str) -> Json {
    let item = item(
        pk.0,
        pk.1,
        sk,
        json!({
            "merchant_id": s(MERCHANT), "merchant_delta": { "M": { "ECOPAY": n(yen) } }, "credited_at": s(EARLIER),
            "created_at": s(EARLIER), "due_pk": s(format!("demo#due#settle#{MERCHANT}#1")), "due_sk": s(pk.1),
        }),
    );
    ids.iter().fold(item, |item, (name, id)| with(item, name, s(*id)))
}

fn records() -> [Json; 3] {
    let old = "019a9100-0000-7000-8000-0000000000f0";
    let (refund, sk) = ("019a9000-0000-7000-8000-000000000093", "REFUND#019a9000-0000-7000-8000-000000000093");
    [
        record(("payment", PAYMENT), "PAYMENT", &[("payment_id", PAYMENT)], "3100"),
        record(("payment", PAYMENT), sk, &[("payment_id", PAYMENT), ("refund_id", refund)], "-100"),
        record(("merchant", MERCHANT), &format!("RETURNED#{old}"), &[("returned_settlement_id", old)], "500"),
    ]
}

fn stamped(record: Json) -> Json {
    with(without(without(record, "due_pk"), "due_sk"), "settlement_id", s(SETTLEMENT))
}

pub(super) fn step(id: &'static str, why: &'static str, step: SettlementStep) -> Case {
    let does = Does::Settlement { merchant: MERCHANT.to_owned(), settlement: SETTLEMENT.to_owned(), step };
    Case::new(id, why, None, does)
}

pub(super) fn task(id: &'static str, why: &'static str, task: &str) -> Case {
    step(id, why, SettlementStep::Task { task: task.to_owned() })
}

fn payout_event(id: &'static str, why: &'static str, status: &str, amount: &str, livemode: bool) -> Case {
    step(
        id,
        why,
        SettlementStep::Told {
            event: "evt_1Back".to_owned(),
            kind: format!("payout.{status}"),
            payout: PAYOUT.to_owned(),
            amount: amount.to_owned(),
            currency: "jpy".to_owned(),
            status: status.to_owned(),
            livemode,
            account: None,
        },
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = collecting();
    all.extend(steps());
    all.extend(undoings());
    all.extend(payouts());
    all.extend(words());
    all.extend(periods());
    all
}

/// A settlement without records.
pub(super) fn fresh() -> Json {
    let none = without(without(settlement("collecting", &[]), "taken_ecopay"), "refunded_ecopay");
    with(with(none, "records", n("0")), "batches", n("0"))
}

fn collecting() -> Vec<Case> {
    let list = || {
        let value = |record: &Json| {
            let mut kept = record.as_object().unwrap().clone();
            kept.retain(|name, _| {
                ["payment_id", "refund_id", "returned_settlement_id", "merchant_delta"].contains(&name.as_str())
            });
            json!({ "M": kept })
        };
        let list: Vec<Json> = records().iter().map(value).collect();
        let attributes = json!({ "settlement_id": s(SETTLEMENT), "created_at": s(EARLIER), "records": { "L": list } });
        item("merchant", MERCHANT, &format!("SETTLED#{SETTLEMENT}#000001"), attributes)
    };
    vec![
        step(
            "settlement/collect",
            "A payment, a refund, and what came back of an earlier one.",
            SettlementStep::Collect {},
        )
        .on([fresh()])
        .on(records()),
        step("settlement/collect-taken", "One of them is another settlement's.", SettlementStep::Collect {})
            .seen([records()[0].clone()])
            .on([fresh(), with(stamped(records()[0].clone()), "settlement_id", s(CARD))])
            .ends("rejected wrong_state by payment"),
        step("settlement/give-back", "The records of the last batch are due again.", SettlementStep::GiveBack {})
            .on([turned(with(with(settlement("collecting", &[]), "records", n("3")), "came_back_ecopay", n("500")))])
            .on([list()])
            .on(records().map(stamped)),
        task("settlement/undone", "Everything is given back: the next one may be opened.", "undo_collect")
            .on([with(turned(settlement("collecting", &[])), "batches", n("0")), open()]),
    ]
}

fn steps() -> Vec<Case> {
    let (regional, points) = ("REGIONAL#aoba", "POINT");
    let three = json!({ "M": { "ECOPAY": n("-50"), "POINT": n("500"), "REGIONAL#aoba": n("1000") } });
    let mixed = [("put_aside", three), ("net", n("1450")), ("held_at", s(EARLIER))];
    let several = [("taken_point", n("500")), ("taken_regional_aoba", n("10.5")), ("came_back_ecopay", n("500"))];
    let held = [(OF_MERCHANT, "ECOPAY", "-3000"), (OF_MERCHANT, HELD, "3000")];
    vec![
        task("settlement/hold", "What the merchant is owed is put aside.", "hold")
            .on([settlement("collecting", &[]), balance("ECOPAY", "3000", "0")])
            .moves(&held),
        task("settlement/hold-several", "Whole units of each asset; the rest stays.", "hold")
            .on([settlement("collecting", &several), balance("ECOPAY", "3500", "0")])
            .on([balance("POINT", "500", "0"), balance(regional, "10.5", "0")])
            .moves(&[(OF_MERCHANT, "ECOPAY", "-3500"), (OF_MERCHANT, HELD, "3500")])
            .moves(&[(OF_MERCHANT, "POINT", "-500"), (OF_MERCHANT, "held of POINT", "500")])
            .moves(&[(OF_MERCHANT, "REGIONAL#aoba", "-10"), (OF_MERCHANT, "held of REGIONAL#aoba", "10")]),
        task("settlement/hold-overtaken", "Another run has put it aside.", "hold")
            .seen([settlement("collecting", &[])])
            .on([aside("held"), balance("ECOPAY", "0", "3000")])
            .ends("rejected stale_plan by settlement"),
        task("settlement/carried", "Less than nothing is owed: the next one begins with it.", "hold")
            .on([with(settlement("collecting", &[]), "refunded_ecopay", n("3400")), open()]),
        step(
            "settlement/verified",
            "The merchant has been checked.",
            SettlementStep::Verified { reference: "chk_1".to_owned() },
        )
        .on([aside("held")]),
        task(
            "settlement/release",
            "Points and regional currency become yen, and what is owed in money is netted.",
            "release",
        )
        .on([settlement("verified", &mixed), balance("ECOPAY", "-50", "0")])
        .on([balance(points, "0", "500"), balance(regional, "0.5", "1000")])
        .moves(&[(OF_MERCHANT, "ECOPAY", "50"), (OF_MERCHANT, HELD, "1450"), ("points_issued", "ECOPAY", "-1500")])
        .moves(&[(OF_MERCHANT, "held of POINT", "-500"), ("points_issued", "POINT", "500")])
        .moves(&[(OF_MERCHANT, "held of REGIONAL#aoba", "-1000"), ("points_issued", "REGIONAL#aoba", "1000")]),
        task("settlement/fee", "Fee and tax, each rounded down by itself.", "fee")
            .on([aside("released"), balance("ECOPAY", "0", "3000")])
            .moves(&[(OF_MERCHANT, HELD, "-49"), ("fees", "ECOPAY", "45"), ("consumption_tax", "ECOPAY", "4")]),
        task("settlement/fee-came-back", "What came back was charged before.", "fee")
            .on([with(aside("released"), "came_back_ecopay", n("2951")), balance("ECOPAY", "0", "3000")]),
        task("settlement/stopped", "A step and its undoing cannot finish: it waits for a person.", "stop")
            .on([turned(aside("held"))]),
        step("settlement/started", "Its saga was started: it is looked at in a day.", SettlementStep::Started {})
            .on([settlement("collecting", &[])]),
    ]
}

fn undoings() -> Vec<Case> {
    let three = json!({ "M": { "POINT": n("500") } });
    let mixed = [("put_aside", three), ("net", n("500")), ("held_at", s(EARLIER))];
    vec![
        step(
            "settlement/turn-back",
            "The merchant was refused.",
            SettlementStep::TurnBack { why: "kyc_refused".to_owned() },
        )
        .on([aside("held")]),
        task("settlement/undo-fee", "Fee and tax are given back.", "undo_fee")
            .on([turned(charged("charged")), balance("ECOPAY", "0", "2951")])
            .moves(&[(OF_MERCHANT, HELD, "49"), ("fees", "ECOPAY", "-45"), ("consumption_tax", "ECOPAY", "-4")]),
        task("settlement/undo-release", "It is points again.", "undo_release")
            .on([turned(settlement("released", &mixed)), balance("ECOPAY", "0", "500"), balance("POINT", "0", "0")])
            .moves(&[(OF_MERCHANT, HELD, "-500"), ("points_issued", "ECOPAY", "500")])
            .moves(&[(OF_MERCHANT, "held of POINT", "500"), ("points_issued", "POINT", "-500")]),
        task("settlement/undo-hold", "It is the merchant's again.", "undo_hold")
            .on([turned(aside("verified")), balance("ECOPAY", "10", "3000")])
            .moves(&[(OF_MERCHANT, "ECOPAY", "3000"), (OF_MERCHANT, HELD, "-3000")]),
    ]
}

fn payouts() -> Vec<Case> {
    let by_bank =
        || SettlementStep::Paid { clearing: "bank_clearing".to_owned(), reference: "settlement.txt".to_owned() };
    let by_psp = || SettlementStep::Paid { clearing: "stripe_clearing".to_owned(), reference: PAYOUT.to_owned() };
    let paying = || with(charged("paying"), "paying_at", s(EARLIER));
    let refused = || SettlementStep::TurnBack { why: "payout_refused".to_owned() };
    vec![
        task("settlement/pay", "From now on the bank's file may be there.", "payout").on([charged("charged")]),
        task("settlement/pay-by-stripe", "From now on Stripe may be asked.", "payout")
            .on([by_stripe(charged("charged"))]),
        step("settlement/paid", "The file is there.", by_bank())
            .on([paying(), open(), balance("ECOPAY", "0", "2951")])
            .moves(&[(OF_MERCHANT, HELD, "-2951"), ("bank_clearing", "ECOPAY", "2951")]),
        step("settlement/paid-by-stripe", "Stripe has the payout.", by_psp())
            .on([payout_requested("1", "1"), open(), balance("ECOPAY", "0", "2951")])
            .moves(&[(OF_MERCHANT, HELD, "-2951"), ("stripe_clearing", "ECOPAY", "2951")]),
        step("settlement/send", "Somebody is about to ask Stripe.", SettlementStep::Send {})
            .on([payout_requested("1", "0")]),
        step("settlement/send-overtaken", "Somebody else began to in between.", SettlementStep::Send {})
            .seen([payout_requested("1", "0")])
            .on([payout_requested("1", "1")])
            .ends("rejected stale_plan by settlement"),
        step("settlement/next-epoch", "Nothing can come of the first key.", SettlementStep::NextEpoch {}).on([with(
            payout_requested("1", "2"),
            "payout_sent_at",
            s(EARLIER),
        )]),
        step("settlement/payout-refused", "Stripe refused, and nothing has left.", refused())
            .on([payout_requested("1", "1")]),
        step("settlement/payout-refused-overtaken", "Somebody else has begun to send since.", refused())
            .seen([payout_requested("1", "1")])
            .on([payout_requested("1", "2")])
            .ends("rejected stale_plan by settlement"),
    ]
}

fn words() -> Vec<Case> {
    let stripe = || by_stripe(paid("paid", PAYOUT));
    vec![
        payout_event("settlement/returned", "Stripe's payout came back: it is owed again.", "failed", "2951", false)
            .on([stripe(), balance("ECOPAY", "100", "0")])
            .moves(&[(OF_MERCHANT, "ECOPAY", "2951"), ("stripe_clearing", "ECOPAY", "-2951")]),
        payout_event("settlement/returned-again", "Another event has said so.", "canceled", "2951", false)
            .on([with(by_stripe(paid("returned", PAYOUT)), "returned_at", s(EARLIER))])
            .ends("behind"),
        payout_event("settlement/returned-overtaken", "Another event was faster.", "failed", "2951", false)
            .seen([stripe()])
            .on([by_stripe(paid("returned", PAYOUT)), balance("ECOPAY", "100", "0")])
            .ends("rejected stale_plan by settlement"),
        payout_event("settlement/told-paid", "It arrived: that is what we know.", "paid", "2951", false)
            .on([stripe()])
            .ends("behind"),
        payout_event("settlement/told-ahead", "That it has left is not written down yet.", "failed", "2951", false)
            .on([payout_requested("1", "1")])
            .ends("ahead"),
        payout_event("settlement/told-amount", "Another amount than was asked for.", "failed", "2950", false)
            .on([stripe()])
            .ends("odd amount"),
        payout_event("settlement/told-livemode", "Real money for a test.", "failed", "2951", true)
            .on([stripe()])
            .ends("odd livemode"),
        payout_event("settlement/told-another", "Another payout than ours.", "failed", "2951", false)
            .on([by_stripe(paid("paid", "po_1Another"))])
            .ends("odd object"),
        payout_event("settlement/told-undone", "Nothing was asked for.", "failed", "2951", false)
            .on([by_stripe(without(paid("undone", PAYOUT), "payout_reference"))])
            .ends("odd state"),
    ]
}

pub(super) const PERIOD_SUMS: [(&str, &str); 4] =
    [("period_records", "3"), ("taken_ecopay", "900"), ("taken_point", "30"), ("refunded_ecopay", "100")];

/// The merchant's item, with this period open.
fn crediting(number: &str, version: &str) -> Json {
    let attributes = json!({
        "fence": n("4"), "lease_until": s(EARLIER), "version": n(version), "period": n(number), "updated_at": s(EARLIER),
    });
    let item = item("merchant", MERCHANT, "CREDITING", attributes);
    PERIOD_SUMS.iter().fold(item, |item, (name, number)| with(item, name, n(number)))
}

/// The merchant's period 4, closed.
pub(super) fn period_4() -> Json {
    let attributes = json!({ "merchant_id": s(MERCHANT), "period": n("4"), "created_at": s(EARLIER) });
    let item = item("merchant", MERCHANT, "PERIOD#00000004", attributes);
    PERIOD_SUMS.iter().fold(item, |item, (name, number)| with(item, name, n(number)))
}

/// The same while it is due for the next settlement.
fn period_4_due() -> Json {
    let due = with(period_4(), "due_pk", s(format!("demo#due#settle_period#{MERCHANT}#0")));
    with(due, "due_sk", s("00000004"))
}

/// The list of a settlement that has taken period 4.
fn list_of_period_4() -> Json {
    let mut entry = serde_json::Map::from_iter([("period".to_owned(), n("4"))]);
    entry.extend(PERIOD_SUMS.map(|(name, number)| (name.to_owned(), n(number))));
    let list = json!({ "L": [{ "M": entry }] });
    let attributes = json!({ "settlement_id": s(SETTLEMENT), "created_at": s(EARLIER), "records": list });
    item("merchant", MERCHANT, &format!("SETTLED#{SETTLEMENT}#000001"), attributes)
}

/// A settlement that has closed period 4.
fn with_period_4() -> Json {
    let item = with(with_period_4_in_list(), "closed_period", n("4"));
    with(item, "closed_batch", n("1"))
}

/// A settlement that has taken period 4 after another gave it back.
pub(super) fn with_period_4_in_list() -> Json {
    let item = with(settlement("collecting", &[]), "records", n("3"));
    with(with(with(item, "taken_ecopay", n("900")), "taken_point", n("30")), "refunded_ecopay", n("100"))
}

/// Version 3 of the records: periods are closed, given back and taken as a whole.
fn periods() -> Vec<Case> {
    let close = |id, why| step(id, why, SettlementStep::ClosePeriod {});
    let taken = || with(period_4(), "settlement_id", s(SETTLEMENT));
    vec![
        close("settlement/records-3-close-period", "The settlement takes all records of the open period by its sums.")
            .on([fresh(), crediting("4", "7")]),
        close("settlement/records-3-close-first-period", "A merchant's first period, after records by themselves.")
            .on([settlement("collecting", &[]), crediting("1", "7")]),
        close("settlement/records-3-close-empty-period", "Nothing was credited since the last one: it stays open.")
            .on([fresh(), PERIOD_SUMS.iter().fold(crediting("4", "7"), |item, (name, _)| without(item, name))]),
        close("settlement/records-3-close-before-any-period", "The merchant was never credited to one.").on([
            fresh(),
            PERIOD_SUMS.iter().fold(without(crediting("1", "7"), "period"), |item, (name, _)| without(item, name)),
        ]),
        close("settlement/records-3-credited-meanwhile", "The sums have grown since they were read.")
            .seen([crediting("4", "7")])
            .on([fresh(), with(crediting("4", "8"), "taken_ecopay", n("1000"))])
            .ends("rejected stale_plan by crediting"),
        close("settlement/records-3-closed-by-another-run", "Another run of the saga was faster.")
            .seen([fresh(), crediting("4", "7")])
            .on([with_period_4(), taken()])
            .on([PERIOD_SUMS.iter().fold(crediting("5", "7"), |item, (name, _)| without(item, name))])
            .ends("rejected stale_plan by settlement"),
        close("settlement/records-3-close-turned-back", "It has turned back meanwhile: the period stays open.")
            .seen([fresh()])
            .on([turned(fresh()), crediting("4", "7")])
            .ends("rejected stale_plan by settlement"),
        step(
            "settlement/records-3-give-period-back",
            "The period is due for the next settlement.",
            SettlementStep::GiveBack {},
        )
        .on([turned(with_period_4()), taken()]),
        step(
            "settlement/records-3-give-listed-period-back",
            "So is one that was taken from a list.",
            SettlementStep::GiveBack {},
        )
        .on([turned(with_period_4_in_list()), list_of_period_4(), taken()]),
        step(
            "settlement/records-3-collect-period",
            "A period that was given back, beside a record that was credited by itself.",
            SettlementStep::Collect {},
        )
        .on([fresh(), period_4_due(), records()[0].clone()]),
        step("settlement/records-3-collect-taken-period", "Another settlement has it.", SettlementStep::Collect {})
            .seen([period_4_due()])
            .on([fresh(), with(period_4(), "settlement_id", s(CARD))])
            .ends("rejected wrong_state by period"),
    ]
}
