//! The retry policy of the ledger, as `ledger_core::retry` and `ledger_core::transaction` have it.
//!
//! Repeated here because this package depends on no other: a change there must be made here.

use crate::chance::{Chance, MILLISECOND, Micros};
use crate::model::table::{Cancelled, Reason};

/// How many times a conflict is retried after the first attempt: `retry::CONFLICT_RETRIES`.
pub const CONFLICT_RETRIES: u32 = 3;

/// The pause before retry `retry` (0 is the first): `retry::backoff`, 50 ms x 2^retry plus a uniform jitter of up to
/// half of that.
pub fn backoff(retry: u32, chance: &mut Chance) -> Micros {
    let base_ms = 50_u64.saturating_mul(1_u64.checked_shl(retry.min(10)).unwrap_or(1));
    let jitter_ms = chance.below((base_ms / 2).saturating_add(1));
    base_ms.saturating_add(jitter_ms).saturating_mul(MILLISECOND)
}

/// What a cancelled transaction means: `Transaction::classify`, without the codes that the model never gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Guards failed, at these positions.
    Rejected(Vec<usize>),
    /// A partition or a quota is at its limit. Never retried: 503 `busy` at once.
    Throttled,
    /// Another transaction holds an item. Retried; afterwards 503 `busy`.
    Conflict,
}

/// Classifies a cancellation, in the ledger's order. The first action of a payment is its marker.
#[must_use]
pub fn classify(cancelled: &Cancelled, has_marker: bool) -> Verdict {
    let at = |wanted: Reason| {
        cancelled.reasons.iter().enumerate().filter(move |(_, reason)| **reason == wanted).map(|(at, _)| at)
    };
    if has_marker {
        match cancelled.reasons.first() {
            Some(Reason::TransactionConflict) => return Verdict::Conflict,
            Some(Reason::ThrottlingError) => return Verdict::Throttled,
            Some(Reason::None | Reason::ConditionalCheckFailed) | None => {}
        }
    }
    let rejected: Vec<usize> = at(Reason::ConditionalCheckFailed).collect();
    if !rejected.is_empty() {
        Verdict::Rejected(rejected)
    } else if at(Reason::ThrottlingError).next().is_some() {
        Verdict::Throttled
    } else {
        Verdict::Conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_source_has;

    #[test]
    fn policy_is_the_ledgers() {
        let retry = "crates/ledger-core/src/retry.rs";
        assert_source_has(retry, &format!("pub const CONFLICT_RETRIES: u32 = {CONFLICT_RETRIES};"));
        assert_source_has(retry, "let base_ms = 50_u64.saturating_mul(1_u64.checked_shl(retry.min(10)).unwrap_or(1));");
        assert_source_has(retry, "checked_rem((base_ms / 2).saturating_add(1))");
    }

    #[test]
    fn pause_doubles_with_jitter_of_at_most_half() {
        let mut chance = Chance::new(3);
        for (retry, base) in [(0, 50), (1, 100), (2, 200)] {
            for _ in 0..1_000 {
                let pause = backoff(retry, &mut chance);
                assert!((base * MILLISECOND..=(base + base / 2) * MILLISECOND).contains(&pause), "{pause}");
            }
        }
    }

    #[test]
    fn guards_precede_throttling_and_throttling_precedes_conflicts() {
        let verdict = |reasons: &[Reason], has_marker| {
            classify(&Cancelled { reasons: reasons.to_vec(), held_by: None, limit: None }, has_marker)
        };
        use Reason::{ConditionalCheckFailed, ThrottlingError, TransactionConflict};
        let all = [ThrottlingError, TransactionConflict, ConditionalCheckFailed];
        assert_eq!(verdict(&all, false), Verdict::Rejected(vec![2]));
        assert_eq!(verdict(&all, true), Verdict::Throttled);
        assert_eq!(verdict(&[TransactionConflict, ThrottlingError], false), Verdict::Throttled);
        assert_eq!(verdict(&[TransactionConflict, ThrottlingError], true), Verdict::Conflict);
        assert_eq!(verdict(&[Reason::None, TransactionConflict], true), Verdict::Conflict);
    }
}
