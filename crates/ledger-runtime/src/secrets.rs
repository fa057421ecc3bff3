//! Secrets that are not in the environment. No part of a secret gets into an error or a log.

use crate::clock::Clock;
use crate::metrics::{Metric, Metrics};
use futures::future::BoxFuture;
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a secret is used before it is read again.
pub(crate) const SECRET_KEPT_FOR: Duration = Duration::from_secs(300);
/// How soon a failed read is repeated.
pub(crate) const RETRIED_AFTER: Duration = Duration::from_secs(30);
/// How soon the secret is read again after its text was refused. The pause keeps refusals from becoming as many reads.
pub(crate) const REFUSED_REREAD_AFTER: Duration = Duration::from_secs(10);

/// A secret could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret cannot be read ({code}): check its ARN and the permission secretsmanager:GetSecretValue")]
pub struct SecretError {
    /// The error code that the service returned.
    pub code: String,
}

/// A store of one secret.
pub trait SecretSource: Send + Sync {
    /// Reads its present text.
    ///
    /// # Errors
    /// [`SecretError`] if it cannot be read.
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>>;
}

impl SecretSource for Masked<String> {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        let text = self.clone();
        Box::pin(std::future::ready(Ok(text)))
    }
}

/// A secret that is read again every five minutes, so that it can be rotated while functions run.
///
/// If a read fails, the previous text is used.
pub struct KeptSecret {
    source: Box<dyn SecretSource>,
    clock: Clock,
    metrics: Metrics,
    state: Mutex<KeptText>,
}

#[derive(Default)]
struct KeptText {
    text: Option<Masked<String>>,
    /// When it was last read, and whether that read succeeded.
    last_read: Option<(Timestamp, bool)>,
}

impl KeptSecret {
    /// Creates a secret that is read when it is first needed.
    pub fn new(source: impl SecretSource + 'static, clock: &Clock, metrics: &Metrics) -> Self {
        Self { source: Box::new(source), clock: clock.clone(), metrics: metrics.clone(), state: Mutex::default() }
    }

    /// The text, read at most five minutes ago unless the last read failed.
    ///
    /// # Errors
    /// [`SecretError`] if no read has succeeded yet.
    pub async fn read(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        let valid_for = if state.last_read.is_some_and(|(_, well)| well) { SECRET_KEPT_FOR } else { RETRIED_AFTER };
        self.text(&mut state, valid_for).await
    }

    /// The text, read at most ten seconds ago unless the last read failed. For a caller whose last text was refused.
    ///
    /// # Errors
    /// As [`KeptSecret::read`].
    pub async fn read_anew(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        self.text(&mut state, REFUSED_REREAD_AFTER).await
    }

    async fn text(&self, state: &mut KeptText, valid_for: Duration) -> Result<Masked<String>, SecretError> {
        let now = self.clock.now();
        let is_fresh = state.last_read.is_some_and(|(at, _)| at <= now && now < at.plus(valid_for));
        if let (Some(text), true) = (&state.text, is_fresh) {
            return Ok(text.clone());
        }
        let read = self.source.read().await;
        state.last_read = Some((now, read.is_ok()));
        match read {
            Ok(text) => {
                state.text = Some(text.clone());
                Ok(text)
            }
            Err(error) => {
                let before = state.text.clone().ok_or_else(|| error.clone())?;
                self.metrics.count_of(Metric::SecretsStale, None, None);
                tracing::error!(%error, "secret not read again: the previous text is used");
                Ok(before)
            }
        }
    }
}
