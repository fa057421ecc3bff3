//! A settlement's payout through the PSP.
//!
//! The payout is sent with one PSP key for as long as the PSP keeps the key, and then looked up. It counts as refused
//! only when no payout can have been made. A failed payout's money is owed to the merchant again.

use super::{PAYOUT, SettlementRef, Settler};
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::{LookupResult, Outlook, PspObject, PspRefusal, PspSearch, Sent};
use crate::topups::{Applied, PspExecutor};
use ledger_core::failure::Failure;
use ledger_core::idempotency::EventClaim;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::psp::{EventId, Payout, PayoutStatus, Step};
use ledger_core::settlements::returned::{self, PayoutMeaning};
use ledger_core::settlements::sending::{self, SEND_WITHIN};
use ledger_core::settlements::{Settlement, UndoReason};
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::Transaction;
use ledger_core::{retry, settlements as rules};
use std::time::Duration;

/// Twice the largest expected difference between the PSP's clock and ours.
const MARGIN: Duration = Duration::from_secs(20 * 60);

impl Settler {
    /// Sends the payout, or looks up what became of it. `false` if the task must wait.
    pub(super) async fn pay_out(&self, at: &SettlementRef, seen: &Settlement) -> Result<bool, Problem> {
        let psp_executor = self.psp_executor(at, seen).await?;
        let sending = seen.sending.ok_or_else(|| self.broken(at, "the payout has no sending record"))?;
        let now = self.ledger.clock().now();
        let mut answers = Vec::new();
        if !sending.may_send(now) {
            return match self.find(&psp_executor, at, seen, &mut answers).await {
                LookupResult::Found(object) => self.landed(at, seen, object, &answers).await,
                LookupResult::Absent if sending.is_quiet(now) => self.next_epoch(at, seen, &answers).await,
                LookupResult::Absent => self.waits(at, seen, &answers).await,
                LookupResult::Unknown => Err(self.unknown(at, seen, &answers).await),
            };
        }
        let begun = sending::send(&at.tenant, seen, now);
        let (mine, transaction) = begun.map_err(|error| self.broken(at, &error.to_string()))?;
        if !self.write_recorded((at, seen, PAYOUT), "sent", transaction, &[]).await? {
            return Ok(true);
        }
        let (request, key) = sending::request(&at.tenant, &mine)
            .ok_or_else(|| self.broken(at, "the settlement has no amount to pay out"))?;
        // The clock is read again right before the send: the process may have been suspended since the write.
        let sent_at = self.ledger.clock().now();
        if !sending.may_send(sent_at) || sent_at.since(now) > SEND_WITHIN || sent_at < now {
            return Err(self.unknown(at, &mine, &answers).await);
        }
        match psp_executor.psp().send(&request, &key).await {
            Sent::Done(object) => {
                answers.push(ProviderAnswer::Done(object.id().clone()));
                self.landed(at, &mine, object, &answers).await
            }
            Sent::Refused(refusal) => {
                answers.push(ProviderAnswer::Refused(refusal.code.clone()));
                self.ledger.metrics().count(Metric::PspRefused, &at.tenant, Operation::SettlementRun);
                // A refusal of the epoch's first send proves that no payout was made. After a later send the payout is
                // looked up, unless the refusal returns nothing to the merchant and does not change the PSP key.
                let harmless = refusal.outlook == (Outlook::MayPass { burnt: false });
                if sending.sends > 0 && !harmless {
                    match self.find(&psp_executor, at, &mine, &mut answers).await {
                        LookupResult::Found(object) => return self.landed(at, &mine, object, &answers).await,
                        LookupResult::Absent if sending.is_quiet(sent_at) => {}
                        LookupResult::Absent => return self.waits(at, &mine, &answers).await,
                        LookupResult::Unknown => return Err(self.unknown(at, &mine, &answers).await),
                    }
                }
                self.refused(at, &mine, &refusal, &answers).await
            }
            Sent::Unknown(unknown) => {
                answers.push(ProviderAnswer::Unknown(unknown.why.to_owned()));
                if unknown.resend {
                    return Err(self.unknown(at, &mine, &answers).await);
                }
                // The PSP replays its failure under this key, so only a lookup shows whether a payout was made.
                match self.find(&psp_executor, at, &mine, &mut answers).await {
                    LookupResult::Found(object) => self.landed(at, &mine, object, &answers).await,
                    LookupResult::Absent if sending.is_listed(sent_at) && sending.is_quiet(sent_at) => {
                        self.next_epoch(at, &mine, &answers).await
                    }
                    LookupResult::Absent => self.waits(at, &mine, &answers).await,
                    LookupResult::Unknown => Err(self.unknown(at, &mine, &answers).await),
                }
            }
        }
    }

