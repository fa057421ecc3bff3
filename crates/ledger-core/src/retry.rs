//! The number of retries and the pauses between them, for conflicts and stale plans only.

use std::time::Duration;

/// How many times a conflict is retried after the first attempt.
pub const CONFLICT_RETRIES: u32 = 3;
/// How many times a stale plan is made again after the first attempt.
pub const REPLANS: u32 = 8;

/// The pause before retry `retry` (0 is the first): `50 ms x 2^retry` plus a uniform jitter of up to
/// half of that. `random` is a uniformly distributed word.
#[must_use]
pub fn backoff(retry: u32, random: u32) -> Duration {
    let base_ms = 50_u64.saturating_mul(1_u64.checked_shl(retry.min(10)).unwrap_or(1));
    let jitter_ms = u64::from(random).checked_rem((base_ms / 2).saturating_add(1)).unwrap_or(0);
    Duration::from_millis(base_ms.saturating_add(jitter_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_doubles_with_jitter_of_at_most_half() {
        for (retry, base) in [(0, 50), (1, 100), (2, 200)] {
            for random in [0, 1, 24, 25, 26, 99, u32::MAX] {
                let ms = u64::try_from(backoff(retry, random).as_millis()).unwrap();
                assert!((base..=base + base / 2).contains(&ms), "{retry} {random} {ms}");
            }
        }
        assert_eq!(backoff(0, 25), Duration::from_millis(75));
    }
}
