//! Jobs, and lists of them.

use crate::app::App;
use crate::lists::read_max;
use crate::problem::Problem;
use crate::request::{self, Listing};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::{jobs, reads};

impl App {
    /// A job of a kind, as stored.
    ///
    /// # Errors
    /// 404 if there is no job of this kind with the id; 503 if the store cannot be read.
    pub async fn job(&self, tenant: &Tenant, kind: JobKind, id: JobId) -> Result<Item, Problem> {
        let item = self.dynamo().get(&keys::job(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        if jobs::is_of(kind, &item)? { Ok(item) } else { Err(Problem::not_found()) }
    }

    /// A page of a tenant's jobs of a kind, newest first. One that was just requested may be missing.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn jobs(
        &self,
        tenant: &Tenant,
        kind: JobKind,
        page: request::Page,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let listing = Listing { page, from: None, until: None };
        self.jobs_that(tenant, kind, (listing, read_max(page.limit, true)), |_| Ok(true)).await
    }

    /// The same of those jobs within a range of time that `admits` wants. At most `read` are read, so a page may be short, or empty,
    /// and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn jobs_that(
        &self,
        tenant: &Tenant,
        kind: JobKind,
        (listing, read): (Listing, usize),
        admits: impl Fn(&Item) -> Result<bool, ItemError>,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let query = reads::jobs(tenant, kind, listing.from, None);
        let found = self.newest_entries(vec![query], listing, read).await?;
        self.records_of(tenant, found, listing, admits).await
    }
}
