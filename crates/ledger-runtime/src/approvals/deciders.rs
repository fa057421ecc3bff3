//! Finds commands that wait for a decision which no member may make.

use crate::app::App;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::approvals::{APPROVAL_LIFETIME, Approval, ApprovalState, has_no_decider, is_decider_looked_for};
use ledger_core::ids::{Employer, Tenant};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::staff::StaffMember;
use ledger_core::time::CLOCK_SKEW;

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

    /// The commands of a tenant that await approval. Older ones have expired.
    async fn pending_commands(&self, tenant: &Tenant) -> Result<Vec<Approval>, Problem> {
        let now = self.now();
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
}
