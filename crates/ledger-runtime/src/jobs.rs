//! Jobs, lists of them, and their lines.

use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::lists::read_max;
use crate::problem::Problem;
use crate::request::Listing;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{JobId, Tenant};
use ledger_core::jobs::{Details, Head, JobState, Line, LineState};
use ledger_core::keys::{self, JobKind};
use ledger_core::reads;

/// Which jobs of a list are wanted.
#[derive(Clone, Debug)]
pub struct JobFilter {
    /// Their kinds.
    pub kinds: Vec<JobKind>,
    /// Their state; `None`: any.
    pub state: Option<JobState>,
}

impl App {
    /// A job, as stored.
    ///
    /// # Errors
    /// 404 if there is none with the id; 503 if the store cannot be read.
    pub async fn job(&self, tenant: &Tenant, id: JobId) -> Result<Item, Problem> {
        self.dynamo().get(&keys::job(tenant, id)).await?.ok_or_else(Problem::not_found)
    }

    /// A job of a kind, as stored.
    ///
    /// # Errors
    /// 404 if there is no job of this kind with the id; 503 if the store cannot be read.
    pub async fn job_of<D: Details>(&self, tenant: &Tenant, id: JobId) -> Result<Item, Problem> {
        let item = self.job(tenant, id).await?;
        if Head::read(&item)?.kind == D::KIND { Ok(item) } else { Err(Problem::not_found()) }
    }

    /// A page of a tenant's jobs, newest first. One that was just requested may be missing. With a state, a page may be short, or
    /// empty, and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn jobs(
        &self,
        tenant: &Tenant,
        JobFilter { kinds, state }: &JobFilter,
        listing: Listing,
        admits: impl Fn(&Item) -> Result<bool, ItemError>,
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let queries = kinds.iter().map(|kind| reads::jobs(tenant, *kind, listing.from, None)).collect();
        let found = self.newest_entries(queries, listing, read_max(listing.page.limit, state.is_none())).await?;
        let is_in = |item: &Item| Ok(state.is_none_or(|state| item.text("state").ok() == Some(state.name())));
        self.records_of(tenant, found, listing, |item| Ok(is_in(item)? && admits(item)?)).await
    }

    /// A page of the lines of a job, by subject: of `limit` lines those in a state, or all.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn job_lines(
        &self,
        (tenant, job): (&Tenant, JobId),
        state: Option<LineState>,
        (limit, cursor): (usize, Option<PlacedCursor>),
    ) -> Result<(Vec<Line>, Option<String>), Problem> {
        let after = cursor.as_ref().map(PlacedCursor::place);
        let mut found = self.lines_after((tenant, job), after, limit.saturating_add(1)).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| has_more).map(|last| PlacedCursor::after(&last.subject).to_string());
        found.retain(|line| state.is_none_or(|state| state == line.state));
        Ok((found, next))
    }

    /// The lines of a job after that of a subject, at most `limit`.
    pub(crate) async fn lines_after(
        &self,
        (tenant, job): (&Tenant, JobId),
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Line>, Problem> {
        let found = self.dynamo().query(&reads::job_lines(tenant, job, after).limit(limit)).await?;
        Ok(found.iter().map(Line::read).collect::<Result<_, ItemError>>()?)
    }
}
