//! Randomness for ids, tokens, one-time codes and jitter. Only jitter works without it.

use ledger_core::time::Timestamp;
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

type Fill = dyn Fn(&mut [u8]) -> Result<(), EntropyError> + Send + Sync;

/// A source of random bytes. Cheap to clone.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness")]
pub struct EntropyError;

impl Entropy {
    /// Returns the operating system's source.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(|bytes| getrandom::fill(bytes).map_err(|_| EntropyError)))
    }

    /// Creates a source that `fill` implements, for tests.
    pub fn from_fn(fill: impl Fn(&mut [u8]) -> Result<(), EntropyError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// Returns `N` random bytes.
    ///
    /// # Errors
    /// [`EntropyError`] if the source fails.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns a UUIDv7 of the time `now`.
    ///
    /// # Errors
    /// [`EntropyError`] if the source fails.
    pub fn uuid_v7(&self, now: Timestamp) -> Result<Uuid, EntropyError> {
        let millis = u64::try_from(now.millis()).unwrap_or(0);
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()?).into_uuid())
    }

    /// Returns a random number for jitter; 0 if the source fails.
    #[must_use]
    pub fn jitter(&self) -> u32 {
        self.bytes().map_or(0, u32::from_be_bytes)
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_v7_holds_the_given_time() {
        let now = Timestamp::parse("2026-11-21T09:30:00.123Z").unwrap();
        let id = Entropy::system().uuid_v7(now).unwrap();
        assert_eq!(ledger_core::ids::born_at(id), Some(now));
        assert_ne!(id, Entropy::system().uuid_v7(now).unwrap());
    }
}
