//! The inbox: commands and requests of a tenant, newest first.

use super::QUERIES_MAX;
use super::Viewer;
use crate::acts::first_acts;
use crate::app::App;
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request::Listing;
use crate::views::{ApprovalDetail, Page};
use futures::future::try_join;
use ledger_core::approvals::{APPROVAL_LIFETIME, Approval, ApprovalState, RecordedRequest, RequestSummary};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::{ApprovalId, Tenant, least_born_at};
use ledger_core::keys::{self, Key, month_of_approval};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::time::{CLOCK_SKEW, Timestamp, UtcMonth};
use std::cmp::Reverse;

/// What the inbox has under an id.
#[derive(Clone, Debug)]
pub enum Inboxed {
    /// A command.
    Command(Box<Approval>),
    /// A request that has a record of its own.
    Request(Box<RecordedRequest>),
}

impl Inboxed {
    /// The state at an instant.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> ApprovalState {
        match self {
            Self::Command(approval) => approval.state(now),
            Self::Request(request) => request.state(now),
        }
    }

    /// The operation of the command, or the one that requested it.
    fn operation(&self) -> Operation {
        match self {
            Self::Command(approval) => approval.command.operation(),
            Self::Request(request) => request.summary.record.operation(),
        }
    }

    /// What the operator API shows to those who may decide, without names.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> ApprovalDetail {
        match self {
            Self::Command(approval) => ApprovalDetail::at(approval, now),
            Self::Request(request) => ApprovalDetail::of_request(request, now),
        }
    }

    /// When it was decided on; the time of the request before that.
    #[must_use]
    pub fn decided_at(&self) -> Timestamp {
        match self {
            Self::Command(approval) => approval.decided_at.unwrap_or(approval.created_at),
            Self::Request(request) => request.decided_at.unwrap_or(request.summary.created_at),
        }
    }
}

impl App {
    /// What a tenant's inbox has under an id.
    ///
    /// # Errors
    /// 404 if there is nothing, 503 if the store cannot be read.
    pub async fn inboxed(&self, tenant: &Tenant, id: ApprovalId) -> Result<Inboxed, Problem> {
        if let Some(item) = self.dynamo().get(&keys::approval(tenant, id)).await? {
            return Ok(Inboxed::Command(Box::new(Approval::read(&item)?)));
        }
        let item = self.dynamo().get(&keys::request(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        let summary = RequestSummary::read(&item)?;
        Ok(Inboxed::Request(Box::new(self.with_state(tenant, summary).await?)))
    }

    /// A page of a tenant's inbox, newest first, in one state or in any, of one command or of any, all or those with ties, as a member sees
    /// it. It reads ten months back at most, so a page may be short, and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn approvals(
        &self,
        (tenant, viewer): (&Tenant, Viewer),
        of: (Option<ApprovalState>, Option<Operation>, bool),
        listing: Listing,
    ) -> Result<Page<ApprovalDetail>, Problem> {
        let now = self.now();
        let (found, next_cursor) = self.inbox((tenant, viewer, now), of, listing).await?;
        let names = self.names(tenant, &found, viewer).await?;
        let items = found.iter().map(|found| names.shown(found, (viewer, now))).collect();
        Ok(Page { items, next_cursor })
    }

    /// The commands and requests of a page, and the cursor of the next one.
    async fn inbox(
        &self,
        (tenant, viewer, now): (&Tenant, Viewer, Timestamp),
        (state, command, is_tied): (Option<ApprovalState>, Option<Operation>, bool),
        listing: Listing,
    ) -> Result<(Vec<Inboxed>, Option<String>), Problem> {
        let (page, mut after) = (listing.page, listing.after().map(ApprovalId::new));
        // Older ones have expired.
        let pending_from = (state == Some(ApprovalState::Pending)).then(|| now.minus(APPROVAL_LIFETIME));
        let from = pending_from.max(listing.from);
        let first = match from {
            Some(from) => from,
            None => first_acts(self.dynamo(), tenant, now).await?,
        };
        // Nothing has a later time in its id, whatever a cursor says.
        let latest = now.plus(CLOCK_SKEW).utc_month();
        let mut month = after.map_or(latest, |id| month_of_approval(id.uuid()).min(latest));
        let mut items = Vec::new();
        let cursor = |after: Option<ApprovalId>| after.map(|id| Cursor::after(id.uuid()).to_string());
        for _ in 0..QUERIES_MAX {
            let (found, is_last) = self.newest_inboxed((tenant, month), (from, after), page.limit).await?;
            for (id, found) in found {
                if items.len() >= page.limit {
                    return Ok((items, cursor(after)));
                }
                after = Some(id);
                let is_wanted = state.is_none_or(|state| found.state(now) == state)
                    && command.is_none_or(|wanted| found.operation() == wanted)
                    && (!is_tied || viewer.sees_ties_of(&found));
                items.extend(Some(found).filter(|_| is_wanted));
            }
            if is_last {
                let Some(previous) = month.previous().filter(|_| month > first.utc_month()) else {
                    return Ok((items, None));
                };
                // What follows has an earlier id than any of this month.
                (after, month) = (Some(ApprovalId::new(least_born_at(month.begin()))), previous);
            }
        }
        Ok((items, cursor(after)))
    }

    /// The newest commands and requests of a month after `after`, at most one more than `limit`, and whether these are all of
    /// the month.
    async fn newest_inboxed(
        &self,
        (tenant, month): (&Tenant, UtcMonth),
        (from, after): (Option<Timestamp>, Option<ApprovalId>),
        limit: usize,
    ) -> Result<(Vec<(ApprovalId, Inboxed)>, bool), Problem> {
        let most = limit.saturating_add(1);
        let commands = reads::approvals(tenant, month, from, after).limit(most);
        let requests = reads::requests(tenant, month, from, after).limit(most);
        let (commands, requests) = try_join(self.dynamo().query(&commands), self.dynamo().query(&requests)).await?;
        let is_last = commands.len().saturating_add(requests.len()) <= limit;
        let mut found = Vec::new();
        for item in &commands {
            let approval = Approval::read(item)?;
            found.push((approval.id, Inboxed::Command(Box::new(approval))));
        }
        let summaries = requests.iter().map(RequestSummary::read).collect::<Result<Vec<_>, _>>()?;
        let records: Vec<Key> = summaries.iter().map(|summary| summary.record.key(tenant)).collect();
        let records = if records.is_empty() { Vec::new() } else { self.dynamo().get_many(&records).await? };
        for (summary, record) in summaries.into_iter().zip(records) {
            let id = summary.record.id();
            found.push((id, Inboxed::Request(Box::new(with_record(summary, record.as_ref())?))));
        }
        found.sort_by_key(|(id, _)| Reverse(id.uuid()));
        found.truncate(most);
        Ok((found, is_last))
    }

    /// A request with the state of its record.
    pub(super) async fn with_state(
        &self,
        tenant: &Tenant,
        summary: RequestSummary,
    ) -> Result<RecordedRequest, Problem> {
        let record = self.dynamo().get(&summary.record.key(tenant)).await?;
        Ok(with_record(summary, record.as_ref())?)
    }
}

/// The request with the state in its record. The record is written with the inbox's item.
pub(super) fn with_record(summary: RequestSummary, record: Option<&Item>) -> Result<RecordedRequest, ItemError> {
    RecordedRequest::read(summary, record.ok_or_else(|| ItemError::missing("state"))?)
}
