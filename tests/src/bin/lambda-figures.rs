//! Measures the functions' binaries of a profile as Lambda runs them, and holds their sizes against those
//! that the repository keeps. With `--arm64` it only looks at what `cargo lambda build --arm64` has made.

use clap::Parser;
use ledger_tests::binaries;
use ledger_tests::lambda::kept::{self, Sizes};
use ledger_tests::lambda::{Deployed, FUNCTIONS, figures, names};
use std::path::PathBuf;
use std::process::ExitCode;

/// What each function costs, and whether that has changed.
#[derive(Debug, Parser)]
struct Options {
    /// The profile to build with.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Keep the sizes as they are now.
    #[arg(long)]
    update: bool,
    /// Only this function, for one that has come; may be given again.
    #[arg(long, value_parser = names())]
    function: Vec<String>,
    /// Start nothing, and look at what `cargo lambda build --arm64` has put into this folder (target/lambda).
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
