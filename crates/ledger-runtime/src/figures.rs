//! Figures of days: a worker closes posting days and folds sealed entries into totals, and requests read them.

mod balances;
mod check;
mod entries;
mod fold;
mod read;
mod statement;
mod statement_view;
mod view;

pub use balances::{BalanceAt, balance_at};
pub(crate) use check::check;
pub use fold::{Folded, run};
pub use read::{DayFigures, Figures};
pub use statement::{FeeInvoice, MonthFigures, MonthStatement};
pub use statement_view::StatementView;
pub use view::{FiguresView, totals_status};
