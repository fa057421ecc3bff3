//! The keys of markers, from a kept secret: read when a marker names one, and before a claim is written with one.

use super::Ledger;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::secrets::{KeptSecret, SecretError, SecretSource};
use ledger_core::idempotency::{Answer, AnyAnswer, Fingerprint, Flight, KeyId, MarkerError, MarkerKeys, StoredAnswer};
use ledger_core::keys::Key;
use ledger_core::personal::Masked;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The keys of a secret that is read again every five minutes.
pub(super) struct KeptMarkerKeys {
    secret: KeptSecret,
    /// The text that was parsed last, and its keys.
    parsed: Mutex<Option<(Masked<String>, Arc<MarkerKeys>)>>,
}

impl fmt::Debug for KeptMarkerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptMarkerKeys")
    }
}

impl KeptMarkerKeys {
    fn parse(&self, text: Result<Masked<String>, SecretError>) -> Option<Arc<MarkerKeys>> {
        let text = text.inspect_err(|error| tracing::error!(%error, "marker keys not read")).ok()?;
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, keys)) = &*parsed
            && *of == text
        {
            return Some(Arc::clone(keys));
        }
        let keys = MarkerKeys::parse(text.expose());
        let keys = keys.inspect_err(|error| tracing::error!(%error, "marker keys not usable"));
        match keys {
            Ok(keys) => {
                let keys = Arc::new(keys);
                *parsed = Some((text, Arc::clone(&keys)));
                Some(keys)
            }
            // The keys before are a part of what the secret should have: its markers stay readable.
            Err(_) => parsed.as_ref().map(|(_, keys)| Arc::clone(keys)),
        }
    }
}

impl Ledger {
    /// Adds the keys of markers.
    #[must_use]
    pub fn with_marker_keys(self, source: impl SecretSource + 'static) -> Self {
        let secret = KeptSecret::new(source, &self.clock, &self.metrics);
        let kept = KeptMarkerKeys { secret, parsed: Mutex::default() };
        Self { marker_keys: Some(Arc::new(kept)), ..self }
    }

    /// Reads the keys, so that the first request that needs them does not wait. An error is logged only.
    pub async fn warm_up_marker_keys(&self) {
        if let Some(kept) = &self.marker_keys {
            let _ = kept.parse(kept.secret.read().await);
        }
    }

    /// The keys that markers are written with, and that key what customers are looked up by.
    ///
    /// # Errors
    /// 503 without keys: nothing may be written.
    pub async fn marker_keys(&self) -> Result<Arc<MarkerKeys>, Problem> {
        let keys = match &self.marker_keys {
            Some(kept) => kept.parse(kept.secret.read().await),
            None => None,
        };
        keys.ok_or_else(|| self.keys_unavailable())
    }

    /// Calls `read`, a second time with keys if it needs one. Other errors are returned as they are.
    ///
    /// # Errors
    /// 503 if the key cannot be had.
    pub(super) async fn with_keys<T>(
        &self,
        read: impl Fn(Option<&MarkerKeys>) -> Result<T, MarkerError>,
    ) -> Result<Result<T, MarkerError>, Problem> {
        match read(None) {
            Err(MarkerError::KeyAbsent(id)) => Ok(read(Some(&*self.keys_with(&id).await?))),
            done @ (Ok(_) | Err(MarkerError::Item(_) | MarkerError::Encrypted(_))) => Ok(done),
        }
    }

    /// The keys, among them this one.
    async fn keys_with(&self, id: &KeyId) -> Result<Arc<MarkerKeys>, Problem> {
        let Some(kept) = &self.marker_keys else { return Err(self.keys_unavailable()) };
        if let Some(keys) = kept.parse(kept.secret.read().await)
            && keys.contains(id)
        {
            return Ok(keys);
        }
        // Another process may have read a key that was added within the last five minutes.
        let keys = kept.parse(kept.secret.read_anew().await).filter(|keys| keys.contains(id));
        keys.ok_or_else(|| {
            tracing::error!(key = %id, "a marker names a key that the secret does not have");
            self.keys_unavailable()
        })
    }

    fn keys_unavailable(&self) -> Problem {
        self.metrics.count_of(Metric::SecretsStale, None, None);
        Problem::keys_unavailable()
    }

    /// Decrypts a stored response, if it is encrypted.
    ///
    /// # Errors
    /// 503 without its key, 500 if it was not encrypted for this marker.
    pub(crate) async fn open(
        &self,
        answer: &StoredAnswer,
        marker: &Key,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Answer, Problem> {
        let opened = self.with_keys(|keys| answer.open(marker, fingerprint, keys)).await?;
        opened.map_err(Problem::from)
    }

    /// Builds what the marker of an operation in flight stores of its response.
    ///
    /// # Errors
    /// 503 without the key that it was claimed with.
    pub(crate) async fn stored(&self, flight: &Flight, answer: &AnyAnswer) -> Result<StoredAnswer, Problem> {
        let stored = self.with_keys(|keys| flight.stored(answer, keys)).await?;
        stored.map_err(|error| self.broken(&flight.tenant, flight.operation, &error.to_string()))
    }
}
