//! Where each merchant is paid, newest merchants first, and why one cannot be.

use super::{FileProgress, Made, PAGE};
use crate::app::App;
use crate::csv_file::{Cell, CsvWriter};
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request::Page;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::merchants::{self, Payee};
use ledger_core::settlements::Destination;

const COLUMNS: &[&str] = &["merchant_id", "merchant", "status", "paid_by", "destination", "problem"];

pub(super) async fn write(app: &App, tenant: &Tenant, progress: &mut FileProgress<'_>) -> Result<Made, Problem> {
    let mut file = CsvWriter::begin(COLUMNS)?;
    let mut cursor = None;
    loop {
        let page = app.merchants(tenant, Page { limit: PAGE, cursor }, |item| row(item).map(Some)).await?;
        for row in &page.items {
            file.row(row)?;
        }
        progress.record(file.rows()).await?;
        let Some(next) = page.next_cursor else { break };
        cursor = Some(Cursor::parse(&next)?);
    }
    let rows = file.rows();
    Ok(Made::csv(file.finish("payees")?, rows))
}

fn row(profile: &Item) -> Result<[Cell; 6], ItemError> {
    let (paid_by, destination, problem) = match merchants::payee(profile) {
        Payee::Paid(destination) => (paid_by(&destination), destination.shown(), String::new()),
        Payee::Missing => ("", String::new(), "no_destination".to_owned()),
        Payee::Rejected(error) => ("", String::new(), format!("rejected: {}", error.attribute)),
    };
    Ok([
        Cell::Plain(profile.string("merchant_id")?),
        Cell::Text(profile.string("name")?),
        Cell::Plain(profile.string("status")?),
        Cell::plain(paid_by),
        Cell::plain(destination),
        Cell::plain(problem),
    ])
}

fn paid_by(destination: &Destination) -> &'static str {
    match destination {
        Destination::Bank(_) => "bank_file",
        Destination::Stripe { .. } => "stripe",
    }
}
