//! A merchant's month as a response and as a file.

use super::statement::{FeeInvoice, MonthStatement};
use super::view::totals_status;
use crate::csv_file::{Cell, CsvFile};
use crate::problem::Problem;
use crate::views::words;
use ledger_core::figures::{PaidOut, StatementPart, StatementSums};
use ledger_core::ids::MerchantId;
use ledger_core::money::{Asset, Balance};
use ledger_core::time::{BusinessDate, BusinessMonth};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What one kind of operations changed of a merchant's balance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatementLineView {
    /// `payments`, `refunds`, `cash`, `fees`, `settlements` or `adjustments`.
    #[schema(value_type = words::StatementPart)]
    part: &'static str,
    /// The number of entries.
    count: u64,
    /// The sum that the merchant gained.
    gained: String,
    /// The sum that it lost.
    lost: String,
}

/// A merchant's balance in an asset over a month: `opening` plus what all lines gained, less what they lost, is `closing`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatementAssetView {
    /// The asset.
    asset: String,
    /// The balance at the beginning of the month.
    opening: String,
    /// What changed it.
    lines: Vec<StatementLineView>,
    /// The balance at the end of the month, or now.
    closing: String,
}

/// The fee of a settlement, as a qualified invoice. Its tax is rounded down once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeeInvoiceView {
    /// The day that it is posted to.
    date: String,
    /// The settlement.
    settlement_id: String,
    /// The operator's registration number; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_number: Option<String>,
    /// The fee without tax, in yen. Below 0 if it was given back.
    fee: String,
    /// The rate of the tax, such as `0.1`.
    tax_rate: String,
    /// The tax, in yen.
    tax: String,
}

/// The fees of a month at one rate of tax.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaxRateView {
    /// The rate.
    tax_rate: String,
    /// The sum of the fees without tax, in yen.
    fee: String,
    /// The sum of the invoices' tax, in yen.
    tax: String,
}

/// A payout of a settlement.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatementPayoutView {
    /// The day that it is posted to.
    date: String,
    /// The settlement.
    settlement_id: String,
    /// The amount, in yen. Below 0 if it was returned.
    amount: String,
}

/// A merchant's month.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatementView {
    /// The merchant.
    merchant_id: String,
    /// The merchant's name.
    name: String,
    /// The month, in Japan.
    month: String,
    /// Its last day, or today.
    to: String,
    /// `closed` if the last day is closed, so that the statement never changes; else `provisional`.
    #[schema(value_type = words::TotalsStatus)]
    status: &'static str,
    /// The balances, by asset.
    assets: Vec<StatementAssetView>,
    /// The fees, each as an invoice.
    invoices: Vec<FeeInvoiceView>,
    /// The sums of the invoices, by rate of tax.
    tax_rates: Vec<TaxRateView>,
    /// What was paid out.
    payouts: Vec<StatementPayoutView>,
}

impl StatementView {
    /// The columns of its file.
    pub const COLUMNS: &[&str] = &[
        "month",
        "merchant_id",
        "merchant",
        "row",
        "date",
        "asset",
        "part",
        "count",
        "gained",
        "lost",
        "balance",
        "settlement_id",
        "registration_number",
        "fee",
        "tax_rate",
        "tax",
        "amount",
        "status",
    ];

    /// The statement of a merchant.
    ///
    /// # Errors
    /// 500 if a sum does not fit.
    pub fn new(
        (merchant, name): (MerchantId, &str),
        month: BusinessMonth,
        statement: &MonthStatement,
    ) -> Result<Self, Problem> {
        let invoice = |of: &FeeInvoice| FeeInvoiceView {
            date: of.date.to_string(),
            settlement_id: of.charged.settlement.to_string(),
            registration_number: of.registration.as_ref().map(ToString::to_string),
            fee: of.charged.fee.text(),
            tax_rate: of.tax_rate.text(),
            tax: of.charged.tax.text(),
        };
        let payout = |(date, of): &(BusinessDate, PaidOut)| StatementPayoutView {
            date: date.to_string(),
            settlement_id: of.settlement.to_string(),
            amount: of.amount.text(),
        };
        Ok(Self {
            merchant_id: merchant.to_string(),
            name: name.to_owned(),
            month: month.to_string(),
            to: statement.to.to_string(),
            status: totals_status(statement.is_closed),
            assets: statement.sums.iter().map(|(asset, sums)| StatementAssetView::new(asset, sums)).collect(),
            invoices: statement.invoices.iter().map(invoice).collect(),
            tax_rates: by_rate(&statement.invoices)?,
            payouts: statement.payouts.iter().map(payout).collect(),
        })
    }

