//! The state of a function's handlers: the ledger, cached terms, and claims on idempotency keys.

use crate::callers::Callers;
use crate::clock::Clock;
use crate::config::{Config, KeptStripe, StripeConfig};
use crate::dynamo::Dynamo;
use crate::execute::{Ledger, Outcome, PlanError, PlannedEffect};
use crate::file_store::FileStore;
use crate::identity::Caller;
use crate::metrics::{Metric, Metrics};
use crate::problem::Problem;
use crate::psp::Psp;
use crate::rate::Limiter;
use crate::request::RequestKey;
use crate::sealed_heads::SealedHeads;
use crate::secrets::{KeptSecret, SecretError, SecretSource};
use crate::tenant::Records;
use crate::topups::{Keeper, Provider, ProviderAccess, PspExecutor};
use ledger_core::cards::pin::PinKeys;
use ledger_core::idempotency::{
    Admission, AnyAnswer, CanonicalRequest, Claim, IdempotencyKey, KeyError, PlannedCall, Window,
};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::personal::Masked;
use ledger_core::plan::Context;
use ledger_core::terms::{KeyPhase, MerchantTerms, TenantTerms};
use ledger_core::time::Timestamp;
use std::fmt;
use std::sync::Arc;

/// The state that all routers share. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
    provider: ProviderAccess,
    pin_keys: Option<Arc<KeptSecret>>,
    files: Option<Arc<dyn FileStore>>,
}

struct Inner {
    ledger: Ledger,
    records: Arc<Records>,
    limiter: Limiter,
    callers: Callers,
    sealed_heads: SealedHeads,
    config: Config,
}

impl App {
    /// Creates the state over a ledger, with empty caches.
    #[must_use]
    pub fn new(ledger: Ledger, config: Config) -> Self {
        let records = Arc::new(Records::default());
        let limiter = Limiter::new(&ledger, &records, config.tenant_requests, &config.callers);
        let callers = Callers::new(&config.callers);
        Self {
            inner: Arc::new(Inner { ledger, records, limiter, callers, sealed_heads: SealedHeads::default(), config }),
            provider: ProviderAccess::None,
            pin_keys: None,
            files: None,
        }
    }

    /// Adds a payment provider with this configuration.
    #[must_use]
    pub fn with_psp(self, psp: impl Psp + 'static, config: &StripeConfig) -> Self {
        let provider = Provider::new(self.ledger(), &self.config().ledger, psp, config);
        Self { provider: ProviderAccess::Given(provider), ..self }
    }

    /// Adds Stripe, set up from a kept secret that may change while the function runs.
    #[must_use]
    pub fn with_kept_secrets(self, source: impl SecretSource + 'static, kept: KeptStripe) -> Self {
        let keeper = Keeper::new(source, kept, self.ledger().clone(), &self.config().ledger);
        Self { provider: ProviderAccess::Kept(Arc::new(keeper)), ..self }
    }

    /// Adds the keys of cards' PINs, from a kept secret that may change while the function runs.
    #[must_use]
    pub fn with_pin_keys(self, source: impl SecretSource + 'static) -> Self {
        let kept = KeptSecret::new(source, self.clock(), self.metrics());
        Self { pin_keys: Some(Arc::new(kept)), ..self }
    }

    /// Adds the store of the files that staff fetch.
    #[must_use]
    pub fn with_files(self, files: Arc<dyn FileStore>) -> Self {
        Self { files: Some(files), ..self }
    }

    /// The store of the files that staff fetch; `None` if there is none.
    #[must_use]
    pub fn files(&self) -> Option<&dyn FileStore> {
        self.files.as_deref()
    }

    /// Returns the keys of cards' PINs, read at most five minutes ago.
    ///
    /// # Errors
    /// 503 if they cannot be read; nothing has been done.
    pub async fn pin_keys(&self) -> Result<PinKeys, Problem> {
        match &self.pin_keys {
            Some(kept) => pin_keys_of(kept.read().await),
            None => {
                tracing::error!(
                    "card pin keys not configured: set CARD_PIN_KEYS_SECRET_ID (docs/operations/card-pins.md)"
                );
                Err(Problem::pin_keys_unavailable())
            }
        }
    }

