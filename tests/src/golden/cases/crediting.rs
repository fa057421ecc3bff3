//! Crediting a merchant: one lease holder at a time flags records and adds their amounts to the balances.

use super::Case;
use super::world::*;
use crate::golden::build_crediting::CreditingStep;
use crate::golden::build_scale::ScaleDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The fencing token of the merchant's lease holder.
const FENCE: &str = "4";
const LATER: &str = "2026-11-21T03:00:20.000Z";
/// DynamoDB's limit of actions in one transaction, less the lease item and one balance.
const FITTING: u32 = 98;

fn step(id: &'static str, why: &'static str, step: CreditingStep) -> Case {
    Case::new(id, why, None, Does::Crediting { merchant: MERCHANT.to_owned(), step })
}

fn take(id: &'static str, why: &'static str) -> Case {
    step(id, why, CreditingStep::Take {})
}

fn release(id: &'static str, why: &'static str) -> Case {
    step(id, why, CreditingStep::Release { fence: FENCE.to_owned() })
}

fn credit(id: &'static str, why: &'static str) -> Case {
    step(id, why, CreditingStep::Credit { fence: FENCE.to_owned() })
}

fn crediting(fence: &str, lease_until: &str) -> Json {
    let attributes = json!({ "fence": n(fence), "lease_until": s(lease_until), "version": n("7") });
    item("merchant", MERCHANT, "CREDITING", attributes)
}

fn held() -> Json {
    crediting(FENCE, LATER)
}

fn id_of(number: u32) -> String {
    format!("019a9000-0000-7000-8000-{number:012}")
}

fn due(item: Json, number: u32, delta: &[(&str, &str)]) -> Json {
    let delta: serde_json::Map<String, Json> =
        delta.iter().map(|(asset, change)| ((*asset).to_owned(), n(change))).collect();
    let item = with(item, "merchant_delta", json!({ "M": delta }));
    let item = with(item, "due_pk", s(format!("demo#due#credit#{MERCHANT}#{}", number % 2)));
    with(item, "due_sk", s(id_of(number)))
}

