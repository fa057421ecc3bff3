//! Reads runs and their breaks for the operator API.

use crate::app::App;
use crate::cursor::{Cursor, PairCursor};
use crate::lists::{READ_ITEMS_MAX, read_max};
use crate::problem::Problem;
use crate::request::{self, Listing};
use crate::views::{BreakView, FindingView, Page, RunView};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{FindingId, RunId, Tenant, least_born_at};
use ledger_core::keys::{self, Key, attr};
use ledger_core::reads;
use ledger_core::reconcile::BreakKind;
use ledger_core::reconcile::run::{FoundBreak, Run};
use ledger_core::time::Timestamp;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use uuid::Uuid;

impl App {
    /// A tenant's reconciliations, newest first.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn reconciliations(&self, tenant: &Tenant, page: request::Page) -> Result<Page<RunView>, Problem> {
        let listing = Listing { page, from: None, until: None };
        let query = reads::reconciliations(tenant, None);
        let found = self.newest_entries(vec![query], listing, read_max(page.limit, true)).await?;
        let (runs, next_cursor) = self.records_of(tenant, found, listing, |_| Ok(true)).await?;
        let view = |item| Run::read(item).map(|run| RunView::from(&run));
        Ok(Page { items: runs.iter().map(view).collect::<Result<_, ItemError>>()?, next_cursor })
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

    /// A page of the breaks of all runs, newest first: of runs of a range of time, of one kind or of any.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn breaks_of_runs(
        &self,
        tenant: &Tenant,
        (from, until): (Option<Timestamp>, Option<Timestamp>),
        (limit, cursor): (usize, Option<PairCursor>),
        kind: Option<BreakKind>,
    ) -> Result<Page<BreakView>, Problem> {
        let end = until.map(|until| (least_born_at(until), Uuid::nil()));
        let after = cursor.map(PairCursor::ids).into_iter().chain(end).min();
        let after = after.map(|(run, finding)| (RunId::new(run), FindingId::new(finding)));
        let listed = self.dynamo().query(&reads::breaks(tenant, from, after).limit(READ_ITEMS_MAX)).await?;
        let is_all = listed.len() < READ_ITEMS_MAX;
        let key = |entry: &Item| Key::stored(tenant, entry.key_text(attr::PK)?, entry.key_text(attr::SK)?);
        let named = listed.iter().map(|entry| key(entry).ok_or_else(|| ItemError::invalid(attr::PK)));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let found = if named.is_empty() { Vec::new() } else { self.dynamo().get_many(&named).await? };
        let (mut items, mut last, mut runs) = (Vec::new(), None, BTreeMap::new());
        for item in found.iter().flatten() {
            if items.len() >= limit {
                return Ok(Page { items, next_cursor: last.map(|last: PairCursor| last.to_string()) });
            }
            let of = FoundBreak::read(item)?;
            let run = item.key_text(attr::PK).and_then(keys::run_of_break);
            let run = run.ok_or_else(|| ItemError::invalid(attr::PK))?;
            last = Some(PairCursor::after(run.uuid(), of.id.uuid()));
            if kind.is_some_and(|kind| kind != of.kind) {
                continue;
            }
            if let Entry::Vacant(unread) = runs.entry(run) {
                let _ = unread.insert(self.dynamo().get(&keys::reconciliation(tenant, run)).await?);
            }
            let by = runs.get(&run).and_then(Option::as_ref).map(Run::read).transpose()?;
            if by.is_some_and(|by| by.found(of.id)) {
                items.push(BreakView { run_id: run.to_string(), finding: FindingView::from(&of) });
            }
        }
        Ok(Page { items, next_cursor: last.filter(|_| !is_all).map(|last| last.to_string()) })
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
