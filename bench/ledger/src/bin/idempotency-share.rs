//! Measures the idempotency layer: `cargo run --release -p ledger-bench --bin idempotency-share`.

use clap::Parser;
use ledger_bench::idempotency_share::{json_lines, measure, table};
use ledger_bench::inside::{self, Inside};
use ledger_bench::prepared::Running;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The customers of the run.
const CUSTOMERS: usize = 1_000;
const CUSTOMERS_SHORT: usize = 20;
const MERCHANTS: usize = 4;
/// The payments of the short form.
const SAMPLES_SHORT: u32 = 100;

/// Measures the idempotency layer's own share of a payment: claim, fingerprint, marker, replay.
/// Exits with 1 if the layer adds a call of the store to a payment or to its replay.
#[derive(Parser)]
#[command(version, after_help = "Example: idempotency-share --samples 1000 --json target/idempotency-share.jsonl")]
struct Args {
    /// Payments, each sent twice
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=40_000))]
    samples: u32,
    /// Folder of all data [default: bench/idempotency-share in the target folder]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// For CI: 100 payments
    #[arg(long)]
    short: bool,
    /// File for the figures, one JSON object a line
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    inside::log_nowhere();
    match Box::pin(run(&Args::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr(), "idempotency-share: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let (samples, customers) = if args.short { (SAMPLES_SHORT, CUSTOMERS_SHORT) } else { (args.samples, CUSTOMERS) };
    let folder = folder(args.dir.as_deref())?;
    progress(&format!("preparing {customers} customers"));
    // In memory, because a disk's latency varies by more than the marker takes.
    let (running, payers, merchants) = Running::in_memory(&folder, customers, MERCHANTS).await?;
    let process = &running.process;
    let inside = Inside::over(&process.dynamodb_url, &process.table, "demo").await;
    progress(&format!("{samples} payments and their replays"));
    let share = measure(&inside, running.engine()?, (&payers, &merchants), samples).await?;
    write!(io::stdout().lock(), "{}", table(&share))?;
    if let Some(file) = &args.json {
        fs::write(file, json_lines(&share)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let exceeded = share.calls.exceeded();
    if exceeded.is_empty() { Ok(()) } else { Err(exceeded.join("; ").into()) }
}

fn folder(given: Option<&Path>) -> Result<PathBuf, Box<dyn Error>> {
    let folder = match given {
        Some(folder) => folder.to_owned(),
        None => {
            let own = std::env::current_exe()?;
            let target = own.parent().and_then(Path::parent).ok_or("this program is not in a target folder")?;
            target.join("bench/idempotency-share")
        }
    };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.canonicalize()?)
}

fn progress(what: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(io::stderr(), "idempotency-share: {what}");
}
