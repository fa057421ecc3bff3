//! Pseudo-random orders and crashes, the same in each run.

use std::pin::pin;
use std::task::Poll;

// By its file: the core's own tests are built without the local stack, whose year it plays.
#[path = "../../crates/ledger-local/src/dice.rs"]
mod dice;

pub use dice::Dice;

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
