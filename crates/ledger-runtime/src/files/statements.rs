//! The month of every merchant: the rows of each one's statement.

use super::{FileProgress, Made, PAGE};
use crate::app::App;
use crate::csv_file::CsvWriter;
use crate::cursor::Cursor;
use crate::figures::{MonthFigures, StatementView};
use crate::problem::Problem;
use crate::request::Page;
use ledger_core::ids::Tenant;
use ledger_core::terms::MerchantTerms;
use ledger_core::time::BusinessMonth;

pub(super) async fn write(
    app: &App,
    tenant: &Tenant,
    month: BusinessMonth,
    progress: &mut FileProgress<'_>,
) -> Result<Made, Problem> {
    let mut figures = MonthFigures::read(app, tenant, (month, app.now().business_date())).await?;
    let mut file = CsvWriter::begin(StatementView::COLUMNS)?;
    let mut cursor = None;
    loop {
        let page = Page { limit: PAGE, cursor };
        let page = app.merchants(tenant, page, |item| MerchantTerms::read(item).map(Some)).await?;
        for merchant in &page.items {
            let statement = figures.statement(merchant.id).await?;
            let view = StatementView::new((merchant.id, &merchant.name), month, &statement)?;
            for row in view.rows() {
                file.row(&row)?;
            }
            progress.record(file.rows()).await?;
        }
        let Some(next) = page.next_cursor else { break };
        cursor = Some(Cursor::parse(&next)?);
    }
    let rows = file.rows();
    Ok(Made::csv(file.finish("statements")?, rows))
}
