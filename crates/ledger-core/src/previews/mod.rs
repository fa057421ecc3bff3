//! The preview of a change of terms: the payments of the last days, planned again under the terms that the change would
//! give. Nothing is written but the preview's own record.
//!
//! The builders that plan a payment plan it again, with its own time and ids. Balances are not known: a payment that was
//! refused for its balance stays refused. Limits of a day and a month are counted from the first payment of the preview.

mod compare;
mod past;
mod record;

pub use compare::{Comparing, Comparison, Difference, Planned, PreviewError, Side};
pub use past::{PastOutcome, PastPayment, Taken};
pub use record::{
    PREVIEW_DAYS_MAX, PREVIEW_PAYMENTS_MAX, Preview, PreviewDetails, PreviewFailure, PreviewRequest, plan,
};
