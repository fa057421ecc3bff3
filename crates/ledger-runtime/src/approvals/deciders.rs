//! Finds commands that wait for a decision which no member may make.

use crate::app::App;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::approvals::{has_no_decider, is_decider_looked_for};
use ledger_core::ids::{Employer, Tenant};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::staff::StaffMember;

impl App {
    /// Counts once that a tenant has pending commands on which no member may decide, in the first two minutes of each hour. Two
    /// workers at once count it twice.
    ///
    /// # Errors
    /// 503 if the store cannot be read, 500 if a command or a member's record is malformed.
    pub async fn look_for_deciders(&self, tenant: &Tenant) -> Result<(), Problem> {
        let now = self.now();
        if !is_decider_looked_for(now) {
            return Ok(());
        }
        let pending = self.pending_commands(tenant).await?;
        if pending.is_empty() {
            return Ok(());
        }
        let staff = self.dynamo().query(&reads::staff_members(tenant, Employer::Operator, None)).await?;
        let staff = staff.iter().map(|item| StaffMember::read(Employer::Operator, item));
        let staff = staff.collect::<Result<Vec<_>, _>>()?;
        let mut undecidable = pending.iter().filter(|approval| has_no_decider(approval, &staff, now)).peekable();
        if undecidable.peek().is_some() {
            // Counted in each hour until a member may decide, so that the alarm stays on.
            self.metrics().count(Metric::NoDecider, tenant, Operation::ApprovalRequest);
        }
        for approval in undecidable {
            let command = approval.command.operation();
            tracing::warn!(%tenant, approval = %approval.id, %command, "no member may decide on a command");
        }
        Ok(())
    }
}
