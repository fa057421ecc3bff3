//! Limits the request rate per tenant, per caller, and per source of requests without an identity.
//!
//! An HTTP API has no usage plans, and its throttles count per route, not per tenant. Only verified requests are
//! counted to a tenant or caller, so that a client cannot use up a rate that is not its own. A caller's limit comes
//! before its tenant's: one caller that floods does not use up the rate of its tenant.

mod callers;

use crate::callers::Callers;
use crate::config::CallerConfig;
use crate::dynamo::WriteError;
use crate::execute::Ledger;
use crate::identity::verified_caller;
use crate::metrics::Metric;
use crate::notes::RequestNotes;
use crate::problem::Problem;
use crate::pseudonym::SourceAddress;
use crate::tenant::Records;
use axum::extract::{self, Request};
use axum::middleware::Next;
use axum::response::Response;
use callers::Buckets;
use http::Extensions;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::rate::{Allotment, RateWindow, RequestRate, Step, lease};
use ledger_core::retry;
use ledger_core::time::Timestamp;
use ledger_core::transaction::Verdict;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest wait for the store before a request passes uncounted. Shorter than the store's own timeouts, so that an
/// unavailable store delays a request only once.
const LEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of tenants for which one environment keeps a count.
const TENANTS_MAX: usize = 10_000;

/// Limits requests by this environment's cached state of each tenant's window.
///
/// Over all environments, at most 10 x the tenant's rate pass in a window of 10 s, and in addition each environment's
/// free allowance of a hundredth of that (at least one request). The limit guards fairness, not money: if the outcome
/// of a lease is unknown, the request passes and is counted as unknown.
#[derive(Clone)]
pub struct Limiter(Arc<State>);

struct State {
    ledger: Ledger,
    records: Arc<Records>,
    /// The rate of tenants whose terms have none.
    rate_default: RequestRate,
    buckets: Mutex<HashMap<Tenant, Arc<Bucket>>>,
    callers: Buckets<(Tenant, Actor)>,
    /// Of requests without an identity. Those whose source is unknown share a bucket.
    sources: Buckets<Option<SourceAddress>>,
}

/// The allotment of one tenant in this environment.
#[derive(Debug)]
struct Bucket {
    allotment: Mutex<Allotment>,
    /// Held during a lease: other requests of the tenant wait, and then use what was leased.
    turn: tokio::sync::Mutex<()>,
}

/// The outcome of a lease.
enum Leased {
    Granted,
    /// The budget is used up.
    Refused,
    /// Two attempts in a row conflicted with other environments' writes of the item.
    Contended,
    /// The store's answer is unknown, or it is an error.
    Unknown,
}

/// Counts a request to its verified token's caller and tenant: the middleware of routes behind a token.
///
/// Requests without a token pass; a terminal's are counted when its signature has been verified.
///
/// # Errors
/// 429 `rate_limited`.
pub(crate) async fn limit(
    extract::State((limiter, callers)): extract::State<(Limiter, Callers)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some((tenant, actor)) = verified_caller(request.extensions()) {
        note_caller(&callers, request.extensions(), &tenant, actor.as_ref());
        limiter.check(&tenant, actor).await?;
    }
    Ok(next.run(request).await)
}

/// Notes the caller for the log line, so that a request that is refused has it too.
pub(crate) fn note_caller(callers: &Callers, extensions: &Extensions, tenant: &Tenant, actor: Option<&Actor>) {
    if let Some(notes) = extensions.get::<RequestNotes>() {
        notes.set_caller(tenant, actor.and_then(|actor| callers.name_actor(tenant, actor)));
    }
}

impl Limiter {
    /// Creates a limiter over the ledger's store, with no request counted yet.
    pub(crate) fn new(
        ledger: &Ledger,
        records: &Arc<Records>,
        rate_default: RequestRate,
        callers: &CallerConfig,
    ) -> Self {
        let (ledger, records) = (ledger.clone(), Arc::clone(records));
        let (callers, sources) = (Buckets::new(callers.requests), Buckets::new(callers.source_requests));
        Self(Arc::new(State { ledger, records, rate_default, buckets: Mutex::default(), callers, sources }))
    }

    /// Counts a request without an identity to its source, before its body is read.
    ///
    /// # Errors
    /// 429 `rate_limited`, with the time until the source's next request passes.
    pub(crate) fn check_source(&self, source: Option<SourceAddress>) -> Result<(), Problem> {
        self.0.sources.take(source, self.now()).map_err(|after| {
            self.0.ledger.metrics().count_of(Metric::SourceRateLimited, None, None);
            Problem::caller_rate_limited(after)
        })
    }

    /// Counts a verified request to its caller and its tenant, and refuses it if the rate of either is used up.
    ///
    /// # Errors
    /// 429 `rate_limited`, with the time until the caller's next request passes or the tenant's window is over.
    pub(crate) async fn check(&self, tenant: &Tenant, actor: Option<Actor>) -> Result<(), Problem> {
        if let Some(actor) = actor {
            self.0.callers.take((tenant.clone(), actor), self.now()).map_err(|after| {
                self.0.ledger.metrics().count_of(Metric::CallerRateLimited, Some(tenant), None);
                Problem::caller_rate_limited(after)
            })?;
        }
        self.check_tenant(tenant).await
    }