/// A payment that is due for crediting, with the attributes that crediting reads.
fn paid(number: u32, delta: &[(&str, &str)]) -> Json {
    let attributes = json!({
        "payment_id": s(id_of(number)), "merchant_id": s(MERCHANT), "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    due(item("payment", &id_of(number), "PAYMENT", attributes), number, delta)
}

/// A refund of the payment of this number.
fn refunded(number: u32, delta: &[(&str, &str)]) -> Json {
    let attributes = json!({
        "refund_id": s(id_of(number + 500)), "kind": s("refund"), "payment_id": s(id_of(number)),
        "merchant_id": s(MERCHANT), "created_at": s(EARLIER),
    });
    let sk = format!("REFUND#{}", id_of(number + 500));
    due(item("payment", &id_of(number), &sk, attributes), number + 500, delta)
}

/// The same record after it was credited.
fn credited(record: Json) -> Json {
    let settle = record["due_pk"]["S"].as_str().unwrap().replace("#credit#", "#settle#");
    with(with(record, "credited_at", s(EARLIER)), "due_pk", s(settle))
}

fn balance(asset: &str, balance: &str) -> Json {
    let attributes = json!({ "balance": n(balance), "updated_at": s(EARLIER) });
    item("merchant", MERCHANT, &format!("BALANCE#{asset}"), attributes)
}

fn sweep(id: &'static str, why: &'static str, to: Option<&str>) -> Case {
    Case::new(id, why, None, Does::Scale(ScaleDoes::Sweep { to: to.map(str::to_owned) }))
}

/// The next sweep starts after this merchant.
fn behind(merchant: &str) -> Json {
    item("tenant", "root", "CREDITING_SWEEP", json!({ "after": s(merchant), "updated_at": s(EARLIER) }))
}

fn sweeps() -> Vec<Case> {
    vec![
        sweep(
            "crediting_sweep/left-off",
            "Its time was over: the next one begins behind this merchant.",
            Some(MERCHANT),
        ),
        sweep("crediting_sweep/further", "The next one came further.", Some(MERCHANT)).on([behind(CARD)]),
        sweep("crediting_sweep/all", "All were visited: the next one begins with the first.", None).on([behind(CARD)]),
        sweep("crediting_sweep/again-all", "It began with the first and visited all.", None),
        sweep("crediting_sweep/overtaken", "Another sweep has moved on meanwhile.", Some(MERCHANT))
            .on([behind(CARD)])
            .seen([behind(PAYMENT)])
            .ends("rejected stale_plan by crediting"),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = leases();
    all.extend(sweeps());
    all.extend(batches());
    all.extend(periods());
    all
}

fn leases() -> Vec<Case> {
    vec![
        take("crediting/take-first", "Nobody has credited this merchant before."),
        take("crediting/take-first-overtaken", "Another took it first in between.")
            .seen([item("merchant", MERCHANT, "CREDITING", json!({}))])
            .on([crediting("1", LATER)])
            .ends("rejected stale_plan by crediting"),
        take("crediting/take-over", "A holder who has been silent for the lease: the next token.")
            .on([crediting(FENCE, NOW)]),
        take("crediting/take-held", "Somebody else has it: there is nothing to do.").on([held()]),
        take("crediting/take-renewed", "The holder was only slow, and renewed its lease in between.")
            .seen([crediting(FENCE, NOW)])
            .on([held()])
            .ends("rejected stale_plan by crediting"),
        release("crediting/release", "Anybody may take it at once.").on([held()]),
        release("crediting/release-late", "Another has it by now: it stays taken.")
            .on([crediting("5", LATER)])
            .ends("rejected stale_plan by crediting"),
    ]
}

fn batches() -> Vec<Case> {
    let yen = |number| paid(number, &[("ECOPAY", "100")]);
    vec![
        credit("crediting/first", "The first of an asset makes the balance.").on([held(), yen(1)]),
        credit("crediting/assets", "Payments and a refund in several assets; points cancel out.").on([
            held(),
            balance("ECOPAY", "5000"),
            balance("POINT", "3"),
            paid(1, &[("ECOPAY", "1740"), ("POINT", "500"), ("REGIONAL#yama", "10.5")]),
            paid(2, &[("ECOPAY", "60")]),
            refunded(1, &[("ECOPAY", "-1240"), ("POINT", "-500")]),
        ]),
        credit("crediting/below-zero", "A refund takes more than there is: it is netted later.").on([
            held(),
            balance("ECOPAY", "300"),
            refunded(1, &[("ECOPAY", "-1000")]),
        ]),
        credit("crediting/credited-before", "One of them stands in the balance already: none is credited.")
            .seen([yen(2)])
            .on([held(), balance("ECOPAY", "100"), yen(1), credited(yen(2)), yen(3)])
            .ends("rejected already_exists by payment"),
        credit("crediting/lost-token", "A late holder writes nothing, whatever else has happened meanwhile.")
            .seen([yen(1)])
            .on([crediting("5", LATER), balance("ECOPAY", "100"), credited(yen(1)), yen(2)])
            .ends("rejected stale_plan by crediting"),
        credit("crediting/missing", "A record that there is not.")
            .seen([yen(1)])
            .on([held(), yen(2)])
            .ends("rejected account_missing by payment"),
        credit("crediting/nothing", "Nothing is due: nothing is written.").on([held(), credited(yen(1))]),
        credit("crediting/of-another", "What is due to another merchant is not touched.")
            .on([held(), with(with(yen(1), "merchant_id", s(CARD)), "due_pk", s(format!("demo#due#credit#{CARD}#1")))]),
        credit("crediting/full", "As many as fit into 100 actions; what is beyond stays due.")
            .on([crediting("5", LATER)])
            .on((1..=FITTING + 2).map(yen))
            .ends("rejected stale_plan by crediting"),
    ]
}

/// The terms of a tenant that credits to periods.
fn with_periods() -> Json {
    with(config(), "records", n("3"))
}

/// The merchant's item with an open period of three records.
fn in_period(fence: &str, number: &str) -> Json {
    let sums = [("period", number), ("period_records", "3"), ("taken_ecopay", "900"), ("refunded_ecopay", "100")];
    sums.iter().fold(crediting(fence, LATER), |item, (name, number)| with(item, name, n(number)))
}

/// The record after it was credited in a period.
fn in_a_period(record: Json) -> Json {
    let record = without(without(with(record, "credited_at", s(EARLIER)), "due_pk"), "due_sk");
    with(record, "period", n("4"))
}

/// Version 3 of the records: a record names the open period, whose sums grow by it.
fn periods() -> Vec<Case> {
    let yen = |number| paid(number, &[("ECOPAY", "100")]);
    vec![
        credit("crediting/records-3-first", "A merchant's first period begins with its first record.").on([
            with_periods(),
            held(),
            yen(1),
        ]),
        credit(
            "crediting/records-3-assets",
            "Payments and refunds are separate sums; points cancel out in the balance.",
        )
        .on([
            with_periods(),
            in_period(FENCE, "4"),
            balance("ECOPAY", "5000"),
            balance("POINT", "3"),
            paid(1, &[("ECOPAY", "1740"), ("POINT", "500"), ("REGIONAL#yama", "10.5")]),
            paid(2, &[("ECOPAY", "60")]),
            refunded(1, &[("ECOPAY", "-1240"), ("POINT", "-500")]),
        ]),
        credit("crediting/records-3-below-zero", "A late refund is a record of the open period alone.").on([
            with_periods(),
            in_period(FENCE, "4"),
            balance("ECOPAY", "300"),
            refunded(1, &[("ECOPAY", "-1000")]),
        ]),
        credit("crediting/records-3-credited-before", "One of them was credited in a period: none is credited.")
            .seen([yen(2)])
            .on([with_periods(), in_period(FENCE, "4"), balance("ECOPAY", "100"), yen(1), in_a_period(yen(2)), yen(3)])
            .ends("rejected already_exists by payment"),
        credit("crediting/records-3-credited-by-version-2", "One of them is due for a settlement by itself.")
            .seen([yen(2)])
            .on([with_periods(), in_period(FENCE, "4"), balance("ECOPAY", "100"), yen(1), credited(yen(2))])
            .ends("rejected already_exists by payment"),
        credit("crediting/records-3-period-closed", "A settlement closed the period since: nothing is credited to it.")
            .seen([in_period(FENCE, "4")])
            .on([with_periods(), with(crediting(FENCE, LATER), "period", n("5")), balance("ECOPAY", "100"), yen(1)])
            .ends("rejected wrong_state by crediting"),
        credit("crediting/records-3-first-period-closed", "So it is with the first period.")
            .seen([with(in_period(FENCE, "1"), "period", n("1"))])
            .on([with_periods(), with(crediting(FENCE, LATER), "period", n("2")), balance("ECOPAY", "100"), yen(1)])
            .ends("rejected wrong_state by crediting"),
        credit("crediting/records-3-lost-token", "A former holder stops, whatever the period is.")
            .seen([in_period(FENCE, "4")])
            .on([with_periods(), with(crediting("5", LATER), "period", n("5")), balance("ECOPAY", "100"), yen(1)])
            .ends("rejected stale_plan by crediting"),
        credit("crediting/records-2-beside-a-period", "Under version 2 the open period stays as it is.").on([
            with(config(), "records", n("2")),
            in_period(FENCE, "4"),
            balance("ECOPAY", "100"),
            yen(1),
        ]),
    ]
}
