//! Requests that have records of their own: listing them in the inbox, and deciding on them there and at their own
//! endpoints.

use super::{Inboxed, member};
use crate::app::App;
use crate::execute::PlanError;
use crate::identity::Member;
use ledger_core::approvals::{
    RecordedRequest, RequestDecision, RequestRecord, RequestSummary, check_approval, guard_approval, plan_listed,
};
use ledger_core::idempotency::Claim;
use ledger_core::ids::{Employer, StaffId};
use ledger_core::keys::{self, Key};
use ledger_core::permission::Permission;
use ledger_core::plan::Context;
use ledger_core::settlements::Settlement;
use ledger_core::settlements::requests::{self, PayoutRequest};
use ledger_core::staff::StaffMember;
use ledger_core::transaction::{Draft, Planned, Provenance};

impl App {
    /// Lists a planned request in the inbox.
    ///
    /// # Errors
    /// [`PlanError`] if the caller's record does not permit the request.
    pub async fn list_request<R>(
        &self,
        (claim, who): (&Claim, &Member),
        summary: &RequestSummary,
        planned: Planned<R>,
    ) -> Result<Planned<R>, PlanError> {
        let own = self.ledger().read_for(claim, &[staff_key(who, who.id())]).await?;
        let by = member(own.first().and_then(Option::as_ref), summary.record.permission())?;
        Ok(plan_listed(who.tenant(), &by, summary, planned)?)
    }

    /// Adds to an approval that a request's own endpoint has planned who may decide, and the state of the request.
    ///
    /// # Errors
    /// [`PlanError`] if the caller may not decide on it, or its state does not allow it.
    pub async fn guarded_approval<R>(
        &self,
        (claim, who): (&Claim, &Member),
        request: &RecordedRequest,
        planned: Planned<R>,
        cx: &Context,
    ) -> Result<Planned<R>, PlanError> {
        let tenant = who.tenant();
        let staff = [staff_key(who, who.id()), staff_key(who, request.summary.requested_by)];
        let staff = self.ledger().read_for(claim, &staff).await?;
        let mut staff = staff.iter().map(Option::as_ref);
        let decider = member(staff.next().flatten(), Permission::ApprovalsDecide)?;
        let requester = member(staff.next().flatten(), request.summary.record.permission())?;
        let decision = RequestDecision { tenant, request, decider: &decider };
        let keys = self.ledger().marker_keys().await?;
        Ok(guard_approval(&decision, (&requester, &keys), planned, cx)?)
    }

    /// Plans the approval of a request at the inbox. Its entry has the key `approval:<id>`.
    pub(super) async fn approve_request(
        &self,
        claim: &Claim,
        who: &Member,
        (request, decider): (&RecordedRequest, &StaffMember),
        cx: &Context,
    ) -> Result<(Planned<Inboxed>, Provenance), PlanError> {
        let (tenant, record) = (who.tenant(), request.summary.record);
        let requester = self.ledger().read_for(claim, &[staff_key(who, request.summary.requested_by)]).await?;
        let requester = member(requester.first().and_then(Option::as_ref), record.permission())?;
        let decision = RequestDecision { tenant, request, decider };
        check_approval(&decision, &requester, cx)?;
        let read = async |keys: &[Key]| {
            let items = self.ledger().read_for(claim, keys).await?;
            items.into_iter().collect::<Option<Vec<_>>>().ok_or(PlanError::Missing)
        };
        let draft: Draft = match record {
            RequestRecord::Resend(merchant, settlement, _) => {
                let items = read(&[record.key(tenant), keys::settlement(tenant, merchant, settlement)]).await?;
                let [stored, settlement] = items.as_slice() else { return Err(PlanError::Missing) };
                let (stored, settlement) = (PayoutRequest::read(stored)?, Settlement::read(settlement)?);
                requests::plan_approve(tenant, &stored, &settlement, decider.id, cx)?.draft
            }
        };
        let entry = draft.entry.as_ref().map(|entry| entry.id);
        let receipt = Inboxed::Request(Box::new(request.approved(decider, entry, cx.now)));
        let keys = self.ledger().marker_keys().await?;
        let planned = guard_approval(&decision, (&requester, &keys), Planned { draft, receipt }, cx)?;
        Ok((planned, request.provenance(tenant, decider, cx.now)))
    }
}

fn staff_key(who: &Member, id: StaffId) -> Key {
    keys::staff_member(who.tenant(), Employer::Operator, id)
}
