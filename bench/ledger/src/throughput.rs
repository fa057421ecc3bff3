//! Payments a second over HTTP through the local stack, beside a ledger on PostgreSQL.

mod books;
mod load;
mod local_stack;
mod our_code;
mod plot;
mod postgres;
mod report;

pub use books::{Checked, check};
pub use load::{Load, Plan, pay};
pub use local_stack::{Durability, Measured, Scenario, measure};
pub use our_code::{OurCode, measure_our_code};
pub use plot::svg;
pub use postgres::{Environment, Options, run as run_postgres, runs as postgres_runs};
pub use report::{Run, beside, json_line, processors, time_in_our_code};
