//! Secrets that are not in the environment, behind one small port. Nothing of a secret gets into an error or a log.

use crate::execute::Ledger;
use crate::metrics::Metric;
use futures::future::BoxFuture;
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a secret that was read is believed.
pub(crate) const BELIEVED_FOR: Duration = Duration::from_secs(300);
/// How soon one that could not be read is asked for again.
pub(crate) const RETRIED_AFTER: Duration = Duration::from_secs(30);
/// How soon one is read again for a caller whom its text was refused to: refusals must not become calls.
pub(crate) const DOUBTED_AFTER: Duration = Duration::from_secs(10);

/// A secret could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret cannot be read ({code}): check its ARN and the permission secretsmanager:GetSecretValue")]
pub struct SecretError {
    /// What the service answered, a code.
    pub code: String,
}

/// Where one secret is kept.
pub trait SecretSource: Send + Sync {
    /// Its text as it stands.
    ///
    /// # Errors
    /// [`SecretError`] if that is not known.
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>>;
}

/// A secret that is read again every five minutes, so that it can be exchanged while functions run. Where it cannot
/// be read, the text before stays in use.
pub struct KeptSecret {
    source: Box<dyn SecretSource>,
    ledger: Ledger,
    state: Mutex<KeptText>,
}

#[derive(Default)]
struct KeptText {
    text: Option<Masked<String>>,
    /// When it was last asked for, and whether that went well.
    asked: Option<(Timestamp, bool)>,
}

impl KeptSecret {
    /// A secret that is read when it is first needed.
    pub fn new(source: impl SecretSource + 'static, ledger: &Ledger) -> Self {
        Self { source: Box::new(source), ledger: ledger.clone(), state: Mutex::default() }
    }

    /// Its text, as it was at most five minutes ago.
    ///
    /// # Errors
    /// [`SecretError`] if it has never been read.
    pub async fn read(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        let believed = if state.asked.is_some_and(|(_, well)| well) { BELIEVED_FOR } else { RETRIED_AFTER };
        self.text(&mut state, believed).await
    }

    /// Its text for a caller whom the one before was refused to, as it was at most ten seconds ago.
    ///
    /// # Errors
    /// As [`KeptSecret::read`].
    pub async fn read_anew(&self) -> Result<Masked<String>, SecretError> {
        let mut state = self.state.lock().await;
        self.text(&mut state, DOUBTED_AFTER).await
    }

    async fn text(&self, state: &mut KeptText, believed: Duration) -> Result<Masked<String>, SecretError> {
        let now = self.ledger.clock().now();
        let is_fresh = state.asked.is_some_and(|(at, _)| at <= now && now < at.plus(believed));
        if let (Some(text), true) = (&state.text, is_fresh) {
            return Ok(text.clone());
        }
        let read = self.source.read().await;
        state.asked = Some((now, read.is_ok()));
        match read {
            Ok(text) => {
                state.text = Some(text.clone());
                Ok(text)
            }
            Err(error) => {
                let before = state.text.clone().ok_or_else(|| error.clone())?;
                self.ledger.metrics().count_of(Metric::SecretsStale, None, None);
                tracing::error!(%error, "secret not read again: the text before stays in use");
                Ok(before)
            }
        }
    }
}
