//! Measures what the ledger costs as its books grow: `cargo run --release -p ledger-bench --bin growth`.

use clap::Parser;
use ledger_bench::growth::books::{Facts, Family, fill};
use ledger_bench::growth::operations::{broken, exceptions};
use ledger_bench::growth::series::{Measured, Series, collect};
use ledger_bench::growth::tasks::{self, Task};
use ledger_bench::growth::{plot, progress, report};
use ledger_local::engine::{Data, Engine, EngineConfig};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Measures reads, payments and workers as the number of customers, one customer's history, one merchant's payments,
/// the number of merchants and the payments of a year grow. Exits with 1 if calls, items, units or memory grow beyond
/// the declared shape.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example: growth --factor 1,10 --plot growth.svg")]
struct Args {
    /// The smallest size of the books (default: 20)
    #[arg(long)]
    base: Option<u64>,
    /// The sizes as multiples of the smallest, ascending (default: 1,10,100,1000; with --short 1,10,100)
    #[arg(long, value_delimiter = ',')]
    factor: Vec<u64>,
    /// Only this family, by its number in the report; repeat the option for several (default: all)
    #[arg(long)]
    family: Vec<usize>,
    /// Smaller books, for CI
    #[arg(long)]
    short: bool,
    /// Directory for tables, which are removed afterwards
    #[arg(long, default_value = "target/growth")]
    directory: PathBuf,
    /// File for the measurements, one JSON object a line
    #[arg(long)]
    json: Option<PathBuf>,
    /// Continue a run that was stopped: sizes that the file of --json has are not measured again
    #[arg(long, requires = "json")]
    resume: bool,
    /// File for a plot, as SVG
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Perform a task on the table at --endpoint, with the facts in the directory
    #[arg(long, hide = true, requires = "endpoint")]
    task: Option<Task>,
    /// The table's endpoint
    #[arg(long, hide = true)]
    endpoint: Option<String>,
}

/// The payments of a year for each of the size of other books. Each day has some of every merchant.
const YEAR_PAYMENTS: u64 = 200;
/// The size of other books up to which CI makes a year.
const SHORT_YEAR_MAX: u64 = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match (args.task, &args.endpoint) {
        (Some(task), Some(endpoint)) => measure_here(task, endpoint, &args.directory).map(|()| true),
        _ => run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr(), "growth: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything and shows it. Returns whether every series has its shape.
fn run(args: &Args) -> Outcome<bool> {
    let base = args.base.unwrap_or(20);
    let preset: &[u64] = if args.short { &[1, 10, 100] } else { &[1, 10, 100, 1_000] };
    let factors = if args.factor.is_empty() { preset } else { &args.factor };
    if base < 20 || factors.contains(&0) || !factors.is_sorted() {
        return Err("give a base of at least 20, and factors above 0 in ascending order".into());
    }
    let mut all = match &args.json {
        Some(file) if args.resume && file.exists() => {
            report::read_lines(&fs::read_to_string(file)?).map_err(|error| format!("{}: {error}", file.display()))?
        }
        _ => Vec::new(),
    };
    for (number, family) in Family::ALL.into_iter().enumerate() {
        if !args.family.is_empty() && !args.family.contains(&(number + 1)) {
            continue;
        }
        for factor in factors {
            let Some(size) = size(family, base.saturating_mul(*factor), args.short) else { continue };
            if has(&all, family, size) {
                progress(&format!("{} {size}: measured before", family.name()));
                continue;
            }
            grow(&mut all, &args.directory, family, size)?;
            if let Some(file) = &args.json {
                fs::write(file, report::json_lines(&all))?;
            }
        }
    }
    // A run that continues may have added operations to an earlier family.
    all.sort_by_key(|series| Family::ALL.iter().position(|family| family.name() == series.family));
    if let Some(file) = &args.plot {
        fs::write(file, plot::svg(&all)?)?;
    }
    show(&all)
}

/// Whether a family was measured at a size.
fn has(all: &[Series], family: Family, size: u64) -> bool {
    all.iter().any(|of| of.family == family.name() && of.points.iter().any(|point| point.size == size))
}

/// The size of a family's books; `None` if it has none this large.
fn size(family: Family, size: u64, short: bool) -> Option<u64> {
    match family {
        Family::Customers | Family::History | Family::Payments | Family::Found => Some(size),
        // One wallet at 20 payments a second has 12,000 in ten minutes.
        Family::Burst => (size <= 10_000).then_some(size),
        // At least as many as a page of a list has.
        Family::Merchants => Some((size / 10).max(10)),
        Family::Year => (!short || size <= SHORT_YEAR_MAX).then(|| size.saturating_mul(YEAR_PAYMENTS)),
    }
}

fn show(all: &[Series]) -> Outcome<bool> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", report::tables(all))?;
    writeln!(out, "Exceptions, which are bounded but not as flat as they should be:\n")?;
    for exception in exceptions(all) {
        writeln!(out, "- {exception}.")?;
    }
    let broken = broken(all);
    let heading =
        if broken.is_empty() { "Every series has its shape." } else { "Series that grow beyond their shape:" };
    writeln!(out, "\n{heading}")?;
    for sentence in &broken {
        writeln!(out, "- {sentence}.")?;
    }
    Ok(broken.is_empty())
}

