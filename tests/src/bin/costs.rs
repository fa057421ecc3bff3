//! Measures what each operation costs, and compares it with `tests/costs.txt`.

use clap::Parser;
use ledger_tests::costs::{self, Costs};
use std::process::ExitCode;

/// Measure what each operation costs, and compare it with the recorded costs.
#[derive(Debug, Parser)]
struct Options {
    /// Record the costs in tests/costs.txt, and write them into the documents.
    #[arg(long)]
    update: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let measured = costs::measure().await;
    if options.update {
        costs::write(&measured);
        return ExitCode::SUCCESS;
    }
    let differences = measured.differences(&Costs::read());
    print!("{differences}");
    if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
