//! Applies a fact about one of the PSP's objects, from an event or a lookup, to the books.

use super::PspExecutor;
use super::records::{Records, TopupRecordIds};
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::{LookupResult, PspLookup, PspObject};
use crate::views;
use ledger_core::failure::Failure;
use ledger_core::idempotency::EventClaim;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::psp::{EventId, Fact, Tags};
use ledger_core::retry;
use ledger_core::topups::{ContradictionKind, Effect, Routed, route};
use ledger_core::trail::Record;
use ledger_core::transaction::Transaction;

/// The result of applying a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The fact was applied.
    Done,
    /// The fact had been applied before.
    Repeated,
    /// The fact is behind our record.
    Behind,
    /// Our record of the object does not exist.
    NoRecord,
    /// The fact contradicts our record.
    Contradiction(ContradictionKind),
}

impl PspExecutor {
    /// Applies a fact to the books, once per event, and guarded by the state of our record.
    ///
    /// # Errors
    /// 503 if the store or the PSP did not answer: applying the fact again is safe.
    pub async fn apply(
        &self,
        tenant: &Tenant,
        tags: &Tags,
        fact: &Fact,
        event: &EventId,
        kind: &str,
    ) -> Result<Applied, Problem> {
        let tags = &self.with_refund(tenant, tags, fact).await?;
        let wanted = TopupRecordIds::by(fact, tags);
        for _ in 0..=retry::REPLANS {
            let now = self.ledger.clock().now();
            let Some(records) = self.records(tenant, &wanted).await? else { return Ok(Applied::NoRecord) };
            let effect = match route::route(fact, &records.view(tenant), now)? {
                Routed::Behind => return Ok(Applied::Behind),
                Routed::Contradiction(contradiction) => return Ok(Applied::Contradiction(contradiction)),
                Routed::Ahead => match self.catch_up(tenant, tags, fact, &records).await? {
                    Applied::Done | Applied::Repeated | Applied::Behind => continue,
                    unapplied @ (Applied::NoRecord | Applied::Contradiction(_)) => return Ok(unapplied),
                },
                Routed::Apply(effect) => *effect,
            };
            let claim = EventClaim { tenant: tenant.clone(), event: event.clone(), kind: kind.to_owned(), now };
            let transaction = self.transaction(effect, fact, &claim, &records).await?;
            match self.ledger.attempt(tenant, Operation::StripeEvent, &transaction).await? {
                WriteOutcome::Applied => {
                    self.count_clawback(tenant, fact, tags);
                    return Ok(Applied::Done);
                }
                WriteOutcome::MarkerExists(_) => return Ok(Applied::Repeated),
                WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => {}
                WriteOutcome::Rejected(rejection) => {
                    return Err(self.ledger.broken(tenant, Operation::StripeEvent, rejection.failure.code()));
                }
            }
        }
        Err(Problem::busy())
    }

    /// The tags of our record that a fact is about, from our metadata on its object or on its PaymentIntent; `None` if
    /// it is not ours.
    ///
    /// # Errors
    /// 503 if the PSP did not answer.
    pub async fn tags_of(&self, fact: &Fact, account: Option<&str>) -> Result<Option<Tags>, Problem> {
        if let Some(tags) = fact.tags() {
            return Ok(Some(tags.clone()));
        }
        let (Fact::Refund(_) | Fact::Withdrawn(_) | Fact::Reinstated(_), Some(id)) = (fact, fact.intent()) else {
            return Ok(None);
        };
        match self.psp.look(PspLookup::Intent(id), account).await {
            LookupResult::Found(object) => Ok(object.fact().as_ref().and_then(Fact::tags).cloned()),
            LookupResult::Absent => Ok(None),
            LookupResult::Unknown => Err(Problem::outcome_unknown()),
        }
    }

    /// Applies an object found by a lookup to the books: makes up for lost events.
    pub(super) async fn apply_seen(&self, tenant: &Tenant, tags: &Tags, object: PspObject) -> Result<Applied, Problem> {
        let Some(fact) = object.fact() else { return Ok(Applied::Contradiction(ContradictionKind::Object)) };
        let event = fact.seen_as();
        self.apply(tenant, tags, &fact, &event, "seen").await
    }

    /// Looks up and applies the PaymentIntent of a fact that is ahead of our record.
    async fn catch_up(&self, tenant: &Tenant, tags: &Tags, fact: &Fact, records: &Records) -> Result<Applied, Problem> {
        let Some(id) = fact.intent() else { return Ok(Applied::Contradiction(ContradictionKind::Object)) };
        match self.psp.look(PspLookup::Intent(id), records.topup.account.as_deref()).await {
            LookupResult::Found(object @ PspObject::Intent(_)) => {
                // Recursion ends here: a PaymentIntent is never ahead of our record.
                let applied = Box::pin(self.apply_seen(tenant, tags, object)).await?;
                match applied {
                    // The fact needs a paid PaymentIntent, but it is not paid: a contradiction.
                    Applied::Behind => Ok(Applied::Contradiction(ContradictionKind::State)),
                    Applied::Done | Applied::Repeated | Applied::NoRecord | Applied::Contradiction(_) => Ok(applied),
                }
            }
            LookupResult::Found(PspObject::Refund(_) | PspObject::Payout(_)) | LookupResult::Absent => {
                Ok(Applied::Contradiction(ContradictionKind::Object))
            }
            LookupResult::Unknown => Err(Problem::outcome_unknown()),
        }
    }

    async fn transaction(
        &self,
        mut effect: Effect,
        fact: &Fact,
        claim: &EventClaim,
        records: &Records,
    ) -> Result<Transaction, Problem> {
        // The event may complete a request that crashed: its response is stored too.
        let object = match fact {
            Fact::Intent(intent) => Some(PspObject::Intent(intent.clone())),
            Fact::Refund(refund) => Some(PspObject::Refund(refund.clone())),
            Fact::Withdrawn(_) | Fact::Reinstated(_) => None,
        };
        if let (true, Some(flight), Some(object)) = (effect.lands, &records.flight, &object)
            && let Some(answer) = views::topup_answer(&records.topup, records.refund.as_ref(), object)
        {
            let stored = self.ledger.stored(flight, &answer).await?;
            effect.draft.items.push(flight.land_from_outside(stored, false, claim.now));
        }
        let from = effect.provenance(&claim.tenant, claim.now);
        let received = Record::event_received(&records.topup, effect.operation, effect.principal, fact.object(), claim);
        Transaction::of_event(effect.draft, claim, &from)
            .and_then(|transaction| transaction.recorded(received))
            .map_err(|error| self.ledger.broken(&claim.tenant, Operation::StripeEvent, &error.to_string()))
    }

    fn count_clawback(&self, tenant: &Tenant, fact: &Fact, tags: &Tags) {
        let clawback = match fact {
            Fact::Intent(_) | Fact::Reinstated(_) => false,
            Fact::Refund(_) => tags.refund.is_none(),
            Fact::Withdrawn(_) => true,
        };
        if clawback {
            self.ledger.metrics().count(Metric::Clawback, tenant, Operation::Clawback);
        }
    }
}
