//! Pseudo-random numbers that follow from a seed, and the latencies drawn from them.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies and gaps between arrivals are statistics; amounts are never here"
)]

/// Simulated time, and lengths of time, in microseconds.
pub type Micros = u64;

/// One millisecond.
pub const MILLISECOND: Micros = 1_000;
/// One second.
pub const SECOND: Micros = 1_000_000;

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874;

/// A generator whose numbers follow from its seed.
#[derive(Clone, Debug)]
pub struct Chance(fastrand::Rng);

impl Chance {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A uniformly distributed number below the bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.u64(..bound) }
    }

    /// The time to the next arrival of a Poisson process.
    pub fn gap(&mut self, arrivals_per_second: u64) -> Micros {
        let uniform = 1.0 - self.0.f64();
        (-uniform.ln() * SECOND as f64 / arrivals_per_second.max(1) as f64) as Micros
    }

    /// A draw of the standard normal distribution, by Box and Muller's transform.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.f64()).cos()
    }
}

/// A log-normal distribution, given by its median and its 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    mu: f64,
    sigma: f64,
}

impl Latency {
    /// The distribution with this median and 99th percentile, both above 0.
    #[must_use]
    pub fn of(p50: Micros, p99: Micros) -> Self {
        let mu = (p50.max(1) as f64).ln();
        Self { mu, sigma: ((p99.max(p50).max(1) as f64).ln() - mu) / Z99 }
    }

    /// The distribution whose latencies are this share of these.
    #[must_use]
    pub fn percent(self, percent: u64) -> Self {
        Self { mu: self.mu + (percent.max(1) as f64 / 100.0).ln(), ..self }
    }

    /// Draws one latency.
    pub fn draw(&self, chance: &mut Chance) -> Micros {
        (self.mu + self.sigma * chance.normal()).exp() as Micros
    }

    /// Draws the longest of several that run at once.
    pub fn longest_of(&self, count: usize, chance: &mut Chance) -> Micros {
        (0..count.max(1)).map(|_| self.draw(chance)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::percentile;

    #[test]
    fn drawn_latencies_have_the_given_percentiles() {
        let mut chance = Chance::new(1);
        let latency = Latency::of(25_300, 92_500);
        let mut drawn: Vec<Micros> = (0..100_000).map(|_| latency.draw(&mut chance)).collect();
        drawn.sort_unstable();
        assert!(percentile(&drawn, 500).abs_diff(25_300) < 500, "{}", percentile(&drawn, 500));
        assert!(percentile(&drawn, 990).abs_diff(92_500) < 4_000, "{}", percentile(&drawn, 990));
    }

    #[test]
    fn gaps_have_the_given_rate() {
        let mut chance = Chance::new(2);
        let sum: Micros = (0..100_000).map(|_| chance.gap(1_000)).sum();
        assert!(sum.abs_diff(100 * SECOND) < SECOND, "{sum}");
    }
}
