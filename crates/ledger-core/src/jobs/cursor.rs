//! A job that goes through a list. What it is dealing with is stored before anything is done: the subjects in flight.
//!
//! A subject's effect and its line are one write. When the outcome of a subject is known, or its line says what it was, the next
//! progress counts it and takes the next of the list in its place. A subject without a certain outcome stays in flight, is tried
//! again after a minute, then two, four and eight, and has a failed line after that. It does not keep the others.
//!
//! A job whose slice is one transaction has nothing in flight: each slice has its effects, its lines and the progress.

use super::Details;
use super::head::{DONE, FAILED, Head, JobState, Request, SKIPPED, STATE, ended};
use super::line::{Line, LineState};
use crate::dynamo::{Attributes, Item, ItemError, Stored, Update, Value, record};
use crate::ids::Tenant;
use crate::time::Timestamp;
use crate::transaction::{BuildError, TransactItem, Transaction};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most subjects in flight.
const IN_FLIGHT_MAX: usize = 24;
/// How often a subject, or a slice, is tried.
const TRIES_MAX: u32 = 5;
/// The time between the first try and the second. Each later one is twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(60);

const CURSOR: &str = "cursor";
const IN_FLIGHT: &str = "in_flight";
const TRIES: &str = "tries";
/// The code of the line of a subject in flight that a stop left.
const STOPPED: &str = "stopped";
/// The cursor after the last subject of the list.
const END: &str = "end";

record! {
    /// A subject that is dealt with.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct InFlight {
        /// The subject.
        subject: String = "subject",
        /// How often it was tried.
        tries: u32 = TRIES,
        /// When it is tried again.
        due_at: Option<Timestamp> = "due_at",
    }
}

/// A job that goes through a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorJob<D> {
    /// The head.
    pub head: Head,
    /// What is its kind's own.
    pub details: D,
    /// How far it is in the list, in the form of its kind; `None` at the beginning.
    cursor: Option<String>,
    in_flight: Vec<InFlight>,
    /// How often the slice at the cursor was tried.
    tries: u32,
}

/// What a worker does with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it has ended.
    Nothing,
    /// Go on.
    Work,
    /// Count these subjects, and end it.
    SettleStop(Vec<String>),
}

/// What became of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has a line of this state.
    Listed(LineState),
    /// Nothing was done, and it has no line.
    Unlisted,
    /// Nothing was done, and this line is to be written.
    Line(Box<Line>),
    /// It is not known. The text is the code of the problem.
    Uncertain(String),
}

/// The subjects that are next in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The subjects.
    pub subjects: Vec<String>,
    /// How far the list is read with them; `None`: to its end.
    pub cursor: Option<String>,
}

/// The outcomes of a slice, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    counts: Counts,
    lines: Vec<Line>,
    in_flight: Vec<InFlight>,
    is_listed: bool,
}

/// A slice that is one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// How many subjects are done.
    pub done: usize,
    /// The lines of those that are not.
    pub lines: Vec<Line>,
    /// How far the list is dealt with; `None`: to its end.
    pub cursor: Option<String>,
}

/// Why a slice cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// The stored job is malformed.
    #[error(transparent)]
    Stored(#[from] ItemError),
    /// The slice is no transaction.
    #[error(transparent)]
    Build(#[from] BuildError),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    done: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn count(&mut self, state: LineState) {
        let count = match state {
            LineState::Done => &mut self.done,
            LineState::Failed => &mut self.failed,
            LineState::Skipped => &mut self.skipped,
        };
        *count = count.saturating_add(1);
    }
}

impl Counted {
    /// How many subjects may be taken from the list.
    #[must_use]
    pub fn room(&self) -> usize {
        if self.is_listed { 0 } else { IN_FLIGHT_MAX.saturating_sub(self.in_flight.len()) }
    }

    /// The subjects that stay in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &str> {
        self.in_flight.iter().map(|of| of.subject.as_str())
    }

    /// How many subjects have a certain outcome.
    #[must_use]
    pub fn certain(&self) -> usize {
        self.counts.done.saturating_add(self.counts.failed).saturating_add(self.counts.skipped)
    }
}

