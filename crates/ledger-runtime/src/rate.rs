//! Per-tenant limits, kept by the functions themselves: an HTTP API has no usage plans, and its throttles
//! know routes, not tenants. Only verified requests count, so that nobody uses up what is another's.

use crate::dynamo::WriteError;
use crate::execute::Ledger;
use crate::identity::verified_tenant;
use crate::metrics::Metric;
use crate::notes::RequestNotes;
use crate::problem::Problem;
use crate::tenant::Records;
use axum::extract::{self, Request};
use axum::middleware::Next;
use axum::response::Response;
use ledger_core::ids::Tenant;
use ledger_core::rate::{Allotment, RateWindow, RequestRate, Step, lease};
use ledger_core::retry;
use ledger_core::time::Timestamp;
use ledger_core::transaction::Verdict;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a request waits for the store to say whether it may go on: less than the store's own
/// timeouts, so that a store that is away is not waited for twice.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many tenants one environment keeps count of.
const TENANTS_MAX: usize = 10_000;

/// What this environment knows of each tenant's window.
///
/// Of a window of 10 s, 10 x the tenant's rate pass at most, over all environments, and each one's free
/// allowance of a hundredth of that (at least one request). It guards fairness, not money: when the
/// store does not say whether a tenant may go on, the request passes and is counted as unknown.
#[derive(Clone)]
pub struct Limiter(Arc<State>);

struct State {
    ledger: Ledger,
    records: Arc<Records>,
    /// The rate of tenants whose terms name none.
    rate_default: RequestRate,
    buckets: Mutex<HashMap<Tenant, Arc<Bucket>>>,
}

/// One tenant's.
#[derive(Debug)]
struct Bucket {
    allotment: Mutex<Allotment>,
    /// Whose turn it is to lease: the others wait, and use what is there then.
    turn: tokio::sync::Mutex<()>,
}

/// What became of a lease.
enum Leased {
    Granted,
    /// The budget is used up.
    Refused,
    /// Others were at the item, twice.
    Contended,
    /// The store did not say.
    Unknown,
}

/// The middleware of routes behind a token: counts the request to the verified token's tenant. Requests
/// without one pass; a terminal's are counted when its signature has been verified.
///
/// # Errors
/// 429 `rate_limited`.
pub async fn limit(
    extract::State(limiter): extract::State<Limiter>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(tenant) = verified_tenant(request.extensions()) {
        if let Some(notes) = request.extensions().get::<RequestNotes>() {
            notes.set_tenant(&tenant);
        }
        limiter.check(&tenant).await?;
    }
    Ok(next.run(request).await)
}

impl Limiter {
    /// Over a ledger's store, with no request counted yet.
    pub(crate) fn new(ledger: &Ledger, records: &Arc<Records>, rate_default: RequestRate) -> Self {
        let (ledger, records) = (ledger.clone(), Arc::clone(records));
        Self(Arc::new(State { ledger, records, rate_default, buckets: Mutex::default() }))
    }

    /// Counts a verified request to its tenant, and refuses it if the tenant has made as many as it may.
    ///
    /// # Errors
    /// 429 `rate_limited`, with the time until the window is over.
    pub(crate) async fn check(&self, tenant: &Tenant) -> Result<(), Problem> {
        let bucket = self.bucket(tenant, self.now());
        if bucket.with(|allotment| allotment.pass_first(self.now())) {
            return Ok(());
        }
        let Some(rate) = self.rate_of(tenant).await else { return Ok(()) };
        if self.to_lease(tenant, &bucket, rate)?.is_none() {
            return Ok(());
        }
        let _turn = bucket.turn.lock().await;
        // Whoever had the turn before may have leased enough for several, or heard that there is no more.
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

    /// Takes what is there for a request: `None` if it passes, else the window that a chunk must be leased of.
    fn to_lease(&self, tenant: &Tenant, bucket: &Bucket, rate: RequestRate) -> Result<Option<RateWindow>, Problem> {
        // The clock is read while nobody else changes the allotment: a request that came just before a
        // window's end would bring the old window back.
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

    /// How many requests the tenant may make. `None` if that is not known, or there is no such tenant:
    /// its handler will say so.
    async fn rate_of(&self, tenant: &Tenant) -> Option<RequestRate> {
        let terms = self.0.records.tenant(self.0.ledger.dynamo(), tenant, self.now());
        match tokio::time::timeout(PATIENCE, terms).await {
            Ok(Ok(terms)) => Some(terms?.requests_per_second.unwrap_or(self.0.rate_default)),
            Ok(Err(_)) | Err(_) => {
                self.count_unknown(tenant);
                None
            }
        }
    }

    async fn lease(&self, tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Leased {
        let asked = async {
            match self.lease_once(tenant, window, rate).await {
                Leased::Contended => {
                    tokio::time::sleep(retry::backoff(0, self.0.ledger.entropy().jitter())).await;
                    self.lease_once(tenant, window, rate).await
                }
                settled @ (Leased::Granted | Leased::Refused | Leased::Unknown) => settled,
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or(Leased::Unknown)
    }

    /// Conflicts are not counted as `TransactionConflict`: an alarm on money hangs on that.
    async fn lease_once(&self, tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Leased {
        let Ok(transaction) = lease(tenant, window, rate) else { return Leased::Unknown };
        let why = match self.0.ledger.dynamo().write(&transaction).await {
            Ok(()) => return Leased::Granted,
            Err(WriteError::Cancelled(cancellation)) => match transaction.classify(&cancellation.reasons) {
                Verdict::Rejected(_) => return Leased::Refused,
                Verdict::Conflict => return Leased::Contended,
                Verdict::Throttled => "throttled".to_owned(),
                Verdict::Broken(broken) => broken.to_string(),
                Verdict::MarkerStands(_) => "a marker".to_owned(),
            },
            Err(
                error @ (WriteError::Throttled
                | WriteError::Determinate(_)
                | WriteError::Unadoptable(_)
                | WriteError::Indeterminate(_)),
            ) => error.to_string(),
        };
        tracing::warn!(%tenant, why, "requests could not be leased");
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
            // All of this window: any one goes. Its tenant gets another free allowance, nothing else.
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
