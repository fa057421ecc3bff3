//! Pseudo-random orders and crashes, the same in each run.

use std::pin::pin;
use std::task::Poll;

/// A pseudo-random number generator whose numbers follow from its seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// A number below the bound. Multiplier and increment are Knuth's for 64 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Shuffles items as Fisher and Yates describe.
    ///
    /// # Panics
    /// Never: an index of a slice fits into `usize`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for left in (2..=items.len()).rev() {
            let other = usize::try_from(self.below(left as u64)).expect("small");
            items.swap(left - 1, other);
        }
    }
}

/// Polls a future at most `steps` times, and then drops it as a crash would. Returns whether it ended.
pub async fn killed_after(steps: u64, run: impl Future) -> bool {
    let mut run = pin!(run);
    let mut left = steps;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        run.as_mut().poll(cx).map(|_| true)
    })
    .await
}
