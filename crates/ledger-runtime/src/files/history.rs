//! The entries of a customer on some days, newest first, a row for each change of an asset.

use super::{FileProgress, Made, listing};
use crate::app::App;
use crate::csv_file::{Cell, CsvWriter};
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request::HistoryListing;
use crate::views::HistoryView;
use ledger_core::account::Account;
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::Partition;
use ledger_core::lists::HistoryFilter;
use ledger_core::time::BusinessDate;

const COLUMNS: &[&str] = &[
    "time",
    "transaction_id",
    "operation",
    "asset",
    "change",
    "merchant_id",
    "payment_id",
    "payment_status",
    "topup_id",
    "memo",
];

pub(super) async fn write(
    app: &App,
    tenant: &Tenant,
    (customer, days): (CustomerId, (BusinessDate, BusinessDate)),
    progress: &mut FileProgress<'_>,
) -> Result<Made, Problem> {
    let (partition, party) = (Partition::customer(tenant, customer), Account::Customer(customer));
    let mut file = CsvWriter::begin(COLUMNS)?;
    let mut wanted = HistoryListing { listing: listing(days), filter: HistoryFilter::default() };
    loop {
        let page = app.history(&partition, party, &wanted).await?;
        for line in &page.items {
            row(&mut file, line)?;
        }
        progress.record(file.rows()).await?;
        let Some(next) = page.next_cursor else { break };
        wanted.listing.page.cursor = Some(Cursor::parse(&next)?);
    }
    let rows = file.rows();
    Ok(Made::csv(file.finish("history")?, rows))
}

fn row(file: &mut CsvWriter, line: &HistoryView) -> Result<(), Problem> {
    let plain = |value: &Option<String>| Cell::plain(value.as_deref().unwrap_or_default());
    for (asset, change) in &line.changes {
        file.row(&[
            Cell::plain(&line.created_at),
            Cell::plain(&line.transaction_id),
            Cell::plain(&line.operation),
            Cell::plain(asset),
            Cell::plain(change),
            plain(&line.merchant_id),
            plain(&line.payment_id),
            plain(&line.payment_status),
            plain(&line.topup_id),
            Cell::Text(line.memo.clone().unwrap_or_default()),
        ])?;
    }
    Ok(())
}
