//! The inbox: commands of a tenant, newest first.

use super::QUERIES_MAX;
use super::Viewer;
use crate::acts::first_acts;
use crate::app::App;
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request::Listing;
use crate::views::{ApprovalDetail, Page};
use ledger_core::approvals::{APPROVAL_LIFETIME, Approval, ApprovalState};
use ledger_core::ids::{ApprovalId, Tenant, least_born_at};
use ledger_core::keys::{self, month_of_approval};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::time::{CLOCK_SKEW, Timestamp, UtcMonth};

impl App {
    /// The command with an id.
    ///
    /// # Errors
    /// 404 if there is none, 503 if the store cannot be read.
    pub async fn approval(&self, tenant: &Tenant, id: ApprovalId) -> Result<Approval, Problem> {
        let item = self.dynamo().get(&keys::approval(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(Approval::read(&item)?)
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
        let items = found.iter().map(|approval| names.shown(approval, (viewer, now))).collect();
        Ok(Page { items, next_cursor })
    }

    /// All commands of a tenant that await approval.
    ///
    /// # Errors
    /// 503 if the store cannot be read, 500 if a command is malformed.
    pub(super) async fn pending_commands(&self, tenant: &Tenant) -> Result<Vec<Approval>, Problem> {
        let now = self.now();
        // Older ones have expired.
        let from = now.minus(APPROVAL_LIFETIME);
        let (mut pending, mut month) = (Vec::new(), Some(now.plus(CLOCK_SKEW).utc_month()));
        while let Some(of) = month.filter(|month| *month >= from.utc_month()) {
            for item in self.dynamo().query(&reads::approvals(tenant, of, Some(from), None)).await? {
                let approval = Approval::read(&item)?;
                pending.extend((approval.state(now) == ApprovalState::Pending).then_some(approval));
            }
            month = of.previous();
        }
        Ok(pending)
    }

    /// The commands of a page, and the cursor of the next one.
    async fn inbox(
        &self,
        (tenant, viewer, now): (&Tenant, Viewer, Timestamp),
        (state, command, is_tied): (Option<ApprovalState>, Option<Operation>, bool),
        listing: Listing,
    ) -> Result<(Vec<Approval>, Option<String>), Problem> {
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
            let (found, is_last) = self.newest_approvals((tenant, month), (from, after), page.limit).await?;
            for approval in found {
                if items.len() >= page.limit {
                    return Ok((items, cursor(after)));
                }
                after = Some(approval.id);
                let is_wanted = state.is_none_or(|state| approval.state(now) == state)
                    && command.is_none_or(|wanted| approval.command.operation() == wanted)
                    && (!is_tied || viewer.sees_ties_of(&approval));
                items.extend(Some(approval).filter(|_| is_wanted));
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

    /// The newest commands of a month after `after`, at most one more than `limit`, and whether these are all of the month.
    async fn newest_approvals(
        &self,
        (tenant, month): (&Tenant, UtcMonth),
        (from, after): (Option<Timestamp>, Option<ApprovalId>),
        limit: usize,
    ) -> Result<(Vec<Approval>, bool), Problem> {
        let newest = reads::approvals(tenant, month, from, after).limit(limit.saturating_add(1));
        let items = self.dynamo().query(&newest).await?;
        let is_last = items.len() <= limit;
        Ok((items.iter().map(Approval::read).collect::<Result<_, _>>()?, is_last))
    }
}