    /// The statement as a file.
    ///
    /// # Errors
    /// 500 if the file cannot be written.
    pub fn file(&self) -> Result<CsvFile, Problem> {
        CsvFile::new(&format!("statement-{}-{}", self.merchant_id, self.month), Self::COLUMNS, self.rows())
    }

    /// The rows of the file. `row` says what a row is: `opening`, `part`, `closing`, `invoice`, `tax_rate` or `payout`.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |kind: &str, cells: &[(&str, &str)]| {
            let cell = |column: &&str| match *column {
                "month" => Cell::plain(&self.month),
                "merchant_id" => Cell::plain(&self.merchant_id),
                "merchant" => Cell::Text(self.name.clone()),
                "row" => Cell::plain(kind),
                "status" => Cell::plain(self.status),
                other => Cell::plain(cells.iter().find(|(name, _)| *name == other).map_or("", |(_, value)| value)),
            };
            Self::COLUMNS.iter().map(cell).collect::<Vec<_>>()
        };
        let mut rows = Vec::new();
        for of in &self.assets {
            rows.push(row("opening", &[("asset", &of.asset), ("balance", &of.opening)]));
            for line in &of.lines {
                let count = line.count.to_string();
                let cells = [
                    ("asset", of.asset.as_str()),
                    ("part", line.part),
                    ("count", &count),
                    ("gained", &line.gained),
                    ("lost", &line.lost),
                ];
                rows.push(row("part", &cells));
            }
            rows.push(row("closing", &[("date", &self.to), ("asset", &of.asset), ("balance", &of.closing)]));
        }
        for of in &self.invoices {
            let cells = [
                ("date", of.date.as_str()),
                ("settlement_id", &of.settlement_id),
                ("registration_number", of.registration_number.as_deref().unwrap_or_default()),
                ("fee", &of.fee),
                ("tax_rate", &of.tax_rate),
                ("tax", &of.tax),
            ];
            rows.push(row("invoice", &cells));
        }
        for of in &self.tax_rates {
            rows.push(row("tax_rate", &[("fee", &of.fee), ("tax_rate", &of.tax_rate), ("tax", &of.tax)]));
        }
        for of in &self.payouts {
            let cells = [("date", of.date.as_str()), ("settlement_id", &of.settlement_id), ("amount", &of.amount)];
            rows.push(row("payout", &cells));
        }
        rows
    }
}

impl StatementAssetView {
    fn new(asset: &Asset, sums: &StatementSums) -> Self {
        let line = |part: StatementPart| {
            let moved = sums.parts.get(&part)?;
            let (count, gained, lost) = (moved.count, moved.gained.text(), moved.lost.text());
            Some(StatementLineView { part: part.name(), count, gained, lost })
        };
        Self {
            asset: asset.to_string(),
            opening: sums.opening.text(),
            lines: StatementPart::ALL.into_iter().filter_map(line).collect(),
            closing: sums.closing.text(),
        }
    }
}

/// The sums of invoices, by rate of tax.
fn by_rate(invoices: &[FeeInvoice]) -> Result<Vec<TaxRateView>, Problem> {
    let mut sums = BTreeMap::<String, (Balance, Balance)>::new();
    for of in invoices {
        let none = || (Balance::zero(Asset::Ecopay), Balance::zero(Asset::Ecopay));
        let (fee, tax) = sums.entry(of.tax_rate.text()).or_insert_with(none);
        *fee = fee.checked_plus(&of.charged.fee).map_err(|_| Problem::internal())?;
        *tax = tax.checked_plus(&of.charged.tax).map_err(|_| Problem::internal())?;
    }
    let view = |(tax_rate, (fee, tax)): (String, (Balance, Balance))| TaxRateView {
        tax_rate,
        fee: fee.text(),
        tax: tax.text(),
    };
    Ok(sums.into_iter().map(view).collect())
}
