//! What one execution environment may still let pass of one tenant's window: pure state, without a
//! clock or a store. Whoever holds it asks the store when it says so.

use super::{RateWindow, RequestRate};
use crate::time::Timestamp;
use std::time::Duration;

/// After a lease whose outcome is not known the environment does not ask again for so long, and lets
/// everything pass: asking a store that is away would only make each request slower.
const BLIND_FOR: Duration = Duration::from_secs(1);

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It passes, and is counted.
    Pass,
    /// It passes, because the store is not to be asked for the moment.
    PassUncounted,
    /// Nothing is left of this window, for whomever: come again when it is over.
    Refuse(RateWindow),
    /// A chunk of this window must be leased first.
    Lease(RateWindow),
}

/// One environment's part of one tenant's window.
// INVARIANT: of one window it lets at most `free` plus what was granted pass, unless a lease's outcome
// is not known.
#[derive(Clone, Debug)]
pub struct Allotment {
    window: RateWindow,
    passed: u32,
    granted: u32,
    asking: Asking,
}

/// Whether the store is asked when nothing is left here.
#[derive(Clone, Copy, Debug)]
enum Asking {
    /// It is.
    Open,
    /// It has said that the budget is used up.
    Refused,
    /// Not before this instant.
    NotBefore(Timestamp),
}

impl Allotment {
    /// Nothing has passed yet of the window that `now` is in.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { window: RateWindow::of(now), passed: 0, granted: 0, asking: Asking::Open }
    }

    /// The window that it speaks of.
    #[must_use]
    pub fn window(&self) -> RateWindow {
        self.window
    }

    /// Lets a request pass if it is the first of its window here. Every rate allows that one, so the
    /// rate need not be known.
    pub fn pass_first(&mut self, now: Timestamp) -> bool {
        self.turn_to(now);
        let first = self.passed == 0;
        if first {
            self.passed = 1;
        }
        first
    }

    /// What becomes of a request that comes at `now`.
    pub fn take(&mut self, rate: RequestRate, now: Timestamp) -> Step {
        self.turn_to(now);
        if self.passed < rate.free().saturating_add(self.granted) {
            self.passed = self.passed.saturating_add(1);
            return Step::Pass;
        }
        match self.asking {
            Asking::Refused => Step::Refuse(self.window),
            Asking::NotBefore(at) if now < at => Step::PassUncounted,
            Asking::NotBefore(_) | Asking::Open => Step::Lease(self.window),
        }
    }

    /// A chunk of `window` was leased. Worth nothing if that window is over.
    pub fn grant(&mut self, window: RateWindow, rate: RequestRate) {
        if window == self.window {
            self.granted = self.granted.saturating_add(rate.chunk());
            self.asking = Asking::Open;
        }
    }

    /// The budget of `window` is used up.
    pub fn refuse(&mut self, window: RateWindow) {
        if window == self.window {
            self.asking = Asking::Refused;
        }
    }

    /// At `now` the store did not say whether there is a lease.
    pub fn unknown(&mut self, now: Timestamp) {
        self.asking = Asking::NotBefore(now.plus(BLIND_FOR));
    }

    fn turn_to(&mut self, now: Timestamp) {
        if RateWindow::of(now) != self.window {
            // A store that is away is so in the next window too.
            let asking = match self.asking {
                Asking::NotBefore(at) if now < at && at <= now.plus(BLIND_FOR) => self.asking,
                Asking::NotBefore(_) | Asking::Open | Asking::Refused => Asking::Open,
            };
            *self = Self { asking, ..Self::new(now) };
        }
    }
}
