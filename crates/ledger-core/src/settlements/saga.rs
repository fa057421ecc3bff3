//! The saga of a settlement as data: its steps in order, the compensation of each, and the retries of each. The state
//! machine on AWS is generated from it (`asl.rs`); the local stack executes it directly.
//!
//! Every task can run any number of times, in any worker: it reads the settlement's state, and each of its writes is
//! guarded on that state. So a saga that stopped is run again from the start.

use crate::words::words;
use std::time::Duration;

words! {
    /// A step of the saga.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Step {
        /// Stamps credited records that no settlement has, and adds up what they owe.
        Collect = "collect",
        /// Holds what the merchant is owed: `balance -> held`.
        Hold = "hold",
        /// Runs the KYC check of the merchant.
        Kyc = "kyc",
        /// Converts what is held from its assets to yen.
        Release = "release",
        /// Takes the fee and its tax.
        Fee = "fee",
        /// Pays the rest out.
        Payout = "payout",
    }
}

/// What undoes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compensation {
    /// Gives the fee and its tax back.
    Fee,
    /// Converts the yen back to their assets.
    Release,
    /// Releases what was held to the merchant: `held -> balance`.
    Hold,
    /// Removes the stamps, so that the next settlement takes the records.
    Collect,
}

/// A task of the saga: a step or a compensation, or the end of a stuck settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// Runs a step.
    Do(Step),
    /// Undoes a step.
    Undo(Compensation),
    /// Records that the settlement is stuck, and reports it. If the settlement is over by then, nothing is reported.
    Stop,
}

words! {
    /// The result of a task. The state machine selects the next task by it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Outcome {
        /// Done, now or before: go on to the next task.
        Next = "next",
        /// Run the same task again: there is more to do.
        Again = "again",
        /// The provider has no decision yet: run the task again after a pause.
        Wait = "wait",
        /// The settlement turns back: undo the steps in reverse order.
        Undo = "undo",
        /// This run ends: the settlement is over, paid or not, or a later run goes on with it.
        Over = "over",
    }
}

/// What follows when the last retry of a task has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The settlement turns back.
    Undo,
    /// It is stuck until an operator resumes it: the payout may have left, or a compensation has failed.
    Stop,
}

/// The retries of a task that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause before the first retry.
    pub interval: Duration,
    /// The factor from each pause to the next.
    pub backoff: u32,
    /// The longest pause.
    pub interval_max: Duration,
    /// The number of retries.
    pub attempts: u32,
}

/// The steps in order.
pub const STEPS: [Step; 6] = [Step::Collect, Step::Hold, Step::Kyc, Step::Release, Step::Fee, Step::Payout];

/// The pause before a task with [`Outcome::Wait`] runs again.
pub const TASK_WAIT: Duration = Duration::from_secs(60);

/// How long a KYC check may have no answer before the settlement turns back.
pub const KYC_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

impl Step {
    /// The compensation. A check has none, because it changes nothing. A payout has none: once it may have left, only
    /// a proven refusal turns the settlement back, and then nothing has left.
    #[must_use]
    pub const fn compensation(self) -> Option<Compensation> {
        match self {
            Self::Collect => Some(Compensation::Collect),
            Self::Hold => Some(Compensation::Hold),
            Self::Release => Some(Compensation::Release),
            Self::Fee => Some(Compensation::Fee),
            Self::Kyc | Self::Payout => None,
        }
    }

    const fn failing(self) -> Failing {
        match self {
            Self::Collect | Self::Hold | Self::Kyc | Self::Release | Self::Fee => Failing::Undo,
            Self::Payout => Failing::Stop,
        }
    }
}

impl Compensation {
    /// Every compensation, in the order of undoing.
    pub const ALL: [Self; 4] = [Self::Fee, Self::Release, Self::Hold, Self::Collect];

