//! What is read to close an account, and the lists of jobs that close every account of a tenant.

use crate::app::App;
use crate::execute::PlanError;
use ledger_core::closing::{CardClosing, CustomerClosing};
use ledger_core::dynamo::Item;
use ledger_core::idempotency::Claim;
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::keys::{self, Partition};

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
}
