//! The totals of posting days.

use super::read::DayFigures;
use crate::problem::Problem;
use crate::views::words;
use ledger_core::figures::{Balances, Sums};
use ledger_core::keys::TotalsOf;
use ledger_core::money::{Asset, Balance};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The number of entries of an operation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryCountView {
    /// The operation, such as `pay`.
    operation: String,
    /// The operation that was reversed, such as `card_pay`; of reversals only.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverses: Option<String>,
    /// The number of entries.
    count: u64,
}

/// How one operation changed accounts of one class in one asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FigureLineView {
    /// The operation, such as `pay`.
    operation: String,
    /// The operation that was reversed, such as `card_pay`; of reversals only.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverses: Option<String>,
    /// The asset of the amounts.
    asset: String,
    /// `customers`, `cards`, `merchants`, or one of the tenant's own accounts, such as `points_issued`.
    accounts: String,
    /// The number of entries that changed such accounts.
    count: u64,
    /// The sum that the accounts gained.
    gained: String,
    /// The sum that the accounts lost. What one entry moves within one account is in neither sum.
    lost: String,
}

/// The balance of a class of accounts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClassBalanceView {
    /// `customers`, `cards`, `merchants`, or one of the tenant's own accounts.
    accounts: String,
    /// The asset.
    asset: String,
    /// The sum of the balances, held parts included. The balances of all classes sum to zero in each asset.
    balance: String,
}

/// A sum of one asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutstandingView {
    /// The asset.
    asset: String,
    /// What customers and cards have, held parts included.
    amount: String,
}

/// The totals of a day, or of a merchant, a shop or a terminal on the days from `from` to `to`.
#[derive(Debug, Serialize, ToSchema)]
pub struct FiguresView {
    /// The posting day; by day only.
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// The merchant, of whose balance the lines are; by merchant and by shop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// The shop, of whose payments the lines are; by shop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    shop_id: Option<String>,
    /// The terminal, of whose customers and cards the lines are; by terminal only.
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_id: Option<String>,
    /// `closed` if every day is closed, so that the totals never change; else `provisional`.
    #[schema(value_type = words::TotalsStatus)]
    status: &'static str,
    /// The time at which the day was closed; of a closed day only.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// The number of entries by operation.
    entries: Vec<EntryCountView>,
    /// What the entries changed.
    totals: Vec<FigureLineView>,
    /// The balances at the end of the day, or now; by day only.
    #[serde(skip_serializing_if = "Option::is_none")]
    balances: Option<Vec<ClassBalanceView>>,
    /// The value outstanding at the end of the day, or now, by asset; by day only.
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding: Option<Vec<OutstandingView>>,
    /// The number of customers whose wallets changed on the day; absent of days before the first that was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_customers: Option<u64>,
    /// The number of cards that changed on the day; likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_cards: Option<u64>,
    /// The number of customers that were opened on the day; absent also if the tenant's customers are in no lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_customers: Option<u64>,
}

/// `closed` or `provisional`.
#[must_use]
pub fn totals_status(is_closed: bool) -> &'static str {
    if is_closed { "closed" } else { "provisional" }
}

impl FiguresView {
    /// The totals of some days; `is_closed` if all of them are.
    #[must_use]
    pub fn of(of: TotalsOf, is_closed: bool, sums: &Sums) -> Self {
        let (merchant_id, shop_id, terminal_id) = match of {
            TotalsOf::Tenant => (None, None, None),
            TotalsOf::Merchant(id) => (Some(id.to_string()), None, None),
            TotalsOf::Shop(merchant, id) => (Some(merchant.to_string()), Some(id.to_string()), None),
            TotalsOf::Terminal(id) => (None, None, Some(id.to_string())),
        };
        let entries = sums.entries.iter().map(|(operation, count)| {
            let (operation, reverses) = parted(operation);
            EntryCountView { operation, reverses, count: *count }
        });
        let totals = sums.lines.iter().map(|(line, moved)| {
            let (operation, reverses) = parted(&line.operation);
            FigureLineView {
                operation,
                reverses,
                asset: line.asset.to_string(),
                accounts: line.accounts.to_string(),
                count: moved.count,
                gained: moved.gained.text(),
                lost: moved.lost.text(),
            }
        });
        Self {
            date: None,
            merchant_id,
            shop_id,
            terminal_id,
            status: totals_status(is_closed),
            closed_at: None,
            entries: entries.collect(),
            totals: totals.collect(),
            balances: None,
            outstanding: None,
            active_customers: None,
            active_cards: None,
            new_customers: None,
        }
    }

    /// The totals and balances of a day.
    ///
    /// # Errors
    /// 500 if a sum does not fit.
    pub fn of_day(of: TotalsOf, day: &DayFigures) -> Result<Self, Problem> {
        let balances = day.balances.iter().map(|((accounts, asset), balance)| ClassBalanceView {
            accounts: accounts.to_string(),
            asset: asset.to_string(),
            balance: balance.text(),
        });
        let closing = day.closing.as_ref();
        Ok(Self {
            date: Some(day.date.to_string()),
            closed_at: closing.map(|closing| closing.closed_at.to_string()),
            balances: Some(balances.collect()),
            outstanding: (of == TotalsOf::Tenant).then(|| outstanding(&day.balances)).transpose()?,
            active_customers: closing.map(|closing| closing.active_customers),
            active_cards: closing.map(|closing| closing.active_cards),
            new_customers: closing.and_then(|closing| closing.new_customers),
            ..Self::of(of, day.is_closed, &day.sums)
        })
    }
}

/// What customers and cards have, by asset.
fn outstanding(balances: &Balances) -> Result<Vec<OutstandingView>, Problem> {
    let mut sums = BTreeMap::<&Asset, Balance>::new();
    for ((_, asset), balance) in balances.iter().filter(|((accounts, _), _)| accounts.is_of_holders()) {
        let sum = sums.remove(asset).unwrap_or_else(|| Balance::zero(asset.clone()));
        sums.insert(asset, sum.checked_apply(balance).map_err(|_| Problem::internal())?);
    }
    let view = |(asset, sum): (&Asset, Balance)| OutstandingView { asset: asset.to_string(), amount: sum.text() };
    Ok(sums.into_iter().map(view).collect())
}

/// The operation of a line, and the one that it reverses.
fn parted(operation: &str) -> (String, Option<String>) {
    match operation.split_once(':') {
        Some((operation, reverses)) => (operation.to_owned(), Some(reverses.to_owned())),
        None => (operation.to_owned(), None),
    }
}
