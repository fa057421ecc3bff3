//! The saga of a settlement as data: its steps in their order, what undoes each, and how often each is tried.
//! The state machine that runs it on AWS is made from this (`asl.rs`), and the local stack walks it as it is.
//!
//! Every step may be taken any number of times, by anybody: it looks where the settlement stands, and each of
//! its writes is guarded on that. So a saga that died is simply run again from the start.

use crate::ids::SettlementId;
use std::time::Duration;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Credited records that no settlement has are stamped, and what they owe is added up.
    Collect,
    /// What the merchant is owed is put aside: `balance -> held`.
    Hold,
    /// The merchant is checked.
    Kyc,
    /// What is put aside is released from the assets that it was paid in: all of it is yen from now on.
    Release,
    /// The fee and its tax are taken from it.
    Fee,
    /// The rest is paid out.
    Payout,
}

/// What undoes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compensation {
    /// The fee and its tax are given back.
    Fee,
    /// What became yen is again what it was.
    Release,
    /// What was put aside is the merchant's again: `held -> balance`.
    Hold,
    /// The stamps are taken off, so that the next settlement takes the records.
    Collect,
}

/// A task of the saga: a step, or what undoes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// A step.
    Do(Step),
    /// What undoes one.
    Undo(Compensation),
    /// Neither the one nor the other can finish: it is written down, and somebody is told. If the settlement
    /// was over by then, nobody is.
    Stop,
}

/// What a task says when it is done. The state machine chooses by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, or was before: on to the next one.
    Next,
    /// There is more of the same to do.
    Again,
    /// Somebody outside has not decided yet: ask again after a pause.
    Wait,
    /// The settlement turns back: undo what has been done, in reverse.
    Undo,
    /// The settlement is over, one way or the other.
    Over,
}

/// What follows if a task fails as often as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The settlement turns back.
    Undo,
    /// It stops, and a person resumes it: whether money has left is not known, or nothing undoes an undoing.
    Stop,
}

/// How a task that fails is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause before the first repetition.
    pub interval: Duration,
    /// By how much each pause is longer than the one before.
    pub backoff: u32,
    /// The longest pause.
    pub interval_max: Duration,
    /// How many repetitions there are.
    pub attempts: u32,
}

/// The steps in their order.
pub const STEPS: [Step; 6] = [Step::Collect, Step::Hold, Step::Kyc, Step::Release, Step::Fee, Step::Payout];

/// The pause before somebody outside is asked again.
pub const WAIT: Duration = Duration::from_secs(60);

/// How long a merchant's check may stay without an answer before the settlement turns back.
pub const KYC_WITHIN: Duration = Duration::from_secs(24 * 60 * 60);

impl Step {
    /// Its name in tasks, keys and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Hold => "hold",
            Self::Kyc => "kyc",
            Self::Release => "release",
            Self::Fee => "fee",
            Self::Payout => "payout",
        }
    }

    /// What undoes it. A check needs no undoing, and a payout has none: once it may have left, the
    /// settlement does not turn back, but for a proven refusal, after which nothing has left.
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
    /// Every one, in the order of undoing.
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

    /// What is undone after it.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|other| *other > self)
    }
}

impl Task {
    /// Every task: the steps, what undoes them, and the end of what cannot finish.
    pub fn all() -> impl Iterator<Item = Self> {
        let steps = STEPS.into_iter().map(Self::Do);
        steps.chain(Compensation::ALL.into_iter().map(Self::Undo)).chain([Self::Stop])
    }

    /// Its name, such as `hold` or `undo_hold`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Do(step) => step.name().to_owned(),
            Self::Undo(compensation) => format!("undo_{}", compensation.name()),
            Self::Stop => "stop".to_owned(),
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|task| task.name() == name)
    }

    /// The idempotency key of what it does in a settlement.
    #[must_use]
    pub fn key(self, settlement: SettlementId) -> String {
        format!("settlement:{settlement}:{}", self.name())
    }

    /// How it is tried again. An undoing is tried for longer than a step: nothing follows if it fails but
    /// a person.
    #[must_use]
    pub const fn retry(self) -> RetryPolicy {
        let (interval, interval_max) = (Duration::from_secs(2), Duration::from_secs(300));
        let attempts = match self {
            Self::Do(_) => 6,
            Self::Undo(_) | Self::Stop => 10,
        };
        RetryPolicy { interval, backoff: 2, interval_max, attempts }
    }

    /// The task that follows an outcome of this one; `None` if the saga ends. After [`Outcome::Wait`] it is
    /// this one, after a pause.
    #[must_use]
    pub fn after(self, outcome: Outcome) -> Option<Self> {
        match (self, outcome) {
            (_, Outcome::Over) | (Self::Stop, _) => None,
            (_, Outcome::Again | Outcome::Wait) => Some(self),
            (Self::Do(step), Outcome::Next) => STEPS.into_iter().find(|next| *next > step).map(Self::Do),
            // From the last one on, whatever step it was: a saga that is run again, from the start, may find
            // its settlement anywhere on its way back. What is not there to be undone says so.
            (Self::Do(_), Outcome::Undo) => Compensation::ALL.into_iter().next().map(Self::Undo),
            (Self::Undo(compensation), Outcome::Next | Outcome::Undo) => compensation.next().map(Self::Undo),
        }
    }

    /// The task that follows if this one fails as often as it may; `None` if the saga ends.
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

    /// The outcomes that it can have.
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

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 5] = [Self::Next, Self::Again, Self::Wait, Self::Undo, Self::Over];

    /// Its name in a task's answer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Again => "again",
            Self::Wait => "wait",
            Self::Undo => "undo",
            Self::Over => "over",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

impl RetryPolicy {
    /// The pause before a repetition, counted from 0, or `None` if there are no more.
    #[must_use]
    pub fn pause(&self, repetition: u32) -> Option<Duration> {
        if repetition >= self.attempts {
            return None;
        }
        let factor = self.backoff.saturating_pow(repetition);
        Some(self.interval.saturating_mul(factor).min(self.interval_max))
    }
}