    /// Reads the keys again, for a card whose PIN was set with a key that those of [`App::pin_keys`] lack.
    ///
    /// # Errors
    /// As [`App::pin_keys`].
    pub async fn pin_keys_anew(&self) -> Result<PinKeys, Problem> {
        match &self.pin_keys {
            Some(kept) => pin_keys_of(kept.read_anew().await),
            None => Err(Problem::pin_keys_unavailable()),
        }
    }

    /// Returns the payment provider, with secrets at most five minutes old; `None` if none is set up.
    ///
    /// # Errors
    /// 503 if its secret has not been read yet, so that it is not known whether one is set up.
    pub async fn provider_if_any(&self) -> Result<Option<Provider>, Problem> {
        self.provider.provider().await
    }

    /// Returns the payment provider, for requests that cannot do without one.
    ///
    /// # Errors
    /// 500 if none is set up, 503 if its secret has not been read yet; nothing has been done.
    pub async fn provider(&self) -> Result<Provider, Problem> {
        self.provider_if_any().await?.ok_or_else(|| {
            tracing::error!("stripe not configured: set its API key and webhook secrets (docs/webhooks.md)");
            Problem::internal()
        })
    }

    /// Reads the provider's secrets again, for an event whose signature the provider of [`App::provider`] rejected.
    ///
    /// `None` if no provider is set up, or if its secrets are not read from a kept secret and so cannot have changed.
    pub async fn provider_anew(&self) -> Option<Provider> {
        match &self.provider {
            ProviderAccess::None | ProviderAccess::Given(_) => None,
            ProviderAccess::Kept(keeper) => keeper.provider_anew().await,
        }
    }

    /// Returns the PSP executor.
    ///
    /// # Errors
    /// As [`App::provider`].
    pub async fn psp_executor(&self) -> Result<PspExecutor, Problem> {
        Ok(self.provider().await?.psp_executor().clone())
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// The table, for reads.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        self.inner.ledger.dynamo()
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        self.inner.ledger.metrics()
    }