    /// Applies what an event of the PSP says about one of our payouts, once per event and under the guard of the
    /// settlement's state.
    ///
    /// # Errors
    /// 503 if the store cannot be read or written, or the settlement keeps changing: applying the event again is safe.
    pub async fn apply_payout_event(
        &self,
        (tenant, payout, account): (&Tenant, &Payout, Option<&str>),
        event: &EventId,
        kind: &str,
    ) -> Result<Applied, Problem> {
        let Some(tags) = payout.tags.as_ref() else { return Ok(Applied::NoRecord) };
        let at = SettlementRef { tenant: tenant.clone(), merchant: tags.merchant, id: tags.settlement };
        let answers =
            [ProviderAnswer::Event { event: event.to_string(), kind: kind.to_owned(), object: payout.id.clone() }];
        for _ in 0..=retry::REPLANS {
            let now = self.ledger.clock().now();
            let Some(settlement) = self.read_if_any(&at).await? else { return Ok(Applied::NoRecord) };
            let draft = match returned::meaning_of(tenant, &settlement, payout, account, now) {
                PayoutMeaning::Behind => return Ok(Applied::Behind),
                PayoutMeaning::Contradiction(contradiction) => return Ok(Applied::Contradiction(contradiction)),
                PayoutMeaning::Ahead => {
                    self.book(&at, &settlement, payout, &answers).await?;
                    continue;
                }
                PayoutMeaning::Return(draft) => draft,
            };
            let claim = EventClaim { tenant: tenant.clone(), event: event.clone(), kind: kind.to_owned(), now };
            let transaction = Transaction::of_event(*draft, &claim, &returned::provenance(tenant, &settlement, now));
            let record = Record::of_task(tenant, &settlement, PAYOUT, "reported", &answers, now);
            let transaction = self.built(&at, transaction.and_then(|returned| returned.recorded(record)))?;
            match self.ledger.attempt(tenant, Operation::SettlementReturned, &transaction).await? {
                WriteOutcome::Applied => {
                    self.ledger.metrics().count(Metric::PayoutReturned, tenant, Operation::SettlementReturned);
                    tracing::warn!(%tenant, settlement = %at.id, "payout returned");
                    return Ok(Applied::Done);
                }
                WriteOutcome::MarkerExists(_) => return Ok(Applied::Repeated),
                WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => {}
                WriteOutcome::Rejected(rejection) => return Err(self.rejected(&at, &rejection)),
            }
        }
        Err(Problem::busy())
    }

    /// Books a payout that the PSP has. If it has failed by now, its money is owed to the merchant again.
    async fn landed(
        &self,
        at: &SettlementRef,
        settlement: &Settlement,
        object: PspObject,
        answers: &[ProviderAnswer],
    ) -> Result<bool, Problem> {
        let payout = match object {
            PspObject::Payout(payout) => payout,
            PspObject::Intent(_) | PspObject::Refund(_) => {
                return Err(self.broken(at, "the provider's response is not a payout"));
            }
        };
        let account = settlement.psp.as_ref().and_then(|psp| psp.account.as_deref());
        if let Some(contradiction) = returned::contradiction(&at.tenant, settlement, &payout, account) {
            tracing::error!(settlement = %at.id, why = contradiction.name(), "the provider's payout contradicts our record");
            self.note(at, settlement, answers).await;
            return Err(self.broken(at, "the provider's payout contradicts our record"));
        }
        self.book(at, settlement, &payout, answers).await?;
        match payout.status {
            PayoutStatus::Sent => {}
            PayoutStatus::Failed => {
                self.apply_payout_event((&at.tenant, &payout, account), &payout.seen_as(), "seen").await?;
            }
        }
        Ok(true)
    }

    /// Records that the payout was made, unless another worker has.
    async fn book(
        &self,
        at: &SettlementRef,
        settlement: &Settlement,
        payout: &Payout,
        answers: &[ProviderAnswer],
    ) -> Result<(), Problem> {
        let transaction = rules::paid(&at.tenant, settlement, payout.id.as_str(), self.ledger.clock().now());
        let transaction = self.built(at, transaction)?;
        self.write_recorded((at, settlement, PAYOUT), "advanced", transaction, answers).await.map(|_| ())
    }

