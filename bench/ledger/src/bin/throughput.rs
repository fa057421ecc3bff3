//! Measures payments a second: `cargo run --release -p ledger-bench --bin throughput`.

use clap::Parser;
use ledger_bench::inside;
use ledger_bench::prepared::Prepared;
use ledger_bench::throughput::{
    Durability, Options, OurCode, Plan, Run, Scenario, beside, json_line, measure, measure_our_code, postgres_runs,
    processors, run_postgres, svg, time_in_our_code,
};
use ledger_tests::binaries;
use serde_json::json;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Measures payments a second over HTTP through the local stack, beside bench/postgres/run, and the time in our code.
/// Exits with 1 if an answer is not a payment, or the books are wrong.
#[derive(Parser)]
#[command(version, after_help = "Example: throughput --seconds 5 --clients 1,16 --plot target/throughput.svg")]
struct Args {
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_parser = clap::value_parser!(u32).range(1..=200))]
    clients: Vec<u32>,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Seconds of each run before them
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    /// Customers; each has enough money for 250 payments
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(2..))]
    customers: u32,
    /// Merchants of the scenario `uniform`
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    merchants: u32,
    /// Payments for the time in our code, over each store
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Folder of all data, on the disk to measure [default: bench/throughput in the target folder]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Measure the local stack alone
    #[arg(long, conflicts_with = "postgres_json")]
    without_postgres: bool,
    /// File with the lines of an earlier `bench/postgres/run --json`, to read instead of running it
    #[arg(long)]
    postgres_json: Option<PathBuf>,
    /// For CI: 4 clients, 2 seconds, few customers and samples, without PostgreSQL
    #[arg(long)]
    short: bool,
    /// File for the figures, one JSON object a line
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for a plot, as SVG
    #[arg(long)]
    plot: Option<PathBuf>,
}

impl Args {
    /// The same, or the short form of it.
    fn settled(self) -> Self {
        if !self.short {
            return self;
        }
        Self {
            clients: vec![4],
            seconds: 2,
            warm_up: 0,
            customers: 40,
            merchants: 8,
            samples: 200,
            without_postgres: true,
            ..self
        }
    }