    /// Counts a verified request to its tenant.
    async fn check_tenant(&self, tenant: &Tenant) -> Result<(), Problem> {
        let bucket = self.bucket(tenant, self.now());
        if bucket.with(|allotment| allotment.pass_first(self.now())) {
            return Ok(());
        }
        let Some(rate) = self.rate_of(tenant).await else { return Ok(()) };
        if self.to_lease(tenant, &bucket, rate)?.is_none() {
            return Ok(());
        }
        let _turn = bucket.turn.lock().await;
        // The previous holder of the lock may have leased enough for this request, or may have been refused.
        while let Some(window) = self.to_lease(tenant, &bucket, rate)? {
            match self.lease(tenant, window, rate).await {
                Leased::Granted => bucket.with(|allotment| allotment.grant(window, rate)),
                Leased::Refused => bucket.with(|allotment| allotment.refuse(window)),
                Leased::Contended => {
                    self.count_unknown(tenant);
                    return Ok(());
                }
                Leased::Unknown => {
                    bucket.with(|allotment| allotment.unknown(self.now()));
                    self.count_unknown(tenant);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes one request from the allotment: `None` if it passes, else the window to lease a chunk of.
    fn to_lease(&self, tenant: &Tenant, bucket: &Bucket, rate: RequestRate) -> Result<Option<RateWindow>, Problem> {
        // The clock is read under the allotment's lock: a time read before it could be in an earlier window, and bring
        // that window back.
        match bucket.with(|allotment| allotment.take(rate, self.now())) {
            Step::Pass | Step::PassUncounted => Ok(None),
            Step::Lease(window) => Ok(Some(window)),
            Step::Refuse(window) => {
                self.0.ledger.metrics().count_of(Metric::RateLimited, Some(tenant), None);
                Err(Problem::rate_limited(window.left(self.now())))
            }
        }
    }

    fn count_unknown(&self, tenant: &Tenant) {
        self.0.ledger.metrics().count_of(Metric::RateLimitUnknown, Some(tenant), None);
    }

    /// The tenant's rate. `None` if it cannot be read or the tenant does not exist: the handler reports that.
    async fn rate_of(&self, tenant: &Tenant) -> Option<RequestRate> {
        let now = self.now();
        let terms = self.0.records.tenant(self.0.ledger.dynamo(), tenant, (now, now));
        match tokio::time::timeout(LEASE_TIMEOUT, terms).await {
            Ok(Ok(terms)) => Some(terms?.requests_per_second.unwrap_or(self.0.rate_default)),
            Ok(Err(_)) | Err(_) => {
                self.count_unknown(tenant);
                None
            }
        }
    }

    async fn lease(&self, tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Leased {
        let attempts = async {
            match self.lease_once(tenant, window, rate).await {
                Leased::Contended => {
                    tokio::time::sleep(retry::backoff(0, self.0.ledger.entropy().jitter())).await;
                    self.lease_once(tenant, window, rate).await
                }
                settled @ (Leased::Granted | Leased::Refused | Leased::Unknown) => settled,
            }
        };
        tokio::time::timeout(LEASE_TIMEOUT, attempts).await.unwrap_or(Leased::Unknown)
    }

    /// Conflicts are not counted as `TransactionConflict`, because an alarm on money uses that metric.
    async fn lease_once(&self, tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Leased {
        let Ok(transaction) = lease(tenant, window, rate) else { return Leased::Unknown };
        let why = match self.0.ledger.dynamo().write(&transaction).await {
            Ok(()) => return Leased::Granted,
            Err(WriteError::Cancelled(cancellation)) => match transaction.classify(&cancellation.reasons) {
                Verdict::Rejected(_) => return Leased::Refused,
                Verdict::Conflict => return Leased::Contended,
                Verdict::Throttled => "throttled".to_owned(),
                Verdict::Broken(broken) => broken.to_string(),
                Verdict::MarkerExists(_) => "a marker".to_owned(),
            },
            Err(
                error @ (WriteError::Throttled
                | WriteError::Determinate(_)
                | WriteError::Unadoptable(_)
                | WriteError::LaterForm(_)
                | WriteError::Indeterminate(_)),
            ) => error.to_string(),
        };
        tracing::warn!(%tenant, why, "no requests leased: requests pass uncounted");
        Leased::Unknown
    }
}

impl Limiter {
    fn now(&self) -> Timestamp {
        self.0.ledger.clock().now()
    }

    fn bucket(&self, tenant: &Tenant, now: Timestamp) -> Arc<Bucket> {
        let mut buckets = self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get(tenant) {
            return Arc::clone(bucket);
        }
        if buckets.len() >= TENANTS_MAX {
            let window = RateWindow::of(now);
            buckets.retain(|_, bucket| bucket.with(|allotment| allotment.window() == window));
            // All are of this window: an arbitrary one is removed. Its tenant gets another free allowance.
            if buckets.len() >= TENANTS_MAX
                && let Some(any) = buckets.keys().next().cloned()
            {
                buckets.remove(&any);
            }
        }
        let bucket = Bucket { allotment: Mutex::new(Allotment::new(now)), turn: tokio::sync::Mutex::new(()) };
        Arc::clone(buckets.entry(tenant.clone()).or_insert(Arc::new(bucket)))
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Limiter")
    }
}

impl Bucket {
    fn with<R>(&self, act: impl FnOnce(&mut Allotment) -> R) -> R {
        act(&mut self.allotment.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
