//! Decides on a top-up or refund whose PSP object contradicts our record. The PSP is called when a decision is
//! requested and again when it is approved.

use super::PspExecutor;
use super::parked::GIVEN_UP;
use super::records::{Records, TopupRecordIds};
use crate::execute::PlanError;
use crate::problem::Problem;
use crate::psp::{LookupResult, PspLookup, PspObject};
use crate::views;
use ledger_core::approvals::{RecordedRequest, RequestSummary};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, StoredAnswer};
use ledger_core::ids::{DecisionId, RefundId, StaffId, Tenant, TopupId};
use ledger_core::keys;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::psp::{Fact, PspId};
use ledger_core::topups::{Basis, DecisionKind, TopupDecision, decision};
use ledger_core::transaction::Planned;

/// A request for a decision.
#[derive(Clone, Debug)]
pub struct DecisionRequest {
    /// The top-up.
    pub topup: TopupId,
    /// The refund to decide on; `None` decides on the top-up itself.
    pub refund: Option<RefundId>,
    /// The requested decision.
    pub way: DecisionKind,
    /// The PSP's object; `None` for the one that our record or its metadata names.
    pub object: Option<PspId>,
}

impl PspExecutor {
    /// Plans the request of a decision, and what the inbox shows of it.
    ///
    /// # Errors
    /// [`PlanError`], with the marker if the key has been used.
    pub async fn request_decision(
        &self,
        claim: &Claim,
        request: &DecisionRequest,
        (staff, note): (StaffId, &FreeText),
        cx: &Context,
    ) -> Result<(Planned<TopupDecision>, RequestSummary), PlanError> {
        self.ledger.read_for(claim, &[]).await?;
        let records = self.contradicted(&claim.tenant, (request.topup, request.refund)).await?;
        let object = self.object(&claim.tenant, &records, request.way, request.object.as_ref(), cx).await?;
        let fact = object.and_then(PspObject::fact);
        let view = records.view(&claim.tenant);
        let basis = Basis { view: &view, fact: fact.as_ref(), flight: records.flight.as_ref() };
        let (planned, postings) = decision::plan_request(&basis, request.way, (staff, note), cx)?;
        let wallet = records.topup.wallet();
        let summary = RequestSummary::of_decision(&planned.receipt, wallet, &postings, Some(note));
        Ok((planned, summary))
    }

    /// Plans the approval of a decision, and returns the request as it was read.
    ///
    /// # Errors
    /// [`PlanError`], with the marker if the key has been used.
    pub async fn approve_decision(
        &self,
        claim: &Claim,
        (topup, id): (TopupId, DecisionId),
        staff: StaffId,
        cx: &Context,
    ) -> Result<(Planned<TopupDecision>, RecordedRequest), PlanError> {
        let key = keys::topup_decision(&claim.tenant, topup, id);
        let found = self.ledger.read_for(claim, std::slice::from_ref(&key)).await?.into_iter().flatten().next();
        let found = found.ok_or(PlanError::Missing)?;
        let decision = TopupDecision::read(&found)?;
        let records = self.contradicted(&claim.tenant, (topup, decision.refund)).await?;
        let summary = RequestSummary::of_decision(&decision, records.topup.wallet(), &[], None);
        let read = RecordedRequest::read(summary, &found)?;
        let object = decision.object.as_deref().and_then(|object| object.split(' ').next()).and_then(PspId::parse);
        let object = self.object(&claim.tenant, &records, decision.way, object.as_ref(), cx).await?;
        let answer = object.as_ref().filter(|_| decision.way == DecisionKind::Book);
        let answer = answer.and_then(|object| views::topup_answer(&records.topup, records.refund.as_ref(), object));
        let answer = answer.unwrap_or_else(|| Problem::psp_refused(GIVEN_UP).answer().into());
        let stored = match &records.flight {
            Some(flight) => self.ledger.stored(flight, &answer).await?,
            // Nothing is stored then.
            None => StoredAnswer::from(&Problem::psp_refused(GIVEN_UP).answer()),
        };
        let fact = object.and_then(PspObject::fact);
        let view = records.view(&claim.tenant);
        let basis = Basis { view: &view, fact: fact.as_ref(), flight: records.flight.as_ref() };
        match decision::plan_approve(&basis, &decision, stored, staff, cx) {
            Ok(planned) => Ok((planned, read)),
            Err(refusal) => {
                // Another approval between the two reads has made the object agree with the record.
                let found = self.ledger.read_for(claim, &[key]).await?.into_iter().flatten().next();
                let is_same = TopupDecision::read(&found.ok_or(PlanError::Missing)?)? == decision;
                Err(if is_same { refusal.into() } else { Failure::WrongState.into() })
            }
        }
    }

    async fn contradicted(
        &self,
        tenant: &Tenant,
        (topup, refund): (TopupId, Option<RefundId>),
    ) -> Result<Records, PlanError> {
        let wanted = TopupRecordIds { topup, refund, clawback: None };
        self.records(tenant, &wanted).await?.ok_or(PlanError::Missing)
    }

    /// The PSP's object that a decision is about: `named`, else the one in our record, else the one that the operation
    /// has made.
    ///
    /// Fails with `WrongState` if neither our record nor the object's metadata ties it to this record.
    async fn object(
        &self,
        tenant: &Tenant,
        records: &Records,
        way: DecisionKind,
        named: Option<&PspId>,
        cx: &Context,
    ) -> Result<Option<PspObject>, PlanError> {
        if way == DecisionKind::WriteOff {
            return Ok(None);
        }
        let known = match &records.refund {
            Some(refund) => refund.psp_refund.as_ref(),
            None => records.topup.intent.as_ref(),
        };
        let account = records.topup.account.as_deref();
        let seen = match (named.or(known), &records.refund, &records.flight) {
            (Some(id), Some(_), _) => self.psp().look(PspLookup::Refund(id), account).await,
            (Some(id), None, _) => self.psp().look(PspLookup::Intent(id), account).await,
            (None, _, Some(flight)) => self.find(flight, records, cx.now).await,
            (None, _, None) => LookupResult::Absent,
        };
        let object = match seen {
            LookupResult::Found(object) => object,
            LookupResult::Absent => return Ok(None),
            LookupResult::Unknown => return Err(Problem::outcome_unknown().into()),
        };
        let is_known = known.is_some_and(|known| known == object.id());
        let fact = object.clone().fact();
        let tags = fact.as_ref().and_then(Fact::tags);
        let is_tagged = tags.is_some_and(|tags| {
            let refund = records.refund.as_ref().map(|refund| refund.id);
            tags.tenant == *tenant && tags.topup == records.topup.id && tags.refund == refund
        });
        if is_known || is_tagged { Ok(Some(object)) } else { Err(Failure::WrongState.into()) }
    }
}