    /// The name of the step that it undoes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fee => Step::Fee.name(),
            Self::Release => Step::Release.name(),
            Self::Hold => Step::Hold.name(),
            Self::Collect => Step::Collect.name(),
        }
    }

    /// The compensation that follows it.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|other| *other > self)
    }
}

impl Task {
    /// Every task: the steps, the compensations, and the stop.
    pub fn all() -> impl Iterator<Item = Self> {
        let steps = STEPS.into_iter().map(Self::Do);
        steps.chain(Compensation::ALL.into_iter().map(Self::Undo)).chain([Self::Stop])
    }

    /// The name, such as `hold` or `undo_hold`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Do(step) => step.name().to_owned(),
            Self::Undo(compensation) => format!("undo_{}", compensation.name()),
            Self::Stop => "stop".to_owned(),
        }
    }

    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|task| task.name() == name)
    }

    /// The retries of the task. A compensation has more of them than a step, because after its last failure only an
    /// operator can go on.
    #[must_use]
    pub const fn retry(self) -> RetryPolicy {
        let (interval, interval_max) = (Duration::from_secs(2), Duration::from_secs(300));
        let attempts = match self {
            Self::Do(_) => 6,
            Self::Undo(_) | Self::Stop => 10,
        };
        RetryPolicy { interval, backoff: 2, interval_max, attempts }
    }

    /// The task that follows an outcome; `None` if the saga ends. After [`Outcome::Wait`] it is the same task, after
    /// a pause.
    #[must_use]
    pub fn after(self, outcome: Outcome) -> Option<Self> {
        match (self, outcome) {
            (_, Outcome::Over) | (Self::Stop, _) => None,
            (_, Outcome::Again | Outcome::Wait) => Some(self),
            (Self::Do(step), Outcome::Next) => STEPS.into_iter().find(|next| *next > step).map(Self::Do),
            // Begin with the last step's compensation, whatever step this is: a saga that is run again from the start
            // may find its settlement anywhere on its way back. A compensation with nothing to undo has no effect.
            (Self::Do(_), Outcome::Undo) => Compensation::ALL.into_iter().next().map(Self::Undo),
            (Self::Undo(compensation), Outcome::Next | Outcome::Undo) => compensation.next().map(Self::Undo),
        }
    }

    /// The task that follows when the last retry has failed; `None` if the saga ends.
    #[must_use]
    pub fn failed(self) -> Option<Self> {
        match self {
            Self::Do(step) => match step.failing() {
                Failing::Undo => self.after(Outcome::Undo),
                Failing::Stop => Some(Self::Stop),
            },
            Self::Undo(_) => Some(Self::Stop),
            Self::Stop => None,
        }
    }

    /// The possible outcomes.
    #[must_use]
    pub const fn outcomes(self) -> &'static [Outcome] {
        match self {
            Self::Do(Step::Collect) => &[Outcome::Next, Outcome::Again, Outcome::Undo, Outcome::Over],
            Self::Do(Step::Hold | Step::Release | Step::Fee) => &[Outcome::Next, Outcome::Undo, Outcome::Over],
            Self::Do(Step::Kyc) => &[Outcome::Next, Outcome::Wait, Outcome::Undo, Outcome::Over],
            Self::Do(Step::Payout) => &[Outcome::Wait, Outcome::Undo, Outcome::Over],
            Self::Undo(Compensation::Collect) => &[Outcome::Again, Outcome::Over],
            Self::Undo(_) => &[Outcome::Next, Outcome::Over],
            Self::Stop => &[Outcome::Next, Outcome::Over],
        }
    }
}

impl RetryPolicy {
    /// The pause before a retry, counted from 0; `None` if there are no more.
    #[must_use]
    pub fn pause(&self, repetition: u32) -> Option<Duration> {
        if repetition >= self.attempts {
            return None;
        }
        let factor = self.backoff.saturating_pow(repetition);
        Some(self.interval.saturating_mul(factor).min(self.interval_max))
    }
}
