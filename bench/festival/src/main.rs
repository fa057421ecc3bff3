//! Runs the festival: `cargo run --release -p ledger-festival`.

use clap::Parser;
use ledger_festival::scenarios::{RATES, RATES_SHORT, all, for_minutes, half_an_hour};
use ledger_festival::simulation::Outcome;
use ledger_festival::{plot, promises, report};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Simulates one merchant with many payments in a model of DynamoDB: our design beside a balance in the payment's
/// transaction and one on several shards. Exits with 1 if a promise of our design does not hold.
#[derive(Parser)]
#[command(version, after_help = "Example: festival --rate 100 --rate 5000 --seconds 30 --plot festival.svg")]
struct Args {
    /// Payments a second; repeat the option for several (default: 1 to 5,000)
    #[arg(long)]
    rate: Vec<u64>,
    /// Simulated seconds for which payments arrive (default: 60)
    #[arg(long)]
    seconds: Option<u64>,
    /// Seed of all randomness: the same seed gives the same outcome
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fewer rates and 10 seconds, for CI
    #[arg(long)]
    short: bool,
    /// File for the outcomes, one JSON object a line
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for a plot, as SVG
    #[arg(long)]
    plot: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr(), "festival: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs everything and shows it. Returns whether all promises hold.
fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    let preset: &[u64] = if args.short { &RATES_SHORT } else { &RATES };
    let rates = if args.rate.is_empty() { preset } else { &args.rate };
    let seconds = args.seconds.unwrap_or(if args.short { 10 } else { 60 });
    if rates.contains(&0) || seconds == 0 {
        return Err("give a rate and a number of seconds above 0".into());
    }
    let mut outcomes: Vec<Outcome> = all(rates, seconds, args.seed).iter().map(|scenario| scenario.run()).collect();
    if !args.short && args.rate.is_empty() {
        for rate in [promises::CREDITED_RATE_MAX, promises::PEAK_RATE_MAX] {
            outcomes.extend(for_minutes(rate, args.seed).iter().map(|scenario| scenario.run()));
        }
        outcomes.push(half_an_hour(args.seed).run());
    }
    if let Some(file) = &args.json {
        std::fs::write(file, report::json_lines(&outcomes)?)?;
    }
    if let Some(file) = &args.plot {
        std::fs::write(file, plot::svg(&outcomes)?)?;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", report::table(&outcomes))?;
    writeln!(out, "What our design shows beside its promises:\n")?;
    for finding in promises::findings(&outcomes) {
        writeln!(out, "{finding}")?;
    }
    let broken = promises::broken(&outcomes);
    let heading = if broken.is_empty() { "All promises hold." } else { "Promises that do not hold:" };
    writeln!(out, "\n{heading}")?;
    for promise in &broken {
        writeln!(out, "- {promise}")?;
    }
    Ok(broken.is_empty())
}
