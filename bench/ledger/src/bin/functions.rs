//! Measures the `customer` function beside the same payment in other stacks: `cargo run --release -p ledger-bench --bin
//! functions`. See bench/functions/README.md.

use clap::Parser;
use ledger_bench::functions::{
    Budgets, Candidate, Cold, Figures, Operation, Opponent, PerOperation, Running, SharedStack, WarmFigures, aims,
    count_instructions, has_valgrind, json_lines, plot, tables, zip_of_opponent, zip_of_ours,
};
use ledger_tests::lambda::figures::build_name;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The parts in which each function's requests are measured in turn, so that other load meets all alike.
const ROUNDS: u32 = 5;

/// Measure the customer function beside the same payment in Python and Node.js.
///
/// Prints tables with the ratio to ours: cold start, processor time and latency of a warm request, memory, instructions,
/// calls of the store, size of the zip. The opponents are installed by `bash bench/functions/install`.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example: functions --requests 1000 --skip-instructions")]
struct Options {
    /// Profile that our function is built with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Check only our function's calls and instructions against budgets.txt; exit with 1 if one is exceeded.
    #[arg(long)]
    short: bool,
    /// With --short: write the calls and instructions to budgets.txt.
    #[arg(long, requires = "short")]
    update: bool,
    /// Starts of each function.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
    /// Measured requests of each operation; at least 5.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(i64::from(ROUNDS)..))]
    requests: u32,
    /// Requests of each operation before the measured ones.
    #[arg(long, default_value_t = 500)]
    warm_up: u32,
    /// Requests of each operation of our function whose instructions are counted.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    counted: u32,
    /// Requests of each operation of an opponent whose instructions are counted; 0 counts none.
    #[arg(long, default_value_t = 50)]
    counted_opponent: u32,
    /// Count no instructions.
    #[arg(long, conflicts_with = "short")]
    skip_instructions: bool,
    /// Folder of bench/functions/install.
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    opponents: PathBuf,
    /// File for the figures, one JSON object a line.
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    json: Option<PathBuf>,
    /// File for a plot, as SVG.
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    plot: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let done = if options.short { check(&options).await } else { compare(&options).await.map(|()| true) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("functions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares our function with the budgets; returns whether none is exceeded.
async fn check(options: &Options) -> Result<bool, String> {
    let stack = SharedStack::new().await;
    let ours = build(&stack, options).await?;
    let calls = stack.calls(&ours).await?;
    let instructions = instructions(&ours, Some(options.counted)).await?;
    let found = Budgets::found(&build_name(&options.profile), &calls, instructions.as_ref());
    let kept = Budgets::kept()?;
    print!("{}", kept.table(&found));
    if options.update {
        return kept.update(found).map(|()| true);
    }
    let comparison = kept.compare(&found);
    for line in comparison.lower.iter().chain(&comparison.lost) {
        println!("{line}");
    }
    let verdict = if comparison.lost.is_empty() {
        "No budget of bench/ledger/budgets.txt is exceeded."
    } else {
        "Exceeded: the budgets above. Find out why, or record them: functions --short --update."
    };
    println!("{verdict}");
    Ok(comparison.lost.is_empty())
}

/// Measures all functions and prints the tables.
async fn compare(options: &Options) -> Result<(), String> {
    let installed = options.opponents.canonicalize().map_err(|error| {
        format!("{}: {error}: run `bash bench/functions/install` first", options.opponents.display())
    })?;
    let stack = SharedStack::new().await;
    let mut candidates = Vec::new();
    for opponent in Opponent::ALL {
        candidates.push(stack.opponent(opponent, &installed).await?);
    }
    candidates.insert(0, build(&stack, options).await?);
    let all = measure(&stack, &candidates, options, &installed).await?;
    let build = build_name(&options.profile);
    println!("Build of our function: {build}.\n");
    print!("{}{}", tables(&all, options.starts, options.requests / ROUNDS * ROUNDS), aims(&all));
    if let Some(file) = &options.json {
        write(file, &json_lines(&build, &all))?;
    }
    if let Some(file) = &options.plot {
        write(file, &plot(&all)?)?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

async fn build(stack: &SharedStack, options: &Options) -> Result<Candidate, String> {
    eprintln!("building our function by the profile `{}`", options.profile);
    stack.ours(&options.profile).await
}

async fn measure(
    stack: &SharedStack,
    candidates: &[Candidate],
    options: &Options,
    installed: &Path,
) -> Result<Vec<Figures>, String> {
    let cold = starts(candidates, options.starts).await?;
    let warm = requests(candidates, options).await?;
    let mut all = Vec::new();
    for ((candidate, cold), (warm, peak)) in candidates.iter().zip(cold).zip(warm) {
        let opponent = Opponent::ALL.into_iter().find(|opponent| opponent.name() == candidate.name);
        let zip = match opponent {
            None => zip_of_ours(&candidate.program.path),
            Some(opponent) => zip_of_opponent(opponent, installed)?,
        };
        let counted = counted(opponent, options);
        let (name, calls) = (candidate.name, stack.calls(candidate).await?);
        let instructions = match instructions(candidate, counted).await {
            // An interpreter that does not run under valgrind has its other figures.
            Err(error) if opponent.is_some() => {
                eprintln!("{error}");
                None
            }
            counted => counted?,
        };
        all.push(Figures { name, cold, warm, peak, calls, instructions, zip });
    }
    Ok(all)
}

/// The number of requests whose instructions are counted; `None` counts none.
fn counted(opponent: Option<Opponent>, options: &Options) -> Option<u32> {
    let requests = match opponent {
        None => options.counted,
        Some(Opponent::PythonBoto3 | Opponent::PythonPowertools) => options.counted_opponent,
        // V8 compiles a function's code while it runs: so few requests are not warm.
        Some(Opponent::NodePowertools) => 0,
    };
    (requests > 0 && !options.skip_instructions).then_some(requests)
}

/// The instructions of a candidate; `None` if they are not to be counted, or cannot be.
async fn instructions(candidate: &Candidate, requests: Option<u32>) -> Result<Option<PerOperation<u64>>, String> {
    let Some(requests) = requests else { return Ok(None) };
    if !has_valgrind() {
        eprintln!("{}: no instructions are counted, because valgrind is not installed", candidate.name);
        return Ok(None);
    }
    eprintln!("{}: counting the instructions of {requests} requests of each operation", candidate.name);
    count_instructions(candidate, requests).await.map(Some)
}

/// Starts each function several times, in turn; returns their medians.
async fn starts(candidates: &[Candidate], starts: u32) -> Result<Vec<Cold>, String> {
    let mut all = vec![Vec::new(); candidates.len()];
    for start in 1..=starts {
        eprintln!("start {start} of {starts}");
        for (candidate, of) in candidates.iter().zip(&mut all) {
            of.push(Cold::measure(candidate).await?);
        }
    }
    Ok(all.iter().map(|of| Cold::median(of)).collect())
}

/// Sends each function its requests, in rounds; returns the figures and the peak memory of each.
async fn requests(
    candidates: &[Candidate],
    options: &Options,
) -> Result<Vec<(PerOperation<WarmFigures>, u64)>, String> {
    let mut running = Vec::new();
    for candidate in candidates {
        eprintln!("{}: {} requests of each operation to warm up", candidate.name, options.warm_up);
        running.push(Running::start(candidate, options.warm_up).await?);
    }
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for operation in Operation::ALL {
            for function in &mut running {
                function.round(operation, options.requests / ROUNDS).await?;
            }
        }
    }
    running.into_iter().map(Running::finish).collect()
}
