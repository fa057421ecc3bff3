//! Creates books of a given size, reconciles them as `cargo run -- reconcile --export` does, and prints time, memory
//! and disk space. Each size is reconciled in a separate process.

use clap::Parser;
use ledger_local::export::{ExportCommand, reconcile};
use ledger_tests::bulk;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

/// How often the size of the directory is read while it is reconciled.
const DISK_POLL: Duration = Duration::from_secs(2);

/// Measure time, memory and disk space of a reconciliation by the number of transactions.
#[derive(Debug, Parser)]
struct Options {
    /// Number of transactions; several sizes are measured one after the other.
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    transactions: Vec<u64>,
    /// Number of tenants: the books of one are made, and written again for the others, which takes a quarter of the time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    tenants: u64,
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
    println!(
        "{:>12} {:>12} {:>10} {:>11} {:>12} {:>10} {:>14}",
        "transactions", "items", "made in s", "export MiB", "checked in s", "peak MiB", "most disk MiB"
    );
    for wanted in &options.transactions {
        let _ = fs::remove_dir_all(&options.directory);
        let began = Instant::now();
        let mut reported = 0;
        let (transactions, items) = bulk::write(&options.directory, *wanted, options.tenants, |done| {
            if done / 100_000 > reported {
                reported = done / 100_000;
                eprintln!("{done} of {wanted} made");
            }
        })?;
        let exported = bytes_in(&options.directory)?;
        print!("{transactions:>12} {items:>12} {:>10} {:>11}", began.elapsed().as_secs(), exported >> 20);
        io::stdout().flush()?;
        let mut checking = Command::new(std::env::current_exe()?);
        let parts = options.parts.to_string();
        checking.args(["--only", "--parts", &parts, "--directory"]).arg(&options.directory);
        let mut child = checking.spawn()?;
        let mut most = exported;
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None => thread::sleep(DISK_POLL),
            }
            most = most.max(bytes_in(&options.directory)?);
        };
        println!(" {:>14}", most >> 20);
        if !status.success() {
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
    // The row ends with what the other process measures.
    print!(" {:>12} {peak:>10}", began.elapsed().as_secs());
    io::stdout().flush()?;
    for report in done.reports.values() {
        for line in String::from_utf8_lossy(report).lines().skip(1).take(10) {
            eprintln!("{line}");
        }
    }
    Ok(if done.breaks == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The bytes of the files in a directory. A file that is removed meanwhile counts as empty.
fn bytes_in(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        bytes += match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_in(&entry.path())?,
            Ok(_) | Err(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
        };
    }
    Ok(bytes)
}

/// The peak memory of this process, if the system states it.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
