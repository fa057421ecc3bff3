//! A clock for measurements: a stored instant is as large at each of its times.

use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};

/// The instants of two seconds, and the one that both are moved into.
const PAIR_MS: i64 = 2_000;
const SECOND_MS: i64 = 1_000;
/// A number that ends in two zeros takes a byte less than others: of the seconds of an expiry, one in a hundred.
const CENTURY_MS: i64 = 100 * SECOND_MS;

/// A clock about a second from this one at most. Zeros at the end of a number take no space, and read units are counted by
/// size: measured by the system's clock, some reads would take half a unit less at some instants.
#[must_use]
pub fn even(clock: Clock) -> Clock {
    Clock::from_fn(move || full(clock.now()))
}

/// A clock that runs at a tenth of this one's speed, from here on: what is cached for a minute stays so on a slow machine. Each
/// reading is later than the last: steps of one millisecond would have one key, and be tried again on a fast machine.
#[must_use]
pub fn slow(clock: Clock) -> Clock {
    const SLOWER: i64 = 10;
    let began = clock.now().millis();
    let last = AtomicI64::new(began);
    Clock::from_fn(move || {
        let slowed = began + (clock.now().millis() - began) / SLOWER;
        // A number that ends in zero would be moved to the next one.
        let after = |last: i64| slowed.max(last + 1 + i64::from(last % 10 == 9));
        let last = last.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(after(last)));
        Timestamp::from_millis(last.map_or(slowed, after))
    })
}

/// An instant near this one that has no zeros at the end, neither in seconds (two) nor in milliseconds (one). A later
/// instant is not moved before an earlier one.
fn full(at: Timestamp) -> Timestamp {
    let millis = at.millis();
    let in_century = millis.rem_euclid(CENTURY_MS);
    let moved = if in_century < PAIR_MS { millis - in_century + SECOND_MS + in_century / 2 } else { millis };
    Timestamp::from_millis(moved + i64::from(moved % 10 == 0))
}
