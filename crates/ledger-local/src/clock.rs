//! The local stack's clock: the only place of this crate that reads the time. The mounted functions use the runtime's
//! clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
