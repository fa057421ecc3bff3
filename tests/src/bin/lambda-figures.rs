//! Measures the functions' binaries of a profile as Lambda runs them, and compares their sizes with those in the
//! repository. With `--arm64` it measures only the files that `cargo lambda build --arm64` has built.

use clap::Parser;
use ledger_tests::binaries;
use ledger_tests::lambda::kept::{self, Sizes};
use ledger_tests::lambda::{Deployed, FUNCTIONS, figures, names};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure each function, and compare its size with the recorded one.
#[derive(Debug, Parser)]
struct Options {
    /// The profile to build with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Record the sizes in the repository.
    #[arg(long)]
    update: bool,
    /// Measure only this function, such as a new one; may be given several times.
    #[arg(long, value_parser = names())]
    function: Vec<String>,
    /// Start no function, and measure what `cargo lambda build --arm64` has put into this folder (target/lambda).
    #[arg(long, value_name = "FOLDER")]
    arm64: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let wanted =
        |function: &Deployed| options.function.is_empty() || options.function.iter().any(|name| name == function.name);
    let functions: Vec<Deployed> = FUNCTIONS.into_iter().filter(wanted).collect();
    let (build, sizes) = match &options.arm64 {
        Some(folder) => {
            let build = figures::arm64_name(&options.profile);
            let sizes = figures::built(&build, folder, &functions);
            (build, sizes)
        }
        None => {
            let build = figures::build_name(&options.profile);
            let packages: Vec<&str> = functions.iter().map(|function| function.name).collect();
            let measured = figures::measure(&binaries::build(&packages, &options.profile), &functions).await;
            print!("{}", figures::table(&measured));
            let sizes = figures::sizes(&build, &measured);
            (build, sizes)
        }
    };
    if options.update {
        kept::update(&build, &sizes, options.function.is_empty());
        return ExitCode::SUCCESS;
    }
    judge(&sizes)
}

fn judge(sizes: &Sizes) -> ExitCode {
    let comparison = kept::compare(&kept::read(), sizes);
    for line in comparison.good.iter().chain(&comparison.bad) {
        println!("{line}");
    }
    if comparison.bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
