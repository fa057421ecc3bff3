//! The system clock. No other file of this crate reads it.

use std::time::{SystemTime, UNIX_EPOCH};

/// A clock in Unix seconds.
pub(crate) type Clock = Box<dyn Fn() -> i64 + Send + Sync>;

/// Unix seconds. A clock before 1970 reads as 1970.
pub(crate) fn system_now_s() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    let now = SystemTime::now();
    i64::try_from(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}
