//! The local stack's clocks: the only place of this crate that reads the time. The mounted functions use the runtime's
//! clock, or one that is set.

use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that differs from the system's by a time that can be set. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MovableClock(Arc<AtomicI64>);

impl MovableClock {
    /// Sets the clock; it goes on from there.
    pub fn set(&self, at: Timestamp) {
        let system = Clock::system().now();
        let ahead = if at > system { millis(at.since(system)) } else { 0_i64.saturating_sub(millis(system.since(at))) };
        self.0.store(ahead, Ordering::SeqCst);
    }

    /// Sets the clock this far ahead of the system's.
    pub fn ahead(&self, by: Duration) {
        self.0.store(millis(by), Ordering::SeqCst);
    }

    /// Advances the clock.
    pub fn forward(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets the clock this many seconds ahead of the system's, or behind it if negative.
    pub fn skew_s(&self, by: i64) {
        self.0.store(by.saturating_mul(1000), Ordering::SeqCst);
    }

    /// The clock as the functions read it.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let (ahead, system) = (Arc::clone(&self.0), Clock::system());
        Clock::from_fn(move || {
            let by = ahead.load(Ordering::SeqCst);
            let by_ms = Duration::from_millis(by.unsigned_abs());
            if by < 0 { system.now().minus(by_ms) } else { system.now().plus(by_ms) }
        })
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Time since the Unix epoch.
pub fn since_epoch() -> Duration {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    let now = SystemTime::now();
    // A clock before 1970 reads as 1970: every token and signature is refused then.
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Unix seconds.
pub fn epoch_s() -> i64 {
    i64::try_from(since_epoch().as_secs()).unwrap_or(i64::MAX)
}

/// Unix milliseconds.
pub fn epoch_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