    /// The cached records.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.inner.records
    }

    /// The limiter of requests.
    pub(crate) fn limiter(&self) -> &Limiter {
        &self.inner.limiter
    }

    /// What finds and names callers.
    pub(crate) fn callers(&self) -> &Callers {
        &self.inner.callers
    }

    /// The last segments of the audit trail that this process knows to be whole.
    pub(crate) fn sealed_heads(&self) -> &SealedHeads {
        &self.inner.sealed_heads
    }

    /// How the payment provider is set up.
    pub(crate) fn provider_access(&self) -> &ProviderAccess {
        &self.provider
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The clock of the ledger.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.inner.ledger.clock()
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// Returns a tenant's terms and switches at the present time, at most a minute old.
    ///
    /// For workers, reads, and requests that need the switches alone. What plans an entry takes [`App::terms_at`].
    ///
    /// # Errors
    /// 403 `tenant_unknown` if the tenant has no terms, 503 if the table did not answer.
    pub async fn terms(&self, tenant: &Tenant) -> Result<Arc<TenantTerms>, Problem> {
        self.terms_at(tenant, self.now()).await
    }

    /// Returns a tenant's terms at the time of a request, read at most a minute ago. A request that is planned again is
    /// planned under the same version, so its entry is of the time and the version that it names.
    ///
    /// # Errors
    /// As [`App::terms`].
    pub async fn terms_at(&self, tenant: &Tenant, at: Timestamp) -> Result<Arc<TenantTerms>, Problem> {
        let terms = self.inner.records.tenant(self.dynamo(), tenant, (at, self.now())).await?;
        terms.ok_or_else(Problem::tenant_unknown)
    }

    /// Returns whether a tenant has terms. `true` may be a minute old; `false` is always current.
    ///
    /// # Errors
    /// 503 if the table did not answer.
    pub(crate) async fn is_open(&self, tenant: &Tenant) -> Result<bool, Problem> {
        Ok(self.inner.records.tenant(self.dynamo(), tenant, (self.now(), self.now())).await?.is_some())
    }

    /// Returns a merchant's terms as they are in the table, not in the cache.
    ///
    /// For a caller that relies on a record being absent from all of the merchant's shards: their number may have been
    /// raised within the last minute.
    ///
    /// # Errors
    /// As [`App::merchant`].
    pub(crate) async fn merchant_anew(&self, tenant: &Tenant, id: MerchantId) -> Result<Arc<MerchantTerms>, Problem> {
        self.inner.records.forget_merchant(tenant, id);
        self.merchant(tenant, id).await
    }

    /// Returns a merchant's terms, at most a minute old.
    ///
    /// # Errors
    /// 404 if there is no such merchant, 503 if the table did not answer.
    pub async fn merchant(&self, tenant: &Tenant, id: MerchantId) -> Result<Arc<MerchantTerms>, Problem> {
        let merchant = self.inner.records.merchant(self.dynamo(), tenant, id, self.now()).await?;
        merchant.ok_or_else(Problem::not_found)
    }

    /// Answers a request under its key: with its stored response, or by executing what `plan` builds.
    ///
    /// `plan` is called only if the tenant has terms. It reads everything else that can change, so that a failure in it
    /// is answered after a stored response has been looked for.
    pub async fn perform<T, A, P, F>(
        &self,
        claim: Claim,
        admission: Admission,
        plan: P,
        render: impl Fn(&T::Receipt) -> A,
    ) -> Outcome
    where
        T: PlannedEffect,
        A: Into<AnyAnswer>,
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        self.perform_with_receipt(claim, admission, plan, render).await.0
    }

    /// As [`App::perform`], and returns the receipt if this call has executed the plan: `None` for a replay.
    pub async fn perform_with_receipt<T, A, P, F>(
        &self,
        claim: Claim,
        admission: Admission,
        plan: P,
        render: impl Fn(&T::Receipt) -> A,
    ) -> (Outcome, Option<T::Receipt>)
    where
        T: PlannedEffect,
        A: Into<AnyAnswer>,
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        self.ledger().perform_with_receipt(claim, admission, plan, render).await
    }

    /// Answers a request that calls the payment provider. A stored response is returned without a provider.
    pub async fn perform_call<P, F>(&self, claim: Claim, admission: Admission, plan: P) -> Outcome
    where
        P: Fn(Context, PspExecutor) -> F,
        F: Future<Output = Result<PlannedCall, PlanError>>,
    {
        let psp_executor = match self.psp_executor().await {
            Ok(psp_executor) => psp_executor,
            Err(problem) => return self.ledger().answer_unplanned(&claim, admission, problem).await,
        };
        let plan = async |cx| plan(cx, psp_executor.clone()).await;
        psp_executor.perform(claim, admission, plan).await
    }

    /// Builds a caller's claim on the key of a request, and says whether the request may be executed.
    ///
    /// A request without a key gets a generated one if the tenant's terms do not require keys, so that it is executed
    /// in the same way.
    ///
    /// # Errors
    /// 400 for a missing, malformed or future key. Without a key, also as [`App::terms`], which say whether one is
    /// required.
    pub async fn claim(
        &self,
        caller: &impl Caller,
        operation: Operation,
        key: RequestKey,
        request: CanonicalRequest,
    ) -> Result<(Claim, Admission), Problem> {
        let now = self.now();
        let window = Window::of(operation);
        let tenant = caller.tenant();
        self.metrics().count(Metric::KeyedRequest, tenant, operation);
        let (key, admission) = match key.0 {
            Ok(key) => {
                let admission = caller.admit(&key, now, &window).map_err(Problem::key)?;
                (key, admission)
            }
            Err(KeyError::Missing) => {
                self.metrics().count(Metric::IdempotencyKeyMissing, tenant, operation);
                match self.terms(tenant).await?.key_phase {
                    KeyPhase::Mandatory => return Err(Problem::key(KeyError::Missing)),
                    KeyPhase::Optional => (self.one_off_key(now)?, Admission::Execute),
                }
            }
            Err(error) => return Err(Problem::key(error)),
        };
        let claim = Claim {
            tenant: tenant.clone(),
            principal: caller.principal(),
            actor: caller.actor(),
            operation,
            key: key.into(),
            request,
            window,
            now,
        };
        Ok((claim, admission))
    }

    fn one_off_key(&self, now: Timestamp) -> Result<IdempotencyKey, Problem> {
        let id = self.inner.ledger.entropy().uuid_v7(now)?;
        IdempotencyKey::parse(&id.to_string()).map_err(Problem::key)
    }
}

fn pin_keys_of(read: Result<Masked<String>, SecretError>) -> Result<PinKeys, Problem> {
    let keys = read.map_err(|error| error.to_string());
    let keys = keys.and_then(|text| PinKeys::parse(text.expose()).map_err(|error| error.to_string()));
    keys.map_err(|error| {
        tracing::error!(error, "card pin keys not read");
        Problem::pin_keys_unavailable()
    })
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App")
    }
}
