//! Decides on a top-up or refund whose PSP object contradicts our record. The PSP is called when a decision is
//! requested and again when it is approved.

use super::PspExecutor;
use super::parked::GIVEN_UP;
use super::records::{Records, TopupRecordIds};
use crate::execute::PlanError;
use crate::problem::Problem;
use crate::psp::{LookupResult, PspLookup, PspObject};
use crate::views;
use ledger_core::failure::Failure;
use ledger_core::idempotency::StoredAnswer;
use ledger_core::ids::{RefundId, Tenant, TopupId};
use ledger_core::plan::Context;
use ledger_core::psp::{Fact, PspId};
use ledger_core::topups::{Basis, DecisionKind, DecisionSeen, TopupDecision, View};

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

/// The records and the object that a decision is about, as they are at present.
pub(crate) struct DecisionRead {
    records: Records,
    fact: Option<Fact>,
    /// What becomes the stored response of the operation's key.
    answer: StoredAnswer,
}

impl DecisionRead {
    /// Our records.
    pub(crate) fn view<'a>(&'a self, tenant: &'a Tenant) -> View<'a> {
        self.records.view(tenant)
    }

    /// What the decision is carried out from. `view` is that of [`DecisionRead::view`].
    pub(crate) fn seen<'a>(&'a self, view: &'a View<'a>) -> DecisionSeen<'a> {
        let basis = Basis { view, fact: self.fact.as_ref(), flight: self.records.flight.as_ref() };
        DecisionSeen { basis, answer: &self.answer }
    }
}

impl PspExecutor {
    /// Reads what a decision that is requested is about.
    ///
    /// # Errors
    /// [`PlanError`] if there is no such top-up, or the object's state is not known.
    pub(crate) async fn decision_requested(
        &self,
        tenant: &Tenant,
        request: &DecisionRequest,
        cx: &Context,
    ) -> Result<DecisionRead, PlanError> {
        let of = (request.topup, request.refund);
        self.read_decision(tenant, of, request.way, request.object.as_ref(), cx).await
    }

    /// Reads what a decision that is approved is about.
    ///
    /// # Errors
    /// As [`PspExecutor::decision_requested`].
    pub(crate) async fn decision_read(
        &self,
        tenant: &Tenant,
        decision: &TopupDecision,
        cx: &Context,
    ) -> Result<DecisionRead, PlanError> {
        let (of, object) = ((decision.topup, decision.refund), decision.object_id());
        self.read_decision(tenant, of, decision.way, object.as_ref(), cx).await
    }

    async fn read_decision(
        &self,
        tenant: &Tenant,
        of: (TopupId, Option<RefundId>),
        way: DecisionKind,
        object: Option<&PspId>,
        cx: &Context,
    ) -> Result<DecisionRead, PlanError> {
        let records = self.contradicted(tenant, of).await?;
        let object = self.object(tenant, &records, way, object, cx).await?;
        let answer = object.as_ref().filter(|_| way == DecisionKind::Book);
        let answer = answer.and_then(|object| views::topup_answer(&records.topup, records.refund.as_ref(), object));
        let answer = answer.unwrap_or_else(|| Problem::psp_refused(GIVEN_UP).answer().into());
        let answer = match &records.flight {
            Some(flight) => self.ledger.stored(flight, &answer).await?,
            // Nothing is stored then.
            None => StoredAnswer::from(&Problem::psp_refused(GIVEN_UP).answer()),
        };
        Ok(DecisionRead { records, fact: object.and_then(PspObject::fact), answer })
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
