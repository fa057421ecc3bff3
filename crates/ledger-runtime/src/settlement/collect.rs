//! Takes a merchant's due records and its open periods into its settlement and gives them back, one transaction at a time.
//! The records are returned payouts, and closed periods that earlier settlements gave back.

use super::{SettlementRef, Settler};
use crate::dynamo::{Dynamo, ReadError};
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::settlements::{RECORDS_MAX, Settleable, Settlement, given_back_period};
use ledger_core::transaction::Transaction;
use ledger_core::{reads, settlements as rules};

impl Settler {
    /// Takes as many records as fit into one transaction. `false` if none are due.
    pub(super) async fn collect(&self, at: &SettlementRef, settlement: &Settlement) -> Result<bool, Problem> {
        let mut records = self.free_records(at).await?;
        if records.is_empty() {
            return Ok(false);
        }
        while !records.is_empty() {
            let now = self.ledger.clock().now();
            let transaction = self.built(at, rules::collect(&at.tenant, settlement, &records, now))?;
            match self.ledger.attempt(&at.tenant, Operation::SettlementCollect, &transaction).await? {
                WriteOutcome::Applied => return Ok(true),
                WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => return Ok(true),
                // This record is in another settlement: the others are taken without it.
                WriteOutcome::Rejected(rejection) => match rules::dropped(rejection.position) {
                    Some(place) if rejection.failure == Failure::WrongState && place < records.len() => {
                        records.remove(place);
                    }
                    Some(_) | None => return Err(self.rejected(at, &rejection)),
                },
                WriteOutcome::MarkerExists(_) => return Err(self.broken(at, "an unkeyed transaction found a marker")),
            }
        }
        Ok(true)
    }

    /// Closes the merchant's open period of a lane and takes it. `false` if the settlement has closed one of each lane, or
    /// there is nothing in them.
    pub(super) async fn close_period(&self, at: &SettlementRef, settlement: &Settlement) -> Result<bool, Problem> {
        let items = self.ledger.dynamo().query(&reads::lane_credits(&at.tenant, at.merchant)).await?;
        for open in LaneCredit::all(&items)? {
            let closing = rules::close_lane(&at.tenant, settlement, &open, self.ledger.clock().now());
            if let Some(transaction) = closing.map_err(|error| self.broken(at, &error.to_string()))? {
                return self.close(at, &transaction).await;
            }
        }
        Ok(false)
    }

    async fn close(&self, at: &SettlementRef, closing: &Transaction) -> Result<bool, Problem> {
        match self.ledger.attempt(&at.tenant, Operation::SettlementCollect, closing).await? {
            WriteOutcome::Applied => Ok(true),
            // The merchant was credited since, or another run was faster: the next move reads again.
            WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => Ok(true),
            WriteOutcome::Rejected(rejection) => Err(self.rejected(at, &rejection)),
            WriteOutcome::MarkerExists(_) => Err(self.broken(at, "an unkeyed transaction found a marker")),
        }
    }

    /// Gives back the records of the last batch.
    pub(super) async fn release_batch(&self, at: &SettlementRef, settlement: &Settlement) -> Result<(), Problem> {
        let key = rules::last_batch(&at.tenant, settlement);
        let item = self.ledger.dynamo().get(&key).await?;
        let item = item.ok_or_else(|| self.broken(at, "a batch of records is missing"))?;
        let records = rules::read_batch(&item)?;
        let transaction = rules::release_batch(&at.tenant, settlement, &records, self.ledger.clock().now());
        self.write(at, &self.built(at, transaction)?).await.map(|_| ())
    }

    /// The returned payouts that no settlement has, and then the closed periods that earlier settlements gave back. As many as
    /// one transaction takes.
    async fn free_records(&self, at: &SettlementRef) -> Result<Vec<Settleable>, Problem> {
        let free = free_records(self.ledger.dynamo(), (&at.tenant, at.merchant)).await?;
        Ok(free.iter().take(RECORDS_MAX).map(Settleable::read).collect::<Result<_, _>>()?)
    }
}

/// The items of a merchant's returned payouts and of periods that were given back, of those that no settlement has.
///
/// # Errors
/// [`ReadError`] if the table cannot be read.
pub async fn free_records(dynamo: &Dynamo, (tenant, merchant): (&Tenant, MerchantId)) -> Result<Vec<Item>, ReadError> {
    let mut items = dynamo.query(&reads::returned_payouts(tenant, merchant)).await?;
    let listed = dynamo.query(&reads::periods_given_back(tenant, merchant)).await?;
    let keys = listed.iter().map(|item| given_back_period(tenant, merchant, item)).collect::<Result<Vec<_>, _>>()?;
    for key in &keys {
        items.extend(dynamo.get(key).await?);
    }
    items.retain(Settleable::is_free);
    Ok(items)
}
