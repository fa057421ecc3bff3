//! Percentiles and means, in whole numbers.

use crate::chance::Micros;

/// The value below which `per_mille` thousandths of the sorted values lie; 0 if there are none.
#[must_use]
pub fn percentile(sorted: &[Micros], per_mille: usize) -> Micros {
    let last = sorted.len().saturating_sub(1);
    let at = last.saturating_mul(per_mille.min(1_000)) / 1_000;
    sorted.get(at).copied().unwrap_or(0)
}

/// The mean of the values; 0 if there are none.
#[must_use]
pub fn mean(values: &[Micros]) -> Micros {
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    let count = u128::try_from(values.len()).unwrap_or(u128::MAX).max(1);
    sum.checked_div(count).and_then(|mean| Micros::try_from(mean).ok()).unwrap_or(0)
}

/// `part` of `whole` in thousandths; 0 of nothing.
#[must_use]
pub fn per_mille(part: u64, whole: u64) -> u64 {
    part.saturating_mul(1_000).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_mean_of_known_values() {
        let values: Vec<Micros> = (0..=1_000).collect();
        assert_eq!((percentile(&values, 500), percentile(&values, 990), percentile(&values, 999)), (500, 990, 999));
        assert_eq!((percentile(&[], 500), mean(&[]), mean(&values)), (0, 0, 500));
        assert_eq!((per_mille(1, 4), per_mille(1, 0)), (250, 0));
    }
}
