//! Creates books of a given size, reconciles them as `cargo run -- reconcile --export` does, and prints time and
//! memory. Each size is reconciled in a separate process.

use clap::Parser;
use ledger_local::export::{ExportCommand, reconcile};
use ledger_tests::bulk;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Measure time and memory of a reconciliation by the number of transactions.
#[derive(Debug, Parser)]
struct Options {
    /// Number of transactions; several sizes are measured one after the other.
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    transactions: Vec<u64>,
    /// Directory for exports, which are removed afterwards.
    #[arg(long, default_value = "target/reconcile-load")]
    directory: PathBuf,
    /// Number of parts into which the facts are sorted: memory holds a 64th of one.
    #[arg(long, default_value_t = 64)]
    parts: u16,
    /// Only reconcile what is in the directory.
    #[arg(long, hide = true)]
    only: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = if options.only { only(&options) } else { measure(&options) };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn measure(options: &Options) -> io::Result<ExitCode> {
    println!("{:>12} {:>12} {:>10} {:>12} {:>10}", "transactions", "items", "made in s", "checked in s", "peak MiB");
    for wanted in &options.transactions {
        let _ = fs::remove_dir_all(&options.directory);
        let began = Instant::now();
        let mut reported = 0;
        let (transactions, items) = bulk::write(&options.directory, *wanted, |done| {
            if done / 100_000 > reported {
                reported = done / 100_000;
                eprintln!("{done} of {wanted} made");
            }
        })?;
        print!("{transactions:>12} {items:>12} {:>10}", began.elapsed().as_secs());
        io::stdout().flush()?;
        let mut checking = Command::new(std::env::current_exe()?);
        let parts = options.parts.to_string();
        checking.args(["--only", "--parts", &parts, "--directory"]).arg(&options.directory);
        if !checking.status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    fs::remove_dir_all(&options.directory)?;
    Ok(ExitCode::SUCCESS)
}

fn only(options: &Options) -> io::Result<ExitCode> {
    let began = Instant::now();
    let temporary = options.directory.join("temporary");
    let command = ExportCommand { directory: options.directory.clone(), parts: options.parts, temporary };
    let done = tokio::runtime::Runtime::new()?.block_on(reconcile(&command)).map_err(io::Error::other)?;
    let peak = peak_kib().map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string());
    println!(" {:>12} {peak:>10}", began.elapsed().as_secs());
    for report in done.reports.values() {
        for line in String::from_utf8_lossy(report).lines().skip(1).take(10) {
            println!("{line}");
        }
    }
    Ok(if done.breaks == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The peak memory of this process, if the system states it.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
