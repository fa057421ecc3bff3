//! The `customer` function beside the same payment in other stacks (`bench/functions`): start-up, processor time,
//! latency, memory, instructions and size, each function behind a Runtime API and over one table.

mod aims;
mod budgets;
mod instructions;
mod operation;
mod payer;
mod plot;
mod program;
mod report;
mod shared_stack;
mod size;
mod table;
mod warm;

pub use aims::aims;
pub use budgets::{Budgets, Comparison};
pub use instructions::{count_instructions, has_valgrind};
pub use operation::{Operation, PerOperation};
pub use plot::plot;
pub use program::{OURS, Opponent};
pub use report::{Calls, Figures, json_lines, tables};
pub use shared_stack::{Candidate, SharedStack};
pub use size::{ZipSizes, zip_of_opponent, zip_of_ours};
pub use warm::{Cold, Running, Warm, WarmFigures};
