//! Percentiles of durations.

use std::time::Duration;

/// Durations, from which percentiles are taken.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Durations in any order.
    #[must_use]
    pub fn new(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        Self(all)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest duration that at least `per_mille` thousandths of them do not exceed; zero if there are none.
    #[must_use]
    pub fn percentile(&self, per_mille: usize) -> Duration {
        let rank = self.0.len().saturating_mul(per_mille.min(1_000)).div_ceil(1_000);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// A duration in milliseconds with two decimals.
#[must_use]
pub fn milliseconds(duration: Duration) -> String {
    let hundredths = (duration.as_micros() + 5) / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// How many times `small` is in `large`, with one decimal; a dash if `small` is zero.
#[must_use]
pub fn times(large: u128, small: u128) -> String {
    let Some(tenths) = (large * 10 + small / 2).checked_div(small) else { return "-".to_owned() };
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_the_smallest_duration_that_the_share_does_not_exceed() {
        let all = Latencies::new((1..=1_000).rev().map(Duration::from_micros).collect());
        let micros = |per_mille| all.percentile(per_mille).as_micros();
        assert_eq!([micros(0), micros(500), micros(990), micros(999), micros(1_000)], [1, 500, 990, 999, 1_000]);
        assert_eq!(Latencies::default().percentile(500), Duration::ZERO);
    }

    #[test]
    fn figures_are_rounded_to_their_last_decimal() {
        assert_eq!(milliseconds(Duration::from_micros(1_234)), "1.23");
        assert_eq!(milliseconds(Duration::from_micros(1_235)), "1.24");
        assert_eq!((times(21, 10), times(1, 3), times(1, 0)), ("2.1".into(), "0.3".into(), "-".into()));
    }
}