    /// Handles a refusal: no payout was made, and none will be with this PSP key.
    async fn refused(
        &self,
        at: &SettlementRef,
        mine: &Settlement,
        refusal: &PspRefusal,
        answers: &[ProviderAnswer],
    ) -> Result<bool, Problem> {
        tracing::warn!(settlement = %at.id, code = refusal.code, "a payout was refused");
        match refusal.outlook {
            Outlook::Final => {
                let now = self.ledger.clock().now();
                let undone = self.built(at, rules::start_undo(&at.tenant, mine, UndoReason::PayoutRefused, now))?;
                self.write_recorded((at, mine, PAYOUT), "advanced", undone, answers).await.map(|_| true)
            }
            Outlook::MayPass { burnt } => {
                if burnt {
                    self.next_epoch(at, mine, answers).await?;
                } else {
                    self.note(at, mine, answers).await;
                }
                Err(Problem::unavailable())
            }
        }
    }

    /// Starts the next epoch: no payout was made with this PSP key, and none will be.
    async fn next_epoch(
        &self,
        at: &SettlementRef,
        settlement: &Settlement,
        answers: &[ProviderAnswer],
    ) -> Result<bool, Problem> {
        let next = self.built(at, sending::next_epoch(&at.tenant, settlement, self.ledger.clock().now()))?;
        self.write_recorded((at, settlement, PAYOUT), "next_key", next, answers).await.map(|_| true)
    }

    /// Records the answers, and returns that the task must wait.
    async fn waits(
        &self,
        at: &SettlementRef,
        settlement: &Settlement,
        answers: &[ProviderAnswer],
    ) -> Result<bool, Problem> {
        self.note(at, settlement, answers).await;
        Ok(false)
    }

    /// Records answers that lead to no transition. A failed write is ignored: the trail then has the send without an
    /// answer.
    async fn note(&self, at: &SettlementRef, settlement: &Settlement, answers: &[ProviderAnswer]) {
        if answers.is_empty() {
            return;
        }
        let now = self.ledger.clock().now();
        let record = Record::of_task(&at.tenant, settlement, PAYOUT, "answered", answers, now);
        if let Ok(noted) = self.built(at, Transaction::record(record)) {
            let _ = self.ledger.attempt(&at.tenant, Operation::SettlementRun, &noted).await;
        }
    }

    /// Looks up the payout of any epoch at the PSP, and adds the lookup to `answers`.
    async fn find(
        &self,
        psp_executor: &PspExecutor,
        at: &SettlementRef,
        settlement: &Settlement,
        answers: &mut Vec<ProviderAnswer>,
    ) -> LookupResult {
        let since = settlement.sending.map_or(settlement.created_at, |sending| sending.since);
        let search = PspSearch {
            step: Step::CreatePayout,
            resource: at.id.uuid(),
            intent: None,
            since: since.minus(MARGIN),
            until: self.ledger.clock().now().plus(MARGIN),
        };
        let account = settlement.psp.as_ref().and_then(|psp| psp.account.as_deref());
        let seen = psp_executor.psp().find(&search, account).await;
        answers.push(seen.answers());
        seen
    }

    /// The PSP lookup. Fails if Stripe's mode or ledger is not the one with which the settlement was opened: this
    /// settlement's payout could not be found.
    async fn psp_executor(&self, at: &SettlementRef, settlement: &Settlement) -> Result<PspExecutor, Problem> {
        let provider = self.provider.provider().await?;
        let provider =
            provider.ok_or_else(|| self.broken(at, "Stripe is not configured, but a merchant is paid through it"))?;
        let (psp_executor, psp) = (provider.psp_executor().clone(), settlement.psp.as_ref());
        if psp.is_none_or(|psp| {
            psp.livemode != psp_executor.terms().livemode || psp.ledger != psp_executor.terms().ledger
        }) {
            return Err(self.broken(at, "Stripe's configuration differs from that of the opened settlement"));
        }
        Ok(psp_executor)
    }

    async fn unknown(&self, at: &SettlementRef, settlement: &Settlement, answers: &[ProviderAnswer]) -> Problem {
        self.note(at, settlement, answers).await;
        self.ledger.metrics().count(Metric::PspUnknown, &at.tenant, Operation::SettlementRun);
        Problem::outcome_unknown()
    }
}
