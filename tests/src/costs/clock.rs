//! A clock for measurements: a stored instant is as large at each of its times.

use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};

/// The instants of two seconds, and the one that both are moved into.
const PAIR_MS: i64 = 2_000;
const SECOND_MS: i64 = 1_000;
/// A number that ends in two zeros takes a byte less than others: of the seconds of an expiry, one in a hundred.
const CENTURY_MS: i64 = 100 * SECOND_MS;

/// A clock whose instants are of one size, each later than the last. It runs at a tenth of this one's speed from here on, or
/// by a millisecond at each reading if that is faster, and shows up to about a second more.
///
/// Zeros at the end of a number take no space, and read units are counted by size: by the system's clock, some reads would
/// take half a unit less at some instants. Two steps of one millisecond would have one key, and the second be tried again.
/// What is cached for a minute stays so on a slow machine.
#[must_use]
pub fn measuring(clock: Clock) -> Clock {
    const SLOWER: i64 = 10;
    let began = clock.now().millis();
    // What was read last, before it is made full.
    let last = AtomicI64::new(began - 1);
    Clock::from_fn(move || {
        let slowed = began + (clock.now().millis() - began) / SLOWER;
        let after = |last: i64| (slowed.max(last + 1)..).find(|millis| full(*millis) > full(last)).unwrap_or(slowed);
        let last = last.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(after(last)));
        Timestamp::from_millis(full(last.map_or(slowed, after)))
    })
}

/// The milliseconds of an instant near this one that has no zeros at the end, neither in seconds (two) nor in milliseconds
/// (one). A later instant is not moved before an earlier one.
fn full(millis: i64) -> i64 {
    let in_century = millis.rem_euclid(CENTURY_MS);
    let moved = if in_century < PAIR_MS { millis - in_century + SECOND_MS + in_century / 2 } else { millis };
    moved + i64::from(moved % 10 == 0)
}
