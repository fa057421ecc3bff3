//! A small cache for records that change rarely: tenant configuration, merchants, terminals' keys.
//! An absent record is not cached: it is read again each time. Where that is too often, a cache of its own keeps the keys.

use ledger_core::time::Timestamp;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// How long a record is used after it was read.
pub const CACHE_TIME: Duration = Duration::from_secs(60);
/// The most records of one kind that are kept, unless the cache has another bound.
pub const ENTRIES_MAX: usize = 10_000;

/// At most `MAX` records by key, each used for [`CACHE_TIME`] after it was read.
#[derive(Debug)]
pub struct Cache<K, V, const MAX: usize = ENTRIES_MAX>(RwLock<HashMap<K, Entry<V>>>);

#[derive(Clone, Debug)]
struct Entry<V> {
    read_at: Timestamp,
    value: V,
}

impl<K: Eq + Hash + Clone, V: Clone, const MAX: usize> Cache<K, V, MAX> {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self(RwLock::new(HashMap::new()))
    }

    /// Returns the record and when it was read, if that was within the last [`CACHE_TIME`].
    pub fn get(&self, key: &K, now: Timestamp) -> Option<(V, Timestamp)> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|entry| entry.is_fresh(now)).map(|entry| (entry.value.clone(), entry.read_at))
    }

    /// Keeps a record that was read at `now`.
    pub fn put(&self, key: K, value: V, now: Timestamp) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX && !entries.contains_key(&key) {
            entries.retain(|_, entry| entry.is_fresh(now));
            // All are fresh, so any one is removed. A miss only costs a read.
            if entries.len() >= MAX
                && let Some(any) = entries.keys().next().cloned()
            {
                entries.remove(&any);
            }
        }
        entries.insert(key, Entry { read_at: now, value });
    }

    /// Removes a record that this process has just changed.
    pub fn forget(&self, key: &K) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Returns the record, from the cache or through `load`; `None` if there is none.
    ///
    /// # Errors
    /// The error of `load`.
    pub async fn get_or_load<E, F>(&self, key: &K, now: Timestamp, load: impl FnOnce() -> F) -> Result<Option<V>, E>
    where
        F: Future<Output = Result<Option<V>, E>>,
    {
        if let Some((value, _)) = self.get(key, now) {
            return Ok(Some(value));
        }
        let loaded = load().await?;
        if let Some(value) = &loaded {
            self.put(key.clone(), value.clone(), now);
        }
        Ok(loaded)
    }
}

impl<K: Eq + Hash + Clone, V: Clone, const MAX: usize> Default for Cache<K, V, MAX> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Entry<V> {
    /// An entry with a future time is not fresh: the clock has been set back.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.read_at <= now && now < self.read_at.plus(CACHE_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_fresh_for_one_minute() {
        let cache = Cache::<_, _>::new();
        let at = Timestamp::from_millis(1_700_000_000_000);
        cache.put("a", 1, at);
        assert_eq!(cache.get(&"a", at), Some((1, at)));
        assert_eq!(cache.get(&"a", at.plus(Duration::from_millis(59_999))), Some((1, at)));
        assert_eq!(cache.get(&"a", at.plus(Duration::from_secs(60))), None);
        assert_eq!(cache.get(&"a", at.minus(Duration::from_secs(1))), None);
        cache.forget(&"a");
        assert_eq!(cache.get(&"a", at), None);
    }

    #[test]
    fn cache_never_exceeds_its_maximum_size() {
        let cache = Cache::<_, _, 3>::new();
        let at = Timestamp::from_millis(1_700_000_000_000);
        for key in 0..20 {
            cache.put(key, (), at);
            assert!(cache.get(&key, at).is_some());
        }
        assert_eq!(cache.0.read().unwrap().len(), 3);
        // What is no longer fresh is removed first.
        let later = at.plus(CACHE_TIME);
        cache.put(20, (), later);
        assert_eq!(cache.0.read().unwrap().len(), 1);
    }
}
