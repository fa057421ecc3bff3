//! Reads runs and their breaks for the operator API.

use crate::app::App;
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request;
use crate::views::{FindingView, Page, RunView};
use ledger_core::ids::{FindingId, RunId, Tenant};
use ledger_core::keys::{self};
use ledger_core::reads;
use ledger_core::reconcile::run::{FoundBreak, Run};

impl App {
    /// A tenant's reconciliations, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn reconciliations(&self, tenant: &Tenant, page: request::Page) -> Result<Page<RunView>, Problem> {
        let query = reads::reconciliations(tenant, page.cursor.map(Cursor::id)).limit(page.limit.saturating_add(1));
        let mut runs = Vec::new();
        for item in self.dynamo().query(&query).await? {
            runs.push(Run::read(&item)?);
        }
        let next_cursor = cut(&mut runs, page.limit, |run| Cursor::after(run.id.uuid()));
        Ok(Page { items: runs.iter().map(RunView::from).collect(), next_cursor })
    }

    /// A reconciliation.
    ///
    /// # Errors
    /// 404 if it does not exist, 503 if the store cannot be read.
    pub async fn reconciliation(&self, tenant: &Tenant, id: RunId) -> Result<Run, Problem> {
        let item = self.dynamo().get(&keys::reconciliation(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(Run::read(&item)?)
    }

    /// A page of the breaks of a run, in their order.
    ///
    /// # Errors
    /// 404 if the run does not exist, 503 if the store cannot be read.
    pub async fn breaks(
        &self,
        tenant: &Tenant,
        id: RunId,
        page: request::Page,
    ) -> Result<(Run, Page<FindingView>), Problem> {
        let run = self.reconciliation(tenant, id).await?;
        let query = reads::breaks_of(tenant, id, page.cursor.map(Cursor::id)).limit(page.limit.saturating_add(1));
        let mut found = Vec::new();
        for item in self.dynamo().query(&query).await? {
            let of = FoundBreak::read(&item)?;
            if run.found(of.id) {
                found.push(of);
            }
        }
        let next_cursor = cut(&mut found, page.limit, |found| Cursor::after(found.id.uuid()));
        Ok((run, Page { items: found.iter().map(FindingView::from).collect(), next_cursor }))
    }

    /// One break of a run that has ended.
    ///
    /// # Errors
    /// 404 if it does not exist, 503 if the store cannot be read.
    pub async fn found_break(&self, tenant: &Tenant, run: RunId, id: FindingId) -> Result<(Run, FoundBreak), Problem> {
        let of = self.reconciliation(tenant, run).await?;
        if !of.found(id) {
            return Err(Problem::not_found());
        }
        let item = self.dynamo().get(&keys::found_break(tenant, run, id)).await?.ok_or_else(Problem::not_found)?;
        Ok((of, FoundBreak::read(&item)?))
    }
}

/// Cuts `all` to one page, and returns the cursor of the next page, if there is one.
fn cut<T>(all: &mut Vec<T>, limit: usize, cursor: impl Fn(&T) -> Cursor) -> Option<String> {
    let more = all.len() > limit;
    all.truncate(limit);
    all.last().filter(|_| more).map(|last| cursor(last).to_string())
}
