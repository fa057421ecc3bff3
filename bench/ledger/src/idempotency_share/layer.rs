//! The layer's functions, called with a payment that was made. The stored marker must be a replay of it, so the claim
//! that is timed is the one that the request had.

use crate::inside::{Answered, Canned, Inside, MARKER, Payment};
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{
    Admission, Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, KeyVerdict, Marker, MarkerError, Window,
};
use ledger_core::ids::{Actor, CustomerId, MerchantId, Principal, Tenant};
use ledger_core::money::{Asset, RequestedAmount};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::rate::{self, RateWindow, RequestRate};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Planned, Transaction};
use ledger_runtime::execute::PlanError;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The times of one payment.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerTimes {
    pub(super) claim: Duration,
    pub(super) fingerprint: Duration,
    pub(super) marker: Duration,
    pub(super) render: Duration,
    pub(super) verdict: Duration,
    pub(super) alone: Duration,
    pub(super) sdk: Duration,
}

/// A request's typed values, which its handler has before it claims the key, and its answer.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    tenant: Tenant,
    customer: CustomerId,
    merchant: MerchantId,
    amount: RequestedAmount,
    key: &'a str,
    answer: Answer,
    now: Timestamp,
}

fn failed(error: impl Debug) -> String {
    format!("the layer's functions cannot be called: {error:?}")
}

impl<'a> Layer<'a> {
    pub(super) fn of(inside: &Inside, payment: &'a Payment, first: &Answered) -> Result<Self, String> {
        Ok(Self {
            tenant: inside.tenant.clone(),
            customer: CustomerId::parse(&payment.payer).map_err(failed)?,
            merchant: MerchantId::parse(&payment.merchant).map_err(failed)?,
            amount: RequestedAmount::parse(Asset::Ecopay, &payment.amount).map_err(failed)?,
            key: &payment.key,
            answer: Answer {
                status: first.status,
                content_type: "application/json".to_owned(),
                location: Some(first.location.clone()),
                body: first.body.clone(),
            },
            now: inside.app.now(),
        })
    }

    /// What the function does with the key and the typed body of a payment.
    pub(super) fn claim(&self) -> Result<Claim, String> {
        let window = Window::of(Operation::Pay);
        let key = IdempotencyKey::from_request([self.key], None).map_err(failed)?;
        if key.admit(self.now, &window).map_err(failed)? != Admission::Execute {
            return Err(failed("the key is not admitted"));
        }
        let fields = Fields::new()
            .with("merchant_id", self.merchant)
            .with_requested("amount", &self.amount)
            .with_amounts("paid", [&self.amount]);
        Ok(Claim {
            tenant: self.tenant.clone(),
            principal: Principal::Customer(self.customer),
            actor: Actor::Customer(self.customer),
            operation: Operation::Pay,
            key: key.into(),
            request: CanonicalRequest { method: "POST", path: "/v1/me/payments".to_owned(), fields },
            window,
            now: self.now,
        })
    }

    pub(super) async fn times(&self, inside: &Inside, stored: &Item) -> Result<LayerTimes, String> {
        let (claimed, claim) = timed(|| self.claim());
        let claimed = claimed?;
        let keys = inside.app.ledger().marker_keys().await.map_err(failed)?;
        let (digest, fingerprint) =
            timed(|| claimed.request.fingerprint(&claimed.tenant, claimed.principal, &keys, keys.current()));
        digest.ok_or_else(|| failed("no fingerprint"))?;
        // A refusal's transaction is the marker alone, with this answer.
        let (transaction, marker) = timed(|| Transaction::refusal(&claimed, &self.answer, &keys, None));
        let transaction = transaction.map_err(failed)?;
        let (rendered, render) = timed(|| transaction.items().iter().all(|item| item.render().is_some()));
        let (verdict_of_it, verdict) = timed(|| {
            let marker = Marker::read(stored).map_err(MarkerError::from)?;
            claimed.verdict(&marker, Some(&keys))
        });
        let is_replay = verdict_of_it.map_err(failed)? == KeyVerdict::Replay(self.answer.clone());
        if !rendered || !is_replay {
            return Err(failed("the stored marker is not a replay of the payment"));
        }
        let alone = self.alone(inside, claimed).await?;
        Ok(LayerTimes { claim, fingerprint, marker, render, verdict, alone, sdk: self.sdk(inside).await? })
    }

    /// A refusal that is stored under the key, by a store that answers at once.
    async fn alone(&self, inside: &Inside, claim: Claim) -> Result<Duration, String> {
        let _ = inside.store.take();
        inside.store.answer_next(Canned::applied());
        let plan = async |_: Context| Err::<Planned<()>, _>(PlanError::from(Failure::Insufficient));
        let began = Instant::now();
        let outcome = inside.app.perform(claim, Admission::Execute, plan, |()| self.answer.clone()).await;
        let took = began.elapsed();
        let calls = inside.store.take();
        let keyed = calls.iter().filter(|call| call.body.contains(MARKER)).count();
        if (outcome.status(), keyed) != (400, 1) {
            return Err(failed((outcome, keyed)));
        }
        // The terms are read once a minute.
        Ok(took.saturating_sub(calls.iter().map(|call| call.took).sum()))
    }

    /// A transaction of one small update, by a store that answers at once.
    async fn sdk(&self, inside: &Inside) -> Result<Duration, String> {
        let lease = rate::lease(&self.tenant, RateWindow::of(self.now), RequestRate::DEFAULT).map_err(failed)?;
        inside.store.answer_next(Canned::applied());
        let began = Instant::now();
        let written = inside.app.dynamo().write(&lease).await;
        let took = began.elapsed();
        let calls = inside.store.take().len();
        written.map_err(failed)?;
        if calls == 1 { Ok(took) } else { Err(failed(calls)) }
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let done = run();
    (done, began.elapsed())
}
