//! `GET /v1/terminal/totals`: a terminal's totals of a business day, for closing the till.

use axum::Json;
use axum::extract::State;
use ledger_core::account;
use ledger_core::journal::HistoryLine;
use ledger_core::keys::sk;
use ledger_core::money::{Asset, Balance};
use ledger_core::operation::Operation;
use ledger_core::reads::{self};
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
    /// One total per operation of cards and asset.
    totals: Vec<TotalView>,
    /// One total of customers' charges, and of their reversals, per asset.
    charges: Vec<ChargeTotalView>,
}

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
    let mut sums = BTreeMap::<(String, Asset), (u64, Balance)>::new();
    let mut after = None;
    loop {
        let query = reads::terminal_references_of(who.tenant(), who.id(), date).after(after.take()).limit(BATCH_ITEMS);
        let items = app.dynamo().query(&query).await?;
        for item in &items {
            let line = HistoryLine::read(item, None)?;
            let changes = account::net(line.changes.iter().map(|delta| (delta.asset().clone(), delta)));
            for (asset, delta) in changes.map_err(|_| Problem::internal())? {
                let sum =
                    sums.entry((line.operation.clone(), asset.clone())).or_insert_with(|| (0, Balance::zero(asset)));
                sum.0 = sum.0.saturating_add(1);
                sum.1 = sum.1.checked_apply(&delta).map_err(|_| Problem::internal())?;
            }
            after = Some(format!("{}{}", sk::TXNREF, line.id));
        }
        if items.len() < BATCH_ITEMS {
            break;
        }
    }
    let (mut totals, mut charges) = (Vec::new(), Vec::new());
    for ((operation, asset), (count, sum)) in sums {
        let (asset, amount) = (asset.to_string(), sum.text());
        if [Operation::TerminalCharge, Operation::TerminalChargeReverse].map(Operation::name).contains(&&*operation) {
            charges.push(ChargeTotalView { operation, count, asset, amount });
        } else {
            totals.push(TotalView { operation, count, asset, amount });
        }
    }
    Ok(Json(TotalsView { date: date.to_string(), totals, charges }))
}
