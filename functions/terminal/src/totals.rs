//! `GET /v1/terminal/totals`: a terminal's totals of a business day, for closing the till.

use axum::Json;
use axum::extract::State;
use ledger_core::account;
use ledger_core::cash_collections::collected_on;
use ledger_core::cash_rooms;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::TerminalOwner;
use ledger_core::journal::HistoryLine;
use ledger_core::keys::{Partition, sk};
use ledger_core::money::{Asset, Balance, MoneyError};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter};
use ledger_runtime::identity::Caller;
use ledger_runtime::problem::Problem;
use ledger_runtime::request::Params;
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::words;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The number of entries per query.
const BATCH_ITEMS: usize = 500;

/// A terminal's total of one operation and asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TotalView {
    /// `card_topup`, `card_pay`, `card_refund` or `card_reverse`.
    #[schema(value_type = words::CardOperation)]
    operation: String,
    /// What was reversed: `card_topup`, `card_pay` or `card_refund`; absent unless the operation is `card_reverse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::ReversibleOperation>)]
    reverses: Option<String>,
    /// The number of operations.
    count: u64,
    /// The asset of the amount.
    asset: String,
    /// The sum of the changes of the cards' balances; negative if value left the cards.
    amount: String,
}

/// A terminal's total of charges or of their reversals, in one asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChargeTotalView {
    /// `terminal_charge` or `terminal_charge_reverse`.
    #[schema(value_type = words::ChargeOperation)]
    operation: String,
    /// The number of operations.
    count: u64,
    /// The asset of the amount.
    asset: String,
    /// The sum that was charged, negative, or that reversals returned, positive.
    amount: String,
}

/// A terminal's totals of one business day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TotalsView {
    /// The business day: the calendar day in Japan, by the server's clock.
    date: String,
    /// One total per operation of cards, what it reverses, and asset.
    totals: Vec<TotalView>,
    /// One total of customers' charges, and of their reversals, per asset.
    charges: Vec<ChargeTotalView>,
    /// The programme's cash.
    cash: CashView,
}

/// The cash of the programme that a terminal took and gave back on one business day. A shop's own sales are not in it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CashView {
    /// What was loaded onto cards, in yen.
    taken: String,
    /// What reversed top-ups gave back, in yen.
    given_back: String,
    /// What was taken less what was given back, in yen.
    expected: String,
    /// What was collected from a counter on the day, in yen; absent for a till.
    #[serde(skip_serializing_if = "Option::is_none")]
    collected: Option<String>,
    /// What a counter has that was not collected, in yen: at present, whichever day is asked for. Absent for a till.
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding: Option<String>,
}

/// The totals of a terminal's entries: by operation, what it reverses, and asset.
type Sums = BTreeMap<(String, Option<String>, Asset), (u64, Balance)>;

pub(crate) const GET: Endpoint = Endpoint::get("/v1/terminal/totals")
    .summary("Returns the terminal's totals of a business day, for closing the till.")
    .open()
    .parameter(Parameter::in_query("date", "The business day; today in Japan if absent.", Kind::Day))
    .ok::<TotalsView>("The totals");

pub(crate) async fn get(
    State(app): State<App>,
    who: Terminal,
    mut params: Params,
) -> Result<Json<TotalsView>, Problem> {
    let date = match params.take("date")? {
        Some(text) => {
            BusinessDate::parse(&text).map_err(|_| Problem::invalid_field("date", "must be a date like 2026-11-21"))?
        }
        None => app.now().business_date(),
    };
    params.finish()?;
    let mut sums = Sums::new();
    let mut after = None;
    loop {
        let query = reads::terminal_references_of(who.tenant(), who.id(), date).after(after.take()).limit(BATCH_ITEMS);
        let items = app.dynamo().query(&query).await?;
        for item in &items {
            let line = HistoryLine::read(item, None)?;
            after = Some(format!("{}{}", sk::TXNREF, line.id));
            add(&mut sums, line).map_err(|_| Problem::internal())?;
        }
        if items.len() < BATCH_ITEMS {
            break;
        }
    }
    let cash = match who.owner() {
        TerminalOwner::Merchant(_) => cash_of(&sums, None),
        TerminalOwner::Operator => {
            let profile = Partition::terminal(who.tenant(), who.id()).profile();
            let counter = app.dynamo().get(&profile).await?.ok_or_else(Problem::not_found)?;
            let collections = app.dynamo().query(&reads::cash_collections(who.tenant(), who.id())).await?;
            cash_of(&sums, Some(counted(&counter, &collections, date)?))
        }
    };
    let cash = cash.map_err(|_| Problem::internal())?;
    let (mut totals, mut charges) = (Vec::new(), Vec::new());
    for ((operation, reverses, asset), (count, sum)) in sums {
        let (asset, amount) = (asset.to_string(), sum.text());
        if [Operation::TerminalCharge, Operation::TerminalChargeReverse].map(Operation::name).contains(&&*operation) {
            charges.push(ChargeTotalView { operation, count, asset, amount });
        } else {
            totals.push(TotalView { operation, reverses, count, asset, amount });
        }
    }
    Ok(Json(TotalsView { date: date.to_string(), totals, charges, cash }))
}

/// Adds an entry to the totals.
fn add(sums: &mut Sums, line: HistoryLine) -> Result<(), MoneyError> {
    let changes = account::net(line.changes.iter().map(|delta| (delta.asset().clone(), delta)))?;
    for (asset, delta) in changes {
        let of = (line.operation.clone(), line.reverses.clone(), asset.clone());
        let sum = sums.entry(of).or_insert_with(|| (0, Balance::zero(asset)));
        sum.0 = sum.0.saturating_add(1);
        sum.1 = sum.1.checked_apply(&delta)?;
    }
    Ok(())
}

/// The cash of a counter: what was collected on a day, and what is outstanding at present.
struct Counted {
    collected: Balance,
    outstanding: Balance,
}

fn counted(counter: &Item, collections: &[Item], date: BusinessDate) -> Result<Counted, ItemError> {
    let outstanding = cash_rooms::outstanding_of(counter)?.unwrap_or_else(|| Balance::zero(Asset::Ecopay));
    Ok(Counted { collected: collected_on(collections, date)?, outstanding })
}

fn cash_of(sums: &Sums, counter: Option<Counted>) -> Result<CashView, MoneyError> {
    let of = |operation: Operation, reverses: Option<Operation>| {
        let reverses = reverses.map(|reversed| reversed.name().to_owned());
        let sum = sums.get(&(operation.name().to_owned(), reverses, Asset::Ecopay));
        sum.map_or_else(|| Balance::zero(Asset::Ecopay), |(_, sum)| sum.clone())
    };
    let (taken, reversed) = (of(Operation::CardTopup, None), of(Operation::CardReverse, Some(Operation::CardTopup)));
    let given_back = Balance::zero(Asset::Ecopay).checked_sub(&reversed)?;
    let expected = taken.checked_sub(&given_back)?;
    let counter = counter.map(|of| (of.collected.text(), of.outstanding.text())).unzip();
    Ok(CashView {
        taken: taken.text(),
        given_back: given_back.text(),
        expected: expected.text(),
        collected: counter.0,
        outstanding: counter.1,
    })
}