impl<D: Details> CursorJob<D> {
    /// A job that is asked for.
    pub(crate) fn requested(request: Request<'_>, details: D) -> Self {
        let head = Head::requested(D::KIND, request);
        Self { head, details, cursor: None, in_flight: Vec::new(), tries: 0 }
    }

    /// Stores the job, due from `due_at` on.
    pub(crate) fn put(&self, tenant: &Tenant, due_at: Timestamp) -> TransactItem {
        self.head.put(tenant, self.details.attributes(), due_at)
    }

    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the job is of another kind.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let in_flight = match item.contains_key(IN_FLIGHT) {
            true => item.maps(IN_FLIGHT, InFlight::read)?,
            false => Vec::new(),
        };
        Ok(Self {
            head: Head::of::<D>(item)?,
            details: D::read(item)?,
            cursor: Stored::read(item, CURSOR)?,
            in_flight,
            tries: <Option<u32> as Stored>::read(item, TRIES)?.unwrap_or_default(),
        })
    }

    /// How far it is in the list; `None` at the beginning.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Whether the list was read to its end.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.cursor() == Some(END)
    }

    /// What is to be done.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.head.state {
            JobState::Waiting | JobState::Running => Next::Work,
            JobState::Stopping => Next::SettleStop(self.in_flight.iter().map(|of| of.subject.clone()).collect()),
            JobState::Stopped | JobState::Done | JobState::Failed => Next::Nothing,
        }
    }

    /// The subjects in flight that are to be tried.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Vec<String> {
        let due = self.in_flight.iter().filter(|of| of.due_at.is_none_or(|at| at <= now));
        due.map(|of| of.subject.clone()).collect()
    }

    /// Counts outcomes of subjects in flight. Those without one stay in flight.
    #[must_use]
    pub fn counted(&self, outcomes: &BTreeMap<String, Outcome>, now: Timestamp) -> Counted {
        let (mut counts, mut lines, mut in_flight) = (Counts::default(), Vec::new(), Vec::new());
        for of in &self.in_flight {
            match outcomes.get(&of.subject) {
                None => in_flight.push(of.clone()),
                Some(Outcome::Listed(state)) => counts.count(*state),
                Some(Outcome::Unlisted) => {}
                Some(Outcome::Line(line)) => {
                    counts.count(line.state);
                    lines.push((**line).clone());
                }
                Some(Outcome::Uncertain(code)) => {
                    let tries = of.tries.saturating_add(1);
                    if tries < TRIES_MAX {
                        let due_at = Some(now.plus(delay(tries)));
                        in_flight.push(InFlight { subject: of.subject.clone(), tries, due_at });
                    } else {
                        // If the effect was there, the line would be: this write would be refused.
                        counts.count(LineState::Failed);
                        lines.push(Line::failed(&of.subject, code, now));
                    }
                }
            }
        }
        Counted { counts, lines, in_flight, is_listed: self.is_listed() }
    }

    /// Records the outcomes, and takes subjects from the list. A job without a subject in flight, and whose list was read to its end,
    /// is done. `None` if there is nothing to record.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn advance(
        &self,
        tenant: &Tenant,
        (counted, page): (Counted, Option<Page>),
        now: Timestamp,
    ) -> Result<Option<Transaction>, BuildError> {
        let Counted { counts, lines, mut in_flight, mut is_listed } = counted;
        let mut update = Update::new();
        let is_read = page.is_some();
        if let Some(page) = page {
            let fresh = page.subjects.into_iter().map(|subject| InFlight { subject, tries: 0, due_at: None });
            in_flight.extend(fresh);
            is_listed = page.cursor.is_none();
            let cursor = page.cursor.unwrap_or_else(|| END.to_owned());
            update = update.set(CURSOR, CURSOR, Value::S(cursor));
        } else if in_flight == self.in_flight {
            return Ok(None);
        }
        let is_over = is_listed && in_flight.is_empty();
        update = if in_flight.is_empty() {
            update.remove(IN_FLIGHT)
        } else {
            update.set(IN_FLIGHT, IN_FLIGHT, Value::L(in_flight.iter().map(|of| Value::M(of.attributes())).collect()))
        };
        let is_waiting = in_flight.iter().all(|of| of.due_at.is_some_and(|at| at > now));
        if !is_over && is_waiting && (is_listed || !is_read || in_flight.len() >= IN_FLIGHT_MAX) {
            let first = in_flight.iter().filter_map(|of| of.due_at).min();
            update = first.into_iter().fold(update, |update, at| D::KIND.due(tenant, at, self.head.id).set(update));
        }
        self.written(tenant, (update, is_over), (counts, lines), Vec::new(), now).map(Some)
    }

    /// Records a slice that is one transaction with its effects.
    ///
    /// # Errors
    /// [`BuildError`] if there are too many effects and lines.
    pub(crate) fn advance_with(
        &self,
        tenant: &Tenant,
        (slice, effects): (Slice, Vec<TransactItem>),
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let mut counts = Counts { done: slice.done, ..Counts::default() };
        slice.lines.iter().for_each(|line| counts.count(line.state));
        let is_over = slice.cursor.is_none();
        let mut update = Update::new().set(CURSOR, CURSOR, Value::S(slice.cursor.unwrap_or_else(|| END.to_owned())));
        if self.tries > 0 {
            update = update.remove(TRIES);
        }
        self.written(tenant, (update, is_over), (counts, slice.lines), effects, now)
    }

    /// Whether the slice at the cursor was tried often enough.
    #[must_use]
    pub fn is_last_try(&self) -> bool {
        self.tries.saturating_add(1) >= TRIES_MAX
    }

    /// Records that a slice had no certain outcome, and when it is tried again: after eight minutes at most.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn pause(&self, tenant: &Tenant, now: Timestamp) -> Result<Transaction, BuildError> {
        let tries = self.tries.saturating_add(1).min(TRIES_MAX.saturating_sub(1));
        let update = Update::new().set(TRIES, TRIES, Value::int(tries.into()));
        let update = D::KIND.due(tenant, now.plus(delay(tries)), self.head.id).set(update);
        Transaction::unkeyed(vec![self.head.changed(tenant, update, now)])
    }

    /// Ends a job that a person stopped. `lines` are the states of the lines that subjects in flight have. Each other one gets a line
    /// that it was skipped: a worker that is late has no effect on it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn settle_stop(
        &self,
        tenant: &Tenant,
        lines: &BTreeMap<String, LineState>,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let mut counts = Counts::default();
        let mut written = Vec::new();
        for InFlight { subject, .. } in &self.in_flight {
            let state = lines.get(subject).copied().unwrap_or_else(|| {
                let code = Some(STOPPED.to_owned());
                written.push(Line { code, ..Line::new(subject, LineState::Skipped, now) });
                LineState::Skipped
            });
            counts.count(state);
        }
        let update = ended(self.with(counts, Update::new()).remove(IN_FLIGHT), JobState::Stopped, now);
        let mut items = vec![self.head.changed(tenant, update, now)];
        items.extend(written.iter().map(|line| line.put(tenant, self.head.id)));
        Transaction::unkeyed(items)
    }

    fn written(
        &self,
        tenant: &Tenant,
        (update, is_over): (Update, bool),
        (counts, lines): (Counts, Vec<Line>),
        effects: Vec<TransactItem>,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let update = self.with(counts, update);
        let update = match is_over {
            true => ended(update, JobState::Done, now),
            false => update.set(STATE, STATE, Value::s(JobState::Running.name())),
        };
        let mut items = vec![self.head.changed(tenant, update, now)];
        items.extend(effects);
        items.extend(lines.iter().map(|line| line.put(tenant, self.head.id)));
        Transaction::unkeyed(items)
    }

    fn with(&self, counts: Counts, update: Update) -> Update {
        let Head { done, failed, skipped, .. } = self.head;
        let all = [(DONE, done, counts.done), (FAILED, failed, counts.failed), (SKIPPED, skipped, counts.skipped)];
        all.into_iter().filter(|(_, _, more)| *more > 0).fold(update, |update, (name, before, more)| {
            let sum = before.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            update.set(name, name, Value::int(sum.into()))
        })
    }
}

/// The time until a subject is tried again that was tried so often.
pub(super) fn delay(tries: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1)))
}

#[cfg(test)]
mod tests;
