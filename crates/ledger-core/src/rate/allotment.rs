//! The share of a tenant's window that one execution environment may use: pure state, without clock or store.
//!
//! The caller asks the store when [`Step::Lease`] says so.

use super::{RateWindow, RequestRate};
use crate::time::Timestamp;
use std::time::Duration;

/// How long the environment asks for no lease after one with an unknown outcome.
///
/// Every request passes meanwhile. Asking a store that does not respond would only make each request slower.
const UNKNOWN_LEASE_PAUSE: Duration = Duration::from_secs(1);

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let it pass; it is counted.
    Pass,
    /// Let it pass uncounted, because the store is not asked at present.
    PassUncounted,
    /// Refuse it: the budget of this window is used up for every environment. Retry when the window ends.
    Refuse(RateWindow),
    /// Lease a chunk of this window first.
    Lease(RateWindow),
}

/// One environment's share of one tenant's window.
// INVARIANT: in one window at most `free` plus the granted requests pass, unless the outcome of a lease is unknown.
#[derive(Clone, Debug)]
pub struct Allotment {
    window: RateWindow,
    passed: u32,
    granted: u32,
    asking: Asking,
}

/// Whether to ask the store when this share is used up.
#[derive(Clone, Copy, Debug)]
enum Asking {
    /// Ask.
    Open,
    /// Do not ask: the store has answered that the budget is used up.
    Refused,
    /// Do not ask before this instant.
    NotBefore(Timestamp),
}

impl Allotment {
    /// An unused share of the window that contains `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { window: RateWindow::of(now), passed: 0, granted: 0, asking: Asking::Open }
    }

    /// The present window.
    #[must_use]
    pub fn window(&self) -> RateWindow {
        self.window
    }

    /// Lets the first request of a window pass. Every rate allows it, so the rate need not be known.
    pub fn pass_first(&mut self, now: Timestamp) -> bool {
        self.enter_window(now);
        let first = self.passed == 0;
        if first {
            self.passed = 1;
        }
        first
    }

    /// Decides on a request at `now`.
    pub fn take(&mut self, rate: RequestRate, now: Timestamp) -> Step {
        self.enter_window(now);
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

    /// Records that a chunk of `window` was leased. No effect if that window is over.
    pub fn grant(&mut self, window: RateWindow, rate: RequestRate) {
        if window == self.window {
            self.granted = self.granted.saturating_add(rate.chunk());
            self.asking = Asking::Open;
        }
    }

    /// Records that the budget of `window` is used up.
    pub fn refuse(&mut self, window: RateWindow) {
        if window == self.window {
            self.asking = Asking::Refused;
        }
    }

    /// Records that the outcome of a lease at `now` is unknown.
    pub fn unknown(&mut self, now: Timestamp) {
        self.asking = Asking::NotBefore(now.plus(UNKNOWN_LEASE_PAUSE));
    }

    fn enter_window(&mut self, now: Timestamp) {
        if RateWindow::of(now) != self.window {
            // A store that does not respond is still not asked in the next window.
            let asking = match self.asking {
                Asking::NotBefore(at) if now < at && at <= now.plus(UNKNOWN_LEASE_PAUSE) => self.asking,
                Asking::NotBefore(_) | Asking::Open | Asking::Refused => Asking::Open,
            };
            *self = Self { asking, ..Self::new(now) };
        }
    }
}
