//! Randomness for ids, tokens, one-time codes and jitter: the operating system's, or a test's.
//! Nothing that needs it goes on without it.

use ledger_core::time::Timestamp;
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

type Fill = dyn Fn(&mut [u8]) -> Result<(), EntropyError> + Send + Sync;

/// Yields random bytes. Cheap to clone.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness")]
pub struct EntropyError;

impl Entropy {
    /// The operating system's.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(|bytes| getrandom::fill(bytes).map_err(|_| EntropyError)))
    }

    /// What `fill` writes, for tests.
    pub fn from_fn(fill: impl Fn(&mut [u8]) -> Result<(), EntropyError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// `N` random bytes.
    ///
    /// # Errors
    /// [`EntropyError`] if there are none to be had.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }

    /// A UUIDv7 born at `now`.
    ///
    /// # Errors
    /// [`EntropyError`] if there is no randomness to be had.
    pub fn uuid_v7(&self, now: Timestamp) -> Result<Uuid, EntropyError> {
        let millis = u64::try_from(now.millis()).unwrap_or(0);
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()?).into_uuid())
    }

    /// A random word for jitter, where none is better than an error.
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
    fn an_id_is_born_when_the_clock_says() {
        let now = Timestamp::parse("2026-11-21T09:30:00.123Z").unwrap();
        let id = Entropy::system().uuid_v7(now).unwrap();
        assert_eq!(ledger_core::ids::born_at(id), Some(now));
        assert_ne!(id, Entropy::system().uuid_v7(now).unwrap());
    }
}
