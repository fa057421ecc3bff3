//! Lists what needs review (parked operations and kept events), and resolves parked operations. Nothing is decided
//! before the object has been looked up at the PSP.

use super::PspExecutor;
use super::facts::Applied;
use super::records::{Records, TopupRecordIds};
use crate::dynamo::Dynamo;
use crate::execute::{ApplyError, PlanError};
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::LookupResult;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Flight, Marker, MarkerState, Phase};
use ledger_core::ids::Tenant;
use ledger_core::keys::{Key, attr};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::psp::{Event, Tags};
use ledger_core::reads;
use ledger_core::time::Timestamp;
use ledger_core::topups::attention::{self, Decider, KeptEvent};
use ledger_core::transaction::{Planned, Rejection};
use uuid::Uuid;

/// The PSP code in the response of an operation that an operator gave up.
pub(super) const GIVEN_UP: &str = "given_up";

/// The decision on a parked operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The operation is tried again.
    Retry,
    /// The operation ends as refused, and what it reserved is given back.
    GiveUp,
}

/// The result of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The operation that was parked.
    pub operation: Operation,
    /// The id of the top-up or refund that it makes.
    pub resource: Uuid,
    /// The decision.
    pub resolution: Resolution,
    /// The time of the decision.
    pub at: Timestamp,
}

/// Everything that needs review: parked operations and kept events, oldest first.
///
/// # Errors
/// 503 if the store cannot be read.
pub async fn needs_review(dynamo: &Dynamo, tenant: &Tenant) -> Result<(Vec<Flight>, Vec<KeptEvent>), Problem> {
    let (mut flights, mut events) = (Vec::new(), Vec::new());
    let listed = dynamo.query(&reads::attention(tenant)).await?;
    let key = |item: &Item| Ok(Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?));
    let keys = listed.iter().filter_map(|item| key(item).transpose()).collect::<Result<Vec<Key>, ItemError>>()?;
    let items = dynamo.get_many(&keys).await?.into_iter().flatten();
    // The index may lag behind a decision.
    for item in items.filter(|item| item.contains_key(attr::OWNER_PK)) {
        if item.contains_key("fence") {
            flights.push(Flight::read(&item)?);
        } else {
            events.push(KeptEvent::read(&item)?);
        }
    }
    flights.sort_by_key(|flight| flight.claimed_at);
    events.sort_by_key(|event| event.received_at);
    Ok((flights, events))
}

impl PspExecutor {
    async fn find_parked(&self, tenant: &Tenant, resource: Uuid) -> Result<Option<Flight>, Problem> {
        let (flights, _) = needs_review(self.ledger.dynamo(), tenant).await?;
        let Some(listed) = flights.into_iter().find(|flight| flight.resource == resource) else { return Ok(None) };
        let Some(item) = self.ledger.dynamo().get(&listed.marker_key()).await? else { return Ok(None) };
        match Marker::read(&item)?.state {
            MarkerState::InFlight(flight) if flight.phase == Phase::Parked => Ok(Some(*flight)),
            MarkerState::InFlight(_) | MarkerState::Completed { .. } | MarkerState::Reversed => Ok(None),
        }
    }

    /// Plans a decision on a parked operation, once the PSP has no object of it.
    ///
    /// If the PSP has its object after all, that is applied to the books, and the decision is refused with
    /// `WrongState`.
    ///
    /// # Errors
    /// [`PlanError`], with the marker if the key has been used.
    pub async fn resolve_parked(
        &self,
        claim: &Claim,
        resource: Uuid,
        resolution: Resolution,
        decider: &Decider<'_>,
        cx: &Context,
    ) -> Result<Planned<Resolved>, PlanError> {
        self.ledger.read_for(claim, &[]).await?;
        let flight = self.find_parked(&claim.tenant, resource).await?.ok_or(PlanError::Missing)?;
        let records = self.records(&flight.tenant, &TopupRecordIds::of(&flight)).await?.ok_or(PlanError::Missing)?;
        match self.find(&flight, &records, cx.now).await {
            LookupResult::Found(object) => {
                let tags = Tags {
                    tenant: flight.tenant.clone(),
                    topup: flight.topup,
                    refund: records.refund.as_ref().map(|refund| refund.id),
                };
                match self.apply_seen(&flight.tenant, &tags, object).await? {
                    // The operation is completed now, or its object contradicts our record: this decision does not
                    // apply.
                    Applied::Done
                    | Applied::Repeated
                    | Applied::Behind
                    | Applied::NoRecord
                    | Applied::Contradiction(_) => {
                        return Err(Failure::WrongState.into());
                    }
                }
            }
            LookupResult::Absent if !flight.is_settled(cx.now) => {
                return Err(Problem::busy().into());
            }
            LookupResult::Absent => {}
            LookupResult::Unknown => return Err(Problem::outcome_unknown().into()),
        }
        let planned = match resolution {
            Resolution::Retry => attention::retry(&flight, decider, cx)?,
            Resolution::GiveUp => give_up(&flight, &records, decider, cx)?,
        };
        let receipt = Resolved { operation: flight.operation, resource, resolution, at: planned.receipt };
        Ok(Planned { draft: planned.draft, receipt })
    }
}

fn give_up(
    flight: &Flight,
    records: &Records,
    decider: &Decider<'_>,
    cx: &Context,
) -> Result<Planned<Timestamp>, PlanError> {
    let answer = Problem::psp_refused(GIVEN_UP).answer();
    Ok(attention::give_up(flight, (&records.topup, records.refund.as_ref()), &records.wallet, &answer, decider, cx)?)
}

impl PspExecutor {
    /// Keeps an event for review, counts and logs it. An event is kept once, however often it arrives.
    ///
    /// Returns `true` if an operator has already dismissed it.
    ///
    /// # Errors
    /// 503 if the store cannot be read or written.
    pub async fn keep(
        &self,
        tenant: &Tenant,
        event: &Event,
        object: Option<String>,
        why: &str,
    ) -> Result<bool, Problem> {
        let kept = KeptEvent {
            id: event.id.clone(),
            kind: event.kind.clone(),
            why: why.to_owned(),
            object,
            received_at: self.ledger.clock().now(),
        };
        let broken = |what: &str| self.ledger.broken(tenant, Operation::StripeEvent, what);
        let transaction = kept.keep(tenant).map_err(|error| broken(&error.to_string()))?;
        match self.ledger.apply(tenant, Operation::StripeEvent, &transaction).await {
            Ok(()) => {}
            Err(ApplyError::Rejected(Rejection { failure: Failure::AlreadyExists, old, .. })) => {
                if old.as_ref().is_some_and(KeptEvent::is_dismissed) {
                    return Ok(true);
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.ledger.metrics().count(Metric::EventKept, tenant, Operation::StripeEvent);
        tracing::error!(%tenant, event = %event.id, kind = event.kind, why, "an event contradicts our records");
        Ok(false)
    }
}
