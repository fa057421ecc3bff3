//! Makes the files that staff ask for.

mod customer_data;
mod history;
mod payees;
mod payouts;
mod statements;

use crate::app::App;
use crate::attempts::{Attempted, Ending, Progress};
use crate::csv_file::CsvFile;
use crate::file_store::StoredFile;
use crate::problem::Problem;
use crate::request::{Listing, Page};
use ledger_core::dynamo::Item;
use ledger_core::files::FileContent;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::time::BusinessDate;

/// The items of a page that is read for a file.
const PAGE: usize = 100;

/// The attempt at a file.
type FileProgress<'a> = Progress<'a, FileContent>;

/// What a worker has written of a file.
pub(crate) struct Made {
    media_type: &'static str,
    extension: &'static str,
    bytes: Vec<u8>,
    rows: u64,
}

/// The object of a job's file.
#[must_use]
pub fn object(tenant: &Tenant, job: JobId) -> String {
    format!("{tenant}/{job}")
}

impl Attempted for FileContent {
    async fn make(app: &App, tenant: &Tenant, progress: &mut FileProgress<'_>) -> Result<Ending, Problem> {
        let Some(store) = app.files() else { return Err(Problem::unavailable()) };
        let (id, content) = (progress.job.head.id, progress.job.details);
        let made = match content {
            Self::CustomerData(customer) => customer_data::write(app, tenant, customer, progress).await?,
            Self::CustomerHistory(customer, days) => history::write(app, tenant, (customer, days), progress).await?,
            Self::Payees => payees::write(app, tenant, progress).await?,
            Self::Payouts(days) => payouts::write(app, tenant, days, progress).await?,
            Self::Statements(month) => statements::write(app, tenant, month, progress).await?,
        };
        let kind = content.kind().replace('_', "-");
        let name = format!("{kind}-{id}.{}", made.extension);
        let file = StoredFile { object: object(tenant, id), name, media_type: made.media_type, bytes: made.bytes };
        if let Err(why) = store.put(file).await {
            tracing::error!(%tenant, file = %id, why, "a file could not be stored");
            return Err(Problem::unavailable());
        }
        Ok(Ending::Done(made.rows, Item::new()))
    }
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