    fn folder(&self) -> Result<PathBuf, Box<dyn Error>> {
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => {
                let own = std::env::current_exe()?;
                let target = own.parent().and_then(Path::parent).ok_or("this program is not in a target folder")?;
                target.join("bench/throughput")
            }
        };
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder.canonicalize()?)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    inside::log_nowhere();
    match Box::pin(run(&Args::parse().settled())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr(), "throughput: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let folder = args.folder()?;
    let cores = std::thread::available_parallelism()?.get();
    let mut out = io::stdout().lock();
    progress(&format!("preparing {} customers and {} merchants", args.customers, args.merchants));
    let prepared = Prepared::make(&folder, args.customers.try_into()?, args.merchants.try_into()?).await?;
    let durability = durability(&prepared)?;
    let profile = binaries::own_profile();
    let file_system = file_system(&folder);
    let load_average = load_average();
    writeln!(
        out,
        "Local stack: profile {profile}, embedded engine with {durability}, {file_system}, {cores} processors, load \
         average {load_average} before."
    )?;
    if !durability.is_full() {
        writeln!(out, "A payment is answered before it is on the disk.")?;
    }
    let mut lines = vec![
        json!({
            "kind": "environment", "system": "ecopay-ledger", "profile": profile, "journal_mode": durability.journal_mode,
            "synchronous": durability.synchronous, "file_system": file_system, "processors": cores,
            "load_average": load_average, "customers": args.customers, "merchants": args.merchants,
            "warm_up_seconds": args.warm_up,
        })
        .to_string(),
    ];
    let ours = ours(args, &prepared).await?;
    let theirs = theirs(args, &folder, &mut lines, &mut out)?;
    progress(&format!("time in our code: {} payments over each store", args.samples));
    let our_code = measure_our_code(&prepared, args.samples).await?;
    writeln!(out, "\n{}", beside(&ours, &theirs))?;
    writeln!(out, "{}", processors(&ours))?;
    writeln!(out, "{}", time_in_our_code(&our_code, cores))?;
    writeln!(out, "After each run the books were right: each answered payment is in the ledger once.")?;
    lines.extend(ours.iter().chain(&theirs).map(json_line));
    lines.push(our_code_line(&our_code, cores));
    if let Some(file) = &args.json {
        fs::write(file, lines.join("\n") + "\n").map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if let Some(file) = &args.plot {
        let runs: Vec<Run> = ours.iter().chain(&theirs).cloned().collect();
        fs::write(file, svg(&runs)?).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The durability of a run's data file, after its stack has ended.
fn durability(prepared: &Prepared) -> Result<Durability, Box<dyn Error>> {
    Ok(Durability::of(&prepared.data())?)
}

async fn ours(args: &Args, prepared: &Prepared) -> Result<Vec<Run>, Box<dyn Error>> {
    let mut runs = Vec::new();
    for scenario in Scenario::ALL {
        for clients in args.clients.iter().copied() {
            progress(&format!("local stack: {}, {clients} clients, {} s", scenario.name(), args.seconds));
            let [warm_up, measured] = [args.warm_up, args.seconds].map(Duration::from_secs);
            let measured = measure(prepared, scenario, Plan { clients, warm_up, measured }).await?;
            runs.push(Run::of_ours(scenario, clients, args.seconds, measured));
        }
    }
    Ok(runs)
}

/// PostgreSQL's runs: of an earlier run of the script, or of one that is started here.
fn theirs(
    args: &Args,
    folder: &Path,
    lines: &mut Vec<String>,
    out: &mut impl Write,
) -> Result<Vec<Run>, Box<dyn Error>> {
    let text = match &args.postgres_json {
        _ if args.without_postgres => return Ok(Vec::new()),
        Some(file) => fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?,
        None => {
            progress("bench/postgres/run");
            run_postgres(&Options {
                folder: folder.join("postgres"),
                clients: args.clients.clone(),
                seconds: args.seconds,
                warm_up: args.warm_up,
                customers: args.customers.try_into()?,
                merchants: args.merchants.try_into()?,
            })?
        }
    };
    let (environment, runs) = postgres_runs(&text)?;
    writeln!(out, "PostgreSQL {}: {}.", environment.version, environment.durability)?;
    lines.extend(text.lines().filter(|line| line.contains(r#""kind":"environment""#)).map(str::to_owned));
    Ok(runs)
}

fn our_code_line(measured: &OurCode, cores: usize) -> String {
    let percentiles = |latencies: &ledger_bench::stats::Latencies| {
        let [p50, p99, p99_9] = [500, 990, 999].map(|at| u64::try_from(latencies.percentile(at).as_micros()).ok());
        json!({"p50_us": p50, "p99_us": p99, "p99_9_us": p99_9})
    };
    json!({
        "kind": "our_code", "payments": measured.payments,
        "processor_us": u64::try_from(measured.processor.as_micros()).ok(),
        "processors": cores, "payments_per_second": u64::try_from(measured.per_second(cores)).ok(),
        "request": percentiles(&measured.requests), "in_store": percentiles(&measured.in_store),
        "in_our_code": percentiles(&measured.in_our_code), "alone": percentiles(&measured.alone),
    })
    .to_string()
}

/// The kind of a folder's file system, as `stat` names it.
fn file_system(folder: &Path) -> String {
    let stat = std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output();
    let name = stat.ok().filter(|stat| stat.status.success()).and_then(|stat| String::from_utf8(stat.stdout).ok());
    name.map_or_else(|| "unknown file system".to_owned(), |name| name.trim().to_owned())
}

/// The load average of the last minute.
fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn progress(what: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(io::stderr(), "throughput: {what}");
}
