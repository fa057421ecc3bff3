//! Access to the PSP, with the secrets of the environment or those of a kept secret. A kept secret is read again every
//! five minutes, so that it can be rotated while functions run.

use super::PspExecutor;
use crate::config::{KeptStripe, StripeConfig};
use crate::execute::Ledger;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::{Psp, Stripe};
use crate::secrets::{REFUSED_REREAD_AFTER, RETRIED_AFTER, SECRET_KEPT_FOR, SecretSource};
use ledger_core::personal::Masked;
use ledger_core::psp::PspTerms;
use ledger_core::time::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A PSP: the calls to it, and the secrets of its events' signatures. Cheap to clone.
#[derive(Clone)]
pub struct Provider {
    psp_executor: PspExecutor,
    webhook_secrets: Arc<[Masked<String>]>,
}

impl Provider {
    /// Creates a PSP of this configuration, for the ledger `name`.
    pub(crate) fn new(ledger: &Ledger, name: &str, psp: impl Psp + 'static, config: &StripeConfig) -> Self {
        let terms = PspTerms { ledger: name.to_owned(), livemode: config.livemode(), account: config.account.clone() };
        let psp_executor = PspExecutor::new(ledger.clone(), psp, terms);
        Self { psp_executor, webhook_secrets: config.webhook_secrets.clone().into() }
    }

    /// The calls to the PSP.
    #[must_use]
    pub fn psp_executor(&self) -> &PspExecutor {
        &self.psp_executor
    }

    /// The secrets that its events are signed with: more than one during a rotation.
    #[must_use]
    pub fn webhook_secrets(&self) -> &[Masked<String>] {
        &self.webhook_secrets
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider")
    }
}

/// How a function gets access to a PSP.
#[derive(Clone)]
pub(crate) enum ProviderAccess {
    /// No PSP is configured.
    None,
    /// The PSP is configured by the environment.
    Given(Provider),
    /// The PSP is configured by a kept secret.
    Kept(Arc<Keeper>),
}

impl ProviderAccess {
    /// The PSP, with secrets read at most five minutes ago; `None` if none is configured.
    ///
    /// # Errors
    /// 503 if no usable secret has been read yet, so that it is not known whether one is configured.
    pub(crate) async fn provider(&self) -> Result<Option<Provider>, Problem> {
        match self {
            Self::None => Ok(None),
            Self::Given(provider) => Ok(Some(provider.clone())),
            Self::Kept(keeper) => keeper.provider().await,
        }
    }
}

/// Updates a PSP from its kept secret.
pub(crate) struct Keeper {
    source: Box<dyn SecretSource>,
    kept: KeptStripe,
    ledger: Ledger,
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    provider: Option<Provider>,
    text: Option<Masked<String>>,
    /// When the secret was last read, and whether that succeeded.
    last_read: Option<(Timestamp, bool)>,
}

impl Keeper {
    pub(crate) fn new(source: impl SecretSource + 'static, kept: KeptStripe, ledger: Ledger, name: &str) -> Self {
        Self { source: Box::new(source), kept, ledger, name: name.to_owned(), state: Mutex::default() }
    }

    /// The PSP, if the secret configures one. If the secret cannot be read, the one before stays.
    ///
    /// # Errors
    /// 503 if there is none before.
    pub(crate) async fn provider(&self) -> Result<Option<Provider>, Problem> {
        let mut state = self.state.lock().await;
        let valid_for = if state.last_read.is_some_and(|(_, well)| well) { SECRET_KEPT_FOR } else { RETRIED_AFTER };
        self.refresh(&mut state, valid_for).await;
        if state.text.is_none() {
            return Err(Problem::unavailable());
        }
        Ok(state.provider.clone())
    }

    /// The PSP for an event whose signature the present secrets do not verify: read at most ten seconds ago.
    pub(crate) async fn provider_anew(&self) -> Option<Provider> {
        let mut state = self.state.lock().await;
        self.refresh(&mut state, REFUSED_REREAD_AFTER).await;
        state.provider.clone()
    }

    async fn refresh(&self, state: &mut State, valid_for: Duration) {
        let now = self.ledger.clock().now();
        if state.last_read.is_some_and(|(at, _)| at <= now && now < at.plus(valid_for)) {
            return;
        }
        let made = match self.source.read().await {
            Ok(text) if state.text.as_ref() == Some(&text) => Ok(None),
            Ok(text) => self.made_of(state, &text).map(|provider| Some((provider, text))),
            Err(error) => Err(error.to_string()),
        };
        state.last_read = Some((now, made.is_ok()));
        match made {
            Ok(None) => {}
            Ok(Some((provider, text))) => (state.provider, state.text) = (provider, Some(text)),
            Err(why) => {
                self.ledger.metrics().count_of(Metric::SecretsStale, None, None);
                tracing::error!(why, "Stripe's secret was not replaced");
            }
        }
    }

    fn made_of(&self, state: &State, text: &Masked<String>) -> Result<Option<Provider>, String> {
        let Some(config) = self.kept.config(text).map_err(|error| error.to_string())? else { return Ok(None) };
        let stripe = Stripe::new(&config, &self.name).map_err(|error| error.to_string())?;
        let provider = Provider::new(&self.ledger, &self.name, stripe, &config);
        let other_mode =
            |before: &Provider| before.psp_executor.terms().livemode != provider.psp_executor.terms().livemode;
        if state.provider.as_ref().is_some_and(other_mode) {
            return Err("the new API key has the other mode, live or test".to_owned());
        }
        Ok(Some(provider))
    }
}

#[cfg(test)]
mod tests;