/// Fills a table, and measures it in processes of their own.
fn grow(all: &mut Vec<Series>, directory: &Path, family: Family, size: u64) -> Outcome<()> {
    // A directory that an earlier run left; if it cannot be removed, creating the table fails.
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory)
        .map_err(|error| format!("{}: {error}; choose another --directory", directory.display()))?;
    let (file, began) = (directory.join("table.db"), Instant::now());
    let facts = fill(&file, family, size)?;
    fs::write(directory.join("facts.json"), serde_json::to_string(&facts)?)?;
    progress(&format!("{} {size}: {} items made in {} s", family.name(), facts.items, began.elapsed().as_secs()));
    let engine = Engine::start(&EngineConfig { data: Data::File(file), port: None })?;
    for task in tasks(family) {
        let began = Instant::now();
        let measured = measure(*task, &engine.url(), directory)?;
        progress(&format!("{} {size}: {} took {} s", family.name(), task.name(), began.elapsed().as_secs()));
        collect(all, family.name(), size, measured);
    }
    tokio::runtime::Runtime::new()?.block_on(engine.stop());
    Ok(fs::remove_dir_all(directory)?)
}

/// The tasks of a family, in the order in which books come to rest.
fn tasks(family: Family) -> &'static [Task] {
    match family {
        Family::Payments => &[Task::Uncredited, Task::Sealing, Task::Reconciliation, Task::Reads, Task::Few],
        Family::Customers | Family::History => &[Task::Sealing, Task::Reconciliation, Task::Reads, Task::Few],
        Family::Burst => &[Task::Sealing],
        Family::Found => &[Task::Finding],
        Family::Year => &[Task::Folding, Task::Figures],
        Family::Merchants => &[Task::Sealing, Task::Reads, Task::Few],
    }
}

/// Performs a task in another process.
fn measure(task: Task, endpoint: &str, directory: &Path) -> Outcome<Vec<Measured>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--task", task.name(), "--endpoint", endpoint, "--directory"]).arg(directory);
    let done = command.stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(format!("the task {} failed", task.name()).into());
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

fn measure_here(task: Task, endpoint: &str, directory: &Path) -> Outcome<()> {
    let facts: Facts = serde_json::from_str(&fs::read_to_string(directory.join("facts.json"))?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = runtime.block_on(tasks::run(task, endpoint, facts, directory.to_owned()))?;
    Ok(writeln!(io::stdout(), "{}", serde_json::to_string(&measured)?)?)
}
