//! What is read to close an account, and the lists of jobs that close every account of a tenant.

use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::execute::PlanError;
use crate::problem::Problem;
use ledger_core::closing::{CardClosing, CustomerClosing};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::idempotency::Claim;
use ledger_core::ids::{CardId, CustomerId, JobId, Tenant};
use ledger_core::keys::{self, Partition, attr};
use ledger_core::reads;
use ledger_core::wind_downs::LineState;

impl App {
    /// A customer to be closed, and the items that the close is planned from.
    ///
    /// # Errors
    /// [`PlanError`] if the customer is in a legacy model, which has no place for a closed wallet, or the items cannot be
    /// read.
    pub async fn customer_to_close(
        &self,
        claim: &Claim,
        id: CustomerId,
    ) -> Result<(CustomerClosing, Vec<Option<Item>>), PlanError> {
        let tenant = &claim.tenant;
        self.require_split(tenant).await?;
        let of = CustomerClosing::read(id, &self.balances(&Partition::customer(tenant, id)).await?)?;
        let items = self.ledger().read_for(claim, &of.keys(tenant)).await?;
        Ok((of, items))
    }

    /// A card to be closed, and the item that the close is planned from.
    ///
    /// # Errors
    /// [`PlanError`] if there is no such card, or it cannot be read.
    pub async fn card_to_close(
        &self,
        claim: &Claim,
        id: CardId,
    ) -> Result<(CardClosing, Vec<Option<Item>>), PlanError> {
        let tenant = &claim.tenant;
        let items = self.ledger().read_for(claim, &[keys::card(tenant, id)]).await?;
        let of = CardClosing::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        Ok((of, items))
    }

    /// A page of the lines of a job that winds a tenant down: the closed accounts before the open ones, or those in one state alone.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn wind_down_lines(
        &self,
        (tenant, job): (&Tenant, JobId),
        state: Option<LineState>,
        (limit, cursor): (usize, Option<PlacedCursor>),
    ) -> Result<(Vec<Item>, Option<String>), Problem> {
        let prefix = keys::job_lines(None);
        let after = cursor.map(|cursor| format!("{prefix}{}", cursor.place()));
        let begin = state.map(|state| format!("{}#", state.name()));
        let lines = reads::job_lines(tenant, job, begin.as_deref(), after);
        let mut found = self.dynamo().query(&lines.limit(limit.saturating_add(1))).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let place = found.last().filter(|_| has_more).and_then(|last| last.key_text(attr::SK)?.strip_prefix(&prefix));
        let next = place.map(|place| PlacedCursor::after(place).to_string());
        Ok((found, next))
    }
}
