//! Decisions at the inbox, on commands and on requests that have records of their own.

use super::inbox::with_record;
use super::{Inboxed, member};
use crate::app::App;
use crate::execute::PlanError;
use crate::identity::Member;
use crate::ties::ReadBefore;
use ledger_core::approvals::{
    Approval, RecordedRequest, RequestDecision, RequestSummary, plan_reject, plan_request_rejection,
    plan_request_withdrawal, plan_withdraw,
};
use ledger_core::idempotency::Claim;
use ledger_core::ids::{ApprovalId, Employer};
use ledger_core::keys;
use ledger_core::permission::Permission;
use ledger_core::plan::Context;
use ledger_core::staff::StaffMember;
use ledger_core::transaction::{Planned, Provenance};

impl App {
    /// Plans the approval of what the inbox has under an id, and its execution.
    ///
    /// # Errors
    /// [`PlanError`] if the caller may not decide on it, its state does not allow it, or it cannot be executed now.
    pub async fn approve(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<(Planned<Inboxed>, Provenance), PlanError> {
        let (found, decider) = self.inboxed_and_member(claim, who, id, Permission::ApprovalsDecide).await?;
        match found {
            Inboxed::Command(approval) => {
                let (planned, from) = self.approve_command(claim, who, (&approval, &decider), cx).await?;
                Ok((of_command(planned), from))
            }
            Inboxed::Request(request) => self.approve_request(claim, who, (&request, &decider), cx).await,
        }
    }

    /// Plans the rejection of what the inbox has under an id.
    ///
    /// # Errors
    /// As [`App::approve`].
    pub async fn reject(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<Planned<Inboxed>, PlanError> {
        let (found, decider) = self.inboxed_and_member(claim, who, id, Permission::ApprovalsDecide).await?;
        let tenant = who.tenant();
        Ok(match found {
            Inboxed::Command(approval) => {
                let holders =
                    self.holders_at_decision(tenant, &approval, (&decider, None), &ReadBefore::new()).await??;
                of_command(plan_reject(tenant, &approval, (&decider, &holders), cx)?)
            }
            Inboxed::Request(request) => {
                let decision = RequestDecision { tenant, request: &request, decider: &decider };
                of_request(plan_request_rejection(&decision, cx)?)
            }
        })
    }

    /// Plans the withdrawal of what the inbox has under an id.
    ///
    /// # Errors
    /// As [`App::approve`].
    pub async fn withdraw(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        cx: &Context,
    ) -> Result<Planned<Inboxed>, PlanError> {
        let (found, by) = self.inboxed_and_member(claim, who, id, Permission::ApprovalsRequest).await?;
        let tenant = who.tenant();
        Ok(match found {
            Inboxed::Command(approval) => of_command(plan_withdraw(tenant, &approval, &by, cx)?),
            Inboxed::Request(request) => of_request(plan_request_withdrawal(tenant, &request, &by, cx)?),
        })
    }

    /// Reads what the inbox has under an id, and the record of the member who decides on it or withdraws it.
    async fn inboxed_and_member(
        &self,
        claim: &Claim,
        who: &Member,
        id: ApprovalId,
        needed: Permission,
    ) -> Result<(Inboxed, StaffMember), PlanError> {
        let tenant = who.tenant();
        let own = keys::staff_member(tenant, Employer::Operator, who.id());
        let items = self.ledger().read_for(claim, &[keys::approval(tenant, id), own]).await?;
        let mut items = items.into_iter();
        let (command, by) = (items.next().flatten(), items.next().flatten());
        let found = match command {
            Some(item) => Inboxed::Command(Box::new(Approval::read(&item)?)),
            None => Inboxed::Request(Box::new(self.request_for(claim, who, id).await?)),
        };
        Ok((found, member(by.as_ref(), needed)?))
    }

    async fn request_for(&self, claim: &Claim, who: &Member, id: ApprovalId) -> Result<RecordedRequest, PlanError> {
        let tenant = who.tenant();
        let item = self.ledger().read_for(claim, &[keys::request(tenant, id)]).await?.into_iter().flatten().next();
        let summary = RequestSummary::read(&item.ok_or(PlanError::Missing)?)?;
        let record = self.ledger().read_for(claim, &[summary.record.key(tenant)]).await?;
        Ok(with_record(summary, record.first().and_then(Option::as_ref))?)
    }
}

fn of_command(planned: Planned<Approval>) -> Planned<Inboxed> {
    Planned { draft: planned.draft, receipt: Inboxed::Command(Box::new(planned.receipt)) }
}

fn of_request(planned: Planned<RecordedRequest>) -> Planned<Inboxed> {
    Planned { draft: planned.draft, receipt: Inboxed::Request(Box::new(planned.receipt)) }
}
