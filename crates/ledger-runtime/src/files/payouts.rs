//! The settlements of all merchants that were opened on some days, newest first.

use super::{FileProgress, Made, listing};
use crate::app::App;
use crate::csv_file::{Cell, CsvWriter};
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::views::SettlementView;
use ledger_core::ids::Tenant;
use ledger_core::time::BusinessDate;

const COLUMNS: &[&str] = &[
    "settlement_id",
    "merchant_id",
    "status",
    "created_at",
    "pay_on",
    "payout_status",
    "transfer_on",
    "bank_file_id",
    "booked_at",
    "paid_at",
    "returned_at",
    "net",
    "fee",
    "tax_rate",
    "tax",
    "payable",
    "destination",
    "payout_reference",
];

pub(super) async fn write(
    app: &App,
    tenant: &Tenant,
    days: (BusinessDate, BusinessDate),
    progress: &mut FileProgress<'_>,
) -> Result<Made, Problem> {
    let mut file = CsvWriter::begin(COLUMNS)?;
    let mut wanted = listing(days);
    loop {
        let page = app.settlements_of_tenant(tenant, wanted, (None, false)).await?;
        for settlement in &page.items {
            file.row(&row(settlement))?;
        }
        progress.record(file.rows()).await?;
        let Some(next) = page.next_cursor else { break };
        wanted.page.cursor = Some(Cursor::parse(&next)?);
    }
    let rows = file.rows();
    Ok(Made::csv(file.finish("payouts")?, rows))
}

fn row(of: &SettlementView) -> [Cell; 18] {
    let plain = |value: &Option<String>| Cell::plain(value.as_deref().unwrap_or_default());
    [
        Cell::plain(&of.settlement_id),
        Cell::plain(&of.merchant_id),
        Cell::plain(&of.status),
        Cell::plain(&of.created_at),
        Cell::plain(&of.pay_on),
        Cell::plain(of.payout_status.unwrap_or_default()),
        plain(&of.transfer_on),
        plain(&of.bank_file_id),
        plain(&of.booked_at),
        plain(&of.paid_at),
        plain(&of.returned_at),
        plain(&of.net),
        plain(&of.fee),
        Cell::plain(&of.tax_rate),
        plain(&of.tax),
        plain(&of.payable),
        Cell::Text(of.destination.clone()),
        plain(&of.payout_reference),
    ]
}
