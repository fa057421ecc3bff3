//! Jobs: work in the background, in two disciplines. A cursor goes through a list, and has an effect and a line of each of its
//! subjects: two workers at once change nothing twice, because each change is guarded on what was read. An attempt makes one
//! result, by one worker at a time: nothing but the job is written, so it can begin again.
//!
//! | step | guard | if it is refused |
//! |---|---|---|
//! | an effect on a subject, with its line | no line of the subject | the line is read: the effect is there, or it will never be |
//! | a cursor's progress | the version as read | another worker wrote it, or a person stopped the job: it is left |
//! | an attempt's progress | the fencing token, the job has not ended | another worker has it, or a person stopped the job |
//! | a stop | the version as read | planned again |
//!
//! All kinds have one head and one kind of line. What is a kind's own is with its domain.

mod attempt;
mod cursor;
mod head;
mod line;
mod stop;

pub use attempt::{ATTEMPTS_MAX, Attempt, Taken};
pub use cursor::{Counted, CursorJob, Next, Outcome, Page, Slice, SliceError};
pub use head::{Head, JobState, Request};
pub use line::{Line, LineState};
pub use stop::{JobStop, plan_stop};

use crate::dynamo::{Item, ItemError};
use crate::keys::JobKind;

/// What a kind of job stores beside the head.
pub trait Details: Sized {
    /// The kind.
    const KIND: JobKind;

    /// Reads the attributes.
    ///
    /// # Errors
    /// [`ItemError`] if one is missing or malformed.
    fn read(item: &Item) -> Result<Self, ItemError>;

    /// The attributes.
    fn attributes(&self) -> Item;
}
