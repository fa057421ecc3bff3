//! Makes the files that staff ask for.

mod customer_data;
mod history;
mod payees;
mod payouts;
mod statements;

use crate::app::App;
use crate::csv_file::CsvFile;
use crate::file_store::StoredFile;
use crate::problem::Problem;
use crate::request::{Listing, Page};
use ledger_core::files::{FileContent, FileJob};
use ledger_core::ids::Tenant;
use ledger_core::time::BusinessDate;

/// The items of a page that is read for a file.
const PAGE: usize = 100;

/// Where a file's progress is recorded, and what says that another worker has the job.
pub trait FileProgress {
    /// Records how many rows are written.
    ///
    /// # Errors
    /// 503 if another worker has the job, or the store did not answer.
    fn wrote(&mut self, rows: u64) -> impl Future<Output = Result<(), Problem>> + Send;
}

/// What a worker has written of a file.
pub(crate) struct Made {
    media_type: &'static str,
    extension: &'static str,
    bytes: Vec<u8>,
    rows: u64,
}

/// The object of a job's file.
#[must_use]
pub fn object(tenant: &Tenant, job: &FileJob) -> String {
    format!("{tenant}/{}", job.id)
}

/// Makes the file of a job; returns it with the number of its rows.
///
/// # Errors
/// 503 if the store cannot be read, or the job is lost. 500 if an item cannot be read.
pub async fn make(
    app: &App,
    tenant: &Tenant,
    job: &FileJob,
    progress: &mut (impl FileProgress + Send),
) -> Result<(StoredFile, u64), Problem> {
    let made = match job.content {
        FileContent::CustomerData(customer) => customer_data::write(app, tenant, customer, progress).await?,
        FileContent::CustomerHistory(customer, days) => history::write(app, tenant, (customer, days), progress).await?,
        FileContent::Payees => payees::write(app, tenant, progress).await?,
        FileContent::Payouts(days) => payouts::write(app, tenant, days, progress).await?,
        FileContent::Statements(month) => statements::write(app, tenant, month, progress).await?,
    };
    let kind = job.content.kind().replace('_', "-");
    let name = format!("{kind}-{}.{}", job.id, made.extension);
    let file = StoredFile { object: object(tenant, job), name, media_type: made.media_type, bytes: made.bytes };
    Ok((file, made.rows))
}

impl Made {
    fn csv(file: CsvFile, rows: u64) -> Self {
        Self { media_type: CsvFile::MEDIA_TYPE, extension: "csv", bytes: file.into_bytes(), rows }
    }
}

/// The first page of a list of these days.
fn listing((from, to): (BusinessDate, BusinessDate)) -> Listing {
    let page = Page { limit: PAGE, cursor: None };
    Listing { page, from: Some(from.bounds().0), until: Some(to.bounds().1) }
}
