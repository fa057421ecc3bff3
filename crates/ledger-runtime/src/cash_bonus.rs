//! Reads the bonus that is due for a top-up with cash.

use crate::app::App;
use crate::problem::Problem;
use ledger_core::cards::bonus::CashBonus;
use ledger_core::ids::{Tenant, TerminalOwner};
use ledger_core::journal::JournalEntry;
use ledger_core::keys;

impl App {
    /// The bonus of a top-up, as its reversal needs it; `None` if none was due for it.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn cash_bonus(
        &self,
        tenant: &Tenant,
        owner: TerminalOwner,
        topup: &JournalEntry,
    ) -> Result<Option<CashBonus>, Problem> {
        let Some(merchant) = owner.merchant().filter(|_| topup.bonus_due.is_some()) else { return Ok(None) };
        let item = self.dynamo().get(&keys::cash_bonus(tenant, merchant, topup.id)).await?;
        Ok(item.as_ref().map(CashBonus::read).transpose()?)
    }
}
