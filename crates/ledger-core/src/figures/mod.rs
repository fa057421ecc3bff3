//! Figures of days: which day an entry is posted to, and what a day's entries come to.
//!
//! The journal has everything, and figures are made of it alone. A worker folds each sealed entry once.

mod active;
mod day;
mod fold;
mod prepaid;
mod statement;
mod tally;
mod totals;

pub use active::ActiveAccounts;
pub use day::{ClosedDay, DAY_MARGIN, Posted, PostingDays, Span, close, next_to_close};
pub use fold::{BatchSegments, Fold, FoldPlan};
pub use prepaid::{BaseDate, ExcludedAsset, Exclusion, PrepaidFlows, PrepaidInstrument, PrepaidReport};
pub use statement::{ChargedFee, PaidOut, StatementPart, StatementSums, statement};
pub use tally::{AccountClass, Count, DayTally, Line, Moved, Sums, TalliedEntry, Tally};
pub use totals::{
    Balances, BatchChanges, ClosingFigures, DayTotals, Difference, balances_after, list_totals, listed_totals, sum_of,
};

#[cfg(test)]
mod tests;
