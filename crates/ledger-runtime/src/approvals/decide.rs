//! Decisions on commands.

use super::member;
use crate::app::App;
use crate::execute::PlanError;
use crate::identity::Member;
use crate::ties::ReadBefore;
use ledger_core::approvals::{Approval, plan_reject, plan_withdraw};
use ledger_core::idempotency::Claim;
use ledger_core::ids::{ApprovalId, Employer};
use ledger_core::keys;
use ledger_core::permission::Permission;
use ledger_core::plan::Context;
use ledger_core::staff::StaffMember;
use ledger_core::transaction::{Planned, Provenance};

impl App {
    /// Plans the approval of a command, and its execution.
    ///
    /// # Errors
    /// [`PlanError`] if the caller may not decide on it, its state does not allow it, or it cannot be executed now.
    pub async fn approve(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<(Planned<Approval>, Provenance), PlanError> {
        let (approval, decider) = self.approval_and_member(claim, who, id, Permission::ApprovalsDecide).await?;
        self.approve_command(claim, who, (&approval, &decider), cx).await
    }

    /// Plans the rejection of a command.
    ///
    /// # Errors
    /// As [`App::approve`].
    pub async fn reject(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<Planned<Approval>, PlanError> {
        let (approval, decider) = self.approval_and_member(claim, who, id, Permission::ApprovalsDecide).await?;
        let tenant = who.tenant();
        let holders = self.holders_at_decision(tenant, &approval, (&decider, None), &ReadBefore::new()).await??;
        Ok(plan_reject(tenant, &approval, (&decider, &holders), cx)?)
    }

    /// Plans the withdrawal of a command.
    ///
    /// # Errors
    /// As [`App::approve`].
    pub async fn withdraw(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<Planned<Approval>, PlanError> {
        let (approval, by) = self.approval_and_member(claim, who, id, Permission::ApprovalsRequest).await?;
        let tenant = who.tenant();
        let holders = if by.id == approval.requested_by {
            None
        } else {
            Some(self.holders_at_decision(tenant, &approval, (&by, None), &ReadBefore::new()).await??)
        };
        Ok(plan_withdraw(tenant, &approval, (&by, holders.as_ref()), cx)?)
    }

    /// Reads a command, and the record of the member who decides on it or withdraws it.
    async fn approval_and_member(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        needed: Permission,
    ) -> Result<(Approval, StaffMember), PlanError> {
        let tenant = who.tenant();
        let own = keys::staff_member(tenant, Employer::Operator, who.id());
        let items = self.ledger().read_for(claim, &[keys::approval(tenant, id), own]).await?;
        let mut items = items.into_iter();
        let (command, by) = (items.next().flatten(), items.next().flatten());
        let approval = Approval::read(&command.ok_or(PlanError::Missing)?)?;
        Ok((approval, member(by.as_ref(), needed)?))
    }
}
