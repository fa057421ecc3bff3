//! What a publisher remembers from one run to the next. If it is lost, events are sent again, and no event is missed.

use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// How many sent entries are remembered: about 4 MB.
const SENT_MAX: usize = 20_000;
/// How long a floor is used before it is read again.
const FLOOR_TIME: Duration = Duration::from_secs(30);

/// Sent entries, and the floors of tenants.
#[derive(Default)]
pub(super) struct Memory {
    sent: Mutex<SentEntries>,
    floors: Mutex<BTreeMap<Tenant, (Instant, Uuid)>>,
}

/// The entries that were sent or put aside last.
#[derive(Default)]
struct SentEntries {
    keys: BTreeSet<Key>,
    in_order: VecDeque<Key>,
}

impl Memory {
    /// Whether this process has sent the entry, or put it aside.
    pub(super) fn was_sent(&self, entry: &Key) -> bool {
        locked(&self.sent).keys.contains(entry)
    }

    pub(super) fn remember(&self, entry: &Key) {
        let mut sent = locked(&self.sent);
        if !sent.keys.insert(entry.clone()) {
            return;
        }
        sent.in_order.push_back(entry.clone());
        if sent.in_order.len() > SENT_MAX
            && let Some(oldest) = sent.in_order.pop_front()
        {
            sent.keys.remove(&oldest);
        }
    }

    /// Forgets an entry that is to be sent again.
    pub(super) fn forget(&self, entry: &Key) {
        let mut sent = locked(&self.sent);
        if sent.keys.remove(entry) {
            sent.in_order.retain(|key| key != entry);
        }
    }

    /// The floor of a tenant, unless it is too old.
    pub(super) fn floor(&self, tenant: &Tenant) -> Option<Uuid> {
        let floors = locked(&self.floors);
        floors.get(tenant).filter(|(read, _)| read.elapsed() < FLOOR_TIME).map(|(_, floor)| *floor)
    }

    pub(super) fn set_floor(&self, tenant: &Tenant, floor: Uuid) {
        locked(&self.floors).insert(tenant.clone(), (Instant::now(), floor));
    }
}

/// What is behind the lock is whole at any time, also after a panic.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: usize) -> Key {
        let tenant = Tenant::parse("demo").unwrap();
        let id = Uuid::from_u128(u128::try_from(at).unwrap());
        Key::stored(&tenant, "demo#customer#019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5a", &format!("TXN#{id}")).unwrap()
    }

    #[test]
    fn memory_holds_the_last_entries_only() {
        let memory = Memory::default();
        for at in 0..=SENT_MAX {
            memory.remember(&entry(at));
            memory.remember(&entry(at));
        }
        assert!(!memory.was_sent(&entry(0)) && memory.was_sent(&entry(1)) && memory.was_sent(&entry(SENT_MAX)));
        let sent = locked(&memory.sent);
        assert_eq!((sent.keys.len(), sent.in_order.len()), (SENT_MAX, SENT_MAX));
    }

    #[test]
    fn forgotten_entry_is_sent_again() {
        let memory = Memory::default();
        memory.remember(&entry(1));
        memory.forget(&entry(1));
        assert!(!memory.was_sent(&entry(1)) && locked(&memory.sent).in_order.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn floor_is_read_again_after_its_time() {
        let (memory, tenant) = (Memory::default(), Tenant::parse("demo").unwrap());
        assert_eq!(memory.floor(&tenant), None);
        memory.set_floor(&tenant, Uuid::max());
        assert_eq!(memory.floor(&tenant), Some(Uuid::max()));
        tokio::time::advance(FLOOR_TIME).await;
        assert_eq!(memory.floor(&tenant), None);
    }
}
